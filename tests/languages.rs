//! Translations: the language of a request, what is printed, the files, and those that come with the project.
//!
//! `tests/support/mariadb cargo test --test languages`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use regex::Regex;
use sb::contract::error::Exit;
use sb::contract::{Arguments, Key, Map, Value, json};
use sb::functions;
use sb::platform::context::Request;
use sb::platform::engine::Engine;
use sb::platform::host::{Cookie, Host};
use support::bench::Installation;
use support::case::{Given, root};
use support::database::{Database, Server};
use tempfile::TempDir;

/// A page that is being made for someone with a browser.
struct Page {
    engine: Engine,
    request: Request,
    browser: Browser,
}

struct Browser {
    constants: BTreeMap<String, String>,
    globals: RefCell<Map>,
    languages: &'static str,
    printed: RefCell<Vec<String>>,
}

impl Host for Browser {
    fn configured(&self, name: &str) -> Option<String> {
        self.constants.get(name).cloned()
    }

    fn global(&self, name: &str) -> Option<Value> {
        self.globals.borrow().get(&Key::from(name.to_owned())).cloned()
    }

    fn set_global(&self, name: &'static str, value: Value) {
        self.globals.borrow_mut().insert(name.into(), value);
    }

    fn request(&self, name: &str) -> Option<String> {
        (name == "HTTP_ACCEPT_LANGUAGE").then(|| self.languages.to_owned())
    }

    fn cookie(&self, _: &str) -> Option<String> {
        None
    }

    fn set_cookie(&self, _: Cookie) {}

    fn print(&self, text: String) {
        self.printed.borrow_mut().push(text);
    }
}

impl Page {
    fn call(&self, name: &str, arguments: impl IntoIterator<Item = Value>) -> Value {
        let function = functions::find(name).unwrap();
        let result = function.run(
            &self.engine,
            &self.browser,
            &self.request,
            Arguments::of_values(arguments),
        );
        match result.map_or_else(|error| function.exit(error), Exit::Value) {
            Exit::Value(value) => value,
            other => panic!("{name}: {other:?}"),
        }
    }

    fn next(&mut self) {
        self.engine.end_request();
        self.request = Request::default();
    }

    fn log_in(&self, id: &str, user_type: &str) {
        let record = Value::map([("id", id.into()), ("user_type", user_type.into())]);
        self.browser.set_global("SB_LOGIN", record);
    }
}

/// A database, an installation folder and a page on them.
struct Scene {
    database: Database,
    folder: TempDir,
    page: Page,
}

const TRANSLATED: &str = r#"UPDATE sb_settings SET value = '{"front-auto-translations":[true,"checkbox"],
    "admin-auto-translations":[true,"checkbox"]}' WHERE name = 'settings'"#;

