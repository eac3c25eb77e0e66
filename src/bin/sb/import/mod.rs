//! `sb import`: takes people over from a file, line by line, through the functions of the library.
//!
//! How far it is stands in a file beside the table, from before each line to after it: an import that was interrupted
//! goes on where it was. Lines that cannot be taken over are kept in a second file, with their numbers and the reason.

mod journal;
mod refused;
mod table;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use sb::contract::error::Code;
use sb::contract::{Error, Map, Value};
use sb::functions::{self, Function};
use sb::platform::context::Request;
use sb::platform::engine::Engine;
use sb::platform::host::{Host, PlainHost};

use self::journal::Journal;
use self::refused::Refused;
use self::table::{Line, Table};
use crate::failure::{Failure, Result};
use crate::installation::Installation;
use crate::progress::{Amount, say};

/// What is imported.
#[derive(Subcommand)]
pub enum What {
    /// Adds users from a CSV file whose first line names the columns.
    ///
    /// The columns `first_name`, `last_name`, email, password, `profile_image`, `user_type` and department are those of
    /// a user; each other one becomes an extra detail. Columns that only the database sets, such as id, are passed over.
    Users(Options),
}

/// What `sb import users` takes.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    installation: Installation,
    /// The CSV file, in UTF-8. Beside it come FILE.progress, until all is done, and FILE.refused, with the lines that
    /// could not be taken over.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What stands between two cells.
    #[arg(long, value_name = "SIGN", default_value = ",", value_parser = sign)]
    delimiter: u8,
    /// The passwords are hashes already: of bcrypt or Argon2, as PHP's password_hash makes them.
    #[arg(long)]
    hashed_passwords: bool,
}

/// What became of a line.
enum Fate {
    Added,
    Refused(String),
}

/// Runs `sb import`.
pub fn run(What::Users(options): &What) -> Result<()> {
    let (host, _) = options.installation.open()?;
    // Whoever may read the configuration may do everything.
    host.set_global("SB_FORCE_ADMIN", Value::Bool(true));
    let mut table = Table::open(&options.file, options.delimiter)?;
    let mut journal = Journal::open(&options.file)?;
    let refused = Refused::of(&options.file, table.header(), options.delimiter);
    let import = Import {
        engine: Engine::default(),
        host,
        add_user: functions::find("sb_add_user")
            .ok_or_else(|| Failure::Failed("this build has no function sb_add_user".into()))?,
        has_hashes: options.hashed_passwords,
    };
    if journal.is_new() {
        refused.remove()?;
    } else {
        let (added, refused) = (journal.added(), journal.refused());
        say(&format!("It goes on where it was: {added} added, {refused} refused."))?;
        table.go_to(journal.place())?;
    }
    let amount = Amount::of_bytes(table.length());
    let all = import.all(&mut table, &mut journal, &refused, &amount);
    amount.end();
    all?;
    let (added, bad) = (journal.added(), journal.refused());
    journal.remove()?;
    say(&format!("{added} users are added."))?;
    if bad == 0 {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "{bad} lines were not taken over: they stand in {}, with their numbers and the reasons; correct and import that",
        refused.place()
    )))
}

struct Import {
    engine: Engine,
    host: PlainHost,
    add_user: &'static Function,
    has_hashes: bool,
}

impl Import {
    fn all(&self, table: &mut Table, journal: &mut Journal, refused: &Refused, amount: &Amount) -> Result<()> {
        while let Some(line) = table.next()? {
            let fate = if journal.was_begun(&line) {
                // It was interrupted within the line: it may be there already.
                self.again(&line)
            } else {
                journal.begin(&line)?;
                self.add(&line)
            };
            let fate = match fate {
                Ok(fate) => fate,
                Err(stop) => {
                    if !stop.may_be_done {
                        journal.take_back()?;
                    }
                    return Err(Failure::Failed(format!("{}; run it again to go on", stop.reason)));
                }
            };
            match fate {
                Fate::Added => journal.added_one(&line)?,
                Fate::Refused(reason) => {
                    refused.add(&line, &reason)?;
                    journal.refused_one(&line)?;
                }
            }
            amount.done(line.end().byte());
            amount.say(format!("{} added, {} refused", journal.added(), journal.refused()));
        }
        Ok(())
    }

    /// A line that may have been taken over: its e-mail address tells, since nobody has the same twice.
    fn again(&self, line: &Line) -> std::result::Result<Fate, Stop> {
        if !line.has_email() {
            return Ok(Fate::Refused(
                "the import was interrupted within this line: look whether this one is there, since it has no e-mail \
                 address to tell by"
                    .into(),
            ));
        }
        match self.add(line) {
            Ok(Fate::Refused(reason)) if reason == Code::DuplicateEmail.text() => Ok(Fate::Added),
            Err(stop) => Err(Stop {
                may_be_done: true,
                ..stop
            }),
            fate => fate,
        }
    }

    fn add(&self, line: &Line) -> std::result::Result<Fate, Stop> {
        let (settings, details) = match line.person() {
            Ok(person) => person,
            Err(reason) => return Ok(Fate::Refused(reason)),
        };
        let arguments = Map::from_iter([
            ("settings".into(), Value::Map(settings)),
            ("settings_extra".into(), Value::Map(details)),
            ("hash_password".into(), Value::Bool(!self.has_hashes)),
        ]);
        let request = Request::default();
        let run = |arguments| self.add_user.run(&self.engine, &self.host, &request, arguments);
        let added = self.add_user.named(arguments).and_then(run);
        functions::deliver_recorded(&self.engine, &self.host, &request);
        match added {
            Ok(_) => Ok(Fate::Added),
            Err(Error::Code(code)) => Ok(Fate::Refused(code.text().to_owned())),
            Err(error) if is_of_the_line(&error) => Ok(Fate::Refused(error.to_string())),
            Err(error) => Err(Stop {
                may_be_done: error.outcome_is_unknown(),
                reason: error.to_string(),
            }),
        }
    }
}

/// Why an import cannot go on.
struct Stop {
    may_be_done: bool,
    reason: String,
}

/// Whether another line may fare better.
fn is_of_the_line(error: &Error) -> bool {
    match error {
        Error::Refused { code, .. } => *code != "configuration" && *code != "upgrade-needed",
        Error::Argument { .. } => true,
        // All else that the server refuses it would refuse of each line.
        Error::Database(error) => error.refuses_a_value(),
        _ => false,
    }
}

fn sign(text: &str) -> std::result::Result<u8, String> {
    match (text, text.as_bytes()) {
        ("\\t", _) => Ok(b'\t'),
        (_, [sign]) if sign.is_ascii() && !sign.is_ascii_alphanumeric() && *sign != b'"' => Ok(*sign),
        _ => Err("it is no single sign such as ; or \\t".to_owned()),
    }
}
