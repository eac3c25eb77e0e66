//! What is written into the uploads, and that nothing else is; what callers' addresses may reach.
//!
//! `tests/support/mariadb cargo test --test files`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "support/stand_in.rs"]
mod stand_in;
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sb::contract::error::Exit;
use sb::contract::{Value, json};
use stand_in::{Received, Reply, StandIn, fields, nowhere};
use support::bench::Installation;
use support::case::Given;
use support::core::Core;
use support::database::{Database, Server};

const URL: &str = "https://support.example/chat/uploads/";

/// An installation in a folder of its own, with something beside it.
struct Ground {
    core: Core,
    database: Database,
    folder: tempfile::TempDir,
}

impl Ground {
    fn new(test: &str, sql: &[&str]) -> Self {
        let server = Server::of_environment().unwrap();
        let given = Given {
            sql: sql.iter().map(|&sql| sql.to_owned()).collect(),
            ..Given::default()
        };
        let database = Database::create(&server, test, &given).unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("chat/uploads/open")).unwrap();
        fs::write(folder.path().join("chat/config.php"), "<?php").unwrap();
        fs::write(folder.path().join("outside.csv"), "outside").unwrap();
        let mut installation = Installation::of(&server, &database);
        let path = folder.path().join("chat").to_str().unwrap().to_owned();
        installation.constants.insert("SB_PATH".to_owned(), path);
        installation.force_admin = true;
        let core = Core::open(installation);
        Self { core, database, folder }
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

