//! Categories, tags and attributes.

use crate::contract::error::Result;
use crate::contract::ids::CmsId;
use crate::contract::value::Columns;
use crate::contract::{Key, Records, Value};
use crate::functions::cms::{Plugin, Site, spellings};
use crate::params;
use crate::platform::Context;
use crate::platform::cms::Cms;
use crate::platform::db::Builder;

const TERMS: &str = "
    SELECT t.term_id, t.name, t.slug
    FROM {term_taxonomy} x
    JOIN {terms} t ON t.term_id = x.term_id
    WHERE x.taxonomy = ?";

/// The condition that a term is of a language. Tables of plugins may have a collation of their own: their texts are
/// compared with parameters only, never with another table's.
const OF_POLYLANG_LANGUAGE: &str = "
    AND EXISTS (
        SELECT 1
        FROM {term_relationships} lr
        JOIN {term_taxonomy} lx ON lx.term_taxonomy_id = lr.term_taxonomy_id AND lx.taxonomy = 'term_language'
        JOIN {terms} lt ON lt.term_id = lx.term_id
        WHERE lr.object_id = t.term_id AND lt.slug = CONCAT('pll_', ?))";

const OF_WPML_LANGUAGE: &str = "
    AND EXISTS (
        SELECT 1
        FROM {icl_translations} l
        WHERE l.element_type = CONCAT('tax_', ?) AND l.element_id = x.term_taxonomy_id AND l.language_code = ?)";

const BY_NAME: &str = " ORDER BY t.name, t.term_id";

/// The language of a term: the first place of a list of columns is its.
const POLYLANG_NAMED: &str = "
    SELECT (
            SELECT SUBSTRING(lt.slug, 5)
            FROM {term_relationships} lr
            JOIN {term_taxonomy} lx ON lx.term_taxonomy_id = lr.term_taxonomy_id AND lx.taxonomy = 'term_language'
            JOIN {terms} lt ON lt.term_id = lx.term_id
            WHERE lr.object_id = t.term_id
            LIMIT 1),";

const WPML_NAMED: &str = "
    SELECT (
            SELECT l.language_code
            FROM {icl_translations} l
            WHERE l.element_type = CONCAT('tax_', ?) AND l.element_id = x.term_taxonomy_id
            LIMIT 1),";

const NAMED: &str = "
    SELECT NULL,";

/// The terms of a name; those that merely have it in addresses come last.
const OF_NAME: &str = "
        CAST(t.term_id AS UNSIGNED), t.name, t.name IN (?, ?, ?)
    FROM {terms} t
    JOIN {term_taxonomy} x ON x.term_id = t.term_id AND x.taxonomy = ?
    WHERE t.name IN (?, ?, ?) OR t.slug = ?
    ORDER BY 4 DESC, t.term_id";

/// The translations of a term: language and id, or a structure of them.
const POLYLANG_TRANSLATION: &str = "
    SELECT CAST(o.term_id AS UNSIGNED), SUBSTRING(lt.slug, 5)
    FROM {term_relationships} r
    JOIN {term_taxonomy} g ON g.term_taxonomy_id = r.term_taxonomy_id AND g.taxonomy = 'term_translations'
    JOIN {term_relationships} m ON m.term_taxonomy_id = g.term_taxonomy_id
    JOIN {terms} o ON o.term_id = m.object_id
    JOIN {term_relationships} lr ON lr.object_id = o.term_id
    JOIN {term_taxonomy} lx ON lx.term_taxonomy_id = lr.term_taxonomy_id AND lx.taxonomy = 'term_language'
    JOIN {terms} lt ON lt.term_id = lx.term_id
    WHERE r.object_id = ? AND lt.slug = CONCAT('pll_', ?)
    LIMIT 1";

const WPML_TRANSLATION: &str = "
    SELECT CAST(ox.term_id AS UNSIGNED), o.language_code
    FROM {term_taxonomy} x
    JOIN {icl_translations} i ON i.element_type IN ('tax_product_cat', 'tax_product_tag')
        AND i.element_id = x.term_taxonomy_id
    JOIN {icl_translations} o ON o.trid = i.trid AND o.element_type = i.element_type
    JOIN {term_taxonomy} ox ON ox.term_taxonomy_id = o.element_id
    WHERE x.term_id = ? AND o.language_code = ?
    LIMIT 1";

