//! Which products a list holds, and in which order.

use chrono::NaiveDateTime;

use crate::contract::args::{Several, Texts, field, time};
use crate::contract::error::{Error, Result};
use crate::contract::ids::CmsId;
use crate::contract::{Key, Map, Value};
use crate::functions::cms::{Plugin, Site, slug, spellings};
use crate::params;
use crate::platform::cms::Cms;
use crate::platform::db::{Builder, containing};

/// The terms that a filter names, and all below them.
const TERMS_BEGIN: &str = "
    WITH RECURSIVE term AS (";

const TERMS_NAMED: &str = "
        SELECT CAST(? AS UNSIGNED) AS filter, x.term_taxonomy_id, x.term_id, x.taxonomy
        FROM {term_taxonomy} x
        JOIN {terms} t ON t.term_id = x.term_id
        WHERE x.taxonomy LIKE ? AND (";

const TERMS_BELOW: &str = "
        UNION
        SELECT term.filter, x.term_taxonomy_id, x.term_id, x.taxonomy
        FROM term
        JOIN {term_taxonomy} x ON x.parent = term.term_id AND x.taxonomy = term.taxonomy)
    SELECT filter, term_taxonomy_id
    FROM term";

const WITH_TERM: &str = "
    AND EXISTS (
        SELECT 1
        FROM {term_relationships} r
        WHERE r.object_id = p.ID AND r.term_taxonomy_id IN ";

/// What the shop keeps of each product for look-ups.
const LOOKUP: &str = "
    LEFT JOIN {wc_product_meta_lookup} l ON l.product_id = p.ID";

const FEATURED: &str = "
    AND EXISTS (
        SELECT 1
        FROM {term_relationships} r
        JOIN {term_taxonomy} x ON x.term_taxonomy_id = r.term_taxonomy_id AND x.taxonomy = 'product_visibility'
        JOIN {terms} t ON t.term_id = x.term_id
        WHERE r.object_id = p.ID AND t.slug = 'featured')";

const OF_POLYLANG_LANGUAGE: &str = "
    AND EXISTS (
        SELECT 1
        FROM {term_relationships} r
        JOIN {term_taxonomy} x ON x.term_taxonomy_id = r.term_taxonomy_id AND x.taxonomy = 'language'
        JOIN {terms} t ON t.term_id = x.term_id
        WHERE r.object_id = p.ID AND t.slug = ?)";

const OF_WPML_LANGUAGE: &str = "
    AND EXISTS (
        SELECT 1
        FROM {icl_translations} l
        WHERE l.element_type = 'post_product' AND l.element_id = p.ID AND l.language_code = ?)";

/// The end of the first bracket of a condition.
const CLOSE: &str = ")";

/// What products are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Date,
    Modified,
    Title,
    Id,
    Menu,
    Price,
    Popularity,
    Rating,
}

impl Order {
    fn by_name(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "modified" => Self::Modified,
            "title" | "name" => Self::Title,
            "id" => Self::Id,
            "menu_order" => Self::Menu,
            "price" => Self::Price,
            "popularity" | "sales" | "total_sales" => Self::Popularity,
            "rating" => Self::Rating,
            _ => Self::Date,
        }
    }

    /// The columns that sort a product: its own, and those of its row for look-ups.
    const fn column(self) -> &'static str {
        match self {
            Self::Date => "p.post_date",
            Self::Modified => "p.post_modified",
            Self::Title => "p.post_title",
            Self::Id => "p.ID",
            Self::Menu => "p.menu_order",
            Self::Price => "l.min_price",
            Self::Popularity => "l.total_sales",
            Self::Rating => "l.average_rating",
        }
    }

    /// Whether the smallest comes first where nothing else is asked for.
    const fn is_ascending(self) -> bool {
        matches!(self, Self::Title | Self::Menu)
    }
}

/// A condition that a product is under one of some terms.
struct TermFilter {
    /// A pattern of the taxonomy's name.
    taxonomy: String,
    /// The terms, by slug, id or name; none for any term of the taxonomy.
    terms: Vec<String>,
}

/// Which products are wanted, as a caller's map says.
pub(super) struct Filters {
    terms: Vec<TermFilter>,
    search: Option<String>,
    min_price: Option<f64>,
    max_price: Option<f64>,
    stock: Vec<String>,
    featured: bool,
    on_sale: bool,
    skus: Vec<String>,
    include: Option<Vec<CmsId>>,
    exclude: Vec<CmsId>,
    after: Option<NaiveDateTime>,
    before: Option<NaiveDateTime>,
    order: Order,
    ascending: bool,
}

