//! Statuses and messages, and where the configuration comes from.

use crate::bench::{Database, sb};

#[test]
fn a_configuration_that_cannot_be_read_is_status_2() {
    let folder = std::env::temp_dir().join(format!("sb-statuses-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("config.php");
    let path = file.to_str().unwrap();

    let answer = sb(&["upgrade", "--config", path], &[], "");
    assert_eq!(answer.status, 2);
    assert!(
        answer.err.starts_with(&format!("sb: {path} cannot be read: ")),
        "{}",
        answer.err
    );

    std::fs::write(&file, "<?php define('SB_DB_NAME', 'x'); // define('SB_DB_USER', 'y');").unwrap();
    let answer = sb(&["upgrade", "--config", path], &[], "");
    assert_eq!(answer.status, 2);
    assert!(answer.err.contains("SB_DB_USER is not configured"), "{}", answer.err);

    let answer = sb(&["upgrade"], &[], "");
    assert_eq!(answer.status, 2);
    assert!(answer.err.contains("SB_DB_NAME is not configured"), "{}", answer.err);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_server_that_is_not_there_is_status_1_and_no_secret_is_told() {
    let environment = [
        ("SB_DB_NAME", "x"),
        ("SB_DB_USER", "x"),
        ("SB_DB_PASSWORD", "planted-secret"),
        ("SB_DB_HOST", "127.0.0.1"),
        ("SB_DB_PORT", "1"),
    ];
    let answer = sb(&["upgrade"], &environment, "");
    assert_eq!((answer.status, answer.out.as_str()), (1, ""));
    assert!(answer.err.contains("cannot connect"), "{}", answer.err);
    assert_eq!(answer.err.lines().count(), 1);
    assert!(!answer.err.contains("planted-secret"));
}

#[test]
fn a_wrong_password_is_status_1_and_is_not_told() {
    let database = Database::create("statuses: password", &[], &[]);
    let port = std::env::var("SB_TEST_PORT").unwrap();
    let environment = [
        ("SB_DB_NAME", database.name.as_str()),
        ("SB_DB_USER", "sb"),
        ("SB_DB_PASSWORD", "planted-secret"),
        ("SB_DB_HOST", "127.0.0.1"),
        ("SB_DB_PORT", port.as_str()),
    ];
    let answer = sb(&["upgrade"], &environment, "");
    assert_eq!(answer.status, 1);
    assert!(answer.err.contains("Access denied"), "{}", answer.err);
    assert!(!answer.err.contains("planted-secret"));
    database.drop();
}

#[test]
fn the_file_goes_before_the_environment_and_the_environment_fills_its_gaps() {
    let database = Database::create("statuses: environment", &[], &[]);
    let folder = std::env::temp_dir().join(format!("sb-environment-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("config.php");
    let path = file.to_str().unwrap();
    let not_installed = "sb: the database holds no installation: run `sb install`\n";

    // The name and the place are the file's, the rest the environment's.
    let whole = database.config_file();
    let gaps: String = whole
        .lines()
        .filter(|line| !line.contains("PASSWORD"))
        .collect::<Vec<_>>()
        .join("\n");
    std::fs::write(&file, gaps).unwrap();
    let environment = [
        ("SB_DB_NAME", "of_the_environment"),
        ("SB_DB_PASSWORD", "secret"),
        ("SB_DB_SOCKET", "/of/the/environment"),
    ];
    let answer = sb(&["upgrade", "--config", path], &environment, "");
    assert_eq!((answer.status, answer.err.as_str()), (1, not_installed));

    // A socket of the environment does not take the place of the file's host.
    let host_only: String = whole
        .lines()
        .filter(|line| !line.contains("SOCKET"))
        .collect::<Vec<_>>()
        .join("\n");
    std::fs::write(&file, host_only).unwrap();
    let answer = sb(&["upgrade", "--config", path], &environment, "");
    assert_eq!((answer.status, answer.err.as_str()), (1, not_installed));

    // Without a file the environment is all.
    let port = std::env::var("SB_TEST_PORT").unwrap();
    let environment = [
        ("SB_DB_NAME", database.name.as_str()),
        ("SB_DB_USER", "sb"),
        ("SB_DB_PASSWORD", "secret"),
        ("SB_DB_HOST", "127.0.0.1"),
        ("SB_DB_PORT", port.as_str()),
    ];
    let answer = sb(&["upgrade"], &environment, "");
    assert_eq!((answer.status, answer.err.as_str()), (1, not_installed));
    std::fs::remove_dir_all(&folder).unwrap();
    database.drop();
}
