//! Settings under concurrency, and how often they are read.
//!
//! `tests/support/mariadb cargo test --test settings`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::sync::Barrier;
use std::thread;

use sb::contract::value::at;
use sb::contract::{Key, Value};
use support::bench::Installation;
use support::case::Given;
use support::core::Core;
use support::database::{Database, Server};

/// A database, and those who work on it.
struct Scene {
    server: Server,
    database: Database,
}

impl Scene {
    fn new(test: &str) -> Self {
        let server = Server::of_environment().unwrap();
        let database = Database::create(&server, test, &Given::default()).unwrap();
        Self { server, database }
    }

    fn core(&self) -> Core {
        Core::open(Installation {
            force_admin: true,
            ..Installation::of(&self.server, &self.database)
        })
    }

    /// The first row of a query.
    fn row(&mut self, sql: &str) -> Value {
        self.database.rows(sql).unwrap().get(&Key::Int(0)).unwrap().clone()
    }
}

#[test]
fn several_who_save_different_external_settings_lose_nothing() {
    const WORKERS: usize = 4;
    const SAVES: usize = 200;
    let mut scene = Scene::new("external settings");
    let start = Barrier::new(WORKERS);
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (scene, start) = (&scene, &start);
            scope.spawn(move || {
                let core = scene.core();
                core.call("sb_get_settings", []).unwrap();
                start.wait();
                for turn in 0..SAVES {
                    let settings = Value::map([("bot-name", vec![Value::from("Bot"), Value::from("text")].into())]);
                    // A row of its own, one that it writes once, and one that all write, before and behind the others.
                    let external = Value::map([
                        (format!("row-{worker}"), Value::from(turn.to_string())),
                        (format!("row-{worker}-{turn}"), Value::from(turn.to_string())),
                        ("a-shared".to_owned(), Value::from(turn.to_string())),
                        ("z-shared".to_owned(), Value::from(turn.to_string())),
                    ]);
                    let translations = Value::map([(
                        ["de", "fr", "it", "nl"][worker],
                        Value::map([("turn", Value::from(turn.to_string()))]),
                    )]);
                    let saved = core.call("sb_save_settings", [settings, external, translations]);
                    assert_eq!(saved.unwrap(), Value::Bool(true));
                }
            });
        }
    });
    let last = format!("\"{}\"", SAVES - 1);
    let counted = scene.row(&format!(
        "SELECT SUM(name REGEXP '^row-[0-9]-') AS written_once,
            SUM(name REGEXP '^row-[0-9]$' AND value = '{last}') AS own,
            SUM(name LIKE 'external-settings-translations-%' AND value = '{{\"turn\":{last}}}') AS translations,
            SUM(name LIKE '%-shared' AND value = '{last}') AS shared,
            SUM(name = 'settings' AND value = '{{\"bot-name\":[\"Bot\",\"text\"]}}') AS settings
        FROM sb_settings"
    ));
    let expected = [
        ("written_once", WORKERS * SAVES),
        ("own", WORKERS),
        ("translations", WORKERS),
        ("shared", 2),
        ("settings", 1),
    ];
    for (name, count) in expected {
        assert_eq!(
            counted.get(&name.into()),
            Some(&Value::from(count.to_string())),
            "{name}"
        );
    }
    scene.database.drop();
}

#[test]
fn the_settings_are_read_once_per_request() {
    let mut scene = Scene::new("read once");
    let mut core = scene.core();
    let setting = |core: &Core, id: &str| core.call("sb_get_setting", [id.into()]).unwrap();
    assert_eq!(setting(&core, "bot-name"), "Bot".into());
    // What cannot be read again is not asked for again.
    scene.database.rows("RENAME TABLE sb_settings TO away").unwrap();
    for _ in 0..3 {
        assert_eq!(setting(&core, "bot-name"), "Bot".into());
        assert_eq!(setting(&core, "queue-active"), Value::Bool(true));
        assert_eq!(setting(&core, "unknown"), Value::Bool(false));
    }
    core.begin(Value::Bool(false));
    assert!(core.call("sb_get_setting", ["bot-name".into()]).is_err());
    scene.database.rows("RENAME TABLE away TO sb_settings").unwrap();
    scene
        .database
        .rows("UPDATE sb_settings SET value = '{\"bot-name\":[\"Zoë\",\"text\"]}'")
        .unwrap();
    assert_eq!(setting(&core, "bot-name"), "Zoë".into());
    let Value::Map(settings) = core.call("sb_get_settings", []).unwrap() else {
        panic!("no map")
    };
    assert!(at(&settings, "bot-name").is_some() && settings.len() == 1);
    scene.database.drop();
}
