//! The protocols of outside services, each named by its kind.
//!
//! Above the platform, through whose [`Service`](crate::platform::http::Service) every HTTP request goes, and below the
//! functions. It holds no SQL and knows no function.

pub mod chatbot;
pub mod email;
pub mod llm;
pub mod oauth;
pub mod sms;
pub mod teamchat;
pub mod updates;
