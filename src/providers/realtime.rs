//! The realtime push service: the HTTP API of the Pusher Channels protocol, which engines of one's own speak too, and
//! the signatures by which clients may subscribe.
//!
//! A request carries no credential. It is signed over its method, its path and its parameters, among which are the time
//! and the MD5 digest of its body.

use std::borrow::Cow;

use secrecy::SecretString;

use crate::contract::args::{Argument, Items};
use crate::contract::error::{Error, Result};
use crate::contract::value::Key;
use crate::contract::{Value, json};
use crate::platform::Context;
use crate::platform::crypto;
use crate::platform::http::{Answer, Body, Method, Request, Service};
use crate::platform::settings::Settings;
use crate::providers::Outside;

/// As it is looked for.
pub(super) const SERVICE: Outside = Outside {
    name: NAME,
    is_wanted: |settings| Keys::of(settings).is_some(),
    address,
};

const NAME: &str = "realtime";

/// The multi-input of older installations, named after the service. It is read where there is none named by kind.
const OLDER_NAME: &str = "pusher";

/// The cluster of applications that name none.
const CLUSTER: &str = "mt1";

/// How many bytes of JSON an event may carry.
pub const DATA_LIMIT: usize = 10 * 1024;

/// The longest name of an event, in characters.
const EVENT_LIMIT: usize = 200;

/// The longest name of a channel.
const CHANNEL_LIMIT: usize = 164;

/// The longest refusal of the service that is shown.
const SHOWN: usize = 300;

/// The keys of an application.
pub struct Keys {
    app: String,
    key: String,
    secret: SecretString,
}

/// An application of the service.
pub struct Application<'a> {
    service: Service<'a>,
    keys: Keys,
    /// When its requests are signed, in seconds.
    time: i64,
}

/// Whether the integration is switched on.
pub fn is_active(settings: &Settings) -> bool {
    settings.is_on(&stored_name(settings, "realtime-active"))
}

