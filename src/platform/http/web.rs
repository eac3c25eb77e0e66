//! The way to addresses that callers give, some of which a visitor may have typed.
//!
//! It leads to the public internet only: not to this machine, nor to the networks behind it. A name is looked up once,
//! its addresses are judged, and the connection goes to those that were judged, so that a second answer of the name's
//! owner changes nothing. Each redirect is judged anew. No proxy stands in between: it would look the name up itself.

use std::cell::OnceCell;
use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use ipnet::{Ipv4Net, Ipv6Net};
use native_tls::{Protocol, TlsConnector};
use percent_encoding::percent_decode_str;
pub use reqwest::Method;
use reqwest::dns::{Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use tokio::net::lookup_host;
use tokio::time::timeout;

use super::{Limits, Unread, body, failure, too_long};
use crate::contract::error::{Error, Outcome, ProviderError, Result};

/// How many redirects are followed.
const REDIRECTS: usize = 3;

const LIMITS: Limits = Limits {
    connect: Duration::from_secs(5),
    total: Duration::from_secs(10),
    body: 20 << 20,
};

/// What of IPv4 is not the public internet, by IANA's registry of special-purpose addresses.
const NOT_PUBLIC_V4: &[Ipv4Net] = &[
    v4([0, 0, 0, 0], 8),
    v4([10, 0, 0, 0], 8),
    v4([100, 64, 0, 0], 10),
    v4([127, 0, 0, 0], 8),
    v4([169, 254, 0, 0], 16),
    v4([172, 16, 0, 0], 12),
    v4([192, 0, 0, 0], 24),
    v4([192, 0, 2, 0], 24),
    v4([192, 88, 99, 0], 24),
    v4([192, 168, 0, 0], 16),
    v4([198, 18, 0, 0], 15),
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    v4([224, 0, 0, 0], 3),
    // In no registry: where a large provider's machines ask for their own credentials.
    v4([168, 63, 129, 16], 32),
];

/// All of the public internet in IPv6 …
const PUBLIC_V6: Ipv6Net = v6([0x2000, 0], 3);

/// … but for these: Teredo and its like, documentation, and 6to4, behind which any IPv4 address may stand. The prefixes
/// of NAT64 and of IPv4 in IPv6 lie outside of it anyway.
const NOT_PUBLIC_V6: &[Ipv6Net] = &[
    v6([0x2001, 0], 23),
    v6([0x2001, 0xdb8], 32),
    v6([0x2002, 0], 16),
    v6([0x3fff, 0], 20),
];

/// Headers of a caller that go along to another origin; any other could be a credential.
const HARMLESS: [HeaderName; 3] = [ACCEPT, CONTENT_TYPE, USER_AGENT];

const fn v4([a, b, c, d]: [u8; 4], length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6([a, b]: [u16; 2], length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), length)
}

/// The web, as callers reach it.
pub struct Web {
    network: Box<dyn Network>,
    limits: Limits,
    tls: OnceCell<TlsConnector>,
}

/// A request to an address of a caller.
#[derive(Debug, Clone)]
pub struct Request {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Vec<u8>,
}

/// What came back.
#[derive(Debug)]
pub struct Page {
    /// The HTTP status.
    pub status: u16,
    /// The type of its content, as the server says.
    pub content_type: Option<String>,
    /// Its content.
    pub body: Vec<u8>,
    /// Where it was found at last: host and port.
    pub place: String,
}

/// A host of the administrator's that callers may reach wherever it is: one port of it, or all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    host: String,
    port: Option<u16>,
}

/// How names become addresses, and which addresses are public.
trait Network {
    fn look_up(&self, host: &str, port: u16) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>>>>;

    fn is_public(&self, address: IpAddr) -> bool;
}

/// The network that this machine is in.
struct Internet;

impl Network for Internet {
    fn look_up(&self, host: &str, port: u16) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>>>> {
        let host = host.to_owned();
        Box::pin(async move { Ok(lookup_host((host, port)).await?.collect()) })
    }

