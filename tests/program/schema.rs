//! What `information_schema` says of a database, to be compared with what it says of another.

use crate::bench::Database;

/// The six tables of the field.
pub const OF_THE_FIELD: &str =
    "'sb_users', 'sb_users_data', 'sb_conversations', 'sb_messages', 'sb_settings', 'sb_reports'";

/// What only makes things faster.
const NOT_FOR_SPEED: &str = "COLUMN_NAME <> 'last_message_id'";

/// Tables, columns, keys and foreign keys: everything that a statement could tell apart.
pub fn schema(database: &mut Database) -> Vec<String> {
    described(database, "TABLE_NAME LIKE 'sb\\_%'", "1 = 1", "1 = 1")
}

/// The same, of the tables of the field only and without the parts that only make things faster.
pub fn schema_of_the_field(database: &mut Database) -> Vec<String> {
    described(
        database,
        &format!("TABLE_NAME IN ({OF_THE_FIELD})"),
        NOT_FOR_SPEED,
        "INDEX_NAME NOT LIKE 'x\\_%'",
    )
}

fn described(database: &mut Database, tables: &str, columns: &str, keys: &str) -> Vec<String> {
    let queries = [
        format!(
            "SELECT 'table', TABLE_NAME, ENGINE, TABLE_COLLATION, ROW_FORMAT
             FROM information_schema.TABLES
             WHERE TABLE_SCHEMA = DATABASE() AND {tables}
             ORDER BY TABLE_NAME"
        ),
        format!(
            "SELECT 'column', TABLE_NAME, ORDINAL_POSITION, COLUMN_NAME, COLUMN_TYPE, COLUMN_DEFAULT, IS_NULLABLE,
                 CHARACTER_SET_NAME, COLLATION_NAME, EXTRA
             FROM information_schema.COLUMNS
             WHERE TABLE_SCHEMA = DATABASE() AND {tables} AND {columns}
             ORDER BY TABLE_NAME, ORDINAL_POSITION"
        ),
        format!(
            "SELECT 'key', TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, SUB_PART, NON_UNIQUE, INDEX_TYPE, NULLABLE
             FROM information_schema.STATISTICS
             WHERE TABLE_SCHEMA = DATABASE() AND {tables} AND {keys}
             ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"
        ),
        format!(
            "SELECT 'foreign key', k.TABLE_NAME, k.CONSTRAINT_NAME, COLUMN_NAME, k.REFERENCED_TABLE_NAME,
                 REFERENCED_COLUMN_NAME, DELETE_RULE, UPDATE_RULE
             FROM information_schema.KEY_COLUMN_USAGE k
             JOIN information_schema.REFERENTIAL_CONSTRAINTS r
                 ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME
             WHERE k.TABLE_SCHEMA = DATABASE() AND k.{tables}
             ORDER BY k.TABLE_NAME, k.CONSTRAINT_NAME"
        ),
    ];
    queries.iter().flat_map(|query| database.lines(query)).collect()
}

/// Says in which lines two descriptions differ.
pub fn assert_same(found: &[String], expected: &[String]) {
    let only = |some: &[String], others: &[String]| -> Vec<String> {
        some.iter().filter(|line| !others.contains(line)).cloned().collect()
    };
    let (extra, missing) = (only(found, expected), only(expected, found));
    assert!(
        extra.is_empty() && missing.is_empty(),
        "found:\n  {}\nexpected:\n  {}",
        extra.join("\n  "),
        missing.join("\n  ")
    );
    assert!(!found.is_empty());
}
