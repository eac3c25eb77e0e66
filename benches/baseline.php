<?php
/**
 * The plain-PHP alternative: what a careful procedural library over mysqli does, written to be measured against.
 *
 * One connection per request, statements as texts, values escaped into them, rows fetched one by one.
 */

function plain_connection(): mysqli
{
    static $connection = null;
    if ($connection === null) {
        $connection = new mysqli(...SERVER);
        $connection->set_charset('utf8mb4');
        $connection->query("SET SESSION time_zone = '+00:00'");
    }
    return $connection;
}

function plain_rows(string $sql): array
{
    $result = plain_connection()->query($sql);
    $rows = [];
    while ($row = $result->fetch_assoc()) {
        $rows[] = $row;
    }
    return $rows;
}

function plain_row(string $sql): array|false
{
    return plain_rows($sql)[0] ?? false;
}

function plain_text($text): string
{
    return "'" . plain_connection()->real_escape_string((string) $text) . "'";
}

function plain_get_user($user_id, bool $extra = false): array|false
{
    $user_id = (int) $user_id;
    $user = plain_row("SELECT id, first_name, last_name, email, profile_image, user_type, creation_time, last_activity,
        department, token FROM sb_users WHERE id = $user_id");
    if ($user === false) {
        return false;
    }
    $user['password'] = '';
    if ($extra) {
        $user['details'] = plain_rows("SELECT slug, name, value FROM sb_users_data WHERE user_id = $user_id ORDER BY id");
    }
    return $user;
}

/** The columns of a user in a list. */
const PLAIN_USER = 'id, first_name, last_name, email, profile_image, user_type, creation_time, last_activity, department,
    token';

function plain_get_users(bool $extra = false): array
{
    $users = plain_rows('SELECT ' . PLAIN_USER . " FROM sb_users WHERE user_type <> 'bot'
        ORDER BY creation_time DESC LIMIT 0, 100");
    if ($extra) {
        foreach ($users as &$user) {
            $user['extra'] = plain_rows("SELECT slug, name, value FROM sb_users_data WHERE user_id = $user[id]");
        }
    }
    return $users;
}

function plain_count_users(): array
{
    $counts = ['all' => plain_row("SELECT COUNT(*) n FROM sb_users WHERE user_type IN ('visitor', 'lead', 'user')")['n']];
    foreach (['lead', 'user', 'visitor'] as $type) {
        $counts[$type] = plain_row("SELECT COUNT(*) n FROM sb_users WHERE user_type = '$type'")['n'];
    }
    return $counts;
}

function plain_get_online_users(string $types = "user_type <> 'bot'"): array
{
    return plain_rows('SELECT ' . PLAIN_USER . " FROM sb_users
        WHERE last_activity > UTC_TIMESTAMP() - INTERVAL 30 SECOND AND $types ORDER BY creation_time DESC");
}

function plain_agents_online(): bool
{
    return (bool) plain_get_online_users("user_type IN ('agent', 'admin')");
}

function plain_get_user_by(string $slug, string $value): array|false
{
    return plain_row('SELECT id, first_name, last_name, email, user_type, department FROM sb_users WHERE id IN
        (SELECT user_id FROM sb_users_data WHERE slug = ' . plain_text($slug) . ' AND value = ' . plain_text($value) . ')
        LIMIT 1');
}

function plain_search_users(string $search): array
{
    $pattern = plain_text("%$search%");
    return plain_rows('SELECT ' . PLAIN_USER . " FROM sb_users WHERE user_type <> 'bot' AND
        (CONCAT(first_name, ' ', last_name) LIKE $pattern OR email LIKE $pattern
            OR id IN (SELECT user_id FROM sb_users_data WHERE value LIKE $pattern)) ORDER BY id DESC LIMIT 100");
}

/** The columns of a message and its author. */
const PLAIN_MESSAGE = 'm.id, m.user_id, m.message, m.creation_time, m.attachments, m.status_code, m.payload,
    m.conversation_id, u.first_name, u.last_name, u.profile_image, u.user_type';

function plain_messages(string $condition): array
{
    $messages = plain_rows('SELECT ' . PLAIN_MESSAGE . " FROM sb_messages m JOIN sb_users u ON u.id = m.user_id
        WHERE $condition ORDER BY m.id");
    foreach ($messages as &$message) {
        foreach (['attachments', 'payload'] as $column) {
            $message[$column] = $message[$column] ? json_decode($message[$column], true) : '';
        }
    }
    return $messages;
}

function plain_get_conversation($user_id, $conversation_id): array|false
{
    $user_id = (int) $user_id;
    $conversation_id = (int) $conversation_id;
    $details = plain_row("SELECT c.id, c.user_id, u.first_name, u.last_name, u.profile_image, u.user_type, c.title,
        c.creation_time conversation_time, c.status_code conversation_status_code, c.department
        FROM sb_conversations c JOIN sb_users u ON u.id = c.user_id
        WHERE c.id = $conversation_id" . ($user_id ? " AND c.user_id = $user_id" : ''));
    return $details === false ? false : [
        'messages' => plain_messages("m.conversation_id = $conversation_id"),
        'details' => $details,
    ];
}

function plain_get_conversations(): array
{
    return plain_rows('SELECT ' . PLAIN_MESSAGE . ", c.status_code conversation_status_code, a.user_type message_user_type
        FROM sb_messages m JOIN sb_conversations c ON c.id = m.conversation_id JOIN sb_users u ON u.id = c.user_id
        JOIN sb_users a ON a.id = m.user_id
        WHERE c.status_code NOT IN (3, 4) AND m.id IN (SELECT MAX(id) FROM sb_messages GROUP BY conversation_id)
        ORDER BY m.id DESC LIMIT 0, 100");
}

function plain_get_new_messages($user_id, $conversation_id, $datetime, $last_id = false): array
{
    return plain_messages('m.conversation_id = ' . (int) $conversation_id . ($last_id
        ? ' AND m.id > ' . (int) $last_id
        : ' AND m.creation_time > ' . plain_text($datetime)));
}

function plain_send_message($sender_id, $conversation_id, string $message = '', array $attachments = []): array|string
{
    $sender_id = (int) $sender_id;
    $conversation_id = (int) $conversation_id;
    if ($message === '' && !$attachments) {
        return 'empty-message';
    }
    if (plain_row("SELECT id FROM sb_conversations WHERE id = $conversation_id") === false) {
        return 'conversation-not-found';
    }
    $sender = plain_row("SELECT user_type FROM sb_users WHERE id = $sender_id");
    if ($sender === false) {
        return 'user-not-found';
    }
    $status = in_array($sender['user_type'], ['agent', 'admin'], true) ? 1 : 2;
    $files = $attachments ? plain_text(json_encode($attachments)) : "''";
    $connection = plain_connection();
    $connection->begin_transaction();
    $connection->query('INSERT INTO sb_messages (user_id, message, creation_time, status_code, attachments, payload,
        conversation_id) VALUES (' . $sender_id . ', ' . plain_text($message) . ", UTC_TIMESTAMP(), 0, $files, '',
        $conversation_id)");
    $id = $connection->insert_id;
    $connection->query("UPDATE sb_conversations SET status_code = $status WHERE id = $conversation_id");
    $connection->query("UPDATE sb_users SET typing = -1, last_activity = UTC_TIMESTAMP() WHERE id = $sender_id");
    $connection->commit();
    return ['status' => 'success', 'message-id' => $id, 'queue' => false, 'notifications' => []];
}

function plain_isset($array, $key, $default = false)
{
    return is_array($array) && isset($array[$key]) && $array[$key] !== '' ? $array[$key] : $default;
}

function plain_get_setting(string $id): mixed
{
    static $settings = null;
    $settings ??= json_decode(plain_row("SELECT value FROM sb_settings WHERE name = 'settings'")['value'], true);
    return $settings[$id][0] ?? false;
}

function plain_translation(string $text): string
{
    static $translations = null;
    $translations ??= json_decode(file_get_contents(SB_PATH . '/include/languages/front/de.json'), true);
    return $translations[$text] ?? $text;
}
