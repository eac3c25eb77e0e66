//! Where the database is and how long to wait for it.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use crate::platform::log::Log;

/// How to reach the database.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The hosts, or the socket, in the order to try.
    pub endpoints: Vec<Endpoint>,
    /// The database's name.
    pub name: String,
    /// The user to log in as.
    pub user: String,
    /// That user's password.
    pub password: SecretString,
    /// The limit of connecting, handshake and login included.
    pub connect_limit: Duration,
    /// The limit of one statement.
    pub statement_limit: Duration,
    /// Where slow statements are noted.
    pub log: Log,
}

/// One way to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A unix socket.
    Socket(String),
    /// A host and its port.
    Address {
        /// Name or address.
        host: String,
        /// TCP port.
        port: u16,
    },
}

/// MySQL's port.
pub const DEFAULT_PORT: u16 = 3306;

/// Where Debian's MariaDB and MySQL listen: what `localhost` means to MySQL's own clients.
const DEFAULT_SOCKETS: [&str; 3] = [
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/tmp/mysql.sock",
];

impl Endpoint {
    /// Reads the configuration's host (`h`, `h:port`, `[v6]:port`, or several, separated by commas), port and socket.
    pub fn read(host: &str, port: Option<u16>, socket: Option<&str>) -> Vec<Self> {
        if let Some(socket) = socket.filter(|socket| !socket.is_empty()) {
            return vec![Self::Socket(socket.to_owned())];
        }
        host.split(',')
            .map(str::trim)
            .filter(|host| !host.is_empty())
            .map(|host| Self::read_one(host, port))
            .collect()
    }

    /// The host, as [`Self::read`] takes it; empty for a socket.
    pub fn host(&self) -> String {
        match self {
            Self::Socket(_) => String::new(),
            Self::Address { host, .. } => host.clone(),
        }
    }

    fn read_one(host: &str, port: Option<u16>) -> Self {
        // A second colon makes it an address of IP version 6, which needs brackets to carry a port.
        let (name, own_port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((name, rest)) => (name, rest.strip_prefix(':')),
            None => match host.split_once(':') {
                Some((name, rest)) if !rest.contains(':') => (name, Some(rest)),
                _ => (host, None),
            },
        };
        if let Some(path) = own_port.filter(|rest| rest.starts_with('/')) {
            return Self::Socket(path.to_owned());
        }
        let given = own_port.and_then(|text| text.parse().ok()).or(port);
        if name == "localhost"
            && given.is_none_or(|port| port == DEFAULT_PORT)
            && let Some(socket) = DEFAULT_SOCKETS
                .into_iter()
                .find(|path| std::path::Path::new(path).exists())
        {
            return Self::Socket(socket.to_owned());
        }
        Self::Address {
            host: name.to_owned(),
            port: given.unwrap_or(DEFAULT_PORT),
        }
    }
}

/// Two settings are the same when a connection of one serves the other.
impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        self.endpoints == other.endpoints
            && self.name == other.name
            && self.user == other.user
            && self.password.expose_secret() == other.password.expose_secret()
            && self.connect_limit == other.connect_limit
            && self.statement_limit == other.statement_limit
            && self.log == other.log
    }
}

impl Eq for Settings {}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(host: &str, port: u16) -> Endpoint {
        Endpoint::Address {
            host: host.into(),
            port,
        }
    }

    #[test]
    fn hosts_come_with_and_without_ports() {
        assert_eq!(
            Endpoint::read("db1:3307, db2 ,10.0.0.3", Some(3310), None),
            [address("db1", 3307), address("db2", 3310), address("10.0.0.3", 3310)]
        );
        assert_eq!(
            Endpoint::read("[::1]:3307,::1", None, None),
            [address("::1", 3307), address("::1", 3306)]
        );
        assert_eq!(
            Endpoint::read("localhost", Some(3399), None),
            [address("localhost", 3399)]
        );
    }

    #[test]
    fn a_socket_goes_before_hosts() {
        assert_eq!(Endpoint::read("db1", None, Some("/s")), [Endpoint::Socket("/s".into())]);
        assert_eq!(
            Endpoint::read("localhost:/other/s", None, None),
            [Endpoint::Socket("/other/s".into())]
        );
        assert_eq!(Endpoint::read("", None, Some("")), []);
    }
}
