--TEST--
Of several hosts the first that answers is used
--INI--
sb.connect_timeout=0.5
--FILE--
<?php
require __DIR__ . '/../installation.inc';
$silent = stream_socket_server('tcp://127.0.0.1:0');
$hosts = [stream_socket_get_name($silent, false), '127.0.0.1:' . Php::freePort(), '127.0.0.1:' . getenv('SB_TEST_PORT')];
installation(['SB_DB_HOST' => implode(',', $hosts)]);
show('first', within(0.1, 0.6, fn () => sb_get_user(3)['first_name']));
show('then', within(0, 0.3, fn () => sb_get_user(3)['first_name']));
?>
--EXPECT--
first: "Carla"
then: "Carla"
