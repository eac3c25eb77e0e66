//! The Graph API: WhatsApp, Messenger and Instagram.

use secrecy::{ExposeSecret, SecretString};

use super::media::{Kind, extension};
use super::{Card, Choice, File, Message, Part, active, is_within, secret, send, text};
use crate::contract::Value;
use crate::contract::error::Result;
use crate::platform::Context;
use crate::platform::http::{Body, Method, Request};
use crate::providers::Outside;
use crate::providers::parts::parts;

const ADDRESS: &str = "https://graph.facebook.com/v23.0";

/// How long a text of WhatsApp may be, in letters.
const WHATSAPP_LIMIT: usize = 4096;

/// How long the text at an image may be, or that above buttons.
const CAPTION_LIMIT: usize = 1024;

/// How many buttons there may be, and how long what stands on them.
const BUTTONS: usize = 3;
const BUTTON_LIMIT: usize = 20;

/// The same of the rows of a list, which opens by a button of its own.
const ROWS: usize = 10;
const ROW_LIMIT: usize = 24;

/// What stands on the button of a list without a title.
const OPENS_LIST: &str = "…";

/// How many quick replies there may be.
const QUICK_REPLIES: usize = 13;

/// How long the title and the text of a template may be.
const TEMPLATE_LIMIT: usize = 80;

macro_rules! service {
    ($constant:ident, $name:literal) => {
        /// As it is looked for.
        pub const $constant: Outside = Outside {
            name: $name,
            is_wanted: |settings| settings.is_on(concat!($name, "-active")),
            address: |_| Ok(ADDRESS.to_owned()),
        };
    };
}

service!(WHATSAPP, "whatsapp");
service!(MESSENGER, "messenger");
service!(INSTAGRAM, "instagram");

/// Sends by WhatsApp's own API.
pub async fn whatsapp(cx: &Context<'_>, message: &Message) -> Result<()> {
    let settings = active(cx, "whatsapp").await?;
    let token = secret(&settings, "whatsapp-token")?;
    let sender = text(&settings, "whatsapp-phone-id")?;
    let service = cx.service("whatsapp", ADDRESS).await?;
    let to = message.to.trim_start_matches('+');
    let bodies: Vec<Value> = whatsapp_contents(message)
        .into_iter()
        .map(|(kind, content)| {
            Value::map([
                ("messaging_product", "whatsapp".into()),
                ("recipient_type", "individual".into()),
                ("to", to.into()),
                ("type", kind.into()),
                (kind, content),
            ])
        })
        .collect();
    let path = [sender.as_str(), "messages"];
    let requests = bodies
        .iter()
        .map(|body| Request::new(Method::POST, &path).bearer(&token).body(Body::Json(body)));
    send(&service, &[&token], requests).await
}

/// The messages that a message is on WhatsApp: the kind and the content of each.
fn whatsapp_contents(message: &Message) -> Vec<(&'static str, Value)> {
    let has_form = |part: &Part| match part {
        Part::Text(_) | Part::File(_) => true,
        Part::Choice(choice) => interactive(choice).is_some(),
        Part::Card(card) => captioned(card).is_some(),
    };
    let mut contents = Vec::new();
    for part in message.in_forms(has_form) {
        match part {
            Part::Text(text) => contents.extend(parts(&text, WHATSAPP_LIMIT, |_| 1).into_iter().map(|part| {
                let content = [("body", part.into()), ("preview_url", Value::Bool(true))];
                ("text", Value::map(content))
            })),
            Part::File(file) => contents.push(whatsapp_file(&file)),
            Part::Choice(choice) => contents.extend(interactive(&choice).map(|content| ("interactive", content))),
            Part::Card(card) => contents.extend(captioned(&card).map(|content| ("image", content))),
        }
    }
    contents
}

/// A file, which WhatsApp fetches by its link. What it does not show it offers as a document.
fn whatsapp_file(File { name, link }: &File) -> (&'static str, Value) {
    let kind = match extension(link).as_deref() {
        Some("jpg" | "jpeg" | "png") => "image",
        Some("mp4" | "3gp") => "video",
        Some("aac" | "amr" | "mp3" | "m4a" | "ogg") => "audio",
        _ => "document",
    };
    let mut content = vec![("link", Value::from(link.as_str()))];
    if kind == "document" && !name.is_empty() {
        content.push(("filename", name.as_str().into()));
    }
    (kind, Value::map(content))
}

/// A choice by buttons, or by a list where there are too many for buttons.
fn interactive(choice: &Choice) -> Option<Value> {
    let Choice { text, options } = choice;
    if text.is_empty() || options.is_empty() || !is_within(text, CAPTION_LIMIT) {
        return None;
    }
    let are = |count, limit| options.len() <= count && options.iter().all(|option| is_within(option, limit));
    let option = |option: &String| Value::map([("id", option.as_str().into()), ("title", option.as_str().into())]);
    let (kind, action) = if are(BUTTONS, BUTTON_LIMIT) {
        let button = |own| Value::map([("type", "reply".into()), ("reply", option(own))]);
        let buttons: Vec<Value> = options.iter().map(button).collect();
        ("button", Value::map([("buttons", Value::List(buttons))]))
    } else if are(ROWS, ROW_LIMIT) {
        let rows: Vec<Value> = options.iter().map(option).collect();
        let opens = text.lines().next().filter(|line| is_within(line, BUTTON_LIMIT));
        let sections = vec![Value::map([("rows", Value::List(rows))])];
        let action = [
            ("button", opens.unwrap_or(OPENS_LIST).into()),
            ("sections", Value::List(sections)),
        ];
        ("list", Value::map(action))
    } else {
        return None;
    };
    Some(Value::map([
        ("type", kind.into()),
        ("body", Value::map([("text", text.as_str().into())])),
        ("action", action),
    ]))
}

