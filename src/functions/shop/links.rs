//! The addresses of products, categories, tags and the shop's own pages, under every structure of links.

use chrono::NaiveDateTime;

use super::terms::{self, Taxonomy};
use crate::contract::args::Argument;
use crate::contract::error::Result;
use crate::contract::ids::CmsId;
use crate::contract::value::at;
use crate::contract::{Key, Map, Value, json};
use crate::functions::cms::{Plugin, Site};
use crate::params;
use crate::platform::Context;

/// The options that links of the shop are made from, beside the site's.
pub(super) const OPTIONS: [&str; 2] = ["woocommerce_permalinks", "woocommerce_version"];

/// The language of a page.
const POLYLANG_LANGUAGE: &str = "
    SELECT t.slug
    FROM {term_relationships} r
    JOIN {term_taxonomy} x ON x.term_taxonomy_id = r.term_taxonomy_id AND x.taxonomy = 'language'
    JOIN {terms} t ON t.term_id = x.term_id
    WHERE r.object_id = ?
    LIMIT 1";

const WPML_LANGUAGE: &str = "
    SELECT language_code
    FROM {icl_translations}
    WHERE element_id = ? AND element_type = 'post_page'
    LIMIT 1";

/// From this version on a product's address goes through its deepest category.
const DEEPEST_CATEGORY: (u32, u32) = (9, 9);

/// What a product's address is made from.
pub(super) struct Address {
    pub(super) id: String,
    /// Its name in addresses.
    pub(super) name: String,
    /// When it was published, on the site's clocks.
    pub(super) date: Option<NaiveDateTime>,
    pub(super) language: Option<String>,
    /// Its categories and those above them; only when the address goes through them.
    pub(super) categories: Vec<Category>,
}

/// A category of a product, or one above it.
#[derive(Debug, Clone)]
pub(super) struct Category {
    id: i64,
    parent: i64,
    /// Whether the product lies in it itself.
    is_own: bool,
    slug: String,
    /// What it is sorted by: its name as the database's collation has it.
    weight: String,
}

impl Category {
    /// Reads the list of `[id, parent, own, slug, weight]` that the statement gives as JSON.
    pub(super) fn read(list: &Value) -> Vec<Self> {
        let items = match list.as_bytes().and_then(json::decode) {
            Some(Value::List(items)) => items,
            _ => Vec::new(),
        };
        items.into_iter().filter_map(Self::read_one).collect()
    }

    fn read_one(item: Value) -> Option<Self> {
        // A server may give what is in the list as the text of it.
        let item = match item {
            Value::Bytes(text) => json::decode(&text)?,
            item => item,
        };
        let number = |at| item.get(&Key::Int(at)).cloned().and_then(i64::from_value);
        let text = |at| item.get(&Key::Int(at)).cloned().and_then(String::from_value);
        Some(Self {
            id: number(0)?,
            parent: number(1)?,
            is_own: number(2)? == 1,
            slug: text(3)?,
            weight: text(4).unwrap_or_default(),
        })
    }
}

/// The bases of the shop's addresses.
pub(super) struct Bases {
    settings: Map,
    /// Whether a product's address goes through its deepest category.
    deepest: bool,
}

impl Bases {
    pub(super) fn of(site: &Site<'_>) -> Self {
        let version = site.options.text("woocommerce_version");
        let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        Self {
            settings: site.options.map("woocommerce_permalinks"),
            deepest: version >= DEEPEST_CATEGORY,
        }
    }

    /// The base of a kind of address, without slashes around it.
    fn base(&self, key: &'static str, default: &'static str) -> String {
        let base = at(&self.settings, key).and_then(Value::as_str).unwrap_or_default();
        let base = base.trim().trim_matches('/');
        if base.is_empty() { default } else { base }.to_owned()
    }

    fn product(&self) -> String {
        self.base("product_base", "product")
    }

    /// Whether products' addresses go through their categories.
    pub(super) fn through_categories(&self, site: &Site<'_>) -> bool {
        let base = self.product();
        !site.has_plain_links() && (base.contains("%product_cat%") || base.contains("%category%"))
    }

