--TEST--
A server that accepts and says nothing is given up after sb.connect_timeout, again at the next call
--INI--
sb.connect_timeout=0.5
--FILE--
<?php
require __DIR__ . '/../installation.inc';
$silent = stream_socket_server('tcp://127.0.0.1:0');
installation(['SB_DB_HOST' => stream_socket_get_name($silent, false), 'SB_DB_PORT' => '']);
show('read', within(0.4, 1, fn () => sb_get_user(3)));
show('message', within(0.4, 1, fn () => sb_send_message(3, 1, 'Lost')));
show('check', within(0.4, 1, fn () => sb_db_check_connection()));
show('other host', within(0, 0.5, fn () => sb_db_check_connection(host: '127.0.0.1', port: getenv('SB_TEST_PORT'))));
?>
--EXPECT--
read: SBError db-error-2002: the database server did not accept a connection within 0.5 s
message: "the database server did not accept a connection within 0.5 s"
check: "the database server did not accept a connection within 0.5 s"
other host: true
