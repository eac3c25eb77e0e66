//! The description of the API (OpenAPI 3.1), made from its routes, the types of their fields and the records of the
//! contract.

use serde_json::{Value as Json, json};

use super::answer::Answer;
use super::failure::Failure;
use super::incoming::FORM;
use super::routes::{Body, Call, ROUTES, Route};
use crate::contract::shapes::{self, Shape};
use crate::platform::api_keys::Scope;
use crate::platform::host::Host;

/// `GET /openapi.json`
// Handlers are asynchronous, whether they wait or not.
#[allow(clippy::unused_async)]
pub async fn give(call: &Call<'_>) -> Result<Answer, Failure> {
    Ok(Answer::text(
        200,
        "application/json",
        describe(call.cx.host()).to_string(),
    ))
}

/// A schema that stands under a name of its own.
pub fn named(name: &str) -> Json {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// A page of records.
pub fn list_of(name: &str) -> Json {
    json!({
        "type": "object",
        "required": ["data", "next_cursor"],
        "properties": {
            "data": {"type": "array", "items": named(name)},
            "next_cursor": {"type": ["string", "null"], "description": "What `after` gets for the next page; null on the last."},
        },
    })
}

/// A text.
pub fn text() -> Json {
    json!({"type": "string"})
}

/// An object of any kind.
pub fn object() -> Json {
    json!({"type": "object"})
}

/// The whole description.
// Assigning by index adds an entry to an object, and all of these are made here.
#[allow(clippy::indexing_slicing)]
fn describe(host: &dyn Host) -> Json {
    let mut paths = serde_json::Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(object_without_entries);
        path[route.method.to_ascii_lowercase()] = operation(route);
    }
    let mut description = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "sb",
            "version": crate::VERSION,
            "description": "Conversations and messages of a customer-support chat platform.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "responses": {
                "Error": refusal("Why it was not done.", None),
                "Unauthorized": refusal("There is no key, or none that holds.", Some("WWW-Authenticate")),
                "Later": refusal("It was not done, and may be tried again.", Some("Retry-After")),
            },
            "headers": header_descriptions(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "An API key."}},
        },
    });
    if let Some(url) = host.configured("SB_URL").filter(|url| !url.is_empty()) {
        description["servers"] = json!([{"url": url}]);
    }
    description
}

fn object_without_entries() -> Json {
    json!({})
}

// Assigning by index adds an entry to an object, and all of these are made here.
#[allow(clippy::indexing_slicing)]
fn operation(route: &Route) -> Json {
    let (status, kind, schema) = &route.answer;
    let mut responses = serde_json::Map::new();
    responses.insert(
        status.to_string(),
        json!({"description": "Done.", "headers": headers(route), "content": {*kind: {"schema": schema()}}}),
    );
    for refusal in refusals(route) {
        let name = match refusal {
            401 => "Unauthorized",
            429 | 503 => "Later",
            _ => "Error",
        };
        let response = json!({"$ref": format!("#/components/responses/{name}")});
        responses.insert(refusal.to_string(), response);
    }
    let mut parameters = (route.parameters)();
    if route.path.contains("{id}") {
        parameters.push(json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string", "pattern": "^[0-9]{1,10}$"}}));
    }
    let mut operation = json!({
        "summary": route.about,
        "operationId": operation_id(route),
        "responses": responses,
    });
    match route.body {
        None => {}
        Some(Body::Change(schema)) => {
            parameters.push(json!({"name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "minLength": 1, "maxLength": 255},
                "description": "Of requests with the same key within 24 hours one is carried out, and all get its answer."}));
            operation["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": schema()}}});
        }
        Some(Body::Question(schema)) => {
            let content = json!({"application/json": {"schema": schema()}, FORM: {"schema": without_null(schema())}});
            operation["requestBody"] = json!({"required": true, "content": content});
        }
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(scope) = route.scope {
        operation["security"] = json!([{"key": []}]);
        operation["description"] = format!("Needs the scope {} or {}.", scope.text(), Scope::Admin.text()).into();
    }
    operation
}

