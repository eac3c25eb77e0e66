//! Section "Conversations and messages".

mod attachments;
mod opening;
mod reading;
mod sending;

use crate::contract::args::{Department, Items, Since, StatusCode};
use crate::contract::ids::{ConversationId, MessageId, UserId};
use crate::contract::{Error, Map, Result};
use crate::functions;

functions! {
    /// Returns a conversation: its details and all its messages, oldest first.
    ///
    /// When the active user is one of the two sides, the other side's messages become read (status code 2).
    ///
    /// @param $user_id the conversation's user, or an agent or admin; not given: anyone
    /// @param $conversation_id the conversation
    /// @return false when there is no such conversation of that user
    /// @errors SBError security-error when the active user is a visitor, lead or user and it is not theirs
    async fn sb_get_conversation(user_id: Option<UserId>, conversation_id: ConversationId)
        -> "array{messages: list<Message>, details: ConversationDetails}|false|SBError" => reading::get_conversation;

    /// Returns the messages of a conversation that are newer than a point, oldest first.
    ///
    /// With $last_id nothing is missed and nothing comes twice, whatever the clocks say; $datetime is then not looked at.
    ///
    /// @param $user_id the conversation's user, or an agent or admin; not given: anyone
    /// @param $conversation_id the conversation
    /// @param $datetime a time YYYY-MM-DD HH:MM:SS in UTC, or the id of a message
    /// @param $last_id the id of the newest message that is known already
    /// @errors SBError security-error when the active user is a visitor, lead or user and it is not theirs
    async fn sb_get_new_messages(
        user_id: Option<UserId>,
        conversation_id: ConversationId,
        datetime: Since,
        last_id: Option<MessageId> = false,
    ) -> "list<Message>|SBError" => reading::get_new_messages;

    /// Opens a conversation.
    ///
    /// @param $user_id the user it belongs to
    /// @param $status_code 0 live, 1 waiting for the user, 2 waiting for an agent, 3 archive, 4 trash
    /// @param $title up to 191 characters
    /// @param $department 1 to 127; -1 for none
    /// @param $agent_id the agent it is assigned to; -1 for none
    /// @param $source a code of up to 2 letters: em, tk, wa, fb, ig, tw, wc, tx, gb; false for the chat
    /// @param $extra a text of the source, up to 191 characters
    /// @errors user-not-found, invalid-status-code; SBError too-long; the text of a database error
    async fn sb_new_conversation(
        user_id: UserId,
        status_code: StatusCode = 0,
        title: String = "",
        department: Department = -1,
        agent_id: Option<UserId> = -1,
        source: Option<String> = false,
        extra: Option<String> = false,
    ) -> "array{messages: list<Message>, details: ConversationDetails}|'user-not-found'|'invalid-status-code'|string|SBError"
        => opening::new_conversation, database_errors_as_text;

    /// Adds a message to a conversation.
    ///
    /// Without a status the conversation then waits for the other side: for an agent after a message of its user, for
    /// the user after one of an agent. A user's message brings a conversation back from the archive, nothing brings it
    /// back from the trash. When the connection fails so late that the message may be stored, the library looks before
    /// it repeats.
    ///
    /// @param $sender_id the author
    /// @param $conversation_id the conversation
    /// @param $message the text, up to 65,535 bytes
    /// @param $attachments list of [name, http(s) link]
    /// @param $conversation_status the code that the conversation gets, or skip to leave it
    /// @param $payload a map kept with the message; its key event may be delete-message or open-chat
    /// @param $queue true when the queue is active in the settings
    /// @param $recipient_id whose language notifications are written in
    /// @errors empty-message, invalid-attachment, invalid-status-code, conversation-not-found, user-not-found; SBError
    ///     too-long, security-error; the text of a database error
    async fn sb_send_message(
        sender_id: UserId,
        conversation_id: ConversationId,
        message: String = "",
        attachments: Items = [],
        conversation_status: StatusCode = false,
        payload: Map = false,
        queue: bool = false,
        recipient_id: Option<UserId> = false,
    ) -> "array{status: 'success', message-id: int, queue: bool, notifications: list<string>}|string|SBError"
        => sending::send_message, database_errors_as_text;
}

/// Refuses a text that its column could not hold whole.
fn check_length(name: &str, text: &str, limit: usize) -> Result<()> {
    if text.chars().nth(limit).is_some() {
        Err(Error::too_long(name, &format!("{limit} characters")))
    } else {
        Ok(())
    }
}
