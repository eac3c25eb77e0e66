//! The headers that every answer has, and those for scripts of other origins.

use super::incoming::Incoming;
use crate::contract::args::{Argument, Texts};
use crate::platform::Context;

/// What a script of another origin may send.
const REQUEST_HEADERS: &str = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id";

/// What it may read.
const ANSWER_HEADERS: &str = "Idempotent-Replayed, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, \
                              X-RateLimit-Reset, X-Request-Id";

/// How many seconds a browser need not ask again.
const MAX_AGE: &str = "600";

/// The headers of an answer to a request.
pub async fn headers(cx: &Context<'_>, incoming: &Incoming<'_>) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("X-Request-Id", incoming.id.clone()),
        ("Cache-Control", "no-store".to_owned()),
        ("X-Content-Type-Options", "nosniff".to_owned()),
    ];
    let Some(origin) = incoming.header("HTTP_ORIGIN") else {
        return headers;
    };
    headers.push(("Vary", "Origin".to_owned()));
    if !is_allowed(cx, &origin).await {
        return headers;
    }
    headers.push(("Access-Control-Allow-Origin", origin));
    if incoming.method == "OPTIONS" {
        headers.extend([
            ("Access-Control-Allow-Methods", "GET, POST".to_owned()),
            ("Access-Control-Allow-Headers", REQUEST_HEADERS.to_owned()),
            ("Access-Control-Max-Age", MAX_AGE.to_owned()),
        ]);
    } else {
        headers.push(("Access-Control-Expose-Headers", ANSWER_HEADERS.to_owned()));
    }
    headers
}

/// Whether the setting `api-allowed-origins` names an origin, or all by `*`.
async fn is_allowed(cx: &Context<'_>, origin: &str) -> bool {
    let Ok(settings) = cx.settings().await else {
        return false;
    };
    let allowed = settings.value("api-allowed-origins").and_then(Texts::from_value);
    allowed.is_some_and(|Texts(origins)| origins.iter().any(|own| own == "*" || own == origin))
}