    /// Admits a stand-in, and nothing else of this machine.
    fn admit(&mut self, server: &StandIn) {
        let host = server.url("").replace("http://", "");
        let sql = format!(
            r#"UPDATE sb_settings SET value = '{{"http-allowed-hosts":["127.0.0.9, {host}","text"]}}' WHERE name = 'settings'"#
        );
        self.database.rows(&sql).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The file whose URL a function gave.
    fn read(&self, url: &Value) -> String {
        let name = url.as_str().and_then(|url| url.strip_prefix(URL));
        let name = name.unwrap_or_else(|| panic!("{url:?} is no URL of an upload"));
        fs::read_to_string(self.path("chat/uploads").join(name)).unwrap()
    }

    /// Every entry outside the uploads, with what it holds or where it points.
    fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut tree = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let kind = fs::symlink_metadata(&path).unwrap().file_type();
                let holds = if kind.is_symlink() {
                    fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                } else if path == self.path("chat/uploads") {
                    Vec::new()
                } else if kind.is_dir() {
                    folders.push(path.clone());
                    Vec::new()
                } else {
                    fs::read(&path).unwrap()
                };
                tree.insert(path, holds);
            }
        }
        tree
    }

    /// The names of all files in the uploads.
    fn uploads(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.path("chat/uploads")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let kind = fs::symlink_metadata(&path).unwrap().file_type();
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() {
                    found.push(path.file_name().unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        found
    }
}

fn list<const N: usize>(items: [&str; N]) -> Value {
    items.map(Value::from).to_vec().into()
}

#[test]
fn nothing_outside_the_uploads_changes_and_nothing_is_written_that_could_be_run() {
    let ground = Ground::new("hostile paths", &[]);
    let uploads = ground.path("chat/uploads");
    fs::create_dir(ground.path("elsewhere")).unwrap();
    symlink(ground.path("outside.csv"), uploads.join("link.csv")).unwrap();
    symlink(ground.path("made.csv"), uploads.join("dangling.csv")).unwrap();
    symlink(ground.path("elsewhere"), uploads.join("folder")).unwrap();
    symlink("../..", uploads.join("up")).unwrap();
    let absolute = |name: &str| ground.path(name).to_str().unwrap().to_owned();
    let paths = [
        "",
        ".",
        "..",
        "/",
        "../outside.csv",
        "../../outside.csv",
        "../config.php",
        "open/../../outside.csv",
        "open/../../../../../../etc/cron.d/sb.csv",
        "./../outside.csv",
        "....//outside.csv",
        "..%2foutside.csv",
        "%2e%2e/outside.csv",
        "..\\outside.csv",
        "open\\..\\..\\outside.csv",
        "/etc/passwd",
        "/tmp/sb-hostile.csv",
        "//outside.csv",
        "C:\\outside.csv",
        "\\\\server\\share\\outside.csv",
        "file:///tmp/sb-hostile.csv",
        "php://filter/write=string.rot13/resource=x.csv",
        "phar://x.csv",
        "x.php",
        "x.PHP7",
        "x.phtml",
        "x.php.",
        "x.php ",
        "x.php\0.csv",
        "x.php::$DATA",
        "x.php/.csv",
        ".htaccess",
        ".user.ini",
        "web.config",
        "open/.htaccess",
        "x.html",
        "x.js",
        "x.cgi",
        "x.sh",
        "link.csv",
        "dangling.csv",
        "folder/x.csv",
        "up/outside.csv",
        "CON.csv",
        "x\r\nSet-Cookie: a=b.csv",
        "\u{202e}vsc.php",
        "~/x.csv",
        "x.csv/",
        "open",
    ]
    .map(str::to_owned);
    let more = [
        absolute("outside.csv"),
        absolute("chat/config.csv"),
        absolute("chat/uploads/../config.csv"),
        absolute("chat/uploads2/x.csv"),
        format!("{}.csv", "x".repeat(300)),
        "a/".repeat(3000) + "x.csv",
    ];
    let before = ground.outside();
    let rows = || Value::List(vec![list(["<?php phpinfo();"])]);
    for path in paths.iter().chain(&more) {
        let text = || Value::from(path.as_str());
        ground.call("sb_file", [text(), "<?php phpinfo();".into()]);
        ground.call("sb_csv", [rows(), list(["hostile"]), text()]);
        ground.call("sb_transcript", [Value::Int(1), text()]);
        assert_eq!(ground.outside(), before, "{path:?}");
    }
    for name in ground.uploads() {
        let (_, extension) = name.rsplit_once('.').unwrap();
        assert!(["csv", "txt", "CSV"].contains(&extension), "{name}");
        assert!(
            !name.contains(".ph") && !name.starts_with('.') && !name.contains('\0'),
            "{name}"
        );
    }
    assert!(!PathBuf::from("/tmp/sb-hostile.csv").exists());
    ground.database.drop();
}

#[test]
fn a_file_is_written_where_its_path_leads() {
    let ground = Ground::new("a file", &[]);
    let absolute = ground.path("chat/uploads/open/b.txt").to_str().unwrap().to_owned();
    for (path, written) in [
        ("a.txt", "a.txt"),
        ("deep/er/a.txt", "deep/er/a.txt"),
        (&absolute, "open/b.txt"),
    ] {
        let content = format!("to {path}\0");
        assert_eq!(
            ground.call("sb_file", [path.into(), content.as_str().into()]),
            true.into()
        );
        assert_eq!(
            fs::read_to_string(ground.path("chat/uploads").join(written)).unwrap(),
            content
        );
    }
    ground.database.drop();
}

/// The rows of a CSV file, read by somebody else's reading of RFC 4180.
fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let row = rows.last_mut().unwrap();
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => row.last_mut().unwrap().push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\r' if !quoted => {
                assert_eq!(characters.next(), Some('\n'), "lines end in CR LF");
                rows.push(vec![String::new()]);
            }
            character => {
                assert!(quoted, "every cell stands in quotes: {text}");
                row.last_mut().unwrap().push(character);
            }
        }
    }
    assert!(!quoted);
    assert_eq!(rows.pop(), Some(vec![String::new()]), "the last line has an end");
    rows
}

#[test]
fn rows_are_read_back_as_they_were_but_no_cell_is_a_formula() {
    let ground = Ground::new("rows", &[]);
    let items = json::decode(
        r#"[["plain", "with \"quotes\", commas\r\nand lines", "ünï 🎉", ""],
            [1, -5, 2.5, true], [null, false, [1, "x"], {"a": "b"}], {"x": "first", "y": "second"}, "alone", [],
            ["=1+1", "+39 06", "-5", "@SUM(A1)"], ["\tx", "\rx", "'=x", " =x"]]"#
            .as_bytes(),
    );
    let url = ground.call(
        "sb_csv",
        [items.unwrap(), list(["Name", "=cmd|' /C calc'!A0"]), "rows".into()],
    );
    let expected: [&[&str]; 9] = [
        &["Name", "'=cmd|' /C calc'!A0"],
        &["plain", "with \"quotes\", commas\r\nand lines", "ünï 🎉", ""],
        &["1", "-5", "2.5", "1"],
        &["", "", "[1,\"x\"]", "{\"a\":\"b\"}"],
        &["first", "second"],
        &["alone"],
        &[""],
        &["'=1+1", "'+39 06", "'-5", "'@SUM(A1)"],
        &["'\tx", "'\rx", "'=x", " =x"],
    ];
    assert_eq!(rows(&ground.read(&url)), expected);
    ground.database.drop();
}

