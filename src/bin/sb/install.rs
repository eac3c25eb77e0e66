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

/// One bot is enough.
const ADD_BOT: &str = "
    INSERT INTO sb_users (first_name, last_name, user_type, creation_time, token, last_activity)
    SELECT 'Bot', '', 'bot', new.now, new.token, new.now
    FROM (SELECT ? AS now, ? AS token) new
    WHERE NOT EXISTS (SELECT 1 FROM sb_users WHERE user_type = 'bot')";

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
    let makes_users = plan.steps.iter().any(|step| step.sql.contains(" sb_users "));
    let account = if makes_users {
        Account::None
    } else {
        engine.run(async |process| account(&host, process, &options.admin_email).await)?
    };
    // Everything that could refuse comes before the first change.
    let password = match &account {
        Account::None => Some(new_password()?),
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
    let is_bot_new = engine.run(async |process| add_bot(&host, process).await)?;
    say(if is_bot_new {
        "The bot is made."
    } else {
        "The bot is there."
    })?;
    match password {
        None => say(&format!(
            "The admin {} is there, with the password as it was.",
            options.admin_email
        ))?,
        Some(password) => {
            add_admin(&engine, &host, options, &password)?;
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

async fn add_bot(host: &PlainHost, process: &Process) -> sb::contract::Result<bool> {
    let request = Request::default();
    let cx = Context::new(host, process, &request);
    let added = cx
        .database()?
        .execute(ADD_BOT, params![cx.now(), crypto::token()?])
        .await?;
    Ok(added.affected > 0)
}

/// Adds the admin, as any other caller would.
fn add_admin(engine: &Engine, host: &PlainHost, options: &Options, password: &SecretString) -> Result<()> {
    let settings = Value::map([
        ("email", options.admin_email.as_str().into()),
        ("first_name", options.admin_first_name.as_str().into()),
        ("last_name", options.admin_last_name.as_str().into()),
        ("password", password.expose_secret().into()),
        ("user_type", UserType::Admin.into()),
    ]);
    let add_user = functions::find("sb_add_user").ok_or_else(|| Failure::Failed("sb_add_user is missing".into()))?;
    let arguments = add_user.named(Map::from_iter([("settings".into(), settings)]))?;
    add_user.run(engine, host, &Request::default(), arguments)?;
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
