//! `sb serve` as a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::bench::Installation;

/// A running server.
pub struct Serving {
    pub process: Child,
    pub address: String,
}

impl Serving {
    /// Starts one for an installation, on any free port.
    pub fn start(installation: &Installation) -> Self {
        Self::start_on(installation, "127.0.0.1:0", &[])
    }

    /// Starts one on an address, with further options.
    pub fn start_on(installation: &Installation, address: &str, options: &[&str]) -> Self {
        let program = std::env::current_exe().unwrap();
        // Cargo puts the programs of a package one folder above its tests.
        let program = program.parent().unwrap().parent().unwrap().join("sb");
        let mut process = Command::new(program)
            .args(["serve", "--listen", address, "--threads", "2"])
            .args(options)
            .env_clear()
            .envs(&installation.constants)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim().strip_prefix("Listening on http://").map(str::to_owned);
        let address = address.unwrap_or_else(|| {
            let mut reason = String::new();
            process.stderr.as_mut().unwrap().read_to_string(&mut reason).unwrap();
            panic!("sb serve did not start: {line}{reason}")
        });
        Self { process, address }
    }

    /// Asks it to end.
    pub fn stop(&self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }

    /// How it ended.
    pub fn ended(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < Duration::from_secs(20), "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What it wrote to its error output; to be asked when it has ended.
    pub fn log(&mut self) -> String {
        let mut log = String::new();
        self.process.stderr.as_mut().unwrap().read_to_string(&mut log).unwrap();
        log
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
