//! The database of one test, and those who work on it at once: every worker is a thread with an engine and a connection
//! of its own.

use std::sync::Barrier;
use std::thread;

use sb::contract::Value;
use sb::contract::error::Exit;

use super::bench::Installation;
use super::case::Given;
use super::core::Core;
use super::database::{Database, Server};
use super::matching::compare;

/// The database of one test, and those who work on it.
pub struct Scene {
    pub server: Server,
    pub database: Database,
    /// Whether all of them have authority.
    pub force_admin: bool,
}

impl Scene {
    pub fn new(test: &str, sql: &[&str]) -> Self {
        let given = Given {
            sql: sql.iter().map(|&sql| sql.to_owned()).collect(),
            ..Given::default()
        };
        Self::of(test, &given)
    }

    /// One with what a case is given.
    pub fn of(test: &str, given: &Given) -> Self {
        let server = Server::of_environment().unwrap();
        let database = Database::create(&server, test, given).unwrap();
        Self {
            server,
            database,
            force_admin: given.force_admin,
        }
    }

    /// Someone who works on it.
    pub fn core(&self) -> Core {
        Core::open(Installation {
            force_admin: self.force_admin,
            ..Installation::of(&self.server, &self.database)
        })
    }

    /// Runs `work` in so many threads at once, and gives what each of them gave.
    pub fn at_once<T: Send>(&self, workers: usize, work: impl Fn(usize, &Core) -> T + Sync) -> Vec<T> {
        let start = Barrier::new(workers);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..workers)
                .map(|worker| {
                    let (work, start) = (&work, &start);
                    scope.spawn(move || {
                        let core = self.core();
                        // Connected before all begin.
                        assert_eq!(answer(&core, "sb_is_user_online", ["0".into()]), Value::Bool(false));
                        start.wait();
                        work(worker, &core)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// Whether a query gives a row of these cells.
    #[track_caller]
    pub fn expect(&mut self, sql: &str, cells: &[(&'static str, &str)]) {
        let row = Value::map(cells.iter().map(|&(name, cell)| (name, cell.into())));
        let got = self.database.rows(sql).unwrap();
        compare(&vec![row].into(), &got).unwrap_or_else(|difference| panic!("{sql}\n{difference}"));
    }

    pub fn run(&mut self, sql: &str) {
        self.database.rows(sql).unwrap();
    }
}

/// What a function gives.
pub fn answer(core: &Core, name: &str, arguments: impl IntoIterator<Item = Value>) -> Value {
    let function = sb::functions::find(name).unwrap();
    match core
        .call(name, arguments)
        .map_or_else(|error| function.exit(error), Exit::Value)
    {
        Exit::Value(value) => value,
        other => panic!("{name}: {other:?}"),
    }
}

/// A derived table of the numbers from `first` to `last`, at most 10,000, in a column `seq`: one that every server has.
pub fn numbers(first: u32, last: u32) -> String {
    const DIGITS: &str =
        "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL
        SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
    format!(
        "(SELECT {first} + a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS seq
            FROM {DIGITS} a, {DIGITS} b, {DIGITS} c, {DIGITS} e HAVING seq <= {last} ORDER BY seq) numbers"
    )
}
