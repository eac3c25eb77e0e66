<?php
/**
 * The PHP under test, as a command: without php.ini, with the extension.
 */
final class Php
{
    /** The command, ready for proc_open. */
    public static function command(string ...$arguments): array
    {
        return [getenv('PHP') ?: PHP_BINARY, '-n', '-d', 'extension=' . self::extension(), ...$arguments];
    }

    /** The built extension. */
    public static function extension(): string
    {
        return getenv('SB_EXTENSION') ?: throw new RuntimeException('SB_EXTENSION names no library: use tests/php/run');
    }

    /** A port of 127.0.0.1 that nobody listens on. */
    public static function freePort(): int
    {
        $socket = stream_socket_server('tcp://127.0.0.1:0');
        return (int) substr(strrchr(stream_socket_get_name($socket, false), ':'), 1);
    }
}