    fn is_public(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => !NOT_PUBLIC_V4.iter().any(|network| network.contains(&address)),
            IpAddr::V6(address) => {
                PUBLIC_V6.contains(&address) && !NOT_PUBLIC_V6.iter().any(|network| network.contains(&address))
            }
        }
    }
}

impl Default for Web {
    fn default() -> Self {
        Self {
            network: Box::new(Internet),
            limits: LIMITS,
            tls: OnceCell::new(),
        }
    }
}

impl Web {
    /// Sends a request, follows redirects, and reads what comes at last, whatever its status.
    pub async fn fetch(&self, request: Request, allowed: &[Allowed]) -> Result<Page> {
        let place = request.place();
        timeout(self.limits.total, self.follow(request, allowed))
            .await
            .unwrap_or_else(|_| {
                let message = format!("{place} did not answer within {:?}", self.limits.total);
                Err(failed(message, Outcome::Unknown))
            })
    }

    async fn follow(&self, mut request: Request, allowed: &[Allowed]) -> Result<Page> {
        for _ in 0..=REDIRECTS {
            let addresses = self.addresses(&request, allowed).await?;
            let response = self.send(&request, &addresses).await?;
            match request.redirected(response.status(), response.headers().get(LOCATION))? {
                Some(next) => request = next,
                None => return self.read(&request, response).await,
            }
        }
        let message = format!("{} redirects more than {REDIRECTS} times", request.place());
        Err(failed(message, Outcome::Unknown))
    }

    /// Where to connect to: the only look-up of the name, and the only judgement.
    async fn addresses(&self, request: &Request, allowed: &[Allowed]) -> Result<Vec<SocketAddr>> {
        let (host, port) = (request.host(), request.port());
        let found = match host.trim_matches(['[', ']']).parse() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => self.network.look_up(host, port).await.map_err(|error| {
                let message = format!("{} cannot be reached: {error}", request.place());
                failed(message, Outcome::NotSent)
            })?,
        };
        let is_own = allowed.iter().any(|own| own.is(host, port));
        let usable: Vec<_> = found
            .into_iter()
            .filter(|address| is_own || self.network.is_public(address.ip()))
            .collect();
        if usable.is_empty() {
            let message = format!(
                "{} is not on the public internet; the setting http-allowed-hosts admits own hosts",
                request.place()
            );
            return Err(refused(message));
        }
        Ok(usable)
    }

    async fn send(&self, request: &Request, addresses: &[SocketAddr]) -> Result<Response> {
        let client = Client::builder()
            .user_agent(concat!("sb/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.limits.connect)
            .timeout(self.limits.total)
            .pool_max_idle_per_host(0)
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .tls_backend_preconfigured(self.tls()?)
            .dns_resolver(Nobody)
            .resolve_to_addrs(request.host(), addresses)
            .build()
            .map_err(|error| Error::Internal(format!("no HTTP client: {error}")))?;
        let mut sent = client
            .request(request.method.clone(), request.url.clone())
            .headers(request.headers.clone());
        if !request.body.is_empty() {
            sent = sent.body(request.body.clone());
        }
        sent.send().await.map_err(|error| self.failed(request, &error))
    }

    async fn read(&self, request: &Request, mut response: Response) -> Result<Page> {
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|kind| Some(kind.to_str().ok()?.to_owned()));
        let limit = self.limits.body;
        let body = body(&mut response, limit).await.map_err(|unread| match unread {
            Unread::Failed(error) => self.failed(request, &error),
            Unread::TooLong => failed(too_long(&request.place(), limit), Outcome::Unknown),
        })?;
        Ok(Page {
            status: response.status().as_u16(),
            content_type,
            body,
            place: request.place(),
        })
    }

    fn failed(&self, request: &Request, error: &reqwest::Error) -> Error {
        let (message, outcome) = failure(error, &request.place(), self.limits);
        failed(message, outcome)
    }

    fn tls(&self) -> Result<TlsConnector> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls.clone());
        }
        let tls = TlsConnector::builder()
            .min_protocol_version(Some(Protocol::Tlsv12))
            .build()
            .map_err(|error| Error::Internal(format!("no TLS: {error}")))?;
        Ok(self.tls.get_or_init(|| tls).clone())
    }
}

