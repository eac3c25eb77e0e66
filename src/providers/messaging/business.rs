//! Google's Business Messages, which has ended: off unless the settings say otherwise.

use secrecy::{ExposeSecret, SecretString};

use super::{Message, active, secret, taken, with_token};
use crate::contract::Value;
use crate::contract::error::{Error, Result};
use crate::platform::http::{Answer, Body, Method, Request};
use crate::platform::{Context, crypto};
use crate::providers::Outside;
use crate::providers::oauth::{Account, Grant};
use crate::providers::parts::parts;

const ADDRESS: &str = "https://businessmessages.googleapis.com";
const TOKENS: &str = "https://oauth2.googleapis.com/token";
const SCOPE: &str = "https://www.googleapis.com/auth/businessmessages";

/// As it is looked for.
pub const SERVICE: Outside = Outside {
    name: "business-messages",
    is_wanted: |settings| settings.is_on("business-messages-active"),
    address: |_| Ok(ADDRESS.to_owned()),
};

/// How long a text may be, in letters.
const TEXT_LIMIT: usize = 3072;

/// Sends texts.
pub async fn business(cx: &Context<'_>, message: &Message) -> Result<()> {
    let settings = active(cx, "business-messages").await?;
    let credentials = secret(&settings, "business-messages-credentials")?;
    let account = Account::read(credentials.expose_secret().as_bytes());
    let account = account.ok_or_else(|| Error::configuration("business-messages-credentials is no key file"))?;
    let standard = account.token_uri().unwrap_or(TOKENS).to_owned();
    let tokens = cx.service("business-messages-token", &standard).await?;
    let grant = Grant::Account(account);
    let name = format!("business-messages-token/{}", grant.digest()?);
    let renew = async |_: Option<&SecretString>| grant.token(&tokens, TOKENS, SCOPE, cx.now()).await;
    let service = cx.service("business-messages", ADDRESS).await?;
    let path = ["v1", "conversations", &message.to, "messages"];
    for (index, part) in parts(&message.text(), TEXT_LIMIT, |_| 1).into_iter().enumerate() {
        let body = Value::map([
            ("messageId", crypto::token()?.into()),
            ("representative", Value::map([("representativeType", "BOT".into())])),
            ("text", part.into()),
        ]);
        let ask = async |token: &SecretString| {
            let request = Request::new(Method::POST, &path).bearer(token).body(Body::Json(&body));
            service.send(request).await
        };
        let has_ended = |answer: &Answer| answer.status == 401;
        let answered = with_token(cx, &name, &renew, ask, has_ended).await;
        answered
            .and_then(|(answer, token)| taken(&service, &answer, &[&token]))
            .map_err(|error| error.behind(index))?;
    }
    Ok(())
}
