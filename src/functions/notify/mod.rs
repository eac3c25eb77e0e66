//! Section "Notifications and messaging": e-mail to people and from them.

mod answering;
mod content;
mod email;
mod mailboxes;
mod outbox;
mod people;
mod piping;
mod sending;
mod thread;
mod writing;

pub(crate) use answering::Answering;
pub(crate) use content::as_html;
pub(crate) use outbox::{Outbox, deliver, is_open};
pub(crate) use people::{Author, Person, people};
pub(crate) use piping::fetch_emails_by_cron;
pub use piping::reach_mailboxes;
pub(crate) use sending::{Email, send};
pub(crate) use thread::{Side, Thread};
pub(crate) use writing::{Notice, Writer, on_one_line};

use crate::contract::args::Items;
use crate::contract::ids::UserId;
use crate::functions;

functions! {
    /// Sends a message to a user or an agent by e-mail, in their language.
    ///
    /// The subject and the content are the templates email-agent, for agents and admins, or email-user of the settings
    /// row emails. In them {recipient_name}, {sender_name}, {sender_profile_image}, {message}, {attachments},
    /// {conversation_link}, {conversation_url_parameter} and {conversation_id} are filled in; attachments are links, which
    /// follow the message where the template has no place for them. The link takes agents to the page admin.php, customers
    /// to the page that they were on last, with &token=TOKEN, which logs in.
    ///
    /// It belongs to the newest conversation, but none in the trash, of the one of the two who is the customer: mail
    /// programs show it beside its other e-mails, and while email-piping is active the name in Reply-To marks the
    /// conversation, so that an answer is added to it. Limits as of sb_email_send.
    ///
    /// @param $recipient_id the user or agent
    /// @param $message the message, with the marks of sb_text_formatting_to_html
    /// @param $attachments list of [name, http(s) link]
    /// @param $sender_id who writes; not given: the active user
    /// @errors user-not-found, empty-message, invalid-attachment; SBError email-error as of sb_email_send, or because the
    ///     recipient has no e-mail address
    async fn sb_email(
        recipient_id: UserId,
        message: String,
        attachments: Items = [],
        sender_id: Option<UserId> = -1,
    ) -> "true|'user-not-found'|'empty-message'|'invalid-attachment'|SBError" => email::email;

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

    /// Fetches new e-mails from the mailboxes of the setting email-piping, and adds them to conversations as messages.
    ///
    /// It runs at most once a minute, on one server of an installation; sb_cron_jobs calls it for the mailboxes whose
    /// email-piping-disable-cron is off. A run ends after 30 seconds, and the next one goes on. By IMAP e-mails are marked as
    /// read when they are taken in; nothing is removed from a mailbox. What was unread, by POP3 written, in the two days
    /// before a mailbox is read for the first time is taken in too.
    ///
    /// An e-mail belongs to the conversation whose mark it carries, in Reply-To or among its references, or whose e-mails it
    /// answers, when its sender is the one who got that mark: the conversation's user, or one of the staff. Any other opens a
    /// conversation of source em, in the department of the mailbox, with the subject as its title: of a known customer, of
    /// who answers a conversation from another address, and with email-piping-all of everyone; a new sender becomes a lead.
    /// From answers the quoted e-mail and the signature are taken off; lines that somebody answered between stay.
    ///
    /// Left in the mailbox, unread: answers that programs gave, newsletters and mailing lists, what we sent ourselves, and
    /// e-mails that came before, by their id. A report that an e-mail of ours was not delivered becomes the mark
    /// email-failure {recipient, status, text, time} in the payload of the message that it told of.
    ///
    /// Limits: 20 MiB for an e-mail, of a longer one its beginning is taken in; 20 attachments, of the kinds that uploads
    /// may have; a text longer than a message is attached as a file.
    ///
    /// @param $force whether to run though less than a minute has passed
    /// @errors SBError email-error with the text of the mail server, when a mailbox cannot be read; the others are
    async fn sb_email_piping(force: bool = false) -> "true|SBError" => piping::email_piping;
}
