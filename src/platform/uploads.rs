//! The folder of uploads: the only place that writes files for callers.
//!
//! Whatever name a caller gives, nothing outside the folder changes, and nothing is written that a web server would run.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, fchmod, mkdirat, openat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::crypto;
use crate::contract::error::{Error, Result};

/// Where uploads lie in the installation folder and under its address.
const FOLDER: &str = "uploads";

/// What a name may have, in bytes: it is kept in columns of that length.
const NAME_LIMIT: usize = 191;

/// How deep within the uploads a path may lead.
const DEEPEST: usize = 16;

/// The extensions a file may have: images, documents, sound and film, archives. Nothing that is run.
const EXTENSIONS: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "webp", "avif", "bmp", "ico", "svg", "css", "csv", "txt", "json", "pdf", "rtf", "doc",
    "docx", "odt", "xls", "xlsx", "ods", "ppt", "pptx", "odp", "ics", "vcf", "mp3", "m4a", "aac", "ogg", "oga", "opus",
    "wav", "weba", "webm", "mp4", "m4v", "mov", "avi", "mkv", "ogv", "3gp", "zip", "rar", "7z", "gz", "tar",
];

/// Extensions, without digits at their end, that some web server runs wherever they stand in a name.
const EXECUTABLE: &[&str] = &[
    "php", "phtml", "pht", "phps", "phpt", "phar", "inc", "hta", "htm", "html", "shtml", "xhtml", "xht", "stm", "xml",
    "js", "mjs", "asp", "aspx", "asa", "asax", "ascx", "ashx", "asmx", "cer", "cfm", "cfc", "jsp", "jspx", "jspf",
    "cgi", "fcgi", "pl", "pm", "py", "pyc", "rb", "lua", "tcl", "sh", "bash", "csh", "ksh", "zsh", "exe", "com", "bat",
    "cmd", "msi", "scr", "vbs", "ps", "htaccess", "htpasswd", "ini",
];

/// Characters with a meaning to some file system, and those that turn the direction of what follows.
const RESERVED: &[char] = &[
    '/', '\\', ':', '*', '?', '"', '<', '>', '|', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}',
    '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
];

