--TEST--
A wrong password is reported without the password, a wrong database with its name
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation(['SB_DB_PASSWORD' => 'wrong and hidden']);
$error = sb_get_user(3);
show('read', $error);
ob_start();
var_dump($error);
print_r([$error, sb_send_message(3, 1, 'a'), sb_db_check_connection(password: 'also hidden')]);
echo $error;
$text = ob_get_clean();
show('hidden', str_contains($text, 'hidden'));
show('check', sb_db_check_connection(password: 'also hidden'));
show('right', sb_db_check_connection(password: 'secret'));
show('database', sb_db_check_connection(name: 'sb_elsewhere', password: 'secret'));
?>
--EXPECTF--
read: SBError db-error-1045: Access denied for user 'sb'@'%s' (using password: YES)
hidden: false
check: "Access denied for user 'sb'@'%s' (using password: YES)"
right: true
database: "Unknown database 'sb_elsewhere'"
