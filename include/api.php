<?php
/**
 * The front controller of the HTTP API. Every address of the API leads here, as it is in
 * https://support.example/chat/include/api.php/v1/messages, or by a rule of the web server (docs/http-api.md).
 *
 * `sb serve` answers the same requests with the same answers, many times as fast, and alone has the feed of events.
 */

// What config.php prints, be it a line break behind its end, is no part of an answer.
ob_start();
include __DIR__ . '/functions.php';

(static function () {
    // Apache may keep the key from scripts, or hand it over under another name.
    if (!isset($_SERVER['HTTP_AUTHORIZATION'])) {
        $headers = function_exists('apache_request_headers') ? array_change_key_case(apache_request_headers()) : [];
        $key = $_SERVER['REDIRECT_HTTP_AUTHORIZATION'] ?? $headers['authorization'] ?? null;
        if ($key !== null) {
            $_SERVER['HTTP_AUTHORIZATION'] = $key;
        }
    }
    $body = (string) file_get_contents('php://input', false, null, 0, SBApi::BODY_LIMIT + 1);
    [$status, $headers, $answer, $failure] = SBApi::answer($body);
    if ($failure !== null) {
        error_log("sb: $failure");
    }
    while (ob_get_level() > 0 && ob_end_clean()) {
    }
    // The answer says how long it is, and an empty one is of no type.
    ini_set('zlib.output_compression', '0');
    ini_set('default_mimetype', '');
    header_remove();
    http_response_code($status);
    foreach ($headers as $header) {
        header($header, false);
    }
    echo $answer;
    // What follows the request, calls of webhooks, is not waited for.
    if (function_exists('fastcgi_finish_request')) {
        fastcgi_finish_request();
    }
})();
