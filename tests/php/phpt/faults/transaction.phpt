--TEST--
Functions join a transaction that the caller has opened, and go with it
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
$before = messages();
sb_db_query('START TRANSACTION');
$message = sb_send_message(3, 1, 'Rolled back');
$user = sb_add_user(['first_name' => 'Ines']);
show('inside', [$message['status'], sb_get_user($user)['first_name'], messages() - $before]);
sb_db_query('ROLLBACK');
show('rolled back', [sb_get_user($user), messages() - $before]);
sb_db_query('BEGIN');
sb_send_message(3, 1, 'Kept');
show('refused', [sb_add_user(['email' => 'dora@prospect.example']), sb_send_message(99, 1, 'a'), sb_send_message(3, 99, 'a')]);
sb_db_query('COMMIT');
show('committed', messages() - $before);
sb_send_message(3, 1, 'By itself');
show('by itself', messages() - $before);
sb_db_query('START TRANSACTION');
sb_send_message(3, 1, 'Lost with the connection');
sql('KILL ' . sb_db_get('SELECT CONNECTION_ID() AS id')['id']);
show('lost', sb_send_message(3, 1, 'No retry may hide the loss'));
show('then', [sb_send_message(3, 1, 'New')['status'], messages() - $before]);
?>
--EXPECTF--
inside: ["success","Ines",0]
rolled back: [false,0]
refused: ["duplicate-email","user-not-found","conversation-not-found"]
committed: 1
by itself: 2
lost: "%sthe transaction that was open is rolled back"
then: ["success",3]
