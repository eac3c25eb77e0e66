<?php
/**
 * A hundred thousand calls in one process: the memory stays where it is. Fails when it grows by more than 1 MiB.
 */

require __DIR__ . '/phpt/installation.inc';
installation();

const CALLS = 100_000;
const GROWTH = 1024;

$memory = static function (): int {
    preg_match('/^VmRSS:\s+(\d+)/m', file_get_contents('/proc/self/status'), $match);
    return (int) $match[1];
};
$SB_LOGIN = ['id' => '2', 'user_type' => 'agent'];
$token = '03abcdef03abcdef03abcdef03abcdef03abcdef';
$round = [
    static fn () => sb_get_user(3, true),
    static fn () => sb_get_user(99),
    static fn () => sb_get_conversation(3, 1),
    static fn () => sb_get_new_messages(3, 1, '2026-01-01'),
    static fn () => sb_db_get('SELECT * FROM sb_messages WHERE id < 10', false),
    static fn () => sb_db_get('SELECT nothing'),
    static fn () => sb_isset(['a' => ['b' => 1]], 'a'),
    static fn () => sb_json_array('[1, {"a": "b"}]'),
    static fn () => sb_encryption(sb_encryption('text'), false),
    static fn () => sb_login('', '', 3, $token),
];
$calls = static function (int $calls) use ($round): void {
    for ($call = 0; $call < $calls; $call++) {
        $round[$call % count($round)]();
    }
};
$calls(10_000);
$before = $memory();
$started = microtime(true);
$calls(CALLS);
$grown = $memory() - $before;
printf("%d calls in %.1f s: %d KiB more than the %d KiB before\n", CALLS, microtime(true) - $started, $grown, $before);
exit($grown > GROWTH ? 1 : 0);
