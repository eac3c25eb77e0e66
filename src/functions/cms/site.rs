//! The site: its addresses, its time zone, and the links to its pages and images.

use chrono::{FixedOffset, NaiveDateTime, Offset, TimeZone};
use chrono_tz::Tz;

use super::languages::Languages;
use super::options::Options;
use crate::contract::Value;
use crate::contract::error::Result;
use crate::contract::ids::CmsId;
use crate::params;
use crate::platform::Context;
use crate::platform::cms::Cms;

/// What addresses are made from.
const OPTIONS: [&str; 12] = [
    "home",
    "siteurl",
    "permalink_structure",
    "show_on_front",
    "page_on_front",
    "upload_path",
    "upload_url_path",
    "timezone_string",
    "gmt_offset",
    "active_plugins",
    "polylang",
    "icl_sitepress_settings",
];

/// A page and the pages that it lies under, the outermost first.
const PAGE: &str = "
    WITH RECURSIVE page AS (
        SELECT ID, post_parent, post_name, 0 AS depth
        FROM {posts}
        WHERE ID = ? AND post_type = 'page' AND post_status = 'publish'
        UNION ALL
        SELECT p.ID, p.post_parent, p.post_name, page.depth + 1
        FROM page
        JOIN {posts} p ON p.ID = page.post_parent
        WHERE page.depth < 20)
    SELECT post_name
    FROM page
    ORDER BY depth DESC";

/// An attachment: its file below the folder of uploads, and the address it was given when it was made.
const ATTACHMENT: &str = "
    SELECT (
            SELECT f.meta_value
            FROM {postmeta} f
            WHERE f.post_id = p.ID AND f.meta_key = '_wp_attached_file'
            ORDER BY f.meta_id
            LIMIT 1),
        p.guid
    FROM {posts} p
    WHERE p.ID = ? AND p.post_type = 'attachment'";

/// Where uploads lie unless the site says otherwise.
const UPLOADS: &str = "wp-content/uploads";

/// A site as its options describe it.
pub(crate) struct Site<'a> {
    pub(crate) cms: Cms<'a>,
    pub(crate) options: Options,
    pub(crate) languages: Languages,
    /// Its number, when it is one of a network that is not the network's first.
    number: Option<u32>,
}

impl<'a> Site<'a> {
    /// Reads the site, and further options with it, in one query.
    pub(crate) async fn read(cx: &Context<'_>, cms: Cms<'a>, further: &[&str]) -> Result<Self> {
        let names = OPTIONS.iter().chain(further).copied();
        let (options, number) = Options::of_site(&cms, names).await?;
        let chosen = cx.settings().await?.text("cms-multilingual-plugin");
        Ok(Self {
            languages: Languages::of(&options, chosen.as_deref()),
            options,
            cms,
            number,
        })
    }

    /// The address of the system's own files, without a slash at its end.
    pub(crate) fn address(&self) -> String {
        self.options.text("siteurl").trim_end_matches('/').to_owned()
    }

    /// The address that people open, without a slash at its end.
    pub(crate) fn home(&self) -> String {
        match self.options.text("home").trim_end_matches('/') {
            "" => self.address(),
            home => home.to_owned(),
        }
    }

    /// Whether links are queries (`?p=1`) instead of paths.
    pub(crate) fn has_plain_links(&self) -> bool {
        self.options.text("permalink_structure").is_empty()
    }