/// Names that Windows keeps for devices, whatever extension follows.
const DEVICES: &[&str] = &["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
const NUMBERED_DEVICES: &[&str] = &["COM", "LPT"];

/// The uploads of an installation, or a folder within them.
#[derive(Debug, Clone)]
pub struct Uploads {
    installation: PathBuf,
    folders: Vec<String>,
    url: String,
}

impl Uploads {
    /// The uploads of the installation in the folder `path`, with the address `url`.
    pub fn new(path: &Path, url: &str) -> Self {
        Self {
            installation: path.to_owned(),
            folders: Vec::new(),
            url: format!("{}/{FOLDER}", url.trim_end_matches('/')),
        }
    }

    /// A folder within them.
    pub fn within(mut self, folder: &str) -> Result<Self> {
        check(folder)?;
        if folder.contains('.') {
            return Err(invalid("has a dot, which no folder may have"));
        }
        self.url = self.url_of(folder);
        self.folders.push(folder.to_owned());
        Ok(self)
    }

    /// The folder and the name that a path means: one from here, or an absolute one that leads here.
    pub fn locate(self, path: &str) -> Result<(Self, &str)> {
        let path = if path.starts_with('/') {
            self.relative(path)?
        } else {
            path
        };
        let (folders, name) = path
            .rsplit_once('/')
            .map_or((None, path), |(folders, name)| (Some(folders), name));
        let mut folders = folders.into_iter().flat_map(|folders| folders.split('/'));
        if folders.clone().nth(DEEPEST).is_some() {
            return Err(invalid("leads through more than 16 folders"));
        }
        Ok((folders.try_fold(self, Self::within)?, name))
    }

    /// The path that a URL of a file in here means; `None` when it leads elsewhere.
    pub fn path_of(&self, url: &str) -> Option<String> {
        let path = url.strip_prefix(&self.url)?.strip_prefix('/')?;
        let path = path.split(['?', '#']).next().unwrap_or_default();
        Some(percent_decode_str(path).decode_utf8().ok()?.into_owned())
    }

    /// What follows the uploads in an absolute path, whether or not links in it were resolved.
    fn relative<'a>(&self, path: &'a str) -> Result<&'a str> {
        let folder = self.installation.join(FOLDER);
        [folder.canonicalize().ok(), Some(folder)]
            .into_iter()
            .flatten()
            .find_map(|folder| path.strip_prefix(folder.to_str()?)?.strip_prefix('/'))
            .ok_or_else(|| invalid("is a path that leads out of the uploads"))
    }

    /// The URL of a file that is there.
    pub fn find(&self, name: &str) -> Result<Option<String>> {
        let name = stored_name(name)?;
        let found = self
            .open(false)
            .and_then(|folder| Ok(statat(folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW)?));
        match found {
            Ok(found) => Ok(is_file(found.st_mode).then(|| self.url_of(&name))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&name, &error)),
        }
    }

    /// What a file holds; `None` when there is none. One of more than `limit` bytes is refused.
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        check(name)?;
        // Whatever it is, opening it does not wait.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let content = self.open(false).and_then(|folder| {
            let file = File::from(openat(folder, name, flags, Mode::empty())?);
            content(file, limit)
        });
        match content {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(name, &error)),
        }
    }

    /// Writes a file, in place of one that has the name already, and gives its URL. A reader sees the old or the new
    /// one whole. Inner dots of the name may become `-`.
    pub fn store(&self, name: &str, content: &[u8]) -> Result<String> {
        self.written(name, content)?.keep()
    }

    /// Writes a file, under another name where one has the name already, and gives its URL.
    pub fn store_beside(&self, name: &str, content: &[u8]) -> Result<String> {
        self.written(name, content)?.keep_beside()
    }

    fn written(&self, name: &str, content: &[u8]) -> Result<Upload> {
        let mut upload = self.create(name)?;
        upload
            .write_all(content)
            .map_err(|error| failed(&upload.name, &error))?;
        Ok(upload)
    }

    /// Begins a file that is written piece by piece.
    pub fn create(&self, name: &str) -> Result<Upload> {
        let name = stored_name(name)?;
        let temporary = format!(".{}.tmp", crypto::token()?);
        let begun = self.open(true).and_then(|folder| begin(folder, &temporary, &name));
        let (folder, file) = begun.map_err(|error| failed(&name, &error))?;
        Ok(Upload {
            uploads: self.clone(),
            folder,
            file,
            temporary,
            name,
        })
    }

    /// Opens the folder, step by step and never through a link, so that nobody who changes a folder into a link while we
    /// are on the way leads us out. `uploads` itself may be one: where it lies is the administrator's choice.
    fn open(&self, make: bool) -> io::Result<OwnedFd> {
        let mode = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = openat(CWD, &self.installation, mode, Mode::empty())?;
        let names = std::iter::once(FOLDER).chain(self.folders.iter().map(String::as_str));
        for (name, link) in names.zip(std::iter::once(OFlags::empty()).chain(std::iter::repeat(OFlags::NOFOLLOW))) {
            let is_new = make && made(mkdirat(&folder, name, Mode::from_raw_mode(0o755)))?;
            folder = openat(&folder, name, mode | link, Mode::empty())?;
            if is_new {
                // The web server reads it, whatever the process keeps to itself by its umask.
                fchmod(&folder, Mode::from_raw_mode(0o755))?;
            }
        }
        Ok(folder)
    }

    fn url_of(&self, name: &str) -> String {
        format!("{}/{}", self.url, percent_encoded(name))
    }
}

