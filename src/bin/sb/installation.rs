//! Which installation a command is for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use sb::platform::Context;
use sb::platform::configuration::{Configuration, NAMES};
use sb::platform::context::Request;
use sb::platform::engine::Engine;
use sb::platform::host::PlainHost;

use crate::config_file;
use crate::failure::{Failure, Result};

/// The option that every command of an installation has.
#[derive(Args)]
pub struct Installation {
    /// The installation's config.php. It is read, not run: only its plain define() lines count. What it does not define
    /// is taken from environment variables of the same names, such as `SB_DB_NAME`; `SB_PATH` is then its folder.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Where the database is: taken together or not at all, or the file's user could reach the environment's server.
const PLACE: [&str; 3] = ["SB_DB_HOST", "SB_DB_PORT", "SB_DB_SOCKET"];

impl Installation {
    /// The file it is read from, if it is one.
    pub fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The installation as a host of the library, and its configuration.
    pub fn open(&self) -> Result<(PlainHost, Configuration)> {
        let host = PlainHost::new(self.constants()?);
        let configuration = Configuration::read(&host)?;
        Ok((host, configuration))
    }

    /// Does something for it.
    pub fn run<T>(&self, work: impl AsyncFnOnce(&Context<'_>) -> sb::contract::Result<T>) -> Result<T> {
        let (host, _) = self.open()?;
        let request = Request::default();
        let engine = Engine::default();
        Ok(engine.run(async |process| work(&Context::new(&host, process, &request)).await)?)
    }

    /// The constants of its configuration.
    pub fn constants(&self) -> Result<BTreeMap<String, String>> {
        let mut values: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| NAMES.iter().any(|(known, _)| known == name))
            .collect();
        if let Some(path) = &self.config {
            let text = std::fs::read(path)
                .map_err(|error| Failure::Unconfigured(format!("{} cannot be read: {error}", path.display())))?;
            let defined = config_file::read(&text);
            if PLACE.iter().any(|name| defined.contains_key(*name)) {
                values.retain(|name, _| !PLACE.contains(&name.as_str()));
            }
            values.extend(defined);
            // As include/functions.php has it: config.php lies in the installation folder.
            let folder = path
                .canonicalize()
                .ok()
                .and_then(|path| Some(path.parent()?.to_str()?.to_owned()));
            if let Some(folder) = folder {
                values.entry("SB_PATH".to_owned()).or_insert(folder);
            }
        }
        Ok(values)
    }
}
