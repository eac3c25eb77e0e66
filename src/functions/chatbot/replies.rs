//! What the chatbot answers, as messages of the chat: every kind of message that it has.

use crate::contract::value::at;
use crate::contract::{Key, Map, Value, json};
use crate::functions::attachments::is_link;
use crate::functions::columns;

/// More attachments than this are no message for people.
const ATTACHMENTS: usize = 50;

/// A message of the chat.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Reply {
    /// What is read.
    pub text: String,
    /// Pairs of name and link.
    pub attachments: Vec<Value>,
    /// What the chatbot gave in a form of its own.
    extra: Map,
}

/// Reads one kind of message into a reply.
type Reader = fn(&mut Reply, &Value);

/// The replies of a response. Messages for other platforms count only when there is none for all.
pub(super) fn of(response: &Value) -> Vec<Reply> {
    let result = response.get(&"queryResult".into()).cloned().unwrap_or_default();
    let messages = items(&result, "fulfillmentMessages");
    let platform = |message: &Value| {
        Some(text(message, "platform"))
            .filter(|platform| *platform != "PLATFORM_UNSPECIFIED")
            .unwrap_or_default()
            .to_owned()
    };
    let read = |wanted: &str| -> Vec<Reply> {
        let messages = messages.iter().filter(|message| platform(message) == wanted);
        let mut replies: Vec<Reply> = messages.map(Reply::read).filter(Reply::is_something).collect();
        replies.dedup();
        replies
    };
    let mut replies = read("");
    if replies.is_empty()
        && let Some(first) = messages.first()
    {
        replies = read(&platform(first));
    }
    let text = text(&result, "fulfillmentText");
    if replies.is_empty() && !text.is_empty() {
        replies.push(Reply::from_text(text.to_owned()));
    }
    replies
}

/// Where a reply came from: kept in the payload of its message.
pub(super) fn source(response: &Value) -> Value {
    let result = response.get(&"queryResult".into()).cloned().unwrap_or_default();
    let intent = result.get(&"intent".into()).map(|intent| text(intent, "displayName"));
    let confidence = result.get(&"intentDetectionConfidence".into()).cloned();
    Value::map([
        ("response_id", text(response, "responseId").into()),
        ("intent", intent.unwrap_or_default().into()),
        ("action", text(&result, "action").into()),
        ("confidence", confidence.unwrap_or(Value::Int(0))),
    ])
}

impl Reply {
    /// A reply of nothing but a text.
    pub(super) fn from_text(text: String) -> Self {
        let mut reply = Self::default();
        reply.say(&text);
        reply.cut();
        reply
    }

    /// As the caller of the function gets it.
    pub(super) fn shown(&self) -> Value {
        Value::map([
            ("message", self.text.as_str().into()),
            ("attachments", Value::List(self.attachments.clone())),
        ])
    }

    /// The payload of the message; without the chatbot's own form where that is too long for the column.
    pub(super) fn payload(&self, source: &Value) -> Map {
        let mut payload = self.extra.clone();
        payload.insert("chatbot".into(), source.clone());
        if json::encode(&Value::Map(payload.clone())).len() > columns::TEXT {
            payload.retain(|key, _| *key == Key::from("chatbot") || *key == Key::from("event"));
        }
        payload
    }

    fn is_something(&self) -> bool {
        !self.text.is_empty() || !self.attachments.is_empty() || !self.extra.is_empty()
    }

    fn read(message: &Value) -> Self {
        let mut reply = Self::default();
        let kinds: [(&str, Reader); 14] = [
            ("text", Self::add_texts),
            ("simpleResponses", Self::add_simple_responses),
            ("quickReplies", Self::add_quick_replies),
            ("suggestions", Self::add_suggestions),
            ("linkOutSuggestion", Self::add_link_out),
            ("image", Self::add_image),
            ("card", Self::add_card),
            ("basicCard", Self::add_card),
            ("listSelect", Self::add_selection),
            ("carouselSelect", Self::add_selection),
            ("browseCarouselCard", Self::add_selection),
            ("tableCard", Self::add_table),
            ("mediaContent", Self::add_media),
            ("payload", Self::add_payload),
        ];
        for (kind, add) in kinds {
            let Some(content) = message.get(&Key::from(kind)) else {
                continue;
            };
            add(&mut reply, content);
            if !matches!(kind, "text" | "simpleResponses" | "image" | "payload") {
                reply.extra.insert("rich".into(), Value::map([(kind, content.clone())]));
            }
        }
        reply.cut();
        reply
    }

