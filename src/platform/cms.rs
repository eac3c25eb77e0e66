//! The database of the content-management system, by the setting `cms`: its tables beside the service's own, in another
//! schema of the same server, or on another server.

use std::rc::Rc;

use secrecy::SecretString;

use super::db::Written;
use super::db::{
    Database, Endpoint, FromRow, OnUnknown, Param, Settings as DatabaseSettings, Sql, Tables, Transaction,
};
use super::settings::Settings;
use crate::contract::error::{Error, Result};
use crate::contract::value::{Records, Value};
use crate::params;

/// What the tables' names begin with where no prefix is set.
const DEFAULT_PREFIX: &str = "wp_";

/// Which of two tables there are.
const TABLES_THERE: &str = "
    SELECT TABLE_NAME
    FROM information_schema.TABLES
    WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME IN (?, ?)";

/// The last letters that columns of the older character sets hold: utf8mb3, latin1.
const LAST_LETTERS: [char; 2] = ['\u{ffff}', '\u{ff}'];

/// What the server says where texts of a statement cannot be compared: MariaDB by how many they are, MySQL of a parameter.
const CANNOT_COMPARE: [u16; 5] = [1267, 1270, 1271, 3854, 3988];

/// Where the settings say that the tables are.
pub(super) struct Place {
    /// A connection of its own, when they are not reached by the service's.
    pub(super) connection: Option<Rc<DatabaseSettings>>,
    tables: Tables,
    /// The schema, when it is not the connection's.
    schema: Option<String>,
    prefix: String,
}

/// The tables of the content-management system and the connection to them. Statements name the tables in braces:
/// `FROM {posts}`.
pub struct Cms<'a> {
    database: &'a Database,
    tables: Tables,
    schema: Option<String>,
    prefix: String,
}

impl Place {
    /// Reads the settings; what they leave out is as in the service's own database.
    pub(super) fn of(settings: &Settings, own: &DatabaseSettings) -> Result<Self> {
        let name = settings.text("cms-db-name").map(|name| name.trim().to_owned());
        let (host, user) = (settings.text("cms-db-host"), settings.text("cms-db-user"));
        let elsewhere = host.is_some() || user.is_some();
        let connection = elsewhere.then(|| {
            Rc::new(DatabaseSettings {
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
            })
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
            schema,
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
            schema: place.schema,
            prefix: place.prefix,
        }
    }

    /// The number of the site, when the prefix could be that of one in a network: 2 of `wp_2_`.
    pub fn number_in_network(&self) -> Option<u32> {
        in_network(&self.prefix).map(|(_, number)| number)
    }

    /// What tells whether there are users of the site's own: the schema and the name of their table.
    pub fn own_users(&self) -> Vec<Param> {
        params![self.schema.as_deref(), self.prefixed("users")]
    }

    /// The tables of the users, when the site shares them with the other sites of a network: their names have no number.
    pub async fn shared_users(&self) -> Result<Option<Self>> {
        let Some((prefix, _)) = in_network(&self.prefix) else {
            return Ok(None);
        };
        let (own, shared) = (self.prefixed("users"), format!("{prefix}users"));
        let params = params![self.schema.as_deref(), &own, &shared];
        let found: Vec<(String,)> = self.database.rows(TABLES_THERE, params).await?;
        // Some servers keep the names of tables in small letters.
        let is_there = |table: &str| found.iter().any(|(name,)| name.eq_ignore_ascii_case(table));
        let tables = Tables::new(self.schema.as_deref(), prefix);
        let tables = tables.filter(|_| is_there(&shared) && !is_there(&own));
        Ok(tables.map(|tables| Self {
            database: self.database,
            tables,
            schema: self.schema.clone(),
            prefix: prefix.to_owned(),
        }))
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
        let read = async |sql, params| self.database.rows(sql, params).await;
        self.read(sql.into(), params, read).await
    }

    /// The first row of a query, if it has one.
    pub async fn row<T: FromRow>(&self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Option<T>> {
        let read = async |sql, params| self.database.row(sql, params).await;
        self.read(sql.into(), params, read).await
    }

    /// The rows of a query as records, their cells as text, under the given column names.
    pub async fn records(
        &self,
        sql: impl Into<Sql>,
        params: Vec<Param>,
        columns: &'static [&'static str],
    ) -> Result<Records> {
        let read = async |sql, params| self.database.records(sql, params, columns).await;
        self.read(sql.into(), params, read).await
    }

    /// The rows of a query, their cells as text.
    pub async fn cells(&self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Vec<Vec<Value>>> {
        let read = async |sql, params| self.database.cells(sql, params).await;
        self.read(sql.into(), params, read).await
    }

    /// Reads; where the columns' character set has not all letters of the parameters, once more without those: nothing
    /// there equals them.
    async fn read<T>(
        &self,
        sql: Sql,
        params: Vec<Param>,
        read: impl AsyncFn(Sql, Vec<Param>) -> Result<T>,
    ) -> Result<T> {
        let sql = self.place(sql);
        let mut result = read(sql.clone(), params.clone()).await;
        for last in LAST_LETTERS {
            if !matches!(&result, Err(Error::Database(error)) if CANNOT_COMPARE.contains(&error.number)) {
                break;
            }
            let params = params.iter().map(|param| param.up_to(last)).collect();
            result = read(sql.clone(), params).await;
        }
        result
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

/// The prefix of a network's own tables and the number of a site in it, when a prefix could be the site's.
fn in_network(prefix: &str) -> Option<(&str, u32)> {
    let site = prefix.strip_suffix('_')?;
    let network = site.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let number = site.strip_prefix(network)?.parse().ok()?;
    Some((network, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_may_be_that_of_a_site_in_a_network() {
        assert_eq!(in_network("wp_2_"), Some(("wp_", 2)));
        assert_eq!(in_network("blog12_"), Some(("blog", 12)));
        for prefix in ["wp_", "", "_", "wp_2", "wp_2_x_", "wp_99999999999_"] {
            assert_eq!(in_network(prefix), None, "{prefix}");
        }
    }
}
