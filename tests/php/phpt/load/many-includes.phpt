--TEST--
The shim may be included fifty times, in a function too: it leaves no variable and overwrites none
--FILE--
<?php
require __DIR__ . '/../installation.inc';
$wpdb = $post = $table_prefix = 'of the site';
$before = $functions = [];
$before = array_keys($GLOBALS);
$functions = get_defined_functions()['user'];
installation();
for ($time = 0; $time < 25; $time++) {
    include SHIM;
}
unset($time);
function page(): array
{
    $mine = 1;
    for ($time = 0; $time < 25; $time++) {
        require SHIM;
    }
    unset($time);
    return get_defined_vars();
}
var_dump(page() === ['mine' => 1]);
var_dump(array_values(array_diff(array_keys($GLOBALS), $before)));
var_dump($SB_LOGIN, $SB_FORCE_ADMIN, array_diff(get_defined_functions()['user'], $functions, ['page']));
$SB_LOGIN = ['id' => '3', 'user_type' => 'user'];
$SB_FORCE_ADMIN = true;
include SHIM;
show('kept', [$SB_LOGIN, $SB_FORCE_ADMIN, sb_get_active_user_ID(), $wpdb, $post, $table_prefix]);
?>
--EXPECT--
bool(true)
array(2) {
  [0]=>
  string(8) "SB_LOGIN"
  [1]=>
  string(14) "SB_FORCE_ADMIN"
}
bool(false)
bool(false)
array(0) {
}
kept: [{"id":"3","user_type":"user"},true,"3","of the site","of the site","of the site"]
