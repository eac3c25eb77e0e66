//! Messaging platforms: WhatsApp, Messenger and Instagram by the Graph API, the direct messages of X, WeChat, and Google's
//! Business Messages, which has ended and is off unless an address of its own is set.
//!
//! None of them knows a repetition, so a message of unknown fate is never sent again. What a platform has no form for
//! goes as a link in the text.

use std::rc::Rc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};

use super::Outside;
use super::oauth::{Account, Grant};
use super::parts::parts;
use crate::contract::error::{Error, Result};
use crate::contract::{Key, Value, json};
use crate::platform::http::{Answer, Body, Method, Request, Service};
use crate::platform::settings::Settings;
use crate::platform::{Context, crypto};

const GRAPH: &str = "https://graph.facebook.com/v23.0";
const MICROBLOG: &str = "https://api.x.com";
const WECHAT: &str = "https://api.weixin.qq.com";
const BUSINESS: &str = "https://businessmessages.googleapis.com";
const BUSINESS_TOKENS: &str = "https://oauth2.googleapis.com/token";
const BUSINESS_SCOPE: &str = "https://www.googleapis.com/auth/businessmessages";

/// Codes by which the service says that the access token counts no more.
const TOKEN_ENDED: [i64; 3] = [40001, 40014, 42001];

/// How long before its end a token is not used any more.
const MARGIN: u64 = 60;

/// All that is escaped in a signature (RFC 5849, section 3.6).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

macro_rules! service {
    ($constant:ident, $name:literal, $address:ident) => {
        /// As it is looked for.
        pub(super) const $constant: Outside = Outside {
            name: $name,
            is_wanted: |settings| settings.is_on(concat!($name, "-active")),
            address: |_| Ok($address.to_owned()),
        };
    };
}

service!(WHATSAPP_SERVICE, "whatsapp", GRAPH);
service!(MESSENGER_SERVICE, "messenger", GRAPH);
service!(INSTAGRAM_SERVICE, "instagram", GRAPH);
service!(MICROBLOG_SERVICE, "microblog", MICROBLOG);
service!(WECHAT_SERVICE, "wechat", WECHAT);
service!(BUSINESS_SERVICE, "business-messages", BUSINESS);

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The recipient's id on the platform.
    pub to: String,
    /// The account of ours that it goes from, when the conversation knows it.
    pub from: Option<String>,
    /// The text.
    pub text: String,
    /// Names and links of files.
    pub files: Vec<(String, String)>,
}

/// What a file is to a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Image,
    Video,
    Audio,
    Other,
}

impl Kind {
    fn of(link: &str) -> Self {
        let path = link.split(['?', '#']).next().unwrap_or_default();
        let extension = path
            .rsplit_once('.')
            .map(|(_, extension)| extension.to_ascii_lowercase());
        match extension.as_deref() {
            Some("jpg" | "jpeg" | "png" | "gif" | "webp") => Self::Image,
            Some("mp4" | "3gp" | "mov" | "webm") => Self::Video,
            Some("mp3" | "ogg" | "aac" | "amr" | "m4a" | "wav") => Self::Audio,
            _ => Self::Other,
        }
    }

    const fn text(self, other: &'static str) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Video => "video",
            Self::Audio => "audio",
            Self::Other => other,
        }
    }
}

impl Message {
    /// The text, and behind it the links of these files.
    fn text_with<'a>(&self, files: impl Iterator<Item = &'a (String, String)>) -> String {
        let mut text = self.text.clone();
        for (name, link) in files {
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(&format!("{name}: {link}"));
        }
        text
    }
}

