<?php
/**
 * Times the functions that list, count and find users, on one generated directory of users. Prints JSON, for
 * benches/report.php.
 *
 * php -d extension=… benches/directory.php USERS LABEL [FACTOR]     as benches/run calls it; LABEL: original or indexed
 */

define('SB_DB_NAME', "sb_bench_users_$argv[1]");

require __DIR__ . '/baseline.php';
require __DIR__ . '/floor.php';
require __DIR__ . '/measure.php';

$floor = new Floor();
$indexed = $argv[2] === 'indexed';
$newest = ['creation_time', 'DESC'];
// In the middle of the directory.
$phone = '+44' . 100000000 + intdiv((int) $argv[1], 2);
// A hundred users and two agents, in whatever second this runs.
$online = 'id % ' . intdiv((int) $argv[1], 100) . ' = 10 OR id IN (5, 6)';
plain_connection()->query("UPDATE sb_users SET last_activity = '2099-01-01 00:00:00' WHERE $online");
$since = gmdate('Y-m-d H:i:s', time() - 30);

// What is timed must be the same work.
$same = static function (string $what, mixed $ours, mixed $theirs): void {
    if ($ours != $theirs) {
        fwrite(STDERR, "bench: $what gives something else\n");
        exit(1);
    }
};
$same('sb_get_users', sb_get_users($newest), $floor->users($indexed));
$same('sb_count_users', sb_count_users(), plain_count_users());
$same('sb_get_online_users', sb_get_online_users(), plain_get_online_users());
$same('sb_get_user_by', sb_get_user_by('phone', $phone), plain_get_user_by('phone', $phone));
foreach (['london', 'user1234@'] as $search) {
    $same('sb_search_users', sb_search_users($search), plain_search_users($search));
}

// What reads everyone is called less often.
$factor = (float) ($argv[3] ?? 1) * min(1, 20_000 / (int) $argv[1]);
$rounds = static fn (int $rounds): int => max(3, (int) ($rounds * $factor));
$operations = [
    'sb_get_users, page 1' => measure([
        'sb' => static fn () => sb_get_users($newest),
        'mysqli' => static fn () => $floor->users($indexed),
        'php' => static fn () => plain_get_users(),
    ], $rounds(40), 5),
    'sb_get_users, page 1, extra' => measure([
        'sb' => static fn () => sb_get_users($newest, [], '', 1, true),
        'mysqli' => static fn () => $floor->usersWithDetails($indexed),
        'php' => static fn () => plain_get_users(true),
    ], $rounds(40), 5),
    'sb_count_users' => measure([
        'sb' => static fn () => sb_count_users(),
        'mysqli' => static fn () => $floor->counts($indexed),
        'php' => static fn () => plain_count_users(),
    ], $rounds(40), 5),
    'sb_get_online_users' => measure([
        'sb' => static fn () => sb_get_online_users(),
        'mysqli' => static fn () => $floor->online($since, "user_type <> 'bot' ORDER BY creation_time DESC, id DESC"),
        'php' => static fn () => plain_get_online_users(),
    ], $rounds(40), 5),
    'sb_agents_online' => measure([
        'sb' => static fn () => sb_agents_online(),
        'mysqli' => static fn () => $floor->online($since, "user_type IN ('agent', 'admin') LIMIT 1"),
        'php' => static fn () => plain_agents_online(),
    ], $rounds(40), 5),
    'sb_get_user_by, phone' => measure([
        'sb' => static fn () => sb_get_user_by('phone', $phone),
        'mysqli' => static fn () => $floor->userBy('phone', $phone),
        'php' => static fn () => plain_get_user_by('phone', $phone),
    ], $rounds(20), 3),
    'sb_search_users, common' => measure([
        'sb' => static fn () => sb_search_users('london'),
        'php' => static fn () => plain_search_users('london'),
    ], $rounds(20), 3),
    'sb_search_users, rare' => measure([
        'sb' => static fn () => sb_search_users('user1234@'),
        'php' => static fn () => plain_search_users('user1234@'),
    ], $rounds(20), 3),
];
echo json_encode(['size' => number_format($argv[1]) . " users, $argv[2]", 'operations' => $operations]), "\n";
