//! A mail server on the loopback for a test, and what it was sent.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509, X509NameBuilder};
use serde_json::Value;

/// A running server of `smtp_server.py`. It ends with this.
pub struct MailServer {
    child: Child,
    pub port: u16,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl MailServer {
    /// Starts one with the options of the program.
    pub fn start(options: &Value) -> Self {
        let mut child = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/sdk"))
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/smtp_server.py"))
            .arg(options.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut next = move || Some(serde_json::from_str::<Value>(&lines.next()?.ok()?).unwrap());
        let first = next().unwrap();
        let port = first["port"].as_u64().unwrap().try_into().unwrap();
        let seen = Arc::<Mutex<Vec<Value>>>::default();
        let log = Arc::clone(&seen);
        thread::spawn(move || {
            while let Some(line) = next() {
                log.lock().unwrap().push(line);
            }
        });
        Self { child, port, seen }
    }

    /// One that speaks in clear and lets everyone in.
    pub fn plain() -> Self {
        Self::start(&serde_json::json!({"encryption": "none"}))
    }

    /// What it has seen of one kind: `email`, `login`, `hello`.
    pub fn seen(&self, event: &str) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|line| line["event"] == event).cloned().collect()
    }

    /// Its e-mails, once there are so many.
    pub fn emails(&self, count: usize) -> Vec<Value> {
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.seen("email").len() < count && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let emails = self.seen("email");
        assert_eq!(emails.len(), count, "{emails:#?}");
        emails
    }

    /// Its only e-mail.
    pub fn email(&self) -> Value {
        self.emails(1).remove(0)
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All headers of an e-mail that have a name.
pub fn headers<'a>(email: &'a Value, name: &str) -> Vec<&'a str> {
    let headers = email["headers"].as_array().unwrap().iter();
    let of_name = headers.filter(|header| header[0].as_str().unwrap().eq_ignore_ascii_case(name));
    of_name.map(|header| header[1].as_str().unwrap()).collect()
}

/// Writes a certificate that signs itself, with its key, for 127.0.0.1.
pub fn certificate(path: &Path) {
    let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", "127.0.0.1").unwrap();
    let name = name.build();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_subject_name(&name).unwrap();
    builder.set_issuer_name(&name).unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(1).unwrap()).unwrap();
    let names = SubjectAlternativeName::new()
        .ip("127.0.0.1")
        .build(&builder.x509v3_context(None, None))
        .unwrap();
    builder.append_extension(names).unwrap();
    builder.sign(&key, MessageDigest::sha256()).unwrap();
    let certificate = builder.build();
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(&key.private_key_to_pem_pkcs8().unwrap()).unwrap();
    file.write_all(&certificate.to_pem().unwrap()).unwrap();
}
