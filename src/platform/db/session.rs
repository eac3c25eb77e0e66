//! One connection to the server, always in the same known state.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use lru::LruCache;
use mysql_async::consts::StatusFlags;
use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, OptsBuilder, Params, Row, Statement};
use rustc_hash::FxBuildHasher;
use secrecy::ExposeSecret;
use tokio::time::timeout;

use super::fault;
use super::limit::Limit;
use super::row::Param;
use super::settings::{Endpoint, Settings};
use super::socket::Descriptors;
use super::sql::Sql;
use crate::contract::error::{Outcome, Result};
use crate::platform::counters;
use crate::platform::log::{self, Log};

/// What every session is set to, whatever the server's defaults: overlong and malformed values are errors instead of
/// silent changes, backslashes escape, and dates are UTC.
const STATE: &str = "SET NAMES utf8mb4, \
    SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', \
    SESSION time_zone = '+00:00'";

/// Facts about the server. A table is not read here: whether the server can be written to is all that is asked.
const FACTS: &str = "SELECT CAST(@@max_allowed_packet AS UNSIGNED), @@global.read_only";

/// How a node of a Galera cluster stands in it.
const MEMBERSHIP: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_status', 'wsrep_ready')";

/// How many prepared statements a connection keeps.
const STATEMENTS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(127);

/// After this much silence the connection is asked whether it still stands before a write is entrusted to it.
const IDLE_LIMIT: Duration = Duration::from_millis(100);

/// The statements that a connection has prepared, those last used. The driver keeps them too, but would read each text
/// anew at every use, in search of named parameters.
type Statements = LruCache<Cow<'static, str>, Statement, FxBuildHasher>;

pub(super) struct Session {
    connection: Conn,
    statements: Statements,
    limit: Limit,
    log: Log,
    max_packet: usize,
    writable: bool,
    last_used: Instant,
    pub(super) status: Status,
}

/// What the caller's own statements have made of the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// The caller has a transaction open.
    pub(super) in_transaction: bool,
    /// What has become of variables, the database, or locks.
    pub(super) alteration: Alteration,
    /// A backslash does not escape in this session.
    pub(super) no_backslash_escapes: bool,
}

/// What the caller's statements may have changed, besides rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Alteration {
    /// Nothing.
    #[default]
    None,
    /// Something that holds now.
    Present,
    /// Something, of which [`Session::restore`] took back what it can: locks and temporary tables outlast it.
    Restored,
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// How many rows changed.
    pub affected: u64,
    /// The id that the server gave the first new row; 0 when it gave none.
    pub insert_id: u64,
}

impl Session {
    /// Connects to the first host that answers and can be written to; failing that, to the first that answers.
    pub(super) async fn connect(settings: &Settings, alone: bool) -> Result<Self> {
        let mut readable = None;
        let mut failure = fault::error(2002, "no database host is configured", Outcome::NotSent);
        for endpoint in &settings.endpoints {
            match Self::connect_to(settings, endpoint, alone).await {
                Ok(session) if session.writable => return Ok(session),
                Ok(session) => readable = readable.or(Some(session)),
                Err(error) => failure = error,
            }
        }
        readable.ok_or(failure)
    }

