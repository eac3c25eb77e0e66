//! The protocols of outside services, each named by its kind.
//!
//! Above the platform, through whose [`Service`](crate::platform::http::Service) every HTTP request goes, and below the
//! functions. It holds no SQL and knows no function.

pub mod chatbot;
pub mod email;
pub mod llm;
pub mod mailbox;
pub mod messaging;
pub mod oauth;
pub mod parts;
pub mod push;
pub mod realtime;
pub mod sms;
pub mod teamchat;
pub mod updates;

use crate::contract::error::Result;
use crate::platform::settings::Settings;

/// An outside service, as far as one must know it to look whether it can be reached.
pub struct Outside {
    /// Its kind: `teamchat`.
    pub name: &'static str,
    /// Whether the settings ask for it.
    pub is_wanted: fn(&Settings) -> bool,
    /// Where it is when the settings do not say otherwise.
    pub address: fn(&Settings) -> Result<String>,
}

/// Every outside service that is spoken to by HTTP.
pub static SERVICES: &[Outside] = &[
    chatbot::SERVICE,
    chatbot::TOKENS,
    llm::SERVICE,
    messaging::BUSINESS,
    messaging::INSTAGRAM,
    messaging::MESSENGER,
    messaging::MICROBLOG,
    messaging::WECHAT,
    messaging::WHATSAPP,
    push::SERVICE,
    realtime::SERVICE,
    sms::SERVICE,
    teamchat::SERVICE,
    updates::SERVICE,
    // The receiver of the installation's own events: it has an address and no protocol of its own.
    Outside {
        name: "webhooks",
        is_wanted: |settings| settings.is_on("webhooks-active") && settings.text("webhooks-url").is_some(),
        address: |_| Ok(String::new()),
    },
];
