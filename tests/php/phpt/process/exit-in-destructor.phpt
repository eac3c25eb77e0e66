--TEST--
The value that sb_login overwrites may exit in its destructor: the login is made, and the script ends in order
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
class Leaving
{
    public function __destruct()
    {
        // The new value is in place already, and functions may be called here.
        show('in the destructor', [$GLOBALS['SB_LOGIN']['id'], sb_get_user(4)['first_name'], sb_get_active_user_ID()]);
        exit("left\n");
    }
}
register_shutdown_function(static fn () => show('at the end', [$GLOBALS['SB_LOGIN']['id'], sb_get_user(3)['first_name']]));
$SB_LOGIN = new Leaving();
sb_login('', '', 3, '03abcdef03abcdef03abcdef03abcdef03abcdef');
echo "never reached\n";
?>
--EXPECT--
in the destructor: ["3","Dora","3"]
left
at the end: ["3","Carla"]