    async fn connect_to(settings: &Settings, endpoint: &Endpoint, alone: bool) -> Result<Self> {
        // What is given here the driver does not ask the server for, once per connection.
        let options = OptsBuilder::default()
            .user(Some(settings.user.as_str()))
            .pass(Some(settings.password.expose_secret()))
            .db_name(Some(settings.name.as_str()))
            .max_allowed_packet(Some(1 << 30))
            .wait_timeout(Some(28_800))
            .stmt_cache_size(0)
            .prefer_socket(false);
        let options = match endpoint {
            Endpoint::Socket(path) => options.socket(Some(path.as_str())),
            Endpoint::Address { host, port } => options.ip_or_hostname(host.as_str()).tcp_port(*port),
        };
        // The hosts share it: a caller waits no longer for having several.
        let limit = settings.connect_limit / u32::try_from(settings.endpoints.len().max(1)).unwrap_or(1);
        let descriptors = match endpoint {
            Endpoint::Socket(path) if alone => Some(Descriptors::leading_to(path)),
            _ => None,
        };
        let opened = async {
            let mut connection = Conn::new(options).await.map_err(fault::of_connect)?;
            let mut facts = connection
                .query_iter(format!("{STATE}, SESSION autocommit = 1; {FACTS}"))
                .await
                .map_err(fault::of_connect)?;
            facts.collect::<Row>().await.map_err(fault::of_connect)?;
            let facts: Vec<(u64, Option<String>)> = facts.collect_and_drop().await.map_err(fault::of_connect)?;
            let (max_packet, read_only) = facts.into_iter().next().unwrap_or((1 << 20, None));
            // Of one host alone there is no other to choose.
            let is_cut_off = settings.endpoints.len() > 1 && is_cut_off(&mut connection).await?;
            counters::CONNECTIONS.add();
            Ok(Self {
                connection,
                statements: LruCache::with_hasher(STATEMENTS, FxBuildHasher),
                limit: Limit::new(
                    settings.statement_limit,
                    descriptors.and_then(|descriptors| descriptors.new_one()),
                ),
                log: settings.log.clone(),
                max_packet: usize::try_from(max_packet).unwrap_or(usize::MAX),
                writable: matches!(read_only.as_deref(), None | Some("0" | "OFF")) && !is_cut_off,
                last_used: Instant::now(),
                status: Status::default(),
            })
        };
        timeout(limit, opened)
            .await
            .unwrap_or_else(|_| Err(fault::connect_timeout(limit)))
    }

    /// Brings the session back to the library's own state after statements of the caller.
    pub(super) async fn restore(&mut self, database: &str) -> Result<()> {
        if self.status.alteration == Alteration::Present {
            let quoted = database.replace('`', "``");
            self.drop_text(&format!("USE `{quoted}`")).await?;
            // Autocommit stays as the caller has it: setting it would commit what is the caller's to commit.
            self.drop_text(STATE).await?;
            self.status.alteration = Alteration::Restored;
            self.status.no_backslash_escapes = false;
        }
        Ok(())
    }

    /// Rows of a prepared statement.
    pub(super) async fn rows<T: FromRow + Send + 'static>(&mut self, sql: &Sql, params: Vec<Param>) -> Result<Vec<T>> {
        self.check_size(sql.text().len() + size_of_params(&params))?;
        let watch = Watch::begin(&self.log, || sql.text().to_owned(), &params);
        let rows = async {
            let statement = prepared(&mut self.connection, &mut self.statements, sql).await?;
            self.connection.exec(statement, bound(params)).await
        };
        let result = self.limit.of(rows).await;
        self.note(watch, result)
    }

    /// A prepared statement that writes.
    pub(super) async fn execute(&mut self, sql: &Sql, params: Vec<Param>) -> Result<Written> {
        self.check_size(sql.text().len() + size_of_params(&params))?;
        let watch = Watch::begin(&self.log, || sql.text().to_owned(), &params);
        let written = async {
            let statement = prepared(&mut self.connection, &mut self.statements, sql).await?;
            self.connection.exec_drop(statement, bound(params)).await
        };
        let result = self.limit.of(written).await;
        self.note(watch, result)?;
        Ok(self.written())
    }

    /// A statement that cannot be prepared, or not worth it.
    pub(super) async fn drop_text(&mut self, sql: &str) -> Result<()> {
        let watch = Watch::begin(&self.log, || log::without_values(sql), &[]);
        let result = self.limit.of(self.connection.query_drop(sql)).await;
        self.note(watch, result)
    }

    /// A caller's statement, by the text protocol: every cell comes as bytes.
    ///
    /// The driver allows several statements in one text. A text that has a semicolon is therefore prepared first, which
    /// the server does for one statement only: one that smuggles in a second is refused by the server itself. It then
    /// runs as any other, since a prepared one gives its cells in other forms.
    pub(super) async fn caller_rows(&mut self, sql: &[u8]) -> Result<Vec<Row>> {
        self.check_size(sql.len())?;
        let watch = Watch::begin(&self.log, || log::without_values(&String::from_utf8_lossy(sql)), &[]);
        let result = if sql.contains(&b';') {
            let one = async {
                let statement = self.connection.prep(sql).await?;
                self.connection.close(statement).await?;
                self.connection.query(sql).await
            };
            self.limit.of(one).await
        } else {
            self.limit.of(self.connection.query(sql)).await
        };
        self.note(watch, result)
    }

    /// Before a write, after some silence: makes sure that the connection still stands. A failure says that nothing was
    /// sent, and a new connection helps; unless that would lose what the caller has made of the session.
    pub(super) async fn stand_up(&mut self) -> Result<()> {
        if self.last_used.elapsed() <= IDLE_LIMIT || self.status != Status::default() {
            return Ok(());
        }
        let result = self.limit.of(self.connection.ping()).await;
        self.note(None, result).map_err(fault::nothing_stored)
    }

    /// What the last statement did.
    pub(super) fn written(&self) -> Written {
        Written {
            affected: self.connection.affected_rows(),
            insert_id: self.connection.last_insert_id().unwrap_or(0),
        }
    }

    /// Says goodbye, so that the server logs no aborted connection.
    pub(super) async fn close(self) {
        let _ = timeout(Duration::from_secs(1), self.connection.disconnect()).await;
    }

    fn check_size(&self, size: usize) -> Result<()> {
        // The server closes the connection over a packet above its limit, and the caller would not learn why.
        if size + 64 <= self.max_packet {
            return Ok(());
        }
        let message = format!(
            "the statement of {size} bytes is larger than the server's max_allowed_packet of {}",
            self.max_packet
        );
        Err(fault::error(1153, message, Outcome::NotDone))
    }

    fn note<T>(&mut self, watch: Option<Watch>, result: Result<T>) -> Result<T> {
        self.last_used = Instant::now();
        if let Some(watch) = watch {
            watch.end(&self.log, self.last_used);
        }
        match &result {
            Ok(_) => {
                if let Some(packet) = self.connection.last_ok_packet() {
                    let flags = packet.status_flags();
                    self.status.in_transaction = flags.contains(StatusFlags::SERVER_STATUS_IN_TRANS)
                        || !flags.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT);
                    self.status.no_backslash_escapes = flags.contains(StatusFlags::SERVER_STATUS_NO_BACKSLASH_ESCAPES);
                }
            }
            Err(error) if fault::ended_transaction(error) => self.status.in_transaction = false,
            Err(_) => {}
        }
        result
    }
}

