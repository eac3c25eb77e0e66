<?php
/**
 * Times the hot functions on one generated database: the extension, bare mysqli and the plain-PHP baseline, in turns
 * within one process. Prints JSON, for benches/report.php.
 *
 * php -d extension=… benches/bench.php CONVERSATIONS [FACTOR]      as benches/run calls it; FACTOR: more or fewer calls
 */

define('SB_DB_NAME', "sb_bench_$argv[1]");
// With the translations that come with it, for a browser that wants German.
define('SB_PATH', dirname(__DIR__));
define('SB_URL', 'https://support.example/chat');
$_SERVER['HTTP_ACCEPT_LANGUAGE'] = 'de';

require __DIR__ . '/baseline.php';
require __DIR__ . '/floor.php';
require __DIR__ . '/measure.php';

$floor = new Floor();
$conversation = intdiv((int) $argv[1], 2);
$user = $floor->one("SELECT user_id FROM sb_conversations WHERE id = $conversation");
$last = $floor->one("SELECT MAX(id) FROM sb_messages WHERE conversation_id = $conversation");
// Messages are sent elsewhere, and taken back: the conversation of 100 stays one of 100.
$other = $conversation + 1;
$text = 'Hello, is my order on its way? Thanks a lot 👍';
$before = $floor->one('SELECT MAX(id) FROM sb_messages');
$time = '2026-01-01 12:00:00';
$map = ['name' => 'value', 'list' => [1, 2, 3]];
$one = 1;

// As large as one in the field, nearly.
$settings = ['front-auto-translations' => [true, 'checkbox'], 'bot-name' => ['Bot', 'text']];
for ($i = 0; $i < 200; $i++) {
    $settings["setting-$i"] = ["the value of the setting $i", 'text'];
}
$GLOBALS['SB_FORCE_ADMIN'] = true;
sb_save_settings($settings);
$GLOBALS['SB_FORCE_ADMIN'] = false;
// Saves nothing: it makes the next call read the settings, as the first one of a request does.
$forget = static function (): void {
    $GLOBALS['SB_FORCE_ADMIN'] = true;
    sb_save_settings(false);
    $GLOBALS['SB_FORCE_ADMIN'] = false;
};

// What is timed must be the same work.
$forget();
if (sb_get_setting('bot-name') !== 'Bot' || plain_get_setting('bot-name') !== 'Bot') {
    fwrite(STDERR, "bench: a setting is read differently\n");
    exit(1);
}
if (sb_('Send') !== 'Senden' || plain_translation('Send') !== 'Senden') {
    fwrite(STDERR, "bench: a text is translated differently\n");
    exit(1);
}
$ours = sb_get_conversation($user, $conversation);
if (count($ours['messages']) !== 100 || $ours['messages'] != plain_get_conversation($user, $conversation)['messages']) {
    fwrite(STDERR, "bench: the conversation of 100 messages is read differently\n");
    exit(1);
}

if (array_column(sb_get_conversations(), 'id') !== array_column(plain_get_conversations(), 'id')) {
    fwrite(STDERR, "bench: the inbox is read differently\n");
    exit(1);
}

$factor = (float) ($argv[2] ?? 1);
$rounds = static fn (int $rounds): int => max(2, (int) ($rounds * $factor));
$operations = [
    'sb_get_user' => measure([
        'sb' => static fn () => sb_get_user($user),
        'mysqli' => static fn () => $floor->user($user),
        'php' => static fn () => plain_get_user($user),
    ], $rounds(100), 20),
    'sb_get_user, extra' => measure([
        'sb' => static fn () => sb_get_user($user, true),
        'mysqli' => static fn () => $floor->userWithDetails($user),
        'php' => static fn () => plain_get_user($user, true),
    ], $rounds(100), 20),
    'sb_get_new_messages, none' => measure([
        'sb' => static fn () => sb_get_new_messages($user, $conversation, $time, $last),
        'mysqli' => static fn () => $floor->newest($conversation),
        'php' => static fn () => plain_get_new_messages($user, $conversation, $time, $last),
    ], $rounds(100), 20),
    'sb_get_conversation, 100' => measure([
        'sb' => static fn () => sb_get_conversation($user, $conversation),
        'mysqli' => static fn () => $floor->conversation($conversation),
        'php' => static fn () => plain_get_conversation($user, $conversation),
    ], $rounds(100), 5),
    // The plain way reads all messages: of large sizes it would be all that is waited for.
    'sb_get_conversations' => measure([
        'sb' => static fn () => sb_get_conversations(),
    ] + ($argv[1] > 20_000 ? [] : [
        'php' => static fn () => plain_get_conversations(),
    ]), $rounds(10), 5),
    'sb_get_conversations, archive' => measure([
        'sb' => static fn () => sb_get_conversations(1, 3),
    ], $rounds(10), 5),
    'sb_send_message' => measure([
        'sb' => static fn () => sb_send_message($user, $other, $text),
        'mysqli' => static fn () => $floor->send($user, $other, $text),
        'php' => static fn () => plain_send_message($user, $other, $text),
    ], $rounds(50), 10),
    'sb_isset' => measure([
        'sb' => static function () use ($map): void {
            for ($i = 0; $i < 1000; $i++) {
                sb_isset($map, 'name');
            }
        },
        'php' => static function () use ($map): void {
            for ($i = 0; $i < 1000; $i++) {
                plain_isset($map, 'name');
            }
        },
    ], $rounds(50), 2, 1000),
    'sb_get_setting, first use' => measure([
        'sb' => static fn () => sb_get_setting('bot-name'),
        'mysqli' => static fn () => $floor->settings(),
    ], $rounds(100), 20, before: $forget),
    'sb_get_setting' => measure([
        'sb' => static function (): void {
            for ($i = 0; $i < 1000; $i++) {
                sb_get_setting('bot-name');
            }
        },
        'php' => static function (): void {
            for ($i = 0; $i < 1000; $i++) {
                plain_get_setting('bot-name');
            }
        },
    ], $rounds(50), 2, 1000),
    'sb_' => measure([
        'sb' => static function (): void {
            for ($i = 0; $i < 1000; $i++) {
                sb_('Send');
            }
        },
        'php' => static function (): void {
            for ($i = 0; $i < 1000; $i++) {
                plain_translation('Send');
            }
        },
    ], $rounds(50), 2, 1000),
    // A function that does next to nothing, against one of PHP's own of as many arguments: what a call as such costs.
    'dispatch' => measure([
        'sb' => static function () use ($one): void {
            for ($i = 0; $i < 1000; $i++) {
                sb_is_error($one);
            }
        },
        'internal' => static function () use ($one): void {
            for ($i = 0; $i < 1000; $i++) {
                abs($one);
            }
        },
    ], $rounds(50), 2, 1000),
];
plain_connection()->query("DELETE FROM sb_messages WHERE id > $before");
echo json_encode(['size' => number_format($argv[1]) . ' conversations', 'operations' => $operations]), "\n";
