//! The e-mails of a conversation: ids by which mail programs keep them together, and by which we know an answer.
//!
//! Each carries a signature over the conversation's id and over whom it is for. Who answers sends it back, and nobody else
//! can make it up.

use crate::contract::args::{Argument, Texts};
use crate::contract::error::Result;
use crate::contract::ids::ConversationId;
use crate::contract::value::Key;
use crate::contract::{Map, Value, json};
use crate::params;
use crate::platform::Context;
use crate::platform::crypto::Keys;

/// The department, and the row of the settings that holds the ids of the e-mails that came in.
const THREAD: &str = "
    SELECT c.department, (SELECT s.value FROM sb_settings s WHERE s.name = ?)
    FROM sb_conversations c
    WHERE c.id = ?";

/// What the settings row of a thread is called, before the conversation's id. It holds `{"ids": […]}`, the ids of the
/// e-mails that came in, the oldest first.
pub(crate) const ROW: &str = "email-thread-";

/// What ids of ours begin with.
const PREFIX: &str = "conv-";

/// What marks the conversation in the name of whom answers go to.
const TAG: &str = "SB";

/// How many ids of e-mails that came in are kept of a conversation.
const KEPT: usize = 50;

/// How many of them an e-mail refers to.
const REFERRED: usize = 20;

/// How many ids of ours are looked for among those that an e-mail names.
const NAMED: usize = 100;

/// What an id may have, to be repeated in a header.
const ID_LIMIT: usize = 250;

/// Whom an e-mail was for. Who answers as one of the staff must have got what only they get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Customer,
    Staff,
}

/// The e-mails of one conversation, as one side gets them.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) conversation: ConversationId,
    pub(crate) department: Option<u8>,
    customer: String,
    staff: String,
    incoming: Vec<String>,
}

impl Thread {
    /// Those of a conversation that there is.
    pub(crate) async fn of(cx: &Context<'_>, conversation: ConversationId) -> Result<Option<Self>> {
        let row: Option<(Option<u8>, Option<Vec<u8>>)> = cx
            .database()?
            .row(THREAD, params![row_of(conversation), conversation])
            .await?;
        let Some((department, stored)) = row else {
            return Ok(None);
        };
        let keys = cx.keys().await?;
        let stored = stored.as_deref().and_then(json::decode).unwrap_or_default();
        Self::signed(&keys, conversation, department, incoming(&stored)).map(Some)
    }

    /// One that begins anew: it refers to nothing that came in.
    pub(crate) async fn begin(cx: &Context<'_>, conversation: ConversationId, department: Option<u8>) -> Result<Self> {
        Self::signed(&cx.keys().await?, conversation, department, Vec::new())
    }

    fn signed(
        keys: &Keys,
        conversation: ConversationId,
        department: Option<u8>,
        incoming: Vec<String>,
    ) -> Result<Self> {
        Ok(Self {
            conversation,
            department,
            customer: keys.signature(&signed(conversation, Side::Customer))?,
            staff: keys.signature(&signed(conversation, Side::Staff))?,
            incoming,
        })
    }

    /// Whether something came in that is answered.
    pub(crate) fn is_answered(&self) -> bool {
        !self.incoming.is_empty()
    }

    fn signature(&self, side: Side) -> &str {
        match side {
            Side::Customer => &self.customer,
            Side::Staff => &self.staff,
        }
    }

    /// The id of an e-mail that tells of `what`, a message mostly: the same each time.
    pub(crate) fn id(&self, what: &str, side: Side, domain: &str) -> String {
        let signature = self.signature(side);
        format!("{PREFIX}{}.{what}.{signature}@{domain}", self.conversation.number())
    }

    /// What an e-mail refers to: what came in, and an id that all e-mails of the conversation have in common.
    pub(crate) fn references(&self, side: Side, domain: &str) -> Vec<String> {
        let signature = self.signature(side);
        let common = format!("{PREFIX}{}.{signature}@{domain}", self.conversation.number());
        let last = self.incoming.len().saturating_sub(REFERRED);
        std::iter::once(common)
            .chain(self.incoming.iter().skip(last).cloned())
            .collect()
    }

    /// What marks the conversation in the name of whom answers go to.
    pub(crate) fn tag(&self, side: Side) -> String {
        format!("{TAG}{}-{}", self.conversation.number(), self.signature(side))
    }
}

/// The settings row of a conversation's e-mails.
pub(crate) fn row_of(conversation: ConversationId) -> String {
    format!("{ROW}{}", conversation.number())
}

/// The ids of e-mails that came in, as the row of a conversation holds them.
pub(crate) fn incoming(stored: &Value) -> Vec<String> {
    let ids = stored.get(&Key::from("ids")).cloned().and_then(Texts::from_value);
    ids.map_or_else(Vec::new, |Texts(ids)| ids)
}

/// The row of a conversation with one more id. One that cannot stand in a header is left out.
pub(crate) fn with_incoming(stored: Value, id: Option<&str>) -> Value {
    let mut ids = incoming(&stored);
    let is_fit = |id: &&str| {
        let fits = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>');
        !id.is_empty() && id.len() <= ID_LIMIT && id.bytes().all(fits)
    };
    ids.extend(id.filter(is_fit).map(str::to_owned));
    let ids = ids.split_off(ids.len().saturating_sub(KEPT));
    let mut row = Map::from_value(stored).unwrap_or_default();
    row.insert(
        "ids".into(),
        ids.into_iter().map(Value::from).collect::<Vec<_>>().into(),
    );
    row.into()
}

