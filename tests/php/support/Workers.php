<?php
/**
 * A private php-fpm with a number of workers.
 */
final class Workers
{
    public string $socket;
    /** @var resource */
    private $process;
    private Folder $folder;
    /** How many lines of complaints were read. */
    private int $read = 0;

    public function __construct(int $workers)
    {
        $this->folder = new Folder();
        $this->socket = $this->folder->path . '/socket';
        $user = trim((string) shell_exec('id -un'));
        $configuration = $this->folder->write('fpm.conf', <<<CONFIGURATION
            [global]
            error_log = {$this->folder->path}/log
            daemonize = no
            [www]
            user = $user
            group = $user
            listen = $this->socket
            pm = static
            pm.max_children = $workers
            catch_workers_output = yes
            clear_env = no
            php_admin_value[error_log] = {$this->folder->path}/log
            php_flag[log_errors] = on
            CONFIGURATION);
        $null = ['file', '/dev/null', 'a'];
        $this->process = proc_open([self::program(), '-n', '-R', '-F', '-y', $configuration, '-d',
            'extension=' . Php::extension()], [$null, $null, $null], $pipes);
        for ($tries = 0; $tries < 1000 && !@stream_socket_client("unix://$this->socket"); $tries++) {
            usleep(10_000);
        }
    }

    /** The memory of each worker in KiB, by its process id. */
    public function memory(): array
    {
        $parent = proc_get_status($this->process)['pid'];
        $memory = [];
        foreach (explode(' ', trim(file_get_contents("/proc/$parent/task/$parent/children"))) as $pid) {
            preg_match('/^VmRSS:\s+(\d+)/m', file_get_contents("/proc/$pid/status"), $match);
            $memory[$pid] = (int) $match[1];
        }
        return $memory;
    }

    /** What it and its workers complain of, since this was last asked. */
    public function complaints(): array
    {
        $lines = file($this->folder->path . '/log', FILE_IGNORE_NEW_LINES);
        $new = array_slice($lines, $this->read);
        $this->read = count($lines);
        return array_values(array_filter($new, static fn ($line) => !str_contains($line, '] NOTICE: ')));
    }

    public function stop(): void
    {
        proc_terminate($this->process);
        proc_close($this->process);
    }

    private static function program(): string
    {
        $name = 'php-fpm' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION;
        foreach ([getenv('PHP_FPM'), "/usr/sbin/$name", '/usr/sbin/php-fpm', '/usr/local/sbin/php-fpm'] as $program) {
            if ($program && is_executable($program)) {
                return $program;
            }
        }
        throw new RuntimeException("no php-fpm: install $name, or name it in PHP_FPM");
    }
}
