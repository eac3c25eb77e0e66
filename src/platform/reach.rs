//! Whether anybody listens at an address, and whether that is here.

use std::net::IpAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

/// Opens a TCP connection and closes it; what failed otherwise.
pub async fn reach(host: &str, port: u16, limit: Duration) -> Result<(), String> {
    match timeout(limit, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {} s", limit.as_secs_f64())),
    }
}

/// Whether a server runs on this machine.
pub fn is_local(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}