impl Filters {
    /// Reads a map of filters. An unknown filter is ignored.
    pub(super) fn read(mut map: Map) -> Result<Self> {
        let mut terms = Vec::new();
        for (name, taxonomy) in [("category", "product_cat"), ("tag", "product_tag")] {
            let wanted = texts(&mut map, name)?;
            if !wanted.is_empty() {
                terms.push(TermFilter::of(taxonomy, wanted));
            }
        }
        if let Some(taxonomies) = field::<Map>(&mut map, "taxonomy")? {
            for (taxonomy, wanted) in taxonomies {
                terms.push(TermFilter::of(&taxonomy.to_text(), listed(wanted, "taxonomy")?));
            }
        }
        let attributes = attributes(&mut map)?;
        let wanted = texts(&mut map, "attribute_term")?;
        let names_one = attributes.len() == 1;
        terms.extend(attributes);
        if !wanted.is_empty() {
            match terms.last_mut() {
                // The terms of the one attribute that is named without any.
                Some(only) if names_one && only.terms.is_empty() => only.terms = wanted,
                _ => terms.push(TermFilter {
                    taxonomy: r"pa\_%".to_owned(),
                    terms: wanted,
                }),
            }
        }
        let order = Order::by_name(&field::<String>(&mut map, "orderby")?.unwrap_or_default());
        let direction = field::<String>(&mut map, "order")?.unwrap_or_default();
        Ok(Self {
            terms,
            search: field::<String>(&mut map, "search")?.filter(|search| !search.is_empty()),
            min_price: price(&mut map, "min_price")?,
            max_price: price(&mut map, "max_price")?,
            stock: texts(&mut map, "stock_status")?,
            featured: field::<bool>(&mut map, "featured")?.unwrap_or(false),
            on_sale: field::<bool>(&mut map, "on_sale")?.unwrap_or(false),
            skus: texts(&mut map, "sku")?,
            include: field::<Several<CmsId>>(&mut map, "include")?.map(|Several(ids)| ids),
            exclude: field::<Several<CmsId>>(&mut map, "exclude")?.map_or_else(Vec::new, |Several(ids)| ids),
            after: moment(&mut map, "after")?,
            before: moment(&mut map, "before")?,
            order,
            ascending: match direction.to_ascii_lowercase().as_str() {
                "asc" => true,
                "desc" => false,
                _ => order.is_ascending(),
            },
        })
    }

    /// Only products whose names hold a text.
    pub(super) fn search(text: String) -> Result<Self> {
        Self::read(Map::from_iter([("search".into(), text.into())]))
    }

    /// Whether the smallest comes first.
    pub(super) fn is_ascending(&self) -> bool {
        self.ascending
    }

    /// The ids and sort keys of a page of products.
    pub(super) async fn page(
        &self,
        site: &Site<'_>,
        language: Option<&str>,
        offset: u32,
        length: u32,
    ) -> Result<Builder> {
        let terms = self.term_ids(&site.cms).await?;
        let mut statement = Builder::new(" SELECT p.ID, p.ID AS owner, ", params![]);
        statement.add(self.order.column(), params![]);
        statement.add(" AS sort_key FROM {posts} p", params![]);
        if self.needs_lookup() {
            statement.add(LOOKUP, params![]);
        }
        statement.add(
            " WHERE p.post_type = 'product' AND p.post_status = 'publish'",
            params![],
        );
        for filter in 0..self.terms.len() {
            let of_filter = terms.iter().filter(|(of, _)| usize::try_from(*of) == Ok(filter));
            statement.add(WITH_TERM, params![]).list(of_filter.map(|(_, id)| *id));
            statement.add(CLOSE, params![]);
        }
        self.add_conditions(&mut statement);
        if let Some(language) = language.filter(|_| site.languages.translates_posts("product")) {
            match site.languages.plugin() {
                None => {}
                Some(Plugin::Polylang) => {
                    statement.add(OF_POLYLANG_LANGUAGE, params![language]);
                }
                Some(Plugin::Wpml) => {
                    statement.add(OF_WPML_LANGUAGE, params![language]);
                }
            }
        }
        let order = if self.ascending {
            " ORDER BY sort_key, p.ID LIMIT ? OFFSET ?"
        } else {
            " ORDER BY sort_key DESC, p.ID DESC LIMIT ? OFFSET ?"
        };
        statement.add(order, params![length, offset]);
        Ok(statement)
    }

    /// Whether products are told apart, or sorted, by what is in their rows for look-ups.
    fn needs_lookup(&self) -> bool {
        self.order.column().starts_with("l.")
            || self.min_price.is_some()
            || self.max_price.is_some()
            || !self.stock.is_empty()
            || self.on_sale
            || !self.skus.is_empty()
    }

