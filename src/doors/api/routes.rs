//! What there is: every address with its methods, for whom it is, what it takes and gives.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value as Json;

use super::access::Access;
use super::answer::Answer;
use super::conversations::{self, ConversationList, NewConversation};
use super::failure::Failure;
use super::fields::Fields;
use super::incoming::Incoming;
use super::messages::{self, MessageList, NewMessage};
use super::realtime::{self, Subscription};
use super::{feed, health, openapi};
use crate::platform::Context;
use crate::platform::api_keys::Scope;

/// One thing that can be asked.
pub struct Route {
    /// The method. GET answers HEAD too.
    pub method: &'static str,
    /// The address, `{id}` in place of one part.
    pub path: &'static str,
    /// What a key must be for; `None`: open to everyone.
    pub scope: Option<Scope>,
    /// What answers.
    pub handler: Handler,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// The parameters of the address.
    pub parameters: fn() -> Vec<Json>,
    /// The body.
    pub body: Option<Body>,
    /// The answer: its status, its kind and its schema.
    pub answer: (u16, &'static str, fn() -> Json),
    /// How it may be refused, besides the ways that follow from all this.
    pub refusals: &'static [u16],
}

/// A body, by its schema.
#[derive(Clone, Copy)]
pub enum Body {
    /// In JSON. What it changes is changed once for each Idempotency-Key.
    Change(fn() -> Json),
    /// In JSON or as a form. It changes nothing.
    Question(fn() -> Json),
}

/// What answers a route.
pub type Handler = for<'a> fn(&'a Call<'a>) -> Pin<Box<dyn Future<Output = Result<Answer, Failure>> + 'a>>;

/// A request on its way to its route.
pub struct Call<'a> {
    /// What functions may use.
    pub cx: &'a Context<'a>,
    /// The request.
    pub incoming: &'a Incoming<'a>,
    /// Who asks, where the route is not open.
    pub access: Option<&'a Access>,
    /// What stands in the place of `{id}`.
    pub segment: Option<&'a str>,
}

const JSON: &str = "application/json";

