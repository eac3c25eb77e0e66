//! Requests signed by OAuth 1.0a (RFC 5849), with HMAC-SHA1.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};

use crate::contract::error::Result;
use crate::platform::crypto;

/// All that is escaped (section 3.6).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What a request is signed with.
pub(super) struct Credentials {
    /// The application's key.
    pub(super) key: SecretString,
    /// The application's password.
    pub(super) key_secret: SecretString,
    /// What stands for the account.
    pub(super) token: SecretString,
    /// The password that belongs to it.
    pub(super) token_secret: SecretString,
}

impl Credentials {
    /// All of them, to be hidden.
    pub(super) const fn secrets(&self) -> [&SecretString; 4] {
        [&self.key, &self.key_secret, &self.token, &self.token_secret]
    }

    /// The header `Authorization` of a request with no parameters of its own: those of a body that is no form do not
    /// count.
    pub(super) fn authorization(&self, method: &str, address: &str, time: i64) -> Result<SecretString> {
        let (nonce, time) = (crypto::token()?, time.to_string());
        let fields = [
            ("oauth_consumer_key", self.key.expose_secret()),
            ("oauth_nonce", nonce.as_str()),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", time.as_str()),
            ("oauth_token", self.token.expose_secret()),
            ("oauth_version", "1.0"),
        ];
        let signature = self.signature(&base(method, address, &fields))?;
        let signed = fields.into_iter().chain([("oauth_signature", signature.as_str())]);
        let signed: Vec<String> = signed
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        Ok(format!("OAuth {}", signed.join(", ")).into())
    }

    fn signature(&self, base: &str) -> Result<String> {
        let [key, token] = [&self.key_secret, &self.token_secret].map(|secret| escaped(secret.expose_secret()));
        let signature = crypto::hmac_sha1(&format!("{key}&{token}").into(), base.as_bytes())?;
        Ok(STANDARD.encode(signature))
    }
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// What is signed; the fields are in the order of their names.
fn base(method: &str, address: &str, fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}={}", escaped(name), escaped(value)))
        .collect();
    format!("{method}&{}&{}", escaped(address), escaped(&fields.join("&")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the service's documentation of signatures.
    #[test]
    fn a_signature_is_that_of_the_published_example() {
        let credentials = Credentials {
            key: "xvz1evFS4wEEPTGEFPHBog".into(),
            key_secret: "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw".into(),
            token: "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb".into(),
            token_secret: "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE".into(),
        };
        let fields = [
            ("include_entities", "true"),
            ("oauth_consumer_key", credentials.key.expose_secret()),
            ("oauth_nonce", "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg"),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", "1318622958"),
            ("oauth_token", credentials.token.expose_secret()),
            ("oauth_version", "1.0"),
            ("status", "Hello Ladies + Gentlemen, a signed OAuth request!"),
        ];
        let base = base("POST", "https://api.twitter.com/1/statuses/update.json", &fields);
        assert_eq!(credentials.signature(&base).unwrap(), "tnnArxj06cWHq44gCs1OSKk/jLY=");
    }
}
