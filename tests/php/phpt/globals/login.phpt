--TEST--
sb_login sets $GLOBALS['SB_LOGIN'], from anywhere, through a reference too
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
show('nobody', [$SB_LOGIN, sb_get_active_user(), sb_get_active_user_ID()]);
function page(): array
{
    return sb_login('carla@customer.example', 'correct horse');
}
$answer = page();
show('global', $SB_LOGIN);
var_dump($answer[0] === $SB_LOGIN, is_string($answer[1]), sb_get_active_user_ID());
unset($GLOBALS['SB_LOGIN']);
show('unset', sb_get_active_user_ID());
sb_login('', '', 4, '04abcdef04abcdef04abcdef04abcdef04abcdef');
show('made anew', $SB_LOGIN['id']);
$other = &$GLOBALS['SB_LOGIN'];
sb_login('', '', 5, '05abcdef05abcdef05abcdef05abcdef05abcdef');
show('by reference', [$other['id'], $SB_LOGIN['id']]);
$other = ['id' => 7, 'user_type' => 'user'];
show('read by reference', sb_get_active_user_ID());
unset($other);
foreach ([false, null, '', 0, 'x', [], ['id' => ''], ['id' => 'x'], new stdClass(), fn () => 1, [[]]] as $SB_LOGIN) {
    show('nobody', sb_get_active_user_ID());
}
show('wrong password', [sb_login('carla@customer.example', 'wrong'), sb_get_active_user_ID()]);
?>
--EXPECT--
nobody: [false,false,false]
global: {"id":"3","profile_image":"https://support.example/chat/media/user.svg","first_name":"Carla","last_name":"D'Angelo","email":"carla@customer.example","user_type":"user","token":"03abcdef03abcdef03abcdef03abcdef03abcdef"}
bool(true)
bool(true)
string(1) "3"
unset: false
made anew: "4"
by reference: ["5","5"]
read by reference: "7"
nobody: false
nobody: false
nobody: false
nobody: false
nobody: false
nobody: false
nobody: false
nobody: false
nobody: false
nobody: false
nobody: false
wrong password: [false,false]
