//! Versions, updates, and the licence keys of apps.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use crate::contract::args::Argument;
use crate::contract::error::{Error, Result};
use crate::contract::{Key, Map, Value, json};
use crate::platform::Context;
use crate::platform::packages;
use crate::providers::updates::Source;

/// The version of the library.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The core service, as a product.
const CORE: &str = "sb";

/// The folder of the core's files that are not in the library.
const INCLUDE: &str = "include";

/// The folder of the apps.
const APPS: &str = "apps";

/// The file that says which version a folder holds.
const VERSION_FILE: &str = "version.json";

/// Translations, which an administrator may have changed.
const LANGUAGES: &str = "languages";

/// The settings row of licence keys: app → key.
const KEYS: &str = "app-keys";

/// What comes as a package of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum App {
    Chatbot,
    Teamchat,
}

impl App {
    const ALL: [Self; 2] = [Self::Chatbot, Self::Teamchat];

    const fn name(self) -> &'static str {
        match self {
            Self::Chatbot => "chatbot",
            Self::Teamchat => "teamchat",
        }
    }

    /// The setting that turns it on.
    const fn switch(self) -> &'static str {
        match self {
            Self::Chatbot => "chatbot-active",
            Self::Teamchat => "teamchat-active",
        }
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|app| app.name() == name)
    }
}

/// A package whose signature was verified, and where it goes.
struct Package {
    folder: PathBuf,
    name: &'static str,
    version: String,
    archive: Vec<u8>,
}

/// The installed versions.
pub(super) async fn get_versions(cx: &Context<'_>) -> Result<Value> {
    let path = cx.host().configured("SB_PATH").map(PathBuf::from);
    let version = |app: App| {
        let installed = path
            .as_ref()
            .and_then(|path| version_in(&path.join(APPS).join(app.name())));
        Value::from(installed.unwrap_or_else(|| VERSION.to_owned()))
    };
    let apps = App::ALL.map(|app| (app.name(), version(app)));
    Ok(Value::map([(CORE, VERSION.into())].into_iter().chain(apps)))
}

