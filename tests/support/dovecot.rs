//! A server of mailboxes on the loopback, for one test: Dovecot, in a folder of its own, on ports that nobody else has.
//!
//! It lets everyone in by one password, and everyone has a mailbox.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The password of every mailbox.
pub const PASSWORD: &str = "planted-mailbox-password";

/// Where Debian puts the server.
const PROGRAM: &str = "/usr/sbin/dovecot";

/// Whom the mailboxes belong to when root runs the tests.
const NOBODY: u32 = 65_534;

/// Made once: that takes a second.
static CERTIFICATE: OnceLock<Vec<u8>> = OnceLock::new();

/// A running server. It ends with this.
pub struct Dovecot {
    child: Child,
    folder: tempfile::TempDir,
    owner: Option<u32>,
    delivered: AtomicUsize,
    pub imap: u16,
    pub imaps: u16,
    pub pop: u16,
    pub pops: u16,
}

impl Dovecot {
    /// One that offers encryption.
    pub fn start() -> Self {
        Self::with("")
    }

    /// One with further lines in its configuration.
    pub fn with(further: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("mail").tempdir_in("/dev/shm").unwrap();
        let path = folder.path();
        // The server goes through it as another user.
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let home = path.join("home");
        fs::create_dir(&home).unwrap();
        let owner = (user_id() == 0).then_some(NOBODY);
        give(&home, owner);
        let certificate = CERTIFICATE.get_or_init(|| {
            let file = path.join("made.pem");
            super::mail::certificate(&file);
            fs::read(file).unwrap()
        });
        fs::write(path.join("certificate.pem"), certificate).unwrap();
        let [imap, imaps, pop, pops] = free_ports();
        let place = path.display();
        let users = if owner.is_some() {
            "first_valid_uid = 1\n".to_owned()
        } else {
            let (user, group) = (name_of("-un"), name_of("-gn"));
            format!("default_internal_user = {user}\ndefault_internal_group = {group}\ndefault_login_user = {user}\n")
        };
        let mail_user = owner.map_or_else(|| name_of("-u"), |owner| owner.to_string());
        let mail_group = owner.map_or_else(|| name_of("-g"), |owner| owner.to_string());
        let configuration = format!(
            "base_dir = {place}/run\nlog_path = {place}/log\nprotocols = imap pop3\nlisten = 127.0.0.1\n\
             ssl = yes\nssl_cert = <{place}/certificate.pem\nssl_key = <{place}/certificate.pem\n\
             disable_plaintext_auth = no\nmail_location = maildir:~/Maildir\nmail_fsync = never\n{users}\
             passdb {{\n  driver = static\n  args = password={PASSWORD}\n}}\n\
             userdb {{\n  driver = static\n  args = uid={mail_user} gid={mail_group} home={place}/home/%u\n}}\n\
             service imap-login {{\n  chroot =\n  inet_listener imap {{\n    port = {imap}\n  }}\n\
             inet_listener imaps {{\n    port = {imaps}\n  }}\n}}\n\
             service pop3-login {{\n  chroot =\n  inet_listener pop3 {{\n    port = {pop}\n  }}\n\
             inet_listener pop3s {{\n    port = {pops}\n  }}\n}}\n\
             service anvil {{\n  chroot =\n}}\n{further}\n"
        );
        let file = path.join("dovecot.conf");
        fs::write(&file, configuration).unwrap();
        let child = Command::new(PROGRAM)
            .arg("-F")
            .arg("-c")
            .arg(&file)
            .stdin(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{PROGRAM} (make deps): {error}"));
        let server = Self {
            child,
            folder,
            owner,
            delivered: AtomicUsize::new(0),
            imap,
            imaps,
            pop,
            pops,
        };
        server.wait();
        server
    }

    /// Until it greets.
    fn wait(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let mut first = [0];
            let greets =
                TcpStream::connect(("127.0.0.1", self.imap)).and_then(|mut stream| stream.read_exact(&mut first));
            if greets.is_ok() {
                return;
            }
            assert!(Instant::now() < deadline, "the mailboxes do not start: {}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The folder of all mailboxes.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The folder of a mailbox.
    pub fn mailbox(&self, user: &str) -> PathBuf {
        let home = self.home().join(user);
        let mailbox = home.join("Maildir");
        for folder in ["", "cur", "new", "tmp"] {
            let folder = mailbox.join(folder);
            if !folder.is_dir() {
                fs::create_dir_all(&folder).unwrap();
                give(&home, self.owner);
                give(&mailbox, self.owner);
                give(&folder, self.owner);
            }
        }
        mailbox
    }

    /// Puts an e-mail into a mailbox.
    pub fn deliver(&self, user: &str, content: &[u8]) {
        let number = self.delivered.fetch_add(1, Ordering::SeqCst);
        let mailbox = self.mailbox(user);
        // The server numbers e-mails by their names.
        let name = format!("{}.{number:08}.test", 1_700_000_000 + number);
        let temporary = mailbox.join("tmp").join(&name);
        fs::write(&temporary, content).unwrap();
        give(&temporary, self.owner);
        fs::rename(temporary, mailbox.join("new").join(name)).unwrap();
    }

    /// How many e-mails of a mailbox are marked as read, and how many there are.
    pub fn read(&self, user: &str) -> (usize, usize) {
        let mailbox = self.mailbox(user);
        let names = ["cur", "new"]
            .iter()
            .flat_map(|folder| fs::read_dir(mailbox.join(folder)).unwrap());
        let names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let read = names.iter().filter(|name| {
            let flags = name.rsplit_once(":2,").map(|(_, flags)| flags);
            flags.is_some_and(|flags| flags.contains('S'))
        });
        (read.count(), names.len())
    }
}

impl Drop for Dovecot {
    fn drop(&mut self) {
        // Its own children end with it only if it may tell them.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

fn give(path: &Path, owner: Option<u32>) {
    if owner.is_some() {
        chown(path, owner, owner).unwrap();
    }
}

fn user_id() -> u32 {
    name_of("-u").parse().unwrap()
}

/// What `id` says of us.
fn name_of(option: &str) -> String {
    let output = Command::new("id").arg(option).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Ports that the kernel names.
fn free_ports() -> [u16; 4] {
    let listeners = [(); 4].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}
