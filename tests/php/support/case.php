<?php
/**
 * Runs one case as one request of the web server, and answers with its result.
 */

require __DIR__ . '/Arguments.php';

$case = unserialize(file_get_contents('php://input'));
// A case knows no request.
$_SERVER = $_COOKIE = [];
$complaints = [];
set_error_handler(static function (int $level, string $message) use (&$complaints): bool {
    $complaints[] = $message;
    return true;
});
foreach ($case['configured'] as $name => $value) {
    define($name, $value);
}
if (isset($case['login'])) {
    $GLOBALS['SB_LOGIN'] = $case['login'];
}
if (isset($case['force_admin'])) {
    $GLOBALS['SB_FORCE_ADMIN'] = $case['force_admin'];
}
require $case['shim'];

$plain = static function (mixed $value) use (&$plain): mixed {
    if (is_array($value)) {
        return array_map($plain, $value);
    }
    if (!is_object($value)) {
        return $value;
    }
    if ($value instanceof Throwable) {
        return null;
    }
    $error = (object) ['class' => get_class($value), 'code' => $value->code(), 'function' => '', 'message' => ''];
    if ($value instanceof SBError) {
        $error->function = $value->function_name();
        $error->message = $value->message();
    }
    return $error;
};
$run = static function (array $call, array $results): mixed {
    [$function, $arguments] = isset($call['function'])
        ? [$call['function'], $call['named']]
        : [$call[0], array_slice($call, 1)];
    return $function(...Arguments::value($arguments, $results));
};
// What functions print is no part of the answer.
ob_start();
$results = [];
foreach ($case['calls'] as $call) {
    try {
        $results[] = $run($call, $results);
    } catch (Throwable $exception) {
        $results[] = $exception;
    }
}
try {
    $answer = ['result' => $plain($run($case['call'], $results)), 'results' => array_map($plain, $results)];
} catch (Throwable $exception) {
    $answer = ['exception' => get_class($exception), 'message' => $exception->getMessage()];
}
ob_end_clean();
echo serialize($answer + ['complaints' => $complaints]);
