//! Waiting at a unix socket.
//!
//! The runtime asks the kernel about both directions of a socket at once, and at a unix socket there is room to write
//! again when the server takes a request: whoever waits for the answer is woken twice, once for nothing. A thread that
//! has nothing else to do waits at the descriptor itself, for the answer alone.

use std::collections::BTreeSet;
use std::os::fd::{BorrowedFd, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SocketAddrUnix, getpeername};

/// How long to wait here before the runtime does: it ends statements that take too long, and serves what else it has.
/// Longer than the kernel's tick, since a shorter wait has it set the clock's hardware each time.
const PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// The descriptor of a connection.
pub(super) struct Socket(RawFd);

/// The descriptors of this process that lead to a socket.
pub(super) struct Descriptors<'a> {
    path: &'a str,
    known: BTreeSet<RawFd>,
}

impl<'a> Descriptors<'a> {
    /// Those that lead to `path` now.
    pub(super) fn leading_to(path: &'a str) -> Self {
        Self {
            path,
            known: leading_to(path),
        }
    }

    /// The one that has come since. None when several have, made by other threads.
    pub(super) fn new_one(&self) -> Option<Socket> {
        let now = leading_to(self.path);
        let mut new = now.difference(&self.known);
        match (new.next(), new.next()) {
            (Some(&descriptor), None) => Some(Socket(descriptor)),
            _ => None,
        }
    }
}

impl Socket {
    /// Waits for an answer, for a while. Whether it has come.
    pub(super) fn has_answer(&self) -> bool {
        let mut watched = [PollFd::from_borrowed_fd(borrowed(self.0), PollFlags::IN)];
        poll(&mut watched, Some(&PATIENCE)).is_ok_and(|ready| ready > 0)
    }
}

fn leading_to(path: &str) -> BTreeSet<RawFd> {
    let leads_there = |descriptor: &RawFd| {
        let peer = getpeername(borrowed(*descriptor)).ok().flatten();
        peer.and_then(|peer| SocketAddrUnix::try_from(peer).ok())
            .is_some_and(|peer| peer.path_bytes() == Some(path.as_bytes()))
    };
    // Where there is no such folder no descriptor is found, and the runtime does the waiting.
    std::fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(leads_there)
        .collect()
}

#[allow(
    unsafe_code,
    reason = "the driver does not give its descriptor as a type that says how long it is open"
)]
fn borrowed(descriptor: RawFd) -> BorrowedFd<'static> {
    // SAFETY: it is only asked about. A descriptor that is closed answers with an error, and of one that is another's by
    // then the answer costs time but changes nothing.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
}