#[test]
fn users_are_exported_with_their_details_and_without_their_secrets() {
    let ground = Ground::new(
        "all users",
        &[
            "INSERT INTO sb_users_data (user_id, slug, name, value) VALUES (1, '=HYPERLINK(1)', 'x', '=1+1'), (6, 'phone', 'Phone', 'the bot')",
            "UPDATE sb_users SET first_name = '=cmd' WHERE id = 5",
        ],
    );
    let text = ground.read(&ground.call("sb_csv_users", []));
    let rows = rows(&text);
    assert_eq!(
        rows[0],
        [
            "id",
            "first_name",
            "last_name",
            "email",
            "user_type",
            "creation_time",
            "last_activity",
            "department",
            "profile_image",
            "'=HYPERLINK(1)",
            "city",
            "company",
            "phone",
        ]
    );
    assert_eq!(
        rows[3],
        [
            "3",
            "Carla",
            "D'Angelo",
            "carla@customer.example",
            "user",
            "2026-02-01 10:00:00",
            "2026-03-01 17:10:00",
            "",
            "https://support.example/chat/media/user.svg",
            "",
            "Roma",
            "",
            "'+39 06 555 0142",
        ]
    );
    assert_eq!((rows[1][9].as_str(), rows[5][1].as_str()), ("'=1+1", "'=cmd"));
    let ids: Vec<&str> = rows[1..].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(ids, ["1", "2", "3", "4", "5", "7"]);
    for secret in ["abcdef01", "$2y$", "$argon2", "the bot"] {
        assert!(!text.contains(secret), "{secret}");
    }
    ground.database.drop();
}

#[test]
fn all_users_are_exported_when_they_are_many() {
    let first = "INSERT INTO sb_users (id, first_name, last_name, user_type, creation_time, token)
        VALUES (100, 'One', 'Of many', 'user', '2026-03-01 00:00:00', UUID())";
    let twice = "INSERT INTO sb_users (first_name, last_name, user_type, creation_time, token)
        SELECT 'One', 'Of many', 'user', '2026-03-01 00:00:00', UUID() FROM sb_users WHERE id >= 100";
    let details = "INSERT INTO sb_users_data (user_id, slug, name, value)
        SELECT id, CONCAT('slug-', id % 7), 'Name', CONCAT('value ', id) FROM sb_users WHERE id >= 100";
    let statements: Vec<&str> = [first].into_iter().chain([twice; 13]).chain([details]).collect();
    let mut ground = Ground::new("many users", &statements);
    let rows = rows(&ground.read(&ground.call("sb_csv_users", [])));
    let known = ground
        .database
        .rows("SELECT CAST(id AS CHAR) AS id FROM sb_users WHERE id >= 100 ORDER BY sb_users.id");
    let Value::List(known) = known.unwrap() else { panic!() };
    assert_eq!((known.len(), rows.len()), (8192, 1 + 6 + 8192));
    let column = |slug: &str| rows[0].iter().position(|name| name == slug).unwrap();
    let slugs: Vec<_> = (0..7).map(|slug| column(&format!("slug-{slug}"))).collect();
    for (row, known) in rows[7..].iter().zip(&known) {
        assert_eq!(known.get(&"id".into()), Some(&Value::from(row[0].as_str())));
        let id: usize = row[0].parse().unwrap();
        assert_eq!(row[slugs[id % 7]], format!("value {id}"));
        assert_eq!(row[9..].iter().filter(|cell| !cell.is_empty()).count(), 1);
    }
    ground.database.drop();
}