/// A conversation that an id or a tag of ours names, with the proof that the one who sends it has got it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) conversation: ConversationId,
    /// Who got what names it.
    pub(crate) side: Side,
    /// What the e-mail told of, if it is an e-mail's id.
    pub(crate) what: Option<String>,
}

/// The conversations that ids and tags of ours name, wherever in some texts they stand.
pub(crate) fn named<'a>(keys: &Keys, texts: impl IntoIterator<Item = &'a str>) -> Vec<Named> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.');
    let words = texts
        .into_iter()
        .flat_map(|text| text.split(move |letter| !is_part(letter)));
    let claims = words.filter_map(claim).take(NAMED);
    let mut found = Vec::new();
    for (conversation, what, signature) in claims {
        let side = [Side::Customer, Side::Staff]
            .into_iter()
            .find(|side| keys.is_signature(&signed(conversation, *side), signature));
        if let Some(side) = side {
            let what = what.map(str::to_owned);
            let named = Named {
                conversation,
                side,
                what,
            };
            if !found.contains(&named) {
                found.push(named);
            }
        }
    }
    found
}

/// The conversation that a word claims to name, what the e-mail told of, and the signature that proves it.
fn claim(word: &str) -> Option<(ConversationId, Option<&str>, &str)> {
    let (number, what, signature) =
        if let Some((number, rest)) = word.strip_prefix(PREFIX).and_then(|id| id.split_once('.')) {
            match rest.rsplit_once('.') {
                Some((what, signature)) => (number, Some(what), signature),
                None => (number, None, rest),
            }
        } else {
            let start = word.get(..TAG.len())?;
            if !start.eq_ignore_ascii_case(TAG) {
                return None;
            }
            let (number, signature) = word.get(TAG.len()..)?.split_once('-')?;
            (number, None, signature)
        };
    Some((ConversationId::from(number.parse::<u32>().ok()?), what, signature))
}

/// What is signed. One side cannot make the other's out of its own.
fn signed(conversation: ConversationId, side: Side) -> String {
    let of_staff = match side {
        Side::Customer => "",
        Side::Staff => "/staff",
    };
    format!("email/{}{of_staff}", conversation.number())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(keys: &Keys) -> Thread {
        let conversation = ConversationId::from(12);
        let signature = |side| keys.signature(&signed(conversation, side)).unwrap();
        Thread {
            conversation,
            department: None,
            customer: signature(Side::Customer),
            staff: signature(Side::Staff),
            incoming: vec!["a@customer.example".into()],
        }
    }

    fn is_named(keys: &Keys, text: &str) -> Option<(u32, Side)> {
        let found = named(keys, [text]);
        found.first().map(|named| (named.conversation.number(), named.side))
    }

    #[test]
    fn an_answer_names_the_conversation_by_each_of_its_ids() {
        let keys = Keys::new("secret".into(), None);
        let thread = thread(&keys);
        for side in [Side::Customer, Side::Staff] {
            let (id, tag) = (thread.id("34", side, "support.example"), thread.tag(side));
            let references = thread.references(side, "support.example");
            assert_eq!(references.len(), 2);
            for text in [
                format!("<{id}>"),
                format!("<x@y> <{id}>\r\n <z@customer.example>"),
                format!("<{}>", references[0]),
                format!("\"Support | {tag}\" <support@support.example>"),
                format!("support+{}@support.example", tag.to_lowercase()),
            ] {
                assert_eq!(is_named(&keys, &text), Some((12, side)), "{text}");
            }
            assert_eq!(named(&keys, [id.as_str()])[0].what.as_deref(), Some("34"));
        }
    }

    #[test]
    fn no_other_id_names_one() {
        let keys = Keys::new("secret".into(), None);
        let thread = thread(&keys);
        let (id, tag) = (
            thread.id("34", Side::Customer, "support.example"),
            thread.tag(Side::Customer),
        );
        for text in [
            String::new(),
            "conv-12".to_owned(),
            "conv-12.34@support.example".to_owned(),
            "SB12".to_owned(),
            "SB12-".to_owned(),
            id.replace("conv-12", "conv-13"),
            id.replace("conv-12", "conv-012x"),
            tag.replace("SB12", "SB13"),
            tag.replace("SB", "SX"),
            format!("x{tag}"),
            "conv-99999999999.1.0000000000000000@a".to_owned(),
        ] {
            assert_eq!(is_named(&keys, &text), None, "{text}");
        }
        let foreign = Keys::new("another secret".into(), None);
        assert_eq!(is_named(&foreign, &id), None);
    }

    #[test]
    fn a_row_keeps_the_newest_ids_that_a_header_can_hold() {
        let mut row = Value::map([("failures", "kept".into())]);
        for id in (0..60).map(|number| format!("{number}@customer.example")) {
            row = with_incoming(row, Some(&id));
        }
        let long = "x".repeat(251);
        for id in ["", "a b", "a\r\nBcc: x", "<a@b>", "ä@b", long.as_str()] {
            row = with_incoming(row, Some(id));
        }
        let ids = incoming(&with_incoming(row.clone(), None));
        assert_eq!((ids.len(), ids[0].as_str()), (50, "10@customer.example"));
        assert_eq!(row.get(&"failures".into()), Some(&"kept".into()));
    }
}
