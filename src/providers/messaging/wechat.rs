//! WeChat: messages of customer service of an official account.
//!
//! An account has one access token: a new one ends that before it, and few are given in a day. So all processes of an
//! installation share it, encrypted in a row of the settings.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use super::media::Image;
use super::{Card, File, Message, Part, active, error_code, secret, taken, text, with_token};
use crate::contract::error::Result;
use crate::contract::{Key, Value, json};
use crate::platform::Context;
use crate::platform::crypto::{self, Purpose};
use crate::platform::http::{self, Answer, Body, Method, Request, Service};
use crate::providers::Outside;
use crate::providers::oauth::Token;
use crate::providers::parts::parts;

const ADDRESS: &str = "https://api.weixin.qq.com";

/// As it is looked for.
pub const SERVICE: Outside = Outside {
    name: "wechat",
    is_wanted: |settings| settings.is_on("wechat-active"),
    address: |_| Ok(ADDRESS.to_owned()),
};

/// How long a text may be, in bytes.
const TEXT_LIMIT: usize = 2048;

/// How large an image may be, and of what types.
const IMAGE_LIMIT: usize = 10 << 20;
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/bmp"];

/// Codes by which the service says that the access token counts no more.
const TOKEN_ENDED: [i64; 3] = [40001, 40014, 42001];

/// How long before its end a token is not used any more.
const MARGIN: Duration = Duration::from_mins(1);

const SEND: [&str; 4] = ["cgi-bin", "message", "custom", "send"];
const UPLOAD: [&str; 3] = ["cgi-bin", "media", "upload"];
const TOKEN: [&str; 2] = ["cgi-bin", "token"];

/// The row of the token: `{"of", "token", "until"}`, of which account, encrypted, in Unix time.
const TOKEN_ROW: &str = "wechat-token";

/// An official account.
struct Account<'a> {
    cx: &'a Context<'a>,
    service: Service<'a>,
    id: String,
    password: SecretString,
    /// Under what its token is kept.
    name: String,
}

/// Sends by WeChat. An account may send few messages for each of a user's, so what can be one message is one.
pub async fn wechat(cx: &Context<'_>, message: &Message) -> Result<()> {
    let account = Account::of(cx).await?;
    let images = account.uploaded(message).await;
    let has_form = |part: &Part| match part {
        Part::Text(_) => true,
        Part::File(file) => images.contains_key(&file.link),
        Part::Card(card) => news(card).is_some(),
        Part::Choice(_) => false,
    };
    let mut contents = Vec::new();
    for part in message.in_forms(has_form) {
        match part {
            Part::Text(text) => {
                let texts = parts(&text, TEXT_LIMIT, char::len_utf8).into_iter();
                contents.extend(texts.map(|part| ("text", Value::map([("content", part.into())]))));
            }
            Part::File(File { link, .. }) => {
                let id = images.get(&link);
                contents.extend(id.map(|id| ("image", Value::map([("media_id", id.as_str().into())]))));
            }
            Part::Card(card) => contents.extend(news(&card).map(|content| ("news", content))),
            Part::Choice(_) => {}
        }
    }
    for (index, (kind, content)) in contents.into_iter().enumerate() {
        let body = Value::map([
            ("touser", message.to.as_str().into()),
            ("msgtype", kind.into()),
            (kind, content),
        ]);
        let ask = || Request::new(Method::POST, &SEND).body(Body::Json(&body));
        account.ask(ask).await.map_err(|error| error.behind(index))?;
    }
    Ok(())
}

/// A card as an article, which leads to its link.
fn news(card: &Card) -> Option<Value> {
    let (_, link) = card.link.as_ref().filter(|_| !card.title.is_empty())?;
    let mut article = vec![
        ("title", Value::from(card.title.as_str())),
        ("description", card.text.as_str().into()),
        ("url", link.as_str().into()),
    ];
    article.extend(card.image.as_deref().map(|image| ("picurl", image.into())));
    Some(Value::map([("articles", Value::List(vec![Value::map(article)]))]))
}

impl<'a> Account<'a> {
    async fn of(cx: &'a Context<'_>) -> Result<Self> {
        let settings = active(cx, "wechat").await?;
        let (id, password) = (
            text(&settings, "wechat-app-id")?,
            secret(&settings, "wechat-app-secret")?,
        );
        let service = cx.service("wechat", ADDRESS).await?;
        let who = format!("{}\0{id}\0{}", service.address(&[]), password.expose_secret());
        Ok(Self {
            cx,
            service,
            name: format!("wechat-token/{}", crypto::sha256(who.as_bytes())?),
            id,
            password,
        })
    }

