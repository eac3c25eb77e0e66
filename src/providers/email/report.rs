//! Reports of mail servers that an e-mail was not delivered (RFC 3464), and the looser ones of those who know no form.

use mail_parser::Message;

use super::mime::Part;

/// What of a server's text is kept, in characters.
const TEXT_LIMIT: usize = 300;

/// What became of an e-mail of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Whether it was given up. A report of a delay, or of success, says nothing that one has to know.
    pub is_failure: bool,
    /// What might be the ids of the e-mail, wherever they stand.
    pub texts: Vec<String>,
    /// Who did not get it.
    pub recipient: String,
    /// The code of what went wrong (RFC 3463): `5.1.1`.
    pub status: String,
    /// What the server said.
    pub text: String,
}

impl Report {
    /// The report that an e-mail is, if it is one.
    pub(super) fn of(message: &Message<'_>, body: &Part) -> Option<Self> {
        let status = body
            .all()
            .into_iter()
            .find(|part| part.media_type.ends_with("/delivery-status"));
        let fields = status.filter(|_| body.media_type == "multipart/report")?.text();
        let field = |name: &str| field(&fields, name);
        let recipient = field("final-recipient").or_else(|| field("original-recipient"));
        let recipient = recipient.unwrap_or_default();
        let diagnostic = field("diagnostic-code").unwrap_or_default();
        Some(Self {
            is_failure: field("action").is_none_or(|action| action.eq_ignore_ascii_case("failed")),
            texts: originals(message, body),
            recipient: behind_kind(&recipient).to_owned(),
            status: field("status").unwrap_or_default(),
            text: behind_kind(&diagnostic).chars().take(TEXT_LIMIT).collect(),
        })
    }

    /// The report of a server that knows no form for it, which writes the e-mail behind its own text.
    pub(super) fn without_form(message: &Message<'_>, body: &Part, text: &str) -> Self {
        let mut texts = originals(message, body);
        texts.push(text.to_owned());
        let is_failure = !["delayed", "will be retried", "will retry", "still trying"]
            .iter()
            .any(|word| text.to_ascii_lowercase().contains(word));
        let own_words = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let own_words: Vec<&str> = own_words.take(3).collect();
        Self {
            is_failure,
            texts,
            text: own_words.join(" ").chars().take(TEXT_LIMIT).collect(),
            ..Self::default()
        }
    }
}

/// The headers of the e-mail that a report is about, and what the report itself refers to.
fn originals(message: &Message<'_>, body: &Part) -> Vec<String> {
    let own = ["In-Reply-To", "References", "X-Failed-Message-Id"];
    let own = own
        .iter()
        .filter_map(|name| message.header_raw(*name).map(str::to_owned));
    let enclosed = body.all().into_iter().filter(|part| {
        let is_one = ["/rfc822", "/rfc822-headers", "/global", "/global-headers"];
        is_one.iter().any(|kind| part.media_type.ends_with(kind))
    });
    own.chain(enclosed.map(Part::text)).collect()
}

/// A field, its lines joined.
fn field(fields: &str, name: &str) -> Option<String> {
    let mut lines = fields.lines().skip_while(|line| {
        let own = line.split_once(':').map(|(own, _)| own.trim());
        own.is_none_or(|own| !own.eq_ignore_ascii_case(name))
    });
    let (_, first) = lines.next()?.split_once(':')?;
    let folded = lines.take_while(|line| line.starts_with([' ', '\t']));
    let words: Vec<&str> = std::iter::once(first).chain(folded).map(str::trim).collect();
    Some(words.join(" "))
}

/// `rfc822; carla@customer.example` without its first word.
fn behind_kind(text: &str) -> &str {
    text.split_once(';').map_or(text, |(_, rest)| rest).trim()
}