/// Sends by WhatsApp's own API.
pub async fn whatsapp(cx: &Context<'_>, message: &Message) -> Result<()> {
    let settings = active(cx, "whatsapp").await?;
    let (token, sender) = (
        secret(&settings, "whatsapp-token")?,
        text(&settings, "whatsapp-phone-id")?,
    );
    let service = cx.service("whatsapp", GRAPH).await?;
    let to = message.to.trim_start_matches('+');
    let body = |kind: &'static str, content: Value| {
        Value::map([
            ("messaging_product", "whatsapp".into()),
            ("recipient_type", "individual".into()),
            ("to", to.into()),
            ("type", kind.into()),
            (kind, content),
        ])
    };
    let texts = parts(&message.text, 4096, |_| 1).into_iter().map(|part| {
        body(
            "text",
            Value::map([("body", part.into()), ("preview_url", Value::Bool(true))]),
        )
    });
    let files = message.files.iter().map(|(name, link)| {
        let kind = Kind::of(link).text("document");
        let mut content = vec![("link", Value::from(link.as_str()))];
        if kind == "document" {
            content.push(("filename", name.as_str().into()));
        }
        body(kind, Value::map(content))
    });
    let bodies: Vec<Value> = texts.chain(files).collect();
    let path = [sender.as_str(), "messages"];
    let request = |body| Request::new(Method::POST, &path).bearer(&token).body(Body::Json(body));
    send(&service, bodies.iter().map(request)).await
}

/// Sends by Messenger.
pub async fn messenger(cx: &Context<'_>, message: &Message) -> Result<()> {
    graph(cx, "messenger", message, 2000, |_| 1, true).await
}

/// Sends by Instagram, which takes no files but images, videos and sounds.
pub async fn instagram(cx: &Context<'_>, message: &Message) -> Result<()> {
    graph(cx, "instagram", message, 1000, char::len_utf8, false).await
}

async fn graph(
    cx: &Context<'_>,
    name: &'static str,
    message: &Message,
    limit: usize,
    length: fn(char) -> usize,
    takes_all_files: bool,
) -> Result<()> {
    let settings = active(cx, name).await?;
    let token = secret(&settings, &format!("{name}-token"))?;
    let page = match message.from.clone().filter(|page| !page.is_empty()) {
        Some(page) => page,
        None => text(&settings, &format!("{name}-page-id"))?,
    };
    let service = cx.service(name, GRAPH).await?;
    let is_sent = |(_, link): &&(String, String)| takes_all_files || Kind::of(link) != Kind::Other;
    let text = message.text_with(message.files.iter().filter(|file| !is_sent(file)));
    let texts = parts(&text, limit, length)
        .into_iter()
        .map(|part| Value::map([("text", part.into())]));
    let files = message.files.iter().filter(is_sent).map(|(_, link)| {
        let payload = Value::map([("url", link.as_str().into()), ("is_reusable", Value::Bool(false))]);
        let attachment = [("type", Kind::of(link).text("file").into()), ("payload", payload)];
        Value::map([("attachment", Value::map(attachment))])
    });
    let body = |content| {
        Value::map([
            ("recipient", Value::map([("id", message.to.as_str().into())])),
            ("messaging_type", "RESPONSE".into()),
            ("message", content),
        ])
    };
    let bodies: Vec<Value> = texts.chain(files).map(body).collect();
    let path = [page.as_str(), "messages"];
    let request = |body| {
        Request::new(Method::POST, &path)
            .query("access_token", token.expose_secret())
            .body(Body::Json(body))
    };
    send(&service, bodies.iter().map(request)).await
}

/// Sends a direct message of the microblog, signed by OAuth 1.0a (RFC 5849).
pub async fn microblog(cx: &Context<'_>, message: &Message) -> Result<()> {
    let settings = active(cx, "microblog").await?;
    let [key, key_secret, token, token_secret] = [
        secret(&settings, "microblog-consumer-key")?,
        secret(&settings, "microblog-consumer-secret")?,
        secret(&settings, "microblog-access-token")?,
        secret(&settings, "microblog-access-token-secret")?,
    ];
    let service = cx.service("microblog", MICROBLOG).await?;
    let path = ["2", "dm_conversations", "with", &message.to, "messages"];
    let text = message.text_with(message.files.iter());
    let bodies: Vec<Value> = parts(&text, 10_000, |_| 1)
        .into_iter()
        .map(|part| Value::map([("text", part.into())]))
        .collect();
    let mut requests = Vec::new();
    for body in &bodies {
        let (nonce, time) = (crypto::token()?, cx.now().and_utc().timestamp().to_string());
        let fields = [
            ("oauth_consumer_key", key.expose_secret()),
            ("oauth_nonce", nonce.as_str()),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", time.as_str()),
            ("oauth_token", token.expose_secret()),
            ("oauth_version", "1.0"),
        ];
        let base = signature_base("POST", &service.address(&path), &fields);
        let signing = format!(
            "{}&{}",
            escaped(key_secret.expose_secret()),
            escaped(token_secret.expose_secret())
        );
        let signature = STANDARD.encode(crypto::hmac_sha1(&SecretString::from(signing), base.as_bytes())?);
        let mut header: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        header.push(format!("oauth_signature=\"{}\"", escaped(&signature)));
        let authorization = format!("OAuth {}", header.join(", "));
        requests.push(
            Request::new(Method::POST, &path)
                .header("authorization", authorization)
                .body(Body::Json(body)),
        );
    }
    send(&service, requests.into_iter()).await
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// What is signed; the fields are in the order of their names.
fn signature_base(method: &str, address: &str, fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}={}", escaped(name), escaped(value)))
        .collect();
    format!("{method}&{}&{}", escaped(address), escaped(&fields.join("&")))
}