    /// What the service answers to a request that it takes.
    async fn ask<'r>(&self, request: impl Fn() -> Request<'r>) -> Result<Value> {
        let ask = async |token: &SecretString| {
            let request = request().query("access_token", token.expose_secret().to_owned());
            self.service.send(request).await
        };
        let (answer, token) = with_token(
            self.cx,
            &self.name,
            async |ended| self.token(ended).await,
            ask,
            has_ended,
        )
        .await?;
        taken(&self.service, &answer, &[&token, &self.password])
    }

    /// The token that the installation has, unless it is the one that has ended; or else a new one.
    async fn token(&self, ended: Option<&SecretString>) -> Result<Token> {
        let shared = self.shared_token().await?;
        let is_other = |token: &Token| ended.is_none_or(|ended| ended.expose_secret() != token.text.expose_secret());
        if let Some(token) = shared.filter(is_other) {
            return Ok(token);
        }
        let token = self.new_token().await?;
        self.share(&token).await?;
        Ok(token)
    }

    async fn shared_token(&self) -> Result<Option<Token>> {
        let Some(row) = self.cx.stored(TOKEN_ROW).await? else {
            return Ok(None);
        };
        let at = |name: &'static str| row.get(&Key::from(name));
        let is_own = at("of").and_then(Value::as_str) == Some(&self.name);
        let Some(Value::Int(until)) = at("until").filter(|_| is_own) else {
            return Ok(None);
        };
        let left = u64::try_from(until - self.cx.now().and_utc().timestamp()).unwrap_or_default();
        let sealed = at("token").and_then(Value::as_bytes).unwrap_or_default();
        let text = self.cx.keys().await?.decrypt(Purpose::Token, sealed);
        let text = text.and_then(|text| String::from_utf8(text).ok());
        Ok(text.filter(|_| left > 0).map(|text| Token {
            text: text.into(),
            life: Duration::from_secs(left),
        }))
    }

    async fn share(&self, token: &Token) -> Result<()> {
        let sealed = self.cx.keys().await?;
        let sealed = sealed.encrypt(Purpose::Token, token.text.expose_secret().as_bytes())?;
        let life = i64::try_from(token.life.as_secs()).unwrap_or_default();
        let row = Value::map([
            ("of", self.name.as_str().into()),
            ("token", sealed.into()),
            ("until", (self.cx.now().and_utc().timestamp() + life).into()),
        ]);
        self.cx.store(BTreeMap::from([(TOKEN_ROW.to_owned(), row)])).await
    }

    async fn new_token(&self) -> Result<Token> {
        let request = Request::new(Method::GET, &TOKEN)
            .query("grant_type", "client_credential")
            .query("appid", self.id.as_str())
            .query("secret", self.password.expose_secret());
        let answer = self.service.send(request).await?;
        let given = taken(&self.service, &answer, &[&self.password])?;
        let token = given.get(&Key::from("access_token")).and_then(Value::as_str);
        let token = token.ok_or_else(|| self.service.foreign(&answer))?;
        let life = match given.get(&Key::from("expires_in")) {
            Some(Value::Int(seconds)) => u64::try_from(*seconds).unwrap_or_default(),
            _ => 0,
        };
        Ok(Token {
            text: token.into(),
            life: Duration::from_secs(life).saturating_sub(MARGIN),
        })
    }

    /// The ids of the images of a message that the service has taken, by their links. One that it has not goes as a link.
    async fn uploaded(&self, message: &Message) -> HashMap<String, String> {
        let mut ids = HashMap::new();
        let needs_file = |part: &Part| match part {
            Part::Card(card) => news(card).is_some(),
            part => matches!(part, Part::File(_)),
        };
        for part in message.in_forms(needs_file) {
            if let Part::File(file) = part
                && let Some(image) = file.image(self.cx, &IMAGE_TYPES, IMAGE_LIMIT).await
                && let Ok(Some(id)) = self.upload(image).await
            {
                ids.insert(file.link, id);
            }
        }
        ids
    }

    async fn upload(&self, image: Image) -> Result<Option<String>> {
        let form = [http::Part {
            name: "media".into(),
            content: image.content,
            file: Some((image.name, image.media_type.to_owned())),
        }];
        let request = || {
            Request::new(Method::POST, &UPLOAD)
                .query("type", "image")
                .body(Body::Multipart(&form))
        };
        let taken = self.ask(request).await?;
        let id = taken.get(&Key::from("media_id")).and_then(Value::as_str);
        Ok(id.map(str::to_owned))
    }
}

fn has_ended(answer: &Answer) -> bool {
    let response = json::decode(&answer.body);
    let code = response.as_ref().and_then(error_code);
    code.is_some_and(|code| TOKEN_ENDED.contains(&code))
}
