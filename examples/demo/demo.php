<?php
/**
 * What a page of a site with chat does, in one script: a user signs up, writes, and is answered by an agent.
 *
 * Run by examples/demo/run, in the folder of an installation.
 */

include 'include/functions.php';

/** Gives a result back, or ends the demo when it is an error. */
function expect($result, string $what)
{
    if ($result === false || is_string($result) && !is_numeric($result) || sb_is_error($result)) {
        fwrite(STDERR, "$what failed: " . (is_object($result) ? $result : var_export($result, true)) . "\n");
        exit(1);
    }
    return $result;
}

function send(string $sender_id, string $conversation_id, string $message, array $attachments = []): int
{
    return expect(sb_send_message($sender_id, $conversation_id, $message, $attachments), 'sb_send_message')['message-id'];
}

/** A line for people: coloured where the output is a terminal. */
function line(string $text, string $colour = '0'): void
{
    echo stream_isatty(STDOUT) && $colour !== '0' ? "\e[{$colour}m$text\e[0m\n" : "$text\n";
}

// The agent exists already, added by the administrator.
$agent_id = expect(sb_add_user([
    'first_name' => 'Katherine',
    'last_name' => 'Johnson',
    'email' => 'katherine@example.com',
    'password' => 'orbit-1962',
    'user_type' => 'agent',
]), 'sb_add_user');

// The user signs up and logs in.
$user_id = expect(sb_add_user([
    'first_name' => 'Zoë',
    'last_name' => 'Müller',
    'email' => 'zoe@example.com',
    'password' => 'passwort-Ü',
], ['city' => ['Zürich', 'City'], 'phone' => ['+41 44 000 00 00', 'Phone']]), 'sb_add_user');
[$login] = expect(sb_login('zoe@example.com', 'passwort-Ü'), 'sb_login');
line("{$login['first_name']} {$login['last_name']} is logged in as {$login['user_type']} $user_id.");

// The user opens a conversation.
$conversation = expect(sb_new_conversation($user_id, 0, 'Where is my order?'), 'sb_new_conversation');
$conversation_id = $conversation['details']['id'];
send($user_id, $conversation_id, 'Grüezi 👋 Where is my order? It says "on its way" since Monday 📦');
send($user_id, $conversation_id, '', [['receipt – März.pdf', 'https://chat.example.com/uploads/receipt.pdf']]);

// The agent logs in, reads, and answers; that makes the user's messages read.
expect(sb_logout(), 'sb_logout');
expect(sb_login('katherine@example.com', 'orbit-1962'), 'sb_login');
$seen = expect(sb_get_conversation($agent_id, $conversation_id), 'sb_get_conversation')['messages'];
$last_id = end($seen)['id'];
send($agent_id, $conversation_id, "Hello Zoë, I've found it: it left Genève this morning 🚚💨\nTomorrow by noon it is with you.");
send($agent_id, $conversation_id, 'Here is the label, and where it is now 🗺️', [
    ['label.png', 'https://chat.example.com/uploads/label.png'],
    ['map.webp', 'https://chat.example.com/uploads/map.webp'],
]);

// The user's page asks for what is new, and the user answers.
expect(sb_logout(), 'sb_logout');
expect(sb_login('zoe@example.com', 'passwort-Ü'), 'sb_login');
$new = sb_get_new_messages($user_id, $conversation_id, '', $last_id);
line(count($new) . ' new messages arrived for ' . sb_get_user($user_id)['first_name'] . '.');
send($user_id, $conversation_id, 'ありがとう! You are the best 👩🏽‍💻❤️');

$conversation = expect(sb_get_conversation($user_id, $conversation_id), 'sb_get_conversation');
$details = $conversation['details'];
line('');
line("Conversation {$details['id']}: {$details['title']}", '1');
line("with {$details['first_name']} {$details['last_name']}, status {$details['conversation_status_code']}");
foreach ($conversation['messages'] as $message) {
    $is_user = $message['user_id'] === $user_id;
    line('');
    line("{$message['creation_time']}  {$message['first_name']} {$message['last_name']} ({$message['user_type']})"
        . ($message['status_code'] === '2' ? '  ✓ read' : ''), $is_user ? '36' : '33');
    foreach ($message['message'] === '' ? [] : explode("\n", $message['message']) as $text) {
        line("    $text");
    }
    foreach ($message['attachments'] ?: [] as [$name, $link]) {
        line("    📎 $name  $link");
    }
}

line('');
line('One message as PHP received it:', '1');
var_export($conversation['messages'][3]);
echo "\n";
