//! Databases that real content-management systems and shops have written, beside an installation of the service.
//!
//! Needs gzip and the client mariadb.

// Each test uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use sb::contract::Value as Own;
use sb::contract::error::Exit;
use sb::contract::json as library_json;
use serde_json::{Value, json};

use super::support::bench::Installation;
use super::support::case::{Given, root};
use super::support::core::Core;
use super::support::database::{Database, Server};

/// How the tables are reached.
#[derive(Clone, Copy)]
pub enum Place {
    /// They are in the service's own database.
    Beside,
    /// In another schema of the server, with another prefix.
    Schema,
    /// In another schema, by a connection of their own.
    Server,
    /// In the service's own database, as those of the second site of a network, which shares its users with the others.
    Network,
}

/// A shop's database, beside an installation whose users are the shop's.
pub struct Shop {
    pub database: Database,
    pub core: Core,
    pub schema: String,
    /// The system's user → the service's.
    pub users: BTreeMap<String, String>,
}

pub fn fixture(name: &str) -> PathBuf {
    root().join("tests/fixtures/shop").join(name)
}

pub fn expected(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(fixture(name)).unwrap()).unwrap()
}

/// Loads a dump into a schema, its tables under another prefix than the one that they were written with.
pub fn load(dump: &str, schema: &str, prefix: &str) {
    let path = fixture(dump);
    let text = if path.extension().is_some_and(|extension| extension == "gz") {
        let output = Command::new("gzip").arg("-dc").arg(path).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    } else {
        std::fs::read_to_string(path).unwrap()
    };
    // The prefix stands in names of tables and in some keys; both follow a quote.
    let mut text = text.replace("`wp_", &format!("`{prefix}"));
    for begin in ["INTO ", "FROM ", "EXISTS ", "TABLE "] {
        text = text.replace(&format!("{begin}wp_"), &format!("{begin}{prefix}"));
    }
    for key in ["capabilities", "user_level", "user_roles"] {
        text = text.replace(&format!("'wp_{key}'"), &format!("'{prefix}{key}'"));
    }
    let mut client = Command::new("mariadb")
        .args(["--no-defaults", "-uroot", "--default-character-set=utf8mb4", "-S"])
        .arg(std::env::var("SB_TEST_SOCKET").unwrap())
        .arg(schema)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    client.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(client.wait().unwrap().success(), "{dump} cannot be loaded");
}

impl Shop {
    pub fn open(test: &str, dumps: &[&str], place: Place, plugin: &str) -> Self {
        let server = Server::of_environment().unwrap();
        let given = Given::default();
        let mut database = Database::create(&server, &format!("shop: {test}"), &given).unwrap();
        let (schema, prefix) = match place {
            Place::Beside => (database.name.clone(), "wp_"),
            Place::Network => (database.name.clone(), "wp_2_"),
            Place::Schema => (format!("{}_site", database.name), "Shop7_2_"),
            Place::Server => (format!("{}_site", database.name), "x"),
        };
        if schema != database.name {
            database.rows(&format!("DROP DATABASE IF EXISTS {schema}")).unwrap();
            database
                .rows(&format!("CREATE DATABASE {schema} CHARACTER SET utf8mb4"))
                .unwrap();
        }
        for dump in dumps {
            load(dump, &schema, prefix);
        }
        if matches!(place, Place::Network) {
            for table in ["users", "usermeta"] {
                database
                    .rows(&format!("RENAME TABLE wp_2_{table} TO wp_{table}"))
                    .unwrap();
            }
        }
        let mut cms = json!({"cms-active": [true, "checkbox"], "cms-db-prefix": [prefix, "text"],
            "cms-multilingual-plugin": [plugin, "text"]});
        let set = |cms: &mut Value, name: &str, value: &str| cms[name] = json!([value, "text"]);
        match place {
            Place::Beside | Place::Network => {}
            Place::Schema => set(&mut cms, "cms-db-name", &schema),
            Place::Server => {
                set(&mut cms, "cms-db-name", &schema);
                set(&mut cms, "cms-db-host", &format!("127.0.0.1:{}", server.port));
                set(&mut cms, "cms-db-user", "sb");
                set(&mut cms, "cms-db-password", "secret");
            }
        }
        let settings = json!({"cms": [cms, "multi-input"],
            "shop": [{"shop-active": [true, "checkbox"]}, "multi-input"]});
        let settings = settings.to_string().replace('\'', "''");
        database
            .rows(&format!(
                "UPDATE sb_settings SET value = '{settings}' WHERE name = 'settings'"
            ))
            .unwrap();
        let installation = Installation {
            force_admin: true,
            ..Installation::of(&server, &database)
        };
        let core = Core::open(installation);
        let mut shop = Self {
            database,
            core,
            schema,
            users: BTreeMap::new(),
        };
        assert_eq!(shop.call("sb_cms_synch", &[]), json!(true));
        shop.map_users(if matches!(place, Place::Network) { "wp_" } else { prefix });
        shop
    }

    fn map_users(&mut self, prefix: &str) {
        let pairs = self.rows(&format!(
            "SELECT CAST(c.ID AS CHAR) AS cms, CAST(u.id AS CHAR) AS own
                FROM {}.{prefix}users c JOIN sb_users u ON u.email = CONVERT(c.user_email USING utf8mb4)
                    COLLATE utf8mb4_unicode_ci",
            self.schema
        ));
        let pairs = pairs.as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        self.users = pairs.map(|pair| (text(&pair["cms"]), text(&pair["own"]))).collect();
    }

    /// What a function gives, as JSON; an error object is a map of its parts.
    pub fn call(&self, name: &str, arguments: &[Value]) -> Value {
        let function = sb::functions::find(name).unwrap();
        let arguments = arguments.iter().map(own);
        let value = match self
            .core
            .call(name, arguments)
            .map_or_else(|error| function.exit(error), Exit::Value)
        {
            Exit::Value(value) => value,
            Exit::Object(failure) => Own::Error(Box::new(failure)),
            other @ Exit::Exception(..) => panic!("{name}: {other:?}"),
        };
        serde_json::from_str(&library_json::encode(&value)).unwrap()
    }

    pub fn rows(&mut self, sql: &str) -> Value {
        let rows = self.database.rows(sql).unwrap();
        serde_json::from_str(&library_json::encode(&rows)).unwrap()
    }

    /// The bytes of a column.
    pub fn texts(&mut self, sql: &str) -> Vec<Vec<u8>> {
        let Own::List(rows) = self.database.rows(sql).unwrap() else {
            panic!("no rows")
        };
        let first = |row: &Own| match row {
            Own::Map(map) => map.values().next().unwrap().as_bytes().unwrap().to_vec(),
            _ => panic!("no row"),
        };
        rows.iter().map(first).collect()
    }

    /// An argument with the service's user in place of the system's.
    pub fn argument(&self, value: &Value) -> Value {
        match value.as_str().and_then(|text| text.strip_prefix("cms_user:")) {
            Some(user) => json!(self.users[user]),
            None => value.clone(),
        }
    }

    pub fn drop(mut self) {
        if self.schema != self.database.name {
            let sql = format!("DROP DATABASE {}", self.schema);
            self.database.rows(&sql).unwrap();
        }
        drop(self.core);
        self.database.drop();
    }
}

/// JSON as a value of the library.
pub fn own(value: &Value) -> Own {
    library_json::decode(value.to_string().as_bytes()).unwrap()
}
