<?php
/**
 * Asks php-fpm for a script again and again, for so many seconds: prints how many answers were ok, and the others.
 */

require __DIR__ . '/FastCgi.php';

[, $socket, $script, $seconds] = $argv;
$answers = [];
for ($end = microtime(true) + (float) $seconds; microtime(true) < $end;) {
    $answer = FastCgi::post($socket, $script) ?? 'broken';
    $key = str_ends_with($answer, "\r\n\r\nok") && !str_starts_with($answer, 'Status') ? 'ok' : $answer;
    $answers[$key] = ($answers[$key] ?? 0) + 1;
}
echo json_encode($answers);
