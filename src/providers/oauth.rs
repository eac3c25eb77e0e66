//! Access tokens by OAuth 2.0: for a service account's key (RFC 7523) and for a refresh token (RFC 6749).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::NaiveDateTime;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use crate::contract::error::{Error, Result};
use crate::contract::{Value, json};
use crate::platform::crypto;
use crate::platform::http::{Body, Method, Request, Service};

const BY_KEY: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// How long an assertion counts, in seconds: the longest that the service takes.
const ASSERTION_LIFE: i64 = 3600;

/// How long before its end a token is not used any more.
const MARGIN: Duration = Duration::from_mins(1);

/// The longest that a token is believed to live.
const LONGEST: Duration = Duration::from_hours(24);

/// What a token is given for.
pub enum Grant {
    /// The key of a service account.
    Account(Account),
    /// The consent of a person.
    Consent(Consent),
}

/// A service account, as its key file describes it.
#[derive(Deserialize)]
pub struct Account {
    client_email: String,
    private_key: SecretString,
    private_key_id: Option<String>,
    token_uri: Option<String>,
    /// The project that it belongs to.
    pub project_id: Option<String>,
}

/// An application that people give their consent to.
#[derive(Clone)]
pub struct Client {
    /// Its id.
    pub id: String,
    /// Its password.
    pub secret: SecretString,
}

/// What a person allowed an application to do.
pub struct Consent {
    /// The application.
    pub client: Client,
    /// What stands for the consent.
    pub refresh_token: SecretString,
}

/// An access token.
pub struct Token {
    /// What goes into the header.
    pub text: SecretString,
    /// How long it may be used.
    pub life: Duration,
}

impl Account {
    /// The account of a key file's JSON.
    pub fn read(key_file: &[u8]) -> Option<Self> {
        serde_json::from_slice(key_file).ok()
    }

    /// Where it gets its tokens.
    pub fn token_uri(&self) -> Option<&str> {
        self.token_uri.as_deref().filter(|address| !address.is_empty())
    }

    /// What proves that the key is known: a JSON Web Token (RFC 7519) for `audience`.
    fn assertion(&self, audience: &str, scope: &str, now: NaiveDateTime) -> Result<SecretString> {
        let issued = now.and_utc().timestamp();
        let mut header = vec![("alg", Value::from("RS256")), ("typ", "JWT".into())];
        header.extend(self.private_key_id.as_deref().map(|id| ("kid", id.into())));
        let claims = [
            ("iss", self.client_email.as_str().into()),
            ("scope", scope.into()),
            ("aud", audience.into()),
            ("iat", issued.into()),
            ("exp", (issued + ASSERTION_LIFE).into()),
        ];
        let part = |value: Value| URL_SAFE_NO_PAD.encode(json::encode(&value));
        let text = format!("{}.{}", part(Value::map(header)), part(Value::map(claims)));
        let signature = crypto::sign_rs256(&self.private_key, text.as_bytes())
            .ok_or_else(|| Error::configuration("the private key of the service account cannot be read"))?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)).into())
    }
}

impl Grant {
    /// A text that tells it from all others without telling anything of it.
    pub fn digest(&self) -> Result<String> {
        let parts = match self {
            Self::Account(account) => [&account.client_email, account.private_key.expose_secret(), ""],
            Self::Consent(consent) => [
                &consent.client.id,
                consent.client.secret.expose_secret(),
                consent.refresh_token.expose_secret(),
            ],
        };
        crypto::sha256(parts.join("\0").as_bytes())
    }

    /// Gets a token from the service `at`, of which the standard address is `standard`.
    pub async fn token(&self, at: &Service<'_>, standard: &str, scope: &str, now: NaiveDateTime) -> Result<Token> {
        let answer = match self {
            Self::Account(account) => {
                let audience = account.token_uri().unwrap_or(standard);
                let assertion = account.assertion(audience, scope, now)?;
                let fields = [("grant_type", BY_KEY), ("assertion", assertion.expose_secret())];
                ask(at, &fields).await?
            }
            Self::Consent(consent) => {
                let fields = [
                    ("grant_type", "refresh_token"),
                    ("client_id", &consent.client.id),
                    ("client_secret", consent.client.secret.expose_secret()),
                    ("refresh_token", consent.refresh_token.expose_secret()),
                ];
                ask(at, &fields).await?
            }
        };
        Ok(Token {
            text: answer.access_token,
            life: Duration::from_secs(answer.expires_in)
                .min(LONGEST)
                .saturating_sub(MARGIN),
        })
    }
}

#[derive(Deserialize)]
struct Granted {
    access_token: SecretString,
    #[serde(default)]
    expires_in: u64,
}

#[derive(Deserialize)]
struct Refused {
    error: String,
    #[serde(default)]
    error_description: String,
}

async fn ask(service: &Service<'_>, fields: &[(&str, &str)]) -> Result<Granted> {
    let answer = service
        .send(Request::new(Method::POST, &[]).body(Body::Form(fields)))
        .await?;
    if let Ok(refused) = serde_json::from_slice::<Refused>(&answer.body) {
        let message = format!("no access token: {} {}", refused.error, refused.error_description);
        return Err(service.refusal(message.trim_end(), json::decode(&answer.body)));
    }
    serde_json::from_slice(&answer.body).map_err(|_| service.foreign(&answer))
}
