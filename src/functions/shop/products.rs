//! Products: one, or a page of them, with everything that is shown of a product.

use super::filters::Filters;
use super::links::{self, Address, Bases, Category, url_encoded};
use crate::contract::args::time;
use crate::contract::error::Result;
use crate::contract::ids::CmsId;
use crate::contract::value::Columns;
use crate::contract::{Key, Map, Records, Value, json};
use crate::functions::cms::{Plugin, Site, spellings};
use crate::params;
use crate::platform::Context;
use crate::platform::db::Builder;

/// One product or variation; what belongs to the product as a whole is its owner's.
const ONE: &str = "
    SELECT p.ID, IF(p.post_type = 'product', p.ID, p.post_parent) AS owner, 0 AS sort_key
    FROM {posts} p
    WHERE p.ID = ? AND p.post_type IN ('product', 'product_variation') AND p.post_status = 'publish'";

/// The categories of the products of the page, and those above them.
const PATH: &str = "),
    path AS (
        SELECT page.owner, x.term_id, x.parent, 1 AS own
        FROM page
        JOIN {term_relationships} r ON r.object_id = page.owner
        JOIN {term_taxonomy} x ON x.term_taxonomy_id = r.term_taxonomy_id AND x.taxonomy = 'product_cat'
        UNION
        SELECT path.owner, x.term_id, x.parent, 0
        FROM path
        JOIN {term_taxonomy} x ON x.term_id = path.parent AND x.taxonomy = 'product_cat')";

const NO_PATH: &str = ")";

/// Of what a meta key has several rows, the first counts.
const SHOWN: &str = "
    SELECT p.ID, p.post_title, p.post_content, CAST(p.post_date AS CHAR),
        (
            SELECT m.meta_value
            FROM {postmeta} m
            WHERE m.post_id = p.ID AND m.meta_key = '_price'
            ORDER BY m.meta_id
            LIMIT 1),
        (
            SELECT m.meta_value
            FROM {postmeta} m
            WHERE m.post_id = p.ID AND m.meta_key = '_wc_average_rating'
            ORDER BY m.meta_id
            LIMIT 1),
        (
            SELECT m.meta_value
            FROM {postmeta} m
            WHERE m.post_id = i.ID AND m.meta_key = '_wp_attached_file'
            ORDER BY m.meta_id
            LIMIT 1),
        i.guid, o.post_name, CAST(o.post_date AS CHAR),
        IF(p.ID = o.ID, NULL, (
            SELECT JSON_ARRAYAGG(JSON_ARRAY(m.meta_key, m.meta_value))
            FROM {postmeta} m
            WHERE m.post_id = p.ID AND m.meta_key LIKE 'attribute\\_%' AND m.meta_value <> '')),";

const CATEGORIES: &str = "
        (
            SELECT JSON_ARRAYAGG(JSON_ARRAY(c.term_id, c.parent, c.own, t.slug, HEX(WEIGHT_STRING(t.name))))
            FROM path c
            JOIN {terms} t ON t.term_id = c.term_id
            WHERE c.owner = o.ID),";

const POLYLANG_LANGUAGE: &str = "
        (
            SELECT t.slug
            FROM {term_relationships} r
            JOIN {term_taxonomy} x ON x.term_taxonomy_id = r.term_taxonomy_id AND x.taxonomy = 'language'
            JOIN {terms} t ON t.term_id = x.term_id
            WHERE r.object_id = o.ID
            LIMIT 1)";

const WPML_LANGUAGE: &str = "
        (
            SELECT l.language_code
            FROM {icl_translations} l
            WHERE l.element_type = 'post_product' AND l.element_id = o.ID
            LIMIT 1)";

/// A variation without an image of its own is shown by its product's.
const FROM: &str = "
    FROM page
    JOIN {posts} p ON p.ID = page.ID
    JOIN {posts} o ON o.ID = page.owner AND o.post_type = 'product' AND o.post_status = 'publish'
    LEFT JOIN {posts} i ON i.post_type = 'attachment' AND i.ID = CAST(COALESCE(
        (
            SELECT NULLIF(NULLIF(m.meta_value, ''), '0')
            FROM {postmeta} m
            WHERE m.post_id = p.ID AND m.meta_key = '_thumbnail_id'
            ORDER BY m.meta_id
            LIMIT 1),
        (
            SELECT m.meta_value
            FROM {postmeta} m
            WHERE m.post_id = o.ID AND m.meta_key = '_thumbnail_id'
            ORDER BY m.meta_id
            LIMIT 1)) AS UNSIGNED)";

