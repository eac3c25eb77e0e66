--TEST--
A statement past sb.statement_timeout gives an SBError, and the next call its own answer
--INI--
sb.statement_timeout=0.5
--FILE--
<?php
require __DIR__ . '/../installation.inc';
installation();
for ($time = 0; $time < 3; $time++) {
    show('slow', within(0.4, 1.5, fn () => sb_db_query("UPDATE sb_users SET typing = 1 WHERE SLEEP(1) = 0 AND id = 3")));
    show('next', sb_get_user(3)['first_name']);
    show('own', sb_db_get("SELECT 'mine' AS a"));
}
sleep(1);
show('later', sb_db_get("SELECT 'mine' AS a", false));
// A read is sent once more.
show('slow read', within(0.9, 2, fn () => sb_db_get("SELECT 'old' AS a, SLEEP(3)")));
show('next', sb_db_get("SELECT 'mine' AS a"));
?>
--EXPECT--
slow: SBError db-error-2013: the database did not answer within 0.5 s
next: "Carla"
own: {"a":"mine"}
slow: SBError db-error-2013: the database did not answer within 0.5 s
next: "Carla"
own: {"a":"mine"}
slow: SBError db-error-2013: the database did not answer within 0.5 s
next: "Carla"
own: {"a":"mine"}
later: [{"a":"mine"}]
slow read: SBError db-error-2013: the database did not answer within 0.5 s
next: {"a":"mine"}
