--TEST--
Arguments may be named, in any order and with defaults left out
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
show('one', outcome(fn () => sb_get_user(user_id: 3)['first_name']));
show('order', outcome(fn () => count(sb_get_user(extra: true, user_id: 3)['details'])));
show('skipped', outcome(fn () => sb_send_message(3, 1, payload: ['a' => 'b'])['status']));
echo sql("SELECT CONCAT_WS('|', message, attachments, payload) FROM sb_phpt.sb_messages ORDER BY id DESC LIMIT 1"), "\n";
show('spread', outcome(fn () => sb_isset(...['key' => 'a', 'array' => ['a' => 'b']])));
show('unknown', outcome(fn () => sb_get_user(user_id: 3, other: 1)));
show('twice', outcome(fn () => sb_get_user(3, user_id: 3)));
show('missing', outcome(fn () => sb_isset(default: 1, key: 'a')));
show('callable', array_map('sb_is_error', ['a', new SBError('b', 'c', 'd')]));
show('first class', array_map(sb_is_error(...), [1]));
?>
--EXPECT--
one: "Carla"
order: 2
skipped: "success"
||{"a":"b"}
spread: "b"
unknown: Error: Unknown named parameter $other
twice: Error: Named parameter $user_id overwrites previous argument
missing: ArgumentCountError: sb_isset(): Argument #1 ($array) not passed
callable: [false,true]
first class: [false]