/// A term and those that it lies under, the outermost first.
const PATH: &str = "
    WITH RECURSIVE path AS (
        SELECT x.term_id, x.parent, x.taxonomy, 0 AS depth
        FROM {term_taxonomy} x
        WHERE x.term_id = ? AND x.taxonomy IN ('product_cat', 'product_tag')
        UNION ALL
        SELECT x.term_id, x.parent, x.taxonomy, path.depth + 1
        FROM path
        JOIN {term_taxonomy} x ON x.term_id = path.parent AND x.taxonomy = path.taxonomy
        WHERE path.depth < 20)
    SELECT t.slug
    FROM path
    JOIN {terms} t ON t.term_id = path.term_id
    ORDER BY path.depth DESC";

const OF_PRODUCT: &str = "
    SELECT t.term_id, t.name, t.slug, t.term_group, x.taxonomy
    FROM {term_relationships} r
    JOIN {term_taxonomy} x ON x.term_taxonomy_id = r.term_taxonomy_id
    JOIN {terms} t ON t.term_id = x.term_id
    WHERE r.object_id = ? AND x.taxonomy IN ('product_cat', 'product_tag')
    ORDER BY x.taxonomy, t.name, t.term_id";

const ATTRIBUTES: &str = "
    SELECT attribute_id, COALESCE(attribute_label, attribute_name), attribute_name
    FROM {woocommerce_attribute_taxonomies}
    ORDER BY attribute_name, attribute_id";

const ATTRIBUTE_TERMS: &str = "
    SELECT x.taxonomy, t.term_id, t.name, t.slug
    FROM {term_taxonomy} x
    JOIN {terms} t ON t.term_id = x.term_id
    WHERE x.taxonomy = ?";

/// The taxonomies of attributes that have a term.
const TAXONOMIES_OF_TERM: &str = "
    SELECT DISTINCT x.taxonomy
    FROM {terms} t
    JOIN {term_taxonomy} x ON x.term_id = t.term_id
    WHERE t.name IN (?, ?, ?) AND x.taxonomy LIKE 'pa\\_%'";

const ATTRIBUTE_OF_TAXONOMIES: &str = "
    SELECT attribute_id, COALESCE(attribute_label, attribute_name), attribute_name
    FROM {woocommerce_attribute_taxonomies}
    WHERE attribute_name IN ";

const ATTRIBUTE_BY_NAME: &str = "
    SELECT attribute_id, COALESCE(attribute_label, attribute_name), attribute_name
    FROM {woocommerce_attribute_taxonomies}
    WHERE attribute_label IN (?, ?, ?) OR attribute_name = ? OR CONCAT('pa_', attribute_name) = ?
    ORDER BY attribute_label IN (?, ?, ?) DESC, attribute_id
    LIMIT 1";

const NAMES: &[&str] = &["id", "name", "slug"];

/// What groups products for their buyers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taxonomy {
    Category,
    Tag,
}

impl Taxonomy {
    /// Its name in the tables.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Category => "product_cat",
            Self::Tag => "product_tag",
        }
    }

    pub(super) fn by_name(name: &str) -> Option<Self> {
        match name {
            "category" | "product_cat" => Some(Self::Category),
            "tag" | "product_tag" => Some(Self::Tag),
            _ => None,
        }
    }
}

/// A category or tag that was found.
pub(super) struct Term {
    id: u32,
    pub(super) language: Option<String>,
}

