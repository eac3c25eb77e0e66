//! Section "Database": statements that callers write themselves.
//!
//! Trusted server code calls these; nothing else in the library builds SQL from values.

use std::rc::Rc;

use crate::contract::args::Bytes;
use crate::contract::error::{Error, Result};
use crate::contract::{Value, json};
use crate::functions;
use crate::platform::Context;
use crate::platform::configuration::database_of;
use crate::platform::db::{Database, Endpoint};

functions! {
    /// Runs a query and returns its first row, or all rows.
    ///
    /// Every cell is a text or null. A query of the caller runs in the caller's session: variables it sets and
    /// transactions it opens last until the end of the request. Of several statements in one text none is run.
    ///
    /// @param $query the statement
    /// @param $single true for the first row, false for a list of all rows
    /// @errors SBError db-error-N when the statement or the connection fails, charset when it sets an unsafe character set
    async fn sb_db_get(query: Bytes, single: bool = true) -> "array<string, string|null>|list<array<string, string|null>>|SBError|false" => get;

    /// Runs a statement that writes.
    ///
    /// @param $query the statement
    /// @param $return true for the id of the new row or, where there is none, the number of rows changed
    /// @errors SBError db-error-N when the statement or the connection fails, charset when it sets an unsafe character set
    async fn sb_db_query(query: Bytes, r#return: bool = false) -> "true|int|SBError" => query;

    /// Escapes a text for use between quotes in a statement.
    ///
    /// @param $value the text, in UTF-8
    /// @errors SBError invalid-text when it is not UTF-8: what is none could break out under another character set
    async fn sb_db_escape(value: Bytes) -> "string|SBError" => escape;

    /// Converts an array to JSON and escapes it for use between quotes in a statement.
    ///
    /// @param $array the value; bytes that are not UTF-8 become U+FFFD
    async fn sb_db_json_enconde(array: Value) -> "string" => json_encode_for_sql;

    /// Tries to connect to a database.
    ///
    /// What is omitted is taken from the configuration. The message of a failure is the server's, without the password.
    ///
    /// @param $name the database
    /// @param $user the database user
    /// @param $password that user's password
    /// @param $host the server, also as host:port
    /// @param $port its port
    async fn sb_db_check_connection(
        name: Option<String> = false,
        user: Option<String> = false,
        password: Option<String> = false,
        host: Option<String> = false,
        port: Option<i64> = false,
    ) -> "true|string" => check_connection;
}

async fn get(cx: &Context<'_>, Bytes(query): Bytes, single: bool) -> Result<Value> {
    let rows = cx.database()?.run(&query).await?.rows;
    Ok(match (single, rows.is_empty()) {
        (true, true) => Value::Bool(false),
        (true, false) => Value::Record(rows),
        (false, _) => Value::Records(rows),
    })
}

async fn query(cx: &Context<'_>, Bytes(query): Bytes, returns: bool) -> Result<Value> {
    let written = cx.database()?.run(&query).await?.written;
    if !returns {
        return Ok(Value::Bool(true));
    }
    let number = if written.insert_id == 0 {
        written.affected
    } else {
        written.insert_id
    };
    Ok(Value::Int(i64::try_from(number).unwrap_or(i64::MAX)))
}

async fn escape(cx: &Context<'_>, Bytes(value): Bytes) -> Result<Value> {
    let text = String::from_utf8(value).map_err(|_| Error::Refused {
        code: "invalid-text",
        message: "argument $value is not UTF-8".into(),
    })?;
    Ok(cx.database()?.escape(&text).into())
}

async fn json_encode_for_sql(cx: &Context<'_>, array: Value) -> Result<Value> {
    Ok(cx.database()?.escape(&json::encode(&array)).into())
}

async fn check_connection(
    cx: &Context<'_>,
    name: Option<String>,
    user: Option<String>,
    password: Option<String>,
    host: Option<String>,
    port: Option<i64>,
) -> Result<Value> {
    let port = match port.map(u16::try_from) {
        Some(Err(_)) => {
            return Err(Error::Argument {
                name: "port",
                expected: "a port from 1 to 65535",
            });
        }
        Some(Ok(port)) => Some(port),
        None => None,
    };
    if [&name, &user].into_iter().flatten().any(|text| text.contains('\0')) {
        // The protocol ends both at it, and would connect to something else.
        return Ok("the name of a database or user holds no NUL".into());
    }
    let mut settings = match (cx.configuration(), &name, &user, &host) {
        (Ok(configuration), ..) => configuration.database.as_ref().clone(),
        // An installer asks before there is a configuration: what it gives must then suffice.
        (Err(_), Some(name), Some(user), Some(host)) => database_of(name, user, host),
        (Err(error), ..) => return Ok(error.to_string().into()),
    };
    if host.is_some() || port.is_some() {
        let host = host.unwrap_or_else(|| settings.endpoints.first().map(Endpoint::host).unwrap_or_default());
        settings.endpoints = Endpoint::read(&host, port, None);
    }
    settings.name = name.unwrap_or(settings.name);
    settings.user = user.unwrap_or(settings.user);
    settings.password = password.map_or(settings.password, Into::into);
    let database = Database::default();
    database.configure(&Rc::new(settings));
    let answer = database.run(b"SELECT 1").await;
    database.disconnect().await;
    Ok(match answer {
        Ok(_) => Value::Bool(true),
        Err(error) => error.to_string().into(),
    })
}
