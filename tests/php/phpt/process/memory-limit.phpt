--TEST--
memory_limit reached while a large result is made: PHP's own error, and functions work in the shutdown functions
--INI--
memory_limit=16M
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
register_shutdown_function(static function (): void {
    echo preg_match('/Allowed memory size of 16777216 bytes exhausted/', error_get_last()['message']), "\n";
    show('at the end', sb_get_user(3)['first_name']);
});
ini_set('display_errors', '0');
$rows = sb_db_get("SELECT REPEAT(CHAR(97 + seq % 26), 1000) AS a FROM seq_1_to_100000", false);
echo "never reached\n";
?>
--EXPECT--
1
at the end: "Carla"