/// Whether a folder was made; that it was there before is no error.
fn made(outcome: rustix::io::Result<()>) -> io::Result<bool> {
    match outcome {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A file that is being written. Nobody sees it before it is [kept](Self::keep); one that is not kept is removed.
pub struct Upload {
    uploads: Uploads,
    folder: OwnedFd,
    file: File,
    temporary: String,
    name: String,
}

impl Upload {
    /// Gives it its name, in place of a file that has it already, and gives its URL.
    pub fn keep(mut self) -> Result<String> {
        self.rename(RenameFlags::empty())
            .map_err(|error| failed(&self.name, &error.into()))?;
        Ok(self.uploads.url_of(&self.name))
    }

    /// Gives it its name or, where a file has it already, one with random digits, and gives its URL.
    fn keep_beside(mut self) -> Result<String> {
        match self.rename(RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(self.uploads.url_of(&self.name)),
            // The second: a file system that cannot rename in this way.
            Err(Errno::EXIST | Errno::INVAL) => {}
            Err(error) => return Err(failed(&self.name, &error.into())),
        }
        let digits = crypto::token()?;
        let (stem, extension) = self.name.rsplit_once('.').unwrap_or((&self.name, ""));
        self.name = format!("{stem}-{}.{extension}", digits.get(..16).unwrap_or(&digits));
        self.keep()
    }

    fn rename(&mut self, flags: RenameFlags) -> rustix::io::Result<()> {
        // The web server reads it, whatever the process keeps to itself by its umask.
        fchmod(&self.file, Mode::from_raw_mode(0o644))?;
        renameat_with(&self.folder, &self.temporary, &self.folder, &self.name, flags)?;
        self.temporary.clear();
        Ok(())
    }
}

impl Write for Upload {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        self.file.write(content)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if !self.temporary.is_empty() {
            // What cannot be written can mostly be removed.
            let _ = unlinkat(&self.folder, &self.temporary, AtFlags::empty());
        }
    }
}

/// Makes the temporary file of one that is to be named `name`.
fn begin(folder: OwnedFd, temporary: &str, name: &str) -> io::Result<(OwnedFd, File)> {
    match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) if !is_file(found.st_mode) => {
            return Err(io::Error::other("something that is no file has this name"));
        }
        Ok(_) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&folder, temporary, flags, Mode::from_raw_mode(0o600))?;
    Ok((folder, File::from(file)))
}

fn is_file(mode: rustix::fs::RawMode) -> bool {
    FileType::from_raw_mode(mode) == FileType::RegularFile
}

/// The name under which a file is stored. The dot before what could be run becomes `-`: `x.php.csv` is `x-php.csv`.
fn stored_name(name: &str) -> Result<String> {
    check(name)?;
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return Err(invalid("has no extension"));
    };
    if !EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str()) {
        return Err(invalid("has an extension that is not allowed"));
    }
    let mut parts = stem.split('.');
    let mut stored = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        stored.push(if is_executable(part) { '-' } else { '.' });
        stored.push_str(part);
    }
    Ok(format!("{stored}.{extension}"))
}

fn is_executable(extension: &str) -> bool {
    let extension = extension.trim().to_ascii_lowercase();
    EXECUTABLE.contains(&extension.trim_end_matches(|digit: char| digit.is_ascii_digit()))
}

/// What an open file holds; `None` when it is no file but something else.
pub fn content(file: File, limit: u64) -> io::Result<Result<Option<Vec<u8>>>> {
    if !file.metadata()?.is_file() {
        return Ok(Ok(None));
    }
    let mut content = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut content)?;
    let is_short = u64::try_from(content.len()).is_ok_and(|length| length <= limit);
    Ok(if is_short {
        Ok(Some(content))
    } else {
        Err(Error::too_long("the file", &format!("{limit} bytes")))
    })
}

/// What holds for files and folders.
fn check(name: &str) -> Result<()> {
    let device = name.split('.').next().unwrap_or_default().trim().to_ascii_uppercase();
    let number = NUMBERED_DEVICES.iter().find_map(|port| device.strip_prefix(port));
    let why = if name.is_empty() {
        "is empty"
    } else if name.len() > NAME_LIMIT {
        "is longer than 191 bytes"
    } else if name.contains(char::is_control) {
        "has a control character"
    } else if name.contains(RESERVED) {
        r#"has one of / \ : * ? " < > | or a mark of direction"#
    } else if name.starts_with(['.', ' ']) || name.ends_with(['.', ' ']) {
        "begins or ends with a dot or space"
    } else if DEVICES.contains(&device.as_str())
        || number.is_some_and(|number| number.chars().count() == 1 && number.contains(char::is_numeric))
    {
        "is that of a device"
    } else {
        return Ok(());
    };
    Err(invalid(why))
}

