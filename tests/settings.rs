//! Settings under concurrency, and how often they are read.
//!
//! `tests/support/mariadb cargo test --test settings`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use sb::contract::value::at;
use sb::contract::{Key, Value, json};
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

/// Every setting that is found in the field, in both of its generations.
const IN_THE_FIELD: [&str; 2] = [
    include_str!("fixtures/settings-4.json"),
    include_str!("fixtures/settings-5.json"),
];

#[test]
fn the_settings_of_the_field_are_saved_as_they_were_read() {
    for stored in IN_THE_FIELD.map(str::trim_end) {
        let mut scene = scene("of the field");
        // As PHP has written them: with escaped slashes and letters.
        let escaped = stored
            .replace('/', r"\/")
            .replace('ë', r"\u00eb")
            .replace('😟', r"\ud83d\ude1f");
        let sql = escaped.replace('\\', r"\\").replace('\'', "''");
        scene.run(&format!(
            "UPDATE sb_settings SET value = '{sql}' WHERE name = 'settings'"
        ));
        let core = scene.core();
        let settings = answer(&core, "sb_get_settings", []);
        assert_eq!(settings, json::decode(stored.as_bytes()).unwrap());
        assert_eq!(answer(&core, "sb_save_settings", [settings.clone()]), Value::Bool(true));
        scene.expect(
            "SELECT value FROM sb_settings WHERE name = 'settings'",
            &[("value", stored)],
        );
        assert_eq!(answer(&scene.core(), "sb_get_settings", []), settings);
        scene.database.drop();
    }
}

#[test]
fn every_setting_of_the_field_and_every_child_of_one_is_found_by_its_id() {
    for stored in IN_THE_FIELD.map(str::trim_end) {
        let scene = scene("by its id");
        let core = scene.core();
        let Some(Value::Map(settings)) = json::decode(stored.as_bytes()) else {
            panic!("no map")
        };
        answer(&core, "sb_save_settings", [settings.clone().into()]);
        let get = |id: &Key| answer(&core, "sb_get_setting", [Value::from(id.to_text().as_ref())]);
        let mut found = 0;
        for (id, setting) in &settings {
            let value = setting.get(&0.into()).unwrap();
            let Value::Map(children) = value.clone() else {
                assert_eq!(get(id), *value, "{id:?}");
                continue;
            };
            if setting.get(&1.into()) != Some(&"multi-input".into()) {
                assert_eq!(get(id), *value, "{id:?}");
                continue;
            }
            for (child, own) in children {
                let own = own.get(&0.into()).unwrap();
                assert_eq!(get(&child), *own, "{child:?}");
                assert_eq!(get(id).get(&child), Some(own), "{id:?} {child:?}");
                found += 1;
            }
        }
        assert!(found > 150 && settings.len() > 100, "{found} of {}", settings.len());
        scene.database.drop();
    }
}

/// What cannot be stored whole is not stored at all.
#[test]
fn settings_are_saved_whole_or_not_at_all() {
    let mut scene = scene("whole");
    let before = answer(&scene.core(), "sb_get_settings", []);
    let settings = || Value::map([("bot-name", vec![Value::from("New"), Value::from("text")].into())]);
    let external = |name: &str| Value::map([("a".to_owned(), 1.into()), (name.to_owned(), 2.into())]);
    let long = "x".repeat(192);
    let wrong = Value::map([
        ("de", Value::map([("a", Value::from("b"))])),
        ("../x", Value::map([("a", Value::from("b"))])),
    ]);
    for (external, translations) in [
        (external(&long), Value::Bool(false)),
        (external("settings"), Value::Bool(false)),
        (external("Secret-Key"), Value::Bool(false)),
        (external("b"), wrong),
    ] {
        let core = scene.core();
        assert!(
            core.call("sb_save_settings", [settings(), external, translations])
                .is_err()
        );
        assert_eq!(answer(&core, "sb_get_settings", []), before);
    }
    // A constraint fails at the last of the rows.
    scene.run("ALTER TABLE sb_settings ADD CHECK (name <> 'z')");
    let core = scene.core();
    assert!(core.call("sb_save_settings", [settings(), external("z")]).is_err());
    assert_eq!(answer(&core, "sb_get_settings", []), before);
    scene.expect("SELECT COUNT(*) AS settings FROM sb_settings", &[("settings", "1")]);
    scene.database.drop();
}