/// Sends by WeChat. A token that ended before its time is replaced once.
pub async fn wechat(cx: &Context<'_>, message: &Message) -> Result<()> {
    let settings = active(cx, "wechat").await?;
    let (id, password) = (
        text(&settings, "wechat-app-id")?,
        secret(&settings, "wechat-app-secret")?,
    );
    let service = cx.service("wechat", WECHAT).await?;
    let place = service.address(&[]);
    let name = format!(
        "wechat {}",
        crypto::sha256(format!("{place}\0{id}\0{}", password.expose_secret()).as_bytes())?
    );
    let text = message.text_with(message.files.iter());
    for (index, part) in parts(&text, 2048, char::len_utf8).into_iter().enumerate() {
        let body = Value::map([
            ("touser", message.to.as_str().into()),
            ("msgtype", "text".into()),
            ("text", Value::map([("content", part.into())])),
        ]);
        let mut token = match cx.kept().get(&name) {
            Some(token) => token,
            None => wechat_token(cx, &service, &name, &id, &password).await?,
        };
        for is_last in [false, true] {
            let request = Request::new(Method::POST, &["cgi-bin", "message", "custom", "send"])
                .query("access_token", token.expose_secret())
                .body(Body::Json(&body));
            let answer = service.send(request).await.map_err(|error| error.behind(index))?;
            let code = json::decode(&answer.body).and_then(|answer| answer.get(&Key::from("errcode")).cloned());
            if is_last || !matches!(code, Some(Value::Int(code)) if TOKEN_ENDED.contains(&code)) {
                taken(&service, &answer).map_err(|error| error.behind(index))?;
                break;
            }
            token = wechat_token(cx, &service, &name, &id, &password).await?;
        }
    }
    Ok(())
}

/// A new access token, which the process keeps.
async fn wechat_token(
    cx: &Context<'_>,
    service: &Service<'_>,
    name: &str,
    id: &str,
    password: &SecretString,
) -> Result<SecretString> {
    let request = Request::new(Method::GET, &["cgi-bin", "token"])
        .query("grant_type", "client_credential")
        .query("appid", id)
        .query("secret", password.expose_secret());
    let given = taken(service, &service.send(request).await?)?;
    let token = given.get(&Key::from("access_token")).and_then(Value::as_str);
    let token = SecretString::from(token.ok_or_else(|| service.refusal("an answer without a token", None))?);
    let life = match given.get(&Key::from("expires_in")) {
        Some(Value::Int(seconds)) => u64::try_from(*seconds).unwrap_or_default(),
        _ => 0,
    };
    cx.kept().keep(
        name.to_owned(),
        token.clone(),
        Duration::from_secs(life.saturating_sub(MARGIN)),
    );
    Ok(token)
}