/// Whether the server is a node that is cut off from its cluster, or not yet in it: it answers, but reads and writes no
/// table. Of a server that is in no cluster the status is another, if it has one at all.
async fn is_cut_off(connection: &mut Conn) -> Result<bool> {
    let status: Vec<(String, String)> = connection.query(MEMBERSHIP).await.map_err(fault::of_connect)?;
    let is = |name: &str, values: &[&str]| {
        let found = status.iter().find(|(own, _)| own == name);
        found.is_some_and(|(_, value)| values.contains(&value.as_str()))
    };
    Ok(is("wsrep_cluster_status", &["Primary", "non-Primary"]) && is("wsrep_ready", &["OFF"]))
}

/// A statement that may turn out to be slow.
struct Watch {
    begun: Instant,
    slow: Duration,
    statement: String,
    parameters: Vec<String>,
}

impl Watch {
    /// Counts a statement, and looks at the clock where the log asks for slow ones.
    fn begin(log: &Log, statement: impl FnOnce() -> String, params: &[Param]) -> Option<Self> {
        counters::STATEMENTS.add();
        Some(Self {
            slow: log.slow()?,
            statement: statement(),
            parameters: params.iter().map(Param::kind).collect(),
            begun: Instant::now(),
        })
    }

    fn end(self, log: &Log, now: Instant) {
        let took = now.saturating_duration_since(self.begun);
        if took >= self.slow {
            counters::SLOW_STATEMENTS.add();
            log.note_statement(&self.statement, &self.parameters, took);
        }
    }
}

/// The statement, prepared now or before. One that gives up its place is closed.
async fn prepared(connection: &mut Conn, statements: &mut Statements, sql: &Sql) -> mysql_async::Result<Statement> {
    if let Some(statement) = statements.get(sql.text()) {
        return Ok(statement.clone());
    }
    let statement = connection.prep(sql.text()).await?;
    if let Some((_, oldest)) = statements.push(sql.clone().into(), statement.clone()) {
        connection.close(oldest).await?;
    }
    Ok(statement)
}

fn bound(params: Vec<Param>) -> Params {
    if params.is_empty() {
        Params::Empty
    } else {
        Params::Positional(params.into_iter().map(|param| param.0).collect())
    }
}

fn size_of_params(params: &[Param]) -> usize {
    params
        .iter()
        .map(|param| {
            if let mysql_async::Value::Bytes(text) = &param.0 {
                text.len()
            } else {
                16
            }
        })
        .sum()
}
