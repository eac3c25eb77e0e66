<?php
/**
 * PHP's own web server on a script: one process, one request after another.
 */
final class WebServer
{
    /** @var resource|null */
    private $process = null;
    private int $port = 0;
    private Folder $folder;
    private string $script;
    /** @var string[] */
    private array $options;

    public function __construct(string $script, string ...$options)
    {
        $this->script = $script;
        $this->options = $options;
        $this->folder = new Folder();
    }

    /** Answers a request: the lines of the header, and the body. */
    public function post(string $body, array $header = []): array
    {
        $this->start();
        $context = stream_context_create(['http' => [
            'method' => 'POST',
            'header' => ['Content-Type: application/octet-stream', ...$header],
            'content' => $body,
            'ignore_errors' => true,
            'timeout' => 60,
        ]]);
        $answer = @file_get_contents("http://127.0.0.1:$this->port/", false, $context);
        if ($answer === false) {
            $state = proc_get_status($this->process);
            $reason = $state['running'] ? 'does not answer' : "died of signal {$state['termsig']}";
            $log = $this->log();
            $this->stop();
            throw new RuntimeException("the web server $reason:\n$log" . (error_get_last()['message'] ?? ''));
        }
        return [$http_response_header, $answer];
    }

    /** Where it listens. */
    public function address(): string
    {
        $this->start();
        return "127.0.0.1:$this->port";
    }

    /** The process id, which stays the same as long as it does not crash. */
    public function pid(): int
    {
        $this->start();
        return proc_get_status($this->process)['pid'];
    }

    /** What it has written to its error output, without the connections that it lists. */
    public function log(): string
    {
        $lines = file($this->folder->path . '/log');
        return implode('', preg_grep('/ (Accepted|Closing|Closed without sending a request.*)$/', $lines, PREG_GREP_INVERT));
    }

    private function start(): void
    {
        if ($this->process !== null && proc_get_status($this->process)['running']) {
            return;
        }
        $this->port = Php::freePort();
        $log = ['file', $this->folder->path . '/log', 'a'];
        $command = Php::command(...$this->options, ...['-S', "127.0.0.1:$this->port", $this->script]);
        $this->process = proc_open($command, [['file', '/dev/null', 'r'], $log, $log], $pipes);
        for ($tries = 0; $tries < 500; $tries++) {
            if (@fsockopen('127.0.0.1', $this->port)) {
                return;
            }
            usleep(10_000);
        }
        throw new RuntimeException("the web server did not start:\n" . $this->log());
    }

    public function stop(): void
    {
        if ($this->process !== null) {
            proc_terminate($this->process);
            proc_close($this->process);
            $this->process = null;
        }
    }

    public function __destruct()
    {
        $this->stop();
    }
}
