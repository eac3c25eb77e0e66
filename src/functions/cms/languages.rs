//! Languages of the content-management system, by either of two multilingual plugins: which there are, what is a
//! translation of what, and how links name them.

use super::options::{Options, map_of};
use super::site::Site;
use crate::contract::args::Argument;
use crate::contract::error::Result;
use crate::contract::ids::CmsId;
use crate::contract::value::{Key, at};
use crate::contract::{Map, Value};
use crate::functions::language::language_of;
use crate::params;
use crate::platform::Context;
use crate::platform::cms::Cms;
use crate::platform::php_serialize::Serialized;

const POLYLANG_LANGUAGES: &str = "
    SELECT t.slug
    FROM {term_taxonomy} x
    JOIN {terms} t ON t.term_id = x.term_id
    WHERE x.taxonomy = 'language'
    ORDER BY t.term_group, t.term_id";

/// The group of a post's translations: language → id, as a structure.
const POLYLANG_TRANSLATIONS: &str = "
    SELECT x.description
    FROM {term_relationships} r
    JOIN {term_taxonomy} x ON x.term_taxonomy_id = r.term_taxonomy_id
    WHERE r.object_id = ? AND x.taxonomy = 'post_translations'";

const WPML_LANGUAGES: &str = "
    SELECT code
    FROM {icl_languages}
    WHERE active = 1
    ORDER BY id";

const WPML_TRANSLATIONS: &str = "
    SELECT o.language_code, CAST(o.element_id AS UNSIGNED)
    FROM {icl_translations} t
    JOIN {icl_translations} o ON o.trid = t.trid AND o.element_type = t.element_type
    WHERE t.element_id = ? AND t.element_type = CONCAT('post_', ?) AND o.element_id IS NOT NULL";

/// Apart from the translations: that table may have a collation of its own.
const POST_TYPE: &str = "
    SELECT post_type
    FROM {posts}
    WHERE ID = ?";

/// A multilingual plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plugin {
    Polylang,
    Wpml,
}

impl Plugin {
    const fn name(self) -> &'static str {
        match self {
            Self::Polylang => "polylang",
            Self::Wpml => "wpml",
        }
    }

    /// The option that holds its settings.
    const fn option(self) -> &'static str {
        match self {
            Self::Polylang => "polylang",
            Self::Wpml => "icl_sitepress_settings",
        }
    }

    fn by_name(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        [Self::Polylang, Self::Wpml]
            .into_iter()
            .find(|plugin| plugin.name() == name)
    }

    /// The one that the site runs.
    fn active(options: &Options) -> Option<Self> {
        let files = options.map("active_plugins");
        let runs = |folder: &str| {
            let files = files.values().filter_map(Value::as_str);
            files.into_iter().any(|file| file.starts_with(folder))
        };
        if runs("polylang") {
            Some(Self::Polylang)
        } else {
            runs("sitepress-multilingual-cms").then_some(Self::Wpml)
        }
    }
}

/// How links name their language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkForm {
    Nothing,
    Folder,
    Subdomain,
    Domain,
    Query,
}

/// The languages of a site, as its plugin's settings say; none without one.
pub(crate) struct Languages {
    plugin: Option<Plugin>,
    settings: Map,
}

impl Languages {
    /// By the plugin that is chosen, else by the one that runs.
    pub(crate) fn of(options: &Options, chosen: Option<&str>) -> Self {
        let plugin = match chosen {
            Some(name) => Plugin::by_name(name),
            None => Plugin::active(options),
        };
        let settings = plugin.map(|plugin| options.map(plugin.option())).unwrap_or_default();
        Self {
            plugin: plugin.filter(|_| !settings.is_empty()),
            settings,
        }
    }

    /// The plugin.
    pub(crate) fn plugin(&self) -> Option<Plugin> {
        self.plugin
    }

    /// The language that pages are in unless they say otherwise.
    pub(crate) fn default_language(&self) -> String {
        let key = match self.plugin {
            Some(Plugin::Wpml) => "default_language",
            _ => "default_lang",
        };
        self.text(key)
    }

    /// The types of posts that are translated, as the settings list them.
    fn post_types(&self) -> Vec<String> {
        self.listed("post_types", "custom_posts_sync_option")
    }

    /// The taxonomies that are translated, as the settings list them.
    fn taxonomies(&self) -> Vec<String> {
        self.listed("taxonomies", "taxonomies_sync_option")
    }

