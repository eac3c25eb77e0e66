//! A small HTTP/1.1 client: what it sends and gets is what stands on the wire.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::api::{Answer, Carrier};

/// One request for each connection, to this address.
pub struct Client {
    pub address: String,
}

impl Carrier for Client {
    fn ask(&mut self, method: &str, target: &str, headers: &[(String, String)], body: &[u8]) -> Result<Answer, String> {
        let mut stream = connect(&self.address).map_err(|error| error.to_string())?;
        let request = request(method, target, headers, body);
        // A server may answer before it has read everything.
        let _ = stream.write_all(&request);
        read(&mut BufReader::new(stream), method).ok_or_else(|| "no answer came".to_owned())
    }
}

/// A connection that does not wait for ever.
pub fn connect(address: &str) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A request as it is sent.
pub fn request(method: &str, target: &str, headers: &[(String, String)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {target} HTTP/1.1\r\nHost: support.example\r\n");
    for (name, value) in headers {
        write!(text, "{name}: {value}\r\n").unwrap();
    }
    if !body.is_empty() || method == "POST" {
        write!(text, "Content-Length: {}\r\n", body.len()).unwrap();
    }
    text.push_str("\r\n");
    [text.as_bytes(), body].concat()
}

/// The next answer of a connection.
pub fn read(stream: &mut impl BufRead, method: &str) -> Option<Answer> {
    let (status, headers) = head(stream)?;
    let header = |name: &str| {
        headers
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    };
    let mut body = Vec::new();
    if method == "HEAD" || status == 204 {
        // It has none.
    } else if header("transfer-encoding") == Some("chunked") {
        loop {
            let size = usize::from_str_radix(&line(stream)?, 16).ok()?;
            let mut chunk = vec![0; size];
            stream.read_exact(&mut chunk).ok()?;
            line(stream)?;
            if size == 0 {
                break;
            }
            body.extend(chunk);
        }
    } else if let Some(length) = header("content-length") {
        body.resize(length.parse().ok()?, 0);
        stream.read_exact(&mut body).ok()?;
    } else {
        stream.read_to_end(&mut body).ok()?;
    }
    Some(Answer { status, headers, body })
}

/// Status and headers of an answer, their names in lower case.
pub fn head(stream: &mut impl BufRead) -> Option<(u16, Vec<(String, String)>)> {
    let status = line(stream)?.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Vec::new();
    while let Some((name, value)) = line(stream)?.split_once(':') {
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Some((status, headers))
}

/// A line without its end.
pub fn line(stream: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    (stream.read_line(&mut line).ok()? > 0).then(|| line.trim_end().to_owned())
}
