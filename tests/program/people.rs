//! `sb import users` and `sb export users`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sb::contract::{Arguments, Value};
use sb::functions;
use sb::platform::context::Request;
use sb::platform::engine::Engine;
use sb::platform::host::PlainHost;

use crate::bench::{Answer, Database, sb};

/// A database, and a folder with its configuration and a table.
struct Ground {
    folder: tempfile::TempDir,
    database: Database,
}

impl Ground {
    fn new(test: &str) -> Self {
        let ground = Self {
            folder: tempfile::tempdir().unwrap(),
            database: Database::create(&format!("people: {test}"), &["generation-4"], &[]),
        };
        fs::write(ground.path("config.php"), ground.database.config_file()).unwrap();
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs a command of the program, with names of files in the folder.
    fn sb(&self, command: &[&str]) -> Answer {
        let arguments = self.arguments(command);
        sb(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), &[], "")
    }

    fn arguments(&self, command: &[&str]) -> Vec<String> {
        let own = |part: &str| {
            if Path::new(part).extension().is_some() {
                self.path(part).to_str().unwrap().to_owned()
            } else {
                part.to_owned()
            }
        };
        let config = self.path("config.php").to_str().unwrap().to_owned();
        let command = command.iter().map(|part| own(part));
        command.chain(["--config".to_owned(), config]).collect()
    }

    fn import(&self, text: &str, options: &[&str]) -> Answer {
        fs::write(self.path("people.csv"), text).unwrap();
        self.sb(&[&["import", "users", "people.csv"], options].concat())
    }

