//! `sb install`: makes the tables, the bot and an admin account.

use std::io::{self, BufRead, IsTerminal};

use clap::Args;
use sb::contract::status::UserType;
use sb::contract::{Map, Value};
use sb::functions;
use sb::params;
use sb::platform::context::{Process, Request};
use sb::platform::db::schema::Schema;
use sb::platform::engine::Engine;
use sb::platform::host::PlainHost;
use sb::platform::{Context, crypto};
use secrecy::{ExposeSecret, SecretString};

use crate::failure::{Failure, Result};
use crate::installation::Installation;
use crate::progress::say;
use crate::upgrade::{carry_out, close};

/// What `sb install` takes.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    installation: Installation,
    /// E-mail address of the admin. The password is asked for, or read as one line where there is no terminal.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    admin_email: String,
    /// First name of the admin.
    #[arg(long, value_name = "NAME", default_value = "Admin")]
    admin_first_name: String,
    /// Last name of the admin.
    #[arg(long, value_name = "NAME", default_value = "")]
    admin_last_name: String,
}

const USER_OF_EMAIL: &str = "
    SELECT id, user_type
    FROM sb_users
    WHERE email = ?";

/// What there is for an e-mail address.
enum Account {
    None,
    Admin,
    Other(String),
}

/// Runs `sb install`.
pub fn run(options: &Options) -> Result<()> {
    let (host, configuration) = options.installation.open()?;
    let schema = Schema::of(&configuration.database);
    let engine = Engine::default();
    let plan = engine.run(async |_| schema.installation().await)?;
    let account = if plan.creates("sb_users") {
        Account::None
    } else {
        engine.run(async |process| account(&host, process, &options.admin_email).await)?
    };
    // Everything that could refuse comes before the first change.
    let hash = match &account {
        Account::None => Some(crypto::hash_password(new_password()?.expose_secret().as_bytes())?),
        Account::Admin => None,
        Account::Other(user_type) => {
            let email = &options.admin_email;
            return Err(Failure::Failed(format!(
                "there is already a {user_type} with the e-mail address {email}: nothing was changed"
            )));
        }
    };
    if plan.is_empty() {
        say("The tables are there.")?;
    } else {
        carry_out(&engine, &schema, &plan)?;
        say("The tables are made.")?;
    }
    close(&engine, &schema)?;
    // It is made where there is none.
    call(&engine, &host, "sb_get_bot_id", Map::new())?;
    say("The bot is there.")?;
    match hash {
        None => say(&format!(
            "The admin {} is there, with the password as it was.",
            options.admin_email
        ))?,
        Some(hash) => {
            add_admin(&engine, &host, options, &hash)?;
            say(&format!("The admin {} is made.", options.admin_email))?;
        }
    }
    Ok(())
}

fn address(text: &str) -> std::result::Result<String, String> {
    let text = text.trim();
    match text.split_once('@') {
        Some((name, host)) if !name.is_empty() && !host.is_empty() && !text.contains(char::is_whitespace) => {
            Ok(text.to_owned())
        }
        _ => Err("it is no e-mail address".to_owned()),
    }
}

async fn account(host: &PlainHost, process: &Process, email: &str) -> sb::contract::Result<Account> {
    let request = Request::default();
    let cx = Context::new(host, process, &request);
    let found: Option<(u32, String)> = cx.database()?.row(USER_OF_EMAIL, params![email]).await?;
    Ok(match found {
        None => Account::None,
        Some((_, user_type)) if user_type == UserType::Admin.text() => Account::Admin,
        Some((_, user_type)) => Account::Other(user_type),
    })
}

fn add_admin(engine: &Engine, host: &PlainHost, options: &Options, hash: &str) -> Result<()> {
    let settings = Value::map([
        ("email", options.admin_email.as_str().into()),
        ("first_name", options.admin_first_name.as_str().into()),
        ("last_name", options.admin_last_name.as_str().into()),
        ("password", hash.into()),
        ("user_type", UserType::Admin.into()),
    ]);
    call(
        engine,
        host,
        "sb_add_user",
        Map::from_iter([
            ("settings".into(), settings),
            ("hash_password".into(), Value::Bool(false)),
        ]),
    )
}

/// Calls a function of the library, as any other caller would.
fn call(engine: &Engine, host: &PlainHost, name: &str, arguments: Map) -> Result<()> {
    let function =
        functions::find(name).ok_or_else(|| Failure::Failed(format!("this build has no function {name}")))?;
    function.run(engine, host, &Request::default(), function.named(arguments)?)?;
    Ok(())
}

/// Asks twice on a terminal; elsewhere the first line of the input is it.
fn new_password() -> Result<SecretString> {
    let stdin = io::stdin();
    let password: SecretString = if stdin.is_terminal() {
        let password: SecretString = rpassword::prompt_password("Password of the admin: ")?.into();
        let again: SecretString = rpassword::prompt_password("The same again: ")?.into();
        if password.expose_secret() != again.expose_secret() {
            return Err(Failure::Failed("the two passwords differ: nothing was changed".into()));
        }
        password
    } else {
        let mut line = String::new();
        stdin.lock().read_line(&mut line)?;
        line.trim_end_matches(['\r', '\n']).into()
    };
    if password.expose_secret().is_empty() {
        return Err(Failure::Failed("the password is empty: nothing was changed".into()));
    }
    Ok(password)
}
