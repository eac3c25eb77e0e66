<?php
/**
 * Calls every function of the extension, as its callers do and with values of every kind, for a tool that watches the
 * memory. Prints how many calls it made.
 */

require __DIR__ . '/phpt/installation.inc';
$folder = new Folder();
installation(['SB_PATH' => $folder->path]);
$rounds = (int) ($argv[1] ?? 1);

/** What is meant by an argument of that name. Functions that reach out find nobody at this address. */
$meant = [
    'user_id' => 3, 'user_ids' => [3, 4], 'conversation_id' => 1, 'sender_id' => 3, 'message_id' => 1, 'agent_id' => 2,
    'recipient_id' => 2, 'id' => 3, 'message' => 'Hello *you*', 'email' => 'carla@customer.example', 'datetime' => '2026-01-01',
    'query' => 'SELECT id, first_name, NULL AS nothing FROM sb_users', 'settings' => ['first_name' => 'Ines', 'city' => ['Roma', 'City']],
    'settings_extra' => ['phone' => ['1', 'Phone']], 'details' => ['phone', 'city'], 'search' => 'carla', 'by' => 'email',
    'attachments' => [['a.pdf', 'https://support.example/a.pdf']], 'payload' => ['a' => [1, 2.5, null, true]],
    'url' => 'http://127.0.0.1:9/', 'URL' => 'http://127.0.0.1:9/', 'array' => ['a' => ['b' => "\xff\0"]], 'key' => 'a',
    'json' => '{"a":[1,2,{"b":null}]}', 'string' => 'Text', 'slug' => 'phone', 'status_code' => 0, 'password' => 'secret',
    'hash' => password_hash('secret', PASSWORD_BCRYPT, ['cost' => 4]), 'object' => new SBError('a', 'b', 'c'),
];
$kinds = [null, true, -1, 1.5, '', "a\0b\xff", str_repeat('x', 70_000), [], [1, 'a' => [['b']]], new SBError('a'), new stdClass()];
$calls = 0;
$call = static function (ReflectionFunction $function, array $arguments) use (&$calls): void {
    $calls++;
    try {
        $function->invokeArgs($arguments);
    } catch (TypeError | ArgumentCountError) {
        // What a function cannot use.
    }
};
$functions = (new ReflectionExtension('sb'))->getFunctions();
ob_start(static fn () => '');
for ($round = 0; $round < $rounds; $round++) {
    foreach ([false, true] as $SB_FORCE_ADMIN) {
        foreach ($functions as $function) {
            $arguments = [];
            foreach ($function->getParameters() as $parameter) {
                $default = $parameter->isDefaultValueAvailable() ? $parameter->getDefaultValue() : 'a';
                $arguments[$parameter->getName()] = $meant[$parameter->getName()] ?? $default;
            }
            $call($function, $arguments);
            $call($function, []);
            // One kind a round for each argument: all of them take too long under a tool that watches.
            foreach (array_keys($arguments) as $position => $name) {
                $call($function, [$name => $kinds[($round * 4 + $position + $SB_FORCE_ADMIN) % count($kinds)]] + $arguments);
            }
        }
    }
}
ob_end_clean();
echo "$calls calls of ", count($functions), " functions\n";
