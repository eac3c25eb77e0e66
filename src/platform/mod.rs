//! What functions stand on: the host, the context, the database, that of the content-management system, the settings,
//! the uploads, the translations, the outbox, the keys of the HTTP API and what it does once, the sign that wakes its feed,
//! the ways to outside services and mail servers, cryptography.
//!
//! It knows the contract below it and nothing of the functions above.

pub mod api_keys;
pub mod cldr;
pub mod cms;
mod cms_password;
pub mod configuration;
pub mod context;
pub mod counters;
pub mod crypto;
pub mod db;
pub mod engine;
pub mod host;
pub mod http;
pub mod idempotency;
pub mod kept;
pub mod languages;
pub mod log;
pub mod outbox;
pub mod packages;
pub mod php_serialize;
pub mod reach;
pub mod records;
pub mod settings;
pub mod smtp;
mod stored;
pub mod together;
mod turn;
pub mod uploads;
pub mod wake;

pub use context::Context;
