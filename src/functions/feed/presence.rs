//! Who is there: everyone who was active a moment ago, and whoever follows the feed.

use std::collections::BTreeMap;

use super::{Audience, Happened};
use crate::contract::Value;
use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::status::UserType;
use crate::functions::users::ONLINE_FOR;
use crate::params;
use crate::platform::Context;
use crate::platform::db::Builder;

/// More than these are not looked at one by one.
const PRESENT: &str = "
    SELECT id, user_type
    FROM sb_users
    WHERE last_activity > ? AND user_type <> 'bot'
    ORDER BY id
    LIMIT 10000";

const TOUCH: &str = "
    UPDATE sb_users
    SET last_activity = ?
    WHERE id IN ";

/// Who was there when it was looked at last. One of a type that is not known has none.
pub struct Presence(BTreeMap<u32, Option<UserType>>);

impl Presence {
    /// Who is there now.
    pub async fn read(cx: &Context<'_>) -> Result<Self> {
        let since = cx.now() - ONLINE_FOR;
        let rows: Vec<(u32, String)> = cx.database()?.rows(PRESENT, params![since]).await?;
        let present = rows.into_iter().map(|(id, kind)| (id, kind.parse().ok()));
        Ok(Self(present.collect()))
    }

    /// Whether an agent or admin is there.
    pub fn has_agents(&self) -> bool {
        self.0.values().any(|kind| kind.is_some_and(UserType::is_staff))
    }

    /// Who has come since an earlier look, and who has gone.
    pub fn since(&self, earlier: &Self) -> Vec<Happened> {
        let come = self.without(earlier).map(|(id, kind)| told(id, kind, true));
        let gone = earlier.without(self).map(|(id, kind)| told(id, kind, false));
        come.chain(gone).collect()
    }

    fn without<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (u32, Option<UserType>)> + 'a {
        let others = self.0.iter().filter(|(id, _)| !other.0.contains_key(id));
        others.map(|(id, kind)| (*id, *kind))
    }
}

fn told(id: u32, kind: Option<UserType>, is_online: bool) -> Happened {
    Happened {
        name: "presence",
        data: Value::map([
            ("user_id", id.to_string().into()),
            ("user_type", kind.map_or(Value::Null, |kind| kind.text().into())),
            ("online", is_online.into()),
        ]),
        // Whether somebody can answer is everyone's to know, who else is there is not.
        audience: if kind.is_some_and(UserType::is_staff) {
            Audience::Everyone
        } else {
            Audience::Agents
        },
    }
}

/// Notes that users are there.
pub async fn touch(cx: &Context<'_>, users: &[UserId]) -> Result<()> {
    if users.is_empty() {
        return Ok(());
    }
    let mut statement = Builder::new(TOUCH, params![cx.now()]);
    statement.list(users.iter().copied());
    let (sql, params) = statement.finish();
    cx.database()?.execute(sql, params).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_and_goes_is_told_and_of_agents_everyone_hears() {
        let presence =
            |people: &[(u32, UserType)]| Presence(people.iter().map(|(id, kind)| (*id, Some(*kind))).collect());
        let earlier = presence(&[(1, UserType::Agent), (2, UserType::Visitor)]);
        let now = presence(&[(2, UserType::Visitor), (3, UserType::User)]);
        assert!(earlier.has_agents() && !now.has_agents());
        let told: Vec<_> = now
            .since(&earlier)
            .into_iter()
            .map(|event| (crate::contract::json::encode(&event.data), event.audience))
            .collect();
        let expected = [
            (r#"{"user_id":"3","user_type":"user","online":true}"#, Audience::Agents),
            (
                r#"{"user_id":"1","user_type":"agent","online":false}"#,
                Audience::Everyone,
            ),
        ];
        assert_eq!(told, expected.map(|(data, audience)| (data.to_owned(), audience)));
        assert!(now.since(&now).is_empty());
    }
}
