//! Section "Notifications and messaging": telling people who are away of messages.

mod agents;
mod delivering;
mod recording;

pub(super) use delivering::deliver;
pub(super) use recording::is_one;
pub(crate) use recording::{Notification, Notifier, Recipients, Told};

use crate::contract::Map;
use crate::contract::args::Items;
use crate::contract::ids::ConversationId;
use crate::functions;

functions! {
    /// Tells the agents who are away of a message: by e-mail where notify-agent-email is on, by text message where
    /// sms-active-agents is, by push notification where push-notifications-active is.
    ///
    /// The agent whom the conversation is assigned to is told alone; else those of its department and those of none; of a
    /// conversation without a department, or of none, all. Admins are agents here, unless the setting stop-notify-admins
    /// is on. The author is never told. Who was active in the last 30 seconds or is connected to the push service is not
    /// away. The words are those of sb_email and sb_send_sms. Everything goes through the outbox, and is sent after this
    /// has returned.
    ///
    /// @param $message the message, with the marks of sb_text_formatting_to_html
    /// @param $bottom_message what stands below the message in the e-mail, as HTML or plain text
    /// @param $conversation_id the conversation; not given: all agents are told
    /// @param $attachments list of [name, http(s) link]
    /// @param $user who wrote the message: id, first_name, last_name, profile_image; not given: the active user
    /// @param $extra force: true to tell those too who are there; email: what the e-mail shows in place of the message, as
    ///     HTML or plain text
    /// @errors conversation-not-found, empty-message, invalid-attachment; SBError too-long, security-error
    async fn sb_send_agents_notifications(
        message: String,
        bottom_message: Option<String> = false,
        conversation_id: Option<ConversationId> = false,
        attachments: Items = false,
        user: Option<Map> = false,
        extra: Map = false,
    ) -> "true|'conversation-not-found'|'empty-message'|'invalid-attachment'|SBError" => agents::send_agents_notifications;
}
