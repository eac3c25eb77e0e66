//! The configuration file and the folder of uploads.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sb::platform::configuration::Configuration;
use sb::platform::uploads::Uploads;

use super::report::Report;

const CONFIGURATION: &str = "configuration";
const UPLOADS: &str = "uploads";

const ROOT: u32 = 0;
const FOR_EVERYONE_TO_READ: u32 = 0o004;
const FOR_THE_GROUP_TO_WRITE: u32 = 0o020;
const FOR_EVERYONE_TO_WRITE: u32 = 0o002;

/// Looks at both.
pub fn look(configuration: &Configuration, file: Option<&Path>, report: &mut Report) -> io::Result<()> {
    look_at_file(configuration, file, report)?;
    match &configuration.path {
        None => report.find(
            UPLOADS,
            "SB_PATH is not configured: files cannot be written",
            "define SB_PATH in config.php: the folder above include/",
        ),
        Some(path) => look_at_uploads(path, report),
    }
}

fn look_at_file(configuration: &Configuration, file: Option<&Path>, report: &mut Report) -> io::Result<()> {
    let name = file.map_or("the environment".to_owned(), |file| file.display().to_string());
    report.fine(CONFIGURATION, &format!("{name} is read"))?;
    if let Some(file) = file
        && std::fs::metadata(file)?.mode() & FOR_EVERYONE_TO_READ != 0
    {
        report.advise(
            CONFIGURATION,
            &format!("every user of this host can read {name}, and the password in it"),
            &format!("chmod o-r {name}, where the web server is its owner or of its group"),
        )?;
    }
    let url = configuration.url.as_deref().unwrap_or_default();
    if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
        report.find(
            CONFIGURATION,
            "SB_URL is no http or https address: links to files lead nowhere",
            "define SB_URL in config.php: the address of the folder above include/",
        )?;
    }
    if configuration.secret_key.is_none() {
        report.advise(
            CONFIGURATION,
            "there is no SB_SECRET_KEY: the secret lies in the database, beside what it protects",
            "define one before the first login, such as `openssl rand -hex 32` prints; later it logs everybody out",
        )?;
    }
    Ok(())
}

fn look_at_uploads(installation: &Path, report: &mut Report) -> io::Result<()> {
    let folder = installation.join("uploads");
    let shown = folder.display();
    match std::fs::metadata(&folder) {
        Err(error) => report.find(
            UPLOADS,
            &format!("{shown} cannot be looked at: {error}"),
            &format!("make it and give it to the web server: install -d -o www-data {shown}"),
        ),
        Ok(found) if !found.is_dir() => report.find(
            UPLOADS,
            &format!("{shown} is no folder"),
            "move it away and make a folder of that name",
        ),
        Ok(found) if found.mode() & FOR_EVERYONE_TO_WRITE != 0 => report.find(
            UPLOADS,
            &format!("every user of this host can write into {shown}"),
            &format!("chmod o-w {shown}"),
        ),
        Ok(found) if is_roots_alone(&found) => report.find(
            UPLOADS,
            &format!("{shown} belongs to root, and nobody else can write into it"),
            &format!("give it to the web server: chown www-data {shown}"),
        ),
        Ok(found) => {
            let owner = format!(
                "its owner is user {}, its mode {:o}",
                found.uid(),
                found.mode() & 0o7777
            );
            // A file that is begun and not kept leaves nothing behind.
            match Uploads::new(installation, "").create("doctor.txt") {
                Ok(_) => report.fine(UPLOADS, &format!("{shown} can be written; {owner}")),
                Err(error) => report.find(
                    UPLOADS,
                    &format!("{error}; {owner}"),
                    "run this as the web server's user; where it fails for that one too, give it the folder",
                ),
            }
        }
    }
}

/// Whoever looks as root can write everywhere: what tells is who else can.
fn is_roots_alone(found: &Metadata) -> bool {
    let group_can = found.mode() & FOR_THE_GROUP_TO_WRITE != 0 && found.gid() != ROOT;
    found.uid() == ROOT && !group_can
}
