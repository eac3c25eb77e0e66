<?php
/**
 * The suite of tests/api through everything that carries the HTTP API, whose answers must be the same byte for byte;
 * requests at the same time; a database that is gone for a while.
 */

use PHPUnit\Framework\TestCase;

final class ApiTest extends TestCase
{
    private const CASES = __DIR__ . '/../api/';
    private const CLIENTS = 8;
    /** Headers that are a server's own. */
    private const OF_SERVERS = ['connection', 'date', 'host', 'keep-alive', 'server', 'transfer-encoding'];

    private static Database $database;
    private static Folder $installation;
    private static WebServer $webServer;
    private static Workers $workers;
    private static Nginx $php;
    private static Nginx $proxy;
    /** Where sb serve listens. */
    private static string $address;
    /** How many databases were made. */
    private static int $count = 0;
    /** The database of now. */
    private string $name;
    private ?Serving $serving = null;

    public static function setUpBeforeClass(): void
    {
        self::$database = new Database();
        self::$installation = Folder::installation("<?php\n");
        $script = self::$installation->path . '/include/api.php';
        self::$webServer = new WebServer($script);
        self::$workers = new Workers(self::CLIENTS);
        self::$php = new Nginx('fastcgi_pass', [
            '/var/www/chat' => self::$installation->path,
            'unix:/run/php/php8.2-fpm.sock' => 'unix:' . self::$workers->socket,
        ]);
        self::$address = '127.0.0.1:' . Php::freePort();
        self::$proxy = new Nginx('proxy_pass', ['127.0.0.1:8080' => self::$address]);
    }

    public static function tearDownAfterClass(): void
    {
        self::$webServer->stop();
        self::$php->stop();
        self::$proxy->stop();
        self::$workers->stop();
    }

    protected function tearDown(): void
    {
        $this->serving?->stop();
    }

    /** Where to ask what carries the API, by its name. */
    private function addresses(): array
    {
        return [
            'php -S' => self::$webServer->address(),
            'nginx and php-fpm' => self::$php->address,
            'sb serve' => self::$address,
            'nginx and sb serve' => self::$proxy->address,
        ];
    }

    public static function cases(): iterable
    {
        foreach (glob(self::CASES . '*.json') as $file) {
            // As objects: an empty one is no empty list.
            foreach (json_decode(file_get_contents($file), false, 512, JSON_THROW_ON_ERROR) as $case) {
                yield basename($file, '.json') . ": $case->it" => [$case];
            }
        }
    }

    /** @dataProvider cases */
    public function testCase(stdClass $case): void
    {
        $answers = [];
        self::$workers->complaints();
        foreach ($this->addresses() as $carrier => $address) {
            $this->open($case, $carrier);
            foreach ($case->asks as $position => $ask) {
                $answer = self::ask($address, $ask);
                $this->judge($ask, $answer, "$carrier, $ask->ask");
                $answers["$position: $ask->ask"][$carrier] = self::comparable($answer);
            }
            foreach (self::plain($case->then ?? []) as $query => $rows) {
                $this->assertAgrees($rows, self::$database->rows($query), "$carrier, $query");
            }
            $this->close();
        }
        foreach ($answers as $ask => $ofCarriers) {
            foreach ($ofCarriers as $carrier => $answer) {
                $this->assertSame(reset($ofCarriers), $answer, "$ask by $carrier");
            }
        }
        $this->assertSame([], self::$php->complaints());
        // What is nobody's fault but the server's is in its log, and nothing else.
        $failures = array_filter($case->asks, static fn ($ask) => ($ask->status ?? 200) === 500);
        $this->assertCount(count($failures), self::$workers->complaints());
    }

