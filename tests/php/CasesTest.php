<?php
/**
 * Runs every case of tests/cases through the loaded extension: each as one request, on a database of its own.
 */

use PHPUnit\Framework\TestCase;

final class CasesTest extends TestCase
{
    private const CASES = __DIR__ . '/../cases/';

    private static Database $database;
    private static Folder $installation;
    private static WebServer $server;

    public static function setUpBeforeClass(): void
    {
        self::$database = new Database();
        self::$installation = Folder::installation("<?php\n");
        self::$server = new WebServer(__DIR__ . '/support/case.php', '-d', 'date.timezone=UTC');
    }

    public static function tearDownAfterClass(): void
    {
        self::$server->stop();
    }

    public static function cases(): iterable
    {
        foreach (glob(self::CASES . '*/*.json') as $file) {
            $name = basename(dirname($file)) . '/' . basename($file, '.json');
            foreach (json_decode(file_get_contents($file), true, 512, JSON_THROW_ON_ERROR) as $case) {
                if (in_array('php', $case['doors'] ?? ['php'], true)) {
                    yield "$name {$case['it']}" => [$case];
                }
            }
        }
    }

    /** @dataProvider cases */
    public function testCase(array $case): void
    {
        $given = $case['given'] ?? [];
        $name = 'sb_case_' . md5($this->dataName());
        self::$database->make($name, $given['schema'] ?? 'generation-4', $given['fixture'] ?? 'people');
        foreach ($given['sql'] ?? [] as $statement) {
            self::$database->run($statement);
        }
        $answer = $this->answer($case['call'], $given, $name);

        if (isset($case['throws'])) {
            $this->assertSame($case['throws'], $answer['exception'] ?? null, json_encode($answer));
            $this->assertAgrees($case['message'] ?? '~any', $answer['message'], 'message');
        } else {
            $this->assertArrayHasKey('result', $answer, $answer['message'] ?? '');
            $gives = Arguments::withResults($case['gives'], $answer['results']);
            $this->assertAgrees($gives, $answer['result'], 'result');
        }
        foreach ($case['then'] ?? [] as $query => $rows) {
            $this->assertAgrees($rows, self::$database->rows($query), $query);
        }
        $this->assertSame([], $answer['complaints'], 'PHP complains');
        self::$database->drop($name);
    }

    private function answer(array $call, array $given, string $name): array
    {
        $folder = new Folder();
        $configured = ($given['configured'] ?? []) + Database::configuration($name) + [
            'SB_SECRET_KEY' => 'the secret of the cases',
            'SB_URL' => 'https://support.example/chat',
            'SB_PATH' => $folder->path,
        ];
        $request = [
            'shim' => self::$installation->path . '/include/functions.php',
            'configured' => array_filter($configured, static fn ($value) => $value !== null),
            'login' => $given['login'] ?? null,
            'force_admin' => $given['force_admin'] ?? null,
            'calls' => $given['calls'] ?? [],
            'call' => $call,
        ];
        [, $body] = self::$server->post(serialize($request));
        $answer = @unserialize($body, ['allowed_classes' => [stdClass::class]]);
        $this->assertIsArray($answer, $body . self::$server->log());
        return $answer;
    }

    private function assertAgrees(mixed $expected, mixed $actual, string $place): void
    {
        $difference = Matcher::difference($expected, $actual, $place);
        $this->assertNull($difference, (string) $difference);
    }
}
