//! Who asks, what that one may do, and how often.

use secrecy::SecretString;

use super::failure::{Failure, Refusal};
use super::incoming::Incoming;
use crate::contract::Value;
use crate::contract::args::Argument;
use crate::contract::ids::UserId;
use crate::contract::status::UserType;
use crate::platform::Context;
use crate::platform::api_keys::{self, ApiKey, Scope};

/// Uses of a key in a minute, when the setting `api-rate-limit` does not say.
const RATE_LIMIT: u32 = 100;

/// Whoever asks with a key that holds.
pub struct Access {
    key: ApiKey,
}

/// The key of a request, found.
pub async fn authenticate(cx: &Context<'_>, incoming: &Incoming<'_>) -> Result<Access, Failure> {
    let header = incoming.header("HTTP_AUTHORIZATION").unwrap_or_default();
    let key = header
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, key)| SecretString::from(key.trim()));
    match key {
        Some(key) => of_key(cx, &key).await,
        None => Err(unauthorized()),
    }
}

/// Whoever has this key.
pub async fn of_key(cx: &Context<'_>, key: &SecretString) -> Result<Access, Failure> {
    let database = cx.database()?;
    let found = match cx.api_keys().find(database, cx.now(), key).await? {
        None if cx.settings().await?.is_on("api-admin-token") => api_keys::of_admin(database, key).await?,
        found => found,
    };
    found.map(|key| Access { key }).ok_or_else(unauthorized)
}

fn unauthorized() -> Failure {
    Failure::of(Refusal::Unauthorized).with("WWW-Authenticate", "Bearer")
}

/// Counts a use; refused when there were too many in this minute.
pub async fn count(
    cx: &Context<'_>,
    access: &Access,
    headers: &mut Vec<(&'static str, String)>,
) -> Result<(), Failure> {
    let limit = cx.settings().await?.value("api-rate-limit").and_then(i64::from_value);
    let limit = limit
        .and_then(|limit| u32::try_from(limit).ok())
        .filter(|&limit| limit > 0);
    let now = cx.now();
    let keys = cx.api_keys();
    let allowance = keys
        .count(cx.database()?, now, &access.key, limit.unwrap_or(RATE_LIMIT))
        .await?;
    headers.extend([
        ("X-RateLimit-Limit", allowance.limit.to_string()),
        ("X-RateLimit-Remaining", allowance.remaining.to_string()),
        ("X-RateLimit-Reset", allowance.reset.to_string()),
    ]);
    if allowance.is_granted {
        return Ok(());
    }
    let wait = (allowance.reset - now.and_utc().timestamp()).max(1);
    Err(Failure::of(Refusal::RateLimitExceeded).with("Retry-After", wait.to_string()))
}

impl Access {
    /// The key.
    pub fn key(&self) -> &ApiKey {
        &self.key
    }

    /// Refuses what the key is not for.
    pub fn check(&self, scope: Scope) -> Result<(), Failure> {
        if self.key.may(scope) {
            return Ok(());
        }
        let message = format!("the API key lacks the scope {}", scope.text());
        Err(Failure::forbidden(&message, None))
    }

    /// Refuses to act for another user than the one that the key is bound to.
    pub fn check_user(&self, user: UserId, field: &'static str) -> Result<(), Failure> {
        match self.key.user {
            Some(bound) if bound.id != user => {
                let message = "the API key is bound to another user";
                Err(Failure::forbidden(message, Some(field)))
            }
            _ => Ok(()),
        }
    }

    /// The user whose conversations alone are open: that of a key that is bound to someone who asks.
    pub fn customer(&self) -> Option<UserId> {
        let bound = self.key.user?;
        bound.user_type.is_none_or(UserType::is_customer).then_some(bound.id)
    }

    /// The user that the key is bound to.
    pub fn user(&self) -> Option<UserId> {
        self.key.user.map(|bound| bound.id)
    }

    /// The active user that functions see: without one every conversation is open to them.
    pub fn login(&self) -> Option<Value> {
        let bound = self.key.user?;
        let mut entries = vec![("id", bound.id.into())];
        entries.extend(bound.user_type.map(|user_type| ("user_type", user_type.into())));
        Some(Value::map(entries))
    }

    /// By which its requests are told from others'.
    pub fn requester(&self) -> String {
        self.key.requester()
    }
}
