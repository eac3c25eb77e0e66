//! Section "Notifications and messaging": e-mail to people.

mod content;
#[allow(dead_code, reason = "for other rooms")]
mod outbox;
mod sending;

#[allow(unused_imports, reason = "for other rooms")]
pub(crate) use outbox::Outbox;
pub(crate) use outbox::deliver;
#[allow(unused_imports, reason = "for other rooms")]
pub(crate) use sending::{Email, send};

use crate::functions;

functions! {
    /// Sends an e-mail, in HTML and as plain text, by the server of the setting email-server.
    ///
    /// The header and the signature of the settings row emails stand around the message. Port 465 is encrypted from the
    /// first byte, 587 by STARTTLS, any other by STARTTLS when the server offers it; the certificate must be one that the
    /// system trusts, but for a server on the same machine. When this returns true the mail server has taken the e-mail;
    /// what then becomes of it is not known here.
    ///
    /// Limits: one recipient; a subject of 998 characters; 10 MiB for the message; 5 seconds for connecting, 30 for the
    /// whole. A process keeps one connection for 20 seconds for its next e-mail. An e-mail that the server may have taken,
    /// though its answer did not come, is never sent again.
    ///
    /// @param $to the e-mail address
    /// @param $subject the subject
    /// @param $message the message, as HTML or as plain text, which keeps its line breaks
    /// @param $sender_suffix appended to the sender's name as it is
    /// @errors SBError email-error: with the mail server's text and without credentials; or because the address is none,
    ///     the address, the subject or the suffix holds a line break, or email-server is not set
    async fn sb_email_send(
        to: String,
        subject: String,
        message: String,
        sender_suffix: String = "",
    ) -> "true|SBError" => sending::email_send;
}
