--TEST--
Only SB_FORCE_ADMIN === true lifts the restriction of an active user, and it is read at each call
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
$SB_LOGIN = ['id' => '4', 'user_type' => 'lead'];
$ask = static function (): string {
    $conversation = sb_get_conversation(3, 1);
    return is_array($conversation) ? 'given' : $conversation->code();
};
show('without', $ask());
foreach ([1, '1', 'true', [true], 1.0, 'on', new stdClass()] as $SB_FORCE_ADMIN) {
    show(get_debug_type($SB_FORCE_ADMIN), $ask());
}
$SB_FORCE_ADMIN = true;
show('true', $ask());
$SB_FORCE_ADMIN = false;
show('false again', $ask());
$switch = &$GLOBALS['SB_FORCE_ADMIN'];
$switch = true;
show('by reference', $ask());
unset($switch, $GLOBALS['SB_FORCE_ADMIN']);
show('unset', $ask());
function page(): void
{
    $SB_FORCE_ADMIN = true;
    show('a local variable', $GLOBALS['ask']());
    $GLOBALS['SB_FORCE_ADMIN'] = true;
    show('from a function', $GLOBALS['ask']());
}
page();
?>
--EXPECT--
without: "security-error"
int: "security-error"
string: "security-error"
string: "security-error"
array: "security-error"
float: "security-error"
string: "security-error"
stdClass: "security-error"
true: "given"
false again: "security-error"
by reference: "given"
unset: "security-error"
a local variable: "security-error"
from a function: "given"