const BY_NAME: &str = "
    SELECT ID, post_title
    FROM {posts}
    WHERE post_type = 'product' AND post_status = 'publish' AND post_title IN (?, ?, ?)
    ORDER BY ID";

/// The main image, then the gallery: ids, and what addresses are made from.
const IMAGES: &str = "
    SELECT m.meta_key, m.meta_value
    FROM {postmeta} m
    WHERE m.post_id = ? AND m.meta_key IN ('_thumbnail_id', '_product_image_gallery')
    ORDER BY m.meta_key = '_thumbnail_id' DESC, m.meta_id";

const ATTACHMENTS: &str = "
    SELECT CAST(i.ID AS UNSIGNED), (
            SELECT m.meta_value
            FROM {postmeta} m
            WHERE m.post_id = i.ID AND m.meta_key = '_wp_attached_file'
            ORDER BY m.meta_id
            LIMIT 1),
        i.guid
    FROM {posts} i
    WHERE i.post_type = 'attachment' AND i.ID IN ";

/// Of a product in any state, as the shop's own code answers.
const STOCK: &str = "
    SELECT (
            SELECT m.meta_value
            FROM {postmeta} m
            WHERE m.post_id = p.ID AND m.meta_key = '_stock_status'
            ORDER BY m.meta_id
            LIMIT 1)
    FROM {posts} p
    WHERE p.ID = ? AND p.post_type IN ('product', 'product_variation')";

/// How many products a page of a list holds.
const PAGE: u32 = 100;

const LIST: &[&str] = &["id", "name", "description", "date", "price", "image", "rating", "url"];

/// A product.
pub(super) async fn get_product(cx: &Context<'_>, product: CmsId) -> Result<Option<Value>> {
    let site = site(cx).await?;
    let page = Builder::new(ONE, params![product]);
    let product = shown(&site, page, false).await?.rows().next();
    Ok(product.map(|mut product| {
        product.shift_remove(&Key::from("date"));
        Value::Map(product)
    }))
}

/// A page of products.
pub(super) async fn get_products(
    cx: &Context<'_>,
    filters: Map,
    page: i64,
    language: Option<String>,
) -> Result<Records> {
    list(cx, &Filters::read(filters)?, page, language.as_deref()).await
}

/// The newest products whose names hold a text.
pub(super) async fn search_products(cx: &Context<'_>, search: String) -> Result<Records> {
    list(cx, &Filters::search(search)?, 0, None).await
}

async fn list(cx: &Context<'_>, filters: &Filters, page: i64, language: Option<&str>) -> Result<Records> {
    let site = site(cx).await?;
    let page = u32::try_from(page.max(0)).unwrap_or(u32::MAX);
    let page = filters.page(&site, language, page.saturating_mul(PAGE), PAGE).await?;
    shown(&site, page, filters.is_ascending()).await
}

async fn site<'a>(cx: &'a Context<'_>) -> Result<Site<'a>> {
    let cms = super::open(cx).await?;
    Site::read(cx, cms, &links::OPTIONS).await
}

/// The products of a page, in one query.
async fn shown(site: &Site<'_>, page: Builder, ascending: bool) -> Result<Records> {
    let bases = Bases::of(site);
    let through_categories = bases.through_categories(site);
    let mut statement = Builder::new("WITH RECURSIVE page AS (", params![]);
    statement.append(page);
    statement.add(if through_categories { PATH } else { NO_PATH }, params![]);
    statement.add(SHOWN, params![]);
    statement.add(if through_categories { CATEGORIES } else { " NULL," }, params![]);
    let language = match site.languages.plugin() {
        None => " NULL",
        Some(Plugin::Polylang) => POLYLANG_LANGUAGE,
        Some(Plugin::Wpml) => WPML_LANGUAGE,
    };
    statement.add(language, params![]).add(FROM, params![]);
    let order = if ascending {
        " ORDER BY page.sort_key, p.ID"
    } else {
        " ORDER BY page.sort_key DESC, p.ID DESC"
    };
    let (sql, params) = {
        statement.add(order, params![]);
        statement.finish()
    };
    let mut products = Records::new(Columns::Static(LIST));
    for row in site.cms.cells(sql, params).await? {
        if let Ok(row) = <[Value; 13]>::try_from(row) {
            products.push(product(site, &bases, row));
        }
    }
    Ok(products)
}

