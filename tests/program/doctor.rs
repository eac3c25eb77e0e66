//! `sb doctor`.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;

use crate::bench::{Answer, Database, sb};

/// Some user that is not root: `make test` may run as one who cannot give files away.
const SOMEONE: u32 = 12_345;

/// An installation in which nothing is wrong.
struct Ground {
    folder: tempfile::TempDir,
    database: Database,
}

impl Ground {
    fn new(test: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::create(&format!("doctor: {test}"), &[], &[]);
        let ground = Self { folder, database };
        fs::create_dir(ground.uploads()).unwrap();
        // Where it can, it gives them to someone, as an installation of root's does.
        let _ = chown(ground.uploads(), Some(SOMEONE), None);
        ground.configure(|text| text);
        let installed = sb(
            &[
                "install",
                "--admin-email",
                "ann@example.com",
                "--config",
                ground.config().to_str().unwrap(),
            ],
            &[],
            "correct horse\n",
        );
        assert_eq!((installed.status, installed.err.as_str()), (0, ""));
        ground
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("config.php")
    }

    fn uploads(&self) -> PathBuf {
        self.folder.path().join("uploads")
    }

    fn configure(&self, change: impl FnOnce(String) -> String) {
        let path = self.folder.path().display();
        let text = format!(
            "{}define('SB_PATH', '{path}');\ndefine('SB_URL', 'https://chat.example');\n\
             define('SB_SECRET_KEY', 'planted-secret');\n",
            self.database.config_file()
        );
        fs::write(self.config(), change(text)).unwrap();
        fs::set_permissions(self.config(), Permissions::from_mode(0o640)).unwrap();
    }

    fn look(&self) -> Answer {
        let answer = sb(&["doctor", "--config", self.config().to_str().unwrap()], &[], "");
        for secret in ["planted-secret", "'secret'", "planted-token"] {
            assert!(!answer.out.contains(secret) && !answer.err.contains(secret));
        }
        answer
    }

    /// The one line that says what is wrong, and what to do.
    fn finding(&self) -> (String, String) {
        let answer = self.look();
        assert_eq!(
            (answer.status, answer.err.as_str()),
            (1, "sb: 1 finding\n"),
            "{}",
            answer.out
        );
        let mut lines = answer.out.lines().skip_while(|line| !line.starts_with("FAIL"));
        let (finding, remedy) = (lines.next().unwrap(), lines.next().unwrap());
        let remedy = remedy.trim_start().strip_prefix("-> ").unwrap();
        (finding.to_owned(), remedy.to_owned())
    }

    fn settings(&mut self, json: &str) {
        self.database.run(&format!(
            "REPLACE INTO sb_settings (name, value) VALUES ('settings', '{json}')"
        ));
    }
}

fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{text}");
}

#[test]
fn an_installation_in_order_is_status_0() {
    let mut ground = Ground::new("in order");
    let answer = ground.look();
    assert_eq!((answer.status, answer.err.as_str()), (0, ""), "{}", answer.out);
    for line in [
        "ok   configuration  ",
        "ok   uploads        ",
        "ok   server         ",
        "ok   clock          ",
        "ok   schema         generation 4, with everything that makes it faster",
        "ok   service        the settings ask for no outside service",
    ] {
        has(&answer.out, line);
    }
    // It leaves nothing behind.
    assert_eq!(fs::read_dir(ground.uploads()).unwrap().count(), 0);

    let changed = "ALTER TABLE sb_users_data DROP KEY x_slug; ALTER TABLE sb_users DROP KEY x_la";
    ground.database.run(changed);
    let answer = ground.look();
    assert_eq!((answer.status, answer.err.as_str()), (0, ""), "{}", answer.out);
    has(&answer.out, "ok   schema         generation 4, complete");
    has(
        &answer.out,
        "note schema         2 changes are missing that would make a large installation faster",
    );
    has(&answer.out, "-> sb upgrade --indexes");
    has(&answer.out, "Change sb_users: the key x_la.");
    ground.database.drop();
}

