//! Section "Users": accounts, login, the directory of people.

mod accounts;
mod active;
mod autodata;
mod avatar;
mod details;
mod directory;
mod import;
mod initials;
mod lists;
mod login;
mod lookup;
mod presence;
mod removal;
mod roles;
mod teamchat;

pub(crate) use lists::ONLINE_FOR;
pub(crate) use lookup::get_bot_id;
pub(crate) use removal::delete_old_visitors;
pub(crate) use teamchat::saved as teamchat_agents;

use crate::contract::args::{Bytes, Details, Extra, Page, People, Several, Since, Sorting, Texts};
use crate::contract::ids::{ConversationId, UserId};
use crate::contract::{Map, Value};
use crate::functions;

pub(crate) use accounts::Newcomer;
pub(crate) use active::get_active_user;
pub(crate) use import::{Imported, Taken, import, sign_in};
pub(crate) use login::record_by_id;

functions! {
    /// Logs a user in, by e-mail and password or by id and token.
    ///
    /// On success it sets $GLOBALS['SB_LOGIN'] and, while headers can still be sent, the cookie sb-login. A wrong
    /// password takes a second, and as long for an unknown address. After 10 for one account, or 100 from one address,
    /// within 15 minutes further tries fail whatever the password is. A password hash weaker than today's is replaced.
    ///
    /// @param $email the e-mail address, with $password
    /// @param $password the password
    /// @param $user_id the id, with $token
    /// @param $token the secret token of the user
    /// @return the login record and the encrypted login data for the browser; false when unsuccessful
    async fn sb_login(
        email: String = "",
        password: Bytes = "",
        user_id: UserId = "",
        token: Bytes = "",
    ) -> "array{LoginRecord, string}|false" => login::login;

    /// Logs the active user out: nobody is active then, and the browser is told to forget its login data.
    async fn sb_logout() -> "true" => active::logout;

    /// Returns the active user: the one of $GLOBALS['SB_LOGIN'], else of the cookie sb-login.
    ///
    /// @param $db true to read the record anew from the database, and to return false when the user is gone
    /// @param $login_app encrypted [id, email] of a user whom the embedding system has logged in; logs the user of that
    ///     e-mail address in
    /// @return as sb_login; false when there is none
    async fn sb_get_active_user(
        db: bool = false,
        login_app: Option<String> = false,
    ) -> "array{LoginRecord, string}|false|SBError" => active::get_active_user;

    /// Returns the record of a user.
    ///
    /// @param $user_id the user
    /// @param $extra true to add the extra details
    async fn sb_get_user(user_id: UserId, extra: bool = false) -> "FullUser|false|SBError" => directory::get_user;

    /// Returns the extra details of a user, or the value of one of them.
    ///
    /// @param $user_id the user
    /// @param $slug the slug of one detail; not given: all details
    /// @param $default what to return when the user does not have that detail
    async fn sb_get_user_extra(
        user_id: UserId,
        slug: Option<String> = false,
        default: Value = false,
    ) -> "list<Detail>|string|mixed|SBError" => details::get_user_extra;

    /// Returns the full name of a user.
    ///
    /// @param $user a user record; not given: the active user
    async fn sb_get_user_name(user: Map = false) -> "string|SBError" => roles::get_user_name;

    /// Returns a page of 100 users. The bot is in no list of users.
    ///
    /// @param $sorting column (first_name, last_name, email, profile_image, user_type, creation_time, last_activity or
    ///     department) and ASC or DESC; anything else sorts by the newest
    /// @param $user_types visitor, lead, user, agent, admin; empty for all of them
    /// @param $search a text of up to 200 characters in the full name, the e-mail address or a detail; case and accents
    ///     do not count
    /// @param $pagination the page, from 1
    /// @param $extra true to add all extra details as extra, or a list of slugs
    /// @param $user_ids only these users
    async fn sb_get_users(
        sorting: Sorting = ["creation_time", "DESC"],
        user_types: Texts = [],
        search: String = "",
        pagination: Page = 1,
        extra: Extra = false,
        user_ids: Option<Several<UserId>> = false,
    ) -> "list<User>|SBError" => lists::get_users;

    /// Returns the users created after a point, newest first.
    ///
    /// @param $datetime the id of a user, or a time YYYY-MM-DD HH:MM:SS in UTC
    async fn sb_get_new_users(datetime: Since) -> "list<User>|SBError" => lists::get_new_users;

    /// Returns the users who were active within the last 30 seconds, or are connected to the realtime push service.
    ///
    /// @param $sorting the column to sort by, largest first; see sb_get_users
    /// @param $agents true for agents and admins only
    async fn sb_get_online_users(
        sorting: Sorting = "creation_time",
        agents: bool = false,
    ) -> "list<User>|SBError" => lists::get_online_users;

    /// Returns the ids of the users who were active within the last 30 seconds.
    ///
    /// @param $agents true for agents and admins only
    async fn sb_get_online_user_ids(agents: bool = false) -> "list<int>|SBError" => lists::get_online_user_ids;

    /// Returns who has which extra details.
    ///
    /// @param $details slugs; first_name, last_name, email and profile_image are read from the user record
    /// @param $user_ids ids as a list or between commas; agents for agents and admins; all or false for everyone
    async fn sb_get_users_with_details(
        details: Texts,
        user_ids: People = false,
    ) -> "array<string, list<array{id: string, value: string}>>|SBError" => lists::get_users_with_details;

    /// Returns the ids of all agents.
    ///
    /// @param $admins false to leave out admins
    async fn sb_get_agents_ids(admins: bool = true) -> "list<string>|SBError" => lists::get_agents_ids;

    /// Returns the newest 100 users whose full name, e-mail address or extra details hold a text.
    ///
    /// @param $search the text, up to 200 characters; case and accents do not count
    async fn sb_search_users(search: String) -> "list<User>|SBError" => lists::search_users;

    /// Adds a user.
    ///
    /// Without a type it becomes a user when an e-mail address is given, else a visitor. Without a first name it is
    /// named by the setting visitor-default-name, or User, and # with five digits. The password is stored as bcrypt of
    /// cost 12.
    ///
    /// @param $settings profile_image (URL, up to 191 characters), first_name, last_name (up to 100), email (up to 191),
    ///     password (up to 72 bytes), user_type (visitor, lead, user, agent or admin), department (1 to 127); others
    ///     are ignored
    /// @param $settings_extra extra details: slug to [value, Name], or to the value; empty values are left out
    /// @param $login_app accepted for older callers
    /// @param $hash_password false when the password is a hash already
    /// @errors duplicate-email, invalid-user-type; SBError too-long, invalid-email, invalid-password; the text of a
    ///     database error
    async fn sb_add_user(
        settings: Map = [],
        settings_extra: Details = [],
        login_app: Value = false,
        hash_password: bool = true,
    ) -> "numeric-string|'duplicate-email'|'invalid-user-type'|string|SBError"
        => accounts::add_user, database_errors_as_text;

    /// Adds a user and logs it in.
    ///
    /// @param $settings as sb_add_user
    /// @param $settings_extra as sb_add_user
    /// @param $login_app accepted for older callers
    /// @param $hash_password false when the password is a hash already
    /// @return as sb_login
    /// @errors as sb_add_user
    async fn sb_add_user_and_login(
        settings: Map = [],
        settings_extra: Details = [],
        login_app: Value = false,
        hash_password: bool = true,
    ) -> "array{LoginRecord, string}|'duplicate-email'|'invalid-user-type'|string|SBError"
        => accounts::add_user_and_login, database_errors_as_text;

    /// Adds extra details that a user does not have yet; those it has stay as they are.
    ///
    /// @param $user_id the user
    /// @param $settings slug to [value, Name], or to the value
    /// @errors user-not-found; SBError too-long
    async fn sb_add_new_user_extra(user_id: UserId, settings: Details) -> "true|'user-not-found'|SBError"
        => accounts::add_new_user_extra;

    /// Changes a user and its extra details. What is not given stays as it is.
    ///
    /// Without a type a visitor who leaves an e-mail address or a phone number becomes a lead, and a visitor or lead who
    /// sets a password a user.
    ///
    /// @param $user_id the user
    /// @param $settings as sb_add_user; an empty e-mail address or department is taken away
    /// @param $settings_extra slug to [value, Name], or to the value; an empty value takes the detail away
    /// @param $hash_password false when the password is a hash already
    /// @errors user-not-found, duplicate-email, invalid-user-type; SBError too-long, invalid-password; the text of a
    ///     database error
    async fn sb_update_user(
        user_id: UserId,
        settings: Map,
        settings_extra: Details = [],
        hash_password: bool = true,
    ) -> "true|'user-not-found'|'duplicate-email'|'invalid-user-type'|string|SBError"
        => accounts::update_user, database_errors_as_text;

    /// Changes one value of a user. A password is hashed; changes of type follow as in sb_update_user.
    ///
    /// @param $user_id the user
    /// @param $slug a column of sb_add_user's settings, or the slug of an extra detail
    /// @param $value the value; an empty one takes a detail away
    /// @param $name the name of an extra detail; not given: the slug in title case
    /// @errors user-not-found, duplicate-email, invalid-user-type; SBError invalid-slug for id, token and times, too-long
    async fn sb_update_user_value(
        user_id: UserId,
        slug: String,
        value: Value,
        name: Option<String> = false,
    ) -> "true|'user-not-found'|'duplicate-email'|'invalid-user-type'|SBError" => accounts::update_user_value;

    /// Changes the login data of the active user, not what is stored.
    ///
    /// @param $profile_image the image's URL
    /// @param $first_name the first name
    /// @param $last_name the last name
    /// @param $email the e-mail address
    /// @param $department the department id; it is not looked up
    /// @return the encrypted login data, for SBF.loginCookie in the browser; false when nobody is active
    async fn sb_update_login(
        profile_image: String,
        first_name: String,
        last_name: String,
        email: String,
        department: String = "",
    ) -> "string|false|SBError" => active::update_login;

    /// Deletes a user with its conversations, messages, details and notes.
    ///
    /// The conversations that a deleted agent was assigned to stay, without an agent.
    ///
    /// @param $user_id the user
    async fn sb_delete_user(user_id: UserId) -> "true|SBError" => removal::delete_user, protected;

    /// Deletes users as sb_delete_user does.
    ///
    /// @param $user_ids ids as a list or between commas
    async fn sb_delete_users(user_ids: Several<UserId>) -> "true|SBError" => removal::delete_users, protected;

    /// Deletes all leads as sb_delete_user does, 200 at a time.
    async fn sb_delete_leads() -> "true|SBError" => removal::delete_leads, protected;

    /// Returns or sets the page that a user is on.
    ///
    /// @param $user_id the user; not given: the active user
    /// @param $url the page's URL, to set it
    /// @return the URL, or false when it is not known; true when it was set
    /// @errors user-not-found
    async fn sb_current_url(
        user_id: Option<UserId> = false,
        url: Option<String> = false,
    ) -> "string|bool|'user-not-found'|SBError" => details::current_url;

    /// Counts the users: all is visitors, leads and users together.
    async fn sb_count_users()
        -> "array{all: numeric-string, lead: numeric-string, user: numeric-string, visitor: numeric-string}|SBError"
        => lists::count_users;

    /// Makes a user a lead.
    ///
    /// @param $user_id the user
    /// @errors user-not-found
    async fn sb_update_user_to_lead(user_id: UserId) -> "true|'user-not-found'|SBError" => accounts::update_user_to_lead;

    /// Returns the people of the team-messaging workspace, the agents and admins, and who is who.
    ///
    /// The workspace's bots and deactivated accounts are left out. It is asked at each call, 200 people at a time; the
    /// limit is 20 seconds for each answer.
    ///
    /// @return saved is the settings row teamchat-agents
    /// @errors teamchat-not-active; SBError teamchat-error with the text of the service (invalid_auth, missing_scope …)
    ///     or of a failed connection, configuration when no token is set
    async fn sb_teamchat_users()
        -> "array{teamchat_users: list<array{id: string, name: string}>, agents: list<array{id: string, name: string}>, saved: array<string, string>}|'teamchat-not-active'|SBError"
        => teamchat::teamchat_users;

    /// Says whether a user is one who answers: agent, admin or the bot.
    ///
    /// @param $user a user record, or a user type; not given: the active user
    /// @param $exclude_bot true for false of the bot
    /// @param $only_admin true for true of an admin only
    async fn sb_is_agent(
        user: Value = false,
        exclude_bot: bool = false,
        only_admin: bool = false,
    ) -> "bool|SBError" => roles::is_agent;

    /// Returns the supervisor settings that name the active user: supervisor, or one of supervisors.
    async fn sb_supervisor() -> "array<string, mixed>|false|SBError" => roles::supervisor;

    /// Returns the department id of the active user.
    async fn sb_get_department() -> "numeric-string|false|SBError" => roles::get_department;

    /// Says whether a password is the one of a hash.
    ///
    /// Hashes of PHP's password_hash: $2y$, $2a$, $2b$, $argon2i$, $argon2id$; and of content-management systems: $P$,
    /// $wp$2y$ and plain MD5. Empty texts never match.
    ///
    /// @param $password the password
    /// @param $hash the hash
    pure fn sb_password_verify(password: Bytes, hash: String) -> "bool" => login::password_verify;

    /// Adds what the request tells of a user to its details: ip, city, country, country_code, location, time_zone and
    /// currency (ISO 4217) of its address, browser_language, browser and os. What the user has already stays.
    ///
    /// The place comes from the file of the setting geo-database, a City database in MaxMind's format; without one it is
    /// left out. The address is REMOTE_ADDR, or behind a proxy of the setting trusted-proxies the one it forwards.
    ///
    /// @param $user_id the user
    /// @errors user-not-found; SBError geo-database when that file cannot be used
    async fn sb_user_autodata(user_id: UserId) -> "true|'user-not-found'|SBError" => autodata::user_autodata;

    /// Says whether a user types in a conversation: since 10 seconds at most.
    ///
    /// @param $user_id the user
    /// @param $conversation_id the conversation
    async fn sb_is_typing(user_id: UserId, conversation_id: ConversationId) -> "bool|SBError" => presence::is_typing;

    /// Returns the agent or admin who types in a conversation.
    ///
    /// @param $conversation_id the conversation
    async fn sb_is_agent_typing(conversation_id: ConversationId)
        -> "array{id: string, first_name: string, last_name: string}|false|SBError" => presence::is_agent_typing;

    /// Says that a user types, which is a sign of life too.
    ///
    /// @param $user_id the user; not given: the active user
    /// @param $conversation_id the conversation; not given: the user types no longer
    /// @param $source [code, user id, page id] of an outside channel
    /// @errors user-not-found when no user is given and nobody is active
    async fn sb_set_typing(
        user_id: Option<UserId> = false,
        conversation_id: Option<ConversationId> = false,
        source: Value = false,
    ) -> "true|'user-not-found'|SBError" => presence::set_typing;

    /// Says whether a time of activity is within the last 30 seconds.
    ///
    /// @param $datetime the time, YYYY-MM-DD HH:MM:SS in UTC
    async fn sb_is_online(datetime: String) -> "bool" => presence::is_online;

    /// Says whether a user was active within the last 30 seconds, or is connected to the realtime push service.
    ///
    /// @param $user_id the user
    async fn sb_is_user_online(user_id: UserId) -> "bool|SBError" => presence::is_user_online;

    /// Says whether at least one agent or admin was active within the last 30 seconds, or is connected to the realtime push
    /// service.
    async fn sb_agents_online() -> "bool|SBError" => presence::agents_online;

    /// Returns the id of the bot, which is made when there is none.
    async fn sb_get_bot_id() -> "numeric-string|SBError" => lookup::get_bot_id;

    /// Returns the user of a conversation, or the agent who answered last.
    ///
    /// @param $conversation_id the conversation
    /// @param $agent true for the last agent or admin who wrote in it
    /// @errors SBError security-error when the active user is a visitor, lead or user and it is not theirs
    async fn sb_get_user_from_conversation(
        conversation_id: ConversationId,
        agent: bool = false,
    ) -> "array{id: string, email: string|null}|false|SBError" => lookup::get_user_from_conversation;

    /// Returns the URL of an image of a person's initials, for those without a photograph.
    ///
    /// The image lies in the folder avatars of the uploads. It is made once for each pair of initials: a PNG of 128 by 128
    /// pixels, or an SVG when no font of the system has a letter. Without a letter it shows a silhouette. Debian's
    /// fonts-noto-core has the letters of nearly all scripts; fonts-noto-cjk and fonts-noto-color-emoji have the rest.
    ///
    /// @param $first_name the first name
    /// @param $last_name the last name
    /// @errors SBError configuration without SB_PATH or SB_URL, file-error when the image cannot be written
    async fn sb_get_avatar(first_name: String, last_name: String = "") -> "string|SBError" => avatar::get_avatar;

    /// Returns the id of the active user.
    async fn sb_get_active_user_ID() -> "string|false|SBError" => active::get_active_user_id;

    /// Returns the first user with a value.
    ///
    /// @param $by email, first_name, last_name, or the slug of an extra detail such as phone
    /// @param $value the value; case and accents do not count
    async fn sb_get_user_by(by: String, value: String)
        -> "array{id: string, first_name: string, last_name: string, email: string|null, user_type: string, department: string|null}|false|SBError"
        => lookup::get_user_by;
}
