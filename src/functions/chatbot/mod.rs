//! Section "Chatbot integration": the conversational agent, and the language model.

mod agent;
mod entities;
mod intents;
mod llm;
mod message;
mod replies;

use crate::contract::args::{EntityValues, Intents, Items, Phrases};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::{Map, Value};
use crate::functions;

functions! {
    /// Asks the chatbot and adds what it answers to the conversation, as messages of the bot.
    ///
    /// Each conversation is a session of its own. A text becomes a message; a card, a list, a table and what else the
    /// chatbot can show becomes a text with the same words and links, images become attachments, and the payload of the
    /// message keeps the original under rich. A custom payload becomes the payload of the message; its keys message (or
    /// text) and attachments are shown. Every payload has a key chatbot with response_id, intent, action and confidence.
    /// With the setting llm-fallback (off by default) the language model of the setting llm-model answers in the place
    /// of a chatbot that has no answer: that matched no intent or its fall-back intent, or is less sure than its own
    /// threshold; llm-prompt is the language model's instruction. Only the message is sent to it.
    ///
    /// @param $conversation_id the conversation that the answer goes to
    /// @param $message what the user wrote; the chatbot takes the first 256 characters
    /// @param $token an access token, as this function or sb_chatbot_get_token gives it; saves looking for one
    /// @param $language language code; not given: the setting chatbot-agent-language, else the agent's main language
    /// @param $attachments list of [name, http(s) link], for the agent's web hook
    /// @param $event the name of an event to tell the agent, in place of a message
    /// @param $parameters of the event; without one for the agent's web hook
    /// @param $project_id another agent than the one of the settings
    /// @return response is what the service answered; a service that refuses gives its own error response
    /// @errors chatbot-not-active, conversation-not-found, empty-message, invalid-attachment; SBError security-error,
    ///     configuration; the text of a database error or of a failed connection
    async fn sb_chatbot_message(
        conversation_id: ConversationId,
        message: String,
        token: Option<String> = false,
        language: Option<String> = false,
        attachments: Items = [],
        event: Option<String> = false,
        parameters: Map = [],
        project_id: Option<String> = false,
    ) -> "array{token: string, messages: list<array{message: string, attachments: list<array{string, string}>}>, response: array<string, mixed>}|array{error: array<string, mixed>}|string|SBError"
        => message::chatbot_message, database_errors_as_text, provider_errors_as_they_are;

    /// Sends a request to the chatbot's service.
    ///
    /// @param $url_part what stands behind the agent (intents), behind the project (agent/intents, operations/1) or
    ///     behind the version (projects/…); it may have parameters
    /// @param $query a map or its JSON text: the body of a POST or PATCH, the parameters of a GET
    /// @param $language language code, as the parameter languageCode
    /// @param $type POST, GET, PATCH or DELETE
    /// @param $token an access token; not given: one of the library's own
    /// @return the service's response, be it an error response
    /// @errors chatbot-not-active; SBError invalid-method, configuration; the text of a failed connection
    async fn sb_chatbot_curl(
        url_part: String,
        query: Map = "",
        language: Option<String> = false,
        r#type: String = "POST",
        token: Option<String> = false,
    ) -> "array<array-key, mixed>|string|SBError" => agent::curl, provider_errors_as_they_are;

    /// Gets a new access token, which is valid for an hour.
    ///
    /// By the key file of a service account (setting chatbot-credentials), else by chatbot-client-id,
    /// chatbot-client-secret and chatbot-refresh-token.
    ///
    /// @errors chatbot-not-active; SBError configuration; the service's error response; the text of a failed connection
    async fn sb_chatbot_get_token() -> "string|array<string, mixed>|SBError"
        => agent::get_token, provider_errors_as_they_are;

    /// Returns what the agent says of itself.
    ///
    /// @errors chatbot-not-active; SBError configuration; the service's error response; the text of a failed connection
    async fn sb_chatbot_get_agent()
        -> "array{parent: string, displayName: string, defaultLanguageCode: string, timeZone: string, enableLogging: bool, matchMode: string, classificationThreshold: float, apiVersion: string, tier: string}|array{error: array<string, mixed>}|string|SBError"
        => agent::get_agent, provider_errors_as_they_are;

    /// Sets a context in the session of a user's newest conversation, archived and deleted ones last.
    ///
    /// @param $context_name the context
    /// @param $parameters map or its JSON text
    /// @param $life_span for how many questions it counts, 20 minutes at most; 0 ends it
    /// @param $token a refresh token of the application of the settings, or an access token; not given: one of the
    ///     library's own
    /// @param $user_id the user; not given: the active user
    /// @param $language a context is the same in all languages
    /// @return the context as the service has it
    /// @errors chatbot-not-active, user-not-found, conversation-not-found; SBError security-error, configuration; the
    ///     service's error response; the text of a failed connection
    async fn sb_chatbot_set_active_context(
        context_name: String,
        parameters: Map = [],
        life_span: i64 = 5,
        token: Option<String> = false,
        user_id: Option<UserId> = false,
        language: Option<String> = false,
    ) -> "array<string, mixed>|string|SBError" => agent::set_active_context, provider_errors_as_they_are;

    /// Adds an intent to the agent: what people say, and what the bot answers. It is called after its first phrase.
    ///
    /// @param $expressions what people say
    /// @param $response what the bot answers
    /// @param $agent_language language code; not given: the setting chatbot-agent-language, else the agent's main language
    /// @errors chatbot-not-active; SBError invalid-intent, configuration; the service's error response; the text of a
    ///     failed connection
    async fn sb_chatbot_create_intent(
        expressions: Phrases,
        response: String,
        agent_language: Option<String> = false,
    ) -> "true|array{error: array<string, mixed>}|string|SBError" => intents::create_intent, provider_errors_as_they_are;

    /// Adds intents to the agent, and waits for about a minute until it is done.
    ///
    /// An intent with a name of the service's (projects/…/intents/…) is replaced. Intents of other languages than
    /// $language are sent in a batch of their own for each language; the result is the last operation with the intents
    /// of all.
    ///
    /// @param $intents list of SBChatbotIntent, of maps with the keys training_phrases, responses, language and name,
    ///     or of maps in the service's own form
    /// @param $language language code; not given: the setting chatbot-agent-language, else the agent's main language
    /// @return the operation; done is false when it goes on, and error is there when it failed
    /// @errors chatbot-not-active; SBError invalid-intent, configuration; the service's error response; the text of a
    ///     failed connection
    async fn sb_chatbot_batch_intents(
        intents: Intents,
        language: Option<String> = false,
    ) -> "array{name: string, done: bool, response?: array<string, mixed>, error?: array<string, mixed>}|array<string, mixed>|string|SBError"
        => intents::batch_intents, provider_errors_as_they_are;

    /// Removes intents from the agent, and waits for about a minute until it is done.
    ///
    /// @param $intents list of SBChatbotIntent, of such maps, or of texts: by the service's name, else by id or by how
    ///     they are called; an intent without a name is called after its first phrase
    /// @return the operation; done is false when it goes on, and error is there when it failed
    /// @errors chatbot-not-active; SBError invalid-intent, intent-not-found, configuration; the service's error
    ///     response; the text of a failed connection
    async fn sb_chatbot_batch_intents_delete(intents: Intents)
        -> "array{name: string, done: bool, response?: array<string, mixed>, error?: array<string, mixed>}|array<string, mixed>|string|SBError"
        => intents::batch_intents_delete, provider_errors_as_they_are;

    /// Adds an entity to the agent.
    ///
    /// A value counts as a synonym of itself.
    ///
    /// @param $entity_name how it is called, which no other may be
    /// @param $values an SBChatbotEntity, or a list of {value, synonyms}
    /// @param $language language code; not given: the setting chatbot-agent-language, else the agent's main language
    /// @errors chatbot-not-active; SBError invalid-entity, configuration; the service's error response; the text of a
    ///     failed connection
    async fn sb_chatbot_create_entity(
        entity_name: Option<String>,
        values: EntityValues,
        language: Option<String> = false,
    ) -> "true|array{error: array<string, mixed>}|string|SBError" => entities::create_entity, provider_errors_as_they_are;

    /// Replaces the values of an entity.
    ///
    /// @param $entity_id its id, or the service's name for it
    /// @param $values an SBChatbotEntity, or a list of {value, synonyms}
    /// @param $language language code; not given: the setting chatbot-agent-language, else the agent's main language
    /// @errors chatbot-not-active; SBError invalid-entity, configuration; the service's error response; the text of a
    ///     failed connection
    async fn sb_chatbot_update_entity(
        entity_id: String,
        values: EntityValues,
        language: Option<String> = false,
    ) -> "true|array{error: array<string, mixed>}|string|SBError" => entities::update_entity, provider_errors_as_they_are;

    /// Returns the entities of the agent.
    ///
    /// @param $entity_id the id of one, or the service's name for it; all or empty: every entity
    /// @param $language language code; not given: the setting chatbot-agent-language, else the agent's main language
    /// @errors chatbot-not-active; SBError configuration; the service's error response; the text of a failed connection
    async fn sb_chatbot_get_entity(
        entity_id: String = "all",
        language: Option<String> = false,
    ) -> "list<array{name: string, displayName: string, kind: string, autoExpansionMode: string, entities: list<array{value: string, synonyms: list<string>}>, enableFuzzyExtraction: bool}>|array{error: array<string, mixed>}|string|SBError"
        => entities::get_entity, provider_errors_as_they_are;

    /// Sends a request to the language model.
    ///
    /// @param $url_part the path behind the version (chat/completions); it may have parameters
    /// @param $post_fields a map or its JSON text: the body of a POST, the parameters of a GET or DELETE, the fields of
    ///     an UPLOAD. There a CURLFile, the path of a file in the folder uploads (relative to it or absolute, also
    ///     behind an @) and an http(s) link are sent as files of up to 100 MiB, a link's of up to 20 MiB
    /// @param $type GET, POST, UPLOAD or DELETE
    /// @return the service's response, be it an error response; what is no JSON, as sound is, as it came
    /// @errors SBError llm-not-active, configuration, invalid-method, file-not-found, invalid-file-name, too-long; the
    ///     text of a failed connection
    async fn sb_llm_curl(
        url_part: String,
        post_fields: Map = [],
        r#type: String = "POST",
    ) -> "array<array-key, mixed>|string|SBError" => llm::curl, provider_errors_as_they_are;
}

/// A map with what the service leaves out because it is the default.
fn completed(value: Value, defaults: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let Value::Map(mut map) = value else {
        return value;
    };
    for (name, default) in defaults {
        map.entry(name.into()).or_insert(default);
    }
    Value::Map(map)
}