    /// The address of a product.
    pub(super) fn product_link(&self, site: &Site<'_>, product: &Address) -> String {
        let link = if site.has_plain_links() {
            site.query_link(&format!("product={}", product.name))
        } else {
            let base = product.fill(&self.product(), self.deepest);
            site.link(&format!("{base}/{}", product.name))
        };
        let language = product.language.as_deref();
        let is_translated = site.languages.translates_posts("product");
        site.languages.localized(site, link, language.filter(|_| is_translated))
    }

    /// The address of a category or tag, whose slugs are given from the outermost on.
    fn term_link(&self, site: &Site<'_>, taxonomy: Taxonomy, slugs: &[String], language: Option<&str>) -> String {
        let link = if site.has_plain_links() {
            let slug = slugs.last().map(String::as_str).unwrap_or_default();
            site.query_link(&format!("{}={slug}", taxonomy.name()))
        } else {
            let base = match taxonomy {
                Taxonomy::Category => self.base("category_base", "product-category"),
                Taxonomy::Tag => self.base("tag_base", "product-tag"),
            };
            site.link(&format!("{base}/{}", slugs.join("/")))
        };
        let is_translated = site.languages.translates_terms(taxonomy.name());
        site.languages.localized(site, link, language.filter(|_| is_translated))
    }
}

impl Address {
    /// The base with what it stands for in its places.
    fn fill(&self, base: &str, deepest: bool) -> String {
        if !base.contains('%') {
            return base.to_owned();
        }
        let part = |format: &str| {
            self.date
                .map(|date| date.format(format).to_string())
                .unwrap_or_default()
        };
        let category = self.category_path(deepest);
        [
            ("%year%", part("%Y")),
            ("%monthnum%", part("%m")),
            ("%day%", part("%d")),
            ("%hour%", part("%H")),
            ("%minute%", part("%M")),
            ("%second%", part("%S")),
            ("%post_id%", self.id.clone()),
            ("%category%", category.clone()),
            ("%product_cat%", category),
        ]
        .iter()
        .fold(base.to_owned(), |base, (place, text)| base.replace(place, text))
    }

    /// The category that the address goes through, behind those above it.
    fn category_path(&self, deepest: bool) -> String {
        let own = self.categories.iter().filter(|category| category.is_own);
        let chosen = if deepest {
            // The first by name; a later one only where it lies deeper.
            let mut by_name: Vec<&Category> = own.collect();
            by_name.sort_by(|a, b| (&a.weight, a.id).cmp(&(&b.weight, b.id)));
            by_name.into_iter().reduce(|best, next| {
                if self.path(next).len() > self.path(best).len() {
                    next
                } else {
                    best
                }
            })
        } else {
            own.max_by_key(|category| (category.parent, std::cmp::Reverse(category.id)))
        };
        match chosen {
            Some(category) => self.path(category).join("/"),
            None => "uncategorized".to_owned(),
        }
    }

    /// The slugs from the outermost category to this one.
    fn path<'a>(&'a self, category: &'a Category) -> Vec<&'a str> {
        let mut path = vec![category.slug.as_str()];
        let mut parent = category.parent;
        // Categories that lie in each other end somewhere too.
        while let Some(above) = self.categories.iter().find(|above| above.id == parent)
            && path.len() <= self.categories.len()
        {
            path.push(&above.slug);
            parent = above.parent;
        }
        path.reverse();
        path
    }
}

/// The address of a category, a tag or a page of the shop; empty when there is none.
pub(super) async fn get_url(cx: &Context<'_>, kind: String, name: String, language: Option<String>) -> Result<String> {
    let cms = super::open(cx).await?;
    let page = format!("woocommerce_{kind}_page_id");
    let mut further = OPTIONS.to_vec();
    further.push(&page);
    let site = Site::read(cx, cms, &further).await?;
    let url = match kind.as_str() {
        "category" | "tag" => match Taxonomy::by_name(&kind) {
            Some(taxonomy) => term_url(&site, taxonomy, &name, language.as_deref()).await?,
            None => None,
        },
        "cart" | "shop" | "checkout" | "myaccount" => {
            let page = site.options.text(&page).parse().ok().filter(|page| *page != 0);
            match page.map(u32::into) {
                Some(page) => page_url(&site, page, language.as_deref()).await?,
                None => None,
            }
        }
        _ => None,
    };
    Ok(url.unwrap_or_default())
}