/// The schema of a form, in which nothing is null.
fn without_null(mut schema: Json) -> Json {
    let properties = schema.get_mut("properties").and_then(Json::as_object_mut);
    for property in properties.into_iter().flat_map(serde_json::Map::values_mut) {
        if let Some(kinds) = property.get_mut("anyOf").and_then(Json::as_array_mut) {
            kinds.retain(|kind| kind.get("type").and_then(Json::as_str) != Some("null"));
        }
    }
    schema
}

/// `getConversationsMessages`
fn operation_id(route: &Route) -> String {
    let words = route
        .path
        .split(['/', '.'])
        .filter(|word| !word.is_empty() && *word != "v1" && *word != "{id}");
    let mut id = route.method.to_ascii_lowercase();
    for word in words {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        id.push_str(&first.to_ascii_uppercase());
        id.push_str(rest);
    }
    id
}

/// Every status of refusal that a route may have.
fn refusals(route: &Route) -> Vec<u16> {
    let mut refusals = route.refusals.to_vec();
    if route.scope.is_some() {
        refusals.extend([401, 403, 429, 500, 503]);
    }
    match route.body {
        None => {}
        Some(Body::Change(_)) => refusals.extend([400, 409, 413, 415, 422]),
        Some(Body::Question(_)) => refusals.extend([400, 413, 415, 422]),
    }
    refusals.sort_unstable();
    refusals.dedup();
    refusals
}

/// A refusal, with a header of its own.
fn refusal(about: &str, header: Option<&str>) -> Json {
    let headers = ["X-Request-Id"].into_iter().chain(header).map(header_of);
    json!({
        "description": about,
        "headers": headers.collect::<serde_json::Map<_, _>>(),
        "content": {"application/json": {"schema": named("Error")}},
    })
}

