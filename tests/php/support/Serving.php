<?php
/**
 * `sb serve` for an installation.
 */
final class Serving
{
    /** @var resource */
    private $process;
    private Folder $folder;

    public function __construct(string $address, string $configuration)
    {
        $this->folder = new Folder();
        $log = ['file', $this->folder->path . '/log', 'a'];
        $command = [self::program(), 'serve', '--threads', '2', '--listen', $address, '--config', $configuration];
        $this->process = proc_open($command, [['file', '/dev/null', 'r'], ['pipe', 'w'], $log], $pipes, null, []);
        if (trim((string) fgets($pipes[1])) !== "Listening on http://$address") {
            throw new RuntimeException('sb serve did not start: ' . file_get_contents($this->folder->path . '/log'));
        }
    }

    public function stop(): void
    {
        proc_terminate($this->process);
        proc_close($this->process);
    }

    /** The built program, beside the extension unless SB_PROGRAM names it. */
    private static function program(): string
    {
        $program = getenv('SB_PROGRAM') ?: dirname(Php::extension()) . '/sb';
        return is_executable($program) ? $program : throw new RuntimeException("there is no $program: make build");
    }
}