/// The name that a setting is stored under.
fn stored_name(settings: &Settings, name: &'static str) -> Cow<'static, str> {
    let is_there = |name: &str| settings.value(name).is_some();
    if is_there(OLDER_NAME) && !is_there(NAME) {
        name.replacen(NAME, OLDER_NAME, 1).into()
    } else {
        name.into()
    }
}

/// A text of the settings, without the blanks that came with pasting.
fn text(settings: &Settings, name: &'static str) -> Option<String> {
    let text = settings.text(&stored_name(settings, name))?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Where the service is: at the host of the settings, else that of the provider's cluster.
fn address(settings: &Settings) -> Result<String> {
    let refused = |text: &str| Err(Error::configuration(text));
    let is_of_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    let Some(host) = text(settings, "realtime-host") else {
        let cluster = text(settings, "realtime-cluster").unwrap_or_else(|| CLUSTER.to_owned());
        if !cluster.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return refused("realtime-cluster is no name of a cluster");
        }
        return Ok(format!("https://api-{cluster}.pusher.com"));
    };
    if !host.bytes().all(is_of_host) {
        return refused("realtime-host is no name of a host");
    }
    let scheme = text(settings, "realtime-scheme").unwrap_or_else(|| "https".to_owned());
    if !matches!(scheme.as_str(), "http" | "https") {
        return refused("realtime-scheme is no http or https");
    }
    match text(settings, "realtime-port").map(|port| port.parse::<u16>()) {
        None => Ok(format!("{scheme}://{host}")),
        Some(Ok(port)) => Ok(format!("{scheme}://{host}:{port}")),
        Some(Err(_)) => refused("realtime-port is no number of a port"),
    }
}

impl Keys {
    /// The keys of the settings, when the integration is switched on and all of them are set.
    pub fn of(settings: &Settings) -> Option<Self> {
        is_active(settings).then(|| Self::read(settings).ok())?
    }

    fn read(settings: &Settings) -> Result<Self> {
        let set = |name| text(settings, name).ok_or_else(|| Error::configuration(format!("{name} is not set")));
        Ok(Self {
            app: set("realtime-id")?,
            key: set("realtime-key")?,
            secret: set("realtime-secret")?.into(),
        })
    }

    /// What lets a connection subscribe to a private channel; to a presence channel, as the member that a JSON text
    /// tells of.
    pub fn subscription(&self, socket: &str, channel: &str, member: Option<&str>) -> Result<String> {
        let mut signed = format!("{socket}:{channel}");
        if let Some(member) = member {
            signed.push(':');
            signed.push_str(member);
        }
        Ok(format!(
            "{}:{}",
            self.key,
            crypto::hmac_sha256(&self.secret, signed.as_bytes())?
        ))
    }

    /// The parameters that sign a request, in the order of their names.
    fn parameters(
        &self,
        method: &Method,
        path: &[&str],
        body: Option<&str>,
        time: i64,
    ) -> Result<Vec<(&'static str, String)>> {
        let mut parameters = vec![
            ("auth_key", self.key.clone()),
            ("auth_timestamp", time.to_string()),
            ("auth_version", "1.0".to_owned()),
        ];
        if let Some(body) = body {
            parameters.push(("body_md5", crypto::md5(body.as_bytes())?));
        }
        let pairs: Vec<String> = parameters
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let signed = format!("{method}\n/{}\n{}", path.join("/"), pairs.join("&"));
        parameters.push(("auth_signature", crypto::hmac_sha256(&self.secret, signed.as_bytes())?));
        Ok(parameters)
    }
}

impl<'a> Application<'a> {
    /// The application of the settings.
    pub async fn of(cx: &'a Context<'_>) -> Result<Self> {
        let settings = cx.settings().await?;
        if !is_active(&settings) {
            return Err(Error::Refused {
                code: "realtime-not-active",
                message: "the setting realtime-active is off".to_owned(),
            });
        }
        Ok(Self {
            keys: Keys::read(&settings)?,
            service: cx.service(NAME, &address(&settings)?).await?,
            time: cx.now().and_utc().timestamp(),
        })
    }

    /// Its keys.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Triggers an event on channels, at most a hundred.
    pub async fn trigger(&self, channels: &[String], event: &str, data: &Value) -> Result<()> {
        check_event(event)?;
        channels.iter().try_for_each(|channel| check_channel(channel))?;
        let channels = channels.iter().map(|channel| channel.as_str().into()).collect();
        let body = Value::map([
            ("name", event.into()),
            ("channels", Value::List(channels)),
            ("data", json::encode(data).into()),
        ]);
        self.ask(Method::POST, &["apps", &self.keys.app, "events"], Some(&body))
            .await?;
        Ok(())
    }

    /// The ids of those who are on a presence channel.
    pub async fn members(&self, channel: &str) -> Result<Vec<String>> {
        let path = ["apps", &self.keys.app, "channels", channel, "users"];
        let answer = self.ask(Method::GET, &path, None).await?;
        let users =
            json::decode(&answer.body).and_then(|body| Items::from_value(body.get(&Key::from("users"))?.clone()));
        let Items(users) = users.ok_or_else(|| self.service.foreign(&answer))?;
        let id = |user: Value| String::from_value(user.get(&Key::from("id"))?.clone());
        Ok(users.into_iter().filter_map(id).collect())
    }

    async fn ask(&self, method: Method, path: &[&str], body: Option<&Value>) -> Result<Answer> {
        let text = body.map(json::encode);
        let parameters = self.keys.parameters(&method, path, text.as_deref(), self.time)?;
        let mut request = Request::new(method, path);
        for (name, value) in parameters {
            request = request.query(name, value);
        }
        if let Some(body) = body {
            request = request.body(Body::Json(body));
        }
        let answer = self.service.send(request).await?;
        if (200..300).contains(&answer.status) {
            return Ok(answer);
        }
        Err(match refusal(&answer.body) {
            Some(text) => self
                .service
                .refusal(format!("refused with HTTP status {}: {text}", answer.status), None),
            None => self.service.foreign(&answer),
        })
    }
}

/// Why the service refuses, which it says in a line of text or as `{"error"}`. A page is none of its answers.
fn refusal(body: &[u8]) -> Option<String> {
    let in_json = json::decode(body).and_then(|body| String::from_value(body.get(&Key::from("error"))?.clone()));
    let text = match in_json {
        Some(text) => text,
        None => std::str::from_utf8(body).ok()?.trim().to_owned(),
    };
    let is_shown = !text.is_empty() && text.len() <= SHOWN && !text.contains(['<', '{']);
    is_shown.then_some(text)
}

/// What the protocol allows as the name of a channel.
fn check_channel(channel: &str) -> Result<()> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-=@,.;".contains(&byte);
    if (1..=CHANNEL_LIMIT).contains(&channel.len()) && channel.bytes().all(is_of_name) {
        return Ok(());
    }
    Err(Error::Refused {
        code: "invalid-channel",
        message: format!("channel is no name of 1 to {CHANNEL_LIMIT} letters, digits and -_=@,.;"),
    })
}