    fn add_texts(&mut self, texts: &Value) {
        for text in items(texts, "text") {
            self.say(text.as_str().unwrap_or_default());
        }
    }

    fn add_simple_responses(&mut self, responses: &Value) {
        for response in items(responses, "simpleResponses") {
            let spoken = without_tags(text(response, "ssml"));
            let said = [text(response, "displayText"), text(response, "textToSpeech"), &spoken];
            self.say(said.into_iter().find(|text| !text.is_empty()).unwrap_or_default());
        }
    }

    fn add_quick_replies(&mut self, replies: &Value) {
        self.say(text(replies, "title"));
        for reply in items(replies, "quickReplies") {
            self.offer(reply.as_str().unwrap_or_default());
        }
    }

    fn add_suggestions(&mut self, suggestions: &Value) {
        for suggestion in items(suggestions, "suggestions") {
            self.offer(text(suggestion, "title"));
        }
    }

    fn add_link_out(&mut self, link: &Value) {
        self.link(text(link, "destinationName"), text(link, "uri"));
    }

    fn add_image(&mut self, image: &Value) {
        self.attach(text(image, "accessibilityText"), text(image, "imageUri"));
    }

    /// A card: title, subtitle, text, image, buttons.
    fn add_card(&mut self, card: &Value) {
        self.head(text(card, "title"));
        self.say(text(card, "subtitle"));
        self.say(text(card, "formattedText"));
        self.attach(text(card, "title"), text(card, "imageUri"));
        if let Some(image) = card.get(&"image".into()) {
            self.add_image(image);
        }
        for button in items(card, "buttons") {
            let name = [text(button, "title"), text(button, "text")];
            let name = name.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
            let action = button.get(&"openUriAction".into()).map(|action| text(action, "uri"));
            self.link(name, action.unwrap_or(text(button, "postback")));
        }
    }

    /// A list or a carousel.
    fn add_selection(&mut self, selection: &Value) {
        self.head(text(selection, "title"));
        self.say(text(selection, "subtitle"));
        for item in items(selection, "items") {
            let description = text(item, "description");
            let title = text(item, "title");
            if description.is_empty() {
                self.offer(title);
            } else {
                self.offer(&format!("{title}: {description}"));
            }
            self.say(text(item, "footer"));
            if let Some(image) = item.get(&"image".into()) {
                self.add_image(image);
            }
            if let Some(action) = item.get(&"openUriAction".into()) {
                self.say(text(action, "url"));
            }
        }
    }

    fn add_table(&mut self, table: &Value) {
        self.add_card(&Value::map([
            ("title", text(table, "title").into()),
            ("subtitle", text(table, "subtitle").into()),
            ("image", table.get(&"image".into()).cloned().unwrap_or_default()),
        ]));
        let line = |cells: Vec<&str>| cells.join(" | ");
        let columns = items(table, "columnProperties");
        self.say(&line(columns.iter().map(|column| text(column, "header")).collect()));
        for row in items(table, "rows") {
            self.say(&line(
                items(row, "cells").iter().map(|cell| text(cell, "text")).collect(),
            ));
        }
        self.add_card(&Value::map([(
            "buttons",
            Value::List(items(table, "buttons").to_vec()),
        )]));
    }

    fn add_media(&mut self, media: &Value) {
        for object in items(media, "mediaObjects") {
            self.head(text(object, "name"));
            self.say(text(object, "description"));
            self.attach(text(object, "name"), text(object, "contentUrl"));
            for image in ["largeImage", "icon"] {
                if let Some(image) = object.get(&Key::from(image)) {
                    self.add_image(image);
                }
            }
        }
    }

