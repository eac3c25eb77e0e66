--TEST--
The value that sb_login overwrites may throw or end in a fatal error: later calls work
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
class Throwing
{
    public function __destruct()
    {
        throw new LogicException('from the destructor');
    }
}
class Fatal
{
    public function __destruct()
    {
        eval('function twice() {} function twice() {}');
    }
}
register_shutdown_function(static fn () => show('at the end', [$GLOBALS['SB_LOGIN']['id'], sb_get_user(3)['first_name']]));
$SB_LOGIN = new Throwing();
show('thrown', outcome(fn () => sb_login('', '', 3, '03abcdef03abcdef03abcdef03abcdef03abcdef')));
show('logged in', [$SB_LOGIN['id'], sb_get_active_user_ID()]);
$SB_LOGIN = new Fatal();
sb_login('', '', 4, '04abcdef04abcdef04abcdef04abcdef04abcdef');
echo "never reached\n";
?>
--EXPECTF--
thrown: LogicException: from the destructor
logged in: ["3","3"]

Fatal error: Cannot redeclare %s in %s on line %d
at the end: ["4","Carla"]