/// All routes.
pub static ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/v1/messages",
        scope: Some(Scope::MessagesWrite),
        handler: |call| Box::pin(messages::send(call)),
        about: "Sends a message.",
        parameters: Vec::new,
        body: Some(Body::Change(NewMessage::schema_of_either)),
        answer: (200, JSON, || openapi::named("SentMessage")),
        refusals: &[404],
    },
    Route {
        method: "GET",
        path: "/v1/conversations/{id}/messages",
        scope: Some(Scope::MessagesRead),
        handler: |call| Box::pin(messages::list(call)),
        about: "Lists the messages of a conversation, oldest first. What the other side wrote becomes read when the key \
                is bound to one side.",
        parameters: MessageList::parameters,
        body: None,
        answer: (200, JSON, || openapi::list_of("Message")),
        refusals: &[404, 422],
    },
    Route {
        method: "POST",
        path: "/v1/conversations",
        scope: Some(Scope::MessagesWrite),
        handler: |call| Box::pin(conversations::open(call)),
        about: "Opens a conversation.",
        parameters: Vec::new,
        body: Some(Body::Change(NewConversation::schema)),
        answer: (201, JSON, || openapi::named("ConversationDetails")),
        refusals: &[],
    },
    Route {
        method: "GET",
        path: "/v1/conversations",
        scope: Some(Scope::MessagesRead),
        handler: |call| Box::pin(conversations::list(call)),
        about: "Lists conversations that have messages, each by its last one, newest first: those of a user, or of \
                everyone that are neither archived nor in the trash.",
        parameters: ConversationList::parameters,
        body: None,
        answer: (200, JSON, || openapi::list_of("ConversationItem")),
        refusals: &[422],
    },
    Route {
        method: "POST",
        path: "/v1/realtime/auth",
        scope: Some(Scope::EventsRead),
        handler: |call| Box::pin(realtime::authorize(call)),
        about: "Lets a client of the push service subscribe to a private or presence channel.",
        parameters: Vec::new,
        body: Some(Body::Question(Subscription::schema)),
        answer: (200, JSON, || openapi::named("SubscriptionGrant")),
        refusals: &[404],
    },
    Route {
        method: "GET",
        path: feed::PATH,
        scope: Some(Scope::EventsRead),
        handler: |call| Box::pin(feed::refuse(call)),
        about: "Gives what happens, as it happens: as server-sent events, or to a WebSocket. Only `sb serve` has it; \
                other servers answer 404.",
        parameters: feed::Beginning::parameters,
        body: None,
        answer: (200, "text/event-stream", openapi::text),
        refusals: &[404, 422],
    },
    Route {
        method: "GET",
        path: "/healthz",
        scope: None,
        handler: |call| Box::pin(health::alive(call)),
        about: "Says that the process answers.",
        parameters: Vec::new,
        body: None,
        answer: (200, JSON, || openapi::named("Health")),
        refusals: &[],
    },
    Route {
        method: "GET",
        path: "/readyz",
        scope: None,
        handler: |call| Box::pin(health::ready(call)),
        about: "Says whether the database answers.",
        parameters: Vec::new,
        body: None,
        answer: (200, JSON, || openapi::named("Health")),
        refusals: &[503],
    },
    Route {
        method: "GET",
        path: "/metrics",
        scope: None,
        handler: |call| Box::pin(health::metrics(call)),
        about: "Gives figures in the text format of Prometheus.",
        parameters: Vec::new,
        body: None,
        answer: (200, health::METRICS, openapi::text),
        refusals: &[],
    },
    Route {
        method: "GET",
        path: "/openapi.json",
        scope: None,
        handler: |call| Box::pin(openapi::give(call)),
        about: "Gives this description.",
        parameters: Vec::new,
        body: None,
        answer: (200, JSON, openapi::object),
        refusals: &[],
    },
];

/// What there is for a request.
pub enum Found<'a> {
    /// This, and what stands in the place of `{id}`.
    Route(&'static Route, Option<&'a str>),
    /// The address exists, for these methods.
    OtherMethods(String),
    /// Nothing.
    Nothing,
}

/// The route of a request.
pub fn find<'a>(incoming: &'a Incoming<'_>) -> Found<'a> {
    let method = match incoming.method.as_str() {
        "HEAD" => "GET",
        method => method,
    };
    let mut methods = Vec::new();
    for route in ROUTES {
        if let Some(segment) = matched(route.path, &incoming.path) {
            if route.method == method {
                return Found::Route(route, segment);
            }
            methods.push(route.method);
        }
    }
    if methods.is_empty() {
        return Found::Nothing;
    }
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods.push("OPTIONS");
    Found::OtherMethods(methods.join(", "))
}

/// Whether a path is of a pattern, and what it has in the place of `{id}`.
// Of a path that is of the pattern there may be no such part.
#[allow(clippy::option_option)]
fn matched<'a>(pattern: &str, path: &'a str) -> Option<Option<&'a str>> {
    let Some((before, after)) = pattern.split_once("{id}") else {
        return (pattern == path).then_some(None);
    };
    let segment = path.strip_prefix(before)?.strip_suffix(after)?;
    (!segment.is_empty() && !segment.contains('/')).then_some(Some(segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_part_in_the_place_of_the_id() {
        let pattern = "/v1/conversations/{id}/messages";
        assert_eq!(matched(pattern, "/v1/conversations/7/messages"), Some(Some("7")));
        for path in [
            "/v1/conversations//messages",
            "/v1/conversations/7/8/messages",
            "/v1/conversations/7",
            "/v1/conversations/7/messages/",
            "/v1/conversations/messages",
        ] {
            assert_eq!(matched(pattern, path), None, "{path}");
        }
        assert_eq!(matched("/healthz", "/healthz"), Some(None));
        assert_eq!(matched("/healthz", "/healthz/"), None);
    }
}