    /// A form of the agent's maker: the payload of the message, of which some keys are shown.
    fn add_payload(&mut self, payload: &Value) {
        let Value::Map(map) = payload else {
            return;
        };
        let said = [text(payload, "message"), text(payload, "text")];
        self.say(said.into_iter().find(|text| !text.is_empty()).unwrap_or_default());
        for attachment in items(payload, "attachments") {
            let item = |key: Key| attachment.get(&key).and_then(Value::as_str);
            let name = item(0.into()).or_else(|| item("name".into()));
            let link = item(1.into())
                .or_else(|| item("link".into()))
                .or_else(|| item("url".into()));
            self.attach(name.unwrap_or_default(), link.unwrap_or_default());
        }
        for column in items(payload, "richContent") {
            let Value::List(elements) = column else {
                continue;
            };
            for element in elements {
                self.add_rich_element(element);
            }
        }
        self.extra.extend(map.clone());
    }

    /// An element of the rich messages of the service's own chat window.
    fn add_rich_element(&mut self, element: &Value) {
        match text(element, "type") {
            "image" => self.attach(text(element, "accessibilityText"), text(element, "rawUrl")),
            "button" => self.link(text(element, "text"), text(element, "link")),
            "chips" => {
                for option in items(element, "options") {
                    self.link(text(option, "text"), text(option, "link"));
                }
            }
            _ => {
                self.head(text(element, "title"));
                self.say(text(element, "subtitle"));
                self.say(text(element, "text"));
                for line in items(element, "text") {
                    self.say(line.as_str().unwrap_or_default());
                }
                self.say(text(element, "actionLink"));
            }
        }
    }

    /// Adds a line.
    fn say(&mut self, line: &str) {
        let line = line.trim();
        if !line.is_empty() {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(line);
        }
    }

    /// Adds a line in bold type.
    fn head(&mut self, title: &str) {
        let title = title.trim();
        if title.is_empty() || title.contains(['*', '\n']) {
            self.say(title);
        } else {
            self.say(&format!("*{title}*"));
        }
    }

    /// Adds something to choose.
    fn offer(&mut self, choice: &str) {
        if !choice.trim().is_empty() {
            self.say(&format!("• {}", choice.trim()));
        }
    }

    /// Adds a link under its name; what leads nowhere is something to choose.
    fn link(&mut self, name: &str, link: &str) {
        match (name.trim(), is_link(link)) {
            ("", true) => self.say(link),
            (name, true) => self.say(&format!("{name}: {link}")),
            (name, false) => self.offer(name),
        }
    }

    /// Adds an attachment, named after its link where it has no name.
    fn attach(&mut self, name: &str, link: &str) {
        if !is_link(link) {
            self.say(link);
            return;
        }
        let path = link.split(['?', '#']).next().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default();
        let name = [name.trim(), file, link].into_iter().find(|name| !name.is_empty());
        let pair = Value::List(vec![name.unwrap_or_default().into(), link.into()]);
        if !self.attachments.contains(&pair) {
            self.attachments.push(pair);
        }
    }

    /// Cuts off what the columns do not hold.
    fn cut(&mut self) {
        let mut end = self.text.len().min(columns::TEXT);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        self.text.truncate(end);
        self.attachments.truncate(ATTACHMENTS);
        while json::encode(&Value::List(self.attachments.clone())).len() > columns::TEXT {
            self.attachments.pop();
        }
    }
}

fn text<'v>(value: &'v Value, name: &'static str) -> &'v str {
    value.get(&name.into()).and_then(Value::as_str).unwrap_or_default()
}

fn items<'v>(value: &'v Value, name: &'static str) -> &'v [Value] {
    match value {
        Value::Map(map) => match at(map, name) {
            Some(Value::List(items)) => items,
            _ => &[],
        },
        _ => &[],
    }
}

/// The words of a text with tags.
fn without_tags(text: &str) -> String {
    let mut words = String::new();
    let mut inside = false;
    for letter in text.chars() {
        match letter {
            '<' => inside = true,
            '>' => inside = false,
            letter if !inside => words.push(letter),
            _ => {}
        }
    }
    words
}
