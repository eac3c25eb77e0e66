--TEST--
A connection that is killed between calls heals; one that is killed during a statement ends it with an error
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
$connection = static fn (): string => sb_db_get('SELECT CONNECTION_ID() AS id')['id'];
foreach ([
    'read' => fn () => sb_get_user(3)['first_name'],
    'list' => fn () => count(sb_get_new_messages(3, 1, '2026-01-01')),
    'message' => fn () => sb_send_message(3, 1, 'After the kill')['status'],
    'user' => fn () => is_numeric(sb_add_user(['first_name' => 'Ines'])),
    'statement' => fn () => sb_db_get('SELECT 1 AS a'),
    'change' => fn () => sb_db_query("UPDATE sb_users SET first_name = 'Clara' WHERE id = 3", true),
] as $title => $call) {
    // At once, and after a silence: then a write is preceded by a look at the connection.
    foreach ([0, 150_000] as $pause) {
        sql('KILL ' . $connection());
        usleep($pause);
        show($title, $call());
    }
}
show('messages', sql("SELECT COUNT(*) FROM sb_phpt.sb_messages WHERE message = 'After the kill'"));

$during = static function (string $statement) use ($connection): mixed {
    $killer = proc_open(['sh', '-c', "sleep 0.5; echo 'KILL {$connection()}' | mariadb --no-defaults -uroot -S \"\$SB_TEST_SOCKET\""], [], $pipes);
    $outcome = within(0.3, 3, fn () => sb_db_query($statement));
    proc_close($killer);
    return $outcome;
};
show('during a change', $during('UPDATE sb_users SET typing = SLEEP(5) WHERE id = 3'));
show('next', sb_get_user(3)['id']);
?>
--EXPECTF--
read: "Carla"
read: "Carla"
list: 3
list: 3
message: "success"
message: "success"
user: true
user: true
statement: {"a":"1"}
statement: {"a":"1"}
change: SBError db-error-2013: the database connection was lost while the statement ran
change: 1
messages: "2"
during a change: SBError db-error-%d: %s
next: "3"
