//! Section "Settings, articles, automations and utilities": what belongs to no other room.

mod channels;
mod cleaning;
mod cron;
mod exports;
mod fetching;
mod files;
mod hours;
mod style;
mod table;
mod text;
mod updates;

pub(crate) use fetching::{extension_of, found, media_type_of, plain_name};

pub use exports::write_users;

use crate::contract::args::{Bytes, Fields, HeaderLines, Items, Keyed, MediaType};
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::ConversationId;
use crate::contract::value::FailureClass;
use crate::contract::{Key, Value, json};
use crate::functions;
use crate::platform::Context;
use crate::platform::crypto::Purpose;

functions! {
    /// Says whether a value is an SBError.
    ///
    /// @param $object the value
    /// @assert-if-true SBError $object
    pure fn sb_is_error(object: Value) -> "bool" => is_error;

    /// Says whether a value is an SBValidationError or one of the library's validation codes, such as duplicate-email.
    ///
    /// @param $object the value
    pure fn sb_is_validation_error(object: Value) -> "bool" => is_validation_error;

    /// Returns the value under a key, or a default where the key is missing or holds an empty text.
    ///
    /// @param $array the array; anything else has no keys
    /// @param $key the key
    /// @param $default what to return otherwise
    pure fn sb_isset(array: Keyed, key: Key, default: Value = false) -> "mixed" => isset;

    /// Converts JSON text to an array.
    ///
    /// @param $json the JSON text; an array is returned as it is
    /// @param $default what to return when it is no array in JSON
    pure fn sb_json_array(json: Value, default: Value = []) -> "array<array-key, mixed>|mixed" => json_array;

    /// Encrypts or decrypts a text with the installation's secret key.
    ///
    /// AES-256-GCM (NIST SP 800-38D); the result is base64url text and differs at each call.
    ///
    /// @param $string the text
    /// @param $encrypt false to decrypt
    /// @return the text; false when it was not encrypted with this installation's key or was changed since
    async fn sb_encryption(string: Bytes, encrypt: bool = true) -> "string|false" => encryption;

    /// Archives the channels of the team-messaging workspace that the app is in, but for the general one.
    ///
    /// One run archives up to 20 of them, as many as the service lets within a minute: run it again for more.
    ///
    /// @errors teamchat-not-active, SBError teamchat-error when the service refuses or cannot be reached
    async fn sb_archive_teamchat_channels() -> "true|string|SBError" => channels::archive_teamchat_channels;

    /// Writes rows into a CSV file of the uploads (RFC 4180), in place of one that has the name already.
    ///
    /// A text that a spreadsheet would compute, since it begins with = + - @, a tab or a carriage return, gets a ' before
    /// it. Every cell stands in quotes.
    ///
    /// @param $items the rows, each a list of cells
    /// @param $header the cells of the first row; empty for none
    /// @param $filename the name of the file, with .csv behind it or without
    /// @return the URL of the file
    /// @errors SBError invalid-file-name for a path or a name that is not safe, file-error when it cannot be written
    async fn sb_csv(items: Items, header: Items, filename: String) -> "string|SBError" => exports::csv;

    /// Exports all users with their details as a CSV file of the uploads, whose name nobody guesses.
    ///
    /// Its columns are id, first_name, last_name, email, user_type, creation_time, last_activity, department,
    /// profile_image, and one for each extra detail that any user has, named by its slug. The bot is not among the users.
    ///
    /// @return the URL of the file
    /// @errors SBError security-error without authority, file-error when the file cannot be written
    async fn sb_csv_users() -> "string|SBError" => exports::csv_users, protected;

    /// Writes the messages of a conversation into a file of the uploads, whose name nobody guesses.
    ///
    /// Messages without text and attachments, such as deleted ones, are left out. Times are UTC.
    ///
    /// @param $conversation_id the conversation
    /// @param $type csv or txt; not given: the setting transcript-type
    /// @return the URL of the file; false for another type
    /// @errors conversation-not-found, SBError file-error when the file cannot be written
    async fn sb_transcript(
        conversation_id: ConversationId,
        r#type: Option<String> = false,
    ) -> "string|false|SBError" => exports::transcript;

    /// Writes a file of the uploads, in place of one that has the name already.
    ///
    /// @param $path the file, from the uploads on or as an absolute path that leads there; folders are made
    /// @param $content what it holds
    /// @errors SBError invalid-file-name for a path out of the uploads or a name that is not safe, file-error when it
    ///     cannot be written
    async fn sb_file(path: String, content: Bytes) -> "true|SBError" => files::file;

    /// Sends a request to an address of the public internet, or to a host of the setting http-allowed-hosts.
    ///
    /// It follows up to 3 redirects, waits up to 10 seconds and takes up to 20 MiB. Credentials in $header do not go along
    /// when a redirect leads to another site.
    ///
    /// @param $url an http or https address
    /// @param $post_fields an array, which is sent as a form, or as JSON when $header says so; or a text, such as JSON.
    ///     GET and HEAD send them in the address
    /// @param $header lines of the header: "Authorization: Bearer …"
    /// @param $method GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS
    /// @return the array that a JSON answer is, whatever its HTTP status; of any other answer its text
    /// @errors SBError url-not-allowed for an address that is none of the public internet, invalid-header, http-error when
    ///     no answer came
    async fn sb_curl(
        url: String,
        post_fields: Fields = "",
        header: HeaderLines = [],
        method: String = "POST",
    ) -> "array<array-key, mixed>|string|SBError" => fetching::curl;

    /// Returns what lies at an address of the public internet, or of a host of the setting http-allowed-hosts.
    ///
    /// It follows up to 3 redirects, waits up to 10 seconds and takes up to 20 MiB.
    ///
    /// @param $URL an http or https address
    /// @errors SBError url-not-allowed for an address that is none of the public internet, http-error when nothing came
    ///     or its HTTP status is none of success
    async fn sb_download(URL: String) -> "string|SBError" => fetching::download;

    /// Saves what lies at an address in the uploads, as sb_download fetches it.
    ///
    /// Under the original name no file is overwritten: the new one gets digits behind its name. Under $file_name it takes
    /// the place of an earlier one. A drawing in SVG is not saved.
    ///
    /// @param $URL an http or https address
    /// @param $file_name the name of the file; not given: the original one
    /// @param $mime true to find the extension by what came, or a media type such as image/png; not given: the extension
    ///     of the name, where it has one
    /// @return the URL of the file
    /// @errors SBError as sb_download; invalid-file-name for a name that is not safe or a type that is not known,
    ///     file-error when it cannot be written
    async fn sb_download_file(
        URL: String,
        file_name: Option<String> = false,
        mime: MediaType = false,
    ) -> "string|SBError" => fetching::download_file;

    /// Returns the installed versions.
    ///
    /// The core is in the library itself; an app has a version of its own where sb_app_activation has installed it.
    async fn sb_get_versions() -> "array{sb: string, chatbot: string, teamchat: string}" => updates::get_versions;

    /// Updates the service and all apps that have a licence key, from the source of the settings update-url and update-key.
    ///
    /// A source holds, for sb and each app, a release NAME.json of the form {"product", "version", "file", "sha256"}, its
    /// Ed25519 signature NAME.json.sig in base64, and the zip archive that it names. The files of an archive take the
    /// place of the folder include, or apps/NAME, at once; what was there is kept beside it as include.previous.
    /// Translations of the installation stay. An older release than the installed one is refused.
    ///
    /// @return the string success
    /// @errors SBError security-error without authority, configuration without a source, update-error when the source
    ///     fails or a signature does not fit, invalid-package, older-release, update-running, file-error
    async fn sb_update() -> "'success'|SBError" => updates::update, protected;

    /// Returns the licence key of an app.
    ///
    /// @param $app_name teamchat or chatbot
    /// @return the key; false when none is stored
    /// @errors SBError security-error without authority
    async fn sb_app_get_key(app_name: String) -> "string|false|SBError" => updates::app_get_key, protected;

    /// Downloads an app with its licence key, installs it as sb_update does, keeps the key and turns the app on.
    ///
    /// @param $app_name teamchat or chatbot
    /// @param $key the licence key
    /// @return the string success
    /// @errors SBError invalid-key when the source does not accept the key; others as sb_update
    async fn sb_app_activation(app_name: String, key: String) -> "'success'|SBError" => updates::app_activation, protected;

    /// Deletes visitors who were not active for 24 hours, with their conversations, and messages that have lain in the
    /// trash for 30 days, and archives conversations of status 0 or 1 that are older than 24 hours.
    ///
    /// @errors SBError security-error without authority
    async fn sb_clean_data() -> "true|SBError" => cleaning::clean_data, protected;

    /// Does what is to be done once an hour, when it was not done in this hour yet; of those who call at the same time
    /// one does it.
    ///
    /// That is to clean up as sb_clean_data, where the setting admin-auto-archive is on, to run the automations of the
    /// active user and, for all users, those e-mails and text messages that are due at a time (datetime, birthdate) and
    /// ask for nothing of a visit, to delete expired coupons, where the shop is active, and to deliver what is due in the
    /// outbox. Users are gone through for 20 seconds, from where the last turn stopped.
    /// E-mails are fetched once a minute, as sb_email_piping does it.
    ///
    /// @errors SBError the first failure; what else is to be done is done nevertheless, and what failed with the next hour
    async fn sb_cron_jobs() -> "true|SBError" => cron::cron_jobs;

    /// Says whether the present time is within the office hours of the settings.
    ///
    /// The setting timetable-utc is a number of hours before UTC, or an IANA zone name, with which daylight saving time
    /// is heeded. A closing time before its opening time is one of the next day; a closing time is closed. Without a
    /// timetable it is always open.
    async fn sb_office_hours() -> "bool|SBError" => hours::office_hours;

    /// Makes a slug of a text, or a text of a slug.
    ///
    /// @param $string the text
    /// @param $action slug for lower case with - in place of spaces; string for spaces in place of - and a capital at the
    ///     beginning
    pure fn sb_string_slug(string: String, action: String = "slug") -> "string" => text::string_slug;

    /// Returns the first shortcode in a text: [name attribute="value"].
    ///
    /// Values stand in quotes of either kind, within which a backslash keeps the quote from ending the value, or without
    /// them up to the next space. An attribute without a value has the value true.
    ///
    /// @param $shortcode the text
    /// @param $name the name to look for; not given: any
    /// @param $type merge for merge fields: {name attribute="value"}
    /// @return the shortcode as it is written, its name and its attributes; false when there is none
    pure fn sb_get_shortcode(
        shortcode: String,
        name: Option<String> = false,
        r#type: Option<String> = false,
    ) -> "array<string, string>|false" => text::get_shortcode;

    /// Prints the style sheet of the chat's colours, or returns it without printing.
    ///
    /// A colour is written #rgb, #rrggbb, rgb(r, g, b) or rgba(r, g, b, a); one that is none is dropped. The style sheet
    /// has the variables --sb-color-1, --sb-color-2 and --sb-color-3, and rules that use them.
    ///
    /// @param $color_1 the main colour; not given: the setting color-1
    /// @param $color_2 the main colour of what is pointed at; not given: the setting color-2
    /// @param $color_3 the colour of backgrounds; not given: the setting color-3
    /// @param $return true to print nothing
    async fn sb_css(
        color_1: Option<String> = false,
        color_2: Option<String> = false,
        color_3: Option<String> = false,
        r#return: bool = false,
    ) -> "string|SBError" => style::css;
}