impl Request {
    /// A request for an address, which must be of http or https.
    pub fn new(method: Method, url: &str) -> Result<Self> {
        let url = Url::parse(url.trim()).map_err(|error| refused(format!("this is no address: {error}")))?;
        Ok(Self {
            method,
            url: checked(url)?,
            headers: HeaderMap::new(),
            body: Vec::new(),
        })
    }

    /// With a header, in place of one of that name.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self> {
        let header = HeaderName::from_bytes(name.as_bytes()).ok();
        let Some((name, mut value)) = header.zip(HeaderValue::from_str(value).ok()) else {
            return Err(Error::Refused {
                code: "invalid-header",
                message: "a header is a name, a colon and a value in one line".into(),
            });
        };
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// The value of a header that it has.
    pub fn header_of(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// With fields of a form: in the address where the method has no body, in the body otherwise.
    #[must_use]
    pub fn form(mut self, fields: &[(String, String)]) -> Self {
        if self.has_no_body() {
            if !fields.is_empty() {
                self.url.query_pairs_mut().extend_pairs(fields);
            }
            return self;
        }
        let mut form = self.url.clone();
        form.set_query(None);
        form.query_pairs_mut().extend_pairs(fields);
        let form = form.query().unwrap_or_default().as_bytes().to_vec();
        self.body(form, "application/x-www-form-urlencoded")
    }

    /// With further parameters in the address, which are written as such.
    #[must_use]
    pub fn query(mut self, parameters: &str) -> Self {
        let query = match self.url.query() {
            Some(query) if !query.is_empty() => format!("{query}&{parameters}"),
            _ => parameters.to_owned(),
        };
        self.url.set_query(Some(&query));
        self
    }

    /// With a body of a type, unless a header names another.
    #[must_use]
    pub fn body(mut self, body: Vec<u8>, content_type: &'static str) -> Self {
        self.headers
            .entry(CONTENT_TYPE)
            .or_insert(HeaderValue::from_static(content_type));
        self.body = body;
        self
    }

    /// Whether its method is one that carries nothing (RFC 9110, section 9.3).
    pub fn has_no_body(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }

    /// The name of the file that the address leads to; empty when it leads to none.
    pub fn file_name(&self) -> String {
        let last = self.url.path_segments().and_then(|mut segments| segments.next_back());
        percent_decode_str(last.unwrap_or_default())
            .decode_utf8_lossy()
            .into_owned()
    }

    fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or_default()
    }

    /// Host and port: all of an address that may be shown, since the rest can hold credentials.
    fn place(&self) -> String {
        format!("{}:{}", self.host(), self.port())
    }

    /// The request that a redirect asks for (RFC 9110, section 15.4); `None` where an answer is none.
    fn redirected(&self, status: StatusCode, location: Option<&HeaderValue>) -> Result<Option<Self>> {
        let keeps_method = match status {
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method != Method::POST,
            StatusCode::SEE_OTHER => self.method == Method::HEAD,
            _ => return Ok(None),
        };
        let Some(location) = location else {
            return Ok(None);
        };
        let url = location.to_str().ok().and_then(|location| self.url.join(location).ok());
        let url = url.ok_or_else(|| refused(format!("{} redirects to what is no address", self.place())))?;
        let mut next = Self {
            url: checked(url)?,
            ..self.clone()
        };
        if next.url.origin() != self.url.origin() {
            let harmless = HARMLESS
                .iter()
                .filter_map(|name| Some((name.clone(), self.headers.get(name)?.clone())));
            next.headers = harmless.collect();
        }
        if !keeps_method {
            next.method = Method::GET;
            next.body.clear();
            next.headers.remove(CONTENT_TYPE);
        }
        Ok(Some(next))
    }
}

