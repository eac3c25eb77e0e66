//! Section "Conversations and messages".

mod access;
mod busy;
mod changing;
mod closing;
mod direct;
mod editing;
mod history;
mod inbox;
mod notes;
mod opening;
mod platforms;
mod rating;
mod reading;
mod routing;
mod sending;
mod storing;
mod teamchat;
mod telling;

pub(crate) use editing::mark;
pub(crate) use inbox::{Filter, Statuses, conversations_before};
pub(crate) use opening::{NewConversation, get_last_conversation_id_or_create, open};
pub(crate) use reading::messages_after;
pub(crate) use sending::{Done, Joined, send, send_once};
pub(crate) use storing::{NewMessage, Once, Sent};

use crate::contract::Map;
use crate::contract::args::{Department, Items, Page, Recipients, Several, Since, StatusCode};
use crate::contract::ids::{ConversationId, MessageId, UserId};
use crate::functions;
use crate::functions::formatting;

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

    /// Returns a page of 100 conversations, each by its last message, newest first.
    ///
    /// user_id, names, image and user_type are those of the conversation's user, message_user_type is the type of the
    /// message's author.
    ///
    /// @param $pagination the page, from 1
    /// @param $status_code a status code, 0 included; not given: the inbox, which is 0, 1 and 2
    /// @param $department only this department
    /// @param $source only this source: em, tk, wa, fb, ig, tw, wc, tx or gb
    /// @errors invalid-status-code
    async fn sb_get_conversations(
        pagination: Page = 1,
        status_code: StatusCode = false,
        department: Department = false,
        source: Option<String> = false,
    ) -> "list<ConversationItem>|'invalid-status-code'|SBError" => inbox::get_conversations;

    /// Returns the conversations that were opened, or written to, after a point; as sb_get_conversations lists them.
    ///
    /// @param $datetime a time YYYY-MM-DD HH:MM:SS in UTC, or the id of a conversation: after it was opened
    async fn sb_get_new_conversations(datetime: Since) -> "list<ConversationItem>|SBError" => inbox::get_new_conversations;

    /// Returns the conversations of a user, each by its last message, newest first.
    ///
    /// user_id, names, image and user_type are those of the message's author.
    ///
    /// @param $user_id the user
    /// @param $exclude_id a conversation to leave out
    /// @param $agents true when the user is an agent: the conversations it wrote in or is assigned to
    async fn sb_get_user_conversations(
        user_id: UserId,
        exclude_id: Option<ConversationId> = -1,
        agents: bool = false,
    ) -> "list<ConversationItem>|SBError" => history::get_user_conversations;

    /// Returns the conversations of a user that were opened, or written to, after a point.
    ///
    /// @param $user_id the user
    /// @param $datetime a time YYYY-MM-DD HH:MM:SS in UTC; or the id of a conversation: those opened after it
    async fn sb_get_new_user_conversations(
        user_id: UserId,
        datetime: Since,
    ) -> "list<ConversationItem>|SBError" => history::get_new_user_conversations;

    /// Returns the newest 100 conversations in which a text occurs: in a message, in the name of an attachment, in the
    /// user's name or e-mail address. As sb_get_conversations lists them.
    ///
    /// @param $search the text, up to 200 characters; case and accents do not count
    async fn sb_search_conversations(search: String) -> "list<ConversationItem>|SBError" => history::search_conversations;

    /// Returns the conversations of a user in which a text occurs: in a message, in the name of an attachment, or in
    /// the title. As sb_get_user_conversations lists them.
    ///
    /// @param $search the text, up to 200 characters; case and accents do not count
    /// @param $id the user; not given: the active user
    async fn sb_search_user_conversations(
        search: String,
        id: Option<UserId> = false,
    ) -> "list<ConversationItem>|SBError" => history::search_user_conversations;

    /// Returns the agents and admins who wrote in conversations.
    ///
    /// @param $conversation_id a conversation, or several as a list or between commas
    /// @return conversation id to agents; a conversation without one is not in it
    /// @errors SBError security-error when the active user is a visitor, lead or user and it is not theirs
    async fn sb_sb_get_agents_in_conversation(
        conversation_id: Several<ConversationId>,
    ) -> "array<int, list<array{id: string, first_name: string, last_name: string, profile_image: string|null, conversation_id: string}>>|SBError"
        => history::agents_in_conversation;

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

    /// Returns the id of a user's newest conversation, which is opened when there is none. Of several calls at the same
    /// time only one opens it.
    ///
    /// @param $user_id the user
    /// @param $conversation_status_code the status of a new conversation: 0 live, 1 waiting for the user, 2 waiting for
    ///     an agent, 3 archive, 4 trash
    /// @errors user-not-found, invalid-status-code; the text of a database error
    async fn sb_get_last_conversation_id_or_create(
        user_id: UserId,
        conversation_status_code: StatusCode = 0,
    ) -> "string|'user-not-found'|'invalid-status-code'|SBError"
        => opening::get_last_conversation_id_or_create, database_errors_as_text;

    /// Sets the status of a conversation. When a conversation ends (3 and 4) and the queue is on, the conversation that
    /// has waited longest is given to an agent who is free.
    ///
    /// @param $conversation_id the conversation
    /// @param $status_code 0 live, 1 waiting for the user, 2 waiting for an agent, 3 archive, 4 trash
    /// @errors invalid-status-code, conversation-not-found; SBError security-error; the text of a database error
    async fn sb_update_conversation_status(
        conversation_id: ConversationId,
        status_code: StatusCode,
    ) -> "true|'invalid-status-code'|'conversation-not-found'|string|SBError"
        => changing::update_conversation_status, database_errors_as_text;

    /// Moves a conversation to another department. Whether there is one of that number is not looked at.
    ///
    /// @param $conversation_id the conversation
    /// @param $department 1 to 127; -1 for none
    /// @param $message what the agents of the new department are told by e-mail; not given: nothing
    /// @errors conversation-not-found; SBError too-long, security-error; the text of a database error
    async fn sb_update_conversation_department(
        conversation_id: ConversationId,
        department: Department,
        message: Option<String> = false,
    ) -> "true|'conversation-not-found'|string|SBError"
        => changing::update_conversation_department, database_errors_as_text;

    /// Adds a message to a conversation.
    ///
    /// Without a status the conversation then waits for the other side: for an agent after a message of its user, for
    /// the user after one of an agent. A user's message brings a conversation back from the archive, nothing brings it
    /// back from the trash. When the connection fails so late that the message may be stored, the library looks before
    /// it repeats.
    ///
    /// Who is away is told, as the settings want it: of a visitor's, lead's or user's message the agents, as by
    /// sb_send_agents_notifications; of an agent's message the conversation's user, by e-mail (notify-user-email), text
    /// message (sms-active-users) and push notification (push-notifications-users-active), but not in a conversation of
    /// another platform, which brings the message itself. All of it goes through the outbox.
    ///
    /// @param $sender_id the author
    /// @param $conversation_id the conversation
    /// @param $message the text, up to 65,535 bytes
    /// @param $attachments list of [name, http(s) link]
    /// @param $conversation_status the code that the conversation gets, or skip to leave it
    /// @param $payload a map kept with the message; its key event may be delete-message or open-chat
    /// @param $queue true when the queue is active in the settings
    /// @param $recipient_id whose language notifications are written in; not given: that of who is told
    /// @return notifications: by what somebody is told: email, sms, push
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

    /// Changes a message: what is given of it.
    ///
    /// @param $message_id the message
    /// @param $message the text, up to 65,535 bytes
    /// @param $attachments list of [name, http(s) link]; empty: as they are
    /// @param $payload a map kept with the message; empty: as it is
    /// @errors message-not-found, invalid-attachment; SBError too-long, security-error; the text of a database error
    async fn sb_update_message(
        message_id: MessageId,
        message: Option<String> = false,
        attachments: Items = [],
        payload: Map = false,
    ) -> "true|'message-not-found'|'invalid-attachment'|string|SBError" => editing::update_message, database_errors_as_text;

    /// Deletes a message: its text and attachments are emptied, and its payload becomes {"event": "delete-message"}, so
    /// that whoever polls sees it.
    ///
    /// @param $message_id the message
    /// @errors message-not-found; SBError security-error; the text of a database error
    async fn sb_delete_message(message_id: MessageId) -> "true|'message-not-found'|string|SBError"
        => editing::delete_message, database_errors_as_text;

    /// Adds the message that ends a conversation, in the words of the setting close-message, as the bot. The status of
    /// the conversation stays.
    ///
    /// @param $conversation_id the conversation
    /// @param $bot_id the author; not given: the bot
    /// @errors conversation-not-found, user-not-found; SBError security-error; the text of a database error
    async fn sb_close_message(
        conversation_id: ConversationId,
        bot_id: Option<UserId> = false,
    ) -> "array{status: 'success', message-id: int}|'conversation-not-found'|'user-not-found'|string|SBError"
        => closing::close_message, database_errors_as_text;

    /// Sends a message to many users: one to each.
    ///
    /// Without a subject it is a chat message of the active agent, else of the bot, in the user's newest conversation that
    /// is not in the trash, or in a new one, which then waits for the user (status code 1). Where the conversation comes
    /// from a platform it leaves by that, as by sb_messaging_platforms_send_message: as a text message where it comes from
    /// one. No notification follows. With a subject it is an e-mail to each user who has an address, by the outbox; while
    /// email-piping is active an answer to it is added to the user's newest conversation.
    ///
    /// In message and subject {user_name}, {user_email}, {agent_name} and {agent_email} are filled in; {recipient_name}
    /// and {sender_name} are the same names.
    ///
    /// Users are written to in pages of 200, so that the memory does not grow with their number. Of more than 200, what
    /// is in the outbox leaves by sb serve or sb_cron_jobs.
    ///
    /// @param $user_ids the users as a list or between commas, or all for every visitor, lead and user; an unknown id is
    ///     passed over
    /// @param $message the text, up to 65,535 bytes; of an e-mail it may be HTML
    /// @param $subject the subject of an e-mail, up to 998 characters
    /// @errors empty-message; SBError security-error, too-long, configuration, email-error, no-recipient: one user who
    ///     cannot be reached keeps no other from the message, and the first failure is given at the end, as by
    ///     sb_messaging_platforms_send_message; the text of a database error
    async fn sb_direct_message(
        user_ids: Recipients,
        message: String,
        subject: Option<String> = false,
    ) -> "true|'empty-message'|array<string, mixed>|string|SBError"
        => direct::direct_message, protected, database_errors_as_text, provider_errors_as_they_are;

    /// Sends a message to the user of a conversation by the platform that it comes from.
    ///
    /// | source | platform | where the user is | files and shortcodes |
    /// |---|---|---|---|
    /// | wa | WhatsApp, by its own API or, with whatsapp-provider sms, by the service of text messages | detail phone | images, videos, sounds, documents; buttons as buttons or a list, cards as image and text |
    /// | fb | Messenger | facebook-id | files of all kinds; quick replies, templates |
    /// | ig | Instagram | instagram-id | images, videos, sounds; quick replies, templates |
    /// | tw | direct messages of X | microblog-id, twitter-id | images |
    /// | wc | WeChat | wechat-id | images; cards with a link as articles |
    /// | tx | text message | phone | ten files |
    /// | em | e-mail, by the outbox, in the thread of the conversation | its e-mail address | links |
    /// | gb | Business Messages, which has ended | business-messages-id | |
    /// | tk | ticket: nothing leaves | | |
    ///
    /// What a platform has no form for is said in words: a button as a line, a card as its image and its text, a file as
    /// its link. A long text is several messages. A message of unknown fate is not sent again.
    ///
    /// @param $message the text, up to 65,535 bytes
    /// @param $conversation_id the conversation
    /// @param $message_id the message of the conversation that it is: its attachments are sent too, and it is sent once;
    ///     its payload then says so, under sent-to
    /// @return true; false when the conversation comes from no platform; or the platform's own error response
    /// @errors conversation-not-found, message-not-found, empty-message; SBError security-error, configuration,
    ///     no-recipient, too-long; the text of a failed connection
    async fn sb_messaging_platforms_send_message(
        message: String,
        conversation_id: ConversationId,
        message_id: Option<MessageId> = false,
    ) -> "bool|'conversation-not-found'|'message-not-found'|'empty-message'|array<string, mixed>|string|SBError"
        => platforms::send_message, protected, provider_errors_as_they_are;

    /// Sends a message to the team-messaging app: to the channel of a user, which is made when there is none and which the
    /// agents of the settings row teamchat-agents are invited to.
    ///
    /// A channel that was archived is replaced by a new one. Links of attachments follow the text. A message of more than
    /// 40,000 characters is posted in several parts.
    ///
    /// @param $user_id the user whose channel it is
    /// @param $full_name the name that the message is shown with
    /// @param $profile_image the http(s) link of the image that it is shown with
    /// @param $message the text, up to 65,535 bytes
    /// @param $attachments list of [name, http(s) link]
    /// @param $conversation_id the conversation it belongs to: of its department are the agents who are invited
    /// @param $channel the id of another channel, which gets the message in place of the user's
    /// @return success and the id of the channel
    /// @errors teamchat-not-active, user-not-found, conversation-not-found, empty-message, invalid-attachment; SBError
    ///     teamchat-error with the service's code, configuration, too-long, security-error; the text of a database error
    ///     or of a failed connection: the message is not sent again when its fate is not known
    async fn sb_send_teamchat_message(
        user_id: UserId,
        full_name: String,
        profile_image: Option<String> = false,
        message: String = "",
        attachments: Items = [],
        conversation_id: Option<ConversationId> = false,
        channel: Option<String> = false,
    ) -> "array{'success', string}|'teamchat-not-active'|string|SBError"
        => teamchat::send_teamchat_message, database_errors_as_text;

    /// Says whether the active user has no right to a conversation: agents and admins have one to every conversation,
    /// visitors, leads and users to their own. Without an active user it is true.
    ///
    /// @param $conversation_id the conversation
    async fn sb_conversation_security_error(conversation_id: ConversationId) -> "bool|SBError"
        => access::conversation_security_error;

    /// Rates a conversation. A second rating replaces the first.
    ///
    /// It is kept in the settings row ratings: conversation id → {rating, agent_id, user_id, message, creation_time}.
    /// Rated is the conversation's agent, else the agent who answered last.
    ///
    /// @param $settings conversation_id and rating, 1 for positive and 0 for negative; also as a map within, under settings
    /// @param $payload the payload that the message gets, with $message_id
    /// @param $message_id the message that asked for the rating
    /// @param $message what the user says to it, up to 65,535 bytes; with $message_id also the new text of that message
    /// @param $user_id who rates; not given: the user of the conversation
    /// @errors conversation-not-found, invalid-rating, message-not-found, also for a message of another conversation;
    ///     SBError too-long, security-error
    async fn sb_set_rating(
        settings: Map,
        payload: Map = false,
        message_id: Option<MessageId> = false,
        message: Option<String> = false,
        user_id: Option<UserId> = false,
    ) -> "true|'conversation-not-found'|'invalid-rating'|'message-not-found'|SBError" => rating::set_rating;

    /// Counts the ratings of an agent: positive ones and negative ones.
    ///
    /// Where the settings row ratings knows nothing of a conversation, one in the payload of its messages counts for its
    /// agent.
    ///
    /// @param $user_id the agent
    async fn sb_get_rating(user_id: UserId) -> "array{int, int}|SBError" => rating::get_rating;

    /// Says that an agent answers in a conversation: it is busy for 2 hours, or until the agent opens another one.
    ///
    /// @param $conversation_id the conversation
    /// @param $agent_id the agent; not given: the active user
    /// @errors conversation-not-found, user-not-found when no agent is given and nobody is active; SBError security-error
    async fn sb_set_agent_active_conversation(conversation_id: ConversationId, agent_id: Option<UserId> = false)
        -> "true|'conversation-not-found'|'user-not-found'|SBError" => busy::set_agent_active_conversation;

    /// Says whether an agent answers in a conversation: since 2 hours at most.
    ///
    /// @param $agent_id the conversation, in spite of its name
    /// @param $skip an agent who does not count; not given: all do
    /// @errors conversation-not-found; SBError security-error
    async fn sb_is_active_conversation_busy(agent_id: ConversationId, skip: Option<UserId> = -1)
        -> "bool|'conversation-not-found'|SBError" => busy::is_active_conversation_busy;

    /// Returns the internal notes of a conversation, oldest first.
    ///
    /// @param $conversation_id the conversation
    /// @errors conversation-not-found; SBError security-error
    async fn sb_get_notes(conversation_id: ConversationId)
        -> "list<array{id: int, user_id: string, name: string, message: string}>|'conversation-not-found'|SBError"
        => notes::get_notes;

    /// Adds an internal note to a conversation.
    ///
    /// @param $conversation_id the conversation
    /// @param $user_id the agent or admin who writes it
    /// @param $name the name that is shown with it, up to 201 characters
    /// @param $message the text, up to 65,535 bytes
    /// @return the id of the note, which no other of the conversation has or had
    /// @errors conversation-not-found, user-not-found, empty-message; SBError too-long, security-error
    async fn sb_add_note(conversation_id: ConversationId, user_id: UserId, name: String, message: String)
        -> "int|'conversation-not-found'|'user-not-found'|'empty-message'|SBError" => notes::add_note;

    /// Deletes an internal note.
    ///
    /// @param $conversation_id the conversation
    /// @param $note_id the note; one that there is not is deleted already
    /// @errors conversation-not-found; SBError security-error
    async fn sb_delete_note(conversation_id: ConversationId, note_id: i64) -> "true|'conversation-not-found'|SBError"
        => notes::delete_note;

    /// Returns a message as HTML.
    ///
    /// Every character is escaped first; only these tags and attributes come out:
    ///
    /// | in a message | in HTML |
    /// |---|---|
    /// | `*bold*` | `<b>bold</b>` |
    /// | `__italic__` | `<em>italic</em>` |
    /// | `~strike~` | `<del>strike</del>` |
    /// | `` `code` `` | `<code>code</code>` |
    /// | ```` ```block``` ````, over several lines | `<pre><code>block</code></pre>` |
    /// | `https://shop.example/a`, also http | `<a href="https://shop.example/a" target="_blank" rel="noopener nofollow">` |
    /// | a line break | `<br>` |
    ///
    /// Marks need a partner in their line, no blank inside and no letter or digit outside, and may be nested; all others
    /// stay as they are: `2 * 3`, `2*3`, `file_name`, `**`. Nothing in code has a meaning. An address ends before the
    /// punctuation of the sentence.
    ///
    /// @param $message the message
    pure fn sb_text_formatting_to_html(message: String) -> "string" => formatting::text_formatting_to_html;

    /// Returns a message without the marks of its formatting: see sb_text_formatting_to_html. What is no mark stays.
    ///
    /// @param $message the message
    pure fn sb_clear_text_formatting(message: String) -> "string" => formatting::clear_text_formatting;
}