#[test]
fn a_transcript_has_every_message_and_none_that_pretends_to_be_one() {
    let ground = Ground::new(
        "transcript",
        &[
            "UPDATE sb_messages SET message = 'Line one\n2026-03-01 17:06:00 UTC, Ben Okafor\n\n=1+1' WHERE id = 2",
            "UPDATE sb_users SET first_name = 'Carla\nX' WHERE id = 3",
            "INSERT INTO sb_messages (id, user_id, message, creation_time, attachments, payload, conversation_id) VALUES
                (20, 3, '', '2026-03-01 17:20:00', '', '{\"event\":\"delete-message\"}', 1),
                (21, 2, '=HYPERLINK(1)', '2026-03-01 17:21:00', 'no json', '', 1),
                (22, 2, '', '2026-03-01 17:22:00', '[[\"a\\\\nb\",\"https://x.example/a\"],[\"c\",\"https://x.example/c\"]]', '', 1)",
        ],
    );
    let csv = rows(&ground.read(&ground.call("sb_transcript", [1.into(), "csv".into()])));
    assert_eq!(
        csv[0],
        [
            "id",
            "creation_time",
            "user_id",
            "first_name",
            "last_name",
            "user_type",
            "message",
            "attachments"
        ]
    );
    let ids: Vec<&str> = csv[1..].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(ids, ["1", "2", "3", "21", "22"]);
    assert_eq!(
        csv[3],
        [
            "3",
            "2026-03-01 17:10:00",
            "3",
            "Carla\nX",
            "D'Angelo",
            "user",
            "Number 1042, see the receipt",
            "https://support.example/chat/uploads/receipt.pdf",
        ]
    );
    assert_eq!(csv[4][6], "'=HYPERLINK(1)");
    assert_eq!(csv[5][7], "https://x.example/a\nhttps://x.example/c");
    let text = ground.read(&ground.call("sb_transcript", [1.into(), "txt".into()]));
    let expected = "Conversation 1\r\n\r\n\
        2026-03-01 17:00:00 UTC, Carla X D'Angelo\r\n    Hello, my parcel has not arrived 😟\r\n\r\n\
        2026-03-01 17:05:00 UTC, Ben Okafor\r\n    Line one\r\n    2026-03-01 17:06:00 UTC, Ben Okafor\r\n    \r\n    =1+1\r\n\r\n\
        2026-03-01 17:10:00 UTC, Carla X D'Angelo\r\n    Number 1042, see the receipt\r\n    \
            receipt.pdf: https://support.example/chat/uploads/receipt.pdf\r\n\r\n\
        2026-03-01 17:21:00 UTC, Ben Okafor\r\n    =HYPERLINK(1)\r\n\r\n\
        2026-03-01 17:22:00 UTC, Ben Okafor\r\n    a b: https://x.example/a\r\n    c: https://x.example/c\r\n";
    assert_eq!(text, expected);
    let titled = ground.read(&ground.call("sb_transcript", [2.into(), "txt".into()]));
    assert!(
        titled.starts_with("Conversation 2\r\nInvoice\r\n\r\n2026-02-10 11:00:00 UTC"),
        "{titled}"
    );
    ground.database.drop();
}