fn is_error(object: Value) -> Result<bool> {
    Ok(matches!(object, Value::Error(failure) if failure.class == FailureClass::Error))
}

fn is_validation_error(object: Value) -> Result<bool> {
    Ok(match object {
        Value::Error(failure) => failure.class == FailureClass::Validation,
        Value::Bytes(text) => Code::ALL.iter().any(|code| code.text().as_bytes() == text),
        _ => false,
    })
}

fn isset(array: Keyed, key: Key, default: Value) -> Result<Value> {
    let found = array.get(&key).map_err(|_| Error::Argument {
        name: "array",
        expected: "an array without objects",
    })?;
    // As PHP's isset: null counts as missing.
    Ok(found
        .filter(|value| *value != Value::Null && value.as_bytes() != Some(b""))
        .unwrap_or(default))
}

fn json_array(json: Value, default: Value) -> Result<Value> {
    let decoded = match json {
        Value::Bytes(text) => json::decode(&text),
        array => Some(array),
    };
    Ok(decoded
        .filter(|value| {
            matches!(
                value,
                Value::List(_) | Value::Map(_) | Value::Record(_) | Value::Records(_)
            )
        })
        .unwrap_or(default))
}

async fn encryption(cx: &Context<'_>, Bytes(string): Bytes, encrypt: bool) -> Result<Value> {
    let keys = cx.keys().await?;
    Ok(if encrypt {
        keys.encrypt(Purpose::Caller, &string)?.into()
    } else {
        keys.decrypt(Purpose::Caller, &string).into()
    })
}
