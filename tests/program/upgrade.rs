//! `sb upgrade`, from every generation found in the field.

use sb::contract::Result;
use sb::platform::db::schema::{Plan, Schema};
use sb::platform::engine::Engine;

use crate::bench::Database;
use crate::schema::{assert_same, schema, schema_of_the_field};

/// People and their words: letters of two, three and four bytes, an empty e-mail address, details, a deep past.
const ROWS: [&str; 5] = [
    "INSERT INTO sb_users (id, first_name, last_name, password, email, profile_image, user_type, creation_time, token,
         last_activity, typing)
     VALUES (1, 'Zoë', '日本', '$2y$10$x', 'zoe@example.com', 'https://example.com/z.png', 'admin',
             '2020-01-01 10:00:00', 'token-1', '2020-01-02 10:00:00', -1),
         (2, 'Bob', '', NULL, '', NULL, 'user', '2020-01-01 10:00:00', 'token-2', NULL, -1),
         (7, 'Eve', '', NULL, NULL, NULL, 'visitor', '2020-01-01 10:00:00', 'token-7', NULL, 3)",
    "INSERT INTO sb_users_data (user_id, slug, name, value)
     VALUES (2, 'city', 'City', '東京'), (1, 'phone', 'Phone', '+1 555'), (2, 'company', 'Company', 'Müller')",
    "INSERT INTO sb_conversations (id, user_id, title, creation_time, status_code)
     VALUES (3, 2, 'Où est ma commande ?', '2020-02-01 10:00:00', 2), (4, 7, NULL, '2020-02-02 10:00:00', 0)",
    "INSERT INTO sb_messages (id, user_id, message, creation_time, status_code, attachments, payload, conversation_id)
     VALUES (5, 2, 'Hello 👋 世界', '2020-02-01 10:00:00', 0, '', '{\"a\":\"é\"}', 3),
         (6, 1, 'Bonjour', '2020-02-01 10:01:00', 2, '[[\"a\",\"https://example.com/ü\"]]', '', 3)",
    "INSERT INTO sb_settings (name, value)
     VALUES ('settings', '{\"bot-name\":[\"Bötchen\",\"text\"]}'), ('big', REPEAT('界', 20000))",
];

/// Every value that a row had before.
fn rows(database: &mut Database) -> Vec<String> {
    [
        "SELECT id, first_name, last_name, password, NULLIF(email, ''), profile_image, user_type, creation_time, token,
             last_activity, typing FROM sb_users ORDER BY id",
        "SELECT user_id, slug, name, value FROM sb_users_data ORDER BY user_id, slug",
        "SELECT id, user_id, title, creation_time, status_code FROM sb_conversations ORDER BY id",
        "SELECT id, user_id, message, HEX(message), creation_time, status_code, attachments, payload, conversation_id
             FROM sb_messages ORDER BY id",
        "SELECT name, value FROM sb_settings ORDER BY name",
    ]
    .iter()
    .flat_map(|query| database.lines(query))
    .collect()
}

/// A database of a generation with rows in it.
fn old(test: &str, generation: &str) -> Database {
    Database::create(test, &[generation], &ROWS)
}

/// What `sb install` makes of an empty database.
fn fresh(test: &str) -> Database {
    let database = Database::create(test, &[], &[]);
    let answer = database.sb(&["install", "--admin-email", "ann@example.com"], "correct horse\n");
    assert_eq!((answer.status, answer.err.as_str()), (0, ""));
    database
}

/// Plans and steps without the program around them.
fn plan(database: &Database, for_speed: bool) -> Result<Plan> {
    let schema = Schema::of(&database.settings());
    Engine::default().run(async |_| schema.upgrade(for_speed).await)
}

fn carry_out(database: &Database, plan: &Plan, steps: usize) {
    let schema = Schema::of(&database.settings());
    let engine = Engine::default();
    for step in plan.steps.iter().take(steps) {
        engine
            .run(async |_| schema.carry_out(step).await)
            .unwrap_or_else(|error| panic!("{}\n{error}", step.sql));
    }
}

