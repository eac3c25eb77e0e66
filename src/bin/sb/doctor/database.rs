//! The database servers and the schema.

use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use sb::contract::Result as Outcome;
use sb::params;
use sb::platform::configuration::Configuration;
use sb::platform::db::schema::{Plan, Schema};
use sb::platform::db::{Database, Endpoint, Settings};
use sb::platform::engine::Engine;

use super::report::Report;
use crate::failure::Result;
use crate::upgrade::close;

const SERVER: &str = "server";
const CLOCK: &str = "clock";
const SCHEMA: &str = "schema";

/// What a server says of itself: its version, whether it is read-only, and its time in milliseconds.
const FACTS: &str = "
    SELECT VERSION(), CAST(@@global.read_only AS SIGNED), CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000 AS SIGNED)";

/// Whether a server is a node of a cluster: MySQL does not know the variable.
const IS_NODE: &str = "SHOW GLOBAL VARIABLES LIKE 'wsrep\\_on'";

/// Whether it takes part in it.
const IS_READY: &str = "SHOW GLOBAL STATUS LIKE 'wsrep\\_ready'";

/// The oldest versions with everything that the statements and the schema use; MariaDB's, then MySQL's.
const OLDEST: [(u32, u32, u32); 2] = [(10, 6, 0), (8, 0, 23)];

/// A difference of clocks that shows: presence is counted in tens of seconds, and messages are in order of time.
const SKEW_LIMIT: i64 = 2_000;

/// A server that was asked.
struct Facts {
    version: String,
    read_only: bool,
    is_cut_off: bool,
    /// How many milliseconds its clock is ahead, as far as the way there and back lets it be known.
    ahead: i64,
}

/// Looks at each server, then at the schema; whether there is one to work with.
pub fn look(engine: &Engine, configuration: &Configuration, report: &mut Report) -> Result<bool> {
    let mut reached = 0;
    for endpoint in &configuration.database.endpoints {
        if look_at_server(engine, &configuration.database, endpoint, report)? {
            reached += 1;
        }
    }
    Ok(reached > 0 && look_at_schema(engine, &configuration.database, report)?)
}

fn look_at_server(engine: &Engine, settings: &Settings, endpoint: &Endpoint, report: &mut Report) -> Result<bool> {
    let place = match endpoint {
        Endpoint::Socket(path) => path.clone(),
        Endpoint::Address { host, port } => format!("{host}:{port}"),
    };
    let alone = Settings {
        endpoints: vec![endpoint.clone()],
        ..settings.clone()
    };
    let facts = match engine.run(async |_| ask(&alone).await) {
        Ok(facts) => facts,
        Err(error) => {
            report.find(
                SERVER,
                &format!("{place}: {error}"),
                "see that the server runs, and that name, user and password in config.php are right",
            )?;
            return Ok(false);
        }
    };
    if is_too_old(&facts.version) {
        report.find(
            SERVER,
            &format!("{place} is version {}, which is too old", facts.version),
            "MariaDB from 10.6 or MySQL from 8.0.23 on; MariaDB 10.11 and MySQL 9 are those that are tested",
        )?;
    } else if facts.is_cut_off {
        report.find(
            SERVER,
            &format!("{place} is a node of a cluster that is not ready"),
            "see to the cluster: SHOW GLOBAL STATUS LIKE 'wsrep%'",
        )?;
    } else if facts.read_only && settings.endpoints.len() == 1 {
        report.find(
            SERVER,
            &format!("{place} is read-only"),
            "set SB_DB_HOST to the primary server, or to all of them between commas",
        )?;
    } else {
        let role = if facts.read_only { ", read-only" } else { "" };
        report.fine(SERVER, &format!("{place} is version {}{role}", facts.version))?;
    }
    look_at_clock(&facts, &place, report)?;
    Ok(true)
}

fn look_at_clock(facts: &Facts, place: &str, report: &mut Report) -> Result<()> {
    let sentence = format!("that of {place} is {} this host's", difference(facts.ahead));
    if facts.ahead.abs() < SKEW_LIMIT {
        report.fine(CLOCK, &sentence)?;
    } else {
        report.find(
            CLOCK,
            &sentence,
            "let both follow a time server: timedatectl set-ntp true",
        )?;
    }
    Ok(())
}

/// Milliseconds in words.
fn difference(ahead: i64) -> String {
    let (seconds, thousandths) = (ahead.abs() / 1000, ahead.abs() % 1000);
    match ahead {
        0 => "the same as".to_owned(),
        1.. => format!("{seconds}.{thousandths:03} s ahead of"),
        _ => format!("{seconds}.{thousandths:03} s behind"),
    }
}

/// How far a clock is ahead that showed `time` to a question that was sent at `before` and was answered after `took`:
/// anything up to the time it took is explained by the way.
fn ahead(time: i64, before: i64, took: i64) -> i64 {
    match time - before {
        behind @ ..0 => behind,
        ahead => (ahead - took).max(0),
    }
}

