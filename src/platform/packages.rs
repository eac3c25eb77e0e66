//! Packages: archives whose files take the place of a folder of the installation, all of them at once.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Cursor, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;
use zip::ZipArchive;
use zip::result::ZipError;

use super::crypto;
use crate::contract::error::{Error, Result};

/// How many entries a package may have, and how many bytes they may become.
const MOST_ENTRIES: usize = 10_000;
const MOST_BYTES: u64 = 200 << 20;

/// The kinds of entries that Unix knows, in the mode of one.
const KIND: u32 = 0o170_000;
const PLAIN: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

/// Puts the files of a zip archive in the place of the folder `name` in `parent`, after `complete` has added to them what
/// is to stay. What was there before is kept as `name.previous`.
pub fn install(
    parent: &Path,
    name: &str,
    archive: &[u8],
    complete: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<()> {
    let failed = |error: io::Error| Error::Refused {
        code: "file-error",
        message: format!("the folder {name} of the installation: {error}"),
    };
    let folder = parent.join(name);
    if folder.is_symlink() {
        return Err(failed(io::Error::other("it is a link; update where it leads")));
    }
    let _lock = lock(parent, name)?;
    let staging = Staging::make(parent, name)?.map_err(failed)?;
    unpack(archive, &staging.path, name)?;
    complete(&staging.path).map_err(failed)?;
    staging.put_in_place(&folder).map_err(failed)
}

/// One at a time; the lock is gone with the file or the process.
fn lock(parent: &Path, name: &str) -> Result<File> {
    let locked = File::open(parent).and_then(|folder| {
        flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
        Ok(folder)
    });
    locked.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::WOULDBLOCK) => Error::Refused {
            code: "update-running",
            message: format!("another update of {name} is running"),
        },
        _ => Error::Refused {
            code: "file-error",
            message: format!("the folder of the installation: {error}"),
        },
    })
}

/// A folder beside the one that it is to replace, removed unless it got there.
struct Staging {
    path: PathBuf,
}

impl Staging {
    fn make(parent: &Path, name: &str) -> Result<io::Result<Self>> {
        let path = parent.join(format!(".{name}.{}.new", crypto::token()?));
        Ok(folder(&path).map(|()| Self { path }))
    }

    fn put_in_place(self, target: &Path) -> io::Result<()> {
        match exchange(&self.path, target) {
            Ok(()) => {}
            // There was nothing before.
            Err(Errno::NOENT) => return fs::rename(&self.path, target),
            // A file system that cannot exchange two folders: for a moment there is none.
            Err(Errno::INVAL | Errno::NOSYS) => {
                let aside = self.path.with_extension("old");
                fs::rename(target, &aside)?;
                if let Err(error) = fs::rename(&self.path, target) {
                    fs::rename(&aside, target)?;
                    return Err(error);
                }
                fs::rename(&aside, &self.path)?;
            }
            Err(error) => return Err(error.into()),
        }
        // Ours is now what was there before, and gone is only what was there before that.
        let mut previous = target.as_os_str().to_owned();
        previous.push(".previous");
        match fs::remove_dir_all(&previous) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                std::mem::forget(self);
                Err(error)
            }
            _ => fs::rename(&self.path, &previous),
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Where it got into its place there is nothing to remove.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn exchange(one: &Path, other: &Path) -> rustix::io::Result<()> {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)
}

/// Writes the files of an archive into a folder that is empty and known to nobody else.
fn unpack(archive: &[u8], into: &Path, name: &str) -> Result<()> {
    let mut archive = ZipArchive::new(Cursor::new(archive)).map_err(|error| broken(name, &error))?;
    if archive.len() > MOST_ENTRIES {
        return Err(invalid(name, "it has more than 10000 entries"));
    }
    let mut left = MOST_BYTES;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|error| broken(name, &error))?;
        let kind = entry.unix_mode().unwrap_or_default() & KIND;
        if !matches!(kind, 0 | PLAIN | FOLDER) || entry.is_symlink() {
            return Err(invalid(name, "an entry is neither a file nor a folder"));
        }
        let path = place(entry.name_raw()).ok_or_else(|| invalid(name, "the name of an entry leads out of it"))?;
        let written = if entry.is_dir() {
            folders(into, &path)
        } else {
            write(into, &path, &mut entry, &mut left)
        };
        written.map_err(|error| invalid(name, &error.to_string()))?;
    }
    Ok(())
}

