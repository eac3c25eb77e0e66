<?php
/**
 * The private database server of the tests, as its root user, on a connection that is not the extension's.
 */
final class Database
{
    private const FIXTURES = __DIR__ . '/../../fixtures/';

    private mysqli $server;

    public function __construct()
    {
        mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
        $this->server = new mysqli('localhost', 'root', '', '', 0, getenv('SB_TEST_SOCKET'));
        $this->server->set_charset('utf8mb4');
        $this->server->query("SET time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES'");
    }

    /** The constants by which an installation reaches a database of the server. */
    public static function configuration(string $name): array
    {
        return [
            'SB_DB_NAME' => $name,
            'SB_DB_USER' => 'sb',
            'SB_DB_PASSWORD' => 'secret',
            'SB_DB_HOST' => '127.0.0.1',
            'SB_DB_PORT' => getenv('SB_TEST_PORT'),
        ];
    }

    /** Makes a database anew and uses it; what is loaded after the schema is one fixture or a list of them. */
    public function make(string $name, string $schema = 'generation-4', string|array $fixtures = 'people'): void
    {
        $this->run("DROP DATABASE IF EXISTS $name; CREATE DATABASE $name CHARACTER SET utf8mb4; USE $name;");
        $this->run(file_get_contents(self::FIXTURES . $schema . '.sql'));
        $isOld = in_array($schema, ['generation-1', 'generation-2'], true);
        foreach ((array) $fixtures as $fixture) {
            if ($fixture !== 'empty') {
                $file = $isOld && $fixture === 'people' ? 'people-old' : $fixture;
                $this->run(file_get_contents(self::FIXTURES . $file . '.sql'));
            }
        }
    }

    public function drop(string $name): void
    {
        $this->server->query("DROP DATABASE $name");
    }

    /** Runs one statement or several. */
    public function run(string $statements): void
    {
        $this->server->multi_query($statements);
        do {
            $this->server->store_result();
        } while ($this->server->more_results() && $this->server->next_result());
    }

    /** The rows of a query. */
    public function rows(string $query): array
    {
        return $this->server->query($query)->fetch_all(MYSQLI_ASSOC);
    }

    /** The first cell of the first row. */
    public function cell(string $query): ?string
    {
        return $this->server->query($query)->fetch_row()[0];
    }
}
