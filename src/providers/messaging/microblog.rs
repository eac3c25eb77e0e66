//! Direct messages of X.

use std::collections::HashMap;

use super::media::Image;
use super::signature::Credentials;
use super::{File, Message, Part, active, secret, send, taken};
use crate::contract::Value;
use crate::contract::error::Result;
use crate::contract::value::Key;
use crate::platform::Context;
use crate::platform::http::{self, Body, Method, Request, Service};
use crate::providers::Outside;
use crate::providers::parts::parts;

const ADDRESS: &str = "https://api.x.com";

/// As it is looked for.
pub const SERVICE: Outside = Outside {
    name: "microblog",
    is_wanted: |settings| settings.is_on("microblog-active"),
    address: |_| Ok(ADDRESS.to_owned()),
};

/// How long a text may be, in letters.
const TEXT_LIMIT: usize = 10_000;

/// How large an image may be, and of what types.
const IMAGE_LIMIT: usize = 5 << 20;
const IMAGE_TYPES: [&str; 3] = ["image/jpeg", "image/png", "image/webp"];

const UPLOAD: [&str; 3] = ["2", "media", "upload"];

/// An account with the service.
struct Account<'a> {
    cx: &'a Context<'a>,
    service: Service<'a>,
    credentials: Credentials,
}

/// Sends direct messages, each image one of its own.
pub async fn microblog(cx: &Context<'_>, message: &Message) -> Result<()> {
    let settings = active(cx, "microblog").await?;
    let account = Account {
        cx,
        credentials: Credentials {
            key: secret(&settings, "microblog-consumer-key")?,
            key_secret: secret(&settings, "microblog-consumer-secret")?,
            token: secret(&settings, "microblog-access-token")?,
            token_secret: secret(&settings, "microblog-access-token-secret")?,
        },
        service: cx.service("microblog", ADDRESS).await?,
    };
    let images = account.uploaded(message).await;
    let mut bodies = Vec::new();
    for part in message.in_forms(|part| matches!(part, Part::File(file) if images.contains_key(&file.link))) {
        match part {
            Part::Text(text) => {
                let texts = parts(&text, TEXT_LIMIT, |_| 1).into_iter();
                bodies.extend(texts.map(|part| Value::map([("text", part.into())])));
            }
            Part::File(File { link, .. }) => bodies.extend(images.get(&link).map(|id| {
                let attachment = Value::map([("media_id", id.as_str().into())]);
                Value::map([("attachments", Value::List(vec![attachment]))])
            })),
            Part::Choice(_) | Part::Card(_) => {}
        }
    }
    let path = ["2", "dm_conversations", "with", &message.to, "messages"];
    let requests = bodies
        .iter()
        .map(|body| account.request(&path, Body::Json(body)))
        .collect::<Result<Vec<_>>>()?;
    send(&account.service, &account.credentials.secrets(), requests).await
}

impl Account<'_> {
    fn request<'r>(&self, path: &'r [&'r str], body: Body<'r>) -> Result<Request<'r>> {
        let time = self.cx.now().and_utc().timestamp();
        let address = self.service.address(path);
        let authorization = self.credentials.authorization("POST", &address, time)?;
        Ok(Request::new(Method::POST, path)
            .header("authorization", authorization)
            .body(body))
    }

    /// The ids of the images of a message that the service has taken, by their links. One that it has not goes as a link.
    async fn uploaded(&self, message: &Message) -> HashMap<String, String> {
        let mut ids = HashMap::new();
        for part in message.in_forms(|part| matches!(part, Part::File(_))) {
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
        let form = [
            http::Part {
                name: "media_category".into(),
                content: b"dm_image".to_vec(),
                file: None,
            },
            http::Part {
                name: "media".into(),
                content: image.content,
                file: Some((image.name, image.media_type.to_owned())),
            },
        ];
        let request = self.request(&UPLOAD, Body::Multipart(&form))?;
        let answer = self.service.send(request).await?;
        let taken = taken(&self.service, &answer, &self.credentials.secrets())?;
        let id = taken
            .get(&Key::from("data"))
            .and_then(|media| media.get(&Key::from("id"))?.as_str());
        Ok(id.map(str::to_owned))
    }
}
