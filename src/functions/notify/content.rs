//! What e-mails look like: the settings row `emails` around a message.

use crate::contract::error::Result;
use crate::contract::language::Language;
use crate::contract::{Key, Value};
use crate::functions::formatting::escaped;
use crate::functions::settings::get_multilingual_setting;
use crate::platform::Context;
use crate::providers::email::plain_text;

/// The settings row of the texts of e-mails.
const ROW: &str = "emails";

/// The texts of e-mails in one language.
pub(super) struct Texts(Option<Value>);

/// A message in both of its forms.
pub(super) struct Content {
    pub(super) html: String,
    pub(super) text: String,
}

impl Texts {
    /// Those of a language, or else of the default one.
    pub(super) async fn of(cx: &Context<'_>, language: Option<&Language>) -> Result<Self> {
        let language = language.map(|language| language.code().to_owned());
        Ok(Self(
            get_multilingual_setting(cx, ROW.to_owned(), None, language).await?,
        ))
    }

    /// The text of that name, empty when there is none.
    fn get(&self, name: &'static str) -> &str {
        let text = self.0.as_ref().and_then(|texts| texts.get(&Key::from(name)));
        text.and_then(Value::as_str).unwrap_or_default()
    }

    /// Subject and content of a template, each when it is there.
    pub(super) fn template(
        &self,
        name: &'static str,
        subject: &'static str,
        content: &'static str,
    ) -> (Option<&str>, Option<&str>) {
        let within = self.0.as_ref().and_then(|texts| texts.get(&Key::from(name)));
        let get = |child: &'static str| {
            let text = within
                .and_then(|template| template.get(&Key::from(child)))
                .and_then(Value::as_str);
            Some(text.unwrap_or_else(|| self.get(child))).filter(|text| !text.trim().is_empty())
        };
        (get(subject), get(content))
    }

    /// A message with header and signature around it.
    pub(super) fn around(&self, message: &str, language: Option<&Language>) -> Content {
        let (header, signature) = (self.get("email-header"), self.get("email-signature"));
        if is_html(message) || is_html(header) || is_html(signature) {
            let html = [header, message, signature].map(as_html);
            let html = document(&html, language);
            let text = plain_text(&html);
            return Content { html, text };
        }
        let parts = [header, message, signature].into_iter().filter(|part| !part.is_empty());
        Content {
            html: document(&[header, message, signature].map(as_html), language),
            text: parts.collect::<Vec<_>>().join("\n\n"),
        }
    }
}

/// The elements of HTML that messages are made of. What else stands in angle brackets, an address or a placeholder, is
/// text.
const ELEMENTS: [&str; 49] = [
    "a",
    "abbr",
    "article",
    "b",
    "blockquote",
    "body",
    "br",
    "center",
    "code",
    "del",
    "div",
    "em",
    "figure",
    "font",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "i",
    "img",
    "ins",
    "li",
    "main",
    "mark",
    "ol",
    "p",
    "pre",
    "s",
    "section",
    "small",
    "span",
    "strike",
    "strong",
    "style",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tr",
    "u",
    "ul",
];

/// Whether a text holds a tag of HTML.
fn is_html(text: &str) -> bool {
    let is_tag = |rest: &str| {
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let end = rest
            .find(|letter: char| !letter.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        let name = name.to_ascii_lowercase();
        ELEMENTS.contains(&name.as_str())
            && behind.starts_with(|letter: char| matches!(letter, '>' | '/') || letter.is_ascii_whitespace())
            && behind.contains('>')
    };
    text.split('<').skip(1).any(is_tag)
}

/// A text as HTML: what is none keeps its letters and its line breaks.
pub(crate) fn as_html(text: &str) -> String {
    if is_html(text) {
        return text.to_owned();
    }
    escaped(text).replace("\r\n", "\n").replace(['\r', '\n'], "<br>\n")
}

/// The parts as one document, unless the message is a whole one itself: then the others stand within its body.
fn document([header, message, signature]: &[String; 3], language: Option<&Language>) -> String {
    let lower = message.to_ascii_lowercase();
    if let Some(begin) = lower
        .find("<body")
        .and_then(|at| Some(at + lower.get(at..)?.find('>')? + 1))
    {
        let end = lower
            .rfind("</body")
            .filter(|end| *end >= begin)
            .unwrap_or(message.len());
        let part = |range: std::ops::Range<usize>| message.get(range).unwrap_or_default();
        return [
            part(0..begin),
            header,
            part(begin..end),
            signature,
            part(end..message.len()),
        ]
        .concat();
    }
    let lang = language.map_or_else(String::new, |language| {
        format!(" lang=\"{}\"", language.code().replace('_', "-"))
    });
    let parts = [header, message, signature].into_iter().filter(|part| !part.is_empty());
    let parts: Vec<String> = parts.map(|part| format!("<div>{part}</div>\n")).collect();
    let parts = parts.concat();
    format!("<!DOCTYPE html>\n<html{lang}>\n<head><meta charset=\"utf-8\"></head>\n<body>\n{parts}</body>\n</html>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(header: &str, signature: &str) -> Texts {
        let texts = [("email-header", header.into()), ("email-signature", signature.into())];
        Texts(Some(Value::map(texts)))
    }

    #[test]
    fn a_text_is_html_when_it_holds_a_tag() {
        for text in ["<p>a</p>", "a<BR>b", "a<br/>", "x </b> y", "1 < 2 <i>", "<a\nhref='x'>"] {
            assert!(is_html(text), "{text}");
        }
        for text in [
            "",
            "1 < 2 > 0",
            "<3",
            "a <b",
            "<>",
            "< p>",
            "a & b",
            "Ann <ann@a.example>",
            "<b@a.example>",
            "<https://a.example>",
            "<your name>",
        ] {
            assert!(!is_html(text), "{text}");
        }
    }

    #[test]
    fn plain_text_keeps_its_letters_and_lines_in_both_forms() {
        let Content { html, text } = texts("Support", "").around("1 < 2\r\n\"yes\" & 'no'", None);
        assert!(
            html.contains("<div>Support</div>\n<div>1 &lt; 2<br>\n&quot;yes&quot; &amp; &#39;no&#39;</div>"),
            "{html}"
        );
        assert_eq!(text, "Support\n\n1 < 2\r\n\"yes\" & 'no'");
    }

    #[test]
    fn html_is_sent_as_it_is_and_read_as_text() {
        let message = "<h1>Hi</h1><p>See <a href=\"https://a.example/b\">here</a></p>";
        let Content { html, text } = texts("<b>Support</b>", "Bye & thanks").around(message, None);
        assert!(
            html.contains(message) && html.contains("<div>Bye &amp; thanks</div>"),
            "{html}"
        );
        assert_eq!(text, "Support\n\nHi\n\nSee here (https://a.example/b)\n\nBye & thanks");
    }

    #[test]
    fn header_and_signature_stand_within_a_whole_document() {
        let message = "<html><head><title>x</title></head><BODY class='a'>m</BODY></html>";
        let Content { html, .. } = texts("h", "s").around(message, None);
        assert_eq!(
            html,
            "<html><head><title>x</title></head><BODY class='a'>hms</BODY></html>"
        );
        let Content { html, .. } = texts("h", "s").around("<body>m", None);
        assert_eq!(html, "<body>hms");
    }

    #[test]
    fn a_document_says_its_language() {
        let language = Language::read("pt_BR");
        let Content { html, .. } = Texts(None).around("Olá", language.as_ref());
        assert!(html.contains("<html lang=\"pt-BR\">"), "{html}");
    }
}
