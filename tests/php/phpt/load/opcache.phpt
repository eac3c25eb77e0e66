--TEST--
The shim works under opcache and when it is preloaded
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
$folder = Folder::installation(Folder::configuration([
    'SB_DB_NAME' => 'sb_phpt',
    'SB_DB_USER' => 'sb',
    'SB_DB_PASSWORD' => 'secret',
    'SB_DB_HOST' => '127.0.0.1',
    'SB_DB_PORT' => getenv('SB_TEST_PORT'),
]));
$preload = $folder->write('preload.php', '<?php require __DIR__ . "/include/functions.php"; sb_get_user(1);');
$script = $folder->write('page.php', '<?php
    include __DIR__ . "/include/functions.php";
    include __DIR__ . "/include/functions.php";
    $user = sb_get_user(3);
    echo opcache_get_status() ? "on" : "off", " ", is_array($user) ? $user["first_name"] : $user, " ", json_encode($SB_LOGIN);');
$opcache = in_array('Zend OPcache', get_loaded_extensions(), true) ? [] : ['-d', 'zend_extension=opcache'];
$opcache = [...$opcache, '-d', 'opcache.enable_cli=1'];
echo implode('|', run(Php::command(...$opcache, ...[$script]), '')), "\n";
$user = trim((string) shell_exec("id -u")) === "0" ? ['-d', 'opcache.preload_user=root'] : [];
echo implode('|', run(Php::command(...$opcache, ...['-d', "opcache.preload=$preload"], ...$user, ...[$script]), '')), "\n";
?>
--EXPECT--
0|on Carla false|
0|on Carla false|
