//! The way to outside services: the only room that knows the HTTP client.
//!
//! One client is held per [`Http`] and made on first use: making one reads all certificates that the system trusts. Its
//! connections are kept for a few seconds, so that the pages of a list share one. A request is sent again at most once,
//! and only when the service cannot have acted on the first or does no harm by acting twice.
//!
//! For addresses that an administrator has chosen. It follows no redirect, since that would carry credentials to
//! wherever an answer points. Addresses that callers give go through [`web`].

pub mod web;

use std::borrow::Cow;
use std::cell::RefCell;
use std::error::Error as _;
use std::time::{Duration, Instant};

pub use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Proxy, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use tokio::task::yield_now;
use tokio::time::sleep;

use super::crypto;
use crate::contract::error::{Error, Outcome, ProviderError, Result};
use crate::contract::{Value, json};
use crate::platform::reach::reach;

/// How long a connection is kept for the next request: less than servers keep theirs.
const IDLE_LIMIT: Duration = Duration::from_secs(4);

/// The longest wait that a service may ask for and get.
const RETRY_AFTER_LIMIT: Duration = Duration::from_secs(5);

/// The pause before a request that never arrived is sent again.
const PAUSE: Duration = Duration::from_millis(100);

/// Where proxies of the kind SOCKS listen (RFC 1928).
const SOCKS_PORT: u16 = 1080;

/// How long to wait for a service, and how much to take from it.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The limit of connecting: name, TCP and TLS.
    pub connect: Duration,
    /// The limit of a whole request, from connecting to the last byte, a second try included.
    pub total: Duration,
    /// The longest answer in bytes.
    pub body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            total: Duration::from_secs(20),
            body: 20 << 20,
        }
    }
}

/// The client of a process.
#[derive(Default)]
pub struct Http {
    limits: Limits,
    client: RefCell<Option<Made>>,
}

struct Made {
    client: Client,
    proxy: Option<String>,
}

/// An outside service: where it is, and the way there.
pub struct Service<'a> {
    http: &'a Http,
    name: &'static str,
    base: Url,
    proxy: Option<String>,
    limits: Limits,
}

/// A request to a service. Its path, parameters and headers may hold credentials: none of them is ever shown.
pub struct Request<'a> {
    method: Method,
    path: Path<'a>,
    query: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    headers: Vec<(&'static str, SecretString)>,
    body: Option<Body<'a>>,
}

/// Where below the base address a request goes.
enum Path<'a> {
    /// Segments, to be escaped.
    Segments(&'a [&'a str]),
    /// A path and its parameters, as a caller of the library wrote them.
    Written(&'a str),
}

/// What a request carries.
pub enum Body<'a> {
    /// A value as JSON.
    Json(&'a Value),
    /// The fields of a form.
    Form(&'a [(&'a str, &'a str)]),
    /// The parts of a form with files.
    Multipart(&'a [Part]),
}

/// A field of a form with files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub content: Vec<u8>,
    /// When it is a file: its name and its media type.
    pub file: Option<(String, String)>,
}

/// What a service answered, whatever its status.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// How long the service asks to be left alone.
    pub retry_after: Option<Duration>,
    /// The body.
    pub body: Vec<u8>,
}

impl Http {
    /// A client with other limits than the usual ones.
    pub fn with_limits(limits: Limits) -> Self {
        Self {
            limits,
            client: RefCell::default(),
        }
    }

