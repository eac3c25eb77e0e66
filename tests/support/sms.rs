//! The service of text messages as its published description has it: a stand-in that is as strict as the service, and
//! whose own answers are held against the description too.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use serde_json::{Value, json};

use super::openapi::OpenApi;
use super::stand_in::{Received, Reply, StandIn, fields};

pub const ACCOUNT: &str = "AC00000000000000000000000000000001";
pub const TOKEN: &str = "planted-auth-token";
pub const SENDER: &str = "+12025550100";
/// A number that wants no more messages.
pub const UNSUBSCRIBED: &str = "+12025550199";

const FORM: &str = "application/x-www-form-urlencoded";

static API: LazyLock<OpenApi> = LazyLock::new(|| OpenApi::new(include_str!("../fixtures/sms.openapi.json")));

/// Starts a service that first says so often that it is asked too often.
pub fn start(too_often: usize) -> StandIn {
    let mut too_often = too_often;
    let mut sent = 0;
    StandIn::start(move |request| {
        if too_often > 0 {
            too_often -= 1;
            return Reply::of(
                429,
                &[("retry-after", "1")],
                refusal(20429, "Too Many Requests", 429).to_string(),
            );
        }
        sent += 1;
        let (status, answer) = answer(request, sent);
        Reply::of(status, &[("content-type", "application/json")], answer.to_string())
    })
}

/// A refusal as the service writes it.
pub fn refusal(code: u32, message: &str, status: u16) -> Value {
    let more = format!("https://www.twilio.com/docs/errors/{code}");
    json!({"code": code, "message": message, "more_info": more, "status": status})
}

fn answer(request: &Received, number: usize) -> (u16, Value) {
    let credentials = format!("Basic {}", STANDARD.encode(format!("{ACCOUNT}:{TOKEN}")));
    if request.header("authorization") != Some(&credentials) {
        return (401, refusal(20003, "Authenticate", 401));
    }
    let operation = API.operation(&request.method, &request.path);
    let Some(operation) = operation.filter(|_| request.path.contains(&format!("/Accounts/{ACCOUNT}/"))) else {
        return (404, refusal(20404, "The requested resource was not found", 404));
    };
    let given = fields(&request.body);
    let body = operation.form(FORM, &given);
    let known = request
        .header("content-type")
        .is_some_and(|kind| kind.starts_with(FORM))
        .then(|| operation.check_body(FORM, &body));
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let media = body["MediaUrl"].as_array().map_or(0, Vec::len);
    let fault = match known {
        None => Some((20001, "the body is no form".to_owned())),
        Some(Err(error)) => Some((20001, error)),
        Some(Ok(()))
            if !Regex::new(r"^(whatsapp:)?\+[1-9][0-9]{6,14}$")
                .unwrap()
                .is_match(&text("To")) =>
        {
            Some((
                21211,
                format!("The 'To' number {} is not a valid phone number.", text("To")),
            ))
        }
        Some(Ok(())) if text("From").is_empty() && text("MessagingServiceSid").is_empty() => {
            Some((21603, "A 'From' phone number is required.".to_owned()))
        }
        Some(Ok(())) if text("Body").is_empty() && media == 0 => Some((21602, "Message body is required.".to_owned())),
        Some(Ok(())) if text("Body").chars().count() > 1600 => Some((
            21617,
            "The concatenated message body exceeds the 1600 character limit".to_owned(),
        )),
        Some(Ok(())) if media > 10 => Some((21623, "Number of media files exceeds allowed limit".to_owned())),
        Some(Ok(())) if text("To") == UNSUBSCRIBED => {
            Some((21610, "Attempt to send to unsubscribed recipient".to_owned()))
        }
        Some(Ok(())) => None,
    };
    if let Some((code, message)) = fault {
        return (400, refusal(code, &message, 400));
    }
    let sid = format!("{}{number:032x}", if media > 0 { "MM" } else { "SM" });
    let time = "Fri, 20 Nov 2026 12:00:00 +0000";
    let group = (!text("MessagingServiceSid").is_empty()).then(|| text("MessagingServiceSid"));
    let uri = format!("/2010-04-01/Accounts/{ACCOUNT}/Messages/{sid}.json");
    let record = json!({
        "sid": sid, "date_created": time, "date_updated": time, "date_sent": null, "account_sid": ACCOUNT,
        "to": text("To"), "from": if group.is_some() { Value::Null } else { text("From").into() },
        "messaging_service_sid": group, "body": text("Body"), "status": if group.is_some() { "accepted" } else { "queued" },
        "num_segments": "1", "num_media": media.to_string(), "direction": "outbound-api", "api_version": "2010-04-01",
        "price": null, "price_unit": "USD", "error_code": null, "error_message": null, "uri": uri,
        "subresource_uris": {"media": uri.replace(".json", "/Media.json")},
    });
    operation.assert_answer(201, &record);
    (201, record)
}
