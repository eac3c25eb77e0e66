//! An e-mail that came in: who wrote it, what it answers, what it says.

use mail_parser::{Address, Message, MessageParser};

use super::charset::with_readable_headers;
use super::html::plain_text;
use super::mime::Part;
use super::report::Report;
use super::winmail;

/// How many attachments of one e-mail are looked at.
const ATTACHMENT_LIMIT: usize = 50;

/// Beginnings of addresses that nobody reads.
const MACHINES: [&str; 2] = ["mailer-daemon@", "mailerdaemon@"];

/// Beginnings of subjects of e-mails that are passed on, in the languages of the common programs.
const FORWARDS: [&str; 14] = [
    "fw:",
    "fwd:",
    "wg:",
    "tr:",
    "rv:",
    "i:",
    "enc:",
    "vs:",
    "vb:",
    "pd:",
    "ilt:",
    "továbbítás:",
    "转发:",
    "轉寄:",
];

/// An e-mail that came in.
#[derive(Debug, Clone, Default)]
pub struct Incoming {
    /// Its id, without brackets.
    pub id: Option<String>,
    /// The name of who wrote it.
    pub name: String,
    /// The address of who wrote it.
    pub address: String,
    /// What names the e-mails that it answers: ids, and recipients with their names.
    pub references: Vec<String>,
    /// Whether it answers something.
    pub is_reply: bool,
    /// Whether it passes on what somebody else wrote.
    pub is_forward: bool,
    /// Whether this is only its beginning.
    pub is_cut: bool,
    /// Its subject, on one line.
    pub subject: String,
    /// What it says, with all that it quotes.
    pub text: String,
    /// What comes with it.
    pub attachments: Vec<Attachment>,
    /// Who, or what, wrote it.
    pub kind: Kind,
}

/// A file that comes with an e-mail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attachment {
    /// Its name, as the sender chose it; empty for none.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// What it holds.
    pub content: Vec<u8>,
}

/// Who, or what, wrote an e-mail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Kind {
    /// A person, as far as one can see.
    #[default]
    Person,
    /// A program: an answer that comes by itself, a newsletter, a mailing list.
    Program,
    /// A mail server, on an e-mail of ours.
    Report(Report),
}

impl Incoming {
    /// Reads an e-mail, or the beginning of one; `None` when nobody wrote it.
    pub fn read(content: Vec<u8>, is_cut: bool) -> Option<Self> {
        let content = with_readable_headers(content);
        let message = MessageParser::default().parse_headers(&content)?;
        let (name, address) = author(&message).unwrap_or_default();
        let body = Part::of(&message, &content);
        let mut found = Found::default();
        found.add(&body);
        let text = found.text();
        let kind = kind(&message, &body, &address, &text);
        if address.is_empty() && !matches!(kind, Kind::Report(_)) {
            return None;
        }
        let subject = on_one_line(message.subject().unwrap_or_default());
        let replied = ["In-Reply-To", "References"].map(|name| message.header_raw(name));
        let recipients = [message.to(), message.cc()]
            .into_iter()
            .flatten()
            .flat_map(Address::iter);
        let recipients = recipients.map(|to| {
            let (name, address) = (to.name.as_deref(), to.address.as_deref());
            [name, address].map(Option::unwrap_or_default).join(" ")
        });
        let delivered = ["Delivered-To", "X-Original-To", "Envelope-To"].map(|name| message.header_raw(name));
        let is_forward = FORWARDS.iter().any(|begin| subject.to_lowercase().starts_with(begin));
        let mut attachments = attachments(&found.files);
        if is_cut {
            // The last of them is not whole.
            attachments.pop();
        }
        Some(Self {
            id: message
                .message_id()
                .map(|id| id.trim().to_owned())
                .filter(|id| !id.is_empty()),
            name,
            address,
            is_forward,
            is_cut,
            is_reply: !is_forward && (replied.iter().any(Option::is_some) || is_answer(&subject)),
            references: {
                let named = replied.into_iter().chain(delivered).flatten().map(str::to_owned);
                named.chain(recipients).collect()
            },
            subject,
            text,
            attachments,
            kind,
        })
    }

    /// Whether it refers to an e-mail of that id.
    pub fn answers(&self, id: &str) -> bool {
        let is_outside = |letter: char| letter.is_whitespace() || matches!(letter, '<' | '>' | ',');
        self.references
            .iter()
            .any(|text| text.split(is_outside).any(|word| word == id))
    }
}

