<?php
/**
 * Times the hot functions on one generated database: the extension, bare mysqli and the plain-PHP baseline, in turns
 * within one process. Prints JSON, for benches/report.php.
 *
 * php -d extension=… benches/bench.php CONVERSATIONS [FACTOR]      as benches/run calls it; FACTOR: more or fewer calls
 */

define('SB_DB_NAME', "sb_bench_$argv[1]");
define('SB_DB_USER', 'sb');
define('SB_DB_PASSWORD', 'secret');
define('SB_DB_SOCKET', getenv('SB_TEST_SOCKET'));
define('SB_SECRET_KEY', 'a secret for measuring only');

require __DIR__ . '/baseline.php';

/** Bare mysqli: nothing but the statements, prepared once where that is faster. */
final class Floor
{
    private const USER = 'SELECT id, first_name, last_name, email, profile_image, user_type, creation_time,
        last_activity, department, token FROM sb_users WHERE id = ?';
    private const DETAILS = 'SELECT slug, name, value FROM sb_users_data WHERE user_id = ? ORDER BY id';
    private const NEWEST = 'SELECT MAX(id) FROM sb_messages WHERE conversation_id = ?';
    private const CONVERSATION = 'SELECT c.id, c.user_id, u.first_name, u.last_name, u.profile_image, u.user_type,
        c.title, c.creation_time conversation_time, c.status_code conversation_status_code, c.department
        FROM sb_conversations c JOIN sb_users u ON u.id = c.user_id WHERE c.id = ';
    private const MESSAGES = 'SELECT m.id, m.user_id, m.message, m.creation_time, m.attachments, m.status_code,
        m.payload, m.conversation_id, u.first_name, u.last_name, u.profile_image, u.user_type
        FROM sb_messages m JOIN sb_users u ON u.id = m.user_id WHERE m.conversation_id = %d ORDER BY m.id';
    private const SET_STATUS = 'UPDATE sb_conversations SET status_code = ? WHERE id = ?';
    private const ADD_MESSAGE = "INSERT INTO sb_messages (user_id, message, creation_time, status_code, attachments,
        payload, conversation_id) VALUES (?, ?, UTC_TIMESTAMP(), 0, '', '', ?)";
    private const STOP_TYPING = 'UPDATE sb_users SET typing = -1, last_activity = UTC_TIMESTAMP() WHERE id = ?';

    private mysqli $connection;
    private array $statements = [];

    public function __construct()
    {
        $this->connection = new mysqli(null, SB_DB_USER, SB_DB_PASSWORD, SB_DB_NAME, 0, SB_DB_SOCKET);
        $this->connection->set_charset('utf8mb4');
        $this->connection->query("SET SESSION time_zone = '+00:00'");
    }

    public function one(string $sql): int
    {
        return (int) $this->connection->query($sql)->fetch_row()[0];
    }

    public function user(int $id): array
    {
        return $this->prepared(self::USER, [$id])->get_result()->fetch_assoc();
    }

    public function userWithDetails(int $id): array
    {
        $user = $this->user($id);
        $user['details'] = $this->prepared(self::DETAILS, [$id])->get_result()->fetch_all(MYSQLI_ASSOC);
        return $user;
    }

    public function newest(int $conversation): int
    {
        return $this->prepared(self::NEWEST, [$conversation])->get_result()->fetch_row()[0];
    }

    public function conversation(int $id): array
    {
        return [
            'details' => $this->connection->query(self::CONVERSATION . $id)->fetch_assoc(),
            'messages' => $this->connection->query(sprintf(self::MESSAGES, $id))->fetch_all(MYSQLI_ASSOC),
        ];
    }

    public function send(int $sender, int $conversation, string $message): int
    {
        $this->connection->begin_transaction();
        $this->prepared(self::SET_STATUS, [2, $conversation]);
        $id = $this->prepared(self::ADD_MESSAGE, [$sender, $message, $conversation])->insert_id;
        $this->prepared(self::STOP_TYPING, [$sender]);
        $this->connection->commit();
        return $id;
    }

    private function prepared(string $sql, array $values): mysqli_stmt
    {
        $statement = $this->statements[$sql] ??= $this->connection->prepare($sql);
        $statement->execute($values);
        return $statement;
    }
}

/** The nanoseconds of `$rounds` turns of `$calls` calls each, by contender; `$inner` calls count as one. */
function measure(array $contenders, int $rounds, int $calls, int $inner = 1): array
{
    foreach ($contenders as $contender) {
        for ($call = 0; $call < $calls; $call++) {
            $contender();
        }
    }
    $times = array_fill_keys(array_keys($contenders), []);
    for ($round = 0; $round < $rounds; $round++) {
        foreach ($contenders as $name => $contender) {
            for ($call = 0; $call < $calls; $call++) {
                $started = hrtime(true);
                $contender();
                $times[$name][] = (hrtime(true) - $started) / $inner;
            }
        }
    }
    return array_map(static function (array $sorted): array {
        sort($sorted);
        $at = static fn (float $part): float => round($sorted[(int) (count($sorted) * $part)], 1);
        return ['median' => $at(.5), 'p10' => $at(.1), 'calls' => count($sorted)];
    }, $times);
}

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

// What is timed must be the same work.
$ours = sb_get_conversation($user, $conversation);
if (count($ours['messages']) !== 100 || $ours['messages'] != plain_get_conversation($user, $conversation)['messages']) {
    fwrite(STDERR, "bench: the conversation of 100 messages is read differently\n");
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
echo json_encode(['conversations' => (int) $argv[1], 'operations' => $operations]), "\n";
