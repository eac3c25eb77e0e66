<?php
/**
 * A private nginx with the servers that the documentation shows.
 */
final class Nginx
{
    public string $address;
    /** @var resource */
    private $process;
    private Folder $folder;

    /** Runs an example of docs/http-api.md: the one that holds a text, with other names in place of those it has. */
    public function __construct(string $example, array $names)
    {
        $this->folder = new Folder();
        $this->address = '127.0.0.1:' . Php::freePort();
        $folder = $this->folder->path;
        copy('/etc/nginx/fastcgi_params', "$folder/fastcgi_params");
        $server = self::example($example);
        $server = preg_replace('/^ *ssl_certificate.*\n/m', '', $server);
        $server = strtr($server, ['listen 443 ssl;' => "listen $this->address;"] + $names);
        $user = trim((string) shell_exec('id -un'));
        $configuration = $this->folder->write('nginx.conf', implode("\n", [
            $user === 'root' ? 'user root;' : '',
            "daemon off; worker_processes 2; pid $folder/pid; error_log $folder/log;",
            'events {}',
            "http { access_log off; client_body_temp_path $folder/body; fastcgi_temp_path $folder/fastcgi;",
            "proxy_temp_path $folder/proxy; scgi_temp_path $folder/scgi; uwsgi_temp_path $folder/uwsgi;",
            $server,
            '}',
        ]));
        $null = ['file', '/dev/null', 'a'];
        $log = ['file', "$folder/log", 'a'];
        $this->process = proc_open([self::program(), '-p', $folder, '-c', $configuration, '-e', "$folder/log"], [$null, $log, $log], $pipes);
        for ($tries = 0; $tries < 500 && !@stream_socket_client("tcp://$this->address"); $tries++) {
            usleep(10_000);
        }
    }

    /** What it complains of. */
    public function complaints(): array
    {
        return file($this->folder->path . '/log', FILE_IGNORE_NEW_LINES);
    }

    public function stop(): void
    {
        proc_terminate($this->process);
        proc_close($this->process);
    }

    private static function example(string $part): string
    {
        preg_match_all('/^```nginx\n(.*?)^```$/ms', file_get_contents(__DIR__ . '/../../../docs/http-api.md'), $blocks);
        foreach ($blocks[1] as $block) {
            if (str_contains($block, $part)) {
                return $block;
            }
        }
        throw new LogicException("docs/http-api.md has no example with $part");
    }

    private static function program(): string
    {
        foreach (['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/local/bin/nginx'] as $program) {
            if (is_executable($program)) {
                return $program;
            }
        }
        throw new RuntimeException('no nginx: install nginx-light');
    }
}
