//! `sb cms sync`.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::Database;

/// An installation with agents and customers, beside a site with five users.
fn site(test: &str) -> Database {
    Database::create(&format!("cms: {test}"), &["generation-4", "people", "shop"], &[])
}

/// So many more users of the site, at most 10 000.
fn crowd(database: &mut Database, number: u32) {
    let digit =
        "(SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6
        UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)";
    database.run(&format!(
        "INSERT INTO site7_users (ID, user_login, user_pass, user_email, user_registered)
            SELECT 1000 + n, CONCAT('u', n), '$P$B', CONCAT('u', n, '@crowd.example'), '2026-01-01'
            FROM (SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS n
                FROM {digit} a, {digit} b, {digit} c, {digit} e) numbers
            WHERE n <= {number}"
    ));
}

#[test]
fn users_are_taken_over_and_nobody_of_the_staff_is() {
    let mut database = site("all");
    let staff = "SELECT id, first_name, email, user_type, password, token FROM sb_users
        WHERE user_type IN ('agent', 'admin', 'bot') ORDER BY id";
    let before = database.lines(staff);
    assert!(before.len() >= 2);
    // A user of the site has the address of an agent, and one that of the admin in other letters.
    database.run("UPDATE site7_users SET user_email = 'ADA@support.example' WHERE ID = 14");
    let answer = database.sb(&["cms", "sync"], "");
    assert_eq!((answer.status, answer.err.as_str()), (0, ""));
    assert_eq!(
        answer.out,
        "5 users were looked at: 2 are new, 1 were brought up to date.\n"
    );
    assert_eq!(database.lines(staff), before);
    assert_eq!(
        database.lines("SELECT email, user_type FROM sb_users WHERE id > 7 ORDER BY id"),
        ["nina@new.example | user", "noname@new.example | user"]
    );

    let again = database.sb(&["cms", "sync"], "");
    assert_eq!(
        again.out,
        "5 users were looked at: 0 are new, 0 were brought up to date.\n"
    );
    database.drop();
}

/// One that is killed goes on, and in the end everybody is there once.
#[test]
fn a_synchronisation_that_is_killed_goes_on() {
    let mut database = site("killed");
    crowd(&mut database, 6000);
    let mut kills = 0;
    for wanted in [400, 2000] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sb"))
            .args(["cms", "sync"])
            .env_clear()
            .envs(database.configuration())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        let count = |database: &mut Database| {
            database.lines("SELECT COUNT(*) FROM sb_users")[0]
                .parse::<u32>()
                .unwrap()
        };
        while count(&mut database) < wanted && child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < Duration::from_mins(2), "it does not get on");
        }
        kills += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(kills > 0, "it was never killed");
    let place = "SELECT value FROM sb_settings WHERE name = 'cms-synch'";
    assert_eq!(database.lines(place).len(), 1);
    let answer = database.sb(&["cms", "sync"], "");
    assert_eq!((answer.status, answer.err.as_str()), (0, ""));
    let begin = "It went on where an earlier run was broken off.\n";
    let rest = answer
        .out
        .strip_prefix(begin)
        .unwrap_or_else(|| panic!("{}", answer.out));
    let seen: u32 = rest.split_whitespace().next().unwrap().parse().unwrap();
    assert!((1..6005).contains(&seen), "{rest}");
    assert_eq!(
        database.lines(
            "SELECT COUNT(*), COUNT(DISTINCT email), COUNT(DISTINCT token) FROM sb_users
                WHERE email LIKE '%@crowd.example'"
        ),
        ["6000 | 6000 | 6000"]
    );
    assert_eq!(database.lines(place), [""; 0]);
    database.drop();
}

#[test]
fn what_stops_it_is_said() {
    let mut database = site("stops");
    crowd(&mut database, 300);
    // The second chunk cannot be stored.
    database.run(
        "CREATE TRIGGER refuse BEFORE INSERT ON sb_users FOR EACH ROW
            IF NEW.email = 'u250@crowd.example' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no more'; END IF",
    );
    let answer = database.sb(&["cms", "sync"], "");
    assert_eq!((answer.status, answer.out.as_str()), (1, ""));
    assert!(
        answer.err.starts_with("sb: stopped behind 200 of 305 users: ")
            && answer.err.contains("no more")
            && answer.err.ends_with("; run it again to go on\n"),
        "{}",
        answer.err
    );
    database.run("DROP TRIGGER refuse");
    let answer = database.sb(&["cms", "sync"], "");
    assert_eq!(answer.status, 0);
    assert!(
        answer
            .out
            .ends_with("\n105 users were looked at: 105 are new, 0 were brought up to date.\n"),
        "{}",
        answer.out
    );

    database.run("RENAME TABLE site7_users TO away");
    let answer = database.sb(&["cms", "sync"], "");
    assert_eq!((answer.status, answer.out.as_str()), (2, ""));
    assert!(answer.err.contains("site7_users' doesn't exist"), "{}", answer.err);
    database.run("UPDATE sb_settings SET value = REPLACE(value, '\"cms-active\":[true', '\"cms-active\":[false')");
    let answer = database.sb(&["cms", "sync"], "");
    assert_eq!((answer.status, answer.out.as_str()), (1, ""));
    assert!(answer.err.contains("cms-active"), "{}", answer.err);
    assert_eq!(database.sb(&["cms"], "").status, 2);
    database.drop();
}