    /// Whether posts of a type are translated. What every site has is, without being listed.
    pub(crate) fn translates_posts(&self, post_type: &str) -> bool {
        self.plugin.is_some()
            && (matches!(post_type, "post" | "page") || self.post_types().iter().any(|own| own == post_type))
    }

    /// Whether the terms of a taxonomy are translated.
    pub(crate) fn translates_terms(&self, taxonomy: &str) -> bool {
        self.plugin.is_some()
            && (matches!(taxonomy, "category" | "post_tag") || self.taxonomies().iter().any(|own| own == taxonomy))
    }

    fn listed(&self, of_polylang: &'static str, of_wpml: &'static str) -> Vec<String> {
        match self.plugin {
            None => Vec::new(),
            Some(Plugin::Polylang) => texts(at(&self.settings, of_polylang)),
            // Type → 0 not translated, 1 translated, 2 translated or shown in the original.
            Some(Plugin::Wpml) => map_of(at(&self.settings, of_wpml).cloned())
                .into_iter()
                .filter(|(_, mode)| number(mode) > 0)
                .map(|(name, _)| name.to_text().into_owned())
                .collect(),
        }
    }

    fn text(&self, key: &'static str) -> String {
        let value = at(&self.settings, key).cloned();
        value.and_then(String::from_value).unwrap_or_default()
    }

    fn is_on(&self, key: &'static str) -> bool {
        at(&self.settings, key).is_some_and(Value::is_truthy)
    }

    /// The number by which the plugin's settings say how links name their language.
    fn link_type(&self) -> i64 {
        let key = match self.plugin {
            Some(Plugin::Wpml) => "language_negotiation_type",
            _ => "force_lang",
        };
        at(&self.settings, key).map_or(0, number)
    }

    fn link_form(&self, is_plain: bool) -> LinkForm {
        match (self.plugin, self.link_type()) {
            (None, _) | (Some(Plugin::Polylang), ..=0) => LinkForm::Nothing,
            (Some(_), _) if is_plain => LinkForm::Query,
            (Some(_), 1) => LinkForm::Folder,
            (Some(Plugin::Polylang), 2) => LinkForm::Subdomain,
            (Some(Plugin::Polylang), _) | (Some(Plugin::Wpml), 2) => LinkForm::Domain,
            (Some(Plugin::Wpml), _) => LinkForm::Query,
        }
    }

    /// Whether links of a form leave the default language out.
    fn hides_default(&self, form: LinkForm) -> bool {
        match self.plugin {
            Some(Plugin::Wpml) if form == LinkForm::Query => true,
            Some(Plugin::Wpml) => {
                let urls = map_of(at(&self.settings, "urls").cloned());
                !at(&urls, "directory_for_default_language").is_some_and(Value::is_truthy)
            }
            _ => self.is_on("hide_default"),
        }
    }

    /// A link of the site in the address space of a language.
    pub(crate) fn localized(&self, site: &Site<'_>, link: String, language: Option<&str>) -> String {
        let Some(language) = language.filter(|language| !language.is_empty()) else {
            return link;
        };
        let form = self.link_form(site.has_plain_links());
        if form != LinkForm::Domain && self.hides_default(form) && language == self.default_language() {
            return link;
        }
        match form {
            LinkForm::Nothing => link,
            LinkForm::Folder => {
                let begin = format!("{}/{}", site.home(), site.root());
                let base = if self.plugin == Some(Plugin::Polylang) && !self.is_on("rewrite") {
                    "language/"
                } else {
                    ""
                };
                match link.strip_prefix(&begin) {
                    Some(path) => format!("{begin}{base}{language}/{path}"),
                    None => link,
                }
            }
            LinkForm::Subdomain => {
                let before = if site.home().contains("://www.") {
                    "://www."
                } else {
                    "://"
                };
                link.replacen(before, &format!("://{language}."), 1)
            }
            LinkForm::Domain => self.on_domain(&link, language).unwrap_or(link),
            LinkForm::Query => {
                let joint = if link.contains('?') { '&' } else { '?' };
                format!("{link}{joint}lang={language}")
            }
        }
    }

    /// A link on the domain of a language; `None` when the language has none of its own.
    fn on_domain(&self, link: &str, language: &str) -> Option<String> {
        let key = match self.plugin {
            Some(Plugin::Wpml) => "language_domains",
            _ => "domains",
        };
        let domains = map_of(at(&self.settings, key).cloned());
        let domain = domains.get(&Key::from(language.to_owned()))?.as_str()?;
        let domain = domain.split_once("://").map_or(domain, |(_, domain)| domain);
        let host = domain.split('/').next().filter(|host| !host.is_empty())?;
        let (scheme, rest) = link.split_once("://")?;
        let path = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default();
        Some(format!("{scheme}://{host}{path}"))
    }

