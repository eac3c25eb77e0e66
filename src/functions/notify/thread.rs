//! The e-mails of a conversation: ids by which mail programs keep them together, and by which we know an answer.
//!
//! Each carries a signature over the conversation's id. Who answers sends it back, and nobody else can make it up.

use crate::contract::args::{Argument, Texts};
use crate::contract::error::Result;
use crate::contract::ids::ConversationId;
use crate::contract::json;
use crate::contract::value::Key;
use crate::params;
use crate::platform::Context;

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

/// The e-mails of one conversation.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) conversation: ConversationId,
    pub(crate) department: Option<u8>,
    signature: String,
    incoming: Vec<String>,
}

impl Thread {
    /// Those of a conversation that there is.
    pub(crate) async fn of(cx: &Context<'_>, conversation: ConversationId) -> Result<Option<Self>> {
        let name = format!("{ROW}{}", conversation.number());
        let row: Option<(Option<u8>, Option<Vec<u8>>)> =
            cx.database()?.row(THREAD, params![name, conversation]).await?;
        let Some((department, stored)) = row else {
            return Ok(None);
        };
        let stored = stored.as_deref().and_then(json::decode);
        let ids = stored.and_then(|row| Texts::from_value(row.get(&Key::from("ids"))?.clone()));
        Ok(Some(Self {
            conversation,
            department,
            signature: cx.keys().await?.signature(&signed(conversation))?,
            incoming: ids.map_or_else(Vec::new, |Texts(ids)| ids),
        }))
    }

    /// One that begins anew: it refers to nothing that came in.
    pub(crate) async fn begin(cx: &Context<'_>, conversation: ConversationId, department: Option<u8>) -> Result<Self> {
        Ok(Self {
            conversation,
            department,
            signature: cx.keys().await?.signature(&signed(conversation))?,
            incoming: Vec::new(),
        })
    }

    /// Whether something came in that is answered.
    pub(crate) fn is_answered(&self) -> bool {
        !self.incoming.is_empty()
    }

    /// The id of an e-mail that tells of `what`, a message mostly: the same each time.
    pub(crate) fn id(&self, what: &str, domain: &str) -> String {
        format!(
            "{PREFIX}{}.{what}.{}@{domain}",
            self.conversation.number(),
            self.signature
        )
    }

    /// What an e-mail refers to: what came in, and an id that all e-mails of the conversation have in common.
    pub(crate) fn references(&self, domain: &str) -> Vec<String> {
        let common = format!("{PREFIX}{}.{}@{domain}", self.conversation.number(), self.signature);
        std::iter::once(common).chain(self.incoming.iter().cloned()).collect()
    }

    /// What marks the conversation in the name of whom answers go to.
    pub(crate) fn tag(&self) -> String {
        format!("{TAG}{}-{}", self.conversation.number(), self.signature)
    }
}

fn signed(conversation: ConversationId) -> String {
    format!("email/{}", conversation.number())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::crypto::Keys;

    /// The conversation that an id or a tag of ours names, wherever in a text it stands.
    fn conversation_of(keys: &Keys, text: &str) -> Option<ConversationId> {
        let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.')));
        words.into_iter().find_map(|word| {
            let (number, signature) =
                if let Some((number, rest)) = word.strip_prefix(PREFIX).and_then(|id| id.split_once('.')) {
                    (number, rest.rsplit('.').next().unwrap_or_default())
                } else {
                    let start = word.get(..TAG.len()).filter(|start| start.eq_ignore_ascii_case(TAG))?;
                    word.get(start.len()..)?.split_once('-')?
                };
            let conversation = ConversationId::from(number.parse::<u32>().ok()?);
            keys.is_signature(&signed(conversation), signature)
                .then_some(conversation)
        })
    }

    fn thread(keys: &Keys) -> Thread {
        let conversation = ConversationId::from(12);
        Thread {
            conversation,
            department: None,
            signature: keys.signature(&signed(conversation)).unwrap(),
            incoming: vec!["a@customer.example".into()],
        }
    }

    #[test]
    fn an_answer_names_the_conversation_by_each_of_its_ids() {
        let keys = Keys::new("secret".into(), None);
        let thread = thread(&keys);
        let (id, tag) = (thread.id("34", "support.example"), thread.tag());
        let references = thread.references("support.example");
        assert_eq!(references.len(), 2);
        for text in [
            format!("<{id}>"),
            format!("<x@y> <{id}>\r\n <z@customer.example>"),
            format!("<{}>", references[0]),
            format!("\"Support | {tag}\" <support@support.example>"),
            format!("support+{}@support.example", tag.to_lowercase()),
        ] {
            assert_eq!(conversation_of(&keys, &text), Some(12.into()), "{text}");
        }
    }

    #[test]
    fn no_other_id_names_one() {
        let keys = Keys::new("secret".into(), None);
        let thread = thread(&keys);
        let (id, tag) = (thread.id("34", "support.example"), thread.tag());
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
            assert_eq!(conversation_of(&keys, &text), None, "{text}");
        }
        let foreign = Keys::new("another secret".into(), None);
        assert_eq!(conversation_of(&foreign, &id), None);
    }
}