fn upgrades_whole(generation: &str) {
    let test = |name: &str| format!("upgrade: {generation} {name}");
    let mut expected = fresh(&test("expected"));
    let mut database = old(&test("whole"), generation);
    let before = rows(&mut database);

    let answer = database.sb(&["upgrade", "--indexes"], "");
    assert_eq!((answer.status, answer.err.as_str()), (0, ""), "{}", answer.out);
    assert_same(&schema(&mut database), &schema(&mut expected));
    assert_eq!(rows(&mut database), before);
    assert_eq!(
        database.lines("SELECT id FROM sb_users WHERE email IS NULL ORDER BY id"),
        ["2", "7"]
    );
    assert_eq!(
        database.lines("SELECT id, last_message_id FROM sb_conversations ORDER BY id"),
        ["3 | 6", "4 | NULL"]
    );
    assert_eq!(
        database.lines("SELECT COUNT(*), COUNT(DISTINCT id), MIN(id) > 0 FROM sb_users_data"),
        ["3 | 3 | 1"]
    );
    // Emojis fit everywhere now.
    database.run("UPDATE sb_users SET first_name = '😀' WHERE id = 1");
    assert_eq!(database.lines("SELECT first_name FROM sb_users WHERE id = 1"), ["😀"]);

    let again = database.sb(&["upgrade", "--indexes"], "");
    assert_eq!(
        (again.status, again.out.as_str()),
        (0, "The tables are up to date: there is nothing to do.\n")
    );
    database.drop();
    expected.drop();
}

#[test]
fn generation_1_becomes_the_current_schema() {
    upgrades_whole("generation-1");
}

#[test]
fn generation_2_becomes_the_current_schema() {
    upgrades_whole("generation-2");
}

#[test]
fn generation_4_becomes_the_current_schema() {
    upgrades_whole("generation-4");
}

#[test]
fn without_indexes_the_tables_of_the_field_are_exactly_those_of_generation_4() {
    let mut reference = Database::create("upgrade: reference", &["generation-4"], &[]);
    for generation in ["generation-1", "generation-2", "generation-4"] {
        let mut database = old(&format!("upgrade: {generation} plain"), generation);
        let before = rows(&mut database);
        let answer = database.sb(&["upgrade"], "");
        assert_eq!((answer.status, answer.err.as_str()), (0, ""));
        assert_same(
            &schema_of_the_field(&mut database),
            &schema_of_the_field(&mut reference),
        );
        assert_eq!(
            database.lines("SHOW COLUMNS FROM sb_conversations LIKE 'last_message_id'"),
            [""; 0]
        );
        assert_eq!(rows(&mut database), before);
        let again = database.sb(&["upgrade"], "");
        assert_eq!(again.out, "The tables are up to date: there is nothing to do.\n");
        database.drop();
    }
    reference.drop();
}

#[test]
fn what_generation_5_has_beyond_is_left_as_it_is() {
    let mut untouched = old("upgrade: generation-5 untouched", "generation-5");
    let of_the_field = schema_of_the_field(&mut untouched);
    let mut database = old("upgrade: generation-5", "generation-5");
    database.run("UPDATE sb_users SET email = NULL WHERE email = ''");
    let before = rows(&mut database);
    let plan = plan(&database, false).unwrap();
    let sentences: Vec<&str> = plan.steps.iter().map(|step| step.sentence.as_str()).collect();
    assert_eq!(
        sentences,
        [
            "Create the table sb_idempotency.",
            "Create the table sb_outbox.",
            "Create the table sb_api_keys."
        ]
    );
    assert_eq!(database.sb(&["upgrade", "--indexes"], "").status, 0);
    assert_same(&schema_of_the_field(&mut database), &of_the_field);
    assert_eq!(
        database.lines("SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'sb_articles'"),
        ["12"]
    );
    assert_eq!(rows(&mut database), before);
    assert_eq!(
        database.sb(&["upgrade", "--indexes"], "").out,
        "The tables are up to date: there is nothing to do.\n"
    );
    database.drop();
    untouched.drop();
}

