--TEST--
Without configuration functions that compute work, and others say what is missing
--FILE--
<?php
require __DIR__ . '/../installation.inc';
var_dump(extension_loaded('sb'), phpversion('sb') === (new ReflectionExtension('sb'))->getVersion());
show('computes', sb_isset(['a' => 1], 'a'));
show('no name', sb_get_user(1));
define('SB_DB_NAME', 'a');
show('no user', sb_get_user(1));
define('SB_DB_USER', 'b');
show('no host', sb_get_user(1));
define('SB_DB_HOST', '127.0.0.1');
define('SB_DB_PORT', 'x');
show('wrong port', sb_get_user(1));
?>
--EXPECT--
bool(true)
bool(true)
computes: 1
no name: SBError configuration: SB_DB_NAME is not configured: define it in config.php, in the folder above include/
no user: SBError configuration: SB_DB_USER is not configured: define it in config.php, in the folder above include/
no host: SBError configuration: SB_DB_HOST is not configured: define it in config.php, in the folder above include/
wrong port: SBError configuration: SB_DB_PORT is no port: x
