//! Updates from a source of our own, and apps from it.
//!
//! `tests/support/mariadb cargo test --test updates`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::pkey::{PKey, Private};
use openssl::sign::Signer;
use sb::contract::error::Exit;
use sb::contract::{Value, json};
use stand_in::{Reply, StandIn};
use support::bench::Installation;
use support::case::Given;
use support::core::Core;
use support::database::{Database, Server};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// An installation, and a source that has files.
struct Scene {
    core: Core,
    database: Database,
    folder: tempfile::TempDir,
    source: StandIn,
    files: Files,
    key: PKey<Private>,
}

impl Scene {
    fn new(test: &str) -> Self {
        let server = Server::of_environment().unwrap();
        let mut database = Database::create(&server, test, &Given::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        write("config.php", "<?php");
        write("include/functions.php", "old functions");
        write("include/languages/front/de.json", r#"{"Hello":"Moin","Own":"Eigenes"}"#);
        write("include/languages/front/sl.json", r#"{"Hello":"Živjo"}"#);
        let files = Files::default();
        let shelf = Arc::clone(&files);
        let source = StandIn::start(move |request| {
            // Apps are for those who have a key.
            let is_app = ["/s/chatbot", "/s/teamchat"]
                .iter()
                .any(|app| request.path.starts_with(app));
            if is_app && request.header("authorization") != Some("Bearer the key") {
                return Reply::of(403, &[], "no");
            }
            match shelf.lock().unwrap().get(request.path.trim_start_matches("/s/")) {
                Some(file) => Reply::of(200, &[], file.clone()),
                None => Reply::of(404, &[], "none"),
            }
        });
        let key = PKey::generate_ed25519().unwrap();
        let public = STANDARD.encode(key.raw_public_key().unwrap());
        let settings = format!(
            r#"{{"update-url":["{}","text"],"update-key":["{public}","text"],"rtl":[true,"checkbox"]}}"#,
            source.url("/s/")
        );
        database
            .rows(&format!(
                "UPDATE sb_settings SET value = '{settings}' WHERE name = 'settings'"
            ))
            .unwrap();
        let mut installation = Installation::of(&server, &database);
        let path = folder.path().to_str().unwrap().to_owned();
        installation.constants.insert("SB_PATH".to_owned(), path);
        installation.force_admin = true;
        Self {
            core: Core::open(installation),
            database,
            folder,
            source,
            files,
            key,
        }
    }

    /// Puts a release into the source.
    fn release(&self, product: &str, version: &str, entries: &[(&str, &str)]) {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in entries {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(content.as_bytes()).unwrap();
        }
        let archive = writer.finish().unwrap().into_inner();
        let sha256 = sb::platform::crypto::sha256(&archive).unwrap();
        let file = format!("{product}-{version}.zip");
        let release = serde_json::json!({"product": product, "version": version, "file": file, "sha256": sha256});
        self.sign(product, release.to_string().as_bytes());
        self.put(&file, &archive);
    }

    fn sign(&self, product: &str, release: &[u8]) {
        let mut signer = Signer::new_without_digest(&self.key).unwrap();
        let signature = signer.sign_oneshot_to_vec(release).unwrap();
        self.put(&format!("{product}.json"), release);
        self.put(
            &format!("{product}.json.sig"),
            format!("{}\n", STANDARD.encode(signature)).as_bytes(),
        );
    }

    fn put(&self, name: &str, content: &[u8]) {
        self.files.lock().unwrap().insert(name.to_owned(), content.to_owned());
    }

    fn file(&self, name: &str) -> Vec<u8> {
        self.files.lock().unwrap()[name].clone()
    }

    /// What a function gives; an error object as its code.
    fn call(&self, name: &str, arguments: impl IntoIterator<Item = Value>) -> Value {
        let function = sb::functions::find(name).unwrap();
        match self
            .core
            .call(name, arguments)
            .map_or_else(|error| function.exit(error), Exit::Value)
        {
            Exit::Value(value) => value,
            Exit::Object(failure) => failure.code.into(),
            Exit::Exception(_, failure) => panic!("{name}: {}", failure.message),
        }
    }

    /// Every file of the installation, with what it holds.
    fn tree(&self) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path
                        .strip_prefix(self.folder.path())
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .to_owned();
                    tree.insert(name, fs::read_to_string(&path).unwrap());
                }
            }
        }
        tree
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

#[test]
fn an_update_takes_the_place_of_the_files_and_leaves_translations() {
    let scene = Scene::new("update");
    scene.release(
        "sb",
        "9.1.0",
        &[
            ("functions.php", "new functions"),
            ("js/client.js", "client"),
            ("languages/front/de.json", r#"{"Hello":"Hallo","New":"Neu"}"#),
            ("languages/front/fr.json", r#"{"Hello":"Bonjour"}"#),
        ],
    );
    assert_eq!(scene.call("sb_update", []), "success".into());
    let tree = scene.tree();
    let names: Vec<&str> = tree.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "config.php",
            "include.previous/functions.php",
            "include.previous/languages/front/de.json",
            "include.previous/languages/front/sl.json",
            "include/functions.php",
            "include/js/client.js",
            "include/languages/front/de.json",
            "include/languages/front/fr.json",
            "include/languages/front/sl.json",
            "include/version.json",
        ]
    );
    assert_eq!(tree["include/functions.php"], "new functions");
    assert_eq!(tree["include.previous/functions.php"], "old functions");
    assert_eq!(
        json::decode(tree["include/languages/front/de.json"].as_bytes()),
        json::decode(r#"{"Hello":"Moin","New":"Neu","Own":"Eigenes"}"#.as_bytes())
    );
    // The same release again is no older one; an older one is refused.
    assert_eq!(scene.call("sb_update", []), "success".into());
    scene.release("sb", "9.0.12", &[("functions.php", "older functions")]);
    assert_eq!(scene.call("sb_update", []), "older-release".into());
    assert_eq!(scene.read("include/functions.php"), "new functions");
    scene.database.drop();
}

#[test]
fn what_is_not_signed_by_the_key_changes_nothing() {
    let scene = Scene::new("forged updates");
    let before = scene.tree();
    let refused = |what: &str, code: &str| {
        assert_eq!(scene.call("sb_update", []), code.into(), "{what}");
        assert_eq!(scene.tree(), before, "{what}");
    };
    refused("nothing is there", "update-error");
    let good = || scene.release("sb", "9.1.0", &[("functions.php", "new functions")]);
    good();
    scene.put("sb.json.sig", b"");
    refused("no signature", "update-error");
    scene.put("sb.json.sig", STANDARD.encode([7; 64]).as_bytes());
    refused("a wrong signature", "update-error");
    scene.put("sb.json.sig", b"not base64!");
    refused("no base64", "update-error");
    good();
    let changed = String::from_utf8(scene.file("sb.json"))
        .unwrap()
        .replace("9.1.0", "9.2.0");
    scene.put("sb.json", changed.as_bytes());
    refused("a release that was changed", "update-error");
    good();
    let mut archive = scene.file("sb-9.1.0.zip");
    let last = archive.len() - 1;
    archive[last] ^= 1;
    scene.put("sb-9.1.0.zip", &archive);
    refused("an archive that was changed", "update-error");
    good();
    let mut stranger = Scene::new("another key");
    stranger.files = Arc::clone(&scene.files);
    stranger.release("sb", "9.1.0", &[("functions.php", "evil functions")]);
    refused("another key", "update-error");
    good();
    // A release of one product given out for another.
    for file in ["sb.json", "sb.json.sig"] {
        scene.put(&file.replace("sb.", "chatbot."), &scene.file(file));
    }
    assert_eq!(
        scene.call("sb_app_activation", ["chatbot".into(), "the key".into()]),
        "update-error".into()
    );
    assert_eq!(scene.tree(), before);
    for release in [
        "[]",
        "no json",
        r#"{"product":"sb","version":"9.1.0","file":"../../etc/passwd","sha256":""}"#,
        r#"{"product":"sb","version":"9.1.0","file":"https://evil.example/x.zip","sha256":""}"#,
        r#"{"product":"sb","version":"9.1.0","file":".x","sha256":""}"#,
        r#"{"product":"sb","version":"9.1.0"}"#,
    ] {
        scene.sign("sb", release.as_bytes());
        refused(release, "update-error");
    }
    scene.release("sb", "9.1.0", &[("functions.php", "new"), ("../config.php", "evil")]);
    refused("a path that leads out", "invalid-package");
    scene.release("sb", "0.0.1", &[("functions.php", "old")]);
    refused("an older one", "older-release");
    stranger.database.drop();
    scene.database.drop();
}

#[test]
fn an_app_is_installed_for_its_key_and_turned_on() {
    let mut scene = Scene::new("an app");
    scene.release("chatbot", "2.0.1", &[("bot.php", "bot")]);
    let activation = |key: &str| scene.call("sb_app_activation", ["chatbot".into(), key.into()]);
    assert_eq!(activation("another key"), "invalid-key".into());
    assert_eq!(scene.call("sb_app_get_key", ["chatbot".into()]), false.into());
    assert_eq!(scene.call("sb_get_setting", ["chatbot-active".into()]), false.into());
    assert!(!scene.folder.path().join("apps").exists());
    assert_eq!(activation(" the key "), "success".into());
    assert_eq!(scene.read("apps/chatbot/bot.php"), "bot");
    assert_eq!(scene.call("sb_app_get_key", ["chatbot".into()]), "the key".into());
    assert_eq!(scene.call("sb_app_get_key", ["teamchat".into()]), false.into());
    assert_eq!(scene.call("sb_get_setting", ["chatbot-active".into()]), true.into());
    assert_eq!(scene.call("sb_get_setting", ["rtl".into()]), true.into());
    let versions = scene.call("sb_get_versions", []);
    assert_eq!(versions.get(&"chatbot".into()), Some(&"2.0.1".into()));
    assert_eq!(
        versions.get(&"teamchat".into()),
        Some(&env!("CARGO_PKG_VERSION").into())
    );

    // Everything is updated, and nothing when a part of it cannot be.
    scene.release("sb", "9.1.0", &[("functions.php", "new functions")]);
    scene.release("chatbot", "2.1.0", &[("/bot.php", "evil bot")]);
    scene.put("chatbot-2.1.0.zip", b"changed");
    assert_eq!(scene.call("sb_update", []), "update-error".into());
    assert_eq!(scene.read("include/functions.php"), "old functions");
    scene.release("chatbot", "2.1.0", &[("bot.php", "new bot")]);
    assert_eq!(scene.call("sb_update", []), "success".into());
    assert_eq!(scene.read("include/functions.php"), "new functions");
    assert_eq!(scene.read("apps/chatbot/bot.php"), "new bot");
    assert_eq!(scene.read("apps/chatbot.previous/bot.php"), "bot");
    let keys = scene
        .database
        .rows("SELECT value FROM sb_settings WHERE name = 'app-keys'")
        .unwrap();
    assert_eq!(
        keys,
        vec![Value::map([("value", r#"{"chatbot":"the key"}"#.into())])].into()
    );
    // The key goes to the source, in the header only.
    assert!(scene.source.received().iter().all(|request| request.query.is_empty()));
    scene.database.drop();
}
