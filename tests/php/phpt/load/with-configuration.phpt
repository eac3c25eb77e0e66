--TEST--
config.php leads to the database, through the shim in a folder of its own
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
$folder = Folder::installation(Folder::configuration([
    'SB_DB_NAME' => 'sb_phpt',
    'SB_DB_USER' => 'sb',
    'SB_DB_PASSWORD' => 'secret',
    'SB_DB_HOST' => '127.0.0.1:' . getenv('SB_TEST_PORT'),
    'SB_URL' => 'https://support.example/chat',
]));
$script = $folder->write('page.php', '<?php
    include __DIR__ . "/include/functions.php";
    $user = sb_get_user(3);
    echo is_array($user) ? $user["last_name"] : $user, " ", SB_PATH === __DIR__ ? "here" : SB_PATH, " ", defined("SB_CONFIG_ERROR") ? SB_CONFIG_ERROR : "no error";');
echo implode('|', run(Php::command($script), '')), "\n";
$folder->write('config.php', Folder::configuration([
    'SB_DB_NAME' => 'sb_phpt',
    'SB_DB_USER' => 'sb',
    'SB_DB_PASSWORD' => 'secret',
    'SB_DB_SOCKET' => getenv('SB_TEST_SOCKET'),
    'SB_PATH' => '/elsewhere',
]));
echo implode('|', run(Php::command($script), '')), "\n";
?>
--EXPECT--
0|D'Angelo here no error|
0|D'Angelo /elsewhere no error|
