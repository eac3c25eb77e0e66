<?php
/**
 * The feed of events of `sb serve`, while several processes of PHP write as fast as they can.
 */

use PHPUnit\Framework\TestCase;

final class FeedTest extends TestCase
{
    private const PROCESSES = 4;
    private const MESSAGES = 1000;
    /** Seconds in which all must have come. */
    private const PATIENCE = 60;

    private Database $database;
    private Folder $installation;
    private Serving $serving;
    private string $address;

    protected function setUp(): void
    {
        $this->database = new Database();
        $this->database->make('sb_feed', 'generation-4', ['people', 'own-tables', 'api-keys']);
        $constants = Database::configuration('sb_feed') + ['SB_SECRET_KEY' => 'the secret of the feed'];
        $this->installation = Folder::installation(Folder::configuration($constants));
        $this->address = '127.0.0.1:' . Php::freePort();
        $this->serving = new Serving($this->address, $this->installation->path . '/config.php');
    }

    protected function tearDown(): void
    {
        $this->serving->stop();
        $this->database->drop('sb_feed');
    }

    public function testWhatFourProcessesWriteAtFullSpeedArrivesOnceAndInOrder(): void
    {
        $everything = $this->follow('server');
        $own = $this->follow('carla');
        $foreign = $this->follow('emil');
        $script = $this->installation->write('write.php', '<?php
            include __DIR__ . "/include/functions.php";
            for ($step = 0; $step < $argv[2]; $step++) {
                [$conversation, $user] = [[1, 3], [2, 3], [4, 4], [5, 5]][$step % 4];
                $sent = sb_send_message($user, $conversation, "$argv[1]: $step");
                is_array($sent) || exit("message $step: " . json_encode($sent));
            }');
        $writers = [];
        for ($process = 0; $process < self::PROCESSES; $process++) {
            $count = (string) intdiv(self::MESSAGES, self::PROCESSES);
            $command = Php::command($script, (string) $process, $count);
            $writers[] = [proc_open($command, [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes), $pipes[1]];
        }
        $seen = $this->messages($everything, self::MESSAGES);
        foreach ($writers as [$process, $output]) {
            $this->assertSame('', stream_get_contents($output));
            $this->assertSame(0, proc_close($process));
        }
        $ids = fn (string $of) => array_column(
            $this->database->rows("SELECT id FROM sb_messages WHERE id > 11 AND $of ORDER BY conversation_id, id"),
            'id'
        );
        $this->assertCount(self::MESSAGES, $ids('TRUE'));
        $this->assertSame($ids('TRUE'), self::byConversation($seen));
        $of_carla = $ids('conversation_id IN (1, 2)');
        $this->assertSame($of_carla, self::byConversation($this->messages($own, count($of_carla))));
        $this->assertSame([], $this->messages($foreign, 0));
    }

    /** @return resource the stream of someone who follows with a key */
    private function follow(string $key)
    {
        $stream = stream_socket_client("tcp://$this->address");
        // In HTTP/1.0 the events come without a frame around them.
        fwrite($stream, "GET /v1/events HTTP/1.0\r\nAuthorization: Bearer sb_live_$key\r\n\r\n");
        while (!str_contains((string) $line = fgets($stream), '"last_event_id"')) {
            $this->assertNotSame('', $line, "$key does not follow");
        }
        return $stream;
    }

    /** So many messages, and whatever comes in the moment after them. */
    private function messages($stream, int $count): array
    {
        $messages = [];
        $end = microtime(true) + self::PATIENCE;
        stream_set_timeout($stream, 1);
        while (microtime(true) < $end) {
            $line = fgets($stream);
            if ($line === false && count($messages) >= $count) {
                return $messages;
            }
            if (str_starts_with((string) $line, 'data: ')) {
                $data = json_decode(substr($line, 6), true);
                if (isset($data['message'])) {
                    $messages[] = $data;
                }
            }
        }
        $this->fail(count($messages) . " of $count messages came");
    }

    /** The ids in the order in which they came, conversation by conversation. */
    private static function byConversation(array $messages): array
    {
        usort($messages, static fn ($one, $other) => $one['conversation_id'] <=> $other['conversation_id']);
        return array_column($messages, 'id');
    }
}
