<?php
/**
 * What the benches connect to, but for the database's name, and how they time.
 */

define('SB_DB_USER', 'sb');
define('SB_DB_PASSWORD', 'secret');
define('SB_SECRET_KEY', 'a secret for measuring only');
if (getenv('SB_BENCH_TCP')) {
    define('SB_DB_HOST', '127.0.0.1');
    define('SB_DB_PORT', getenv('SB_TEST_PORT'));
    define('SERVER', [SB_DB_HOST, SB_DB_USER, SB_DB_PASSWORD, SB_DB_NAME, (int) SB_DB_PORT]);
} else {
    define('SB_DB_SOCKET', getenv('SB_TEST_SOCKET'));
    define('SERVER', [null, SB_DB_USER, SB_DB_PASSWORD, SB_DB_NAME, 0, SB_DB_SOCKET]);
}

/**
 * The nanoseconds of `$rounds` turns of `$calls` calls each, by contender; `$inner` calls count as one. What `$before`
 * does before each call is not timed.
 */
function measure(array $contenders, int $rounds, int $calls, int $inner = 1, ?callable $before = null): array
{
    $before ??= static fn () => null;
    foreach ($contenders as $contender) {
        for ($call = 0; $call < $calls; $call++) {
            $before();
            $contender();
        }
    }
    $times = array_fill_keys(array_keys($contenders), []);
    for ($round = 0; $round < $rounds; $round++) {
        foreach ($contenders as $name => $contender) {
            for ($call = 0; $call < $calls; $call++) {
                $before();
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