/// A card as an image with its words below.
fn captioned(card: &Card) -> Option<Value> {
    let (image, caption) = (card.image.as_deref()?, card.in_words());
    is_within(&caption, CAPTION_LIMIT).then(|| Value::map([("link", image.into()), ("caption", caption.into())]))
}

/// What the two platforms of pages take.
struct Page {
    name: &'static str,
    /// How long a text may be, and what counts as long.
    limit: usize,
    length: fn(char) -> usize,
    /// Whether files of any kind are taken, and not only images, videos and sounds.
    takes_all_files: bool,
}

/// Sends by Messenger.
pub async fn messenger(cx: &Context<'_>, message: &Message) -> Result<()> {
    let page = Page {
        name: "messenger",
        limit: 2000,
        length: |_| 1,
        takes_all_files: true,
    };
    page.send(cx, message).await
}

/// Sends by Instagram.
pub async fn instagram(cx: &Context<'_>, message: &Message) -> Result<()> {
    let page = Page {
        name: "instagram",
        limit: 1000,
        length: char::len_utf8,
        takes_all_files: false,
    };
    page.send(cx, message).await
}

impl Page {
    async fn send(&self, cx: &Context<'_>, message: &Message) -> Result<()> {
        let settings = active(cx, self.name).await?;
        let token: SecretString = secret(&settings, &format!("{}-token", self.name))?;
        let page = match message.from.clone().filter(|page| !page.is_empty()) {
            Some(page) => page,
            None => text(&settings, &format!("{}-page-id", self.name))?,
        };
        let service = cx.service(self.name, ADDRESS).await?;
        let bodies: Vec<Value> = self
            .contents(message)
            .into_iter()
            .map(|content| {
                Value::map([
                    ("recipient", Value::map([("id", message.to.as_str().into())])),
                    ("messaging_type", "RESPONSE".into()),
                    ("message", content),
                ])
            })
            .collect();
        let path = [page.as_str(), "messages"];
        let requests = bodies.iter().map(|body| {
            Request::new(Method::POST, &path)
                .query("access_token", token.expose_secret())
                .body(Body::Json(body))
        });
        send(&service, &[&token], requests).await
    }

    /// The messages that a message is.
    fn contents(&self, message: &Message) -> Vec<Value> {
        let has_form = |part: &Part| match part {
            Part::Text(_) => true,
            Part::File(file) => self.takes_all_files || Kind::of(&file.link) != Kind::Other,
            Part::Choice(choice) => self.quick_replies(choice).is_some(),
            Part::Card(card) => template(card).is_some(),
        };
        let mut contents = Vec::new();
        for part in message.in_forms(has_form) {
            match part {
                Part::Text(text) => {
                    let texts = parts(&text, self.limit, self.length).into_iter();
                    contents.extend(texts.map(|part| Value::map([("text", part.into())])));
                }
                Part::File(File { link, .. }) => {
                    let payload = [("url", link.as_str().into()), ("is_reusable", Value::Bool(false))];
                    contents.push(attachment(Kind::of(&link).text("file"), Value::map(payload)));
                }
                Part::Choice(choice) => contents.extend(self.quick_replies(&choice)),
                Part::Card(card) => contents.extend(template(&card)),
            }
        }
        contents
    }

    /// A choice by buttons that go when one is chosen.
    fn quick_replies(&self, Choice { text, options }: &Choice) -> Option<Value> {
        let length: usize = text.chars().map(self.length).sum();
        let fits = (1..=self.limit).contains(&length)
            && (1..=QUICK_REPLIES).contains(&options.len())
            && options.iter().all(|option| is_within(option, BUTTON_LIMIT));
        let reply = |option: &String| {
            Value::map([
                ("content_type", "text".into()),
                ("title", option.as_str().into()),
                ("payload", option.as_str().into()),
            ])
        };
        fits.then(|| {
            let replies: Vec<Value> = options.iter().map(reply).collect();
            Value::map([("text", text.as_str().into()), ("quick_replies", Value::List(replies))])
        })
    }
}

fn attachment(kind: &'static str, payload: Value) -> Value {
    let attachment = [("type", kind.into()), ("payload", payload)];
    Value::map([("attachment", Value::map(attachment))])
}

/// A card as a template: a title and something beside it, short enough.
fn template(card: &Card) -> Option<Value> {
    let Card {
        title,
        text,
        image,
        link,
    } = card;
    let name_fits = link
        .as_ref()
        .is_none_or(|(name, _)| !name.is_empty() && is_within(name, BUTTON_LIMIT));
    let stands_alone = text.is_empty() && image.is_none() && link.is_none();
    if title.is_empty()
        || stands_alone
        || !name_fits
        || ![title, text].into_iter().all(|text| is_within(text, TEMPLATE_LIMIT))
    {
        return None;
    }
    let mut element = vec![("title", Value::from(title.as_str()))];
    if !text.is_empty() {
        element.push(("subtitle", text.as_str().into()));
    }
    element.extend(image.as_deref().map(|image| ("image_url", image.into())));
    element.extend(link.as_ref().map(|(name, link)| {
        let button = [
            ("type", "web_url".into()),
            ("url", link.as_str().into()),
            ("title", name.as_str().into()),
        ];
        ("buttons", Value::List(vec![Value::map(button)]))
    }));
    let payload = [
        ("template_type", "generic".into()),
        ("elements", Value::List(vec![Value::map(element)])),
    ];
    Some(attachment("template", Value::map(payload)))
}
