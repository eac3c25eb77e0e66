//! `sb api-key`.

use crate::bench::Database;

const KEYS: &str = "SELECT name, scopes, user_id, HEX(key_hash), expires, revoked IS NULL FROM sb_api_keys ORDER BY id";

fn scene(test: &str) -> Database {
    Database::create(test, &["generation-4", "people", "own-tables"], &[])
}

#[test]
fn a_key_is_the_last_line_and_stands_nowhere_else() {
    let mut database = scene("keys: create");
    let answer = database.sb(
        &[
            "api-key",
            "create",
            "--name",
            "Shop",
            "--scopes",
            "messages:write,messages:read",
            "--user",
            "3",
            "--expires",
            "2099-01-31",
        ],
        "",
    );
    assert_eq!((answer.status, answer.err.as_str()), (0, ""));
    let key = answer.out.lines().last().unwrap();
    let random = key.strip_prefix("sb_live_").unwrap();
    assert!(
        random.len() == 64 && random.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{key}"
    );
    let hash = database.lines(&format!("SELECT UPPER(SHA2('{key}', 256))"));
    assert_eq!(
        database.lines(KEYS),
        [format!(
            "Shop | messages:write,messages:read | 3 | {} | 2099-01-31 00:00:00 | 1",
            hash[0]
        )]
    );
    let listed = database.sb(&["api-key", "list"], "");
    assert!(
        listed
            .out
            .starts_with("Shop: messages:write,messages:read, for user 3, made "),
        "{}",
        listed.out
    );
    assert!(
        listed.out.ends_with(", never used, ends 2099-01-31 00:00\n"),
        "{}",
        listed.out
    );
    assert!(!listed.out.contains(random));
    database.drop();
}

#[test]
fn a_key_is_revoked_once() {
    let mut database = scene("keys: revoke");
    for name in ["a", "b"] {
        assert_eq!(
            database
                .sb(&["api-key", "create", "--name", name, "--scopes", "admin"], "")
                .status,
            0
        );
    }
    let answer = database.sb(&["api-key", "revoke", "--name", "a"], "");
    assert_eq!((answer.status, answer.out.as_str()), (0, "The key a is revoked.\n"));
    let revoked = database.lines("SELECT name FROM sb_api_keys WHERE revoked IS NOT NULL");
    assert_eq!(revoked, ["a"]);
    for name in ["a", "c"] {
        let answer = database.sb(&["api-key", "revoke", "--name", name], "");
        assert_eq!(answer.status, 1);
        assert_eq!(answer.err, format!("sb: there is no key {name} that holds\n"));
    }
    let listed = database.sb(&["api-key", "list"], "").out;
    assert!(
        listed.contains("a: admin") && listed.contains(", revoked 2"),
        "{listed}"
    );
    database.drop();
}

#[test]
fn what_makes_no_key_says_why() {
    let database = scene("keys: refused");
    let create = |more: &[&str]| {
        let answer = database.sb(&[&["api-key", "create"], more].concat(), "");
        (answer.status, answer.err)
    };
    assert_eq!(create(&["--name", "a", "--scopes", "admin"]).0, 0);
    let (status, sentence) = create(&["--name", "a", "--scopes", "admin"]);
    assert_eq!(
        (status, sentence.as_str()),
        (1, "sb: there is, or was, a key of that name\n")
    );
    let (status, sentence) = create(&["--name", "b", "--scopes", "admin", "--user", "99"]);
    assert_eq!((status, sentence.as_str()), (1, "sb: there is no such user\n"));
    for more in [
        ["--name", "c", "--scopes", "everything"],
        ["--name", "c", "--scopes", ""],
        ["--name", "c", "--expires", "2099-01-01"],
    ] {
        assert_eq!(create(&more).0, 2, "{more:?}");
    }
    assert_eq!(create(&["--name", "", "--scopes", "admin"]).0, 1);
    database.drop();
}

#[test]
fn without_the_table_the_upgrade_is_named() {
    let database = Database::create("keys: no table", &["generation-4", "people"], &[]);
    let answer = database.sb(&["api-key", "list"], "");
    assert_eq!(answer.status, 1);
    assert!(answer.err.contains("run `sb upgrade`"), "{}", answer.err);
    database.drop();
}

#[test]
fn the_fixture_of_the_own_tables_is_what_an_upgrade_makes() {
    let database = Database::create("keys: fixture", &["generation-5", "own-tables"], &[]);
    let answer = database.sb(&["upgrade", "--dry-run"], "");
    assert_eq!(
        (answer.status, answer.out.as_str()),
        (0, "The tables are up to date: there is nothing to do.\n")
    );
    database.drop();
}