/// The term of a name, or of that name in addresses; in a language where one is asked for and it has a translation.
pub(super) async fn find(
    site: &Site<'_>,
    taxonomy: Taxonomy,
    name: &str,
    language: Option<&str>,
) -> Result<Option<Term>> {
    let translated = site.languages.translates_terms(taxonomy.name());
    let plugin = site.languages.plugin().filter(|_| translated);
    let mut statement = match plugin {
        None => Builder::new(NAMED, params![]),
        Some(Plugin::Polylang) => Builder::new(POLYLANG_NAMED, params![]),
        Some(Plugin::Wpml) => Builder::new(WPML_NAMED, params![taxonomy.name()]),
    };
    let [given, escaped, raw] = spellings(name);
    statement.add(
        OF_NAME,
        params![&given, &escaped, &raw, taxonomy.name(), &given, &escaped, &raw, &given],
    );
    let (sql, params) = statement.finish();
    let found: Vec<(Option<String>, u32, String, bool)> = site.cms.rows(sql, params).await?;
    // The column's collation passes over case and accents; who writes them means them.
    let is_exact = |own: &String| [&given, &escaped, &raw].contains(&own);
    let mut terms: Vec<_> = found.into_iter().collect();
    terms.sort_by_key(|(own, _, name, _)| (language.is_some() && own.as_deref() != language, !is_exact(name)));
    let Some((own, id, ..)) = terms.into_iter().next() else {
        return Ok(None);
    };
    let term = Term { id, language: own };
    match language {
        Some(language) if plugin.is_some() && term.language.as_deref() != Some(language) => {
            Ok(Some(translation(site, &term, language).await?.unwrap_or(term)))
        }
        _ => Ok(Some(term)),
    }
}

async fn translation(site: &Site<'_>, term: &Term, language: &str) -> Result<Option<Term>> {
    let statement = match site.languages.plugin() {
        None => return Ok(None),
        Some(Plugin::Polylang) => POLYLANG_TRANSLATION,
        Some(Plugin::Wpml) => WPML_TRANSLATION,
    };
    let row: Option<(u32, String)> = site.cms.row(statement, params![term.id, language]).await?;
    Ok(row.map(|(id, language)| Term {
        id,
        language: Some(language),
    }))
}

/// The names in addresses of a term and those that it lies under, the outermost first.
pub(super) async fn path(cms: &Cms<'_>, term: &Term) -> Result<Vec<String>> {
    let rows: Vec<(String,)> = cms.rows(PATH, params![term.id]).await?;
    Ok(rows.into_iter().map(|(slug,)| slug).collect())
}

/// Adds to a statement about the terms `t` of a taxonomy that they are of a language, where its terms are translated.
fn only_of_language(statement: &mut Builder, site: &Site<'_>, taxonomy: &str, language: &str) {
    match site
        .languages
        .plugin()
        .filter(|_| site.languages.translates_terms(taxonomy))
    {
        None => {}
        Some(Plugin::Polylang) => {
            statement.add(OF_POLYLANG_LANGUAGE, params![language]);
        }
        Some(Plugin::Wpml) => {
            statement.add(OF_WPML_LANGUAGE, params![taxonomy, language]);
        }
    }
}

/// All categories or tags.
pub(super) async fn get_taxonomies(cx: &Context<'_>, kind: String, language: Option<String>) -> Result<Value> {
    let cms = super::open(cx).await?;
    let Some(taxonomy) = Taxonomy::by_name(&kind) else {
        return Ok(Value::List(Vec::new()));
    };
    let mut statement = Builder::new(TERMS, params![taxonomy.name()]);
    let cms = match language {
        None => cms,
        Some(language) => {
            let site = Site::read(cx, cms, &[]).await?;
            only_of_language(&mut statement, &site, taxonomy.name(), &language);
            site.cms
        }
    };
    statement.add(BY_NAME, params![]);
    let (sql, params) = statement.finish();
    Ok(cms.records(sql, params, NAMES).await?.into())
}

/// The categories and tags of a product.
pub(super) async fn get_product_taxonomies(cx: &Context<'_>, product: CmsId) -> Result<Records> {
    let columns = &["term_id", "name", "slug", "term_group", "taxonomy"];
    super::open(cx)
        .await?
        .records(OF_PRODUCT, params![product], columns)
        .await
}

