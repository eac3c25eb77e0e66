--TEST--
A fatal error inside an output callback, in a destructor of what sb_login overwrites, ends the script in order
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
// PHP can show nothing while it is inside an output callback.
ini_set('display_errors', '0');
class Fatal
{
    public function __destruct()
    {
        trigger_error('fatal', E_USER_ERROR);
    }
}
register_shutdown_function(static fn () => fwrite(STDOUT, "{$GLOBALS['SB_LOGIN']['id']} " . sb_get_user(3)['first_name']));
$SB_LOGIN = new Fatal();
ob_start(static function (string $text): string {
    sb_login('', '', 4, '04abcdef04abcdef04abcdef04abcdef04abcdef');
    return 'never reached';
});
echo 'written';
ob_end_flush();
?>
--EXPECT--
4 Carla