async fn ask(settings: &Settings) -> Outcome<Facts> {
    let database = Database::default();
    database.configure(&Rc::new(settings.clone()));
    // A connection is made first: what it takes is no difference of clocks.
    let is_on = async |sql: &'static str| -> Outcome<bool> {
        let found: Option<(String, String)> = database.row(sql, params![]).await?;
        Ok(found.is_some_and(|(_, value)| value == "ON"))
    };
    let is_cut_off = is_on(IS_NODE).await? && !is_on(IS_READY).await?;
    let (started, before) = (Instant::now(), now());
    let facts: Option<(String, i64, i64)> = database.row(FACTS, params![]).await?;
    let took = i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
    database.disconnect().await;
    let (version, read_only, time) = facts.unwrap_or_default();
    Ok(Facts {
        version,
        read_only: read_only != 0,
        is_cut_off,
        ahead: ahead(time, before, took),
    })
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Whether a version, such as `10.11.14-MariaDB-0+deb12u2` or `9.1.0`, is too old.
fn is_too_old(version: &str) -> bool {
    let [mariadb, mysql] = OLDEST;
    let oldest = if version.contains("MariaDB") { mariadb } else { mysql };
    let mut numbers = version
        .split(|letter: char| !letter.is_ascii_digit())
        .map(|number| number.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next()) < oldest
}

fn look_at_schema(engine: &Engine, settings: &Settings, report: &mut Report) -> Result<bool> {
    let schema = Schema::of(settings);
    let generation = match engine.run(async |_| schema.generation().await) {
        Ok(Some(generation)) => generation,
        Ok(None) => {
            report.find(
                SCHEMA,
                &format!("the database {} holds no tables of an installation", settings.name),
                "sb install, or set SB_DB_NAME to the database that holds them",
            )?;
            return Ok(false);
        }
        Err(error) => {
            report.find(
                SCHEMA,
                &error.to_string(),
                "give the database user all rights on the database",
            )?;
            return Ok(false);
        }
    };
    let plans = engine.run(async |_| Ok((schema.upgrade(false).await?, schema.upgrade(true).await?)));
    match plans {
        Err(error) => {
            let remedy = if error.code() == "upgrade-refused" {
                "correct these rows, then sb upgrade"
            } else {
                "see to the database, and look again"
            };
            report.find(SCHEMA, &format!("generation {generation}; {error}"), remedy)?;
        }
        Ok((needed, whole)) => compare(generation, &needed, &whole, report)?,
    }
    close(engine, &schema)?;
    Ok(true)
}

fn compare(generation: u8, needed: &Plan, whole: &Plan, report: &mut Report) -> Result<()> {
    let missing = |plan: &Plan| match plan.steps.len() {
        1 => "1 change is".to_owned(),
        count => format!("{count} changes are"),
    };
    if !needed.is_empty() {
        report.find(
            SCHEMA,
            &format!("generation {generation}; {} missing", missing(needed)),
            "sb upgrade --dry-run shows them, sb upgrade makes them",
        )?;
        detail(needed, report)
    } else if whole.is_empty() {
        Ok(report.fine(
            SCHEMA,
            &format!("generation {generation}, with everything that makes it faster"),
        )?)
    } else {
        report.fine(SCHEMA, &format!("generation {generation}, complete"))?;
        report.advise(
            SCHEMA,
            &format!("{} missing that would make a large installation faster", missing(whole)),
            "sb upgrade --indexes, from some 20,000 conversations or users on",
        )?;
        detail(whole, report)
    }
}

fn detail(plan: &Plan, report: &mut Report) -> Result<()> {
    for step in &plan.steps {
        report.detail(&step.sentence)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_differs_by_what_the_way_does_not_explain() {
        for (time, before, took, words) in [
            (10_500, 10_000, 700, "the same as"),
            (10_000, 10_000, 0, "the same as"),
            (13_500, 10_000, 400, "3.100 s ahead of"),
            (10_000, 13_050, 400, "3.050 s behind"),
        ] {
            assert_eq!(difference(ahead(time, before, took)), words);
        }
    }

    #[test]
    fn versions_are_read_as_the_servers_write_them() {
        for (version, too_old) in [
            ("10.11.14-MariaDB-0+deb12u2", false),
            ("10.6.0-MariaDB", false),
            ("10.5.29-MariaDB", true),
            ("11.8.2-MariaDB-log", false),
            ("5.5.5-10.3.1-MariaDB", true),
            ("9.1.0", false),
            ("8.0.23", false),
            ("8.0.22-0ubuntu0.20.04.2", true),
            ("5.7.44-log", true),
            ("", true),
        ] {
            assert_eq!(is_too_old(version), too_old, "{version}");
        }
    }
}
