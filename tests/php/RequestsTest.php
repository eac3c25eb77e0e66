<?php
/**
 * Many requests in one process: what one leaves behind is not seen by the next. Cookies.
 */

use PHPUnit\Framework\TestCase;

final class RequestsTest extends TestCase
{
    private const DATABASE = 'sb_requests';
    private const TOKEN = '03abcdef03abcdef03abcdef03abcdef03abcdef';

    private static Database $database;
    private static Folder $installation;
    private static WebServer $server;
    private int $pid;

    public static function setUpBeforeClass(): void
    {
        self::$database = new Database();
        $constants = Database::configuration(self::DATABASE) + ['SB_SECRET_KEY' => 'the secret of the requests'];
        self::$installation = Folder::installation(Folder::configuration($constants));
        self::$installation->write('request.php', file_get_contents(__DIR__ . '/support/request.php'));
        putenv('INSTALLATION=' . self::$installation->path);
        self::$server = new WebServer(self::$installation->path . '/request.php', '-d', 'memory_limit=32M');
    }

    protected function setUp(): void
    {
        self::$database->make(self::DATABASE);
        $this->pid = self::$server->pid();
    }

    protected function tearDown(): void
    {
        $this->assertSame($this->pid, self::$server->pid(), 'the process has crashed');
    }

    public static function tearDownAfterClass(): void
    {
        self::$server->stop();
        self::$database->drop(self::DATABASE);
    }

    public function testLoginSendsACookieThatMakesTheUserActiveInTheNextRequest(): void
    {
        [$header, $answer] = $this->ask('return sb_login("carla@customer.example", "correct horse");');
        $cookies = preg_grep('/^Set-Cookie:/i', $header);
        $this->assertCount(1, $cookies);
        $cookie = reset($cookies);
        $this->assertMatchesRegularExpression(
            '/^Set-Cookie: sb-login=[\w-]+; Max-Age=315360000; Path=\/; HttpOnly; SameSite=Lax$/',
            $cookie
        );
        $this->assertSame("sb-login=$answer[1]", $this->cookie($header));

        $this->assertFalse($this->resultOf('return sb_get_active_user_ID();'), 'without the cookie nobody is active');
        $whoami = 'return [sb_get_active_user_ID(), $GLOBALS["SB_LOGIN"]["email"] ?? null];';
        $this->assertSame(['3', 'carla@customer.example'], $this->resultOf($whoami, $this->cookie($header)));
        $this->assertSame([false, null], $this->resultOf($whoami), 'and not after it either');
    }

    public function testACookieOfAnotherTokenOrAChangedOneIsNoLogin(): void
    {
        $cookie = $this->cookie($this->ask('return sb_login("", "", 3, "' . self::TOKEN . '");')[0]);
        $id = 'return sb_get_active_user_ID();';
        $this->assertSame('3', $this->resultOf($id, $cookie));
        foreach (['sb-login=', 'sb-login=x', substr($cookie, 0, -1), $cookie . 'A', strtolower($cookie)] as $changed) {
            $this->assertFalse($this->resultOf($id, $changed), $changed);
        }
        self::$database->run("UPDATE sb_users SET token = REPEAT('f', 40) WHERE id = 3");
        $this->assertFalse($this->resultOf($id, $cookie), 'a changed token logs out');
        self::$database->run("UPDATE sb_users SET token = '" . self::TOKEN . "', user_type = 'agent' WHERE id = 3");
        $this->assertSame('agent', $this->resultOf('return sb_get_active_user()[0]["user_type"];', $cookie));
        self::$database->run('DELETE FROM sb_users WHERE id = 3');
        $this->assertFalse($this->resultOf($id, $cookie), 'so does a deleted user');
    }