#[test]
fn a_dry_run_shows_every_step_and_changes_nothing() {
    let mut database = old("upgrade: dry", "generation-1");
    let before = (schema(&mut database), rows(&mut database));
    let answer = database.sb(&["upgrade", "--dry-run", "--indexes"], "");
    assert_eq!((answer.status, answer.err.as_str()), (0, ""));
    assert_eq!((schema(&mut database), rows(&mut database)), before);
    assert_eq!(database.lines("SELECT COUNT(*) FROM sb_users WHERE email = ''"), ["1"]);
    for step in &plan(&database, true).unwrap().steps {
        assert!(answer.out.contains(&step.sentence), "{}", step.sentence);
        for line in step.sql.lines() {
            assert!(answer.out.contains(line), "{line}");
        }
    }
    assert!(answer.out.contains("utf8mb4 in place of"), "{}", answer.out);
    database.drop();
}

#[test]
fn an_upgrade_that_stops_after_any_step_goes_on_to_the_same_end() {
    let mut expected = fresh("upgrade: stops, expected");
    let expected_schema = schema(&mut expected);
    for generation in ["generation-1", "generation-2", "generation-4"] {
        let whole = old(&format!("upgrade: {generation} steps"), generation);
        let steps = plan(&whole, true).unwrap().steps.len();
        assert!(steps >= 6, "{generation} has {steps} steps");
        whole.drop();
        for stop in 0..=steps {
            let mut database = old(&format!("upgrade: {generation} stops after {stop}"), generation);
            let before = rows(&mut database);
            carry_out(&database, &plan(&database, true).unwrap(), stop);
            assert_eq!(rows(&mut database), before, "{generation} after step {stop}");
            let rest = plan(&database, true).unwrap();
            assert_eq!(rest.is_empty(), stop == steps, "{generation} after step {stop}");
            carry_out(&database, &rest, rest.steps.len());
            assert!(plan(&database, true).unwrap().is_empty());
            assert_same(&schema(&mut database), &expected_schema);
            assert_eq!(rows(&mut database), before);
            assert_eq!(
                database.lines("SELECT last_message_id FROM sb_conversations WHERE id = 3"),
                ["6"]
            );
            database.drop();
        }
    }
    expected.drop();
}

#[test]
fn at_no_step_is_a_column_without_its_foreign_key() {
    let mut database = old("upgrade: foreign keys", "generation-1");
    let plan = plan(&database, false).unwrap();
    let schema = Schema::of(&database.settings());
    let engine = Engine::default();
    for step in &plan.steps {
        engine.run(async |_| schema.carry_out(step).await).unwrap();
        let bound = database.lines(
            "SELECT COUNT(*) FROM information_schema.KEY_COLUMN_USAGE
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'sb_conversations' AND COLUMN_NAME = 'user_id'
                 AND REFERENCED_TABLE_NAME = 'sb_users'",
        );
        assert_ne!(bound, ["0"], "{}", step.sentence);
    }
    database.drop();
}

/// An upgrade that would lose something says so, all of it, and changes nothing.
fn refused(test: &str, generation: &str, statement: &str, words: &str) {
    let mut database = Database::create(&format!("upgrade: refused, {test}"), &[generation], &ROWS);
    database.run(statement);
    let before = (schema(&mut database), rows(&mut database));
    for arguments in [&["upgrade"][..], &["upgrade", "--dry-run"]] {
        let answer = database.sb(arguments, "");
        assert_eq!((answer.status, answer.out.as_str()), (1, ""), "{test}");
        assert!(answer.err.contains("nothing was changed"), "{}", answer.err);
        assert!(answer.err.contains(words), "{}", answer.err);
    }
    assert_eq!((schema(&mut database), rows(&mut database)), before);
    database.drop();
}

