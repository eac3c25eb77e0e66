//! Takes clients in, and hands each to the thread that has the fewest.
//!
//! Were each thread to take in who comes, the one that wakes first would get most of those that come together, and keep
//! them.

use std::net::{self, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::sleep;

/// The pause after a client could not be taken in: no file descriptor may be free.
const PAUSE: Duration = Duration::from_millis(50);

/// Where clients come in.
pub struct Entrance {
    listener: TcpListener,
    threads: Vec<Thread>,
}

/// A thread that serves clients.
struct Thread {
    clients: UnboundedSender<Client>,
    /// One for itself and one for each client.
    places: Arc<()>,
}

/// A client that has come in.
pub struct Client {
    /// To nobody's runtime yet.
    pub stream: net::TcpStream,
    pub address: SocketAddr,
    /// To be kept for as long as the client stays.
    pub place: Arc<()>,
}

impl Entrance {
    pub fn new(listener: TcpListener) -> Self {
        let threads = Vec::new();
        Self { listener, threads }
    }

    /// The clients of one more thread. There are no more when the entrance is closed.
    pub fn add_thread(&mut self) -> UnboundedReceiver<Client> {
        let (clients, receiver) = unbounded_channel();
        let places = Arc::new(());
        self.threads.push(Thread { clients, places });
        receiver
    }

    /// Takes clients in until it is stopped, also when whoever could stop it is gone.
    pub async fn open(mut self, mut stopped: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, address)) => self.hand_on(stream, address),
                    Err(_) => sleep(PAUSE).await,
                },
                _ = stopped.wait_for(|stopped| *stopped) => break,
            }
        }
    }

    fn hand_on(&mut self, stream: TcpStream, address: SocketAddr) {
        // One that could not begin.
        self.threads.retain(|thread| !thread.clients.is_closed());
        let fewest = self
            .threads
            .iter()
            .min_by_key(|thread| Arc::strong_count(&thread.places));
        // Of whom this fails has gone already.
        if let (Some(thread), Ok(stream)) = (fewest, stream.into_std()) {
            let place = Arc::clone(&thread.places);
            let _ = thread.clients.send(Client { stream, address, place });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::task::{LocalSet, spawn_local};

    use super::*;

    type Clients = UnboundedReceiver<Client>;

    /// The numbers of the threads that clients go to, one after the other, and who they are there.
    async fn enter(address: SocketAddr, threads: &mut [Clients], count: usize) -> (Vec<usize>, Vec<Client>) {
        let mut entered = (Vec::new(), Vec::new());
        for _ in 0..count {
            let _client = TcpStream::connect(address).await.unwrap();
            let (number, client) = loop {
                let mut numbered = threads.iter_mut().enumerate();
                if let Some(found) = numbered.find_map(|(number, thread)| Some((number, thread.try_recv().ok()?))) {
                    break found;
                }
                tokio::task::yield_now().await;
            };
            entered.0.push(number);
            entered.1.push(client);
        }
        entered
    }

    #[tokio::test]
    async fn whoever_comes_goes_where_the_fewest_are() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut entrance = Entrance::new(listener);
        // One thread could not begin.
        drop(entrance.add_thread());
        let mut threads = [entrance.add_thread(), entrance.add_thread()];
        let (stop, stopped) = watch::channel(false);
        let all = async {
            let open = spawn_local(entrance.open(stopped));
            let (numbers, mut clients) = enter(address, &mut threads, 5).await;
            assert_eq!(numbers, [0, 1, 0, 1, 0]);
            // Two leave the first thread.
            clients.remove(4);
            clients.remove(2);
            let (numbers, _clients) = enter(address, &mut threads, 3).await;
            assert_eq!(numbers, [0, 0, 1]);
            stop.send(true).unwrap();
            open.await.unwrap();
            for thread in &mut threads {
                assert!(thread.recv().await.is_none());
            }
            assert!(TcpStream::connect(address).await.is_err());
        };
        LocalSet::new().run_until(all).await;
    }
}