/// Name and address of who wrote it.
fn author(message: &Message<'_>) -> Option<(String, String)> {
    let author = message.from().or_else(|| message.sender())?;
    let found = author.iter().find(|author| {
        let address = author.address.as_deref().map(str::trim).unwrap_or_default();
        super::address("the author", address).is_ok()
    })?;
    let address = found.address.as_deref()?.trim().to_owned();
    let name = found.name.as_deref().map(on_one_line).unwrap_or_default();
    Some((name.trim_matches(['"', '\'', ' ']).to_owned(), address))
}

fn kind(message: &Message<'_>, body: &Part, author: &str, text: &str) -> Kind {
    let value = |name: &str| message.header_raw(name).map(|value| value.trim().to_ascii_lowercase());
    let has = |name: &str| value(name).is_some();
    if let Some(report) = Report::of(message, body) {
        return Kind::Report(report);
    }
    let is_of_nobody = value("Return-Path").is_some_and(|path| path == "<>");
    let author = author.to_ascii_lowercase();
    if author.is_empty() || MACHINES.iter().any(|machine| author.starts_with(machine)) {
        return Kind::Report(Report::without_form(message, body, text));
    }
    let is_submitted = value("Auto-Submitted").is_some_and(|value| !value.is_empty() && !value.starts_with("no"));
    let precedence = value("Precedence").unwrap_or_default();
    let is_bulk = ["bulk", "junk", "list", "auto_reply"].contains(&precedence.as_str());
    let suppresses = value("X-Auto-Response-Suppress").is_some_and(|value| value != "none");
    let is_marked = [
        "X-Autoreply",
        "X-Autorespond",
        "X-Autoresponder",
        "X-Loop",
        "X-Auto-Reply-From",
    ]
    .iter()
    .any(|name| has(name));
    let is_list = ["List-Id", "List-Post"].iter().any(|name| has(name));
    let is_receipt = body.media_type == "multipart/report";
    if is_of_nobody || is_submitted || is_bulk || suppresses || is_marked || is_list || is_receipt {
        Kind::Program
    } else {
        Kind::Person
    }
}

/// `Re:` in the languages of the common programs.
fn is_answer(subject: &str) -> bool {
    let begins = [
        "re:",
        "aw:",
        "antw:",
        "sv:",
        "vs:",
        "odp:",
        "r:",
        "rif:",
        "res:",
        "ynt:",
        "vá:",
        "回复:",
        "回覆:",
        "re：",
        "回复：",
    ];
    let subject = subject.to_lowercase();
    begins.iter().any(|begin| subject.starts_with(begin))
}

/// What of an e-mail is text, and what comes with it.
#[derive(Default)]
struct Found<'a> {
    texts: Vec<String>,
    files: Vec<&'a Part>,
}

impl<'a> Found<'a> {
    fn add(&mut self, part: &'a Part) {
        match part.media_type.as_str() {
            "multipart/alternative" => self.add_best(&part.parts),
            _ if !part.parts.is_empty() => part.parts.iter().for_each(|part| self.add(part)),
            "text/plain" | "text/html" if !part.is_attachment && part.name.is_none() => self.texts.push(shown(part)),
            _ => self.files.push(part),
        }
    }

    /// Of several forms the plain one, unless it is empty.
    fn add_best(&mut self, parts: &'a [Part]) {
        let mut forms: Vec<(&Part, Self)> = Vec::new();
        for part in parts {
            let mut found = Self::default();
            found.add(part);
            forms.push((part, found));
        }
        let says = |found: &Self| !found.text().trim().is_empty();
        let plain = forms
            .iter()
            .position(|(part, found)| part.media_type == "text/plain" && says(found));
        let best = plain.or_else(|| forms.iter().position(|(_, found)| says(found)));
        for (position, (_, found)) in forms.into_iter().enumerate() {
            if Some(position) == best {
                self.texts.extend(found.texts);
            }
            self.files.extend(found.files);
        }
    }

    fn text(&self) -> String {
        let texts = self.texts.iter().map(|text| text.trim_end());
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        texts.join("\n\n")
    }
}

/// A part as people see it.
fn shown(part: &Part) -> String {
    let text = part.text();
    let text = if part.media_type == "text/html" {
        plain_text(&text)
    } else if part.is_flowed {
        unfolded(&text, part.deletes_space)
    } else {
        text
    };
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let is_plain = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\t');
    text.chars().filter(|letter| is_plain(*letter)).collect()
}

