--TEST--
After pcntl_fork parent and child both go on, each on a connection of its own
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
$connection = static fn (): string => sb_db_get('SELECT CONNECTION_ID() AS id')['id'];
$before = messages();
$own = $connection();
$children = [];
for ($child = 0; $child < 4; $child++) {
    $pid = pcntl_fork();
    if ($pid === 0) {
        for ($time = 0; $time < 50; $time++) {
            if (!isset(sb_send_message(3, 1, "child $child $time")['message-id']) || sb_get_user(3)['id'] !== '3') {
                exit(2);
            }
        }
        exit($connection() === $own ? 3 : 0);
    }
    $children[] = $pid;
}
$sent = 0;
for ($time = 0; $time < 50; $time++) {
    $sent += isset(sb_send_message(2, 1, "parent $time")['message-id']) ? 1 : 0;
}
foreach ($children as $pid) {
    pcntl_waitpid($pid, $status);
    show('child', [pcntl_wifexited($status), pcntl_wexitstatus($status)]);
}
show('parent', [$sent, $connection() === $own, messages() - $before]);
// A child that never called a function, and one that is killed, do not harm the parent either.
if (pcntl_fork() === 0) {
    exit(0);
}
if (($pid = pcntl_fork()) === 0) {
    sb_get_user(3);
    exec("kill -9 " . getmypid());
}
pcntl_wait($status);
pcntl_wait($status);
show('after', [sb_get_user(3)['first_name'], $connection() === $own]);
?>
--EXPECT--
child: [true,0]
child: [true,0]
child: [true,0]
child: [true,0]
parent: [50,true,250]
after: ["Carla",true]
