//! `sb man`: a page for the program and one for each of its commands.

use std::fs;

use crate::bench::sb;

#[test]
fn every_command_has_a_page_with_its_options() {
    let folder = tempfile::tempdir().unwrap();
    let answer = sb(&["man", folder.path().to_str().unwrap()], &[], "");
    assert_eq!((answer.status, answer.out.as_str(), answer.err.as_str()), (0, "", ""));
    let page = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(page("sb.1").contains(".TH sb 1"));
    let help = sb(&["--help"], &[], "").out;
    let commands = help.split("Commands:").nth(1).unwrap().lines().filter_map(|line| {
        let name = line.strip_prefix("  ")?.split_whitespace().next()?;
        (!name.starts_with('-') && name != "help").then_some(name)
    });
    let mut count = 0;
    for command in commands {
        assert!(page(&format!("sb-{command}.1")).contains(".SH NAME"), "{command}");
        count += 1;
    }
    assert!(count >= 7, "{count}");
    assert!(page("sb-upgrade.1").contains(r"\-\-dry\-run"));
    assert!(page("sb-import-users.1").contains(r"\-\-hashed\-passwords"));
}
