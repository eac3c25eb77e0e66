--TEST--
A missing or broken config.php gives an SBError at the first call, without a warning and without its content
--FILE--
<?php
require __DIR__ . '/../installation.inc';
foreach ([
    'missing' => null,
    'empty' => '',
    'parse error' => "<?php\ndefine('SB_DB_PASSWORD', 'hidden'hidden);",
    'unquoted' => "<?php\n\ndefine('SB_DB_PASSWORD', hidden);",
    'exception' => '<?php throw new Exception("hidden");',
    'half' => "<?php define('SB_DB_NAME', 'a'); throw new Exception;",
] as $title => $configuration) {
    $folder = Folder::installation($configuration);
    $script = $folder->write('page.php', '<?php
        error_reporting(-1);
        require __DIR__ . "/include/functions.php";
        require __DIR__ . "/include/functions.php";
        $error = sb_get_user(1);
        echo $error->code(), ": ", $error->message(), ", ", json_encode(sb_isset(["a" => 1], "a")), json_encode($GLOBALS["SB_LOGIN"]);');
    [$status, $output, $complaints] = run(Php::command($script), '');
    echo "$title: $status $output$complaints\n";
}
?>
--EXPECT--
missing: 0 configuration: config.php could not be read: there is no such file, 1false
empty: 0 configuration: SB_DB_NAME is not configured: define it in config.php, in the folder above include/, 1false
parse error: 0 configuration: config.php could not be read: ParseError on line 2; `php config.php` tells more, 1false
unquoted: 0 configuration: config.php could not be read: Error on line 3; `php config.php` tells more, 1false
exception: 0 configuration: config.php could not be read: Exception on line 1; `php config.php` tells more, 1false
half: 0 configuration: config.php could not be read: Exception on line 1; `php config.php` tells more, 1false