/// What is asked for of attributes.
pub(super) async fn get_attributes(cx: &Context<'_>, kind: Option<String>, language: Option<String>) -> Result<Value> {
    let cms = super::open(cx).await?;
    if kind.as_deref() == Some("attribute") {
        return Ok(cms.records(ATTRIBUTES, params![], NAMES).await?.into());
    }
    let site = Site::read(cx, cms, &[]).await?;
    let attributes = attributes_with_terms(&site, language.as_deref()).await?;
    if kind.as_deref() != Some("terms") {
        let maps = attributes.into_iter().map(|(taxonomy, [id, name, slug], terms)| {
            let attribute = [("id", id), ("name", name), ("slug", slug), ("terms", terms.into())];
            (Key::from(taxonomy), Value::map(attribute))
        });
        return Ok(Value::Map(maps.collect()));
    }
    let mut names = Records::new(Columns::Static(&["name"]));
    for (_, _, terms) in attributes {
        for mut term in terms.rows() {
            names.push(term.shift_remove(&Key::from("name")));
        }
    }
    Ok(names.into())
}

/// An attribute: its taxonomy, its id, name and slug, and its terms.
type Attribute = (String, [Value; 3], Records);

/// All attributes, and their terms in one query.
async fn attributes_with_terms(site: &Site<'_>, language: Option<&str>) -> Result<Vec<Attribute>> {
    let rows = site.cms.cells(ATTRIBUTES, params![]).await?;
    let rows = rows.into_iter().filter_map(|row| <[Value; 3]>::try_from(row).ok());
    let mut attributes: Vec<Attribute> = rows
        .map(|[id, name, slug]| {
            let taxonomy = format!("pa_{}", slug.as_str().unwrap_or_default());
            (taxonomy, [id, name, slug], Records::new(Columns::Static(NAMES)))
        })
        .collect();
    let mut statement = Builder::new("", params![]);
    for (at, (taxonomy, ..)) in attributes.iter().enumerate() {
        if at > 0 {
            statement.add(" UNION ALL ", params![]);
        }
        statement.add(ATTRIBUTE_TERMS, params![taxonomy]);
        if let Some(language) = language {
            only_of_language(&mut statement, site, taxonomy, language);
        }
    }
    if attributes.is_empty() {
        return Ok(attributes);
    }
    statement.add(" ORDER BY taxonomy, name, term_id", params![]);
    let (sql, params) = statement.finish();
    for row in site.cms.cells(sql, params).await? {
        let Ok([taxonomy, id, name, slug]) = <[Value; 4]>::try_from(row) else {
            continue;
        };
        let mut own = attributes.iter_mut().filter(|(own, ..)| taxonomy.as_str() == Some(own));
        if let Some((_, _, terms)) = own.next() {
            terms.push([id, name, slug]);
        }
    }
    Ok(attributes)
}

/// The attribute that has a term.
pub(super) async fn get_attribute_by_term(cx: &Context<'_>, term: String) -> Result<Option<Value>> {
    let cms = super::open(cx).await?;
    let [given, escaped, raw] = spellings(&term);
    let taxonomies: Vec<(String,)> = cms.rows(TAXONOMIES_OF_TERM, params![given, escaped, raw]).await?;
    let names = taxonomies.iter().filter_map(|(taxonomy,)| taxonomy.strip_prefix("pa_"));
    let mut statement = Builder::new(ATTRIBUTE_OF_TAXONOMIES, params![]);
    statement.list(names).add(" ORDER BY attribute_id LIMIT 1", params![]);
    let (sql, params) = statement.finish();
    let records = cms.records(sql, params, NAMES).await?;
    Ok((!records.is_empty()).then_some(Value::Record(records)))
}

/// The attribute of a name.
pub(super) async fn get_attribute_by_name(cx: &Context<'_>, name: String) -> Result<Option<Value>> {
    let [given, escaped, raw] = spellings(&name);
    let params = params![&given, &escaped, &raw, &given, &given, &given, &escaped, &raw];
    let records = super::open(cx).await?.records(ATTRIBUTE_BY_NAME, params, NAMES).await?;
    Ok((!records.is_empty()).then_some(Value::Record(records)))
}