/// A relative path of plain names; `None` for any other.
fn place(name: &[u8]) -> Option<PathBuf> {
    let name = std::str::from_utf8(name).ok()?;
    let name = name.strip_suffix('/').unwrap_or(name);
    let is_plain = |part: &str| {
        !matches!(part, "" | "." | "..") && !part.contains(['\\', ':']) && !part.contains(char::is_control)
    };
    name.split('/').all(is_plain).then(|| PathBuf::from(name))
}

/// Makes a folder and those above it.
fn folders(into: &Path, path: &Path) -> io::Result<()> {
    let mut made = into.to_owned();
    for part in path {
        made.push(part);
        match folder(&made) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && made.is_dir() => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

fn write(into: &Path, path: &Path, content: &mut impl Read, left: &mut u64) -> io::Result<()> {
    folders(into, path.parent().unwrap_or(Path::new("")))?;
    let mut file = new_file(&into.join(path))?;
    // Not what the archive says of its length.
    let written = io::copy(&mut content.take(*left + 1), &mut file)?;
    *left = left
        .checked_sub(written)
        .ok_or_else(|| io::Error::other("it becomes more than 200 MiB"))?;
    Ok(())
}

/// Makes a folder that the web server can read, whatever the process keeps to itself by its umask.
pub fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o755).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o755))
}

/// Writes a file that the web server can read, in place of one that is there.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => new_file(path)?.write_all(content),
    }
}

fn new_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)?;
    file.set_permissions(Permissions::from_mode(0o644))?;
    Ok(file)
}

fn broken(name: &str, error: &ZipError) -> Error {
    invalid(name, &error.to_string())
}