/// Paragraphs that were folded for the way (RFC 3676) as one line each.
fn unfolded(text: &str, deletes: bool) -> String {
    let mut unfolded = String::with_capacity(text.len());
    let mut depth_before = None;
    for line in text.lines() {
        let depth = line.bytes().take_while(|byte| *byte == b'>').count();
        let content = line.get(depth..).unwrap_or_default();
        let content = content.strip_prefix(' ').unwrap_or(content);
        let is_signature = content == "-- ";
        if depth_before == Some(depth) && !is_signature {
            unfolded.push_str(content);
        } else {
            if !unfolded.is_empty() {
                unfolded.push('\n');
            }
            unfolded.push_str(&">".repeat(depth));
            if depth > 0 {
                unfolded.push(' ');
            }
            unfolded.push_str(content);
        }
        let continues = content.ends_with(' ') && !is_signature;
        if continues && deletes {
            unfolded.pop();
        }
        depth_before = continues.then_some(depth);
        if !continues && content.is_empty() && depth == 0 && unfolded.is_empty() {
            // A text may begin with empty lines.
            unfolded.push('\n');
        }
    }
    unfolded
}

fn attachments(files: &[&Part]) -> Vec<Attachment> {
    let attachments = files.iter().flat_map(|part| {
        let unwrapped = winmail::files(&part.content);
        unwrapped.unwrap_or_else(|| vec![attachment(part)])
    });
    attachments.take(ATTACHMENT_LIMIT).collect()
}

fn attachment(part: &Part) -> Attachment {
    let name = part.name.as_deref().map(on_one_line).unwrap_or_default();
    // An e-mail within this one has no name but its subject.
    let name = if name.is_empty() && part.is_kind("message") {
        let message = MessageParser::default().parse_headers(&part.content);
        let subject = message.as_ref().and_then(Message::subject).map(on_one_line);
        let subject = subject.filter(|subject| !subject.is_empty());
        subject.map_or_else(String::new, |subject| format!("{subject}.eml"))
    } else {
        name
    };
    Attachment {
        name,
        media_type: part.media_type.clone(),
        content: part.content.clone(),
    }
}

/// A text without line breaks and other control characters.
fn on_one_line(text: &str) -> String {
    let spaced = text.replace(char::is_control, " ");
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn hostile_emails_are_read_in_time() {
        let begin = "From: a@b.example\r\n";
        let fields = [
            "From",
            "To",
            "Subject",
            "References",
            "Content-Type",
            "Content-Disposition",
        ];
        let pieces = [
            "=?a?b? ",
            "=?utf-8?B?QQ==?= ",
            "a@b.example, ",
            "\"",
            "(",
            "<a@b.example> ",
            "x\r\n ",
        ];
        let headers = fields.iter().flat_map(|field| {
            let one = move |piece: &&str| format!("{begin}{field}: {}\r\n\r\nx", piece.repeat(100_000));
            pieces.iter().map(one)
        });
        let pieces = [
            "--b\r\n",
            "--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n",
            "--b\r\nContent-Type: message/rfc822\r\n\r\n",
            "=\r\n",
            "<b>",
            "> ",
            "\u{e9}",
        ];
        let bodies = pieces.iter().map(|piece| {
            let kind = "Content-Type: multipart/mixed; boundary=b";
            format!("{begin}{kind}\r\n\r\n{}", piece.repeat(200_000))
        });
        for content in headers.chain(bodies) {
            let shown: String = content.chars().skip(begin.len()).take(60).collect();
            let started = Instant::now();
            Incoming::read(content.into_bytes(), false);
            let taken = started.elapsed();
            assert!(taken < Duration::from_secs(10), "{taken:?} for {shown:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read(content in "(From: a@b|To: |Subject: |=\\?utf-8\\?Q\\?|\\?=|Content-Type: text/plain; format=flowed; delsp=yes|Content-Type: multipart/alternative; boundary=b|--b|\r\n|> |.){0,80}") {
            if let Some(email) = Incoming::read(content.into_bytes(), true) {
                proptest::prop_assert!(!email.subject.contains(char::is_control));
                proptest::prop_assert!(!email.address.contains(char::is_control) && !email.name.contains(char::is_control));
            }
        }
    }
}
