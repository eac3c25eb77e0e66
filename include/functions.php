<?php
/**
 * Makes the functions of the extension sb ready for the installation in the folder above: include this file, any
 * number of times, then call them.
 *
 * It reads config.php, gives SB_PATH and the global variables their defaults, and defines no function. Constants and
 * variables that are set already stay as they are.
 */

(static function () {
    if (!extension_loaded('sb')) {
        $reason = 'The PHP extension sb is not loaded: add the line extension=sb to php.ini and start PHP again.';
        if (PHP_SAPI === 'cli') {
            file_put_contents('php://stderr', $reason . PHP_EOL);
        } else {
            if (!headers_sent()) {
                http_response_code(500);
                header('Content-Type: text/plain; charset=utf-8');
            }
            echo $reason;
        }
        exit(1);
    }

    $folder = dirname(__DIR__);
    $file = $folder . '/config.php';
    if (defined('SB_CONFIG_ERROR')) {
        $failure = null;
    } elseif (!is_file($file)) {
        $failure = 'there is no such file';
    } elseif (!is_readable($file)) {
        $failure = 'PHP has no permission to read it';
    } else {
        $failure = null;
        // What the caller has defined before counts, so the file's own definition of it is no mistake.
        $handler = set_error_handler(static function ($level, $message, ...$place) use (&$handler) {
            if (preg_match('/^Constant SB_\w+ already defined/', $message)) {
                return true;
            }
            return $handler ? $handler($level, $message, ...$place) : false;
        });
        try {
            (static function () {
                require_once func_get_arg(0);
            })($file);
        } catch (Throwable $error) {
            // Not the message: of `define('SB_DB_PASSWORD', secret)` it is `Undefined constant "secret"`.
            $failure = get_class($error) . ' on line ' . $error->getLine() . '; `php config.php` tells more';
        } finally {
            restore_error_handler();
        }
    }
    if ($failure !== null) {
        // The first function that needs the database reports it.
        define('SB_CONFIG_ERROR', $failure);
    }

    defined('SB_PATH') || define('SB_PATH', $folder);
    $GLOBALS['SB_LOGIN'] ??= false;
    $GLOBALS['SB_FORCE_ADMIN'] ??= false;
})();
