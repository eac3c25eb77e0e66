//! Messaging platforms: WhatsApp, Messenger and Instagram by the Graph API, the direct messages of X, WeChat, and Google's
//! Business Messages, which has ended and is off unless an address of its own is set.
//!
//! None of them knows a repetition, so a message of unknown fate is never sent again. What a platform has no form for is
//! said in words: a choice as its lines, a card as image and text, a file as its link.

mod business;
mod graph;
mod media;
mod microblog;
mod signature;
mod wechat;

use std::rc::Rc;

use secrecy::{ExposeSecret, SecretString};

pub use business::{SERVICE as BUSINESS, business};
pub use graph::{INSTAGRAM, MESSENGER, WHATSAPP, instagram, messenger, whatsapp};
pub use microblog::{SERVICE as MICROBLOG, microblog};
pub use wechat::{SERVICE as WECHAT, wechat};

use super::oauth::Token;
use crate::contract::error::{Error, Outcome, Result};
use crate::contract::{Key, Value, json};
use crate::platform::Context;
use crate::platform::http::{Answer, Request, Service};
use crate::platform::settings::Settings;

/// What stands in the place of a credential that a service repeats.
const HIDDEN: &str = "[hidden]";

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The recipient's id on the platform.
    pub to: String,
    /// The account of ours that it goes from, when the conversation knows it.
    pub from: Option<String>,
    /// What it is made of, in its order.
    pub parts: Vec<Part>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// What is read.
    Text(String),
    /// A file.
    File(File),
    /// Something to choose from.
    Choice(Choice),
    /// Something with a title.
    Card(Card),
}

/// A file that lies at a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name; empty when it has none.
    pub name: String,
    /// Its http(s) link.
    pub link: String,
}

/// Options, of which one is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What is asked.
    pub text: String,
    /// The options.
    pub options: Vec<String>,
}

/// A title with what belongs to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Card {
    /// The title.
    pub title: String,
    /// The text below.
    pub text: String,
    /// The link of an image.
    pub image: Option<String>,
    /// What a link is called, and the link.
    pub link: Option<(String, String)>,
}

impl Message {
    /// What it is made of where a platform has only these forms: what it has none for is said in words. Texts that follow
    /// each other are one.
    pub fn in_forms(&self, has_form: impl Fn(&Part) -> bool) -> Vec<Part> {
        let mut parts = Vec::new();
        for part in &self.parts {
            add(part.clone(), &has_form, &mut parts);
        }
        parts
    }

    /// The whole message in words.
    pub fn text(&self) -> String {
        let parts = self.in_forms(|_| false).into_iter();
        let texts = parts.filter_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        });
        texts.collect()
    }
}

fn add(part: Part, has_form: &dyn Fn(&Part) -> bool, parts: &mut Vec<Part>) {
    match part {
        Part::Text(text) => match parts.last_mut() {
            Some(Part::Text(before)) => {
                before.push('\n');
                before.push_str(&text);
            }
            _ => parts.push(Part::Text(text)),
        },
        part if has_form(&part) => parts.push(part),
        part => part.in_words().into_iter().for_each(|part| add(part, has_form, parts)),
    }
}

impl Part {
    /// The same in words; of a card with an image that is a file, whose words come when there is no form for it either.
    fn in_words(self) -> Vec<Self> {
        let lines = match self {
            Self::Text(text) => vec![text],
            Self::File(file) => vec![labelled(&file.name, &file.link)],
            Self::Choice(Choice { text, options }) => {
                let options = options.iter().map(|option| format!("- {option}"));
                std::iter::once(text).chain(options).collect()
            }
            Self::Card(card) => {
                let text = Self::Text(card.in_words());
                let image = card.image.map(|link| {
                    let name = String::new();
                    Self::File(File { name, link })
                });
                return image.into_iter().chain([text]).collect();
            }
        };
        vec![Self::Text(joined(lines))]
    }
}

impl Card {
    /// Its title, text and link, line by line.
    fn in_words(&self) -> String {
        let link = self.link.as_ref().map(|(name, link)| labelled(name, link));
        joined([self.title.clone(), self.text.clone()].into_iter().chain(link))
    }
}

fn labelled(name: &str, link: &str) -> String {
    if name.is_empty() {
        link.to_owned()
    } else {
        format!("{name}: {link}")
    }
}

fn joined(lines: impl IntoIterator<Item = String>) -> String {
    let lines = lines.into_iter().filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a text has no more letters than so many.
fn is_within(text: &str, limit: usize) -> bool {
    text.chars().nth(limit).is_none()
}

/// Sends requests one after the other. Behind the first that failed nothing is sent.
async fn send<'a>(
    service: &Service<'_>,
    secrets: &[&SecretString],
    requests: impl IntoIterator<Item = Request<'a>>,
) -> Result<()> {
    for (index, request) in requests.into_iter().enumerate() {
        let answer = service.send(request).await;
        answer
            .and_then(|answer| taken(service, &answer, secrets))
            .map_err(|error| error.behind(index))?;
    }
    Ok(())
}