    public function testOfRequestsOfOneNameThatComeTogetherOneIsCarriedOut(): void
    {
        $body = '{"conversation_id":"1","user_id":"3","message":"once"}';
        foreach ($this->addresses() as $carrier => $address) {
            $this->open(new stdClass(), $carrier);
            foreach (['a', 'b', 'c'] as $round => $name) {
                $headers = ['Idempotency-Key' => $name] + self::headers('server');
                $streams = [];
                for ($client = 0; $client < self::CLIENTS; $client++) {
                    $streams[] = HttpClient::send($address, 'POST', '/v1/messages', $headers, $body);
                }
                $answers = array_map(static fn ($stream) => HttpClient::read($stream, 'POST'), $streams);
                $this->assertSame([200], array_values(array_unique(array_column($answers, 'status'))), $carrier);
                $this->assertCount(1, array_unique(array_column($answers, 'body')), $carrier);
                $firsts = array_filter($answers, static fn ($answer) => !isset($answer['headers']['idempotent-replayed']));
                $this->assertCount(1, $firsts, $carrier);
                $this->assertSame((string) (12 + $round), self::$database->cell('SELECT COUNT(*) FROM sb_messages'), $carrier);
            }
            $this->close();
        }
    }

    public function testAStoppedDatabaseIsToldAtOnceAndOneThatIsBackIsUsedAtOnce(): void
    {
        foreach ($this->addresses() as $carrier => $address) {
            $this->open(new stdClass(), $carrier);
            $ask = static fn () => HttpClient::ask($address, 'POST', '/v1/messages', self::headers('server'),
                '{"conversation_id":"1","user_id":"3","message":"a"}');
            $this->assertSame(200, $ask()['status'], $carrier);
            self::server('--stop');
            try {
                for ($tries = 0; $tries < self::CLIENTS; $tries++) {
                    $started = microtime(true);
                    $answer = $ask();
                    $this->assertLessThan(0.5, microtime(true) - $started, $carrier);
                    $this->assertSame([503, '1'], [$answer['status'], $answer['headers']['retry-after'] ?? null], $carrier);
                    $this->assertStringContainsString('"code":"unavailable"', $answer['body'], $carrier);
                }
                $this->assertSame(503, HttpClient::ask($address, 'GET', '/readyz')['status'], $carrier);
                $this->assertSame(200, HttpClient::ask($address, 'GET', '/healthz')['status'], $carrier);
            } finally {
                self::server('--start');
                self::$database = new Database();
            }
            $started = microtime(true);
            do {
                $status = $ask()['status'];
            } while ($status !== 200 && microtime(true) - $started < 1);
            $this->assertSame(200, $status, "$carrier is not well within a second");
            $this->assertSame('13', self::$database->cell("SELECT COUNT(*) FROM $this->name.sb_messages"), $carrier);
            $this->close();
        }
    }

    /** Makes the database and the configuration of a case, for one that carries it. */
    private function open(stdClass $case, string $carrier): void
    {
        $given = self::plain($case->given ?? []);
        $fixtures = (array) ($given['fixture'] ?? 'people');
        $own = $case->tables ?? true ? ['own-tables', 'api-keys'] : [];
        // Workers live on, and remember for a while what they have read.
        $this->name = 'sb_api_' . ++self::$count;
        self::$database->make($this->name, $given['schema'] ?? 'generation-4', [...$fixtures, ...$own]);
        foreach ($given['sql'] ?? [] as $statement) {
            self::$database->run($statement);
        }
        $configured = ($given['configured'] ?? []) + Database::configuration($this->name) + [
            'SB_SECRET_KEY' => 'the secret of the cases',
            'SB_URL' => 'https://support.example/chat',
        ];
        $configured = array_filter($configured, static fn ($value) => $value !== null);
        $file = self::$installation->write('config.php', Folder::configuration($configured));
        if (str_ends_with($carrier, 'sb serve')) {
            $this->serving = new Serving(self::$address, $file);
        }
        // Uses are counted by the minute.
        while (time() % 60 > 56) {
            usleep(100_000);
        }
    }

    private function close(): void
    {
        $this->serving?->stop();
        $this->serving = null;
        self::$database->drop($this->name);
    }

