--TEST--
What the caller has defined counts: config.php defines the rest, without a warning, and other warnings stay
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
$folder = Folder::installation("<?php\nconst SB_DB_NAME = 'other';\ndefine('SB_DB_PASSWORD', 'other');\ndefine('SB_URL', 'https://other.example');\ndefine('SB_SECRET_KEY', 'of the file');\nSB_DB_NAME . \$missing;\n");
$script = $folder->write('page.php', '<?php
    foreach (["NAME" => "sb_phpt", "USER" => "sb", "PASSWORD" => "secret", "HOST" => "127.0.0.1", "PORT" => getenv("SB_TEST_PORT")] as $name => $value) {
        define("SB_DB_$name", $value);
    }
    define("SB_PATH", "/before");
    set_error_handler(function ($level, $message) { echo "[$message]"; return true; });
    include __DIR__ . "/include/functions.php";
    echo $undefined;
    echo sb_get_user(3)["first_name"], " ", SB_PATH, " ", SB_URL, " ", SB_SECRET_KEY;');
echo implode('|', run(Php::command($script), '')), "\n";
?>
--EXPECT--
0|[Undefined variable $missing][Undefined variable $undefined]Carla /before https://other.example of the file|
