<?php
/**
 * Code that the stub's types allow: an analyser finds nothing in it.
 */

/** @return list<string> what was said in a conversation, one line per message */
function said(int $user, string $conversation): array
{
    $messages = sb_get_new_messages($user, $conversation, 0);
    if (sb_is_error($messages)) {
        throw new RuntimeException($messages->message());
    }
    $lines = [];
    foreach ($messages as $message) {
        $lines[] = $message['first_name'] . ': ' . $message['message'];
    }
    return $lines;
}

/** Begins a conversation; false when the address is somebody's already. */
function begun(string $name, string $email): string|false
{
    $user = sb_add_user(['first_name' => $name, 'email' => $email], ['phone' => ['+1 555 0100', 'Phone']]);
    if ($user === 'duplicate-email') {
        return false;
    }
    if ($user instanceof SBError) {
        throw new RuntimeException($user->code() . ' in ' . $user->function_name());
    }
    $conversation = sb_new_conversation($user, 2, 'Where is my order?');
    if (sb_is_error($conversation)) {
        throw new RuntimeException((string) $conversation);
    }
    return $conversation['details']['id'];
}

function address(int $user): string
{
    $record = sb_get_user($user, true);
    if ($record === false || sb_is_error($record)) {
        return '';
    }
    foreach ($record['details'] ?? [] as $detail) {
        if ($detail['slug'] === 'address') {
            return $detail['value'];
        }
    }
    return $record['email'] ?? '';
}