    fn add_conditions(&self, statement: &mut Builder) {
        if let Some(search) = &self.search {
            statement.add(" AND p.post_title LIKE ?", params![containing(search)]);
        }
        // A product of several prices is wanted when any of them lies between.
        if let Some(price) = self.min_price {
            statement.add(" AND l.max_price >= ?", params![price]);
        }
        if let Some(price) = self.max_price {
            statement.add(" AND l.min_price <= ?", params![price]);
        }
        if !self.stock.is_empty() {
            statement.add(" AND l.stock_status IN ", params![]).list(&self.stock);
        }
        if self.featured {
            statement.add(FEATURED, params![]);
        }
        if self.on_sale {
            statement.add(" AND l.onsale = 1", params![]);
        }
        if !self.skus.is_empty() {
            statement.add(" AND l.sku IN ", params![]).list(&self.skus);
        }
        if let Some(ids) = &self.include {
            statement.add(" AND p.ID IN ", params![]).list(ids.iter().copied());
        }
        if !self.exclude.is_empty() {
            statement
                .add(" AND p.ID NOT IN ", params![])
                .list(self.exclude.iter().copied());
        }
        if let Some(time) = self.after {
            statement.add(" AND p.post_date > ?", params![time]);
        }
        if let Some(time) = self.before {
            statement.add(" AND p.post_date < ?", params![time]);
        }
    }

    /// The terms of each filter, in one query for all: the filter's place and the term's id in relationships.
    async fn term_ids(&self, cms: &Cms<'_>) -> Result<Vec<(u64, u64)>> {
        if self.terms.is_empty() {
            return Ok(Vec::new());
        }
        let mut statement = Builder::new(TERMS_BEGIN, params![]);
        for (place, filter) in (0_u64..).zip(&self.terms) {
            if place > 0 {
                statement.add(" UNION", params![]);
            }
            filter.add(place, &mut statement);
        }
        statement.add(TERMS_BELOW, params![]);
        let (sql, params) = statement.finish();
        cms.rows(sql, params).await
    }
}

impl TermFilter {
    fn of(taxonomy: &str, terms: Vec<String>) -> Self {
        Self {
            taxonomy: taxonomy.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_"),
            terms,
        }
    }

    fn add(&self, place: u64, statement: &mut Builder) {
        statement.add(TERMS_NAMED, params![place, &self.taxonomy]);
        if self.terms.is_empty() {
            statement.add("TRUE)", params![]);
            return;
        }
        let names: Vec<String> = self.terms.iter().flat_map(|term| spellings(term)).collect();
        // Letters beyond ASCII stand in a slug by their codes.
        let encoded = self.terms.iter().filter(|term| !term.is_ascii()).map(|term| slug(term));
        let slugs: Vec<String> = self.terms.iter().cloned().chain(encoded).collect();
        let ids: Vec<u32> = self.terms.iter().filter_map(|term| term.parse().ok()).collect();
        statement.add("t.slug IN ", params![]).list(slugs);
        statement.add(" OR t.name IN ", params![]).list(names);
        statement.add(" OR t.term_id IN ", params![]).list(ids);
        statement.add(CLOSE, params![]);
    }
}

/// `attribute`: names of attributes, or a map of each to its terms.
fn attributes(map: &mut Map) -> Result<Vec<TermFilter>> {
    let taxonomy = |name: &str| {
        let name = name.strip_prefix("pa_").unwrap_or(name);
        format!("pa_{name}")
    };
    match map.shift_remove(&Key::from("attribute")) {
        Some(Value::Map(attributes)) => attributes
            .into_iter()
            .map(|(name, terms)| Ok(TermFilter::of(&taxonomy(&name.to_text()), listed(terms, "attribute")?)))
            .collect(),
        Some(names) => {
            let names = listed(names, "attribute")?;
            Ok(names
                .iter()
                .map(|name| TermFilter::of(&taxonomy(name), Vec::new()))
                .collect())
        }
        None => Ok(Vec::new()),
    }
}

fn texts(map: &mut Map, name: &'static str) -> Result<Vec<String>> {
    let texts = field::<Texts>(map, name)?.map_or_else(Vec::new, |Texts(texts)| texts);
    Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
}

fn listed(value: Value, name: &'static str) -> Result<Vec<String>> {
    texts(&mut Map::from_iter([(Key::from(name), value)]), name)
}

fn price(map: &mut Map, name: &'static str) -> Result<Option<f64>> {
    let refused = Error::Argument {
        name,
        expected: "a number",
    };
    match field::<String>(map, name)? {
        None => Ok(None),
        Some(text) => match text.trim().parse::<f64>() {
            Ok(price) if price.is_finite() => Ok(Some(price)),
            _ => Err(refused),
        },
    }
}

fn moment(map: &mut Map, name: &'static str) -> Result<Option<NaiveDateTime>> {
    let text = field::<String>(map, name)?;
    let moment = text.map(|text| {
        time(&text).ok_or(Error::Argument {
            name,
            expected: "a time YYYY-MM-DD HH:MM:SS",
        })
    });
    moment.transpose()
}