    /// What paths begin with on servers that cannot rewrite them.
    pub(super) fn root(&self) -> &'static str {
        let structure = self.options.text("permalink_structure");
        if structure.trim_start_matches('/').starts_with("index.php") {
            "index.php/"
        } else {
            ""
        }
    }

    /// The link of a path. It ends with a slash where the site's links do.
    pub(crate) fn link(&self, path: &str) -> String {
        let end = if self.options.text("permalink_structure").ends_with('/') {
            "/"
        } else {
            ""
        };
        let (home, root) = (self.home(), self.root());
        format!("{home}/{root}{}{end}", path.trim_matches('/'))
    }

    /// The link of a query.
    pub(crate) fn query_link(&self, query: &str) -> String {
        format!("{}/?{query}", self.home())
    }

    /// The link of a published page, in the address space of its language; `None` when there is no such page.
    pub(crate) async fn page_link(&self, page: CmsId, language: Option<&str>) -> Result<Option<String>> {
        let path: Vec<(String,)> = self.cms.rows(PAGE, params![page]).await?;
        if path.is_empty() {
            return Ok(None);
        }
        let is_front = self.options.text("show_on_front") == "page"
            && self.options.text("page_on_front") == page.number().to_string();
        let link = if is_front {
            format!("{}/", self.home())
        } else if self.has_plain_links() {
            self.query_link(&format!("page_id={}", page.number()))
        } else {
            let names: Vec<String> = path.into_iter().map(|(name,)| name).collect();
            self.link(&names.join("/"))
        };
        Ok(Some(self.languages.localized(self, link, language)))
    }

    /// The address of an attachment, by its file below the folder of uploads or, without one, by the address it was
    /// given when it was made.
    pub(crate) fn attachment(&self, file: &str, guid: &str) -> String {
        if file.is_empty() {
            return guid.to_owned();
        }
        // Some imports have stored the whole path.
        let file = file.split_once(&format!("{UPLOADS}/")).map_or(file, |(_, file)| file);
        format!("{}/{}", self.uploads(), file.trim_start_matches('/'))
    }

    fn uploads(&self) -> String {
        let (path, url) = (self.options.text("upload_path"), self.options.text("upload_url_path"));
        let (path, url) = (path.trim(), url.trim().trim_end_matches('/'));
        // An absolute path says where files lie, not where they are served.
        let path = if path.is_empty() || path.starts_with('/') {
            UPLOADS
        } else {
            path.trim_end_matches('/')
        };
        let base = if url.is_empty() {
            format!("{}/{path}", self.address())
        } else {
            url.to_owned()
        };
        // The sites of a network have folders of their own in the uploads.
        let folder = self.number.map(|number| format!("/sites/{number}")).unwrap_or_default();
        base + &folder
    }

    /// The site's time zone.
    pub(crate) fn zone(&self) -> Zone {
        Zone::named(&self.options.text("timezone_string"))
            .unwrap_or_else(|| Zone::offset(&self.options.text("gmt_offset")))
    }
}

/// A time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    Named(Tz),
    Fixed(FixedOffset),
}

impl Zone {
    /// The zone of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        name.parse().ok().map(Self::Named)
    }

    /// So many hours from UTC, fractions too; UTC when it is no number.
    fn offset(hours: &str) -> Self {
        let hours: f64 = hours.trim().parse().unwrap_or(0.0);
        #[allow(clippy::cast_possible_truncation)]
        let seconds = (hours * 3600.0).round() as i32;
        Self::Fixed(FixedOffset::east_opt(seconds).unwrap_or(Offset::fix(&chrono::Utc)))
    }

    /// A time in UTC as the site's clocks show it.
    pub(crate) fn local(self, utc: NaiveDateTime) -> NaiveDateTime {
        utc + self.offset_at(utc)
    }

    /// How many hours the site's clocks are before UTC.
    pub(super) fn hours(self, utc: NaiveDateTime) -> f64 {
        f64::from(self.offset_at(utc).local_minus_utc()) / 3600.0
    }

    fn offset_at(self, utc: NaiveDateTime) -> FixedOffset {
        match self {
            Self::Named(zone) => zone.offset_from_utc_datetime(&utc).fix(),
            Self::Fixed(offset) => offset,
        }
    }
}

/// The site's address.
pub(super) async fn site_url(cx: &Context<'_>) -> Result<String> {
    let cms = super::open(cx).await?;
    Ok(Site::read(cx, cms, &[]).await?.address())
}

/// The address of an image, or of any other attachment; empty when it is none.
pub(super) async fn get_image(cx: &Context<'_>, id: CmsId) -> Result<Value> {
    let cms = super::open(cx).await?;
    let Some((file, guid)) = cms.row::<(Option<String>, String)>(ATTACHMENT, params![id]).await? else {
        return Ok("".into());
    };
    let site = Site::read(cx, cms, &[]).await?;
    Ok(site.attachment(&file.unwrap_or_default(), &guid).into())
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::*;

    #[test]
    fn a_zone_is_a_name_or_a_number_of_hours() {
        let noon = |month| {
            NaiveDate::from_ymd_opt(2026, month, 1)
                .unwrap()
                .and_hms_opt(12, 0, 0)
                .unwrap()
        };
        let local = |zone: Zone, month| zone.local(noon(month)).format("%H:%M").to_string();
        let berlin = Zone::named("Europe/Berlin").unwrap();
        assert_eq!([local(berlin, 1), local(berlin, 7)], ["13:00", "14:00"]);
        assert_eq!([1, 7].map(|month| berlin.hours(noon(month)).to_string()), ["1", "2"]);
        assert_eq!(local(Zone::offset("5.5"), 1), "17:30");
        assert_eq!(local(Zone::offset("-3.75"), 1), "08:15");
        for none in ["", "x", "NaN", "1e9"] {
            assert_eq!(local(Zone::offset(none), 1), "12:00", "{none}");
            assert_eq!(Zone::named(none), None);
        }
    }
}
