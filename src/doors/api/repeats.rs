//! Requests that name themselves by the header `Idempotency-Key`: carried out once, answered as often as they come.

use super::answer::Answer;
use super::failure::{Failure, Problem, Refusal};
use super::routes::Call;
use crate::contract::{Map, Value};
use crate::platform::idempotency::{self, Known, Repeatable};

/// The header.
const HEADER: &str = "Idempotency-Key";

/// How long such a name may be.
const LIMIT: usize = 255;

/// What is to be done with a request.
pub enum Turn {
    /// It is carried out, and when it names itself its answer is kept.
    First(Option<Repeatable>),
    /// It was carried out before, with this answer.
    Again(Answer),
}

/// Looks whether the request was carried out before.
pub async fn turn(call: &Call<'_>, target: &str, body: &Map) -> Result<Turn, Failure> {
    let name = call.incoming.header("HTTP_IDEMPOTENCY_KEY");
    let (Some(name), Some(access)) = (name, call.access) else {
        return Ok(Turn::First(None));
    };
    if !(1..=LIMIT).contains(&name.chars().count()) {
        let message = format!("{HEADER} has 1 to {LIMIT} characters");
        return Err(Failure::of_fields(vec![Problem::new(
            "too-long",
            message,
            Some(HEADER),
        )]));
    }
    let cx = call.cx;
    let body = Value::Map(body.clone());
    let known = idempotency::look_up(cx.database()?, cx.now(), &access.requester(), &name, target, &body).await?;
    match known {
        Known::New(request) => Ok(Turn::First(Some(request))),
        Known::Done(status, answer) => {
            let answer = Answer::text(status, "application/json", answer).with("Idempotent-Replayed", "true");
            Ok(Turn::Again(answer))
        }
        Known::Other => Err(Failure::of(Refusal::IdempotencyConflict)),
    }
}
