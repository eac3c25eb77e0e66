--TEST--
Functions work inside output callbacks, error handlers, comparisons and shutdown functions
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
ob_start(static function (string $text): string {
    $login = sb_login('', '', 3, '03abcdef03abcdef03abcdef03abcdef03abcdef');
    return $text . ' for ' . sb_get_user($login[0]['id'])['first_name'] . "\n";
});
echo 'written';
ob_end_flush();
show('after', sb_get_active_user_ID());
set_error_handler(static function (int $level, string $message): bool {
    show('handler', [$message, sb_get_user(4)['first_name']]);
    return true;
});
echo $undefined;
$list = [4, 3];
usort($list, static fn ($one, $other) => strcmp(sb_get_user($one)['first_name'], sb_get_user($other)['first_name']));
show('sorted', $list);
register_shutdown_function(static function (): void {
    show('shutdown', sb_get_user(5)['first_name']);
    ob_start(static fn (string $text): string => $text . sb_get_user(4)['last_name'] . "\n");
    echo 'last: ';
});
?>
--EXPECT--
written for Carla
after: "3"
handler: ["Undefined variable $undefined","Dora"]
sorted: [3,4]
shutdown: "User"
last: Šimić