#[test]
fn a_configuration_that_cannot_be_read_is_status_2() {
    let answer = sb(&["doctor", "--config", "/there/is/no/config.php"], &[], "");
    assert_eq!((answer.status, answer.out.as_str()), (2, ""));
    has(&answer.err, "/there/is/no/config.php cannot be read");
}

#[test]
fn what_the_configuration_lacks_is_found_or_advised() {
    let ground = Ground::new("configuration");
    ground.configure(|text| text.replace("https://chat.example", "chat.example"));
    let (finding, remedy) = ground.finding();
    has(&finding, "SB_URL is no http or https address");
    has(&remedy, "define SB_URL");

    // Without SB_PATH it is the folder of the file.
    ground.configure(|text| text.replace("SB_PATH", "SB_OTHER"));
    has(&ground.look().out, "ok   uploads");
    let mut constants: Vec<(String, String)> = ground.database.configuration().into_iter().collect();
    constants.push(("SB_URL".into(), "https://chat.example".into()));
    let constants: Vec<(&str, &str)> = constants.iter().map(|(name, value)| (&**name, &**value)).collect();
    let answer = sb(&["doctor"], &constants, "");
    has(&answer.out, "FAIL uploads        SB_PATH is not configured");
    has(&answer.out, "ok   configuration  the environment is read");

    ground.configure(|text| text.replace("SB_SECRET_KEY", "SB_OTHER"));
    fs::set_permissions(ground.config(), Permissions::from_mode(0o644)).unwrap();
    let answer = ground.look();
    assert_eq!(answer.status, 0, "{}", answer.err);
    has(&answer.out, "note configuration  every user of this host can read");
    has(&answer.out, "note configuration  there is no SB_SECRET_KEY");
    ground.database.drop();
}

#[test]
fn uploads_that_cannot_be_written_or_by_everyone_are_found() {
    let ground = Ground::new("uploads");
    fs::set_permissions(ground.uploads(), Permissions::from_mode(0o777)).unwrap();
    let (finding, remedy) = ground.finding();
    has(&finding, "every user of this host can write into");
    has(&remedy, "chmod o-w");

    fs::set_permissions(ground.uploads(), Permissions::from_mode(0o755)).unwrap();
    if chown(ground.uploads(), Some(0), Some(0)).is_ok() {
        let (finding, remedy) = ground.finding();
        has(&finding, "belongs to root, and nobody else can write into it");
        has(&remedy, "chown");
        fs::set_permissions(ground.uploads(), Permissions::from_mode(0o775)).unwrap();
        chown(ground.uploads(), Some(0), Some(SOMEONE)).unwrap();
        assert_eq!(ground.look().status, 0);
    }

    fs::remove_dir(ground.uploads()).unwrap();
    has(&ground.finding().0, "cannot be looked at");
    fs::write(ground.uploads(), "").unwrap();
    has(&ground.finding().0, "is no folder");
    ground.database.drop();
}

#[test]
fn servers_that_are_not_there_or_refuse_are_found() {
    let ground = Ground::new("servers");
    let port = std::env::var("SB_TEST_PORT").unwrap();
    let over = |hosts: &str| {
        let hosts = hosts.to_owned();
        move |text: String| {
            let text = text
                .replace("SB_DB_SOCKET", "SB_OTHER")
                .replace("SB_DB_PORT", "SB_OTHER");
            text.replace("SB_DB_HOST\', \"127.0.0.1\"", &format!("SB_DB_HOST', '{hosts}'"))
        }
    };
    ground.configure(over(&format!("127.0.0.1:1,127.0.0.1:{port}")));
    let (finding, remedy) = ground.finding();
    has(&finding, "127.0.0.1:1: cannot connect");
    has(&remedy, "see that the server runs");
    // The other one is looked at all the same.
    has(&ground.look().out, "ok   schema");

    ground.configure(over("127.0.0.1:1"));
    let answer = ground.look();
    assert_eq!((answer.status, answer.err.as_str()), (1, "sb: 1 finding\n"));
    assert!(!answer.out.contains("schema"), "{}", answer.out);

    ground.configure(|text| text.replace(r"sec\162et", "wrong"));
    has(&ground.finding().0, "Access denied");
    ground.database.drop();
}