#[test]
fn values_too_long_for_a_key_stop_it() {
    refused(
        "long",
        "generation-1",
        "UPDATE sb_users SET email = CONCAT(REPEAT('é', 180), '@example.com') WHERE id = 1",
        "1 values of sb_users.email are longer than 191 characters",
    );
    let mut fits = old("upgrade: just fits", "generation-1");
    fits.run("UPDATE sb_users SET email = CONCAT(REPEAT('é', 179), '@example.com') WHERE id = 1");
    assert_eq!(fits.sb(&["upgrade"], "").status, 0);
    assert_eq!(
        fits.lines("SELECT CHAR_LENGTH(email) FROM sb_users WHERE id = 1"),
        ["191"]
    );
    fits.drop();
}

#[test]
fn values_that_a_new_unique_key_would_refuse_stop_it() {
    refused(
        "repeated",
        "generation-4",
        "ALTER TABLE sb_users DROP KEY email; UPDATE sb_users SET email = 'zoe@example.com' WHERE id = 7",
        "1 values of sb_users.email come more than once",
    );
    refused(
        "repeated details",
        "generation-1",
        "ALTER TABLE sb_users_data DROP FOREIGN KEY sb_users_data_ibfk_1, DROP KEY sb_users_data_index;
         INSERT INTO sb_users_data (user_id, slug, name, value) VALUES (2, 'city', 'City', 'Berlin')",
        "1 values of sb_users_data.user_id and slug come more than once",
    );
}

#[test]
fn rows_that_belong_to_nothing_stop_it() {
    refused(
        "orphans",
        "generation-4",
        "ALTER TABLE sb_messages DROP FOREIGN KEY sb_messages_ibfk_2;
         UPDATE sb_messages SET conversation_id = 99 WHERE id = 5",
        "1 rows of sb_messages have a conversation_id that is not in sb_conversations",
    );
}

#[test]
fn every_reason_is_told_at_once() {
    let database = old("upgrade: reasons", "generation-1");
    let mut database = database;
    database.run("UPDATE sb_users SET email = REPEAT('x', 192) WHERE id = 1");
    database.run("UPDATE sb_conversations SET title = REPEAT('x', 255) WHERE id = 3");
    let answer = database.sb(&["upgrade"], "");
    assert!(
        answer.err.contains("sb_users.email") && answer.err.contains("sb_conversations.title"),
        "{}",
        answer.err
    );
    database.drop();
}

#[test]
fn what_an_installation_changed_for_itself_is_kept() {
    let mut expected = fresh("upgrade: own, expected");
    let mut database = old("upgrade: own", "generation-2");
    database.run(
        "ALTER TABLE sb_users ADD COLUMN crm_id int DEFAULT NULL, ADD KEY crm (crm_id);
         ALTER TABLE sb_conversations ADD COLUMN own_note text CHARACTER SET latin1;
         ALTER TABLE sb_settings MODIFY value longtext;
         ALTER TABLE sb_messages MODIFY message mediumtext COLLATE utf8mb4_bin NOT NULL;
         UPDATE sb_conversations SET own_note = 'für später' WHERE id = 3;
         CREATE TABLE sb_own (id int PRIMARY KEY, note varchar(10)) CHARACTER SET latin1",
    );
    assert_eq!(database.sb(&["upgrade", "--indexes"], "").status, 0);
    let found = schema(&mut database);
    let missing: Vec<String> = schema(&mut expected)
        .into_iter()
        .filter(|line| !found.contains(line) && !line.contains("sb_messages | 3 | message"))
        .filter(|line| !line.contains("last_message_id"))
        .collect();
    assert_eq!(missing, [""; 0]);
    assert_eq!(
        database.lines("SELECT own_note FROM sb_conversations WHERE id = 3"),
        ["für später"]
    );
    for part in [
        "crm_id",
        "key | sb_users | crm ",
        "message | mediumtext",
        "sb_own | 2 | note | varchar(10)",
    ] {
        assert!(found.iter().any(|line| line.contains(part)), "{part}");
    }
    assert_eq!(
        database.sb(&["upgrade", "--indexes"], "").out,
        "The tables are up to date: there is nothing to do.\n"
    );
    database.drop();
    expected.drop();
}