/// Asks with the token that the process keeps under a name; with a new one where there is none, or where it has ended
/// before its time. Who gives a new one is told which has ended.
async fn with_token(
    cx: &Context<'_>,
    name: &str,
    renew: impl AsyncFn(Option<&SecretString>) -> Result<Token>,
    ask: impl AsyncFn(&SecretString) -> Result<Answer>,
    has_ended: impl Fn(&Answer) -> bool,
) -> Result<(Answer, SecretString)> {
    let kept = cx.kept().get(name);
    if let Some(token) = &kept {
        let answer = ask(token).await?;
        if !has_ended(&answer) {
            return Ok((answer, token.clone()));
        }
    }
    // Whatever became of the request for a token, nothing was sent yet.
    let token = renew(kept.as_ref())
        .await
        .map_err(|error| error.with_outcome(Outcome::NotDone))?;
    cx.kept().keep(name.to_owned(), token.text.clone(), token.life);
    Ok((ask(&token.text).await?, token.text))
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
/// not. Some repeat a token that they do not like: what is secret is hidden.
fn taken(service: &Service<'_>, answer: &Answer, secrets: &[&SecretString]) -> Result<Value> {
    let response = json::decode(&answer.body).filter(|value| matches!(value, Value::Map(_)));
    let Some(response) = response else {
        let is_accepted = (200..300).contains(&answer.status);
        // What was accepted in a language that is not the platform's may be on its way.
        return Err(service.foreign(answer).behind(is_accepted.into()));
    };
    let failed = response.get(&Key::from("error")).is_some() || error_code(&response).is_some_and(|code| code != 0);
    if (200..300).contains(&answer.status) && !failed {
        return Ok(response);
    }
    let response = without(response, secrets);
    let at = |key: &'static str| response.get(&Key::from(key));
    let own = at("error").and_then(|error| error.get(&Key::from("message")));
    let texts = [own, at("detail"), at("title"), at("errmsg")];
    let message = texts.into_iter().flatten().find_map(Value::as_str);
    let message = message.unwrap_or("refused without a message").to_owned();
    Err(service.refusal_of(answer, message, Some(response)))
}

/// The code of an error as WeChat gives it; 0 is none.
fn error_code(response: &Value) -> Option<i64> {
    match response.get(&Key::from("errcode")) {
        Some(Value::Int(code)) => Some(*code),
        _ => None,
    }
}

/// A response in which no text holds a credential.
fn without(value: Value, secrets: &[&SecretString]) -> Value {
    match value {
        Value::Map(map) => {
            let hidden = map.into_iter().map(|(key, value)| (key, without(value, secrets)));
            Value::Map(hidden.collect())
        }
        Value::List(items) => items
            .into_iter()
            .map(|item| without(item, secrets))
            .collect::<Vec<_>>()
            .into(),
        Value::Bytes(bytes) => match String::from_utf8(bytes) {
            Ok(text) => {
                let secrets = secrets.iter().map(|secret| secret.expose_secret());
                let hide = |text: String, secret: &str| text.replace(secret, HIDDEN);
                secrets.filter(|secret| !secret.is_empty()).fold(text, hide).into()
            }
            Err(error) => Value::Bytes(error.into_bytes()),
        },
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    fn message() -> Message {
        Message {
            to: String::new(),
            from: None,
            parts: vec![
                text("Hi"),
                Part::Choice(Choice {
                    text: "Which?".into(),
                    options: vec!["A".into(), "B".into()],
                }),
                Part::Card(Card {
                    title: "Title".into(),
                    text: "Text".into(),
                    image: Some("https://a.example/b.png".into()),
                    link: Some(("More".into(), "https://a.example".into())),
                }),
                Part::File(File {
                    name: "c.pdf".into(),
                    link: "https://a.example/c.pdf".into(),
                }),
            ],
        }
    }

    #[test]
    fn what_a_platform_has_no_form_for_is_said_in_words() {
        let message = message();
        assert_eq!(message.in_forms(|_| true), message.parts);
        let lines = "Hi\nWhich?\n- A\n- B\nhttps://a.example/b.png\nTitle\nText\nMore: https://a.example\nc.pdf: https://a.example/c.pdf";
        assert_eq!(message.text(), lines);
        let image = Part::File(File {
            name: String::new(),
            link: "https://a.example/b.png".into(),
        });
        let behind = text("Title\nText\nMore: https://a.example\nc.pdf: https://a.example/c.pdf");
        assert_eq!(
            message.in_forms(|part| *part == image),
            [text("Hi\nWhich?\n- A\n- B"), image, behind]
        );
    }

    #[test]
    fn a_credential_that_is_repeated_is_hidden() {
        let response = json::decode(br#"{"error":{"message":"Malformed access token EAAB","code":190},"a":["EAAB"]}"#);
        let hidden = without(response.unwrap(), &[&"EAAB".into(), &"".into()]);
        let expected = r#"{"error":{"message":"Malformed access token [hidden]","code":190},"a":["[hidden]"]}"#;
        assert_eq!(json::encode(&hidden), expected);
    }
}
