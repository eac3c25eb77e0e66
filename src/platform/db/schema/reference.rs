//! The current schema: every table that the library reads or writes, as it should be.
//!
//! The first six tables are those of the field, exactly: other programs read and write them too. The rest is the
//! library's own. All statements made from this page are in the common subset of MariaDB 10.11 and MySQL 9.

/// A table.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) collation: &'static str,
    pub(super) columns: &'static [Column<'static>],
    pub(super) keys: &'static [Key],
    pub(super) foreign_keys: &'static [ForeignKey],
}

/// A column: of the reference, or as one is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column<'a> {
    pub(super) name: &'a str,
    /// Its type, without a display width: `varchar(191)`.
    pub(super) kind: &'a str,
    /// How its text compares; `None` for the table's way, and for what is no text.
    pub(super) collation: Option<&'a str>,
    pub(super) nullable: bool,
    pub(super) default: Option<&'a str>,
    pub(super) auto_increment: bool,
    /// Left out of `SELECT *`, so that statements of other programs see the table they know.
    pub(super) invisible: bool,
    pub(super) wanted: Wanted,
}

/// A key. Its columns are as in a statement: `value(40)` is the first 40 characters of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) unique: bool,
    pub(super) columns: &'static [&'static str],
    pub(super) wanted: Wanted,
}

/// A foreign key, always to the id of its table, with which its rows are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ForeignKey {
    pub(super) name: &'static str,
    pub(super) column: &'static str,
    pub(super) table: &'static str,
}

/// Whether a part of the schema is there without being asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Always,
    /// Only makes things faster: every statement works without it.
    ForSpeed,
}

/// The key that every table has.
pub(super) const PRIMARY: &str = "PRIMARY";

const fn column<'a>(name: &'a str, kind: &'a str) -> Column<'a> {
    Column {
        name,
        kind,
        collation: None,
        nullable: true,
        default: None,
        auto_increment: false,
        invisible: false,
        wanted: Wanted::Always,
    }
}

impl<'a> Column<'a> {
    const fn not_null(self) -> Self {
        Self {
            nullable: false,
            ..self
        }
    }

    const fn default(self, default: &'a str) -> Self {
        Self {
            default: Some(default),
            ..self
        }
    }

    const fn auto_increment(self) -> Self {
        Self {
            auto_increment: true,
            ..self.not_null()
        }
    }

    const fn invisible_for_speed(self) -> Self {
        Self {
            invisible: true,
            wanted: Wanted::ForSpeed,
            ..self
        }
    }
}

const fn primary(columns: &'static [&'static str]) -> Key {
    unique(PRIMARY, columns)
}

