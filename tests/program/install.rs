//! `sb install`.

use sb::contract::value::at;
use sb::contract::{Arguments, Value};
use sb::functions;
use sb::platform::context::Request;
use sb::platform::engine::Engine;
use sb::platform::host::PlainHost;

use crate::bench::{Database, sb};
use crate::schema::{assert_same, schema, schema_of_the_field};

const ANN: [&str; 3] = ["install", "--admin-email", "ann@example.com"];

const EVERYTHING: &str = "
    SELECT id, first_name, last_name, email, user_type, token, password, creation_time
    FROM sb_users
    ORDER BY id";

fn login(database: &Database, email: &str, password: &str) -> Value {
    let host = PlainHost::new(database.configuration());
    let login = functions::find("sb_login").unwrap();
    let arguments = Arguments::of_values([email.into(), password.into()]);
    login
        .run(&Engine::default(), &host, &Request::default(), arguments)
        .unwrap()
}

#[test]
fn an_empty_database_becomes_an_installation_whose_admin_can_log_in() {
    let mut database = Database::create("install", &[], &[]);
    let answer = database.sb(&ANN, "correct horse\n");
    assert_eq!((answer.status, answer.err.as_str()), (0, ""), "{}", answer.out);
    assert!(answer.out.contains("1/9 Create the table sb_users."), "{}", answer.out);
    assert!(!answer.out.contains("correct horse"));

    assert_eq!(
        database.lines("SELECT user_type, first_name, last_name, email FROM sb_users ORDER BY id"),
        ["bot | Bot |  | NULL", "admin | Admin |  | ann@example.com"]
    );
    assert!(database.lines("SELECT password FROM sb_users WHERE user_type = 'admin'")[0].starts_with("$2y$12$"));
    let Value::List(logged_in) = login(&database, "ann@example.com", "correct horse") else {
        panic!("not logged in")
    };
    let Some(Value::Map(record)) = logged_in.first() else {
        panic!("no record: {logged_in:?}")
    };
    assert_eq!(at(record, "user_type"), Some(&"admin".into()));
    assert_eq!(login(&database, "ann@example.com", "correct horsf"), Value::Bool(false));
    database.drop();
}

#[test]
fn the_tables_of_the_field_come_out_as_they_are_in_the_field() {
    let mut reference = Database::create("install: reference", &["generation-4"], &[]);
    let mut database = Database::create("install: tables", &[], &[]);
    assert_eq!(database.sb(&ANN, "correct horse\n").status, 0);
    assert_same(
        &schema_of_the_field(&mut database),
        &schema_of_the_field(&mut reference),
    );
    // Statements of other programs see the columns they know.
    assert_eq!(
        database.lines("SELECT COUNT(*) FROM (SELECT * FROM sb_conversations) c"),
        ["0"]
    );
    database.run("INSERT INTO sb_conversations VALUES (1, 1, 'title', '2026-01-01', 0, NULL, NULL, NULL, NULL)");
    database.drop();
    reference.drop();
}

#[test]
fn a_second_install_changes_nothing() {
    let mut database = Database::create("install: twice", &[], &[]);
    assert_eq!(database.sb(&ANN, "correct horse\n").status, 0);
    let (tables, people) = (schema(&mut database), database.lines(EVERYTHING));
    let answer = database.sb(&ANN, "another password\n");
    assert_eq!((answer.status, answer.err.as_str()), (0, ""));
    assert_eq!(
        answer.out,
        "The tables are there.\nThe bot is there.\nThe admin ann@example.com is there, with the password as it was.\n"
    );
    assert_same(&schema(&mut database), &tables);
    assert_eq!(database.lines(EVERYTHING), people);
    database.drop();
}

#[test]
fn an_interrupted_install_goes_on() {
    let mut whole = Database::create("install: whole", &[], &[]);
    assert_eq!(whole.sb(&ANN, "correct horse\n").status, 0);
    let mut database = Database::create("install: interrupted", &[], &[]);
    assert_eq!(database.sb(&ANN, "correct horse\n").status, 0);
    database.run("DROP TABLE sb_api_keys, sb_messages, sb_outbox; DELETE FROM sb_users");
    assert_eq!(database.sb(&ANN, "correct horse\n").status, 0);
    assert_same(&schema(&mut database), &schema(&mut whole));
    assert_eq!(
        database.lines("SELECT user_type FROM sb_users ORDER BY id"),
        ["bot", "admin"]
    );
    database.drop();
    whole.drop();
}

#[test]
fn names_are_taken_as_given() {
    let mut database = Database::create("install: names", &[], &[]);
    let named = [&ANN[..], &["--admin-first-name", "Zoë", "--admin-last-name", "O'Neil"]].concat();
    assert_eq!(database.sb(&named, "correct horse\r\n").status, 0);
    assert_eq!(
        database.lines("SELECT first_name, last_name FROM sb_users WHERE user_type = 'admin'"),
        ["Zoë | O'Neil"]
    );
    assert_ne!(login(&database, "ann@example.com", "correct horse"), Value::Bool(false));
    database.drop();
}

#[test]
fn an_address_that_is_someone_elses_is_refused_before_anything_is_changed() {
    let mut database = Database::create(
        "install: someone",
        &["generation-4"],
        &[
            "INSERT INTO sb_users (first_name, last_name, email, user_type, creation_time, token)
           VALUES ('Ann', '', 'ann@example.com', 'user', '2026-01-01', 't')",
        ],
    );
    let before = (schema(&mut database), database.lines(EVERYTHING));
    let answer = database.sb(&ANN, "correct horse\n");
    assert_eq!(answer.status, 1);
    assert_eq!(
        answer.err,
        "sb: there is already a user with the e-mail address ann@example.com: nothing was changed\n"
    );
    assert_eq!((schema(&mut database), database.lines(EVERYTHING)), before);
    database.drop();
}

#[test]
fn a_password_that_is_none_is_refused_before_anything_is_changed() {
    let mut database = Database::create("install: password", &[], &[]);
    let answer = database.sb(&ANN, "\n");
    assert_eq!(
        (answer.status, answer.err.as_str()),
        (1, "sb: the password is empty: nothing was changed\n")
    );
    let long = "x".repeat(73);
    let answer = database.sb(&ANN, &long);
    assert_eq!(answer.status, 1);
    assert!(
        answer.err.contains("72 bytes") && !answer.err.contains(&long),
        "{}",
        answer.err
    );
    assert_eq!(database.lines("SHOW TABLES"), [""; 0]);
    database.drop();
}

#[test]
fn tables_of_an_older_version_want_an_upgrade() {
    let mut database = Database::create("install: older", &["generation-2"], &[]);
    let before = schema(&mut database);
    let answer = database.sb(&ANN, "correct horse\n");
    assert_eq!(answer.status, 1);
    assert!(answer.err.contains("sb upgrade"), "{}", answer.err);
    assert_eq!(schema(&mut database), before);
    database.drop();
}

#[test]
fn what_is_no_address_is_refused() {
    for address in ["", "ann", "@example.com", "ann@", "a b@example.com"] {
        let answer = sb(&["install", "--admin-email", address], &[], "");
        assert_eq!(answer.status, 2, "{address}");
        assert!(answer.err.contains("it is no e-mail address"), "{}", answer.err);
    }
}