/// The headers of what a route answers when it was done.
fn headers(route: &Route) -> serde_json::Map<String, Json> {
    let mut headers = vec!["X-Request-Id"];
    if route.scope.is_some() {
        headers.extend(["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]);
    }
    if route.body.is_some() {
        headers.push("Idempotent-Replayed");
    }
    headers.into_iter().map(header_of).collect()
}

fn header_of(name: &str) -> (String, Json) {
    let header = json!({"$ref": format!("#/components/headers/{name}")});
    (name.to_owned(), header)
}

/// Every header that the API describes.
fn header_descriptions() -> Json {
    let number = json!({"type": "integer", "minimum": 0});
    json!({
        "X-Request-Id": {"required": true, "schema": text(), "description": "Names the request: the id that it came with, or a new one."},
        "X-RateLimit-Limit": {"required": true, "schema": number, "description": "Uses of the key in a minute."},
        "X-RateLimit-Remaining": {"required": true, "schema": number, "description": "Those left of this minute."},
        "X-RateLimit-Reset": {"required": true, "schema": number, "description": "When the minute ends, in seconds since 1970."},
        "Idempotent-Replayed": {"schema": {"const": "true"}, "description": "It was done before; this is the answer of then."},
        "Retry-After": {"required": true, "schema": number, "description": "Seconds to wait."},
        "WWW-Authenticate": {"required": true, "schema": {"const": "Bearer"}},
    })
}

// Assigning by index adds an entry to an object, and all of these are made here.
#[allow(clippy::indexing_slicing)]
fn schemas() -> Json {
    let mut schemas = json!({
        "SentMessage": {
            "type": "object",
            "required": ["id", "status", "timestamp", "conversation_id"],
            "properties": {
                "id": text(),
                "status": {"const": "sent"},
                "timestamp": {"type": "string", "format": "date-time", "description": "UTC"},
                "conversation_id": text(),
            },
        },
        "SubscriptionGrant": {
            "type": "object",
            "required": ["auth"],
            "properties": {
                "auth": {"type": "string", "description": "For the push service."},
                "channel_data": {"type": "string", "description": "Who subscribes, as JSON; of presence channels only."},
            },
        },
        "Health": {
            "type": "object",
            "required": ["status"],
            "properties": {"status": {"enum": ["ok", "ready"]}},
        },
        "Error": {
            "type": "object",
            "required": ["type", "request_id", "errors"],
            "properties": {
                "type": {"const": "error.list"},
                "request_id": text(),
                "errors": {"type": "array", "minItems": 1, "items": {
                    "type": "object",
                    "required": ["code", "message"],
                    "properties": {"code": text(), "message": text(), "field": text()},
                }},
            },
        },
    });
    for name in ["Message", "ConversationItem", "ConversationDetails"] {
        if let Some(shape) = shapes::find(name) {
            schemas[name] = record(shape);
        }
    }
    schemas
}

/// A record of the contract.
// Assigning by index adds an entry to an object, and all of these are made here.
#[allow(clippy::indexing_slicing)]
fn record(shape: &Shape) -> Json {
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for field in shape.all_fields() {
        let name = field.name.trim_end_matches('?');
        if name == field.name {
            required.push(name);
        }
        let mut schema = of_type(field.php_type);
        if !field.doc.is_empty() {
            schema["description"] = field.doc.into();
        }
        properties.insert(name.to_owned(), schema);
    }
    json!({"type": "object", "description": shape.doc, "required": required, "properties": properties})
}

/// A type in PHPStan's notation as a JSON Schema.
fn of_type(php_type: &str) -> Json {
    let kinds = split(php_type, '|');
    if let [kind] = kinds.as_slice() {
        return of_one_type(kind);
    }
    let literals: Vec<&str> = kinds.iter().filter_map(|kind| literal(kind)).collect();
    if literals.len() == kinds.len() {
        return json!({"enum": literals});
    }
    json!({"anyOf": kinds.into_iter().map(of_one_type).collect::<Vec<_>>()})
}

fn of_one_type(kind: &str) -> Json {
    let inside = |beginning: &str, end: char| kind.strip_prefix(beginning).and_then(|rest| rest.strip_suffix(end));
    if let Some(text) = literal(kind) {
        return json!({"const": text});
    }
    if let Some(item) = inside("list<", '>') {
        return json!({"type": "array", "items": of_type(item)});
    }
    if let Some(items) = inside("array{", '}') {
        let items: Vec<Json> = split(items, ',').into_iter().map(of_type).collect();
        return json!({"type": "array", "minItems": items.len(), "prefixItems": items, "items": false});
    }
    match kind {
        "string" | "null" => json!({"type": kind}),
        "int" => json!({"type": "integer"}),
        "bool" => json!({"type": "boolean"}),
        // What PHP keeps in an array may be a list too.
        _ if kind.starts_with("array<") => json!({"type": ["object", "array"]}),
        _ => json!({}),
    }
}

fn literal(kind: &str) -> Option<&str> {
    kind.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''))
}

/// Splits a type where it is not nested.
fn split(text: &str, at: char) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(|letter: char| {
        match letter {
            '<' | '{' => depth += 1,
            '>' | '}' => depth -= 1,
            _ => {}
        }
        letter == at && depth == 0
    });
    parts.map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_the_contract_become_schemas() {
        for (php_type, schema) in [
            ("string", json!({"type": "string"})),
            ("string|null", json!({"anyOf": [{"type": "string"}, {"type": "null"}]})),
            ("'a'|'b'", json!({"enum": ["a", "b"]})),
            (
                "list<array{string, int}>|''",
                json!({"anyOf": [
                    {"type": "array", "items": {"type": "array", "minItems": 2, "items": false,
                        "prefixItems": [{"type": "string"}, {"type": "integer"}]}},
                    {"const": ""},
                ]}),
            ),
        ] {
            assert_eq!(of_type(php_type), schema, "{php_type}");
        }
    }

    #[test]
    fn every_name_that_is_referred_to_is_described() {
        let description = describe(&crate::platform::host::PlainHost::default());
        let text = description.to_string();
        for (_, rest) in text.match_indices("#/components/").map(|(at, _)| text.split_at(at)) {
            let pointer = rest.split('"').next().unwrap().trim_start_matches('#');
            assert!(description.pointer(pointer).is_some(), "{pointer}");
        }
    }
}