impl Scene {
    fn new(test: &str, languages: &'static str, sql: &[&str]) -> Self {
        let server = Server::of_environment().unwrap();
        let given = Given {
            sql: sql.iter().map(|&sql| sql.to_owned()).collect(),
            ..Given::default()
        };
        let database = Database::create(&server, test, &given).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut constants = Installation::of(&server, &database).constants;
        constants.insert("SB_PATH".into(), folder.path().to_str().unwrap().into());
        let browser = Browser {
            constants,
            globals: RefCell::new(Map::from_iter([("SB_FORCE_ADMIN".into(), Value::Bool(true))])),
            languages,
            printed: RefCell::default(),
        };
        let page = Page {
            engine: Engine::default(),
            request: Request::default(),
            browser,
        };
        Self { database, folder, page }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("include/languages").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What each backup holds, in no order.
    fn backups(&self) -> Vec<Value> {
        let entries = fs::read_dir(self.folder.path().join("uploads")).unwrap();
        let read = |path| json::decode(&fs::read(path).unwrap()).unwrap();
        entries.map(|entry| read(entry.unwrap().path())).collect()
    }
}

#[test]
fn texts_come_in_the_language_that_the_browser_asks_for_first() {
    let mut scene = Scene::new("browser", "xx, de-AT;q=0.9, fr;q=0.8", &[TRANSLATED]);
    scene.write("front/de.json", r#"{"Send": "Senden"}"#);
    scene.write("front/fr.json", r#"{"Send": "Envoyer"}"#);
    assert_eq!(scene.page.call("sb_", ["Send".into()]), "Send".into());
    scene.page.browser.languages = "de-AT;q=0.9, fr;q=0.8, en;q=0.7";
    scene.page.next();
    assert_eq!(scene.page.call("sb_", ["Send".into()]), "Senden".into());
    assert_eq!(scene.page.call("sb_get_user_language", []), "de".into());
    assert_eq!(scene.page.call("sb_get_admin_language", []), "de".into());
    // What is known of a user goes before.
    scene
        .database
        .rows("INSERT INTO sb_users_data (user_id, slug, name, value) VALUES (3, 'language', 'Language', 'fr')")
        .unwrap();
    scene.page.log_in("3", "user");
    assert_eq!(scene.page.call("sb_", ["Send".into()]), "Envoyer".into());
    assert_eq!(scene.page.call("sb_get_user_language", []), "fr".into());
    // Whoever becomes active in the same request is spoken to in the own language.
    scene.page.log_in("5", "visitor");
    assert_eq!(scene.page.call("sb_", ["Send".into()]), "Senden".into());
    scene.page.log_in("3", "user");
    assert_eq!(scene.page.call("sb_", ["Send".into()]), "Envoyer".into());
    scene.page.browser.set_global("SB_LOGIN", r#"{"id":"5"}"#.into());
    assert_eq!(scene.page.call("sb_", ["Send".into()]), "Senden".into());
    scene.page.browser.set_global("SB_LOGIN", r#"{"id":"3"}"#.into());
    assert_eq!(scene.page.call("sb_", ["Send".into()]), "Envoyer".into());
    scene.database.drop();
}

#[test]
fn a_text_is_printed_once_each_time_and_translated() {
    let scene = Scene::new("print", "de", &[TRANSLATED]);
    scene.write("front/de.json", r#"{"Send": "Senden"}"#);
    for text in ["Send", "Send", "Unknown", ""] {
        assert_eq!(scene.page.call("sb_e", [text.into()]), Value::Null);
    }
    assert_eq!(
        *scene.page.browser.printed.borrow(),
        ["Senden", "Senden", "Unknown", ""]
    );
    scene.database.drop();
}

#[test]
fn what_was_looked_up_needs_no_database_and_no_file() {
    let mut scene = Scene::new("known", "de", &[TRANSLATED]);
    scene.write("front/de.json", r#"{"Send": "Senden"}"#);
    assert_eq!(scene.page.call("sb_", ["Send".into()]), "Senden".into());
    scene.database.rows("RENAME TABLE sb_settings TO away").unwrap();
    fs::remove_file(scene.file("front/de.json")).unwrap();
    assert_eq!(scene.page.call("sb_", ["Send".into()]), "Senden".into());
    scene.database.rows("RENAME TABLE away TO sb_settings").unwrap();
    // The next request sees what has changed.
    scene.page.next();
    assert_eq!(scene.page.call("sb_", ["Send".into()]), "Send".into());
    scene.write("front/de.json", r#"{"Send": "Absenden"}"#);
    scene.page.next();
    assert_eq!(scene.page.call("sb_", ["Send".into()]), "Absenden".into());
    scene.database.drop();
}

#[test]
fn every_save_leaves_a_backup_of_what_was_before() {
    let scene = Scene::new("backup", "de", &[]);
    let save = |translation: &str| {
        let texts = Value::map([("Send", translation.into())]);
        let translations = Value::map([("de", Value::map([("front", texts)]))]);
        assert_eq!(
            scene.page.call("sb_save_translations", [translations]),
            Value::Bool(true)
        );
    };
    save("eins");
    save("zwei");
    save("drei");
    let of = |backup: &Value| {
        let front = backup.get(&"de".into())?.get(&"front".into())?;
        front.get(&"Send".into())?.as_str().map(str::to_owned)
    };
    let mut backups: Vec<_> = scene.backups().iter().map(of).collect();
    backups.sort();
    assert_eq!(backups, [None, Some("eins".into()), Some("zwei".into())]);
    let text = fs::read_to_string(scene.file("front/de.json")).unwrap();
    assert_eq!(text, "{\n  \"Send\": \"drei\"\n}\n");
    // Only what was given was written, and nothing temporary is left.
    let files: Vec<_> = fs::read_dir(scene.file("front")).unwrap().collect();
    assert_eq!(files.len(), 1);
    assert!(!scene.file("admin").exists());
    scene.database.drop();
}

#[test]
fn nothing_is_saved_without_a_backup() {
    let scene = Scene::new("no backup", "de", &[]);
    scene.write("front/de.json", r#"{"Send": "Senden"}"#);
    fs::write(scene.folder.path().join("uploads"), "no folder").unwrap();
    let translations = Value::map([("de", Value::map([("front", Value::map([("Send", Value::from("x"))]))]))]);
    assert_eq!(refused(&scene, translations), "file-error");
    assert_eq!(
        fs::read_to_string(scene.file("front/de.json")).unwrap(),
        r#"{"Send": "Senden"}"#
    );
    scene.database.drop();
}

/// The code with which saving is refused.
fn refused(scene: &Scene, translations: Value) -> String {
    let function = functions::find("sb_save_translations").unwrap();
    let page = &scene.page;
    let arguments = Arguments::of_values([translations]);
    let result = function.run(&page.engine, &page.browser, &page.request, arguments);
    result.unwrap_err().code()
}

#[test]
fn the_translations_that_come_with_the_project_are_complete() {
    let folder = root().join("include/languages/front");
    let read = |path: &Path| match json::decode(&fs::read(path).unwrap()) {
        Some(Value::Map(texts)) => texts,
        _ => panic!("{} holds no map", path.display()),
    };
    let files: BTreeMap<String, Map> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), read(&path)))
        .collect();
    let codes: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(codes, ["ar", "de", "es", "fr", "ja", "nl", "pt", "zh"]);
    let placeholder = Regex::new(r"\{\w+\}").unwrap();
    let placeholders = |text: &str| {
        let mut found: Vec<_> = placeholder
            .find_iter(text)
            .map(|found| found.as_str().to_owned())
            .collect();
        found.sort();
        found
    };
    let first = files["de"].keys().collect::<Vec<_>>();
    assert!(first.len() > 100);
    for (code, texts) in &files {
        assert_eq!(texts.keys().collect::<Vec<_>>(), first, "{code}");
        for (text, translation) in texts {
            let (text, translation) = (text.to_text(), translation.as_str().unwrap());
            assert_eq!(translation.trim(), translation, "{code}: {text}");
            assert!(!translation.is_empty(), "{code}: {text}");
            assert_eq!(placeholders(&text), placeholders(translation), "{code}: {text}");
        }
    }
}
