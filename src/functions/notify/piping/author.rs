//! Who wrote an e-mail, and to which conversation it belongs.

use super::super::thread::{Named, Side, incoming};
use crate::contract::Value;
use crate::contract::error::Result;
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::json;
use crate::contract::status::UserType;
use crate::params;
use crate::platform::db::{Builder, Transaction};
use crate::providers::email::Incoming;

/// The lock keeps two e-mails of one sender from being taken in at once.
const AUTHOR: &str = "
    SELECT id, user_type, email
    FROM sb_users
    WHERE email = ?
    FOR UPDATE";

const OWNERS: &str = "
    SELECT id, user_id
    FROM sb_conversations
    WHERE id IN ";

/// The e-mails of a customer's last conversations.
const THREADS: &str = "
    SELECT c.id, s.value
    FROM sb_conversations c
    JOIN sb_settings s ON s.name = CONCAT('email-thread-', c.id)
    WHERE c.user_id = ?
    ORDER BY c.id DESC
    LIMIT 100";

/// Who wrote an e-mail.
pub(super) enum Author {
    /// One of the staff.
    Staff(UserId),
    /// A customer.
    Customer(UserId),
    /// Nobody who is known.
    Stranger,
    /// Someone whose address the database cannot tell from another one.
    Unclear,
}

/// Where an e-mail belongs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// To a conversation.
    In(ConversationId),
    /// To a new one, because the sender has the mark of one.
    NewByMark,
    /// To a new one.
    New,
    /// It is there already.
    Known,
}

impl Author {
    pub(super) async fn of(transaction: &mut Transaction<'_>, address: &str) -> Result<Self> {
        let row: Option<(u32, String, String)> = transaction.row(AUTHOR, params![address]).await?;
        let Some((id, user_type, email)) = row else {
            return Ok(Self::Stranger);
        };
        // The column's collation passes over accents.
        if email.to_lowercase() != address.to_lowercase() {
            return Ok(Self::Unclear);
        }
        let user_type: Option<UserType> = user_type.parse().ok();
        Ok(match user_type {
            Some(user_type) if user_type.is_staff() => Self::Staff(id.into()),
            Some(user_type) if user_type.is_customer() => Self::Customer(id.into()),
            _ => Self::Unclear,
        })
    }

    /// Where an e-mail of theirs belongs. A mark counts when it was given to them: of their own
    /// conversation, or to staff of any.
    pub(super) async fn place(
        &self,
        transaction: &mut Transaction<'_>,
        email: &Incoming,
        named: &[Named],
    ) -> Result<Place> {
        let owners = owners(transaction, named).await?;
        let of_side = |side| named.iter().filter(move |named| named.side == side);
        let own = |user: UserId| {
            let mut given = of_side(Side::Customer).map(|named| named.conversation);
            given.find(|conversation| owners.contains(&(*conversation, user)))
        };
        let found = match self {
            Self::Staff(user) => of_side(Side::Staff)
                .map(|named| named.conversation)
                .find(|conversation| owners.iter().any(|(id, _)| id == conversation))
                .or_else(|| own(*user)),
            Self::Customer(user) => {
                let threads = threads(transaction, *user).await?;
                if let Some(id) = &email.id
                    && threads.iter().any(|(_, ids)| ids.contains(id))
                {
                    return Ok(Place::Known);
                }
                own(*user).or_else(|| {
                    let answers = |ids: &[String]| ids.iter().any(|id| email.answers(id));
                    threads.iter().find(|(_, ids)| answers(ids)).map(|(id, _)| *id)
                })
            }
            Self::Stranger | Self::Unclear => None,
        };
        let has_mark = of_side(Side::Customer).any(|named| owners.iter().any(|(id, _)| *id == named.conversation));
        Ok(match found {
            Some(conversation) => Place::In(conversation),
            None if has_mark && !matches!(self, Self::Staff(_)) => Place::NewByMark,
            None => Place::New,
        })
    }
}

async fn owners(transaction: &mut Transaction<'_>, named: &[Named]) -> Result<Vec<(ConversationId, UserId)>> {
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = Builder::new(OWNERS, params![]);
    query.list(named.iter().map(|named| named.conversation));
    let (sql, params) = query.finish();
    let rows: Vec<(u32, u32)> = transaction.rows(sql, params).await?;
    Ok(rows.into_iter().map(|(id, owner)| (id.into(), owner.into())).collect())
}

async fn threads(transaction: &mut Transaction<'_>, user: UserId) -> Result<Vec<(ConversationId, Vec<String>)>> {
    let rows: Vec<(u32, Option<Vec<u8>>)> = transaction.rows(THREADS, params![user]).await?;
    let ids = |stored: Option<Vec<u8>>| {
        let stored: Option<Value> = stored.as_deref().and_then(json::decode);
        stored.as_ref().map_or_else(Vec::new, incoming)
    };
    Ok(rows.into_iter().map(|(id, stored)| (id.into(), ids(stored))).collect())
}
