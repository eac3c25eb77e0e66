<?php
/**
 * php-fpm: many workers under load, and one worker that keeps nothing from one request to the next.
 */

use PHPUnit\Framework\TestCase;

final class WorkersTest extends TestCase
{
    private const SECONDS = 10;
    private const CLIENTS = 8;
    /** KiB that a worker may grow by after its first requests. */
    private const GROWTH = 1024;

    private static Database $database;
    private static Folder $installation;
    private static string $load;
    private static string $request;

    public static function setUpBeforeClass(): void
    {
        self::$database = new Database();
        self::$database->make('sb_workers');
        $constants = Database::configuration('sb_workers') + ['SB_SECRET_KEY' => 'the secret of the workers'];
        self::$installation = Folder::installation(Folder::configuration($constants));
        putenv('INSTALLATION=' . self::$installation->path);
        self::$request = self::$installation->write('request.php', file_get_contents(__DIR__ . '/support/request.php'));
        self::$load = self::$installation->write('load.php', '<?php
            include __DIR__ . "/include/functions.php";
            $answer = sb_send_message(random_int(1, 7), random_int(1, 6), "load");
            echo is_array($answer) && sb_get_user(3)["id"] === "3" ? "ok" : "failed: " . json_encode($answer);');
    }

    public static function tearDownAfterClass(): void
    {
        self::$database->drop('sb_workers');
    }

    public function testEveryMessageThatIsAnsweredIsStoredAndWorkersDoNotGrow(): void
    {
        $workers = new Workers(4);
        $this->answers($workers, 2);
        $memory = $workers->memory();
        $before = (int) self::$database->cell('SELECT COUNT(*) FROM sb_workers.sb_messages');

        $answers = $this->answers($workers, self::SECONDS);
        $stored = (int) self::$database->cell('SELECT COUNT(*) FROM sb_workers.sb_messages') - $before;
        $grown = array_map(static fn ($now, $then) => $now - $then, $workers->memory(), $memory);
        $this->assertSame(array_keys($memory), array_keys($workers->memory()), 'a worker has died');
        $workers->stop();

        fwrite(STDERR, sprintf(
            "%d messages in %d s by 4 workers; growth per worker %s KiB, of %s\n",
            $stored,
            self::SECONDS,
            implode(', ', $grown),
            implode(', ', $memory)
        ));
        $this->assertSame(['ok' => $stored], $answers);
        $this->assertGreaterThan(self::CLIENTS, $stored);
        $this->assertSame([], $workers->complaints());
        $this->assertLessThan(self::GROWTH, max($grown));
    }

    public function testOneWorkerForgetsWhatARequestHasSet(): void
    {
        $workers = new Workers(1);
        $look = 'return [$GLOBALS["SB_LOGIN"], $GLOBALS["SB_FORCE_ADMIN"], sb_get_active_user_ID(),
            ($answer = sb_delete_user(99)) instanceof SBError ? $answer->code() : "allowed", getmypid()];';
        $set = '$GLOBALS["SB_LOGIN"] = ["id" => 1, "user_type" => "admin"]; $GLOBALS["SB_FORCE_ADMIN"] = true; ' . $look;
        $unprivileged = [false, false, false, 'security-error', array_key_first($workers->memory())];
        for ($round = 0; $round < 5; $round++) {
            $this->assertSame($unprivileged, $this->ask($workers, $look));
            $this->assertSame(['1', 'allowed'], array_slice($this->ask($workers, $set), 2, 2));
            $this->assertSame($unprivileged, $this->ask($workers, $look));
            foreach (['exit;', 'throw new Exception;', 'trigger_error("x", E_USER_ERROR);'] as $end) {
                FastCgi::post($workers->socket, self::$request, "ini_set('log_errors', 0); " . str_replace('return', '$a =', $set) . $end);
                $this->assertSame($unprivileged, $this->ask($workers, $look), $end);
            }
        }
        $workers->stop();
        $this->assertSame([], $workers->complaints());
    }

    /** How many answers of each kind the clients got. */
    private function answers(Workers $workers, int $seconds): array
    {
        $command = [PHP_BINARY, '-n', __DIR__ . '/support/load.php', $workers->socket, self::$load, (string) $seconds];
        for ($client = 0; $client < self::CLIENTS; $client++) {
            $clients[] = proc_open($command, [1 => ['pipe', 'w']], $pipes);
            $outputs[] = $pipes[1];
        }
        $sum = [];
        foreach ($outputs as $position => $output) {
            foreach (json_decode(stream_get_contents($output), true) as $answer => $count) {
                $sum[$answer] = ($sum[$answer] ?? 0) + $count;
            }
            proc_close($clients[$position]);
        }
        return $sum;
    }

    private function ask(Workers $workers, string $code): array
    {
        $answer = FastCgi::post($workers->socket, self::$request, $code);
        return unserialize(explode("\r\n\r\n", (string) $answer, 2)[1]);
    }
}
