<?php
/**
 * A client of php-fpm: one request for each connection (FastCGI 1.0).
 */
final class FastCgi
{
    private const BEGIN = 1;
    private const END = 3;
    private const PARAMETERS = 4;
    private const INPUT = 5;
    private const OUTPUT = 6;

    /** Runs a script with a request body: its answer, header and body as one text. Null when the connection breaks. */
    public static function post(string $socket, string $script, string $body = ''): ?string
    {
        $stream = @stream_socket_client("unix://$socket", $code, $message, 10);
        if ($stream === false) {
            return null;
        }
        stream_set_timeout($stream, 60);
        $parameters = '';
        foreach ([
            'SCRIPT_FILENAME' => $script,
            'REQUEST_METHOD' => 'POST',
            'CONTENT_TYPE' => 'application/octet-stream',
            'CONTENT_LENGTH' => (string) strlen($body),
            'REMOTE_ADDR' => '127.0.0.1',
        ] as $name => $value) {
            $parameters .= pack('CN', strlen($name), strlen($value) | 0x80000000) . $name . $value;
        }
        fwrite($stream, self::record(self::BEGIN, "\0\1\0\0\0\0\0\0") . self::record(self::PARAMETERS, $parameters)
            . self::record(self::PARAMETERS, '') . ($body === '' ? '' : self::record(self::INPUT, $body))
            . self::record(self::INPUT, ''));
        $output = '';
        while (strlen($head = (string) stream_get_contents($stream, 8)) === 8) {
            ['type' => $type, 'length' => $length, 'padding' => $padding] = unpack('Cversion/Ctype/nid/nlength/Cpadding', $head);
            $content = $length + $padding > 0 ? stream_get_contents($stream, $length + $padding) : '';
            if ($type === self::OUTPUT) {
                $output .= substr($content, 0, $length);
            } elseif ($type === self::END) {
                return $output;
            }
        }
        return null;
    }

    private static function record(int $type, string $content): string
    {
        return pack('CCnnCC', 1, $type, 1, strlen($content), 0, 0) . $content;
    }
}
