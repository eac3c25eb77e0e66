//! `sb api-key`: makes, lists and revokes keys of the HTTP API.

use chrono::NaiveDateTime;
use clap::{Args, Subcommand};
use sb::contract::args;
use sb::contract::ids::UserId;
use sb::platform::api_keys::{self, NewKey, Scope, Shown};
use secrecy::ExposeSecret;

use crate::failure::{Failure, Result};
use crate::installation::Installation;
use crate::progress::say;

/// What `sb api-key` takes.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Makes a key. It is the last line that is printed, and cannot be shown again.
    Create(Create),
    /// Lists all keys: what they may do, for whom, until when, and when they were used last.
    List(List),
    /// Ends a key: within three seconds it holds no more.
    Revoke(Revoke),
}

#[derive(Args)]
struct Create {
    #[command(flatten)]
    installation: Installation,
    /// By which the key is told from others.
    #[arg(long)]
    name: String,
    /// What it may be used for, separated by commas: messages:write, messages:read, events:read, admin.
    #[arg(long, required = true, value_delimiter = ',', value_parser = scope)]
    scopes: Vec<Scope>,
    /// The id of the user that it acts for. A visitor's, lead's or user's key opens its own conversations only.
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u32).range(1..))]
    user: Option<u32>,
    /// When it ends, in UTC: YYYY-MM-DD, or with a time HH:MM:SS.
    #[arg(long, value_name = "DATE", value_parser = date)]
    expires: Option<NaiveDateTime>,
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    installation: Installation,
}

#[derive(Args)]
struct Revoke {
    #[command(flatten)]
    installation: Installation,
    /// The key's name.
    #[arg(long)]
    name: String,
}

/// Runs `sb api-key`.
pub fn run(options: Options) -> Result<()> {
    match options.command {
        Command::Create(options) => create(options),
        Command::List(options) => list(&options),
        Command::Revoke(options) => revoke(&options),
    }
}

fn scope(text: &str) -> std::result::Result<Scope, String> {
    text.trim()
        .parse()
        .map_err(|()| format!("scopes are {}", Scope::ALL.map(Scope::text).join(", ")))
}

fn date(text: &str) -> std::result::Result<NaiveDateTime, String> {
    args::time(text).ok_or_else(|| "it is no date YYYY-MM-DD, with or without a time HH:MM:SS".to_owned())
}

fn create(options: Create) -> Result<()> {
    let new = NewKey {
        name: options.name,
        scopes: options.scopes,
        user: options.user.map(UserId::from),
        expires: options.expires,
    };
    let key = options
        .installation
        .run(async |cx| api_keys::create(cx.database()?, cx.now(), new).await)?;
    say("The key, which cannot be shown again:")?;
    Ok(say(key.expose_secret())?)
}

fn list(options: &List) -> Result<()> {
    let keys = options
        .installation
        .run(async |cx| api_keys::list(cx.database()?).await)?;
    if keys.is_empty() {
        return Ok(say("There is no key.")?);
    }
    for (name, scopes, user, created, expires, last_used, revoked) in keys as Vec<Shown> {
        let user = user.map_or_else(String::new, |user| format!(", for user {user}"));
        let last_use = last_used.map_or_else(|| ", never used".to_owned(), |time| format!(", used {time}"));
        let end = match (revoked, expires) {
            (Some(time), _) => format!(", revoked {time}"),
            (None, Some(time)) => format!(", ends {time}"),
            (None, None) => String::new(),
        };
        say(&format!("{name}: {scopes}{user}, made {created}{last_use}{end}"))?;
    }
    Ok(())
}

fn revoke(options: &Revoke) -> Result<()> {
    let name = &options.name;
    let is_revoked = options
        .installation
        .run(async |cx| api_keys::revoke(cx.database()?, cx.now(), name).await)?;
    if is_revoked {
        Ok(say(&format!("The key {name} is revoked."))?)
    } else {
        Err(Failure::Failed(format!("there is no key {name} that holds")))
    }
}