    fn people(&mut self) -> Vec<String> {
        self.database
            .lines("SELECT first_name, last_name, email, user_type, department FROM sb_users ORDER BY id")
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn people_come_in_with_their_details() {
    let mut ground = Ground::new("in");
    let answer = ground.import(
        "\u{feff}first_name,last_name,email,phone,department,user_type,id\r\n\
         Zoë,Müller,zoe@example.com,+1 555 0100,3,agent,900\r\n\
         \r\n\
         Bob,,,'+1 555 0200,,,901\r\n\
         ,,eve@example.com,,,lead,902\r\n",
        &[],
    );
    assert_eq!((answer.status, answer.err.as_str()), (0, ""));
    assert_eq!(answer.out, "3 users are added.\n");
    let people = ground.people();
    assert_eq!(
        people[..2],
        [
            "Zoë | Müller | zoe@example.com | agent | 3",
            "Bob |  | NULL | visitor | NULL"
        ]
    );
    assert!(people[2].starts_with("User | #") && people[2].ends_with(" | eve@example.com | lead | NULL"));
    assert_eq!(
        ground.database.lines(
            "SELECT u.first_name, d.slug, d.name, d.value FROM sb_users_data d JOIN sb_users u ON u.id = d.user_id
             ORDER BY u.id"
        ),
        ["Zoë | phone | Phone | +1 555 0100", "Bob | phone | Phone | +1 555 0200"]
    );
    // Nothing is left beside the table.
    let mut names: Vec<_> = fs::read_dir(ground.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["config.php", "people.csv"]);
    ground.database.drop();
}

#[test]
fn lines_that_are_refused_are_kept_with_their_numbers_and_can_be_corrected() {
    let mut ground = Ground::new("refused");
    let long = "x".repeat(101);
    let text = format!(
        "first_name;email;user_type;department;city\n\
         Ann;ann@example.com;;;\"New\nYork\"\n\
         \n\
         Bob;ann@example.com;;;\n\
         Cid;cid@example.com;bot;;\n\
         Dan;dan@example.com\n\
         {long};eve@example.com;;;\n\
         Fay;fay@example.com;;200;\n\
         Gus;gus@example.com;;;Oslo"
    );
    let mut bytes = text.into_bytes();
    bytes.extend(b"\nHal;hal@example.com;;;\xff\n");
    fs::write(ground.path("people.csv"), bytes).unwrap();
    let command = ["import", "users", "people.csv", "--delimiter", ";"];
    let answer = ground.sb(&command);
    assert_eq!(answer.status, 1);
    assert_eq!(answer.out, "2 users are added.\n");
    assert!(
        answer
            .err
            .starts_with("sb: 6 lines were not taken over: they stand in ")
            && answer.err.contains("people.csv.refused"),
        "{}",
        answer.err
    );
    assert_eq!(mode(&ground.path("people.csv.refused")), 0o600);
    let refused = fs::read(ground.path("people.csv.refused")).unwrap();
    let refused = String::from_utf8_lossy(&refused);
    let lines: Vec<&str> = refused.lines().collect();
    assert_eq!(lines[0], "line;reason;first_name;email;user_type;department;city");
    for (line, beginning) in lines[1..].iter().zip([
        "5;duplicate-email;Bob;",
        "6;invalid-user-type;Cid;",
        "7;it has 2 cells and not 5;Dan;",
        "8;first_name is longer than 100 characters;xxx",
        "9;",
        "11;city is no text in UTF-8;Hal;",
    ]) {
        assert!(line.starts_with(beginning), "{line}");
    }
    assert!(
        lines[5].contains("department") && lines[5].contains(";Fay;"),
        "{}",
        lines[5]
    );
    assert_eq!(lines.len(), 7);

    // What was refused is corrected and imported.
    let corrected = "line;reason;first_name;email;user_type;department;city\n\
         4;duplicate-email;Bob;bob@example.com;;;\n\
         5;invalid-user-type;Cid;cid@example.com;agent;;\n";
    fs::write(ground.path("people.csv"), corrected).unwrap();
    let answer = ground.sb(&command);
    assert_eq!((answer.status, answer.out.as_str()), (0, "2 users are added.\n"));
    assert!(!ground.path("people.csv.refused").exists());
    assert_eq!(
        ground.database.lines("SELECT first_name FROM sb_users ORDER BY id"),
        ["Ann", "Gus", "Bob", "Cid"]
    );
    assert_eq!(
        ground
            .database
            .lines("SELECT slug, value FROM sb_users_data ORDER BY id"),
        ["city | New\nYork", "city | Oslo"]
    );
    ground.database.drop();
}

#[test]
fn a_table_that_is_none_is_refused_before_anything_is_added() {
    let mut ground = Ground::new("none");
    for (text, reason) in [
        ("", "names none of the columns first_name"),
        ("a,b\n1,2\n", "names none of the columns first_name"),
        (
            "email,email\na@example.com,b@example.com\n",
            "names the column \"email\" twice",
        ),
        ("email,\na@example.com,b\n", "leaves a column without a name"),
    ] {
        let answer = ground.import(text, &[]);
        assert_eq!((answer.status, answer.out.as_str()), (1, ""), "{text}");
        assert!(answer.err.contains(reason), "{}", answer.err);
    }
    let answer = ground.sb(&["import", "users", "missing.csv"]);
    assert_eq!(answer.status, 1);
    assert!(answer.err.contains("missing.csv: "), "{}", answer.err);
    for delimiter in ["", "ab", "x", "\"", "é"] {
        assert_eq!(
            ground.import("email\n", &["--delimiter", delimiter]).status,
            2,
            "{delimiter}"
        );
    }
    assert_eq!(ground.people(), [""; 0]);
    ground.database.drop();
}

#[test]
fn passwords_are_hashed_or_are_hashes() {
    let mut ground = Ground::new("passwords");
    let hash = "$2y$10$abcdefghijklmnopqrstuuO8ZUtq4o1oJyXHrIPeFAOTxQf8v1x3y";
    let text = format!("email,password\nann@example.com,{hash}\n");
    assert_eq!(ground.import(&text, &["--hashed-passwords"]).status, 0);
    assert_eq!(ground.database.lines("SELECT password FROM sb_users"), [hash]);
    let answer = ground.import("email,password\nbob@example.com,correct horse\n", &[]);
    assert_eq!(answer.status, 0);
    let stored = ground
        .database
        .lines("SELECT password FROM sb_users WHERE email = 'bob@example.com'");
    assert!(stored[0].starts_with("$2y$12$"), "{}", stored[0]);
    ground.database.drop();
}

/// An import that is killed within some line goes on, and in the end everybody is there once.
#[test]
fn an_import_that_is_killed_goes_on() {
    let mut ground = Ground::new("killed");
    let people = (1..=3000).map(|number| format!("Person {number},p{number}@example.com"));
    let table: Vec<String> = std::iter::once("first_name,email".to_owned()).chain(people).collect();
    fs::write(ground.path("people.csv"), table.join("\n")).unwrap();
    let arguments = ground.arguments(&["import", "users", "people.csv"]);
    let mut kills = 0;
    for wanted in [200, 900, 1700] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sb"))
            .args(&arguments)
            .env_clear()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        let count = |database: &mut Database| {
            database.lines("SELECT COUNT(*) FROM sb_users")[0]
                .parse::<u32>()
                .unwrap()
        };
        while count(&mut ground.database) < wanted && child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < Duration::from_mins(2), "it does not get on");
        }
        kills += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(kills > 0, "it was never killed");
    assert!(ground.path("people.csv.progress").exists());
    let answer = ground.sb(&["import", "users", "people.csv"]);
    assert_eq!((answer.status, answer.err.as_str()), (0, ""), "{}", answer.out);
    assert!(answer.out.starts_with("It goes on where it was: "), "{}", answer.out);
    assert!(answer.out.ends_with("3000 users are added.\n"), "{}", answer.out);
    assert_eq!(
        ground
            .database
            .lines("SELECT COUNT(*), COUNT(DISTINCT first_name) FROM sb_users"),
        ["3000 | 3000"]
    );
    assert!(!ground.path("people.csv.progress").exists());
    ground.database.drop();
}