fn check_event(event: &str) -> Result<()> {
    if (1..=EVENT_LIMIT).contains(&event.chars().count()) {
        return Ok(());
    }
    Err(Error::Refused {
        code: "invalid-event",
        message: format!("event is no name of 1 to {EVENT_LIMIT} characters"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::settings::Cache;

    fn settings(text: &str) -> std::rc::Rc<Settings> {
        Cache::default().parse(text.as_bytes().to_vec())
    }

    fn keys(key: &str, secret: &str) -> Keys {
        Keys {
            app: "3".into(),
            key: key.into(),
            secret: secret.into(),
        }
    }

    /// The example of the provider's reference.
    #[test]
    fn subscriptions_are_signed_as_the_provider_shows_it() {
        let keys = keys("278d425bdf160c739803", "7ad3773142a6692b25b8");
        let member = r#"{"user_id":10,"user_info":{"name":"Mr. Channels"}}"#;
        for (channel, member, signature) in [
            (
                "private-foobar",
                None,
                "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4",
            ),
            (
                "presence-foobar",
                Some(member),
                "31935e7d86dba64c2a90aed31fdc61869f9b22ba9d8863bba239c03ca481bc80",
            ),
        ] {
            let signed = keys.subscription("1234.1234", channel, member).unwrap();
            assert_eq!(signed, format!("278d425bdf160c739803:{signature}"));
        }
    }

    /// Likewise.
    #[test]
    fn requests_are_signed_as_the_provider_shows_it() {
        let body = r#"{"name":"foo","channels":["project-3"],"data":"{\"some\":\"data\"}"}"#;
        let keys = keys("278d425bdf160c739803", "7ad3773142a6692b25b8");
        let parameters = keys
            .parameters(&Method::POST, &["apps", "3", "events"], Some(body), 1_353_088_179)
            .unwrap();
        let expected = [
            ("auth_key", "278d425bdf160c739803"),
            ("auth_timestamp", "1353088179"),
            ("auth_version", "1.0"),
            ("body_md5", "ec365a775a4cd0599faeb73354201b6f"),
            (
                "auth_signature",
                "da454824c97ba181a32ccc17a72625ba02771f50b50e1e7430e47a1f3f457e6c",
            ),
        ];
        assert_eq!(parameters, expected.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn the_service_is_at_the_host_of_the_settings_or_at_the_providers() {
        let at = |children: &str| {
            let settings = settings(&format!(r#"{{"realtime":[{{{children}}},"multi-input"]}}"#));
            address(&settings).map_err(|error| error.to_string())
        };
        for (children, expected) in [
            (r#""realtime-active":[true,"checkbox"]"#, "https://api-mt1.pusher.com"),
            (r#""realtime-cluster":[" eu ","text"]"#, "https://api-eu.pusher.com"),
            (
                r#""realtime-host":["push.example","text"],"realtime-cluster":["eu","text"]"#,
                "https://push.example",
            ),
            (
                r#""realtime-host":["127.0.0.1","text"],"realtime-port":[6001,"number"],"realtime-scheme":["http","text"]"#,
                "http://127.0.0.1:6001",
            ),
            (
                r#""realtime-host":["[::1]","text"],"realtime-port":["6001","text"]"#,
                "https://[::1]:6001",
            ),
        ] {
            assert_eq!(at(children).as_deref(), Ok(expected));
        }
        for (children, fault) in [
            (
                r#""realtime-cluster":["eu.evil.example/","text"]"#,
                "realtime-cluster is no name of a cluster",
            ),
            (
                r#""realtime-host":["a/b","text"]"#,
                "realtime-host is no name of a host",
            ),
            (
                r#""realtime-host":["user@a","text"]"#,
                "realtime-host is no name of a host",
            ),
            (
                r#""realtime-host":["a","text"],"realtime-port":["70000","text"]"#,
                "realtime-port is no number of a port",
            ),
            (
                r#""realtime-host":["a","text"],"realtime-scheme":["file","text"]"#,
                "realtime-scheme is no http or https",
            ),
        ] {
            assert_eq!(at(children), Err(fault.to_owned()));
        }
    }

    #[test]
    fn older_settings_count_where_there_are_none_named_by_kind() {
        let older = r#""pusher":[{"pusher-active":[true,"checkbox"],"pusher-id":["1","text"],"pusher-key":["k","text"],
            "pusher-secret":["s","password"],"pusher-cluster":["eu","text"]},"multi-input"]"#;
        let off = r#""realtime":[{"realtime-active":[false,"checkbox"]},"multi-input"]"#;
        let of = |text: &str| settings(&format!("{{{text}}}"));
        let found = Keys::of(&of(older)).unwrap();
        assert_eq!((found.app.as_str(), found.key.as_str()), ("1", "k"));
        assert_eq!(address(&of(older)).as_deref(), Ok("https://api-eu.pusher.com"));
        assert!(Keys::of(&of(&format!("{older},{off}"))).is_none());
        assert!(Keys::of(&of("")).is_none());
        assert!(Keys::of(&of(&older.replace("\"s\"", "\" \""))).is_none());
    }

    #[test]
    fn a_refusal_is_a_line_of_text() {
        for (body, text) in [
            ("Unknown auth_key\n", Some("Unknown auth_key")),
            (r#"{"error":"App not found"}"#, Some("App not found")),
            ("<html>502</html>", None),
            ("", None),
            (r#"{"ok":false}"#, None),
        ] {
            assert_eq!(refusal(body.as_bytes()).as_deref(), text, "{body}");
        }
        assert_eq!(refusal("x".repeat(301).as_bytes()), None);
    }

    #[test]
    fn names_are_those_of_the_protocol() {
        for name in ["a", "presence-agents", "A_-=@,.;9", &"x".repeat(164)] {
            assert!(check_channel(name).is_ok(), "{name}");
        }
        for name in ["", "a b", "a/b", "a\n", "ä", "'--", &"x".repeat(165)] {
            assert!(check_channel(name).is_err(), "{name}");
        }
        assert!(check_event(&"ä".repeat(200)).is_ok());
        assert!(check_event("").is_err() && check_event(&"x".repeat(201)).is_err());
    }
}
