//! Section "Content-management system integration": its users, posts, options, images and languages, read and written
//! in its own database.

mod languages;
mod options;
mod people;
mod posts;
mod site;
mod text;

use crate::contract::Value;
use crate::contract::error::{Error, Result};
use crate::contract::ids::CmsId;
use crate::functions;
use crate::platform::Context;
use crate::platform::cms::Cms;

pub(crate) use languages::Plugin;
pub(crate) use options::{Options, map_of};
pub use people::{Synchronisation, synchronise};
pub(crate) use people::{email_of, id_of};
pub(crate) use posts::NewPost;
pub(crate) use site::Site;
pub(crate) use text::{slug, spellings};

functions! {
    /// Returns a user of the content-management system.
    ///
    /// @param $user_id the user's id there
    /// @return password is the hash that the system keeps
    /// @errors SBError cms-not-active
    async fn sb_cms_get_user(user_id: CmsId)
        -> "array{id: string, first_name: string, last_name: string, email: string, password: string}|false|SBError"
        => people::get_user;

    /// Logs in the user who is a user of the content-management system, and registers it when the service does not know
    /// it.
    ///
    /// Its e-mail address tells who it is. An active visitor or lead without an address becomes that user. Names and
    /// password follow the system's. Nobody is logged in as an agent or admin this way.
    ///
    /// @param $user_id the id of the user that is logged in there; not given: the active user is returned as
    ///     sb_get_active_user does
    /// @return as sb_login; false for an unknown user, one without an e-mail address, and one with that of an agent
    /// @errors SBError cms-not-active
    async fn sb_cms_get_active_user(user_id: Option<CmsId> = false) -> "array{LoginRecord, string}|false|SBError"
        => people::get_active_user;

    /// Takes over all users of the content-management system, 200 at a time.
    ///
    /// New ones become users of the service; a visitor, lead or user with the same e-mail address becomes a user with
    /// the names and the password of the system's. Agents and admins are left alone, and so are users without an
    /// address. A call that was broken off is continued by the next one.
    ///
    /// @errors SBError cms-not-active
    async fn sb_cms_synch() -> "true|SBError" => people::synch;

    /// Returns the id of a user of the content-management system.
    ///
    /// @param $email the e-mail address; case does not count
    /// @errors SBError cms-not-active
    async fn sb_cms_get_user_id(email: String) -> "string|false|SBError" => people::get_user_id;

    /// Publishes a post or page.
    ///
    /// Its address is made from the title. It is dated now, in the site's time zone, in the default language, and by the
    /// system's user with the e-mail address of the active user; a post lies in the default category.
    ///
    /// @param $post_title the title
    /// @param $post_content the text, HTML
    /// @param $post_type post, page or another type: up to 20 characters a-z, 0-9, _ and -
    /// @return the id of the post
    /// @errors SBError cms-not-active, invalid-post-type
    async fn sb_cms_post(
        post_title: String,
        post_content: String,
        post_type: String = "post",
    ) -> "numeric-string|SBError" => posts::post, protected;

    /// Stores an option. Arrays are serialized; false, null and true become '', '' and '1'.
    ///
    /// A cache that the system keeps outside its database does not see the change.
    ///
    /// @param $name the name, up to 191 characters
    /// @param $value the value
    /// @return the id of the option; true when false was to be stored and there was no such option
    /// @errors SBError cms-not-active, too-long
    async fn sb_cms_update_option(name: String, value: Value) -> "numeric-string|true|SBError"
        => options::update_option, protected;

    /// Returns an option as the content-management system reads it: numbers as text, arrays as arrays. An option that
    /// holds an object comes as its stored text.
    ///
    /// @param $name the name
    /// @return the value; false when there is none
    /// @errors SBError cms-not-active
    async fn sb_cms_get_option(name: String) -> "mixed|false|SBError" => options::get_option;

    /// Returns the URL of an image, or of another attachment.
    ///
    /// @param $id the id of the attachment
    /// @return the URL; empty when there is no such attachment
    /// @errors SBError cms-not-active
    async fn sb_cms_get_image(id: CmsId) -> "string|SBError" => site::get_image;

    /// Returns the URL of the site, without a slash at its end.
    ///
    /// @errors SBError cms-not-active
    async fn sb_cms_site_url() -> "string|SBError" => site::site_url;

    /// Returns the settings of the multilingual plugin.
    ///
    /// @param $plugin polylang or wpml; not given: the one of the setting cms-multilingual-plugin, else the one that the
    ///     site runs
    /// @return default and languages are language codes; link-type is the plugin's own number: of polylang 0 not in
    ///     links, 1 folder, 2 subdomain, 3 domain, of wpml 1 folder, 2 domain, 3 parameter; false without the plugin
    /// @errors SBError cms-not-active
    async fn sb_cms_language_settings(plugin: Option<String> = false)
        -> "array{default: string, languages: list<string>, post-types: list<string>, taxonomies: list<string>, link-type: int, plugin: 'polylang'|'wpml'}|false|SBError"
        => languages::language_settings;

    /// Returns the translation of a page or post into the language of the active user.
    ///
    /// @param $id the id of the page
    /// @return the id of the translation; the given one when there is none
    /// @errors SBError cms-not-active
    async fn sb_cms_language_get_page_id(id: CmsId) -> "numeric-string|SBError" => languages::language_get_page_id;
}

/// The system's database, when the integration is active.
async fn open<'a>(cx: &'a Context<'_>) -> Result<Cms<'a>> {
    if cx.settings().await?.is_on("cms-active") {
        return cx.cms().await;
    }
    Err(Error::Refused {
        code: "cms-not-active",
        message: "the content-management system is not active: see the setting cms-active".into(),
    })
}
