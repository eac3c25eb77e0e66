//! The database of the content-management system, by the setting `cms`: its tables beside the service's own, in another
//! schema of the same server, or on another server.

use secrecy::SecretString;

use super::db::Written;
use super::db::{
    Database, Endpoint, FromRow, OnUnknown, Param, Settings as DatabaseSettings, Sql, Tables, Transaction,
};
use super::settings::Settings;
use crate::contract::error::{Error, Result};
use crate::contract::value::{Records, Value};

/// What the tables' names begin with where no prefix is set.
const DEFAULT_PREFIX: &str = "wp_";

/// Where the settings say that the tables are.
pub(super) struct Place {
    /// A connection of its own, when they are not reached by the service's.
    pub(super) connection: Option<DatabaseSettings>,
    tables: Tables,
    prefix: String,
}

/// The tables of the content-management system and the connection to them. Statements name the tables in braces:
/// `FROM {posts}`.
pub struct Cms<'a> {
    database: &'a Database,
    tables: Tables,
    prefix: String,
}

impl Place {
    /// Reads the settings; what they leave out is as in the service's own database.
    pub(super) fn of(settings: &Settings, own: &DatabaseSettings) -> Result<Self> {
        let name = settings.text("cms-db-name").map(|name| name.trim().to_owned());
        let (host, user) = (settings.text("cms-db-host"), settings.text("cms-db-user"));
        let elsewhere = host.is_some() || user.is_some();
        let connection = elsewhere.then(|| DatabaseSettings {
            endpoints: host.map_or_else(|| own.endpoints.clone(), |host| Endpoint::read(&host, None, None)),
            name: name.clone().unwrap_or_else(|| own.name.clone()),
            password: match &user {
                Some(_) => SecretString::from(settings.text("cms-db-password").unwrap_or_default()),
                None => own.password.clone(),
            },
            user: user.unwrap_or_else(|| own.user.clone()),
            connect_limit: own.connect_limit,
            statement_limit: own.statement_limit,
            log: own.log.clone(),
        });
        let schema = name.filter(|name| !elsewhere && *name != own.name);
        let prefix = settings.text("cms-db-prefix").map(|prefix| prefix.trim().to_owned());
        let prefix = prefix.unwrap_or_else(|| DEFAULT_PREFIX.to_owned());
        let tables = Tables::new(schema.as_deref(), &prefix);
        let tables = tables.ok_or_else(|| {
            Error::configuration(
                "the settings cms-db-name and cms-db-prefix can be no names of a database and its tables",
            )
        })?;
        Ok(Self {
            connection,
            tables,
            prefix,
        })
    }
}

impl<'a> Cms<'a> {
    /// The tables at `place`, by a connection that reaches them.
    pub(super) fn new(database: &'a Database, place: Place) -> Self {
        Self {
            database,
            tables: place.tables,
            prefix: place.prefix,
        }
    }

    /// A name that begins with the tables' prefix: some keys do too.
    pub fn prefixed(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// A statement with the names of the tables in it, for a transaction.
    pub fn place(&self, sql: impl Into<Sql>) -> Sql {
        self.tables.place(sql)
    }

    /// All rows of a query.
    pub async fn rows<T: FromRow>(&self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Vec<T>> {
        self.database.rows(self.place(sql), params).await
    }

    /// The first row of a query, if it has one.
    pub async fn row<T: FromRow>(&self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Option<T>> {
        self.database.row(self.place(sql), params).await
    }

    /// The rows of a query as records, their cells as text, under the given column names.
    pub async fn records(
        &self,
        sql: impl Into<Sql>,
        params: Vec<Param>,
        columns: &'static [&'static str],
    ) -> Result<Records> {
        self.database.records(self.place(sql), params, columns).await
    }

    /// The rows of a query, their cells as text.
    pub async fn cells(&self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Vec<Vec<Value>>> {
        self.database.cells(self.place(sql), params).await
    }

    /// One statement that writes, committed when this returns.
    pub async fn execute(&self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Written> {
        self.database.execute(self.place(sql), params).await
    }

    /// Runs `unit` in a transaction of the database that the tables are in. Its statements are [placed](Self::place).
    pub async fn transaction<T>(
        &self,
        on_unknown: OnUnknown,
        unit: impl AsyncFnMut(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.database.transaction(on_unknown, unit).await
    }
}
