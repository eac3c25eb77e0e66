//! The HTTP API: a request becomes an answer, without a socket. `include/api.php` and `sb serve` carry both.
//!
//! What a request is known by the host tells under its CGI names (RFC 3875): `REQUEST_METHOD`, `HTTP_AUTHORIZATION`.

mod access;
mod answer;
mod caller;
mod conversations;
mod failure;
pub mod feed;
mod fields;
mod health;
mod incoming;
mod messages;
mod openapi;
mod realtime;
mod repeats;
mod routes;
mod shared;

use access::Access;
pub use answer::Answer;
use caller::Caller;
use failure::{Failure, Refusal};
use incoming::Incoming;
use routes::{Call, Route};

use crate::platform::context::{Process, Request};
use crate::platform::host::Host;
use crate::platform::{Context, counters, log};

/// The longest body of a request in bytes. A longer one need not be read: one byte more shows that it is.
pub const BODY_LIMIT: usize = 1 << 20;

/// Answers a request. What follows its writes is left in `request` for the embedding program to deliver.
pub async fn answer(process: &Process, host: &dyn Host, request: &Request, body: &[u8]) -> Answer {
    let incoming = Incoming::read(host, body);
    let caller = Caller::of(host);
    let cx = Context::new(&caller, process, request);
    let mut headers = Vec::new();
    let answered = respond(&cx, &caller, &incoming, &mut headers).await;
    counters::CALLS.add();
    let mut answer = answered.unwrap_or_else(|failure| {
        if let Some(cause) = &failure.cause {
            let operation = format!("{} {}, request {}", incoming.method, incoming.path, incoming.id);
            log::note(host, &operation, cause);
        }
        failure.answer(&incoming)
    });
    answer.headers.extend(headers);
    answer.headers.extend(shared::headers(&cx, &incoming).await);
    answer.measured(incoming.method == "HEAD")
}

/// Answers a request whose body does not come.
pub fn too_slow(host: &dyn Host) -> Answer {
    let incoming = Incoming::read(host, &[]);
    let answer = Failure::of(Refusal::TooSlow).answer(&incoming);
    answer.with("X-Request-Id", incoming.id.as_str()).measured(false)
}

/// The answer of the route that the request is for; `headers` gets what belongs to every answer to whoever asks.
async fn respond(
    cx: &Context<'_>,
    caller: &Caller<'_>,
    incoming: &Incoming<'_>,
    headers: &mut Vec<(&'static str, String)>,
) -> Result<Answer, Failure> {
    let (route, segment) = match routes::find(incoming) {
        routes::Found::Route(route, segment) => (route, segment),
        routes::Found::OtherMethods(allow) if incoming.method == "OPTIONS" => {
            return Ok(Answer::empty(204).with("Allow", allow));
        }
        routes::Found::OtherMethods(allow) => {
            return Err(Failure::of(Refusal::MethodNotAllowed).with("Allow", allow));
        }
        routes::Found::Nothing => return Err(Failure::of(Refusal::NotFound)),
    };
    let access = admit(cx, caller, incoming, route, headers).await?;
    let call = Call {
        cx,
        incoming,
        access: access.as_ref(),
        segment,
    };
    (route.handler)(&call).await
}

/// Whoever asks, when the route is open to it.
async fn admit(
    cx: &Context<'_>,
    caller: &Caller<'_>,
    incoming: &Incoming<'_>,
    route: &Route,
    headers: &mut Vec<(&'static str, String)>,
) -> Result<Option<Access>, Failure> {
    let Some(scope) = route.scope else { return Ok(None) };
    let access = access::authenticate(cx, incoming).await?;
    access::count(cx, &access, headers).await?;
    access.check(scope)?;
    caller.act_for(&access);
    Ok(Some(access))
}
