//! Section "Users": accounts, login, the directory of people.

mod accounts;
mod active;
mod directory;
mod login;

use crate::contract::args::{Bytes, Details};
use crate::contract::ids::UserId;
use crate::contract::{Map, Value};
use crate::functions;

functions! {
    /// Logs a user in, by e-mail and password or by id and token.
    ///
    /// On success it sets $GLOBALS['SB_LOGIN'] and, while headers can still be sent, the cookie sb-login. After 10 wrong
    /// passwords for one account, or 100 from one address, within 15 minutes further tries wait a second and fail. A
    /// password hash weaker than today's is replaced.
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

    /// Returns the active user: the one of $GLOBALS['SB_LOGIN'], else of the cookie sb-login.
    ///
    /// @param $db true to read the record anew from the database, and to return false when the user is gone
    /// @param $login_app encrypted [id, email] of a user whom the embedding system has logged in; logs the user of that
    ///     e-mail address in
    /// @return as sb_login; false when there is none
    async fn sb_get_active_user(db: bool = false, login_app: Option<String> = false) -> "array{LoginRecord, string}|false|SBError"
        => active::get_active_user;

    /// Returns the id of the active user.
    async fn sb_get_active_user_ID() -> "string|false|SBError" => active::get_active_user_id;

    /// Returns the record of a user.
    ///
    /// @param $user_id the user
    /// @param $extra true to add the extra details
    async fn sb_get_user(user_id: UserId, extra: bool = false) -> "FullUser|false|SBError" => directory::get_user;

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
    /// @errors duplicate-email, invalid-user-type; SBError too-long, invalid-password; the text of a database error
    async fn sb_add_user(
        settings: Map = [],
        settings_extra: Details = [],
        login_app: Value = false,
        hash_password: bool = true,
    ) -> "numeric-string|'duplicate-email'|'invalid-user-type'|string|SBError" => accounts::add_user, database_errors_as_text;

    /// Says whether a password is the one of a hash.
    ///
    /// Hashes of PHP's password_hash: $2y$, $2a$, $2b$, $argon2i$, $argon2id$. Empty texts never match.
    ///
    /// @param $password the password
    /// @param $hash the hash
    pure fn sb_password_verify(password: Bytes, hash: String) -> "bool" => login::password_verify;
}
