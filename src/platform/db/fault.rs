//! What the driver reports, in the library's own terms: what went wrong, and what is known of the statement.

use std::io::ErrorKind;
use std::time::Duration;

use mysql_async::{DriverError, Error as Fault, IoError};

use crate::contract::error::{DatabaseError, Error, Outcome};

/// Cannot connect.
const CANNOT_CONNECT: u16 = 2002;
/// The connection was gone before the statement was sent.
const GONE_AWAY: u16 = 2006;
/// The connection was lost while the statement ran.
const LOST: u16 = 2013;
/// A cluster node that was cut off: another connection may find one that was not.
const CUT_OFF: u16 = 1047;
/// The server is being shut down.
const SHUTTING_DOWN: u16 = 1053;
/// Someone killed the connection.
const KILLED: u16 = 1927;
/// An error during COMMIT.
const COMMIT_FAILED: u16 = 1180;
/// Deadlock: the server has rolled the whole transaction back.
const DEADLOCK: u16 = 1213;
/// A row was changed after the transaction's first look at the table: MariaDB, from 11.6 on by itself, has rolled the
/// whole transaction back.
const CHANGED: u16 = 1020;
/// Waited too long for a lock: the transaction lives on.
const LOCK_WAIT: u16 = 1205;

pub(super) fn error(number: u16, message: impl Into<String>, outcome: Outcome) -> Error {
    Error::Database(DatabaseError {
        number,
        message: message.into(),
        outcome,
    })
}

/// A statement failed.
pub(super) fn of_statement(fault: Fault) -> Error {
    match fault {
        Fault::Server(server) => {
            let outcome = if matches!(server.code, SHUTTING_DOWN | COMMIT_FAILED | KILLED) {
                Outcome::Unknown
            } else {
                Outcome::NotDone
            };
            error(server.code, server.message, outcome)
        }
        Fault::Driver(DriverError::ConnectionClosed) => {
            error(GONE_AWAY, "the database connection was closed", Outcome::NotSent)
        }
        Fault::Io(IoError::Io(io)) if io.kind() == ErrorKind::BrokenPipe => {
            error(GONE_AWAY, "the database connection was closed", Outcome::NotSent)
        }
        Fault::Io(_) => error(
            LOST,
            "the database connection was lost while the statement ran",
            Outcome::Unknown,
        ),
        other => error(
            LOST,
            format!("the database connection failed: {other}"),
            Outcome::Unknown,
        ),
    }
}

/// No connection could be made.
pub(super) fn of_connect(fault: Fault) -> Error {
    match fault {
        Fault::Server(server) => error(server.code, server.message, Outcome::NotDone),
        Fault::Io(IoError::Io(io)) => error(
            CANNOT_CONNECT,
            format!("cannot connect to the database server: {io}"),
            Outcome::NotSent,
        ),
        other => error(
            CANNOT_CONNECT,
            format!("cannot connect to the database server: {other}"),
            Outcome::NotSent,
        ),
    }
}

/// The server did not answer a connection in time.
pub(super) fn connect_timeout(limit: Duration) -> Error {
    error(
        CANNOT_CONNECT,
        format!(
            "the database server did not accept a connection within {} s",
            limit.as_secs_f64()
        ),
        Outcome::NotSent,
    )
}

/// The server did not answer a statement in time.
pub(super) fn statement_timeout(limit: Duration) -> Error {
    error(
        LOST,
        format!("the database did not answer within {} s", limit.as_secs_f64()),
        Outcome::Unknown,
    )
}

/// Whether the connection cannot be used any more.
pub(super) fn is_fatal(error: &Error) -> bool {
    error.database_number().is_some_and(is_fatal_number)
}

fn is_fatal_number(number: u16) -> bool {
    matches!(
        number,
        CANNOT_CONNECT | GONE_AWAY | LOST | CUT_OFF | SHUTTING_DOWN | KILLED
    )
}

/// Whether the statement may be sent again on a new connection: it never arrived.
pub(super) fn was_not_sent(error: &Error) -> bool {
    matches!(
        error,
        Error::Database(DatabaseError {
            outcome: Outcome::NotSent,
            ..
        })
    )
}

/// Whether another connection may give the answer that this one did not. A server that cannot be reached at all is
/// reported at once; so is the loss of what the caller had begun.
pub(super) fn is_healed_by_reconnecting(error: &Error) -> bool {
    match error {
        Error::Database(DatabaseError { number: CUT_OFF, .. }) => true,
        Error::Database(DatabaseError { number, outcome, .. }) => {
            matches!(*number, GONE_AWAY | LOST | SHUTTING_DOWN | KILLED) && *outcome != Outcome::NotDone
        }
        _ => false,
    }
}

/// The same failure, where it is certain that nothing was stored.
pub(super) fn nothing_stored(error: Error) -> Error {
    match error {
        Error::Database(error) if is_fatal_number(error.number) => Error::Database(DatabaseError {
            outcome: Outcome::NotSent,
            ..error
        }),
        error => error,
    }
}

/// Whether a whole transaction may simply be run again.
pub(super) fn is_conflict(error: &Error) -> bool {
    matches!(error.database_number(), Some(DEADLOCK | CHANGED | LOCK_WAIT))
}

/// Whether the server rolled the transaction back by itself.
pub(super) fn ended_transaction(error: &Error) -> bool {
    matches!(error.database_number(), Some(DEADLOCK | CHANGED))
}

/// Whether the server has no room for another connection now.
pub(super) fn is_full(error: &Error) -> bool {
    matches!(error.database_number(), Some(1040 | 1203 | 1226))
}

/// Whether the server refuses writes, so that another host may be the one to write to.
pub(super) fn is_read_only(error: &Error) -> bool {
    matches!(error.database_number(), Some(1290 | 1792 | 1836))
}

/// Statements of the library that meet an older schema: say what helps.
pub(super) fn name_the_upgrade(error: Error) -> Error {
    match missing(&error) {
        Some(message) => Error::Refused {
            code: "upgrade-needed",
            message: format!("{message}: the database is of an older version; run `sb upgrade`"),
        },
        None => error,
    }
}

/// Statements about the tables of another program that do not find them: say what helps.
pub(super) fn name_the_tables(error: Error) -> Error {
    match missing(&error) {
        Some(message) => Error::Refused {
            code: "configuration",
            message: format!("{message}: see the settings cms-db-name and cms-db-prefix"),
        },
        None => error,
    }
}

/// The server's text, when it misses a table or a column.
fn missing(error: &Error) -> Option<&str> {
    match error {
        Error::Database(DatabaseError {
            number: 1054 | 1146,
            message,
            ..
        }) => Some(message),
        _ => None,
    }
}