    /// The codes of the languages, in the site's order.
    async fn codes(&self, cms: &Cms<'_>) -> Result<Vec<String>> {
        let statement = match self.plugin {
            None => return Ok(Vec::new()),
            Some(Plugin::Polylang) => POLYLANG_LANGUAGES,
            Some(Plugin::Wpml) => {
                let active = texts(at(&self.settings, "active_languages"));
                if !active.is_empty() {
                    return Ok(active);
                }
                WPML_LANGUAGES
            }
        };
        let rows: Vec<(String,)> = cms.rows(statement, params![]).await?;
        Ok(rows.into_iter().map(|(code,)| code).collect())
    }

    /// The translation of a post; `None` when there is none.
    pub(crate) async fn translation(&self, cms: &Cms<'_>, post: CmsId, language: &str) -> Result<Option<CmsId>> {
        let translations: Vec<(String, u32)> = match self.plugin {
            None => return Ok(None),
            Some(Plugin::Polylang) => {
                let group: Option<(Vec<u8>,)> = cms.row(POLYLANG_TRANSLATIONS, params![post]).await?;
                let group = group.and_then(|(text,)| Serialized::decode(&text));
                map_of(group.and_then(Serialized::without_objects))
                    .into_iter()
                    .map(|(code, id)| (code.to_text().into_owned(), u32::try_from(number(&id)).unwrap_or(0)))
                    .collect()
            }
            Some(Plugin::Wpml) => {
                let Some((post_type,)) = cms.row::<(String,)>(POST_TYPE, params![post]).await? else {
                    return Ok(None);
                };
                cms.rows(WPML_TRANSLATIONS, params![post, post_type]).await?
            }
        };
        let of_language = |wanted: &str| {
            let mut same = translations.iter().filter(|(code, _)| is_same_code(code, wanted));
            same.find_map(|(_, id)| (*id != 0).then(|| CmsId::from(*id)))
        };
        // A reader of de_CH is served by de.
        let general = language.split(['-', '_']).next().unwrap_or_default();
        Ok(of_language(language).or_else(|| of_language(general)))
    }
}

/// Whether two codes mean the same language: the plugins write `pt-br`, browsers `pt-BR`, others `pt_BR`.
fn is_same_code(own: &str, other: &str) -> bool {
    own.replace('_', "-").eq_ignore_ascii_case(&other.replace('_', "-"))
}

/// The texts of a list or map.
fn texts(list: Option<&Value>) -> Vec<String> {
    map_of(list.cloned())
        .into_values()
        .filter_map(String::from_value)
        .collect()
}

/// A whole number, also as text or truth value; 0 when it is none.
fn number(value: &Value) -> i64 {
    i64::from_value(value.clone()).unwrap_or(0)
}

/// The settings of a multilingual plugin.
pub(super) async fn language_settings(cx: &Context<'_>, plugin: Option<String>) -> Result<Option<Value>> {
    let cms = super::open(cx).await?;
    let mut site = Site::read(cx, cms, &[]).await?;
    if plugin.is_some() {
        site.languages = Languages::of(&site.options, plugin.as_deref());
    }
    let languages = &site.languages;
    let Some(plugin) = languages.plugin() else {
        return Ok(None);
    };
    let list = |texts: Vec<String>| Value::List(texts.into_iter().map(Value::from).collect());
    Ok(Some(Value::map([
        ("default", languages.default_language().into()),
        ("languages", list(languages.codes(&site.cms).await?)),
        ("post-types", list(languages.post_types())),
        ("taxonomies", list(languages.taxonomies())),
        ("link-type", languages.link_type().into()),
        ("plugin", plugin.name().into()),
    ])))
}

/// The translation of a page into the language of the active user; the page itself without one.
pub(super) async fn language_get_page_id(cx: &Context<'_>, id: CmsId) -> Result<CmsId> {
    let cms = super::open(cx).await?;
    let language = language_of(cx, None).await?;
    let site = Site::read(cx, cms, &[]).await?;
    let translation = site.languages.translation(&site.cms, id, language.code()).await?;
    Ok(translation.unwrap_or(id))
}
