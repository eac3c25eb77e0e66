<?php
/**
 * Code that the stub's types forbid: behind each line stands what an analyser says of it.
 */

$user = sb_get_user(3);
echo $user['first_name']; // invalid-array-access possibly-false-array-access
if ($user === false || sb_is_error($user)) {
    exit;
}
echo $user['first_nam']; // undefined-string-array-index
echo intdiv($user['last_name'], 2); // invalid-argument
echo strlen($user['email']); // possibly-null-argument
if ($user['user_type'] === 'robot') { // redundant-comparison impossible-condition
    exit;
}
sb_get_userr(3); // non-existent-function
sb_send_message(); // too-few-arguments
sb_send_message(new stdClass(), 1, 'text'); // invalid-argument
sb_get_user(user: 3); // invalid-named-argument
$messages = sb_get_new_messages(1, 2, 0);
if (sb_is_error($messages)) {
    echo $messages->code(), $messages->reason(); // non-existent-method mixed-argument
    exit;
}
echo $messages[0]['text']; // undefined-string-array-index
