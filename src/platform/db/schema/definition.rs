//! Parts of the schema in the words of a statement.

use std::fmt;

use super::reference::{Column, ForeignKey, Key, PRIMARY, Table, Wanted};

impl fmt::Display for Column<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.kind)?;
        if let Some(collation) = self.collation {
            write!(f, " COLLATE {collation}")?;
        }
        if !self.nullable {
            f.write_str(" NOT NULL")?;
        }
        if self.auto_increment {
            f.write_str(" AUTO_INCREMENT")?;
        }
        match self.default {
            Some(default) => write!(f, " DEFAULT {default}")?,
            None if self.nullable => f.write_str(" DEFAULT NULL")?,
            None => {}
        }
        if self.invisible {
            f.write_str(" INVISIBLE")?;
        }
        Ok(())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name, self.unique) {
            (PRIMARY, _) => f.write_str("PRIMARY KEY")?,
            (name, true) => write!(f, "UNIQUE KEY {name}")?,
            (name, false) => write!(f, "KEY {name}")?,
        }
        write!(f, " ({})", self.columns.join(", "))
    }
}

impl fmt::Display for ForeignKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} (id) ON DELETE CASCADE",
            self.name, self.column, self.table
        )
    }
}

impl Key {
    /// The key in a sentence.
    pub(super) fn title(&self) -> String {
        match self.name {
            PRIMARY => "the primary key".to_owned(),
            name => format!("the key {name}"),
        }
    }
}

impl Table {
    /// The statement that makes the table; `for_speed` with the parts that only make things faster.
    pub(super) fn create(&self, for_speed: bool) -> String {
        let is_wanted = |wanted: Wanted| for_speed || wanted == Wanted::Always;
        let columns = self.columns.iter().filter(|column| is_wanted(column.wanted));
        let keys = self.keys.iter().filter(|key| is_wanted(key.wanted));
        let lines: Vec<String> = columns
            .map(ToString::to_string)
            .chain(keys.map(ToString::to_string))
            .chain(self.foreign_keys.iter().map(ToString::to_string))
            .map(|line| format!("  {line}"))
            .collect();
        format!(
            "CREATE TABLE IF NOT EXISTS {} (\n{}\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE={}",
            self.name,
            lines.join(",\n"),
            self.collation
        )
    }

    /// The column of that name.
    pub(super) fn column(&self, name: &str) -> Option<&Column<'static>> {
        self.columns.iter().find(|column| column.name == name)
    }
}

#[cfg(test)]
mod tests {
    use crate::platform::db::schema::reference::TABLES;

    #[test]
    fn a_table_is_made_by_one_statement() {
        assert_eq!(
            TABLES[4].create(true),
            "CREATE TABLE IF NOT EXISTS sb_settings (\n  name varchar(191) NOT NULL,\n  value longtext DEFAULT NULL,\n  \
             PRIMARY KEY (name)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci"
        );
    }

    #[test]
    fn what_only_makes_things_faster_is_left_out_when_it_is_not_asked_for() {
        let conversations = &TABLES[2];
        assert!(
            conversations
                .create(true)
                .contains("last_message_id int DEFAULT NULL INVISIBLE")
        );
        assert!(!conversations.create(false).contains("last_message_id"));
        assert!(!TABLES.iter().any(|table| table.create(false).contains(" x_")));
    }

    #[test]
    fn tables_come_behind_those_that_they_refer_to() {
        for (at, table) in TABLES.iter().enumerate() {
            for key in table.foreign_keys {
                assert!(
                    TABLES[..at].iter().any(|earlier| earlier.name == key.table),
                    "{}",
                    key.name
                );
            }
        }
    }
}