/// The fields of a product, from the cells of a row.
fn product(site: &Site<'_>, bases: &Bases, row: [Value; 13]) -> [Value; 8] {
    let [
        id,
        title,
        content,
        date,
        price,
        rating,
        file,
        guid,
        name,
        published,
        attributes,
        categories,
        language,
    ] = row;
    let address = Address {
        id: text(&id),
        name: text(&name),
        date: time(&text(&published)),
        language: language.as_str().map(str::to_owned),
        categories: Category::read(&categories),
    };
    let url = with_query(bases.product_link(site, &address), &attributes);
    let image = match guid {
        Value::Null => String::new(),
        guid => site.attachment(&text(&file), &text(&guid)),
    };
    let price = if price == Value::Null { "".into() } else { price };
    let rating = match rating {
        Value::Bytes(text) if !text.is_empty() => Value::Bytes(text),
        _ => "0".into(),
    };
    [id, title, content, date, price, image.into(), rating, url.into()]
}

/// A link with the choices of a variation in its query.
fn with_query(link: String, attributes: &Value) -> String {
    let Some(Value::List(pairs)) = attributes.as_bytes().and_then(json::decode) else {
        return link;
    };
    pairs.into_iter().fold(link, |link, pair| {
        // A server may give what is in the list as the text of it.
        let pair = pair.as_bytes().and_then(json::decode).unwrap_or(pair);
        let part = |at| pair.get(&Key::Int(at)).map(text).unwrap_or_default();
        let joint = if link.contains('?') { '&' } else { '?' };
        format!("{link}{joint}{}={}", url_encoded(&part(0)), url_encoded(&part(1)))
    })
}

/// The text of a cell.
fn text(cell: &Value) -> String {
    cell.as_bytes()
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .unwrap_or_default()
}

/// The id of the product of a name.
pub(super) async fn get_product_id_by_name(cx: &Context<'_>, name: String) -> Result<Option<Value>> {
    let cms = super::open(cx).await?;
    let names = spellings(name.trim());
    let [given, escaped, raw] = &names;
    let rows = cms.cells(BY_NAME, params![given, escaped, raw]).await?;
    // The column's collation passes over case and accents; who writes them means them.
    let is_exact = |row: &&Vec<Value>| row.get(1).is_some_and(|title| names.contains(&text(title)));
    let found = rows.iter().find(is_exact).or_else(|| rows.first());
    Ok(found.and_then(|row| row.first()).cloned())
}

/// The addresses of a product's images.
pub(super) async fn get_product_images(cx: &Context<'_>, product: CmsId) -> Result<Value> {
    let site = site(cx).await?;
    let metas: Vec<(String, Option<String>)> = site.cms.rows(IMAGES, params![product]).await?;
    let mut ids: Vec<u32> = Vec::new();
    for (_, value) in metas {
        let value = value.unwrap_or_default();
        let listed = value.split(',').filter_map(|id| id.trim().parse().ok());
        let new: Vec<u32> = listed.filter(|id| *id != 0 && !ids.contains(id)).collect();
        ids.extend(new);
    }
    if ids.is_empty() {
        return Ok(Value::List(Vec::new()));
    }
    let mut statement = Builder::new(ATTACHMENTS, params![]);
    statement.list(ids.iter().copied());
    let (sql, params) = statement.finish();
    let found: Vec<(u32, Option<String>, String)> = site.cms.rows(sql, params).await?;
    let address = |id: &u32| {
        let (_, file, guid) = found.iter().find(|(own, ..)| own == id)?;
        Some(site.attachment(file.as_deref().unwrap_or_default(), guid).into())
    };
    Ok(Value::List(ids.iter().filter_map(address).collect()))
}

/// Whether a product can be ordered.
pub(super) async fn is_in_stock(cx: &Context<'_>, product: CmsId) -> Result<bool> {
    let cms = super::open(cx).await?;
    let row: Option<(Option<String>,)> = cms.row(STOCK, params![product]).await?;
    Ok(row.is_some_and(|(status,)| status.as_deref() != Some("outofstock")))
}
