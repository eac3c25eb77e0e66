//! Posts and pages that are made from outside.

use super::languages::Plugin;
use super::people::id_by_email;
use super::site::Site;
use super::text::slug;
use crate::contract::Value;
use crate::contract::error::{Error, Result};
use crate::contract::ids::CmsId;
use crate::contract::value::at;
use crate::params;
use crate::platform::Context;
use crate::platform::db::{OnUnknown, Transaction, starting};

/// The names that a new one must differ from: of the same type, and of attachments, whose addresses are like pages'.
const NAMES: &str = "
    SELECT post_name
    FROM {posts}
    WHERE post_type IN (?, 'attachment') AND (post_name = ? OR post_name LIKE ?)
    FOR UPDATE";

const ADD: &str = "
    INSERT INTO {posts} (post_author, post_date, post_date_gmt, post_content, post_title, post_excerpt, post_status,
        comment_status, ping_status, post_password, post_name, to_ping, pinged, post_modified, post_modified_gmt,
        post_content_filtered, post_parent, guid, menu_order, post_type, post_mime_type, comment_count)
    VALUES (?, ?, ?, ?, ?, '', 'publish', ?, ?, '', ?, '', '', ?, ?, '', 0, '', 0, ?, '', 0)";

/// A title of signs alone leaves no name: the id is one.
const SET_ADDRESS: &str = "
    UPDATE {posts}
    SET guid = ?, post_name = IF(post_name = '', ID, post_name)
    WHERE ID = ?";

const DEFAULT_CATEGORY: &str = "
    SELECT term_taxonomy_id
    FROM {term_taxonomy}
    WHERE taxonomy = 'category' AND term_id = ?";

const LANGUAGE_TERM: &str = "
    SELECT x.term_taxonomy_id
    FROM {term_taxonomy} x
    JOIN {terms} t ON t.term_id = x.term_id
    WHERE x.taxonomy = 'language' AND t.slug = ?";

const RELATE: &str = "
    INSERT IGNORE INTO {term_relationships} (object_id, term_taxonomy_id, term_order)
    VALUES (?, ?, 0)";

const COUNT: &str = "
    UPDATE {term_taxonomy}
    SET count = count + 1
    WHERE term_taxonomy_id = ?";

const ADD_TRANSLATION: &str = "
    INSERT IGNORE INTO {icl_translations} (element_type, element_id, trid, language_code, source_language_code)
    SELECT ?, ?, COALESCE(MAX(trid), 0) + 1, ?, NULL
    FROM {icl_translations}";

/// Parts of addresses that stand for feeds and embedded posts.
const RESERVED: [&str; 6] = ["atom", "embed", "feed", "rdf", "rss", "rss2"];

/// What the column of the type holds.
const TYPE_LIMIT: usize = 20;

/// A post before it is stored.
pub(crate) struct NewPost {
    pub(crate) title: String,
    pub(crate) content: String,
    pub(crate) post_type: String,
    /// The part of its address, made unique when it is stored.
    pub(crate) name: String,
    pub(crate) is_open_to_comments: bool,
    /// The user who writes it.
    pub(crate) author: Option<CmsId>,
}

impl NewPost {
    /// Stores it, and gives its id.
    pub(crate) async fn store(
        &self,
        cx: &Context<'_>,
        site: &Site<'_>,
        transaction: &mut Transaction<'_>,
    ) -> Result<u64> {
        let utc = cx.now();
        let local = site.zone().local(utc);
        let comments = if self.is_open_to_comments { "open" } else { "closed" };
        let name = self.free_name(site, transaction).await?;
        let params = params![
            self.author.map_or(0, CmsId::number),
            local,
            utc,
            &self.content,
            &self.title,
            comments,
            comments,
            name,
            local,
            utc,
            &self.post_type
        ];
        let id = transaction.execute(site.cms.place(ADD), params).await?.insert_id;
        let query = match self.post_type.as_str() {
            "post" => format!("p={id}"),
            "page" => format!("page_id={id}"),
            other => format!("post_type={other}&p={id}"),
        };
        let params = params![site.query_link(&query), id];
        transaction.execute(site.cms.place(SET_ADDRESS), params).await?;
        Ok(id)
    }

    /// The wished name, or the first of name-2, name-3 … that nothing has.
    async fn free_name(&self, site: &Site<'_>, transaction: &mut Transaction<'_>) -> Result<String> {
        let wished = self.name.as_str();
        if wished.is_empty() {
            return Ok(String::new());
        }
        let params = params![&self.post_type, wished, starting(&format!("{wished}-"))];
        let taken: Vec<(String,)> = transaction.rows(site.cms.place(NAMES), params).await?;
        let structure = site.options.text("permalink_structure");
        let is_free = |name: &String| {
            !is_reserved(name, &self.post_type, &structure)
                && taken.iter().all(|(taken,)| !taken.eq_ignore_ascii_case(name))
        };
        let numbered = (2_u32..).map(|number| format!("{wished}-{number}"));
        let mut names = std::iter::once(wished.to_owned()).chain(numbered);
        Ok(names.find(is_free).unwrap_or_default())
    }
}

