//! The commands that the documentation shows are ones that the program takes.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use crate::bench::sb;

/// The words of the commands in a page, options with their dashes and without their values.
fn commands(page: &Path) -> Vec<(String, Vec<String>)> {
    let text = std::fs::read_to_string(page).unwrap();
    let blocks = Regex::new(r"(?ms)^ *```sh\n(.*?)^ *```$").unwrap();
    let option = Regex::new(r"--[a-z-]+").unwrap();
    blocks
        .captures_iter(&text)
        .flat_map(|block| block[1].lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>())
        .filter_map(|line| Some(line.strip_prefix("sb ")?.to_owned()))
        .map(|line| {
            let options = option
                .find_iter(&line)
                .map(|option| option.as_str().to_owned())
                .collect();
            (line, options)
        })
        .collect()
}

#[test]
fn commands_that_are_shown_are_taken() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let mut shown = BTreeSet::new();
    for page in std::fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().path()) {
        if page.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        for (line, options) in commands(&page) {
            let words: Vec<&str> = line
                .split_whitespace()
                .take_while(|word| !word.starts_with('-'))
                .collect();
            // What follows the names of commands are files.
            let names = words.into_iter().take_while(|word| !word.contains('.'));
            let command: Vec<&str> = names.chain(["--help"]).collect();
            let help = sb(&command, &[], "");
            assert_eq!(help.status, 0, "{}: sb {line}\n{}", page.display(), help.err);
            for option in options {
                assert!(help.out.contains(&option), "{}: sb {line}: {option}", page.display());
            }
            shown.insert(command[0].to_owned());
        }
    }
    let program = sb(&["--help"], &[], "").out;
    let there = program.split("Commands:").nth(1).unwrap().lines().filter_map(|line| {
        let name = line.strip_prefix("  ")?.split_whitespace().next()?;
        (!name.starts_with('-')).then_some(name)
    });
    let there: Vec<&str> = there.filter(|name| !["help", "stubs"].contains(name)).collect();
    assert!(there.len() >= 5, "{there:?}");
    for name in there {
        assert!(shown.contains(name), "no page shows sb {name}");
    }
}