impl Allowed {
    /// Reads `host` or `host:port`; `None` for what is neither.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Some(Self {
                host: format!("[{address}]"),
                port: None,
            });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().ok()?)),
            _ => (text, None),
        };
        // As the host of an address is read, so that both have one form.
        let url = Url::parse(&format!("https://{host}/")).ok()?;
        let is_host_only = url.path() == "/" && url.port().is_none() && url.username().is_empty();
        let host = url.host_str().filter(|_| is_host_only)?.to_owned();
        Some(Self { host, port })
    }

    fn is(&self, host: &str, port: u16) -> bool {
        self.host == host && self.port.is_none_or(|own| own == port)
    }
}

/// Looks up nothing: a connection goes to the addresses that were judged, or nowhere.
struct Nobody;

impl Resolve for Nobody {
    fn resolve(&self, _: Name) -> Resolving {
        Box::pin(async { Err(Box::<dyn StdError + Send + Sync>::from("no address was judged")) })
    }
}

/// An address of the web.
fn checked(url: Url) -> Result<Url> {
    if matches!(url.scheme(), "http" | "https") && url.host_str().is_some() {
        Ok(url)
    } else {
        Err(refused(format!(
            "an address of {} is not one of http or https",
            url.scheme()
        )))
    }
}

fn refused(message: String) -> Error {
    Error::Refused {
        code: "url-not-allowed",
        message,
    }
}

