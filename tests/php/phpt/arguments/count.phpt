--TEST--
Missing required arguments are an ArgumentCountError, extra ones are ignored, null is an argument
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
show('none', outcome(fn () => sb_get_user()));
show('too few', outcome(fn () => sb_send_message(3)));
show('computes', outcome(fn () => sb_isset([])));
show('extra', outcome(fn () => sb_get_user(3, false, 'extra', new stdClass())['first_name']));
show('extra to one that computes', outcome(fn () => sb_isset(['a' => 'b'], 'a', false, 1, 2, 3)));
show('null', outcome(fn () => sb_get_user(null)));
show('null for a default', outcome(fn () => sb_get_user(3, null)['first_name']));
?>
--EXPECT--
none: ArgumentCountError: sb_get_user(): argument $user_id is missing
too few: ArgumentCountError: sb_send_message(): argument $conversation_id is missing
computes: ArgumentCountError: sb_isset(): argument $key is missing
extra: "Carla"
extra to one that computes: "b"
null: false
null for a default: "Carla"
