//! The source of updates: files of a web server, and the signatures that say whose they are.
//!
//! `NAME.json` is a release: product, version, the archive's file and its SHA-256. `NAME.json.sig` is the signature of
//! its bytes (Ed25519, RFC 8032) in base64. Through the release the signature holds for the archive too, and an archive
//! of one product or version cannot be given out for another.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use serde::Deserialize;

use crate::contract::error::{Error, Result};
use crate::platform::Context;
use crate::platform::crypto;
use crate::platform::http::{Method, Request, Service};
use crate::providers::Outside;

/// The length of a public key.
const KEY: usize = 32;

/// As it is looked for.
pub(super) const SERVICE: Outside = Outside {
    name: "update",
    is_wanted: |settings| settings.text("update-url").is_some(),
    address: |_| Ok(String::new()),
};

/// The source of the settings.
pub struct Source<'a> {
    service: Service<'a>,
    key: Vec<u8>,
}

/// A version of a product that can be installed.
#[derive(Debug, Deserialize)]
pub struct Release {
    product: String,
    /// Its version: `1.4.0`.
    pub version: String,
    file: String,
    sha256: String,
}

impl<'a> Source<'a> {
    /// The source of the settings `update-url` and `update-key`. There is no other.
    pub async fn of(cx: &'a Context<'_>) -> Result<Self> {
        let settings = cx.settings().await?;
        let (Some(_), Some(key)) = (settings.text("update-url"), settings.text("update-key")) else {
            return Err(Error::configuration(
                "there is no source of updates: set update-url to its address and update-key to its public key",
            ));
        };
        let key = STANDARD.decode(key.trim()).ok().filter(|key| key.len() == KEY);
        let key = key.ok_or_else(|| Error::configuration("update-key is no Ed25519 public key in base64"))?;
        Ok(Self {
            service: cx.service("update", "").await?,
            key,
        })
    }

    /// What the source has of a product.
    pub async fn release(&self, product: &str, licence: Option<&SecretString>) -> Result<Release> {
        let file = format!("{product}.json");
        let text = self.get(&file, licence).await?;
        let signature = self.get(&format!("{file}.sig"), licence).await?;
        let signature = STANDARD.decode(signature.trim_ascii()).unwrap_or_default();
        if crypto::verify_ed25519(&self.key, &text, &signature) != Some(true) {
            let message = format!("the signature of {file} is not one by the key of the setting update-key");
            return Err(self.service.refusal(message, None));
        }
        let release = serde_json::from_slice(&text).ok();
        release
            .filter(|release: &Release| release.product == product && is_plain(&release.file))
            .ok_or_else(|| self.service.refusal(format!("{file} is no release of {product}"), None))
    }

    /// The archive of a release.
    pub async fn archive(&self, release: &Release, licence: Option<&SecretString>) -> Result<Vec<u8>> {
        let archive = self.get(&release.file, licence).await?;
        if crypto::sha256(&archive)?.eq_ignore_ascii_case(&release.sha256) {
            Ok(archive)
        } else {
            let message = format!("{} is not the archive that the release names", release.file);
            Err(self.service.refusal(message, None))
        }
    }

    async fn get(&self, file: &str, licence: Option<&SecretString>) -> Result<Vec<u8>> {
        let path = [file];
        let request = Request::new(Method::GET, &path);
        let request = match licence {
            Some(licence) => request.bearer(licence),
            None => request,
        };
        let answer = self.service.send(request).await?;
        match answer.status {
            200 => Ok(answer.body),
            401 | 403 if licence.is_some() => Err(Error::Refused {
                code: "invalid-key",
                message: "the source of updates does not accept this licence key".into(),
            }),
            status => Err(self.service.refusal(
                format!("the source answered with HTTP status {status} for {file}"),
                None,
            )),
        }
    }
}

/// Whether a name is one of a file beside the release.
fn is_plain(file: &str) -> bool {
    !file.starts_with('.')
        && !file.is_empty()
        && file
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
}
