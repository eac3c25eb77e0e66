--TEST--
After a restart of the server the next read and the next message succeed
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
show('before', sb_get_user(3)['first_name']);
server('--stop');
server('--start');
show('read', sb_get_user(3)['first_name']);
server('--stop');
server('--start');
$before = messages();
show('message', sb_send_message(3, 1, 'After the restart')['status']);
show('stored', messages() - $before);
server('--stop', '-KILL');
server('--start');
show('user', is_numeric(sb_add_user(['first_name' => 'Ines'])));
server('--stop', '-KILL');
server('--start');
show('statement', sb_db_get('SELECT 1 AS a'));
?>
--EXPECT--
before: "Carla"
read: "Carla"
message: "success"
stored: 1
user: true
statement: {"a":"1"}
