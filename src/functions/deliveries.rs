//! Deliveries: what the outbox holds, by the way of each channel.

use super::{notifications, notify, push, realtime, sms};
use crate::contract::error::Result;
use crate::contract::{Value, json};
use crate::platform::Context;
use crate::platform::context::Request;
use crate::platform::engine::Engine;
use crate::platform::host::Host;
use crate::platform::http::{Body, Method, Request as HttpRequest};
use crate::platform::outbox::{self, Channel, Claimed, Recorded};
use crate::platform::{crypto, log};

/// Delivers what follows the writes of a request. To be called at its end.
pub fn deliver_recorded(engine: &Engine, host: &dyn Host, request: &Request) {
    if request.has_deliveries() {
        // Nobody is there any more to hear of a failure: the outbox keeps it.
        let _ = engine.run(async |process| deliver_all(&Context::new(host, process, request)).await);
    }
}

/// Delivers what was recorded in this request, and what follows from it.
pub async fn deliver_all(cx: &Context<'_>) -> Result<()> {
    loop {
        // What is delivered is an event too, which others may follow.
        let recorded = cx.take_deliveries();
        if recorded.is_empty() {
            return Ok(());
        }
        for recorded in recorded {
            deliver(cx, recorded).await?;
        }
    }
}

/// Delivers what is due in the outbox, and says how much was taken up.
pub async fn deliver_due(cx: &Context<'_>) -> Result<usize> {
    if !cx.database()?.has(outbox::TABLE).await? {
        return Ok(0);
    }
    let due = outbox::due(cx.database()?, cx.now()).await?;
    let mut count = 0;
    for recorded in due {
        count += usize::from(deliver(cx, recorded).await?);
    }
    Ok(count)
}

/// Keeps what a call records again and again from growing in memory: what is in the outbox's table is left to who looks
/// for what is due; without the table it is delivered now.
pub(super) async fn make_room(cx: &Context<'_>) -> Result<()> {
    if cx.database()?.has(outbox::TABLE).await? {
        drop(cx.take_deliveries());
        return Ok(());
    }
    deliver_all(cx).await
}

/// Delivers one, and says whether it was not somebody else who did.
async fn deliver(cx: &Context<'_>, recorded: Recorded) -> Result<bool> {
    let Some(claimed) = outbox::claim(cx.database()?, cx.now(), recorded).await? else {
        return Ok(false);
    };
    let outcome = match claimed.delivery.channel {
        Channel::Webhook => call_webhook(cx, &claimed).await,
        _ if notifications::is_one(&claimed.delivery) => notifications::deliver(cx, &claimed.delivery).await,
        Channel::Email => notify::deliver(cx, &claimed.delivery).await,
        Channel::Sms => sms::deliver(cx, &claimed.delivery).await,
        Channel::Realtime => realtime::deliver(cx, &claimed.delivery).await,
        Channel::Push => push::deliver(cx, &claimed.delivery).await,
    };
    if let Err(error) = &outcome {
        log::note(cx.host(), &claimed.delivery.channel.operation(), error);
    }
    claimed.note(cx.database()?, cx.now(), outcome).await?;
    Ok(true)
}

/// Posts `{function, key, data, sender-url}`. The receiver knows the sender by the signature over time and body, which
/// are joined by a full stop, and a repetition by the delivery's id.
async fn call_webhook(cx: &Context<'_>, claimed: &Claimed) -> Result<()> {
    let settings = cx.settings().await?;
    let key = settings.secret("webhooks-key");
    let body = Value::map([
        ("function", claimed.delivery.event.clone().into()),
        ("key", settings.text("webhooks-key").unwrap_or_default().into()),
        ("data", claimed.delivery.payload.clone()),
        ("sender-url", cx.host().configured("SB_URL").unwrap_or_default().into()),
    ]);
    let id = match claimed.id() {
        Some(id) => id.to_string(),
        None => crypto::token()?,
    };
    let service = cx.service("webhooks", "").await?;
    let mut request = HttpRequest::new(Method::POST, &[])
        .header("x-delivery-id", id)
        .body(Body::Json(&body));
    if let Some(key) = key {
        let time = cx.now().and_utc().timestamp();
        let signed = format!("{time}.{}", json::encode(&body));
        let signature = crypto::hmac_sha256(&key, signed.as_bytes())?;
        request = request.header("x-signature", format!("t={time},v1={signature}"));
    }
    let answer = service.send(request).await?;
    if (200..300).contains(&answer.status) {
        Ok(())
    } else {
        Err(service.refusal(format!("the receiver answered with status {}", answer.status), None))
    }
}
