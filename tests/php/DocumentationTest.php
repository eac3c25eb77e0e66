<?php
/**
 * The PHP examples of the documentation run as they stand there.
 */

use PHPUnit\Framework\TestCase;

final class DocumentationTest extends TestCase
{
    private const DATABASE = 'sb_documentation';
    private const PROJECT = __DIR__ . '/../../';

    private Database $database;
    private Folder $installation;

    protected function setUp(): void
    {
        $this->database = new Database();
        $this->database->make(self::DATABASE);
        $this->installation = Folder::installation(null);
        $constants = Database::configuration(self::DATABASE) + [
            'SB_PATH' => $this->installation->path,
            'SB_URL' => 'https://chat.example',
            'SB_SECRET_KEY' => 'the secret of the documentation',
        ];
        $this->installation->write('config.php', Folder::configuration($constants));
    }

    protected function tearDown(): void
    {
        $this->database->drop(self::DATABASE);
    }

    /** @dataProvider examples */
    public function testAnExampleRuns(string $code, ?string $output): void
    {
        $file = $this->installation->write('example.php', $code);
        $pipes = [];
        $settings = ['-d', 'display_errors=1', '-d', 'error_reporting=-1'];
        $command = Php::command(...[...$settings, $file]);
        $process = proc_open($command, [1 => ['pipe', 'w'], 2 => ['pipe', 'w']], $pipes, $this->installation->path);
        [$printed, $complaints] = [stream_get_contents($pipes[1]), stream_get_contents($pipes[2])];
        $this->assertSame([0, ''], [proc_close($process), $complaints], $printed);
        $this->assertNotSame('', $printed);
        $this->assertDoesNotMatchRegularExpression('/^(PHP )?(Warning|Notice|Deprecated|Fatal error)/m', $printed);
        if ($output !== null) {
            $this->assertSame($output, rtrim($printed));
        }
    }

    /** Whole scripts: what begins with <?php. A comment at the end of the last line that prints tells what. */
    public static function examples(): array
    {
        $examples = [];
        foreach ([self::PROJECT . 'README.md', ...glob(self::PROJECT . 'docs/*.md')] as $file) {
            preg_match_all('/^```php\n(<\?php\n.*?)^```$/ms', file_get_contents($file), $blocks, PREG_OFFSET_CAPTURE);
            foreach ($blocks[1] as [$code, $offset]) {
                $line = substr_count(file_get_contents($file, length: $offset), "\n") + 1;
                preg_match_all('/\becho .*; \/\/ (.+)$/m', $code, $outputs);
                $examples[basename($file) . ":$line"] = [$code, end($outputs[1]) ?: null];
            }
        }
        return $examples;
    }

    public function testThereAreExamples(): void
    {
        $files = array_map(static fn ($name) => strstr($name, ':', true), array_keys(self::examples()));
        foreach (['README.md', 'getting-started.md', 'moving.md', 'realtime.md', 'security.md'] as $file) {
            $this->assertContains($file, $files);
        }
    }
}
