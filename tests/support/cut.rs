//! A way to the database server that can be cut: what stands for a server that is stopped and started again.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The way. Its port stays the same while it is cut.
pub struct Way {
    pub port: u16,
    server: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    open: Vec<TcpStream>,
}

impl Way {
    /// A way to the server at this port.
    pub fn to(port: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let way = Self {
            port: listener.local_addr().unwrap().port(),
            server: format!("127.0.0.1:{port}"),
            state: Arc::default(),
        };
        way.serve(listener);
        way
    }

    /// Cuts it: connections break, and new ones are closed at once.
    pub fn cut(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_cut = true;
        for stream in state.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Mends it.
    pub fn mend(&self) {
        self.state.lock().unwrap().is_cut = false;
    }

    fn serve(&self, listener: TcpListener) {
        let (server, state) = (self.server.clone(), Arc::clone(&self.state));
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let mut state = state.lock().unwrap();
                if state.is_cut {
                    continue;
                }
                let Ok(there) = TcpStream::connect(&server) else {
                    continue;
                };
                for stream in [&client, &there] {
                    stream.set_nodelay(true).unwrap();
                    state.open.push(stream.try_clone().unwrap());
                }
                let back = (there.try_clone().unwrap(), client.try_clone().unwrap());
                for (mut from, mut to) in [(client, there), back] {
                    thread::spawn(move || {
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
    }
}