const fn unique(name: &'static str, columns: &'static [&'static str]) -> Key {
    Key {
        name,
        unique: true,
        columns,
        wanted: Wanted::Always,
    }
}

const fn key(name: &'static str, columns: &'static [&'static str]) -> Key {
    Key {
        unique: false,
        ..unique(name, columns)
    }
}

const fn key_for_speed(name: &'static str, columns: &'static [&'static str]) -> Key {
    Key {
        wanted: Wanted::ForSpeed,
        ..key(name, columns)
    }
}

const fn foreign_key(name: &'static str, column: &'static str, table: &'static str) -> ForeignKey {
    ForeignKey { name, column, table }
}

const UNICODE: &str = "utf8mb4_unicode_ci";
const BINARY: &str = "utf8mb4_bin";

/// Every table, each behind those that it refers to.
pub(super) static TABLES: [Table; 9] = [
    // People: visitors, leads, users, agents, admins and the bot.
    Table {
        name: "sb_users",
        collation: UNICODE,
        columns: &[
            column("id", "int").auto_increment(),
            column("first_name", "varchar(100)").not_null(),
            column("last_name", "varchar(100)").not_null(),
            column("password", "varchar(100)"),
            column("email", "varchar(191)"),
            column("profile_image", "varchar(191)"),
            column("user_type", "varchar(10)").not_null(),
            column("creation_time", "datetime").not_null(),
            column("token", "varchar(50)").not_null(),
            column("last_activity", "datetime"),
            column("typing", "int").default("-1"),
            column("department", "tinyint"),
        ],
        keys: &[
            primary(&["id"]),
            unique("token", &["token"]),
            unique("email", &["email"]),
            key_for_speed("x_type", &["user_type", "creation_time"]),
            key_for_speed("x_la", &["last_activity"]),
        ],
        foreign_keys: &[],
    },
    // Extra details of people: one row per slug.
    Table {
        name: "sb_users_data",
        collation: UNICODE,
        columns: &[
            column("id", "int").auto_increment(),
            column("user_id", "int").not_null(),
            column("slug", "varchar(191)").not_null(),
            column("name", "varchar(191)").not_null(),
            column("value", "text").not_null(),
        ],
        keys: &[
            primary(&["id"]),
            unique("sb_users_data_index", &["user_id", "slug"]),
            key_for_speed("x_slug", &["slug", "value(40)"]),
        ],
        foreign_keys: &[foreign_key("sb_users_data_ibfk_1", "user_id", "sb_users")],
    },
    // Conversations. That deleting an agent would delete its conversations is how the field has it; the library
    // therefore clears agent_id before it deletes one.
    Table {
        name: "sb_conversations",
        collation: UNICODE,
        columns: &[
            column("id", "int").auto_increment(),
            column("user_id", "int").not_null(),
            column("title", "varchar(191)"),
            column("creation_time", "datetime").not_null(),
            column("status_code", "tinyint").default("0"),
            column("department", "tinyint"),
            column("agent_id", "int"),
            column("source", "varchar(2)"),
            column("extra", "varchar(191)"),
            // May be stale or null, since other programs do not know it: it orders the inbox, it hides nothing.
            column("last_message_id", "int").invisible_for_speed(),
        ],
        keys: &[
            primary(&["id"]),
            key("agent_id", &["agent_id"]),
            key("user_id", &["user_id"]),
            key_for_speed("x_inbox", &["status_code", "last_message_id", "department", "source"]),
        ],
        foreign_keys: &[
            foreign_key("sb_conversations_ibfk_1", "agent_id", "sb_users"),
            foreign_key("sb_conversations_ibfk_2", "user_id", "sb_users"),
        ],
    },
    // Messages.
    Table {
        name: "sb_messages",
        collation: BINARY,
        columns: &[
            column("id", "int").auto_increment(),
            column("user_id", "int").not_null(),
            column("message", "text").not_null(),
            column("creation_time", "datetime").not_null(),
            column("status_code", "tinyint").default("0"),
            column("attachments", "text"),
            column("payload", "text"),
            column("conversation_id", "int").not_null(),
        ],
        keys: &[
            primary(&["id"]),
            key("user_id", &["user_id"]),
            key("conversation_id", &["conversation_id"]),
        ],
        foreign_keys: &[
            foreign_key("sb_messages_ibfk_1", "user_id", "sb_users"),
            foreign_key("sb_messages_ibfk_2", "conversation_id", "sb_conversations"),
        ],
    },
    // Settings and everything else that is kept by a name, as JSON.
    Table {
        name: "sb_settings",
        collation: UNICODE,
        columns: &[column("name", "varchar(191)").not_null(), column("value", "longtext")],
        keys: &[primary(&["name"])],
        foreign_keys: &[],
    },
    // Figures of reports.
    Table {
        name: "sb_reports",
        collation: UNICODE,
        columns: &[
            column("id", "int").auto_increment(),
            column("name", "varchar(191)").not_null(),
            column("value", "varchar(191)").not_null(),
            column("creation_time", "date").not_null(),
            column("external_id", "int"),
            column("extra", "varchar(191)"),
        ],
        keys: &[primary(&["id"])],
        foreign_keys: &[],
    },
    // What was already done, so that a repeated request is not done again. The row is written in the transaction of
    // the message itself: whoever finds it finds the message. Rows older than 24 hours are deleted by cron.
    Table {
        name: "sb_idempotency",
        collation: UNICODE,
        columns: &[
            // SHA-256 of the requester and its key; or the random key of one send of the library.
            column("k", "binary(32)").not_null(),
            // The message that was stored under it.
            column("message_id", "int"),
            // SHA-256 of the request's parsed body: the same key with another body is refused.
            column("body_hash", "binary(32)"),
            // Status and body of the answer, given again to the same request.
            column("status", "smallint"),
            column("answer", "mediumtext"),
            // In UTC.
            column("created", "datetime").not_null(),
        ],
        keys: &[primary(&["k"]), key("created", &["created"])],
        foreign_keys: &[],
    },
    // Events that follow a write: written in its transaction, delivered after its commit.
    //
    // A worker takes a row by `UPDATE … SET state = 1, claim = ?, next_try = ? WHERE id = ? AND state = 0 AND
    // next_try <= ?`: one affected row means that it is the only one. next_try is then the end of the claim; a row
    // whose claim has ended belonged to a worker that died. Whether it may be tried again depends on the channel: a
    // webhook is, a text message is not, since its outcome is unknown.
    Table {
        name: "sb_outbox",
        collation: UNICODE,
        columns: &[
            // Also the delivery's id, by which a receiver knows a repetition.
            column("id", "bigint").auto_increment(),
            // Who delivers: webhook, realtime, email, sms, push, teamchat.
            column("channel", "varchar(20)").not_null(),
            // The event's name: message-sent.
            column("event", "varchar(50)").not_null(),
            // For whom, where the channel has several receivers: an address, a number, a user id.
            column("target", "varchar(191)"),
            // What is delivered, as JSON. No secret: keys and passwords are read from the settings at delivery.
            column("payload", "mediumtext").not_null(),
            // 0 waiting, 1 claimed, 2 delivered, 3 dead: given up, and kept until it is tried again by hand.
            column("state", "tinyint").not_null().default("0"),
            // How often it was tried.
            column("attempts", "tinyint").not_null().default("0"),
            // Not before this time, in UTC; of a claimed row, the end of the claim.
            column("next_try", "datetime").not_null(),
            // Random, of the worker that has it.
            column("claim", "binary(16)"),
            // Why the last try failed, without credentials.
            column("failure", "varchar(191)"),
            // In UTC.
            column("created", "datetime").not_null(),
        ],
        keys: &[
            primary(&["id"]),
            key("due", &["state", "next_try"]),
            key("created", &["created"]),
        ],
        foreign_keys: &[],
    },
    // Keys of the HTTP API. The key itself is shown once and stored nowhere. Times are in UTC.
    Table {
        name: "sb_api_keys",
        collation: UNICODE,
        columns: &[
            column("id", "int").auto_increment(),
            // By which people tell keys apart.
            column("name", "varchar(191)").not_null(),
            // SHA-256 of the key.
            column("key_hash", "binary(32)").not_null(),
            // messages:write, messages:read, events:read, admin; separated by commas.
            column("scopes", "varchar(191)").not_null(),
            // The user whose conversations alone it opens; null for all. The key ends with its user.
            column("user_id", "int"),
            column("created", "datetime").not_null(),
            // Null: never.
            column("expires", "datetime"),
            // To the minute.
            column("last_used", "datetime"),
            // Null: valid.
            column("revoked", "datetime"),
            // How often it was used in a minute, counted in minutes since 1970.
            column("counted_minute", "int"),
            column("counted", "int").not_null().default("0"),
        ],
        keys: &[
            primary(&["id"]),
            unique("name", &["name"]),
            unique("key_hash", &["key_hash"]),
            key("user_id", &["user_id"]),
        ],
        foreign_keys: &[foreign_key("sb_api_keys_ibfk_1", "user_id", "sb_users")],
    },
];
