//! The documentation: its links lead somewhere, it names what there is, and what it names is there.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use sb::functions;
use sb::platform::configuration::NAMES;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A page: its text without the parts in which brackets are no links.
struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        let code = Regex::new(r"(?ms)^ *```.*?^ *```$|`[^`\n]+`").unwrap();
        // The words of a link may stand between code marks.
        let text = code.replace_all(&text, |found: &regex::Captures<'_>| {
            if found[0].contains('\n') {
                String::new()
            } else {
                found[0].replace(['[', ']'], "")
            }
        });
        Self {
            path,
            text: text.into_owned(),
        }
    }

    fn name(&self) -> String {
        self.path.strip_prefix(root()).unwrap().display().to_string()
    }

    /// Where its titles are found.
    fn anchors(&self) -> BTreeSet<String> {
        let titles = self.text.lines().filter_map(|line| {
            let title = line.trim_start_matches('#');
            (title.len() < line.len()).then(|| title.trim())
        });
        titles.map(anchor).collect()
    }

    fn links(&self) -> Vec<String> {
        let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
        link.captures_iter(&self.text)
            .map(|found| found[1].to_owned())
            .collect()
    }
}

fn anchor(title: &str) -> String {
    let letters = title
        .chars()
        .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    letters.collect::<String>().replace(' ', "-").to_lowercase()
}

fn book() -> Vec<Page> {
    let entries = fs::read_dir(root().join("docs")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .map(Page::read)
        .collect()
}

fn chapter(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).unwrap()
}

fn nothing(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_link_leads_somewhere() {
    let pages = book();
    let others = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "tests/cases/README.md"];
    let pages: BTreeMap<PathBuf, Page> = pages
        .into_iter()
        .chain(others.map(|name| Page::read(root().join(name))))
        .map(|page| (page.path.clone(), page))
        .collect();
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages.values() {
        for link in page.links() {
            count += 1;
            if link.starts_with("http") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() {
                page.path.clone()
            } else {
                page.path.parent().unwrap().join(file)
            };
            let has_anchor = || pages.get(&target).is_some_and(|page| page.anchors().contains(anchor));
            if !target.exists() || !anchor.is_empty() && !has_anchor() {
                wrong.push(format!("{}: {link}", page.name()));
            }
        }
    }
    nothing(&wrong);
    assert!(count > 100, "only {count} links were found");
}

#[test]
fn the_book_leaves_no_chapter_out() {
    let summary = Page::read(root().join("docs/SUMMARY.md"));
    let listed: BTreeSet<String> = summary.links().into_iter().collect();
    let chapters: BTreeSet<String> = book()
        .iter()
        .map(|page| page.path.file_name().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "SUMMARY.md")
        .collect();
    assert_eq!(listed, chapters);
    let included = Regex::new(r"\{\{#include ([^}]+)\}\}").unwrap();
    let library = chapter("c-library.md");
    let files: Vec<_> = included
        .captures_iter(&library)
        .map(|found| found[1].to_owned())
        .collect();
    assert!(files.len() >= 5);
    for file in files {
        assert!(root().join("docs").join(&file).exists(), "{file}");
    }
}

#[test]
fn functions_that_are_named_are_there() {
    let name = Regex::new(r"\bsb_[a-z][A-Za-z_]*").unwrap();
    // What is no function: tables, and what belongs to the C library and the keys.
    let others = [
        "sb_handle",
        "sb_open",
        "sb_call",
        "sb_free",
        "sb_close",
        "sb_version",
        "sb_live_",
        "sb_settings",
        "sb_outbox",
        "sb_api_keys",
        "sb_idempotency",
        "sb_users_data",
        "sb_php",
        "sb_",
    ];
    let mut wrong = BTreeSet::new();
    for path in fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        if Path::new(&file).extension().is_none_or(|extension| extension != "md") || file == "functions.md" {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for found in name.find_iter(&text).map(|found| found.as_str()) {
            if !others.contains(&found) && functions::find(found).is_none() {
                wrong.insert(format!("{file}: {found}"));
            }
        }
    }
    nothing(&wrong.into_iter().collect::<Vec<_>>());
}

#[test]
fn every_constant_and_every_ini_entry_is_explained() {
    let configuration = chapter("configuration.md");
    for (name, _) in NAMES {
        assert!(configuration.contains(&format!("`{name}`")), "{name}");
    }
    let entry = Regex::new(r#"c"(sb\.[a-z_]+)""#).unwrap();
    let source = fs::read_to_string(root().join("php/src/ini.rs")).unwrap();
    let entries: Vec<_> = entry.captures_iter(&source).map(|found| found[1].to_owned()).collect();
    assert!(entries.len() >= 2);
    for name in entries {
        assert!(configuration.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn the_constants_and_ini_entries_that_are_explained_are_there() {
    let name = Regex::new(r"\bSB_[A-Z_]+\b").unwrap();
    let others = ["SB_LOGIN", "SB_FORCE_ADMIN", "SB_LIBRARY"];
    for page in book() {
        let text = fs::read_to_string(&page.path).unwrap();
        for found in name.find_iter(&text).map(|found| found.as_str()) {
            let is_there = others.contains(&found) || NAMES.iter().any(|(name, _)| *name == found);
            assert!(is_there, "{}: {found}", page.name());
        }
    }
}

/// Settings that the chapter names are read somewhere.
#[test]
fn settings_that_are_explained_are_read() {
    let sources = sources(&root().join("src"));
    let chapter = chapter("configuration.md");
    let table = chapter.split("## Settings").nth(1).unwrap();
    let name = Regex::new(r"`([a-z]+(?:-[a-z]+)+)`").unwrap();
    let lines = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines {
        for found in name.captures_iter(line).map(|found| found[1].to_owned()) {
            count += 1;
            if !sources.contains(&format!("\"{found}\"")) && !is_composed(&sources, &found) {
                wrong.push(found);
            }
        }
    }
    nothing(&wrong);
    assert!(count > 30, "only {count} settings were found");
}

/// Whether a name is put together where it is read: `format!("{}-key", "realtime")`.
fn is_composed(sources: &str, name: &str) -> bool {
    name.match_indices('-').any(|(at, _)| {
        let (service, rest) = name.split_at(at);
        let ends = [format!("}}{rest}\""), format!(", \"{rest}\")")];
        sources.contains(&format!("\"{service}\"")) && ends.iter().any(|end| sources.contains(end))
    })
}

fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            text += &sources(&path);
        } else {
            text += &fs::read_to_string(&path).unwrap();
        }
    }
    text
}
