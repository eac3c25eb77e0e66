//! Section "Realtime push integration": events, presence and subscriptions by the push service.

mod channels;
mod presence;
mod subscribing;
mod telling;

use crate::contract::Map;
use crate::contract::error::Result;
use crate::functions;
use crate::platform::Context;
use crate::providers::realtime::{self, Application, Keys};

pub(crate) use presence::present;
pub(crate) use subscribing::subscribe;
pub(crate) use telling::{deliver, delivery, pass};

functions! {
    /// Triggers an event on a channel of the push service.
    ///
    /// Clients hear of it that have subscribed to the channel. Limits: 200 characters for the event's name; 10 KiB of
    /// JSON, where the service has no other limit. An event whose fate is not known is not triggered again.
    ///
    /// @param $channel the channel: 1 to 164 letters, digits and -_=@,.;
    /// @param $event the event's name
    /// @param $data what is told with it
    /// @errors SBError realtime-not-active, configuration, invalid-channel, invalid-event; realtime-error with the
    ///     service's text, or because it cannot be reached
    async fn sb_realtime_trigger(channel: String, event: String, data: Map = []) -> "true|SBError" => trigger;

    /// Returns the users and agents who are connected to the push service: on the channels presence-agents and
    /// presence-users, agents first.
    ///
    /// @return nobody while the integration is off
    /// @errors SBError as of sb_realtime_trigger
    async fn sb_realtime_get_online_users() -> "list<array{id: string}>|SBError" => presence::online_users;

    /// Says whether at least one agent or admin is connected to the push service: on the channel presence-agents.
    ///
    /// @return false while the integration is off
    /// @errors SBError as of sb_realtime_trigger
    async fn sb_realtime_agents_online() -> "bool|SBError" => presence::agents_online;

    /// Says whether the realtime push integration is switched on: the setting realtime-active.
    async fn sb_realtime_active() -> "bool|SBError" => is_active;

    /// Says whether the realtime push integration is ready: switched on, with the settings realtime-id, realtime-key and
    /// realtime-secret. Nothing else needs to be initialised, and the service is not asked.
    async fn sb_realtime_init() -> "bool|SBError" => is_ready;
}

async fn trigger(cx: &Context<'_>, channel: String, event: String, data: Map) -> Result<bool> {
    Application::of(cx)
        .await?
        .trigger(&[channel], &event, &data.into())
        .await?;
    Ok(true)
}

async fn is_active(cx: &Context<'_>) -> Result<bool> {
    Ok(realtime::is_active(cx.settings().await?.as_ref()))
}

async fn is_ready(cx: &Context<'_>) -> Result<bool> {
    Ok(Keys::of(cx.settings().await?.as_ref()).is_some())
}