fn invalid(why: &str) -> Error {
    Error::Refused {
        code: "invalid-file-name",
        message: format!("the file name {why}"),
    }
}

/// The refusal when the file system failed.
pub fn failed(name: &str, error: &io::Error) -> Error {
    Error::Refused {
        code: "file-error",
        message: format!("{}: {error}", place(name)),
    }
}

/// What errors call a file.
pub fn place(name: &str) -> String {
    format!("{name} in the folder {FOLDER}")
}

/// A segment of a path (RFC 3986): all but unreserved characters is escaped.
fn percent_encoded(name: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    name.bytes().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const URL: &str = "https://support.example/chat/";

    /// An installation with something beside it that must stay as it is.
    struct Ground {
        folder: tempfile::TempDir,
    }

    impl Ground {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir_all(folder.path().join("chat/uploads/open")).unwrap();
            fs::write(folder.path().join("chat/config.php"), "<?php").unwrap();
            fs::write(folder.path().join("outside.csv"), "outside").unwrap();
            Self { folder }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn uploads(&self) -> Uploads {
            Uploads::new(&self.path("chat"), URL)
        }

        /// Every entry below the ground, with what it holds or where it points.
        fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
            let mut tree = BTreeMap::new();
            let mut folders = vec![self.folder.path().to_owned()];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    let kind = fs::symlink_metadata(&path).unwrap().file_type();
                    let holds = if kind.is_symlink() {
                        fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                    } else if kind.is_dir() {
                        folders.push(path.clone());
                        Vec::new()
                    } else {
                        fs::read(&path).unwrap()
                    };
                    tree.insert(path, holds);
                }
            }
            tree
        }
    }

    #[test]
    fn hostile_names_change_nothing() {
        let long = format!("{}.csv", "x".repeat(188));
        let names = [
            "",
            ".",
            "..",
            "../outside.csv",
            "../../outside.csv",
            "/etc/x.csv",
            "open/x.csv",
            "open/../../config.csv",
            "./x.csv",
            "..\\outside.csv",
            "open\\x.csv",
            "C:\\x.csv",
            "C:x.csv",
            "\\\\server\\share\\x.csv",
            "x.csv\0.php",
            "x\0.csv",
            "x\n.csv",
            "x\r\nLocation: y.csv",
            "\u{7f}x.csv",
            "x\u{85}.csv",
            ".htaccess",
            ".htaccess.csv",
            ".user.ini",
            "x.php",
            "x.PHP",
            "x.pHp5",
            "x.phtml",
            "x.phar",
            "x.html",
            "x.svg.php",
            "x.php.",
            "x.php ",
            "x.csv.",
            "x.csv ",
            " x.csv",
            "x.php::$DATA",
            "x.csv:stream",
            "x",
            "csv",
            "x.",
            "x.shtml",
            "x.exe",
            "x.htaccess",
            "web.config",
            "CON.csv",
            "con .csv",
            "nul.x.csv",
            "aux.txt",
            "lpt9.csv",
            "COM\u{b9}.csv",
            "x\u{202e}vsc.php.csv",
            "x?.csv",
            "x*.csv",
            "<x>.csv",
            "x|y.csv",
            &long,
        ];
        let ground = Ground::new();
        let before = ground.tree();
        for name in names {
            let error = ground.uploads().store(name, b"hostile").unwrap_err();
            assert_eq!(error.code(), "invalid-file-name", "{name:?}");
            assert!(ground.uploads().find(name).is_err(), "{name:?}");
            assert_eq!(ground.tree(), before, "{name:?}");
        }
        for folder in [
            "", ".", "..", "../..", "a/b", "/etc", "a\\b", "a.b", "a\0", "nul", ".git",
        ] {
            assert!(ground.uploads().within(folder).is_err(), "{folder:?}");
        }
    }

    #[test]
    fn a_path_leads_from_here_or_to_here() {
        let ground = Ground::new();
        symlink(ground.path("chat"), ground.path("link")).unwrap();
        let linked = Uploads::new(&ground.path("link"), URL);
        let absolute = |name: &str| ground.path(name).to_str().unwrap().to_owned();
        for (uploads, path) in [
            (ground.uploads(), "x.csv".to_owned()),
            (ground.uploads(), "a/b/x.csv".to_owned()),
            (ground.uploads(), absolute("chat/uploads/x.csv")),
            (linked.clone(), absolute("link/uploads/a/x.csv")),
            (linked, absolute("chat/uploads/a/x.csv")),
        ] {
            let (folder, name) = uploads.locate(&path).unwrap();
            let url = folder.store(name, b"x").unwrap();
            let written = url.strip_prefix("https://support.example/chat/").unwrap();
            assert!(path.ends_with(written.strip_prefix("uploads/").unwrap()), "{path}");
            assert!(ground.path("chat").join(written).is_file(), "{path}");
        }
        for path in [
            "/etc/x.csv".to_owned(),
            "//x.csv".to_owned(),
            "../x.csv".to_owned(),
            "a/../x.csv".to_owned(),
            "a//x.csv".to_owned(),
            "./x.csv".to_owned(),
            absolute("chat/x.csv"),
            absolute("chat/uploads2/x.csv"),
            absolute("chat/uploads/../x.csv"),
            format!("/{}", absolute("chat/uploads/x.csv")),
            format!("{}x.csv", "a/".repeat(17)),
        ] {
            assert!(ground.uploads().locate(&path).is_err(), "{path}");
        }
    }

    #[test]
    fn links_are_not_followed() {
        let ground = Ground::new();
        let uploads = ground.path("chat/uploads");
        fs::create_dir(ground.path("elsewhere")).unwrap();
        symlink(ground.path("outside.csv"), uploads.join("link.csv")).unwrap();
        symlink(ground.path("nowhere.csv"), uploads.join("broken.csv")).unwrap();
        symlink(ground.path("elsewhere"), uploads.join("folder")).unwrap();
        fs::create_dir(uploads.join("folder.csv")).unwrap();
        let before = ground.tree();
        for name in ["link.csv", "broken.csv", "folder.csv"] {
            assert_eq!(
                ground.uploads().store(name, b"x").unwrap_err().code(),
                "file-error",
                "{name}"
            );
            assert_eq!(ground.uploads().find(name), Ok(None), "{name}");
        }
        let folder = ground.uploads().within("folder").unwrap();
        assert_eq!(folder.store("x.csv", b"x").unwrap_err().code(), "file-error");
        assert_eq!(folder.find("x.csv").unwrap_err().code(), "file-error");
        assert_eq!(ground.tree(), before);
    }

    #[test]
    fn uploads_itself_may_be_a_link() {
        let ground = Ground::new();
        fs::rename(ground.path("chat/uploads"), ground.path("shared")).unwrap();
        symlink(ground.path("shared"), ground.path("chat/uploads")).unwrap();
        ground.uploads().store("x.csv", b"x").unwrap();
        assert_eq!(fs::read(ground.path("shared/x.csv")).unwrap(), b"x");
    }

    #[test]
    fn a_file_is_stored_found_and_replaced() {
        let ground = Ground::new();
        let uploads = ground.uploads();
        assert_eq!(uploads.find("x.csv"), Ok(None));
        let url = uploads.store("x.csv", b"one").unwrap();
        assert_eq!(url, "https://support.example/chat/uploads/x.csv");
        assert_eq!(uploads.find("x.csv"), Ok(Some(url.clone())));
        assert_eq!(uploads.store("x.csv", b"two"), Ok(url));
        let path = ground.path("chat/uploads/x.csv");
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        // Nothing temporary is left.
        assert_eq!(fs::read_dir(ground.path("chat/uploads")).unwrap().count(), 2);
    }

    #[test]
    fn a_hard_link_keeps_what_it_holds() {
        let ground = Ground::new();
        fs::hard_link(ground.path("outside.csv"), ground.path("chat/uploads/x.csv")).unwrap();
        ground.uploads().store("x.csv", b"new").unwrap();
        assert_eq!(fs::read(ground.path("outside.csv")).unwrap(), b"outside");
    }

    #[test]
    fn folders_are_made() {
        let ground = Ground::new();
        fs::remove_dir_all(ground.path("chat/uploads")).unwrap();
        let folder = ground.uploads().within("a b").unwrap().within("é").unwrap();
        assert_eq!(folder.find("x.csv"), Ok(None));
        assert!(!ground.path("chat/uploads").exists());
        let url = folder.store("100%.csv", b"x").unwrap();
        assert_eq!(url, "https://support.example/chat/uploads/a%20b/%C3%A9/100%25.csv");
        for folder in ["chat/uploads", "chat/uploads/a b", "chat/uploads/a b/é"] {
            let mode = fs::metadata(ground.path(folder)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o755, "{folder}");
        }
    }

    #[test]
    fn a_file_is_written_piece_by_piece_and_seen_when_it_is_whole() {
        let ground = Ground::new();
        let uploads = ground.uploads();
        let mut upload = uploads.create("x.csv").unwrap();
        upload.write_all(b"one ").unwrap();
        upload.write_all(b"two").unwrap();
        assert_eq!(uploads.find("x.csv"), Ok(None));
        let url = upload.keep().unwrap();
        assert_eq!(uploads.find("x.csv"), Ok(Some(url)));
        assert_eq!(fs::read(ground.path("chat/uploads/x.csv")).unwrap(), b"one two");
        let before = ground.tree();
        let mut given_up = uploads.create("x.csv").unwrap();
        given_up.write_all(b"half").unwrap();
        drop(given_up);
        assert_eq!(ground.tree(), before);
    }

    #[test]
    fn a_file_is_kept_beside_one_of_its_name() {
        let ground = Ground::new();
        let uploads = ground.uploads();
        let kept = |content: &[u8]| uploads.store_beside("x.csv", content).unwrap();
        let (first, second) = (kept(b"one"), kept(b"two"));
        assert_eq!(first, "https://support.example/chat/uploads/x.csv");
        let name = second.strip_prefix("https://support.example/chat/uploads/").unwrap();
        let digits = name.strip_prefix("x-").and_then(|name| name.strip_suffix(".csv"));
        assert_eq!(digits.map(str::len), Some(16), "{name}");
        assert_eq!(fs::read(ground.path("chat/uploads/x.csv")).unwrap(), b"one");
        assert_eq!(fs::read(ground.path("chat/uploads").join(name)).unwrap(), b"two");
        assert_eq!(fs::read_dir(ground.path("chat/uploads")).unwrap().count(), 3);
    }

    #[test]
    fn without_the_installation_folder_nothing_is_made() {
        let ground = Ground::new();
        let uploads = Uploads::new(&ground.path("missing"), URL);
        assert_eq!(uploads.store("x.csv", b"x").unwrap_err().code(), "file-error");
        assert!(!ground.path("missing").exists());
    }

    #[test]
    fn the_dot_before_what_could_be_run_becomes_a_dash() {
        for (name, stored) in [
            ("x.csv", "x.csv"),
            ("Überblick 2024.PDF", "Überblick 2024.PDF"),
            ("report.v1.2.csv", "report.v1.2.csv"),
            ("x.tar.gz", "x.tar.gz"),
            ("x.php.csv", "x-php.csv"),
            ("x.PhP7.v2.csv", "x-PhP7.v2.csv"),
            ("x.phtml.html.jpg", "x-phtml-html.jpg"),
            ("x.php .png", "x-php .png"),
            ("php.csv", "php.csv"),
            ("console.csv", "console.csv"),
            ("com10.csv", "com10.csv"),
        ] {
            assert_eq!(stored_name(name).unwrap(), stored);
        }
    }
}