    public function testAfterTheHeadersAreSentLoginStillWorksWithoutACookie(): void
    {
        [$header, $answer] = $this->ask('echo "x"; flush();
            $login = sb_login("", "", 3, "' . self::TOKEN . '"); echo "|"; return [$login[0]["id"], $GLOBALS["SB_LOGIN"]["id"], error_get_last()];');
        $this->assertSame(['3', '3', null], $answer);
        $this->assertSame([], preg_grep('/^Set-Cookie:/i', $header));
    }

    public function testGlobalsOfOneRequestAreNotSeenByTheNext(): void
    {
        $look = 'return [$GLOBALS["SB_LOGIN"], $GLOBALS["SB_FORCE_ADMIN"], sb_get_active_user_ID(), sb_delete_user(7) === true];';
        $before = [false, false, false, false];
        $this->assertSame($before, $this->resultOf($look));
        $set = '$GLOBALS["SB_LOGIN"] = ["id" => 1, "user_type" => "admin"]; $GLOBALS["SB_FORCE_ADMIN"] = true; sb_get_user(1);';
        foreach (['return 1;', 'exit(serialize(1));', 'ini_set("display_errors", 0); throw new Exception;'] as $end) {
            [, $answer] = self::$server->post($set . $end);
            $this->assertContains($answer, [serialize(1), '']);
            $this->assertSame($before, $this->resultOf($look), $end);
        }
    }

    public function testSettingsAreReadAnewInEachRequest(): void
    {
        $add = 'return sb_get_user(sb_add_user([]))["first_name"];';
        $this->assertSame('User', $this->resultOf($add));
        self::$database->run("UPDATE sb_settings SET value = JSON_SET(value, '$.\"visitor-default-name\"[0]', 'Guest') WHERE name = 'settings'");
        $this->assertSame('Guest', $this->resultOf($add));
    }

    /** @dataProvider leftovers */
    public function testWhatARequestLeavesInTheSessionIsGoneInTheNext(string $statement): void
    {
        $state = 'return sb_db_get("SELECT @@autocommit, @@sql_mode, @@time_zone, @@character_set_client,
            @@character_set_results, @@foreign_key_checks, @@transaction_isolation, @left AS variable, DATABASE() AS name,
            @@in_transaction, IS_USED_LOCK(\'left\') AS named_lock");';
        $state = str_replace('@@transaction_isolation', '@@tx_isolation', $state);
        $clean = $this->resultOf($state);
        $this->assertSame('sb_requests', $clean['name']);
        foreach (['', ' sb_get_user(3);', ' sb_add_user(["first_name" => "Ines"]);', ' sb_send_message(3, 1, "a");'] as $then) {
            $this->resultOf('sb_db_query(' . var_export($statement, true) . ');' . $then . ' return true;');
            // The server takes a moment to notice that a connection has ended.
            $end = microtime(true) + 2;
            while ($this->resultOf($state)['named_lock'] !== null && microtime(true) < $end) {
                usleep(10_000);
            }
            $this->assertSame($clean, $this->resultOf($state), "$statement;$then");
            // Nothing is locked any more, and nothing undecided is stored.
            self::$database->run('SET SESSION lock_wait_timeout = 1, innodb_lock_wait_timeout = 1');
            self::$database->run("UPDATE sb_requests.sb_users SET typing = -1 WHERE id = 3");
            $this->assertSame('Carla', self::$database->cell('SELECT first_name FROM sb_requests.sb_users WHERE id = 3'));
            $this->assertTrue($this->resultOf('return sb_send_message(3, 1, "after")["status"] === "success";'), $statement);
            $this->assertSame('after', self::$database->cell('SELECT message FROM sb_requests.sb_messages ORDER BY id DESC LIMIT 1'));
        }
    }

    public static function leftovers(): array
    {
        $statements = [
            'START TRANSACTION',
            'SET autocommit = 0',
            'SET NAMES latin1',
            "SET sql_mode = ''",
            "SET time_zone = '+05:00'",
            'SET foreign_key_checks = 0',
            'SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED',
            'LOCK TABLES sb_users WRITE, sb_users AS u WRITE, sb_messages WRITE, sb_conversations WRITE, sb_settings WRITE, sb_users_data WRITE',
            'FLUSH TABLES WITH READ LOCK',
            'USE mysql',
            'SET @left = 1',
            "SELECT GET_LOCK('left', 0)",
            "SELECT @left := 1",
            "/* comment */ BEGIN",
            "CREATE TEMPORARY TABLE sb_users_data (a INT)",
            "PREPARE left_over FROM 'SELECT 1'",
        ];
        return array_combine($statements, array_map(static fn ($statement) => [$statement], $statements));
    }

    public function testAnUpdateInAnOpenTransactionIsRolledBackAtTheEndOfTheRequest(): void
    {
        $this->resultOf('sb_db_query("BEGIN"); sb_db_query("UPDATE sb_users SET first_name = \'Lost\' WHERE id = 3");
            sb_send_message(3, 1, "lost"); return sb_get_user(3)["first_name"];');
        $this->assertSame('Carla', $this->resultOf('return sb_get_user(3)["first_name"];'));
        $this->assertSame('11', self::$database->cell('SELECT COUNT(*) FROM sb_requests.sb_messages'));
    }

    /** @dataProvider deaths */
    public function testARequestThatDiesLeavesTheProcessWell(string $death, int $growth = 2): void
    {
        $memory = [];
        for ($round = 0; $round < 12; $round++) {
            self::$server->post('ini_set("display_errors", 0);' . $death);
            $this->assertSame(
                ['Carla', false, true],
                $this->resultOf('return [sb_get_user(3)["first_name"], sb_get_active_user_ID(), isset(sb_send_message(3, 1, "a")["message-id"])];')
            );
            $memory[] = $this->memory();
        }
        $this->assertLessThan($growth * 1024, max($memory) - max(array_slice($memory, 0, 6)), implode(' ', $memory));
    }

    /** Ways to die, and by how many MiB the process may grow in six rounds where that is more than 2. */
    public static function deaths(): array
    {
        $login = 'sb_login("", "", 3, "' . self::TOKEN . '");';
        $dying = static fn (string $how): string =>
            '$GLOBALS["SB_LOGIN"] = new class { public function __destruct() { ' . $how . ' } };';
        $inCallback = static fn (string $call): string => 'ob_start(function ($text) { ' . $call . ' return $text; }); echo "x"; ob_end_flush();';
        // The library's own copy of the result is returned to the system piece by piece; lost, it would be six of them.
        $large = 100;
        return [
            'exit in a destructor' => [$dying('exit;') . $login],
            'fatal error in a destructor' => [$dying('trigger_error("x", E_USER_ERROR);') . $login],
            'exception in a destructor' => [$dying('throw new Exception;') . $login],
            'exit in an output callback' => [$inCallback($login . 'exit;')],
            'exit in a destructor in an output callback' => [$dying('exit;') . $inCallback($login)],
            'fatal error in a destructor in an output callback' => [$dying('trigger_error("x", E_USER_ERROR);') . $inCallback($login)],
            'memory limit at a large result' => ['sb_db_get("SELECT REPEAT(CHAR(97 + seq % 26), 1000) AS a FROM seq_1_to_60000", false);', $large],
            'memory limit at many cells' => ['sb_db_get("SELECT seq AS a, seq + 1 AS b, seq + 2 AS c FROM seq_1_to_200000", false);', $large],
            'memory limit at a large structure' => ['sb_json_array("[" . str_repeat("[1,[2,{\"a\":3}]],", 100000) . "1]");', $large],
            'memory limit before the call' => ['$a = []; while (true) { $a[] = [sb_get_user(3, true), str_repeat("x", 10000)]; }'],
            'time limit' => ['set_time_limit(1); while (true) { sb_isset([1], 0); }'],
        ];
    }

    private function ask(string $code, ?string $cookie = null): array
    {
        [$header, $body] = self::$server->post($code, $cookie === null ? [] : ["Cookie: $cookie"]);
        $answer = @unserialize(substr(strrchr('|' . $body, '|'), 1));
        $this->assertTrue($answer !== false || str_ends_with($body, 'b:0;'), $body);
        return [$header, $answer];
    }

    private function resultOf(string $code, ?string $cookie = null): mixed
    {
        return $this->ask($code, $cookie)[1];
    }

    private function cookie(array $header): string
    {
        $cookies = preg_grep('/^Set-Cookie:/i', $header);
        return substr(strtok(reset($cookies), ';'), strlen('Set-Cookie: '));
    }

    /** The memory of the server's process in KiB. */
    private function memory(): int
    {
        preg_match('/^VmRSS:\s+(\d+)/m', file_get_contents('/proc/' . $this->pid . '/status'), $match);
        return (int) $match[1];
    }
}
