//! The translation files of the installation: `include/languages/{front,admin,admin/js,admin/settings}/xx.json`, each a
//! map of text to translation.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use super::crypto;
use crate::contract::error::{Error, Result};
use crate::contract::language::Language;
use crate::contract::{Map, Value, json};

/// Where the files lie in the installation folder.
const FOLDER: &str = "include/languages";

/// For whom texts are translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Area {
    /// The chat, which customers see.
    Front,
    /// The pages of agents and admins.
    Admin,
    /// The scripts of those pages.
    AdminJs,
    /// The page of the settings.
    AdminSettings,
}

impl Area {
    /// All areas.
    pub const ALL: [Self; 4] = [Self::Front, Self::Admin, Self::AdminJs, Self::AdminSettings];

    /// Its name, which is that of its folder too.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Front => "front",
            Self::Admin => "admin",
            Self::AdminJs => "admin/js",
            Self::AdminSettings => "admin/settings",
        }
    }
}

/// Translations by the texts they stand for.
pub type Dictionary = HashMap<Vec<u8>, Vec<u8>>;

/// The files that were read last. A file that was not changed is not read again.
#[derive(Default)]
pub struct Cache(RefCell<HashMap<PathBuf, (Version, Rc<Dictionary>)>>);

/// What tells one version of a file from the next: a file that is replaced has a number of its own, even within one tick
/// of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    changed: SystemTime,
    length: u64,
    number: u64,
}

/// The translation files of an installation.
pub struct Languages<'a> {
    folder: PathBuf,
    cache: &'a Cache,
}

impl<'a> Languages<'a> {
    /// Those of the installation in the folder `path`.
    pub fn new(path: &Path, cache: &'a Cache) -> Self {
        Self {
            folder: path.join(FOLDER),
            cache,
        }
    }

    /// The languages that have a file.
    pub fn all(&self) -> Result<BTreeSet<Language>> {
        let mut found = BTreeSet::new();
        for area in Area::ALL {
            let folder = self.folder.join(area.name());
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(area.name(), &error)),
            };
            for entry in entries {
                let name = entry.map_err(|error| failed(area.name(), &error))?.file_name();
                let code = name.to_str().and_then(|name| name.strip_suffix(".json"));
                found.extend(code.and_then(Language::exact));
            }
        }
        Ok(found)
    }

    /// What a file holds, in its order; what is no map of texts counts as nothing.
    pub fn read(&self, area: Area, language: &Language) -> Result<Option<Map>> {
        match fs::read(self.path(area, language)) {
            Ok(text) => Ok(Some(match json::decode(&text) {
                Some(Value::Map(map)) => map,
                _ => Map::new(),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(area.name(), &error)),
        }
    }

    /// The translations of a file, ready to look texts up.
    pub fn dictionary(&self, area: Area, language: &Language) -> Result<Option<Rc<Dictionary>>> {
        let path = self.path(area, language);
        let version = match fs::metadata(&path).and_then(|found| Version::of(&found)) {
            Ok(version) => version,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(area.name(), &error)),
        };
        if let Some((known, dictionary)) = self.cache.0.borrow().get(&path)
            && *known == version
        {
            return Ok(Some(Rc::clone(dictionary)));
        }
        let Some(map) = self.read(area, language)? else {
            return Ok(None);
        };
        let translations = map.into_iter().filter_map(|(text, translation)| match translation {
            Value::Bytes(translation) if !translation.is_empty() => {
                Some((text.to_text().into_owned().into_bytes(), translation))
            }
            _ => None,
        });
        let dictionary = Rc::new(translations.collect::<Dictionary>());
        self.cache
            .0
            .borrow_mut()
            .insert(path, (version, Rc::clone(&dictionary)));
        Ok(Some(dictionary))
    }

    /// Writes files in place of those that are there. A reader sees each old or new, whole; when one of them cannot be
    /// written, none is replaced.
    pub fn replace(&self, files: &[(Area, Language, Map)]) -> Result<()> {
        let mut written = Vec::new();
        let outcome = files.iter().try_for_each(|(area, language, texts)| {
            let path = self.path(*area, language);
            // Where there is nothing to say, no file need say so.
            if texts.is_empty() && !path.exists() {
                return Ok(());
            }
            let temporary = path.with_file_name(format!(".{}.tmp", crypto::token()?));
            written.push((temporary.clone(), path));
            write(&temporary, texts).map_err(|error| failed(area.name(), &error))
        });
        let outcome = outcome.and_then(|()| {
            written
                .iter()
                .try_for_each(|(temporary, path)| fs::rename(temporary, path).map_err(|error| failed(FOLDER, &error)))
        });
        if outcome.is_err() {
            for (temporary, _) in &written {
                // What cannot be written can mostly be removed; the first error is the one to tell.
                let _ = fs::remove_file(temporary);
            }
        }
        outcome
    }

    fn path(&self, area: Area, language: &Language) -> PathBuf {
        self.folder.join(area.name()).join(format!("{}.json", language.code()))
    }
}