fn invalid(name: &str, why: &str) -> Error {
    Error::Refused {
        code: "invalid-package",
        message: format!("the package for the folder {name} cannot be used: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in entries {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    /// Every file below a folder, with what it holds.
    fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let mut tree = BTreeMap::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(current) = folders.pop() {
            for entry in fs::read_dir(current).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                if path.is_symlink() {
                    tree.insert(name, b"a link".to_vec());
                } else if path.is_dir() {
                    folders.push(path);
                } else {
                    tree.insert(name, fs::read(&path).unwrap());
                }
            }
        }
        tree
    }

    fn ground() -> tempfile::TempDir {
        let ground = tempfile::tempdir().unwrap();
        fs::create_dir_all(ground.path().join("include/old")).unwrap();
        fs::write(ground.path().join("include/old/a.php"), "old").unwrap();
        fs::write(ground.path().join("config.php"), "secret").unwrap();
        ground
    }

    fn names<const N: usize>(names: [(&str, &str); N]) -> BTreeMap<String, Vec<u8>> {
        names
            .map(|(name, content)| (name.to_owned(), content.as_bytes().to_vec()))
            .into()
    }

    #[test]
    fn the_files_of_a_package_take_the_place_of_those_before_which_are_kept() {
        let ground = ground();
        let package = archive(&[("a.php", b"new"), ("deep/er/b.php", b"b")]);
        install(ground.path(), "include", &package, |staging| {
            assert_eq!(fs::read(ground.path().join("include/old/a.php")).unwrap(), b"old");
            replace_file(&staging.join("a.php"), b"completed")
        })
        .unwrap();
        assert_eq!(
            tree(ground.path()),
            names([
                ("config.php", "secret"),
                ("include/a.php", "completed"),
                ("include/deep/er/b.php", "b"),
                ("include.previous/old/a.php", "old"),
            ])
        );
        let mode = |name: &str| fs::metadata(ground.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            [mode("include"), mode("include/deep/er"), mode("include/deep/er/b.php")],
            [0o755, 0o755, 0o644]
        );
        install(ground.path(), "include", &archive(&[("c.php", b"third")]), |_| Ok(())).unwrap();
        install(ground.path(), "apps", &archive(&[("d.php", b"first")]), |_| Ok(())).unwrap();
        assert_eq!(
            tree(ground.path()),
            names([
                ("config.php", "secret"),
                ("include/c.php", "third"),
                ("include.previous/a.php", "completed"),
                ("include.previous/deep/er/b.php", "b"),
                ("apps/d.php", "first"),
            ])
        );
    }

    #[test]
    fn a_package_that_cannot_be_used_changes_nothing() {
        let ground = ground();
        let before = tree(ground.path());
        let mut packages: Vec<Vec<u8>> = [
            "../evil.php",
            "../../evil.php",
            "a/../../evil.php",
            "/tmp/sb-evil.php",
            "..\\evil.php",
            "C:\\evil.php",
            "C:evil.php",
            "a//b.php",
            "./a.php",
            "a/./b.php",
            "..",
            "a\0.php",
            "a\n.php",
        ]
        .map(|name| archive(&[("good.php", b"good"), (name, b"evil")]))
        .into();
        let mut linked = ZipWriter::new(Cursor::new(Vec::new()));
        linked
            .add_symlink("link", "../config.php", SimpleFileOptions::default())
            .unwrap();
        packages.push(linked.finish().unwrap().into_inner());
        let mut through = ZipWriter::new(Cursor::new(Vec::new()));
        through.add_symlink("a", "..", SimpleFileOptions::default()).unwrap();
        through
            .start_file("a/config.php", SimpleFileOptions::default())
            .unwrap();
        through.write_all(b"evil").unwrap();
        packages.push(through.finish().unwrap().into_inner());
        packages.push(archive(&[("a", b"a file"), ("a/b.php", b"in it")]));
        packages.push(archive(&[("a/b", b"in a folder"), ("a", b"a file")]));
        packages.push(b"no archive".to_vec());
        packages.push(Vec::new());
        let mut cut = archive(&[("a.php", &[7; 5000])]);
        cut.drain(60..80);
        packages.push(cut);
        packages.push(archive(&[("bomb", &vec![0; (200 << 20) + 1])]));
        for (at, package) in packages.iter().enumerate() {
            let error = install(ground.path(), "include", package, |_| Ok(())).unwrap_err();
            assert_eq!(error.code(), "invalid-package", "{at}");
            assert_eq!(tree(ground.path()), before, "{at}");
        }
        assert!(!Path::new("/tmp/sb-evil.php").exists());
        let failing = install(ground.path(), "include", &archive(&[("a", b"a")]), |_| {
            Err(io::Error::other("no"))
        });
        assert_eq!(failing.unwrap_err().code(), "file-error");
        assert_eq!(tree(ground.path()), before);
    }

    #[test]
    fn one_update_runs_at_a_time() {
        let ground = ground();
        let package = archive(&[("a.php", b"new")]);
        install(ground.path(), "include", &package, |_| {
            let second = install(ground.path(), "include", &package, |_| Ok(()));
            assert_eq!(second.unwrap_err().code(), "update-running");
            Ok(())
        })
        .unwrap();
        install(ground.path(), "include", &package, |_| Ok(())).unwrap();
    }

    #[test]
    fn a_link_is_not_replaced() {
        let ground = ground();
        fs::rename(ground.path().join("include"), ground.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", ground.path().join("include")).unwrap();
        let error = install(ground.path(), "include", &archive(&[("a", b"a")]), |_| Ok(())).unwrap_err();
        assert_eq!(error.code(), "file-error");
        let missing = install(
            &ground.path().join("missing"),
            "include",
            &archive(&[("a", b"a")]),
            |_| Ok(()),
        );
        assert_eq!(missing.unwrap_err().code(), "file-error");
    }
}