    /// The service `name` at the address `base`, through a proxy if there is one.
    pub fn service(&self, name: &'static str, base: &str, proxy: Option<String>) -> Result<Service<'_>> {
        let base = Url::parse(base.trim())
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"));
        Ok(Service {
            http: self,
            name,
            base: base.ok_or_else(|| Error::configuration(format!("{name}-url is no http or https address")))?,
            proxy,
            limits: self.limits,
        })
    }

    /// The client, made anew only when the proxy has changed.
    fn client(&self, proxy: Option<&str>) -> Result<Client> {
        let mut made = self.client.borrow_mut();
        if let Some(made) = made.as_ref()
            && made.proxy.as_deref() == proxy
        {
            return Ok(made.client.clone());
        }
        let client = self.make(proxy)?;
        *made = Some(Made {
            client: client.clone(),
            proxy: proxy.map(str::to_owned),
        });
        Ok(client)
    }

    fn make(&self, proxy: Option<&str>) -> Result<Client> {
        let mut builder = Client::builder()
            .user_agent(concat!("sb/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.limits.connect)
            .pool_idle_timeout(IDLE_LIMIT)
            .pool_max_idle_per_host(1)
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            // Nor one of the environment, which in a web server may be a client's header (CVE-2016-5385).
            .no_proxy();
        if let Some(proxy) = proxy {
            let proxy = Proxy::all(proxy).map_err(|_| Error::configuration("http-proxy is no address of a proxy"))?;
            builder = builder.proxy(proxy);
        }
        builder
            .build()
            .map_err(|error| Error::Internal(format!("no HTTP client: {}", cause(&error))))
    }
}

impl Service<'_> {
    /// With another limit of a whole request.
    #[must_use]
    pub fn within(mut self, total: Duration) -> Self {
        self.limits.total = total;
        self
    }

    /// Sends a request and reads the answer. An answer of any status is one; only where none came is there an error.
    pub async fn send(&self, request: Request<'_>) -> Result<Answer> {
        let request = self.build(request)?;
        let deadline = Instant::now() + self.limits.total;
        notice_closed_connections().await;
        let mut response = self.ask(&request, deadline).await;
        if let Some(pause) = pause_before_repeating(request.method(), &response)
            && Instant::now() + pause < deadline
        {
            sleep(pause).await;
            response = self.ask(&request, deadline).await;
        }
        self.read(response?).await
    }

    /// Whether anybody listens at the service's address, or at that of the proxy on the way there. Nothing is sent.
    pub async fn reach(&self) -> Result<()> {
        let place = match &self.proxy {
            Some(proxy) => proxy_address(proxy)?,
            None => self.base.clone(),
        };
        let host = place.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = place.port_or_known_default().unwrap_or(SOCKS_PORT);
        let reached = reach(host, port, self.http.limits.connect).await;
        reached.map_err(|failure| {
            let message = format!("cannot connect to {}: {failure}", self.place());
            self.error(message, Outcome::NotSent, None)
        })
    }

    /// The service's own refusal: its text for people, and its response as it came.
    pub fn refusal(&self, message: impl Into<String>, response: Option<Value>) -> Error {
        self.error(message.into(), Outcome::NotDone, response)
    }

    /// The same of a request that changes something: nothing is changed where the status says that the request was wrong,
    /// and nobody knows where the service itself failed.
    pub fn refusal_of(&self, answer: &Answer, message: impl Into<String>, response: Option<Value>) -> Error {
        let outcome = if answer.status < 500 {
            Outcome::NotDone
        } else {
            Outcome::Unknown
        };
        self.error(message.into(), outcome, response)
    }

    /// The error of an answer that is none of the service's, from a proxy or a wrong address. Its text is not shown: it
    /// may be a whole page, and repeat a credential.
    pub fn foreign(&self, answer: &Answer) -> Error {
        let message = format!(
            "an answer that is not the service's, with HTTP status {}",
            answer.status
        );
        self.refusal_of(answer, message, None)
    }

    /// The address of these segments of a path below the base, as a request goes to it.
    pub fn address(&self, path: &[&str]) -> String {
        self.below(path).into()
    }

    fn below(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if !path.is_empty()
            && let Ok(mut segments) = url.path_segments_mut()
        {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    fn build(&self, request: Request<'_>) -> Result<reqwest::Request> {
        let mut url = self.base.clone();
        match request.path {
            Path::Segments(path) => url = self.below(path),
            Path::Written(path) => {
                let (path, parameters) = path.split_once('?').unwrap_or((path, ""));
                let base = url.path().trim_end_matches('/').to_owned();
                url.set_path(&format!("{base}/{}", path.trim_start_matches('/')));
                url.set_query(Some(parameters).filter(|parameters| !parameters.is_empty()));
            }
        }
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(request.query);
        }
        let mut builder = self.http.client(self.proxy.as_deref())?.request(request.method, url);
        for (name, value) in request.headers {
            let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| {
                Error::configuration(format!("the credentials of {} cannot be sent in a header", self.name))
            })?;
            value.set_sensitive(true);
            builder = builder.header(HeaderName::from_static(name), value);
        }
        builder = match request.body {
            None => builder,
            Some(Body::Json(value)) => builder
                .header(CONTENT_TYPE, "application/json; charset=utf-8")
                .body(json::encode(value)),
            Some(Body::Form(fields)) => builder.form(fields),
            Some(Body::Multipart(parts)) => {
                let boundary = crypto::token()?;
                builder
                    .header(CONTENT_TYPE, format!("multipart/form-data; boundary={boundary}"))
                    .body(multipart(parts, &boundary))
            }
        };
        builder
            .build()
            .map_err(|error| Error::Internal(format!("no request to {}: {}", self.name, cause(&error))))
    }

    async fn ask(&self, request: &reqwest::Request, deadline: Instant) -> Result<Response> {
        let Some(mut request) = request.try_clone() else {
            return Err(Error::Internal("a request cannot be sent twice".into()));
        };
        *request.timeout_mut() = Some(deadline.saturating_duration_since(Instant::now()));
        let client = self.http.client(self.proxy.as_deref())?;
        client.execute(request).await.map_err(|error| self.failed(&error))
    }

    async fn read(&self, mut response: Response) -> Result<Answer> {
        let limit = self.limits.body;
        let body = body(&mut response, limit).await.map_err(|unread| match unread {
            Unread::Failed(error) => self.failed(&error),
            Unread::TooLong => self.error(too_long(&self.place(), limit), Outcome::Unknown, None),
        })?;
        Ok(Answer {
            status: response.status().as_u16(),
            retry_after: retry_after(&response),
            body,
        })
    }

    fn failed(&self, error: &reqwest::Error) -> Error {
        let (message, outcome) = failure(error, &self.place(), self.limits);
        self.error(message, outcome, None)
    }

    fn error(&self, message: String, outcome: Outcome, response: Option<Value>) -> Error {
        Error::Provider(Box::new(ProviderError {
            service: self.name,
            message,
            outcome,
            response,
        }))
    }

    /// Host and port: all of an address that may be shown, since the rest can hold credentials.
    fn place(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        let port = self.base.port_or_known_default().unwrap_or_default();
        let way = if self.proxy.is_some() { " through the proxy" } else { "" };
        format!("{host}:{port}{way}")
    }
}

/// The address of a proxy, which may stand without its scheme.
fn proxy_address(proxy: &str) -> Result<Url> {
    [proxy.to_owned(), format!("http://{proxy}")]
        .iter()
        .filter_map(|proxy| Url::parse(proxy).ok())
        .find(Url::has_host)
        .ok_or_else(|| Error::configuration("http-proxy is no address of a proxy"))
}

impl<'a> Request<'a> {
    /// A request for the base address and these segments of a path, which are escaped.
    pub fn new(method: Method, path: &'a [&'a str]) -> Self {
        Self::to(method, Path::Segments(path))
    }

    /// A request for the base address and what a caller of the library wrote behind it: a path, perhaps with
    /// parameters. It leads nowhere but to the service.
    pub fn written(method: Method, path: &'a str) -> Self {
        Self::to(method, Path::Written(path))
    }

    fn to(method: Method, path: Path<'a>) -> Self {
        Self {
            method,
            path,
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
        }
    }

    /// With a parameter in the address.
    #[must_use]
    pub fn query(mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Cow<'a, str>>) -> Self {
        self.query.push((name.into(), value.into()));
        self
    }

    /// With a header, its name in lower case.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<SecretString>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With a token in the header `Authorization` (RFC 6750).
    #[must_use]
    pub fn bearer(self, token: &SecretString) -> Self {
        self.header("authorization", format!("Bearer {}", token.expose_secret()))
    }

    /// With a body.
    #[must_use]
    pub fn body(mut self, body: Body<'a>) -> Self {
        self.body = Some(body);
        self
    }
}

/// Why a body could not be read.
enum Unread {
    TooLong,
    Failed(reqwest::Error),
}

/// The body of an answer, which may be so long.
async fn body(response: &mut Response, limit: usize) -> Result<Vec<u8>, Unread> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Unread::Failed)? {
        if chunk.len() > limit - body.len() {
            return Err(Unread::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn too_long(place: &str, limit: usize) -> String {
    format!("{place} answered with more than {limit} bytes")
}

/// What went wrong on the way to a place, and what is known of the request.
fn failure(error: &reqwest::Error, place: &str, limits: Limits) -> (String, Outcome) {
    match (error.is_connect(), error.is_timeout()) {
        (true, true) => (
            format!("{place} cannot be reached within {:?}", limits.connect),
            Outcome::NotSent,
        ),
        (true, false) => (format!("{place} cannot be reached: {}", cause(error)), Outcome::NotSent),
        (false, true) => (
            format!("{place} did not answer within {:?}", limits.total),
            Outcome::Unknown,
        ),
        (false, false) => (format!("{place} broke off: {}", cause(error)), Outcome::Unknown),
    }
}

/// A form with files (RFC 7578), its names escaped as browsers do.
fn multipart(parts: &[Part], boundary: &str) -> Vec<u8> {
    let escaped = |name: &str| name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
    let mut body = Vec::new();
    for Part { name, content, file } in parts {
        let file = file.as_ref().map_or_else(String::new, |(file, media_type)| {
            let media_type: String = media_type.chars().filter(char::is_ascii_graphic).collect();
            format!("; filename=\"{}\"\r\nContent-Type: {media_type}", escaped(file))
        });
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"{file}\r\n\r\n",
            escaped(name)
        );
        body.extend(head.into_bytes());
        body.extend(content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").into_bytes());
    body
}

/// Lets the runtime see which idle connections the other side has closed. Between two calls of a PHP program nothing
/// runs it, so a connection that died in between would be found only by sending a request into it.
async fn notice_closed_connections() {
    // The first turn asks the sockets, the second runs the tasks that own them.
    for _ in 0..2 {
        yield_now().await;
    }
}

/// How long to wait before the request is sent again; `None` when it must not be.
fn pause_before_repeating(method: &Method, response: &Result<Response>) -> Option<Duration> {
    let harmless = method.is_idempotent();
    match response {
        Ok(response) => {
            // 429 says that nothing was done. 503 does not.
            let refused = match response.status() {
                StatusCode::TOO_MANY_REQUESTS => true,
                StatusCode::SERVICE_UNAVAILABLE => harmless,
                _ => false,
            };
            retry_after(response).filter(|pause| refused && *pause <= RETRY_AFTER_LIMIT)
        }
        Err(Error::Provider(error)) if harmless || error.outcome == Outcome::NotSent => Some(PAUSE),
        Err(_) => None,
    }
}

/// The header `Retry-After`, where it is a number of seconds. A date is a long wait, and those are not waited for.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    Some(Duration::from_secs(seconds.trim().parse().ok()?))
}

/// The deepest cause of an error: those above it repeat the address.
fn cause(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    cause.map_or_else(|| "it failed".to_owned(), ToString::to_string)
}
