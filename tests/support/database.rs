//! The test server, and a fresh database on it for each case.

use std::hash::{DefaultHasher, Hash, Hasher};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Row, Value as Cell};
use sb::contract::{Key, Map, Value};
use tokio::runtime::{Builder, Runtime};

use super::case::{Given, root};

/// What fixtures are loaded under: nothing is stored that the columns cannot hold.
const SESSION: &str = "SET NAMES utf8mb4, SESSION sql_mode = 'STRICT_ALL_TABLES', SESSION time_zone = '+00:00'";

/// Where the test server listens.
pub struct Server {
    socket: String,
    pub port: String,
}

impl Server {
    /// The server beside which `tests/support/mariadb` runs us.
    pub fn of_environment() -> Result<Self, String> {
        let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        match (variable("SB_TEST_SOCKET"), variable("SB_TEST_PORT")) {
            (Some(socket), Some(port)) => Ok(Self { socket, port }),
            _ => {
                Err("These tests need a database server. Run them beside one: tests/support/mariadb cargo test".into())
            }
        }
    }
}

/// The database of one case, seen by a connection of root's.
pub struct Database {
    pub name: String,
    runtime: Runtime,
    connection: Option<Conn>,
}

impl Database {
    /// Makes the database that a case is given. Its name follows from `case`.
    pub fn create(server: &Server, case: &str, given: &Given) -> Result<Self, String> {
        let mut hash = DefaultHasher::new();
        case.hash(&mut hash);
        let name = format!("sb_case_{:016x}", hash.finish());
        let mut statements = vec![
            SESSION.to_owned(),
            format!("DROP DATABASE IF EXISTS {name}"),
            format!("CREATE DATABASE {name} CHARACTER SET utf8mb4"),
            format!("USE {name}"),
        ];
        for fixture in fixtures(given) {
            let path = root().join("tests/fixtures").join(fixture).with_extension("sql");
            let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            statements.push(text.trim_end().trim_end_matches(';').to_owned());
        }
        statements.extend(given.sql.iter().cloned());
        Self::connect(server, name, &statements.join(";\n"))
    }

    /// Another connection to a database.
    pub fn watch(server: &Server, database: &Self) -> Result<Self, String> {
        let name = database.name.clone();
        let sql = format!("{SESSION}; USE {name}");
        Self::connect(server, name, &sql)
    }

    fn connect(server: &Server, name: String, sql: &str) -> Result<Self, String> {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let options = OptsBuilder::default()
            .user(Some("root"))
            .socket(Some(server.socket.as_str()));
        let connection = runtime.block_on(async {
            let mut connection = Conn::new(options).await?;
            connection.query_drop(sql).await?;
            Ok::<_, mysql_async::Error>(connection)
        });
        let connection = connection.map_err(|error| format!("the database of the case: {error}"))?;
        Ok(Self {
            name,
            runtime,
            connection: Some(connection),
        })
    }

    /// The rows of a query as `then` has them.
    pub fn rows(&mut self, sql: &str) -> Result<Value, String> {
        let connection = self.connection.as_mut().unwrap();
        let rows: Vec<Row> = self
            .runtime
            .block_on(connection.query(sql))
            .map_err(|error| error.to_string())?;
        Ok(rows.into_iter().map(record).collect::<Vec<_>>().into())
    }

    /// Removes it. A database that is not dropped stays for whoever looks into a failure.
    pub fn drop(mut self) {
        let mut connection = self.connection.take().unwrap();
        let sql = format!("DROP DATABASE {}", self.name);
        self.runtime.block_on(async {
            connection.query_drop(sql).await.unwrap();
            connection.disconnect().await.unwrap();
        });
    }
}

/// The files that a case's database is made from.
fn fixtures(given: &Given) -> Vec<String> {
    let is_old = matches!(given.schema.as_str(), "generation-1" | "generation-2");
    let fixtures = given.fixture.names().iter().filter(|name| *name != "empty");
    let files = fixtures.map(|name| match name.as_str() {
        "people" if is_old => "people-old".to_owned(),
        name => name.to_owned(),
    });
    std::iter::once(given.schema.clone()).chain(files).collect()
}

fn record(row: Row) -> Value {
    let names: Vec<Key> = row
        .columns_ref()
        .iter()
        .map(|column| column.name_str().into_owned().into())
        .collect();
    let cells = row.unwrap().into_iter().map(|cell| match cell {
        Cell::NULL => Value::Null,
        Cell::Bytes(text) => Value::Bytes(text),
        cell => panic!("the text protocol gives texts, not {cell:?}"),
    });
    names.into_iter().zip(cells).collect::<Map>().into()
}
