//! How long a statement may take.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, sleep_until};

use super::fault;
use super::socket::Socket;
use crate::contract::error::Result;

/// A limit and its one timer. The timer stays set from statement to statement, and is put off only when it rings too
/// early for the one that runs: setting a timer costs as much as reading a short answer.
pub(super) struct Limit {
    length: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    /// Where the answer comes, if the thread may wait for nothing else.
    socket: Option<Socket>,
}

impl Limit {
    pub(super) fn new(length: Duration, socket: Option<Socket>) -> Self {
        Self {
            length,
            timer: None,
            socket,
        }
    }

    /// Runs a statement. One that is cut off leaves its answer in the connection, which must be thrown away.
    pub(super) async fn of<T>(&mut self, statement: impl Future<Output = mysql_async::Result<T>>) -> Result<T> {
        let mut statement = pin!(statement);
        let end = Instant::now() + self.length;
        poll_fn(|cx| {
            if let Poll::Ready(result) = statement.as_mut().poll(cx) {
                return Poll::Ready(result.map_err(fault::of_statement));
            }
            // Only who waits long needs a timer.
            if self.socket.as_ref().is_some_and(Socket::has_answer) && Instant::now() < end {
                // The runtime looks for what has come, and goes on here.
                let _ = pin!(yield_now()).poll(cx);
                return Poll::Pending;
            }
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
            loop {
                if Instant::now() >= end {
                    return Poll::Ready(Err(fault::statement_timeout(self.length)));
                }
                if timer.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                timer.as_mut().reset(end);
            }
        })
        .await
    }
}