#[test]
fn tables_that_are_missing_or_old_are_found() {
    let mut ground = Ground::new("schema");
    ground
        .database
        .run("DROP TABLE sb_outbox; ALTER TABLE sb_api_keys DROP KEY name");
    let (finding, remedy) = ground.finding();
    has(&finding, "generation 4; 2 changes are missing");
    has(&remedy, "sb upgrade");
    has(&ground.look().out, "Create the table sb_outbox.");

    ground
        .database
        .run("DROP TABLE sb_api_keys, sb_messages, sb_conversations, sb_users_data, sb_users");
    let (finding, remedy) = ground.finding();
    has(&finding, "holds no tables of an installation");
    has(&remedy, "sb install");
    ground.database.drop();

    for (generation, number) in [("generation-1", 1), ("generation-2", 2), ("generation-5", 5)] {
        let database = Database::create(&format!("doctor: {generation}"), &[generation], &[]);
        let answer = database.sb(&["doctor"], "");
        assert_eq!(answer.status, 1);
        has(&answer.out, &format!("FAIL schema         generation {number}; "));
        database.drop();
    }
}

#[test]
fn rows_that_stand_against_an_upgrade_are_told() {
    let mut ground = Ground::new("rows");
    ground.database.run(
        "ALTER TABLE sb_users DROP KEY token;
         INSERT INTO sb_users (first_name, last_name, user_type, creation_time, token)
         VALUES ('A', '', 'user', '2026-01-01', 'same'), ('B', '', 'user', '2026-01-01', 'same')",
    );
    let (finding, remedy) = ground.finding();
    has(&finding, "values of sb_users.token come more than once");
    has(&remedy, "correct these rows");
    ground.database.drop();
}

#[test]
fn services_that_cannot_be_reached_are_found() {
    let mut ground = Ground::new("services");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let closed = {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        taken.local_addr().unwrap().port()
    };
    ground.settings(&format!(
        r#"{{"teamchat-active":[true,"checkbox"],"teamchat-token":["planted-token","password"],
            "teamchat-url":["http://127.0.0.1:{port}/api/","text"],"llm-url":["http://127.0.0.1:{closed}/","text"]}}"#
    ));
    let answer = ground.look();
    assert_eq!(answer.status, 0, "{}", answer.out);
    has(&answer.out, "ok   service        teamchat can be reached");
    // One that the settings do not ask for is not looked for.
    assert!(!answer.out.contains("llm"), "{}", answer.out);

    ground.settings(&format!(
        r#"{{"llm-active":[true,"checkbox"],"llm-url":["http://127.0.0.1:{closed}/planted-token","text"]}}"#
    ));
    let (finding, remedy) = ground.finding();
    has(&finding, &format!("llm: cannot connect to 127.0.0.1:{closed}: "));
    has(&remedy, "llm-url");

    // By way of a proxy it is the proxy that has to be there.
    ground.settings(&format!(
        r#"{{"llm-active":[true,"checkbox"],"http-proxy":["127.0.0.1:{port}","text"],
            "webhooks":[{{"webhooks-active":[true,"checkbox"],"webhooks-url":["http://hooks.example/","text"]}},"multi-input"]}}"#
    ));
    let answer = ground.look();
    assert_eq!(answer.status, 0, "{}", answer.out);
    has(&answer.out, "llm can be reached");
    has(&answer.out, "webhooks can be reached");

    let mail_server = |port: u16| {
        format!(
            r#"{{"email-server":[{{"email-server-host":["127.0.0.1","text"],"email-server-port":["{port}","number"],
                "email-server-from":["chat@example.com","text"]}},"multi-input"]}}"#
        )
    };
    ground.settings(&mail_server(port));
    has(&ground.look().out, "ok   service        email can be reached");
    ground.settings(&mail_server(closed));
    has(
        &ground.finding().0,
        &format!("email: cannot connect to 127.0.0.1:{closed}: "),
    );

    ground.settings(r#"{"llm-active":[true,"checkbox"],"llm-url":["no address","text"]}"#);
    has(&ground.finding().0, "llm-url is no http or https address");
    ground.database.drop();
}