/// Updates everything. All packages are fetched and verified before the first takes its place.
pub(super) async fn update(cx: &Context<'_>) -> Result<&'static str> {
    let source = Source::of(cx).await?;
    let keys = keys(cx).await?;
    let mut packages = vec![core(cx, &source).await?];
    for app in App::ALL {
        if let Some(key) = key_of(&keys, app) {
            packages.push(package(cx, &source, app, &key.into()).await?);
        }
    }
    for package in packages {
        package.install()?;
    }
    Ok("success")
}

/// The licence key of an app.
pub(super) async fn app_get_key(cx: &Context<'_>, app_name: String) -> Result<Option<String>> {
    let Some(app) = App::of(&app_name) else {
        return Ok(None);
    };
    Ok(key_of(&keys(cx).await?, app))
}

/// Installs an app, keeps its key and turns it on.
pub(super) async fn app_activation(cx: &Context<'_>, app_name: String, key: String) -> Result<&'static str> {
    let app = App::of(&app_name).ok_or(Error::Argument {
        name: "app_name",
        expected: "teamchat or chatbot",
    })?;
    let key = key.trim();
    if key.is_empty() {
        return Err(Error::Refused {
            code: "invalid-key",
            message: "the licence key is empty".into(),
        });
    }
    let source = Source::of(cx).await?;
    package(cx, &source, app, &key.to_owned().into()).await?.install()?;
    cx.rewrite(KEYS, |keys| {
        let mut keys = Map::from_value(keys).unwrap_or_default();
        keys.insert(app.name().into(), key.into());
        Ok((Some(keys.into()), ()))
    })
    .await?;
    cx.rewrite("settings", |settings| Ok((Some(turned_on(settings, app)), ())))
        .await?;
    cx.forget_settings();
    Ok("success")
}

async fn keys(cx: &Context<'_>) -> Result<Map> {
    Ok(cx.stored(KEYS).await?.and_then(Map::from_value).unwrap_or_default())
}

fn key_of(keys: &Map, app: App) -> Option<String> {
    let key = keys.get(&Key::from(app.name()))?.clone();
    String::from_value(key).filter(|key| !key.is_empty())
}

/// The settings with the checkbox of an app on: app → `[{switch: [true, "checkbox"], …}, "multi-input"]`.
fn turned_on(settings: Value, app: App) -> Value {
    let mut settings = Map::from_value(settings).unwrap_or_default();
    let setting = settings.shift_remove(&Key::from(app.name()));
    let children = setting.as_ref().and_then(|setting| setting.get(&Key::Int(0)));
    let mut children = children.cloned().and_then(Map::from_value).unwrap_or_default();
    let setting = |value: Value, kind: &str| Value::List(vec![value, kind.into()]);
    children.insert(app.switch().into(), setting(true.into(), "checkbox"));
    settings.insert(app.name().into(), setting(children.into(), "multi-input"));
    settings.into()
}

async fn core(cx: &Context<'_>, source: &Source<'_>) -> Result<Package> {
    let folder = installation(cx)?;
    let installed = version_in(&folder.join(INCLUDE)).filter(|installed| is_older(VERSION, installed));
    let release = source.release(CORE, None).await?;
    refuse_older(CORE, &release.version, installed.as_deref().unwrap_or(VERSION))?;
    Ok(Package {
        archive: source.archive(&release, None).await?,
        folder,
        name: INCLUDE,
        version: release.version,
    })
}

async fn package(cx: &Context<'_>, source: &Source<'_>, app: App, licence: &SecretString) -> Result<Package> {
    let folder = installation(cx)?.join(APPS);
    let release = source.release(app.name(), Some(licence)).await?;
    if let Some(installed) = version_in(&folder.join(app.name())) {
        refuse_older(app.name(), &release.version, &installed)?;
    }
    Ok(Package {
        archive: source.archive(&release, Some(licence)).await?,
        folder,
        name: app.name(),
        version: release.version,
    })
}

impl Package {
    fn install(self) -> Result<()> {
        if self.name != INCLUDE && !self.folder.exists() {
            packages::folder(&self.folder).map_err(|error| Error::Refused {
                code: "file-error",
                message: format!("the folder {APPS} of the installation: {error}"),
            })?;
        }
        let languages = self.folder.join(self.name).join(LANGUAGES);
        packages::install(&self.folder, self.name, &self.archive, |staging| {
            keep_translations(&languages, &staging.join(LANGUAGES))?;
            let version = Value::map([("version", self.version.as_str().into())]);
            packages::replace_file(&staging.join(VERSION_FILE), json::encode(&version).as_bytes())
        })
    }
}

/// Adds the translations of the installation to those of a package, in their place where both have one.
fn keep_translations(own: &Path, new: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(own) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    if !new.is_dir() {
        packages::folder(new)?;
    }
    for entry in entries {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, new.join(entry.file_name()));
        if kind.is_dir() {
            keep_translations(&entry.path(), &target)?;
        } else if kind.is_file() {
            let own = fs::read(entry.path())?;
            let both = (
                json::decode(&own),
                fs::read(&target).ok().as_deref().and_then(json::decode),
            );
            let content = match both {
                (Some(Value::Map(own)), Some(Value::Map(mut new))) => {
                    new.extend(own);
                    json::encode(&Value::Map(new)).into_bytes()
                }
                _ => own,
            };
            packages::replace_file(&target, &content)?;
        }
    }
    Ok(())
}

fn installation(cx: &Context<'_>) -> Result<PathBuf> {
    let path = cx.configuration()?.path.clone();
    path.ok_or_else(|| Error::configuration("SB_PATH is not configured: define it in config.php"))
}

/// The version that a folder holds, when a package has brought it.
fn version_in(folder: &Path) -> Option<String> {
    let text = fs::read(folder.join(VERSION_FILE)).ok()?;
    String::from_value(json::decode(&text)?.get(&Key::from("version"))?.clone())
}

fn refuse_older(product: &str, release: &str, installed: &str) -> Result<()> {
    if is_older(release, installed) {
        return Err(Error::Refused {
            code: "older-release",
            message: format!("the source has {product} {release}, which is older than the installed {installed}"),
        });
    }
    Ok(())
}

/// Compares dotted versions number by number.
fn is_older(version: &str, than: &str) -> bool {
    let numbers = |version: &str| {
        version
            .split('.')
            .map(|part| part.parse::<u64>().unwrap_or_default())
            .collect::<Vec<_>>()
    };
    numbers(version) < numbers(than)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_number_by_number() {
        for (version, than) in [
            ("0.9.9", "0.10.0"),
            ("1.9", "1.10"),
            ("1", "1.0.1"),
            ("2.0.0", "10.0.0"),
            ("x", "0.1"),
        ] {
            assert!(is_older(version, than) && !is_older(than, version), "{version} {than}");
        }
        assert!(!is_older("1.2.3", "1.2.3"));
    }

    #[test]
    fn an_app_is_turned_on_and_its_settings_stay() {
        let settings = |text: &str| json::decode(text.as_bytes()).unwrap();
        for (before, after) in [
            (
                "null",
                r#"{"chatbot":[{"chatbot-active":[true,"checkbox"]},"multi-input"]}"#,
            ),
            (
                r#"{"rtl":[true,"checkbox"],"chatbot":[{"chatbot-active":[false,"checkbox"],"chatbot-location":["eu","text"]},"multi-input"]}"#,
                r#"{"rtl":[true,"checkbox"],"chatbot":[{"chatbot-active":[true,"checkbox"],"chatbot-location":["eu","text"]},"multi-input"]}"#,
            ),
        ] {
            assert_eq!(turned_on(settings(before), App::Chatbot), settings(after));
        }
    }
}
