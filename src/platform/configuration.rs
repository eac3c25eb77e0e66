//! The installation's configuration: the constants of `config.php`, read once per request.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use secrecy::SecretString;

use super::db;
use super::host::Host;
use super::log::Log;
use crate::contract::error::{Error, Result};

/// Every constant of `config.php` that the library reads, and what it means.
pub const NAMES: [(&str, &str); 15] = [
    ("SB_DB_NAME", "Name of the database."),
    ("SB_DB_USER", "User of the database."),
    ("SB_DB_PASSWORD", "Password of that user."),
    (
        "SB_DB_HOST",
        "Host of the database server; several as host1:port,host2:port, the first that is writable wins.",
    ),
    ("SB_DB_PORT", "Port of the database server, 3306 when empty."),
    (
        "SB_DB_SOCKET",
        "Unix socket of the database server, in place of host and port.",
    ),
    ("SB_URL", "Address of the installation folder."),
    ("SB_PATH", "The installation folder itself."),
    (
        "SB_SECRET_KEY",
        "Secret that login data and other encrypted texts are made with.",
    ),
    (
        "SB_SECRET_KEY_OLD",
        "The secret before it was changed, so that older texts can still be read.",
    ),
    ("SB_CONNECT_TIMEOUT", "Seconds to wait for a connection, 5 when empty."),
    (
        "SB_STATEMENT_TIMEOUT",
        "Seconds to wait for a statement, 10 when empty and 8 with several hosts.",
    ),
    ("SB_LOG", "A file for the log, or stderr; no log when empty."),
    (
        "SB_LOG_LEVEL",
        "What goes into the log: error, warning or information; warning when empty.",
    ),
    (
        "SB_SLOW_STATEMENT",
        "Seconds from which on the log notes a statement; none when empty.",
    ),
];

/// Why `config.php` could not be read, as the shim leaves it.
const FAILURE: &str = "SB_CONFIG_ERROR";

const CONNECT_SECONDS: u64 = 5;
const STATEMENT_SECONDS: u64 = 10;
/// With several hosts the statement that fails on the first has to leave time for the second.
const STATEMENT_SECONDS_OF_SEVERAL: u64 = 8;

/// The configuration of one installation.
#[derive(Debug)]
pub struct Configuration {
    /// How to reach the database.
    pub database: Rc<db::Settings>,
    /// The installation folder.
    pub path: Option<PathBuf>,
    /// Its address.
    pub url: Option<String>,
    /// The secret key, when the configuration has one.
    pub secret_key: Option<SecretString>,
    /// The secret key before it was changed.
    pub old_secret_key: Option<SecretString>,
}

impl Configuration {
    /// Reads it from the host.
    pub fn read(host: &dyn Host) -> Result<Self> {
        let text = |name: &str| host.configured(name).filter(|text| !text.is_empty());
        let required = |name: &str| text(name).ok_or_else(|| missing(host, name));
        let port = match text("SB_DB_PORT") {
            None => None,
            Some(port) => Some(
                port.trim()
                    .parse()
                    .map_err(|_| Error::configuration(format!("SB_DB_PORT is no port: {port}")))?,
            ),
        };
        let name = required("SB_DB_NAME")?;
        let user = required("SB_DB_USER")?;
        let socket = text("SB_DB_SOCKET");
        let host_name = if socket.is_some() {
            String::new()
        } else {
            required("SB_DB_HOST")?
        };
        let endpoints = db::Endpoint::read(&host_name, port, socket.as_deref());
        let seconds = |name: &str, default: u64| -> Result<Duration> {
            let Some(given) = text(name) else {
                return Ok(Duration::from_secs(default));
            };
            let seconds: f64 = given.trim().parse().unwrap_or(f64::NAN);
            if !(0.001..=3600.0).contains(&seconds) {
                return Err(Error::configuration(format!(
                    "{name} must be a number of seconds up to 3600: {given}"
                )));
            }
            Ok(Duration::from_secs_f64(seconds))
        };
        let statement_seconds = if endpoints.len() > 1 {
            STATEMENT_SECONDS_OF_SEVERAL
        } else {
            STATEMENT_SECONDS
        };
        Ok(Self {
            database: Rc::new(db::Settings {
                endpoints,
                name,
                user,
                password: text("SB_DB_PASSWORD").unwrap_or_default().into(),
                connect_limit: seconds("SB_CONNECT_TIMEOUT", CONNECT_SECONDS)?,
                statement_limit: seconds("SB_STATEMENT_TIMEOUT", statement_seconds)?,
                log: Log::read(host)?,
            }),
            path: text("SB_PATH").map(Into::into),
            url: text("SB_URL"),
            secret_key: text("SB_SECRET_KEY").map(Into::into),
            old_secret_key: text("SB_SECRET_KEY_OLD").map(Into::into),
        })
    }
}

