<?php
/**
 * POST /v1/messages in plain PHP: what include/api.php does for it, on the functions of the baseline.
 */

require __DIR__ . '/config.php';
define('SERVER', [null, SB_DB_USER, SB_DB_PASSWORD, SB_DB_NAME, 0, SB_DB_SOCKET]);
require __DIR__ . '/baseline.php';

function plain_answer(int $status, array $body, array $headers = []): never
{
    http_response_code($status);
    foreach (['Content-Type: application/json', 'Cache-Control: no-store', 'X-Content-Type-Options: nosniff',
        'X-Request-Id: ' . REQUEST_ID, ...$headers] as $header) {
        header($header);
    }
    echo json_encode($body, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
    exit;
}

function plain_refusal(int $status, string $code, string $message, ?string $field = null): never
{
    $error = ['code' => $code, 'message' => $message] + ($field === null ? [] : ['field' => $field]);
    plain_answer($status, ['type' => 'error.list', 'request_id' => REQUEST_ID, 'errors' => [$error]]);
}

/** The id in a text of digits or a whole number. */
function plain_id(array $body, string $field): int
{
    $id = $body[$field] ?? null;
    if (!is_int($id) && !(is_string($id) && preg_match('/^\d{1,10}$/D', $id))) {
        plain_refusal(422, 'argument-error', "$field must be an id", $field);
    }
    return (int) $id;
}

define('REQUEST_ID', $_SERVER['HTTP_X_REQUEST_ID'] ?? bin2hex(random_bytes(20)));
if ($_SERVER['REQUEST_METHOD'] !== 'POST' || strtok($_SERVER['REQUEST_URI'], '?') !== '/v1/messages') {
    plain_refusal(404, 'not-found', 'there is nothing at this address');
}
if (!preg_match('/^Bearer (sb_live_\S+)$/i', $_SERVER['HTTP_AUTHORIZATION'] ?? '', $match)) {
    plain_refusal(401, 'unauthorized', 'send a valid API key');
}

// Who asks, and how often.
$key = plain_row("SELECT k.id, k.scopes, k.user_id, u.user_type, k.expires FROM sb_api_keys k
    LEFT JOIN sb_users u ON u.id = k.user_id
    WHERE k.key_hash = UNHEX('" . hash('sha256', $match[1]) . "') AND k.revoked IS NULL");
if ($key === false || $key['expires'] !== null && strtotime("$key[expires] UTC") <= time()) {
    plain_refusal(401, 'unauthorized', 'send a valid API key');
}
if (!array_intersect(['messages:write', 'admin'], explode(',', $key['scopes']))) {
    plain_refusal(403, 'forbidden', 'the API key lacks the scope messages:write');
}
$settings = json_decode(plain_row("SELECT value FROM sb_settings WHERE name = 'settings'")['value'] ?? '{}', true);
$limit = (int) ($settings['api-rate-limit'][0] ?? 100);
$minute = intdiv(time(), 60);
plain_connection()->query("UPDATE sb_api_keys SET counted = LAST_INSERT_ID(IF(counted_minute = $minute, counted, 0) + 1),
    counted_minute = $minute, last_used = UTC_TIMESTAMP() WHERE id = $key[id]
    AND (counted_minute IS NULL OR counted_minute <> $minute OR counted < $limit)");
if (plain_connection()->affected_rows !== 1) {
    plain_refusal(429, 'rate-limit-exceeded', 'the API key was used too often');
}
$remaining = $limit - plain_connection()->insert_id;

// What is asked.
if (strtok($_SERVER['CONTENT_TYPE'] ?? '', ';') !== 'application/json') {
    plain_refusal(415, 'unsupported-media-type', 'send the body as Content-Type: application/json');
}
$text = file_get_contents('php://input');
if (strlen($text) > 1 << 20) {
    plain_refusal(413, 'too-large', 'the body is larger than 1 MiB');
}
$body = json_decode($text, true, 64);
if (!is_array($body)) {
    plain_refusal(400, 'malformed-json', 'the body must be one JSON object');
}
$conversation = plain_id($body, 'conversation_id');
$user = plain_id($body, 'user_id');
if ($key['user_id'] !== null && (int) $key['user_id'] !== $user) {
    plain_refusal(403, 'forbidden', 'the API key is bound to another user', 'user_id');
}
$message = $body['message'] ?? '';
if (!is_string($message) || strlen($message) > 65535) {
    plain_refusal(422, 'too-long', 'message is longer than 65535 bytes', 'message');
}

$sent = plain_send_message($user, $conversation, $message, $body['attachments'] ?? []);
if (is_string($sent)) {
    plain_refusal($sent === 'conversation-not-found' ? 404 : 422, $sent, $sent);
}
plain_answer(200, [
    'id' => (string) $sent['message-id'],
    'status' => 'sent',
    'timestamp' => gmdate('Y-m-d\TH:i:s\Z'),
    'conversation_id' => (string) $conversation,
], ["X-RateLimit-Limit: $limit", "X-RateLimit-Remaining: $remaining", 'X-RateLimit-Reset: ' . ($minute + 1) * 60]);