fn failed(message: String, outcome: Outcome) -> Error {
    Error::Provider(Box::new(ProviderError {
        service: "http",
        message,
        outcome,
        response: None,
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::Instant;

    use super::*;

    /// A network in which names have the addresses that they are given, one list after the other, and in which one
    /// address of the loopback is public.
    struct Staged {
        names: BTreeMap<&'static str, Vec<Vec<&'static str>>>,
        asked: Arc<Mutex<Vec<String>>>,
    }

    const PUBLIC: &str = "127.0.0.2";
    const PRIVATE: &str = "127.0.0.1";

    impl Network for Staged {
        fn look_up(&self, host: &str, port: u16) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>>>> {
            let mut asked = self.asked.lock().unwrap();
            let before = asked.iter().filter(|own| *own == host).count();
            asked.push(host.to_owned());
            let answers = &self.names[host];
            let answer = answers.get(before).or(answers.last()).unwrap();
            let found = answer
                .iter()
                .map(|address| SocketAddr::new(address.parse().unwrap(), port));
            let found = Ok(found.collect());
            Box::pin(async move { found })
        }

        fn is_public(&self, address: IpAddr) -> bool {
            address.to_string() == PUBLIC
        }
    }

    /// Listens on the public and the private address, on one port, and gives each connection the same answer.
    struct Servers {
        port: u16,
        public: Arc<AtomicUsize>,
        private: Arc<AtomicUsize>,
    }

    fn servers(answer: fn(u16) -> String) -> Servers {
        let public = TcpListener::bind((PUBLIC, 0)).unwrap();
        let port = public.local_addr().unwrap().port();
        let private = TcpListener::bind((PRIVATE, port)).unwrap();
        let serve = |listener: TcpListener| {
            let count = Arc::<AtomicUsize>::default();
            let counted = Arc::clone(&count);
            thread::spawn(move || {
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    counted.fetch_add(1, Ordering::SeqCst);
                    let _ = stream.read(&mut [0; 4096]);
                    let _ = stream.write_all(answer(port).as_bytes());
                }
            });
            count
        };
        Servers {
            port,
            public: serve(public),
            private: serve(private),
        }
    }

    fn web(names: &[(&'static str, &[&[&'static str]])]) -> (Web, Arc<Mutex<Vec<String>>>) {
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let names = names
            .iter()
            .map(|(name, answers)| (*name, answers.iter().map(|answer| answer.to_vec()).collect()));
        let web = Web {
            network: Box::new(Staged {
                names: names.collect(),
                asked: Arc::clone(&asked),
            }),
            limits: Limits {
                total: Duration::from_secs(2),
                body: 1000,
                ..LIMITS
            },
            tls: OnceCell::new(),
        };
        (web, asked)
    }

    fn get(web: &Web, url: &str, allowed: &[Allowed]) -> Result<Page> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(web.fetch(Request::new(Method::GET, url)?, allowed))
    }

    const OK: fn(u16) -> String = |_| "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_owned();

    #[test]
    fn the_public_internet_is_what_the_registries_leave() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b::808:808",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!Internet.is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "128.0.0.1",
            "168.63.129.15",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2606:4700:4700::1111",
            "2a00:1450:4001::1",
        ] {
            assert!(Internet.is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn the_connection_goes_to_the_address_that_was_judged() {
        let servers = servers(OK);
        // Whoever owns the name answers the second time with the private address.
        let (web, asked) = web(&[("turning.example", &[&[PUBLIC], &[PRIVATE]])]);
        let url = format!("http://turning.example:{}/", servers.port);
        assert_eq!(get(&web, &url, &[]).unwrap().body, b"ok");
        assert_eq!(*asked.lock().unwrap(), ["turning.example"]);
        assert_eq!(get(&web, &url, &[]).unwrap_err().code(), "url-not-allowed");
        assert_eq!(servers.public.load(Ordering::SeqCst), 1);
        assert_eq!(servers.private.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn of_several_addresses_only_the_public_ones_are_used() {
        let servers = servers(OK);
        let (web, _) = web(&[("mixed.example", &[&[PRIVATE, PUBLIC]])]);
        let url = format!("http://mixed.example:{}/", servers.port);
        assert_eq!(get(&web, &url, &[]).unwrap().body, b"ok");
        assert_eq!(servers.public.load(Ordering::SeqCst), 1);
        assert_eq!(servers.private.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_redirect_is_judged_as_the_first_address_is() {
        let servers = servers(|port| {
            format!("HTTP/1.1 302 Found\r\nlocation: http://private.example:{port}/\r\ncontent-length: 0\r\n\r\n")
        });
        let (web, asked) = web(&[("public.example", &[&[PUBLIC]]), ("private.example", &[&[PRIVATE]])]);
        let error = get(&web, &format!("http://public.example:{}/", servers.port), &[]).unwrap_err();
        assert_eq!(error.code(), "url-not-allowed");
        assert_eq!(*asked.lock().unwrap(), ["public.example", "private.example"]);
        assert_eq!(servers.private.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn three_redirects_are_followed_and_not_four() {
        let servers = servers(|_| "HTTP/1.1 302 Found\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n".to_owned());
        let (web, _) = web(&[("public.example", &[&[PUBLIC]])]);
        let error = get(&web, &format!("http://public.example:{}/", servers.port), &[]).unwrap_err();
        assert_eq!(error.code(), "http-error");
        assert!(error.to_string().ends_with("redirects more than 3 times"), "{error}");
        assert_eq!(servers.public.load(Ordering::SeqCst), 4);
    }

    #[test]
    fn own_hosts_are_reached_wherever_they_are() {
        let servers = servers(OK);
        let (web, _) = web(&[("own.example", &[&[PRIVATE]])]);
        let url = format!("http://own.example:{}/", servers.port);
        let port = servers.port.to_string();
        for (own, reached) in [
            (format!("own.example:{port}"), true),
            ("own.example".to_owned(), true),
            (" OWN.example ".to_owned(), true),
            ("own.example:1".to_owned(), false),
            ("example".to_owned(), false),
            (".example".to_owned(), false),
            ("*.example".to_owned(), false),
            (PRIVATE.to_owned(), false),
        ] {
            let allowed: Vec<_> = Allowed::read(&own).into_iter().collect();
            assert_eq!(get(&web, &url, &allowed).is_ok(), reached, "{own}");
        }
    }

    #[test]
    fn an_own_host_is_a_host_or_one_port_of_it() {
        for (text, host, port) in [
            ("a.example", "a.example", None),
            ("A.Example:80", "a.example", Some(80)),
            ("127.0.0.1:8080", "127.0.0.1", Some(8080)),
            ("::1", "[::1]", None),
            ("[::1]", "[::1]", None),
            ("[::1]:443", "[::1]", Some(443)),
            ("bücher.example", "xn--bcher-kva.example", None),
        ] {
            let host = host.to_owned();
            assert_eq!(Allowed::read(text), Some(Allowed { host, port }), "{text}");
        }
        for text in [
            "",
            " ",
            "https://a.example",
            "a.example/x",
            "a.example:",
            "a.example:x",
            "a.example:70000",
            "a@b.example",
            "a b",
            "[::1",
        ] {
            assert_eq!(Allowed::read(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_too_long_or_too_late_is_given_up() {
        let (web, _) = web(&[("public.example", &[&[PUBLIC]])]);
        let of = |servers: &Servers| format!("http://public.example:{}/secret?token=1", servers.port);
        let long = servers(|_| format!("HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n{}", "x".repeat(1001)));
        let error = get(&web, &of(&long), &[]).unwrap_err().to_string();
        assert!(error.ends_with("answered with more than 1000 bytes"), "{error}");
        let fits = servers(|_| format!("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{}", "x".repeat(1000)));
        assert_eq!(get(&web, &of(&fits), &[]).unwrap().body.len(), 1000);
        let late = servers(|_| {
            thread::sleep(Duration::from_secs(30));
            String::new()
        });
        let started = Instant::now();
        let error = get(&web, &of(&late), &[]).unwrap_err().to_string();
        assert!(error.ends_with("did not answer within 2s"), "{error}");
        assert!(!error.contains("secret") && !error.contains("token"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(4));
    }

    #[test]
    fn credentials_stay_with_the_site_that_they_are_for() {
        let request = Request::new(Method::POST, "https://user:pass@a.example/x").unwrap();
        let request = request.header("Authorization", "Bearer 1").unwrap();
        let request = request
            .header("X-Api-Key", "2")
            .unwrap()
            .header("Accept", "text/plain")
            .unwrap();
        let request = request.body(b"{}".to_vec(), "application/json");
        let redirected = |status: u16, location: &str| {
            let location = HeaderValue::from_str(location).unwrap();
            request.redirected(StatusCode::from_u16(status).unwrap(), Some(&location))
        };
        let next = |status, location| redirected(status, location).unwrap().unwrap();
        let same = next(307, "/y");
        assert_eq!(
            (same.url.as_str(), same.headers.len()),
            ("https://user:pass@a.example/y", 4)
        );
        assert_eq!((same.method, same.body), (Method::POST, b"{}".to_vec()));
        for other in ["https://b.example/", "http://a.example/", "https://a.example:8443/"] {
            let other = next(308, other);
            let mut names: Vec<_> = other.headers.keys().map(HeaderName::as_str).collect();
            names.sort_unstable();
            assert_eq!((names, other.url.username()), (vec!["accept", "content-type"], ""));
        }
        for status in [301, 302, 303] {
            let next = next(status, "/y");
            assert_eq!((next.method, next.body.len(), next.headers.len()), (Method::GET, 0, 3));
        }
        for location in ["file:///etc/passwd", "gopher://a.example/", "javascript:alert(1)", "//"] {
            assert!(redirected(302, location).is_err(), "{location}");
        }
        assert!(redirected(304, "/y").unwrap().is_none());
    }
}