#[test]
fn notes_of_an_import_that_died_within_a_line_are_believed() {
    let mut ground = Ground::new("notes");
    let text = "first_name,email\nAnn,ann@example.com\nBob,\nCid,cid@example.com\n";
    fs::write(ground.path("people.csv"), text).unwrap();
    let found = fs::metadata(ground.path("people.csv")).unwrap();
    let changed = found
        .modified()
        .unwrap()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let notes = |byte: u64, ends: u64, added: u64| {
        let place = format!(r#"{{"byte":{byte},"ends":{ends}}}"#);
        format!(
            r#"{{"size":{},"changed":{changed},"place":{place},"begun":true,"added":{added},"refused":0}}"#,
            text.len()
        )
    };
    // Ann was stored, and nobody noted it.
    ground.database.run(
        "INSERT INTO sb_users (first_name, last_name, email, user_type, creation_time, token)
         VALUES ('Ann', '', 'ann@example.com', 'user', '2026-01-01', 't')",
    );
    fs::write(ground.path("people.csv.progress"), notes(17, 1, 0)).unwrap();
    let answer = ground.sb(&["import", "users", "people.csv"]);
    assert_eq!((answer.status, answer.err.as_str()), (0, ""));
    assert!(answer.out.ends_with("3 users are added.\n"), "{}", answer.out);
    assert_eq!(
        ground.database.lines("SELECT first_name FROM sb_users ORDER BY id"),
        ["Ann", "Bob", "Cid"]
    );

    // Of Bob nobody can tell.
    fs::write(ground.path("people.csv.progress"), notes(37, 2, 1)).unwrap();
    ground.database.run("DELETE FROM sb_users WHERE first_name = 'Cid'");
    let answer = ground.sb(&["import", "users", "people.csv"]);
    assert_eq!(answer.status, 1);
    assert!(
        ground
            .read("people.csv.refused")
            .contains("3,\"the import was interrupted within this line")
    );
    assert_eq!(
        ground.database.lines("SELECT first_name FROM sb_users ORDER BY id"),
        ["Ann", "Bob", "Cid"]
    );

    // Notes on another table are none on this one.
    fs::write(ground.path("people.csv.progress"), notes(17, 1, 0)).unwrap();
    fs::write(ground.path("people.csv"), format!("{text}Dan,\n")).unwrap();
    let answer = ground.sb(&["import", "users", "people.csv"]);
    assert_eq!(answer.status, 1);
    assert!(
        answer.err.contains("was changed since its import began"),
        "{}",
        answer.err
    );
    fs::write(ground.path("people.csv.progress"), "nonsense").unwrap();
    assert!(
        ground
            .sb(&["import", "users", "people.csv"])
            .err
            .contains("no notes of an import")
    );
    ground.database.drop();
}

#[test]
fn a_database_that_fails_stops_an_import_and_no_line_is_blamed() {
    let mut ground = Ground::new("fails");
    ground.database.run("RENAME TABLE sb_users_data TO away");
    let answer = ground.import("first_name,city\nAnn,\nBob,Oslo\nCid,\n", &[]);
    assert_eq!((answer.status, answer.out.as_str()), (1, ""));
    assert!(answer.err.contains("run it again to go on"), "{}", answer.err);
    assert!(!ground.path("people.csv.refused").exists());
    ground.database.run("RENAME TABLE away TO sb_users_data");
    let answer = ground.sb(&["import", "users", "people.csv"]);
    assert_eq!((answer.status, answer.err.as_str()), (0, ""));
    assert_eq!(
        ground.database.lines("SELECT first_name FROM sb_users ORDER BY id"),
        ["Ann", "Bob", "Cid"]
    );
    ground.database.drop();
}

#[test]
fn an_export_is_what_an_import_takes() {
    let mut ground = Ground::new("out");
    let text = "first_name,last_name,email,user_type,phone,note\n\
         Zoë,Müller,zoe@example.com,agent,+1 555 0100,=1+1\n\
         Bob,,,visitor,,\"a \"\"b\"\"\nc\"\n";
    assert_eq!(ground.import(text, &[]).status, 0);
    ground.database.run(
        "INSERT INTO sb_users (first_name, last_name, user_type, creation_time, token)
         VALUES ('Bot', '', 'bot', '2026-01-01', 'bot')",
    );
    let answer = ground.sb(&["export", "users"]);
    assert_eq!((answer.status, answer.err.as_str()), (0, ""));
    let lines: Vec<&str> = answer.out.split("\r\n").collect();
    assert_eq!(
        lines[0],
        r#""id","first_name","last_name","email","user_type","creation_time","last_activity","department","profile_image","note","phone""#
    );
    assert!(
        lines[1].contains(r#""Zoë","Müller","zoe@example.com","agent""#),
        "{}",
        lines[1]
    );
    assert!(lines[1].ends_with(r#""'=1+1","'+1 555 0100""#), "{}", lines[1]);
    assert_eq!(lines.len(), 4);

    let to_file = ground.sb(&["export", "users", "all.csv"]);
    assert_eq!((to_file.status, to_file.out.as_str()), (0, ""));
    assert_eq!(ground.read("all.csv"), answer.out);
    assert_eq!(mode(&ground.path("all.csv")), 0o600);
    assert!(!ground.path("all.csv.part").exists());

    let before = ground.people();
    ground.database.run("DELETE FROM sb_users");
    assert_eq!(ground.sb(&["import", "users", "all.csv"]).status, 0);
    assert_eq!(ground.people(), before[..2]);
    assert_eq!(
        ground
            .database
            .lines("SELECT slug, value FROM sb_users_data ORDER BY slug, value"),
        ["note | =1+1", "note | a \"b\"\nc", "phone | +1 555 0100"]
    );
    ground.database.drop();
}

#[test]
fn an_export_that_fails_leaves_the_file_as_it_was() {
    let mut ground = Ground::new("fails out");
    fs::write(ground.path("all.csv"), "before").unwrap();
    ground.database.run("DROP TABLE sb_users_data");
    let answer = ground.sb(&["export", "users", "all.csv"]);
    assert_eq!(answer.status, 1);
    assert_eq!(ground.read("all.csv"), "before");
    assert!(!ground.path("all.csv.part").exists());
    ground.database.drop();
}

/// The file of the function in the uploads holds the same.
#[test]
fn the_program_writes_what_the_function_writes() {
    let ground = Ground::new("function");
    assert_eq!(ground.import("first_name,phone\nAnn,1\nBob,2\n", &[]).status, 0);
    let mut configuration = ground.database.configuration();
    configuration.insert("SB_PATH".into(), ground.folder.path().to_str().unwrap().into());
    configuration.insert("SB_URL".into(), "https://chat.example".into());
    let host = PlainHost::new(configuration);
    sb::platform::host::Host::set_global(&host, "SB_FORCE_ADMIN", Value::Bool(true));
    let written = functions::find("sb_csv_users").unwrap().run(
        &Engine::default(),
        &host,
        &Request::default(),
        Arguments::of_values([]),
    );
    let url = written.unwrap();
    let name = url.as_str().unwrap().rsplit('/').next().unwrap();
    let file = fs::read_to_string(ground.path("uploads").join(name)).unwrap();
    assert_eq!(file, ground.sb(&["export", "users"]).out);
    ground.database.drop();
}