impl Version {
    fn of(found: &fs::Metadata) -> io::Result<Self> {
        Ok(Self {
            changed: found.modified()?,
            length: found.len(),
            number: found.ino(),
        })
    }
}

fn write(path: &Path, texts: &Map) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    }
    // One entry to a line, for people who edit it.
    let text = serde_json::to_string_pretty(&Value::Map(texts.clone()))?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.set_permissions(Permissions::from_mode(0o644))
}

fn failed(name: &str, error: &io::Error) -> Error {
    Error::Refused {
        code: "file-error",
        message: format!("the translation files of {name}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn german() -> Language {
        Language::exact("de").unwrap()
    }

    fn texts(translation: &str) -> Map {
        Map::from_iter([("Send".into(), translation.into())])
    }

    #[test]
    fn a_file_is_read_again_when_it_was_changed_and_only_then() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::default();
        let languages = Languages::new(folder.path(), &cache);
        assert!(languages.dictionary(Area::Front, &german()).unwrap().is_none());
        languages.replace(&[(Area::Front, german(), texts("Senden"))]).unwrap();
        let first = languages.dictionary(Area::Front, &german()).unwrap().unwrap();
        let again = languages.dictionary(Area::Front, &german()).unwrap().unwrap();
        assert!(Rc::ptr_eq(&first, &again));
        // Of the same length, within one tick of the clock.
        for translation in ["Sanden", "Sonden"] {
            languages
                .replace(&[(Area::Front, german(), texts(translation))])
                .unwrap();
            let next = languages.dictionary(Area::Front, &german()).unwrap().unwrap();
            assert_eq!(next.get(b"Send".as_slice()).unwrap(), translation.as_bytes());
        }
        fs::remove_file(folder.path().join("include/languages/front/de.json")).unwrap();
        assert!(languages.dictionary(Area::Front, &german()).unwrap().is_none());
    }

    #[test]
    fn when_one_file_cannot_be_written_none_is() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::default();
        let languages = Languages::new(folder.path(), &cache);
        languages.replace(&[(Area::Front, german(), texts("Senden"))]).unwrap();
        fs::write(folder.path().join("include/languages/admin"), "no folder").unwrap();
        let refused = languages.replace(&[
            (Area::Front, german(), texts("Schicken")),
            (Area::AdminJs, german(), texts("Schicken")),
        ]);
        assert_eq!(refused.unwrap_err().code(), "file-error");
        let front = languages.read(Area::Front, &german()).unwrap().unwrap();
        assert_eq!(front, texts("Senden"));
        let entries = fs::read_dir(folder.path().join("include/languages/front")).unwrap();
        assert_eq!(entries.count(), 1);
    }

    #[test]
    fn what_is_no_translation_file_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::default();
        let languages = Languages::new(folder.path(), &cache);
        assert_eq!(languages.all().unwrap().len(), 0);
        let front = folder.path().join("include/languages/front");
        fs::create_dir_all(&front).unwrap();
        for name in [
            "de.json",
            "pt-BR.json",
            "README.md",
            "de.json.bak",
            "English.json",
            ".x.tmp",
        ] {
            fs::write(front.join(name), r#"{"a": 1, "b": "", "c": ["d"], "e": "f"}"#).unwrap();
        }
        let codes: Vec<_> = languages.all().unwrap().into_iter().collect();
        assert_eq!(codes.iter().map(Language::code).collect::<Vec<_>>(), ["de", "pt-BR"]);
        let dictionary = languages.dictionary(Area::Front, &german()).unwrap().unwrap();
        assert_eq!(*dictionary, Dictionary::from([(b"e".to_vec(), b"f".to_vec())]));
        fs::write(front.join("de.json"), "{broken").unwrap();
        assert_eq!(languages.read(Area::Front, &german()).unwrap(), Some(Map::new()));
    }
}
