//! How a request fails: the status, the codes, and nothing that is nobody's business.

use super::answer::Answer;
use super::incoming::Incoming;
use crate::contract::Value;
use crate::contract::error::{Code, Error};

/// A request that is not carried out.
#[derive(Debug)]
pub struct Failure {
    status: u16,
    problems: Vec<Problem>,
    headers: Vec<(&'static str, String)>,
    /// For the log.
    pub cause: Option<Error>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A stable code.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// The field or parameter that it is about.
    pub field: Option<&'static str>,
}

/// What the API itself refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The body is no JSON object.
    MalformedJson,
    /// There is no key, or none that holds.
    Unauthorized,
    /// There is nothing at this address.
    NotFound,
    /// Not by this method.
    MethodNotAllowed,
    /// The body did not come in time.
    TooSlow,
    /// The name of the request was given to another.
    IdempotencyConflict,
    /// The body is too large.
    TooLarge,
    /// The body is no JSON.
    UnsupportedMediaType,
    /// The key was used too often.
    RateLimitExceeded,
}

/// Seconds after which whoever found the database gone may ask again.
const RETRY_AFTER: &str = "1";

/// What the database answers, besides what it says of values, when the fault is in a statement, not in the way to it.
const FAULTS_OF_STATEMENTS: [u16; 3] = [1054, 1064, 1146];

impl Refusal {
    const fn parts(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::MalformedJson => (400, "malformed-json", "the body must be one JSON object"),
            Self::Unauthorized => (401, "unauthorized", "send a valid API key: Authorization: Bearer KEY"),
            Self::NotFound => (404, "not-found", "there is nothing at this address"),
            Self::MethodNotAllowed => (
                405,
                "method-not-allowed",
                "the header Allow names what is possible here",
            ),
            Self::TooSlow => (408, "too-slow", "the body of the request did not come in time"),
            Self::IdempotencyConflict => (
                409,
                "idempotency-conflict",
                "another request had the same Idempotency-Key",
            ),
            Self::TooLarge => (413, "too-large", "the body is larger than 1 MiB"),
            Self::UnsupportedMediaType => (
                415,
                "unsupported-media-type",
                "send the body as Content-Type: application/json",
            ),
            Self::RateLimitExceeded => (
                429,
                "rate-limit-exceeded",
                "the API key was used too often; Retry-After says when to go on",
            ),
        }
    }
}

impl Failure {
    /// A refusal of the API.
    pub fn of(refusal: Refusal) -> Self {
        let (status, code, message) = refusal.parts();
        Self::new(status, Problem::new(code, message, None))
    }

    /// The refusal of what a key is not for.
    pub fn forbidden(message: &str, field: Option<&'static str>) -> Self {
        Self::new(403, Problem::new("forbidden", message, field))
    }

    /// The refusal of what can be done again in a moment.
    pub fn unavailable(message: &str) -> Self {
        Self::new(503, Problem::new("unavailable", message, None)).with("Retry-After", RETRY_AFTER)
    }

    /// The refusal of fields.
    pub fn of_fields(problems: Vec<Problem>) -> Self {
        Self {
            status: 422,
            problems,
            headers: Vec::new(),
            cause: None,
        }
    }

    fn new(status: u16, problem: Problem) -> Self {
        Self {
            status,
            problems: vec![problem],
            headers: Vec::new(),
            cause: None,
        }
    }

    /// With a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// What a function refuses, of which some is about a field.
    pub fn from_function(error: Error, field_of: impl FnOnce(&str) -> Option<&'static str>) -> Self {
        // A conversation of someone else is as if there were none.
        let error = match error {
            Error::Refused {
                code: "security-error", ..
            } => Error::Code(Code::ConversationNotFound),
            error => error,
        };
        let status = error.http_status();
        if status >= 500 {
            return Self::from(error);
        }
        let code = error.code();
        let field = field_of(&code);
        let message = match &error {
            Error::Code(code) => sentence(*code).to_owned(),
            error => error.to_string(),
        };
        Self::new(status, Problem { code, message, field })
    }

    /// The answer.
    pub fn answer(self, incoming: &Incoming<'_>) -> Answer {
        let problems = self.problems.into_iter().map(|problem| {
            let mut entries = vec![("code", problem.code.into()), ("message", problem.message.into())];
            entries.extend(problem.field.map(|field| ("field", field.into())));
            Value::map(entries)
        });
        let body = Value::map([
            ("type", "error.list".into()),
            ("request_id", incoming.id.as_str().into()),
            ("errors", problems.collect::<Vec<_>>().into()),
        ]);
        let mut answer = Answer::json(self.status, &body);
        answer.headers.extend(self.headers);
        answer.failure = self.cause.map(|cause| {
            format!(
                "request {}: {} {}: {cause} ({})",
                incoming.id,
                incoming.method.escape_debug(),
                incoming.path.escape_debug(),
                cause.code()
            )
        });
        answer
    }
}

/// A failure that is none of whoever asked: its text goes to the log.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let is_unreachable = matches!(&error, Error::Database(error)
            if !error.refuses_a_value() && !FAULTS_OF_STATEMENTS.contains(&error.number));
        let failure = if is_unreachable {
            Self::unavailable("the database cannot be reached; Retry-After says when to try again")
        } else {
            Self::new(
                500,
                Problem::new("internal-error", "the request failed; the log says why", None),
            )
        };
        Self {
            cause: Some(error),
            ..failure
        }
    }
}

impl Problem {
    /// Something that is wrong.
    pub fn new(code: &str, message: impl Into<String>, field: Option<&'static str>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            field,
        }
    }
}

/// A code of the contract in words.
const fn sentence(code: Code) -> &'static str {
    match code {
        Code::ConversationNotFound => "there is no such conversation",
        Code::UserNotFound => "there is no such user",
        Code::InvalidAttachment => "an attachment is a name and an http or https link",
        Code::InvalidStatusCode => "a status code is one of 0, 1, 2, 3, 4",
        code => code.text(),
    }
}