/// Sends by Business Messages.
pub async fn business(cx: &Context<'_>, message: &Message) -> Result<()> {
    let settings = active(cx, "business-messages").await?;
    let credentials = secret(&settings, "business-messages-credentials")?;
    let account = Account::read(credentials.expose_secret().as_bytes());
    let account = account.ok_or_else(|| Error::configuration("business-messages-credentials is no key file"))?;
    let tokens = cx.service("business-messages-token", BUSINESS_TOKENS).await?;
    let token = Grant::Account(account)
        .token(&tokens, BUSINESS_TOKENS, BUSINESS_SCOPE, cx.now())
        .await?;
    let service = cx.service("business-messages", BUSINESS).await?;
    let text = message.text_with(message.files.iter());
    let mut bodies = Vec::new();
    for part in parts(&text, 3072, |_| 1) {
        bodies.push(Value::map([
            ("messageId", crypto::token()?.into()),
            ("representative", Value::map([("representativeType", "BOT".into())])),
            ("text", part.into()),
        ]));
    }
    let path = ["v1", "conversations", &message.to, "messages"];
    let request = |body| {
        Request::new(Method::POST, &path)
            .bearer(&token.text)
            .body(Body::Json(body))
    };
    send(&service, bodies.iter().map(request)).await
}

/// Sends requests one after the other.
async fn send<'a>(service: &Service<'_>, requests: impl Iterator<Item = Request<'a>>) -> Result<()> {
    for (index, request) in requests.enumerate() {
        let answer = service.send(request).await;
        answer
            .and_then(|answer| taken(service, &answer))
            .map_err(|error| error.behind(index))?;
    }
    Ok(())
}

/// The settings, when they ask for the platform.
async fn active(cx: &Context<'_>, name: &str) -> Result<Rc<Settings>> {
    let settings = cx.settings().await?;
    if settings.is_on(&format!("{name}-active")) {
        Ok(settings)
    } else {
        Err(Error::configuration(format!("{name}-active is not set")))
    }
}

fn secret(settings: &Settings, name: &str) -> Result<SecretString> {
    settings
        .secret(name)
        .ok_or_else(|| Error::configuration(format!("{name} is not set")))
}

fn text(settings: &Settings, name: &str) -> Result<String> {
    let text = settings.text(name).map(|text| text.trim().to_owned());
    text.filter(|text| !text.is_empty())
        .ok_or_else(|| Error::configuration(format!("{name} is not set")))
}

/// What a platform answered, when it took the request: of another status, with an error or with an error's code it did
/// not.
fn taken(service: &Service<'_>, answer: &Answer) -> Result<Value> {
    let response = json::decode(&answer.body).filter(|value| matches!(value, Value::Map(_)));
    let Some(response) = response else {
        return Err(service.foreign(answer));
    };
    let at = |key: &'static str| response.get(&Key::from(key));
    let failed = at("error").is_some() || matches!(at("errcode"), Some(Value::Int(code)) if *code != 0);
    if (200..300).contains(&answer.status) && !failed {
        return Ok(response);
    }
    let own = at("error").and_then(|error| error.get(&Key::from("message")));
    let texts = [own, at("detail"), at("title"), at("errmsg")];
    let message = texts.into_iter().flatten().find_map(Value::as_str);
    let message = message.unwrap_or("refused without a message").to_owned();
    Err(service.refusal(message, Some(response)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the service's documentation of signatures.
    #[test]
    fn a_signature_is_that_of_the_published_example() {
        let fields = [
            ("include_entities", "true"),
            ("oauth_consumer_key", "xvz1evFS4wEEPTGEFPHBog"),
            ("oauth_nonce", "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg"),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", "1318622958"),
            ("oauth_token", "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb"),
            ("oauth_version", "1.0"),
            ("status", "Hello Ladies + Gentlemen, a signed OAuth request!"),
        ];
        let base = signature_base("POST", "https://api.twitter.com/1.1/statuses/update.json", &fields);
        let key = "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw&LswwdoUaIvS8ltyTt5jkRh4J50vUPVHHW2YPi5kE";
        let signature = crypto::hmac_sha1(&SecretString::from(key), base.as_bytes()).unwrap();
        assert_eq!(STANDARD.encode(signature), "hCtSmYh+iHYCEqBWrE7C7hYmqUk=");
    }

    #[test]
    fn a_file_is_what_its_name_says() {
        for (link, kind) in [
            ("https://a.example/b.PNG?c=d.mp4", Kind::Image),
            ("https://a.example/b.mp4#t", Kind::Video),
            ("https://a.example/b.ogg", Kind::Audio),
            ("https://a.example/b.pdf", Kind::Other),
            ("https://a.example", Kind::Other),
        ] {
            assert_eq!(Kind::of(link), kind, "{link}");
        }
    }
}
