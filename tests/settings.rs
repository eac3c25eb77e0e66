//! Settings under concurrency, and how often they are read.
//!
//! `tests/support/mariadb cargo test --test settings`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use sb::contract::Value;
use sb::contract::value::at;
use support::case::Given;
use support::core::Core;
use support::scene::{Scene, answer};

fn scene(test: &str) -> Scene {
    let given = Given {
        force_admin: true,
        ..Given::default()
    };
    Scene::of(test, &given)
}

#[test]
fn several_who_save_different_external_settings_lose_nothing() {
    const WORKERS: usize = 4;
    const SAVES: usize = 200;
    let mut scene = scene("external settings");
    scene.at_once(WORKERS, |worker, core| {
        for turn in 0..SAVES {
            let settings = Value::map([("bot-name", vec![Value::from("Bot"), Value::from("text")].into())]);
            let mark = || Value::from(turn.to_string());
            // A row of its own, one that it writes once, and two that all write, before and behind the others.
            let external = Value::map([
                (format!("row-{worker}"), mark()),
                (format!("row-{worker}-{turn}"), mark()),
                ("a-shared".to_owned(), mark()),
                ("z-shared".to_owned(), mark()),
            ]);
            let translations = Value::map([(["de", "fr", "it", "nl"][worker], Value::map([("turn", mark())]))]);
            let saved = answer(core, "sb_save_settings", [settings, external, translations]);
            assert_eq!(saved, Value::Bool(true));
        }
    });
    let last = format!("\"{}\"", SAVES - 1);
    let written_once = (WORKERS * SAVES).to_string();
    let workers = WORKERS.to_string();
    scene.expect(
        &format!(
            "SELECT SUM(name REGEXP '^row-[0-9]-') AS written_once,
                SUM(name REGEXP '^row-[0-9]$' AND value = '{last}') AS own,
                SUM(name LIKE 'external-settings-translations-%' AND value = '{{\"turn\":{last}}}') AS translations,
                SUM(name LIKE '%-shared' AND value = '{last}') AS shared,
                SUM(name = 'settings' AND value = '{{\"bot-name\":[\"Bot\",\"text\"]}}') AS settings
            FROM sb_settings"
        ),
        &[
            ("written_once", &written_once),
            ("own", &workers),
            ("translations", &workers),
            ("shared", "2"),
            ("settings", "1"),
        ],
    );
    scene.database.drop();
}

#[test]
fn the_settings_are_read_once_per_request() {
    let mut scene = scene("read once");
    let mut core = scene.core();
    let setting = |core: &Core, id: &str| answer(core, "sb_get_setting", [id.into()]);
    assert_eq!(setting(&core, "bot-name"), "Bot".into());
    // What cannot be read again is not asked for again.
    scene.run("RENAME TABLE sb_settings TO away");
    for _ in 0..3 {
        assert_eq!(setting(&core, "bot-name"), "Bot".into());
        assert_eq!(setting(&core, "queue-active"), Value::Bool(true));
        assert_eq!(setting(&core, "unknown"), Value::Bool(false));
    }
    core.begin(Value::Bool(false));
    assert!(core.call("sb_get_setting", ["bot-name".into()]).is_err());
    scene.run("RENAME TABLE away TO sb_settings");
    scene.run("UPDATE sb_settings SET value = '{\"bot-name\":[\"Zoë\",\"text\"]}'");
    assert_eq!(setting(&core, "bot-name"), "Zoë".into());
    let Value::Map(settings) = answer(&core, "sb_get_settings", []) else {
        panic!("no map")
    };
    assert!(at(&settings, "bot-name").is_some() && settings.len() == 1);
    scene.database.drop();
}
