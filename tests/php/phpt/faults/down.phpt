--TEST--
While the server is down every call fails at once and says so; when it is back they work
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation(['SB_CONNECT_TIMEOUT' => 2]);
show('before', sb_get_user(3)['first_name']);
server('--stop');
try {
    show('read', within(0, 0.5, fn () => sb_get_user(3)));
    show('list', within(0, 0.5, fn () => sb_get_new_messages(3, 1, '2026-01-01')));
    show('message', within(0, 0.5, fn () => sb_send_message(3, 1, 'Lost')));
    show('user', within(0, 0.5, fn () => sb_add_user(['first_name' => 'Ines'])));
    show('statement', within(0, 0.5, fn () => sb_db_query('DELETE FROM sb_messages')));
    show('login', within(0, 0.5, fn () => sb_login('carla@customer.example', 'correct horse')));
    show('check', within(0, 0.5, fn () => sb_db_check_connection()));
    show('computes', sb_isset(['a' => 1], 'a'));
} finally {
    server('--start');
}
show('after', sb_get_user(3)['first_name']);
show('message', sb_send_message(3, 1, 'Back')['status']);
show('stored', messages());
?>
--EXPECTF--
before: "Carla"
read: SBError db-error-2002: cannot connect to the database server: %s
list: SBError db-error-2002: cannot connect to the database server: %s
message: "cannot connect to the database server: %s"
user: "cannot connect to the database server: %s"
statement: SBError db-error-2002: cannot connect to the database server: %s
login: false
check: "cannot connect to the database server: %s"
computes: 1
after: "Carla"
message: "success"
stored: 12