async fn page_url(site: &Site<'_>, page: CmsId, language: Option<&str>) -> Result<Option<String>> {
    let translation = match language {
        Some(language) => site.languages.translation(&site.cms, page, language).await?,
        None => None,
    };
    let page = translation.unwrap_or(page);
    let statement = match site.languages.plugin() {
        None => return site.page_link(page, None).await,
        Some(Plugin::Polylang) => POLYLANG_LANGUAGE,
        Some(Plugin::Wpml) => WPML_LANGUAGE,
    };
    let own: Option<(String,)> = site.cms.row(statement, params![page]).await?;
    site.page_link(page, own.as_ref().map(|(code,)| code.as_str())).await
}

async fn term_url(site: &Site<'_>, taxonomy: Taxonomy, name: &str, language: Option<&str>) -> Result<Option<String>> {
    let Some(term) = terms::find(site, taxonomy, name, language).await? else {
        return Ok(None);
    };
    let slugs = terms::path(&site.cms, &term).await?;
    let link = Bases::of(site).term_link(site, taxonomy, &slugs, term.language.as_deref());
    Ok(Some(link))
}

/// A text as part of a query, as PHP's urlencode writes it.
pub(super) fn url_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => encoded.push(char::from(byte)),
            b' ' => encoded.push('+'),
            byte => encoded.extend(format!("%{byte:02X}").chars()),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::args::time;

    fn category(id: i64, parent: i64, is_own: bool, slug: &str) -> Category {
        Category {
            id,
            parent,
            is_own,
            slug: slug.to_owned(),
            weight: slug.to_owned(),
        }
    }

    fn address(categories: Vec<Category>) -> Address {
        Address {
            id: "12".to_owned(),
            name: "mug".to_owned(),
            date: time("2026-03-05 07:08:09"),
            language: None,
            categories,
        }
    }

    #[test]
    fn the_places_of_a_base_are_filled() {
        let product = address(vec![category(5, 3, true, "mugs"), category(3, 0, false, "kitchen")]);
        for (base, filled) in [
            ("shop", "shop"),
            ("shop/%product_cat%", "shop/kitchen/mugs"),
            ("%category%", "kitchen/mugs"),
            (
                "%year%-%monthnum%-%day%/%hour%%minute%%second%/%post_id%",
                "2026-03-05/070809/12",
            ),
        ] {
            assert_eq!(product.fill(base, true), filled);
            assert_eq!(product.fill(base, false), filled);
        }
        assert_eq!(address(vec![]).fill("%product_cat%", true), "uncategorized");
    }

    #[test]
    fn of_several_categories_the_version_decides() {
        let product = address(vec![
            category(10, 0, true, "accessories"),
            category(20, 2, true, "mugs"),
            category(21, 7, true, "zoo"),
            category(7, 0, false, "animals"),
            category(2, 1, false, "tea"),
            category(1, 0, false, "kitchen"),
        ]);
        assert_eq!(product.category_path(false), "animals/zoo");
        assert_eq!(product.category_path(true), "kitchen/tea/mugs");
    }

    #[test]
    fn categories_that_lie_in_each_other_end_somewhere() {
        let product = address(vec![category(1, 2, true, "a"), category(2, 1, false, "b")]);
        assert!(product.category_path(true).len() < 20);
    }

    #[test]
    fn a_query_is_encoded_as_php_does() {
        assert_eq!(url_encoded("Peru & Côte-d_1.~"), "Peru+%26+C%C3%B4te-d_1.%7E");
    }
}
