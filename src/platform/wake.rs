//! A sign to whoever follows the database on this machine that there is something new in it: one datagram without
//! content, which may get lost. Then it is found a moment later, by looking.
//!
//! The sockets have abstract names (unix(7)), which need no folder and no rights, so that PHP and the server find each
//! other whatever users they run as.

use std::cell::{OnceCell, RefCell};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::crypto;
use super::db::{Endpoint, Settings};
use crate::contract::error::Result;

/// How many followers of one database are woken on a machine. More only look by themselves.
const PLACES: u8 = 8;

/// How long a place that was empty is taken to be so. Whoever comes to one begins by looking, and looks by itself then.
const EMPTY_FOR: Duration = Duration::from_millis(100);

/// Wakes the followers.
#[derive(Default)]
pub struct Wake {
    socket: OnceCell<Option<UnixDatagram>>,
    known: RefCell<Option<Known>>,
}

/// The places of the database that was written to last.
struct Known {
    database: Rc<Settings>,
    places: Vec<Place>,
    /// When all of them were tried.
    tried: Instant,
}

struct Place {
    address: SocketAddr,
    is_taken: bool,
}

impl Wake {
    /// Wakes those who follow a database.
    pub fn ring(&self, database: &Rc<Settings>) {
        let Some(socket) = self.socket.get_or_init(socket) else {
            return;
        };
        let mut known = self.known.borrow_mut();
        let known = match known.as_mut() {
            Some(known) if known.database == *database => {
                if known.tried.elapsed() >= EMPTY_FOR {
                    known.try_all();
                }
                known
            }
            _ => known.insert(Known::of(database)),
        };
        for place in known.places.iter_mut().filter(|place| place.is_taken) {
            place.is_taken = match socket.send_to_addr(&[], &place.address) {
                Ok(_) => true,
                // Whoever is awake already needs no second sign.
                Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            };
        }
    }
}

impl Known {
    fn of(database: &Rc<Settings>) -> Self {
        let places = addresses(&name(database)).map(|address| Place {
            address,
            is_taken: true,
        });
        Self {
            places: places.collect(),
            database: Rc::clone(database),
            tried: Instant::now(),
        }
    }

    /// Most places are empty, and may be taken by now.
    fn try_all(&mut self) {
        self.tried = Instant::now();
        for place in &mut self.places {
            place.is_taken = true;
        }
    }
}

fn socket() -> Option<UnixDatagram> {
    let socket = UnixDatagram::unbound().ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}

/// Where the signs for a database arrive: at the first place that is free.
pub fn listen(database: &Settings) -> Result<UnixDatagram, io::Error> {
    let mut failure = io::Error::from(io::ErrorKind::AddrInUse);
    for address in addresses(&name(database)) {
        match UnixDatagram::bind_addr(&address) {
            Ok(socket) => {
                socket.set_nonblocking(true)?;
                return Ok(socket);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// A database, by what it is called and where it is.
fn name(database: &Settings) -> String {
    let mut name = database.name.clone();
    for endpoint in &database.endpoints {
        name.push('\n');
        match endpoint {
            Endpoint::Socket(path) => name.push_str(path),
            Endpoint::Address { host, port } => {
                name.push_str(host);
                name.push(':');
                name.push_str(&port.to_string());
            }
        }
    }
    name
}

/// The places of a database.
fn addresses(name: &str) -> impl Iterator<Item = SocketAddr> + use<> {
    let digest = crypto::sha256(name.as_bytes()).unwrap_or_default();
    (0..PLACES).filter_map(move |place| SocketAddr::from_abstract_name(format!("sb-wake/{digest}/{place}")).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::configuration::database_of;

    #[test]
    fn followers_of_a_database_are_woken_and_no_others() {
        let name = format!("wake_{}", std::process::id());
        let [own, other] = ["db1", "db2"].map(|host| Rc::new(database_of(&name, "u", host)));
        let followers = [listen(&own).unwrap(), listen(&own).unwrap()];
        let stranger = listen(&other).unwrap();
        let wake = Wake::default();
        wake.ring(&own);
        wake.ring(&own);
        let mut room = [0; 1];
        for follower in &followers {
            assert_eq!(follower.recv(&mut room).unwrap(), 0);
            assert_eq!(follower.recv(&mut room).unwrap(), 0);
        }
        let waits = |socket: &UnixDatagram| socket.recv(&mut [0; 1]).unwrap_err().kind() == io::ErrorKind::WouldBlock;
        assert!(followers.iter().all(waits) && waits(&stranger));
        // Whoever comes to a place that was empty is found there after a while.
        let late = listen(&own).unwrap();
        let tried = |when| wake.known.borrow_mut().as_mut().unwrap().tried = when;
        tried(Instant::now() + EMPTY_FOR * 100);
        wake.ring(&own);
        assert!(waits(&late));
        tried(Instant::now().checked_sub(EMPTY_FOR).unwrap());
        wake.ring(&own);
        assert_eq!(late.recv(&mut room).unwrap(), 0);
        // A place is free again when its follower has gone.
        drop((followers, late));
        let again: Vec<_> = (0..PLACES).map(|_| listen(&own).unwrap()).collect();
        assert_eq!(listen(&own).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(again);
    }
}