#[test]
fn tables_of_another_engine_and_character_set_become_innodb_in_utf8mb4() {
    let mut reference = Database::create("upgrade: engine, reference", &["generation-4"], &[]);
    let mut database = old("upgrade: engine", "generation-4");
    database.run(
        "ALTER TABLE sb_messages DROP FOREIGN KEY sb_messages_ibfk_1, DROP FOREIGN KEY sb_messages_ibfk_2;
         ALTER TABLE sb_messages ENGINE=MyISAM;
         ALTER TABLE sb_settings DEFAULT CHARACTER SET latin1, MODIFY name varchar(191) CHARACTER SET latin1 NOT NULL",
    );
    let before = rows(&mut database);
    assert_eq!(database.sb(&["upgrade"], "").status, 0);
    assert_same(
        &schema_of_the_field(&mut database),
        &schema_of_the_field(&mut reference),
    );
    assert_eq!(rows(&mut database), before);
    database.drop();
    reference.drop();
}

#[test]
fn stale_last_messages_are_noted_again_in_all_parts_of_a_large_table() {
    let mut database = old("upgrade: stale", "generation-4");
    database.run(
        "INSERT INTO sb_conversations (id, user_id, creation_time)
         WITH RECURSIVE n AS (SELECT 100 AS id UNION ALL SELECT id + 10 FROM n WHERE id < 9000)
         SELECT id, 2, '2026-01-01' FROM n;
         INSERT INTO sb_messages (user_id, message, creation_time, conversation_id)
         SELECT 2, 'x', '2026-01-01', id FROM sb_conversations",
    );
    assert_eq!(database.sb(&["upgrade", "--indexes"], "").status, 0);
    let stale = "SELECT COUNT(*) FROM sb_conversations c
         WHERE NOT c.last_message_id <=> (SELECT MAX(id) FROM sb_messages WHERE conversation_id = c.id)";
    assert_eq!(database.lines(stale), ["0"]);
    // Another program answered, and knows nothing of the column.
    database.run(
        "INSERT INTO sb_messages (user_id, message, creation_time, conversation_id)
         VALUES (2, 'x', '2026-01-01', 100), (2, 'x', '2026-01-01', 9000)",
    );
    assert_eq!(database.lines(stale), ["2"]);
    let plan = plan(&database, true).unwrap();
    assert_eq!(plan.steps.len(), 1);
    carry_out(&database, &plan, 1);
    assert_eq!(database.lines(stale), ["0"]);
    // Without being asked for it nothing is done about it.
    assert!(self::plan(&database, false).unwrap().is_empty());
    database.drop();
}

#[test]
fn an_empty_database_wants_an_install() {
    let database = Database::create("upgrade: empty", &[], &[]);
    let answer = database.sb(&["upgrade"], "");
    assert_eq!(answer.status, 1);
    assert!(answer.err.contains("sb install"), "{}", answer.err);
    database.drop();
}

#[test]
fn a_table_in_use_is_not_waited_for_without_end() {
    let mut database = old("upgrade: in use", "generation-4");
    database.run("START TRANSACTION; SELECT * FROM sb_users");
    let schema = Schema::of(&sb::platform::db::Settings {
        statement_limit: std::time::Duration::from_secs(1),
        ..database.settings()
    });
    let plan = plan(&database, true).unwrap();
    let step = plan.steps.iter().find(|step| step.sql.contains("x_type")).unwrap();
    let began = std::time::Instant::now();
    let done = Engine::default().run(async |_| schema.carry_out(step).await);
    assert!(began.elapsed().as_secs() < 10);
    let error = done.unwrap_err();
    assert!(error.to_string().contains("others are using the table"), "{error}");
    database.run("COMMIT");
    database.drop();
}