/// Whether an address of that name would lead elsewhere: to a feed, to a page of a list, or to what was posted in a year,
/// month or on a day.
fn is_reserved(name: &str, post_type: &str, structure: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if RESERVED.contains(&name) {
        return true;
    }
    match post_type {
        "page" => is_number(name.strip_prefix("page").unwrap_or(name)),
        "post" if is_number(name) => {
            let number: u32 = name.parse().unwrap_or(u32::MAX);
            let mut tags = structure.split('/').filter(|tag| !tag.is_empty());
            let before = tags
                .clone()
                .zip(tags.clone().skip(1))
                .find(|(_, tag)| *tag == "%postname%");
            match before {
                _ if tags.next() == Some("%postname%") => number > 0,
                Some(("%year%", _)) => number < 13,
                Some(("%monthnum%", _)) => number < 32,
                _ => false,
            }
        }
        _ => false,
    }
}

/// Publishes a post, and gives its id.
pub(super) async fn post(cx: &Context<'_>, title: String, content: String, post_type: String) -> Result<String> {
    let is_type = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    if post_type.is_empty() || post_type.len() > TYPE_LIMIT || !post_type.bytes().all(is_type) {
        return Err(Error::Refused {
            code: "invalid-post-type",
            message: format!("a post type is at most {TYPE_LIMIT} of the characters a-z, 0-9, _ and -"),
        });
    }
    let cms = super::open(cx).await?;
    let site = Site::read(cx, cms, &["default_category"]).await?;
    let active = cx.active_user().await?;
    let email = active
        .as_ref()
        .and_then(|user| at(&user.record, "email"))
        .and_then(Value::as_str);
    let author = id_by_email(&site.cms, email.unwrap_or_default()).await?;
    let post = NewPost {
        name: slug(&title),
        is_open_to_comments: post_type == "post",
        author,
        title,
        content,
        post_type,
    };
    let id = site.cms.transaction(OnUnknown::Report, async |transaction| {
        let id = post.store(cx, &site, transaction).await?;
        if post.post_type == "post" {
            let category = site.options.text("default_category");
            relate(&site, transaction, id, DEFAULT_CATEGORY, &category).await?;
        }
        if site.languages.translates_posts(&post.post_type) {
            set_language(&site, transaction, id, &post.post_type).await?;
        }
        Ok(id)
    });
    Ok(id.await?.to_string())
}

/// Puts a post into the site's default language.
async fn set_language(site: &Site<'_>, transaction: &mut Transaction<'_>, id: u64, post_type: &str) -> Result<()> {
    let language = site.languages.default_language();
    match site.languages.plugin() {
        Some(Plugin::Polylang) => relate(site, transaction, id, LANGUAGE_TERM, &language).await,
        Some(Plugin::Wpml) => {
            let params = params![format!("post_{post_type}"), id, language];
            transaction.execute(site.cms.place(ADD_TRANSLATION), params).await?;
            Ok(())
        }
        None => Ok(()),
    }
}

/// Puts a post under the term that a query finds.
async fn relate(
    site: &Site<'_>,
    transaction: &mut Transaction<'_>,
    id: u64,
    query: &'static str,
    wanted: &str,
) -> Result<()> {
    let term: Option<(u64,)> = transaction.row(site.cms.place(query), params![wanted]).await?;
    if let Some((term,)) = term {
        transaction.execute(site.cms.place(RELATE), params![id, term]).await?;
        transaction.execute(site.cms.place(COUNT), params![term]).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_is_reserved() {
        for (name, post_type, structure) in [
            ("feed", "page", ""),
            ("embed", "post", ""),
            ("2026", "page", "/%postname%/"),
            ("page2", "page", ""),
            ("2026", "post", "/%postname%/"),
            ("12", "post", "/blog/%year%/%postname%/"),
            ("31", "post", "/%year%/%monthnum%/%postname%/"),
        ] {
            assert!(is_reserved(name, post_type, structure), "{name} {structure}");
        }
        for (name, post_type, structure) in [
            ("feeds", "page", ""),
            ("page", "page", ""),
            ("pages2", "page", ""),
            ("2026", "post", ""),
            ("2026", "product", "/%postname%/"),
            ("0", "post", "/%postname%/"),
            ("13", "post", "/blog/%year%/%postname%/"),
            ("32", "post", "/%year%/%monthnum%/%postname%/"),
            ("2026", "post", "/archives/%post_id%"),
        ] {
            assert!(!is_reserved(name, post_type, structure), "{name} {structure}");
        }
    }
}