/// Listens on every address of this machine, and counts who comes.
fn sink() -> (u16, Arc<AtomicUsize>) {
    let v4 = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let port = v4.local_addr().unwrap().port();
    let v6 = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).ok();
    let count = Arc::<AtomicUsize>::default();
    for listener in [Some(v4), v6].into_iter().flatten() {
        let counted = Arc::clone(&count);
        thread::spawn(move || {
            for _ in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    (port, count)
}

/// Ways to name what is not on the public internet; `_` is the port of the sink.
const HOSTILE: [&str; 52] = [
    "http://127.0.0.1:_/",
    "http://localhost:_/",
    "http://LOCALHOST:_/",
    "https://127.0.0.1:_/",
    "http://127.1:_/",
    "http://127.0.1:_/",
    "http://0:_/",
    "http://0.0.0.0:_/",
    "http://0177.0.0.1:_/",
    "http://0x7f.0.0.1:_/",
    "http://0x7f000001:_/",
    "http://2130706433:_/",
    "http://017700000001:_/",
    "http://127.0.0.1.:_/",
    "http://127.255.255.254:_/",
    "http://[::1]:_/",
    "http://[::]:_/",
    "http://[0:0:0:0:0:0:0:1]:_/",
    "http://[::ffff:127.0.0.1]:_/",
    "http://[::ffff:7f00:1]:_/",
    "http://[::127.0.0.1]:_/",
    "http://[64:ff9b::127.0.0.1]:_/",
    "http://[64:ff9b:1::7f00:1]:_/",
    "http://[2002:7f00:1::1]:_/",
    "http://[2001::7f00:1]:_/",
    "http://[fe80::1]:_/",
    "http://[fd00::1]:_/",
    "http://[ff02::1]:_/",
    "http://\u{ff11}\u{ff12}\u{ff17}.0.0.1:_/",
    "http://127\u{3002}0\u{3002}0\u{3002}1:_/",
    "http://\u{24db}ocalhost:_/",
    "http://%31%32%37.0.0.1:_/",
    "http://example.com@127.0.0.1:_/",
    "http://example.com:80@127.0.0.1:_/",
    "http://127.0.0.1:_#@example.com/",
    "http://127.0.0.1:_?@example.com/",
    "http:\\\\127.0.0.1:_\\",
    "http:127.0.0.1:_/",
    "http:/127.0.0.1:_/",
    " \thttp://127.0.0.1:_/",
    "ht\ntp://127.0.0.1:_/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://168.63.129.16/metadata",
    "http://100.100.100.200/",
    "http://10.0.0.1/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:_/_GET",
    "dict://127.0.0.1:_/info",
    "ftp://127.0.0.1:_/",
    "data:text/plain,hello",
    "//127.0.0.1:_/",
];

#[test]
fn addresses_lead_nowhere_but_to_the_public_internet() {
    let ground = Ground::new("hostile addresses", &[]);
    let (port, visits) = sink();
    let before = ground.uploads();
    let hostile = HOSTILE.map(|url| url.replace('_', &port.to_string()));
    for url in hostile
        .iter()
        .map(String::as_str)
        .chain(["", "x", "http://", "http://:80/", "example.com/x"])
    {
        for call in [
            ground.call("sb_download", [url.into()]),
            ground.call("sb_download_file", [url.into(), "x.txt".into()]),
            ground.call("sb_curl", [url.into(), "{}".into(), Value::Bool(false), "GET".into()]),
        ] {
            assert_eq!(call, "url-not-allowed".into(), "{url:?}");
        }
    }
    assert_eq!(visits.load(Ordering::SeqCst), 0);
    assert_eq!(ground.uploads(), before);
    ground.database.drop();
}

#[test]
fn no_redirect_leads_elsewhere_either() {
    let mut ground = Ground::new("hostile redirects", &[]);
    let (port, visits) = sink();
    let hostile = HOSTILE.map(|url| url.trim().replace(['\n', '\t'], "").replace('_', &port.to_string()));
    // A relative one leads to where one is.
    let hostile: Vec<String> = hostile
        .into_iter()
        .filter(|url| !url.starts_with("http:1") && url.is_ascii())
        .collect();
    let targets = hostile.clone();
    let server = StandIn::start(move |request: &Received| {
        let target = &targets[request.path.trim_start_matches('/').parse::<usize>().unwrap()];
        Reply::of(302, &[("location", target)], "")
    });
    ground.admit(&server);
    for (at, url) in hostile
        .iter()
        .enumerate()
        .filter(|(_, url)| !url.starts_with("http:/1"))
    {
        let call = ground.call("sb_download", [server.url(&format!("/{at}")).into()]);
        assert_eq!(call, "url-not-allowed".into(), "{url:?}");
    }
    assert!(server.received().len() > 40);
    assert_eq!(visits.load(Ordering::SeqCst), 0);
    ground.database.drop();
}

#[test]
fn a_request_is_sent_as_its_caller_meant_it() {
    let mut ground = Ground::new("sb_curl", &[]);
    let server = StandIn::start(|request| match request.path.as_str() {
        "/broken" => Reply::of(500, &[("content-type", "application/json")], r#"{"error":"x"}"#),
        "/text" => Reply::of(200, &[], "plain \u{1f389}"),
        "/scalar" => Reply::json("5"),
        "/moved" => Reply::of(302, &[("location", "/json")], ""),
        "/kept" => Reply::of(307, &[("location", "/json")], ""),
        "/round" => Reply::of(302, &[("location", "/round")], ""),
        _ => Reply::json(r#"{"ok":true,"list":[1,"2"]}"#),
    });
    ground.admit(&server);
    let json = json::decode(br#"{"ok":true,"list":[1,"2"]}"#).unwrap();
    let url = |path: &str| Value::from(server.url(path));
    let map = json::decode(br#"{"a":"x y","b":{"c":[1,true]}}"#).unwrap();
    let sent = |arguments: Vec<Value>| {
        let before = server.received().len();
        let answer = ground.call("sb_curl", arguments);
        (answer, server.received()[before..].to_vec())
    };
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    };
    let form = pairs(&[("a", "x y"), ("b[c][0]", "1"), ("b[c][1]", "1")]);

    let (answer, requests) = sent(vec![url("/json"), map.clone()]);
    assert_eq!((answer, requests.len()), (json.clone(), 1));
    assert_eq!(
        (requests[0].method.as_str(), fields(&requests[0].body)),
        ("POST", form.clone())
    );
    assert_eq!(
        requests[0].header("content-type"),
        Some("application/x-www-form-urlencoded")
    );

    let header = list([
        "Authorization: Bearer a:b",
        "content-type: application/json; charset=utf-8",
        "Content-Length: 5",
        "Host: x",
    ]);
    let (_, requests) = sent(vec![url("/json"), map.clone(), header, "put".into()]);
    let request = &requests[0];
    assert_eq!(
        (request.method.as_str(), json::decode(request.body.as_bytes())),
        ("PUT", Some(map.clone()))
    );
    assert_eq!(request.header("authorization"), Some("Bearer a:b"));
    assert_eq!(request.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(
        request.header("host"),
        Some(server.url("").trim_start_matches("http://"))
    );

    let (_, requests) = sent(vec![
        url("/json"),
        r#"{"a": 1}"#.into(),
        Value::map([("X-Test", "yes".into())]),
    ]);
    assert_eq!(
        (requests[0].body.as_str(), requests[0].header("x-test")),
        (r#"{"a": 1}"#, Some("yes"))
    );
    assert_eq!(requests[0].header("content-type"), Some("application/json"));

    let (_, requests) = sent(vec![url("/json?q=1"), map.clone(), Value::Bool(false), "GET".into()]);
    assert_eq!(
        (requests[0].query.clone(), requests[0].body.as_str()),
        ([pairs(&[("q", "1")]), form].concat(), "")
    );
    let (_, requests) = sent(vec![url("/json?q=1"), "r=2&s=%20".into(), Value::Null, "GET".into()]);
    assert_eq!(requests[0].query, pairs(&[("q", "1"), ("r", "2"), ("s", " ")]));

    let (answer, requests) = sent(vec![url("/moved"), map.clone()]);
    let methods: Vec<_> = requests.iter().map(|request| request.method.as_str()).collect();
    assert_eq!((answer, methods), (json.clone(), vec!["POST", "GET"]));
    let (answer, requests) = sent(vec![url("/kept"), map]);
    assert_eq!(
        (
            answer,
            requests[1].body == requests[0].body,
            requests[1].method.as_str()
        ),
        (json, true, "POST")
    );

    assert_eq!(sent(vec![url("/text")]).0, "plain \u{1f389}".into());
    assert_eq!(sent(vec![url("/scalar")]).0, "5".into());
    assert_eq!(sent(vec![url("/broken")]).0, Value::map([("error", "x".into())]));
    assert_eq!(sent(vec![url("/round")]).0, "http-error".into());
    assert_eq!(
        sent(vec![url("/json"), Value::Null, list(["bad header: x"])]).0,
        "invalid-header".into()
    );
    assert_eq!(
        sent(vec![url("/json"), Value::Null, list(["X-A: b\r\nX-B: c"])]).0,
        "invalid-header".into()
    );
    ground.database.drop();
}

#[test]
fn a_download_waits_ten_seconds_and_takes_twenty_mebibytes() {
    let mut ground = Ground::new("sb_download", &[]);
    let server = StandIn::start(|request| match request.path.as_str() {
        "/missing" => Reply::of(404, &[], "not here"),
        "/fits" => Reply::of(200, &[], "x".repeat(20 << 20)),
        "/long" => Reply::of(200, &[], "x".repeat((20 << 20) + 1)),
        "/late" => Reply::Silence,
        _ => Reply::of(200, &[], "content"),
    });
    ground.admit(&server);
    let download = |path: &str| ground.call("sb_download", [server.url(path).into()]);
    assert_eq!(download("/file"), "content".into());
    assert_eq!(download("/missing"), "http-error".into());
    assert_eq!(download("/fits").as_bytes().unwrap().len(), 20 << 20);
    assert_eq!(download("/long"), "http-error".into());
    let started = Instant::now();
    assert_eq!(download("/late"), "http-error".into());
    assert!(
        (9..12).contains(&started.elapsed().as_secs()),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(ground.call("sb_download", [nowhere().into()]), "url-not-allowed".into());
    ground.database.drop();
}

#[test]
fn a_downloaded_file_has_its_name_and_an_extension_that_nobody_runs() {
    let mut ground = Ground::new("sb_download_file", &[]);
    let png = "\u{89}PNG";
    let server = StandIn::start(move |request| {
        let kind = request
            .query
            .iter()
            .find(|(name, _)| name == "type")
            .map_or("", |(_, kind)| kind);
        let body = if request.path.starts_with("/pdf") {
            "%PDF-1.7"
        } else {
            png
        };
        Reply::of(
            if request.path == "/none.png" { 404 } else { 200 },
            &[("content-type", kind)],
            body,
        )
    });
    ground.admit(&server);
    let saved = |path: &str, name: Value, kind: Value| {
        let saved = ground.call("sb_download_file", [server.url(path).into(), name, kind]);
        saved.as_str().unwrap().replace(URL, "")
    };
    let no = || Value::Bool(false);
    assert_eq!(saved("/a/photo.png", no(), no()), "photo.png");
    // Nothing is overwritten under the original name, and everything under a given one.
    let second = saved("/a/photo.png", no(), no());
    assert!(
        second.starts_with("photo-") && second.len() == "photo-0123456789abcdef.png".len(),
        "{second}"
    );
    assert_eq!(saved("/a/photo.png", "mine.png".into(), no()), "mine.png");
    assert_eq!(saved("/a/photo.png", "mine.png".into(), no()), "mine.png");
    for (path, name, kind, expected) in [
        ("/image?type=image/png", no(), Value::Bool(true), "image.png"),
        ("/b.php?type=image/jpeg;%20q=1", no(), "true".into(), "b-php.jpg"),
        ("/c.jpeg?type=image/jpeg", no(), Value::Bool(true), "c.jpeg"),
        ("/d.gif?type=image/webp", no(), Value::Int(1), "d.webp"),
        ("/pdf?type=application/octet-stream", no(), Value::Bool(true), "pdf.pdf"),
        ("/e", no(), "image/gif".into(), "e.gif"),
        ("/f", "named".into(), "text/plain; charset=utf-8".into(), "named.txt"),
        ("/%C3%BCber%20uns.pdf", no(), no(), "%C3%BCber%20uns.pdf"),
        ("/?type=image/png", no(), no(), "download.png"),
        ("/..%2f..%2fx.png", no(), no(), "-..-x.png"),
        ("/g.php.png", no(), no(), "g-php.png"),
    ] {
        assert_eq!(saved(path, name, kind), expected, "{path}");
    }
    for (path, name, kind) in [
        ("/x.php", no(), no()),
        ("/x.html", no(), no()),
        ("/.htaccess", no(), no()),
        ("/x.svg", no(), no()),
        ("/x.png", "x.SVG".into(), no()),
        ("/x?type=image/svg%2Bxml", no(), Value::Bool(true)),
        ("/x?type=text/html", no(), Value::Bool(true)),
        ("/x.png", "../x.png".into(), no()),
        ("/x.png", "x.php".into(), no()),
        ("/x.png", "/tmp/x.png".into(), no()),
        ("/x", no(), "text/html".into()),
        ("/x", no(), "application/x-php".into()),
    ] {
        let refused = ground.call("sb_download_file", [server.url(path).into(), name, kind]);
        assert_eq!(refused, "invalid-file-name".into(), "{path}");
    }
    let missing = ground.call("sb_download_file", [server.url("/none.png").into()]);
    assert_eq!(missing, "http-error".into());
    for name in ground.uploads() {
        let (_, extension) = name.rsplit_once('.').unwrap();
        assert!(
            ["png", "jpg", "jpeg", "webp", "pdf", "gif", "txt"].contains(&extension),
            "{name}"
        );
    }
    ground.database.drop();
}

#[test]
fn the_time_limit_is_of_all_redirects_together() {
    let mut ground = Ground::new("slow redirects", &[]);
    let server = StandIn::start(|_| {
        thread::sleep(Duration::from_secs(4));
        Reply::of(302, &[("location", "/next")], "")
    });
    ground.admit(&server);
    let started = Instant::now();
    assert_eq!(
        ground.call("sb_download", [server.url("/").into()]),
        "http-error".into()
    );
    assert!(
        (9..12).contains(&started.elapsed().as_secs()),
        "{:?}",
        started.elapsed()
    );
    ground.database.drop();
}