    private static function ask(string $address, stdClass $ask): array
    {
        [$method, $target] = explode(' ', $ask->ask, 2);
        $headers = isset($ask->as) ? ['Authorization' => "Bearer sb_live_$ask->as"] : [];
        $body = isset($ask->raw) ? Arguments::value(self::plain($ask->raw)) : '';
        if (property_exists($ask, 'body')) {
            $headers['Content-Type'] = 'application/json';
            $body = json_encode(self::resolved($ask->body));
        }
        foreach ((array) ($ask->headers ?? []) as $name => $value) {
            $headers[$name] = $value;
        }
        return HttpClient::ask($address, $method, $target, $headers, $body);
    }

    private function judge(stdClass $ask, array $answer, string $place): void
    {
        $this->assertSame($ask->status, $answer['status'], "$place: {$answer['body']}");
        foreach (self::plain($ask->answers ?? []) as $name => $expected) {
            $this->assertAgrees($expected, $answer['headers'][strtolower($name)] ?? null, "$place, $name");
        }
        if (property_exists($ask, 'gives')) {
            $got = json_decode($answer['body'], true, 512, JSON_THROW_ON_ERROR);
            $this->assertAgrees(self::plain($ask->gives), $got, $place);
        }
        if (isset($ask->text)) {
            $this->assertAgrees($ask->text, $answer['body'], $place);
        }
        foreach ($ask->lacks ?? [] as $secret) {
            $this->assertStringNotContainsString($secret, $answer['body'], $place);
        }
    }

    /** An answer without what differs from server to server, and from moment to moment. */
    private static function comparable(array $answer): array
    {
        ['headers' => $headers, 'body' => $body] = $answer;
        $headers = array_diff_key($headers, array_flip(self::OF_SERVERS));
        // What each process has counted stands behind what all give.
        if (str_starts_with($headers['content-type'] ?? '', 'text/plain')) {
            $body = explode('# HELP sb_calls_total', $body)[0];
            unset($headers['content-length']);
        }
        ksort($headers);
        $text = json_encode([$answer['status'], $headers, $body], JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE);
        $text = str_replace($headers['x-request-id'], 'ID', $text);
        $isNow = static fn (string $time): bool => abs(strtotime(rtrim($time, 'Z') . ' UTC') - time()) <= 120;
        $text = preg_replace_callback('/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\dZ?/', static fn (array $found): string =>
            $isNow($found[0]) ? 'NOW' : $found[0], $text);
        $text = preg_replace('/("x-ratelimit-reset":)"\d{10}"/', '$1"SOON"', $text);
        return json_decode($text, true);
    }

    private function assertAgrees(mixed $expected, mixed $actual, string $place): void
    {
        $difference = Matcher::difference($expected, $actual);
        $this->assertNull($difference, "$place: $difference");
    }

    private static function headers(string $key): array
    {
        return ['Authorization' => "Bearer sb_live_$key", 'Content-Type' => 'application/json'];
    }

    /** Objects as arrays. */
    private static function plain(mixed $value): mixed
    {
        return json_decode(json_encode($value, JSON_PRESERVE_ZERO_FRACTION), true);
    }

    /** A value with what stands for what JSON cannot hold; objects stay such. */
    private static function resolved(mixed $value): mixed
    {
        if ($value instanceof stdClass) {
            $entries = (array) $value;
            return isset($entries['~repeat']) || isset($entries['~bytes'])
                ? Arguments::value(self::plain($value))
                : (object) array_map([self::class, 'resolved'], $entries);
        }
        return is_array($value) ? array_map([self::class, 'resolved'], $value) : $value;
    }

    /** Stops or starts the database server. */
    private static function server(string $what): void
    {
        exec(escapeshellarg(__DIR__ . '/../support/mariadb') . " $what 2>&1", $output, $status);
        if ($status !== 0) {
            throw new RuntimeException(implode("\n", $output));
        }
    }
}
