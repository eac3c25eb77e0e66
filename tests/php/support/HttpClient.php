<?php
/**
 * A small HTTP/1.1 client: what it sends and gets is what stands on the wire. One connection for each request.
 */
final class HttpClient
{
    /** Seconds without a byte after which it gives up. */
    private const PATIENCE = 30;

    /** Sends a request and reads its answer. */
    public static function ask(string $address, string $method, string $target, array $headers = [], string $body = ''): array
    {
        return self::read(self::send($address, $method, $target, $headers, $body), $method);
    }

    /**
     * Sends a request.
     *
     * @return resource the connection, to be read from
     */
    public static function send(string $address, string $method, string $target, array $headers = [], string $body = '')
    {
        $stream = stream_socket_client("tcp://$address", $code, $message, self::PATIENCE);
        stream_set_timeout($stream, self::PATIENCE);
        $headers += ['Host' => 'support.example', 'Connection' => 'close'];
        if ($body !== '' || $method === 'POST') {
            $headers['Content-Length'] = strlen($body);
        }
        $text = "$method $target HTTP/1.1\r\n";
        foreach ($headers as $name => $value) {
            $text .= "$name: $value\r\n";
        }
        // Whoever answers early may have hung up.
        @fwrite($stream, "$text\r\n$body");
        return $stream;
    }

    /**
     * Reads an answer: its status, its headers by their names in lower case, its body.
     *
     * @param resource $stream
     */
    public static function read($stream, string $method): array
    {
        $all = (string) stream_get_contents($stream);
        [$head, $body] = explode("\r\n\r\n", $all, 2) + [1 => null];
        if ($body === null) {
            throw new RuntimeException("no answer came: $all");
        }
        $lines = explode("\r\n", $head);
        $status = (int) explode(' ', array_shift($lines))[1];
        $headers = [];
        foreach ($lines as $line) {
            [$name, $value] = explode(':', $line, 2);
            $name = strtolower($name);
            $headers[$name] = isset($headers[$name]) ? $headers[$name] . ', ' . trim($value) : trim($value);
        }
        if (($headers['transfer-encoding'] ?? '') === 'chunked') {
            $body = self::joined($body);
        } elseif ($method !== 'HEAD' && isset($headers['content-length']) && strlen($body) !== (int) $headers['content-length']) {
            throw new RuntimeException("the body has another length than {$headers['content-length']}: $body");
        }
        return ['status' => $status, 'headers' => $headers, 'body' => $body];
    }

    private static function joined(string $chunks): string
    {
        $body = '';
        while (($length = hexdec(strstr($chunks, "\r\n", true))) > 0) {
            $start = strpos($chunks, "\r\n") + 2;
            $body .= substr($chunks, $start, $length);
            $chunks = substr($chunks, $start + $length + 2);
        }
        return $body;
    }
}