/// The refusal where a constant is needed that is not defined.
pub(super) fn missing(host: &dyn Host, name: &str) -> Error {
    Error::configuration(match host.configured(FAILURE) {
        Some(reason) => format!("config.php could not be read: {reason}"),
        None => format!("{name} is not configured: define it in config.php, in the folder above include/"),
    })
}

/// A database that is given whole, before there is a configuration.
pub fn database_of(name: &str, user: &str, host: &str) -> db::Settings {
    db::Settings {
        endpoints: db::Endpoint::read(host, None, None),
        name: name.to_owned(),
        user: user.to_owned(),
        password: SecretString::default(),
        connect_limit: Duration::from_secs(CONNECT_SECONDS),
        statement_limit: Duration::from_secs(STATEMENT_SECONDS),
        log: Log::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::host::PlainHost;

    fn host(values: &[(&str, &str)]) -> PlainHost {
        PlainHost::new(
            values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        )
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (values, word) in [
            (vec![], "SB_DB_NAME"),
            (vec![("SB_DB_NAME", "a")], "SB_DB_USER"),
            (vec![("SB_DB_NAME", "a"), ("SB_DB_USER", "b")], "SB_DB_HOST"),
            (
                vec![
                    ("SB_DB_NAME", "a"),
                    ("SB_DB_USER", "b"),
                    ("SB_DB_HOST", "c"),
                    ("SB_DB_PORT", "x"),
                ],
                "SB_DB_PORT",
            ),
            (
                vec![
                    ("SB_DB_NAME", "a"),
                    ("SB_DB_USER", "b"),
                    ("SB_DB_HOST", "c"),
                    ("SB_CONNECT_TIMEOUT", "-1"),
                ],
                "SB_CONNECT_TIMEOUT",
            ),
            (vec![("SB_CONFIG_ERROR", "syntax error")], "syntax error"),
        ] {
            let error = Configuration::read(&host(&values)).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn the_sample_shows_every_constant() {
        let sample = include_str!("../../include/config.sample.php");
        for (name, _) in NAMES {
            assert!(sample.contains(&format!("define('{name}', ")), "{name}");
        }
    }

    #[test]
    fn limits_have_defaults() {
        let mut values = vec![("SB_DB_NAME", "a"), ("SB_DB_USER", "b"), ("SB_DB_HOST", "c")];
        let limits = |values: &[(&str, &str)]| {
            let configuration = Configuration::read(&host(values)).unwrap();
            (
                configuration.database.connect_limit.as_secs(),
                configuration.database.statement_limit.as_secs(),
            )
        };
        assert_eq!(limits(&values), (5, 10));
        values[2] = ("SB_DB_HOST", "c,d");
        assert_eq!(limits(&values), (5, 8));
        values.push(("SB_STATEMENT_TIMEOUT", "3"));
        assert_eq!(limits(&values), (5, 3));
    }

    #[test]
    fn the_password_is_not_printed() {
        let configuration = Configuration::read(&host(&[
            ("SB_DB_NAME", "a"),
            ("SB_DB_USER", "b"),
            ("SB_DB_HOST", "c"),
            ("SB_DB_PASSWORD", "hidden"),
            ("SB_SECRET_KEY", "hidden"),
        ]))
        .unwrap();
        assert!(!format!("{configuration:?}").contains("hidden"));
    }
}
