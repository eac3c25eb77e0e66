//! Orders, in either of the two layouts that shops keep them in.

use super::money;
use crate::contract::args::time;
use crate::contract::error::Result;
use crate::contract::ids::{CmsId, UserId};
use crate::contract::value::Columns;
use crate::contract::{Key, Map, Records, Value};
use crate::functions::cms::{Site, id_of};
use crate::params;
use crate::platform::Context;
use crate::platform::cldr::currency_sign;

/// The option that decides: the tables of the newer layout are there before it is used.
const OWN_TABLES: &str = "woocommerce_custom_orders_table_enabled";

/// The currency of orders that do not say theirs.
const CURRENCY: &str = "woocommerce_currency";

const OPTIONS: [&str; 3] = [OWN_TABLES, CURRENCY, money::DECIMALS];

/// The fields of an address, as both layouts name them.
const ADDRESS: [&str; 11] = [
    "first_name",
    "last_name",
    "company",
    "address_1",
    "address_2",
    "city",
    "state",
    "postcode",
    "country",
    "email",
    "phone",
];

/// The field that only a billing address has.
const BILLING_ONLY: &str = "email";

/// What the states of orders begin with.
const STATUS_PREFIX: &str = "wc-";

/// An order in tables of its own, with both addresses.
const IN_TABLES: &str = "
    SELECT CAST(o.date_created_gmt AS CHAR), CAST(o.total_amount AS CHAR), o.status, o.currency,
        b.first_name, b.last_name, b.company, b.address_1, b.address_2, b.city, b.state, b.postcode, b.country, b.email,
        b.phone,
        s.first_name, s.last_name, s.company, s.address_1, s.address_2, s.city, s.state, s.postcode, s.country, NULL,
        s.phone
    FROM {wc_orders} o
    LEFT JOIN {wc_order_addresses} b ON b.order_id = o.id AND b.address_type = 'billing'
    LEFT JOIN {wc_order_addresses} s ON s.order_id = o.id AND s.address_type = 'shipping'
    WHERE o.id = ? AND o.type = 'shop_order' AND o.status <> 'trash'";

/// An order among the posts, with everything that is known of it.
const IN_POSTS: &str = "
    SELECT CAST(p.post_date AS CHAR), p.post_status, m.meta_key, m.meta_value
    FROM {posts} p
    LEFT JOIN {postmeta} m ON m.post_id = p.ID
        AND (m.meta_key IN ('_order_total', '_order_currency')
            OR m.meta_key LIKE '\\_billing\\_%' OR m.meta_key LIKE '\\_shipping\\_%')
    WHERE p.ID = ? AND p.post_type = 'shop_order' AND p.post_status <> 'trash'
    ORDER BY m.meta_id";

/// The lines of an order. Of a product that was deleted the line stays, with the id 0.
const LINES: &str = "
    SELECT i.order_item_name,
        COALESCE((
            SELECT p.ID
            FROM {woocommerce_order_itemmeta} m
            JOIN {posts} p ON p.ID = CAST(m.meta_value AS UNSIGNED) AND p.post_type = 'product'
            WHERE m.order_item_id = i.order_item_id AND m.meta_key = '_product_id'
            LIMIT 1), 0),
        (
            SELECT m.meta_value
            FROM {woocommerce_order_itemmeta} m
            WHERE m.order_item_id = i.order_item_id AND m.meta_key = '_qty'
            ORDER BY m.meta_id
            LIMIT 1),
        (
            SELECT m.meta_value
            FROM {woocommerce_order_itemmeta} m
            WHERE m.order_item_id = i.order_item_id AND m.meta_key = '_line_total'
            ORDER BY m.meta_id
            LIMIT 1)
    FROM {woocommerce_order_items} i
    WHERE i.order_id = ? AND i.order_item_type = 'line_item'
    ORDER BY i.order_item_id";

const OF_CUSTOMER_IN_TABLES: &str = "
    SELECT o.id, CAST(o.date_created_gmt AS CHAR), CAST(o.total_amount AS CHAR), o.status
    FROM {wc_orders} o
    WHERE o.customer_id = ? AND o.type = 'shop_order' AND o.status LIKE 'wc-%'
    ORDER BY o.date_created_gmt DESC, o.id DESC";

/// From the customer on: the other way reads all orders with everything that is known of them.
const OF_CUSTOMER_IN_POSTS: &str = "
    SELECT STRAIGHT_JOIN p.ID, CAST(p.post_date AS CHAR), (
            SELECT t.meta_value
            FROM {postmeta} t
            WHERE t.post_id = p.ID AND t.meta_key = '_order_total'
            ORDER BY t.meta_id
            LIMIT 1),
        p.post_status
    FROM {postmeta} c
    JOIN {posts} p ON p.ID = c.post_id AND p.post_type = 'shop_order' AND p.post_status LIKE 'wc-%'
    WHERE c.meta_key = '_customer_user' AND c.meta_value = ?
    ORDER BY p.post_date DESC, p.ID DESC";

/// An order as either layout has it.
struct Order {
    /// On the site's clocks.
    date: String,
    total: String,
    status: String,
    currency: String,
    billing: Map,
    shipping: Map,
}

/// The site, and how its orders are kept.
struct Book<'a> {
    site: Site<'a>,
    in_tables: bool,
}

impl<'a> Book<'a> {
    async fn open(cx: &'a Context<'_>) -> Result<Self> {
        let cms = super::open(cx).await?;
        let site = Site::read(cx, cms, &OPTIONS).await?;
        Ok(Self {
            in_tables: site.options.text(OWN_TABLES) == "yes",
            site,
        })
    }

    async fn order(&self, id: CmsId) -> Result<Option<Order>> {
        if self.in_tables {
            let rows = self.site.cms.cells(IN_TABLES, params![id]).await?;
            Ok(rows.into_iter().next().map(|row| self.of_tables(row)))
        } else {
            let rows = self.site.cms.cells(IN_POSTS, params![id]).await?;
            Ok(of_posts(rows))
        }
    }

    fn of_tables(&self, row: Vec<Value>) -> Order {
        let mut cells = row.into_iter();
        let mut next = || text(cells.next());
        let (date, total, status, currency) = (self.local(&next()), next(), next(), next());
        let mut address = |is_billing| address(|_| next(), is_billing);
        Order {
            date,
            total,
            status,
            currency,
            billing: address(true),
            shipping: address(false),
        }
    }

    /// A time in UTC, as the site's clocks showed it.
    fn local(&self, utc: &str) -> String {
        match time(utc) {
            Some(utc) => self.site.zone().local(utc).format("%Y-%m-%d %H:%M:%S").to_string(),
            None => utc.to_owned(),
        }
    }

    async fn lines(&self, id: CmsId) -> Result<Records> {
        let decimals = money::decimals(&self.site);
        let mut lines = Records::new(Columns::Static(&["name", "id", "quantity", "price"]));
        for row in self.site.cms.cells(LINES, params![id]).await? {
            let Ok([name, product, quantity, total]) = <[Value; 4]>::try_from(row) else {
                continue;
            };
            let (quantity, total) = (text(Some(quantity)), text(Some(total)));
            let price = money::unit_price(&total, &quantity, decimals);
            lines.push([name, product, quantity.into(), price.into()]);
        }
        Ok(lines)
    }
}

/// An order among the posts: each row has one of its metas.
fn of_posts(rows: Vec<Vec<Value>>) -> Option<Order> {
    let mut metas = Map::new();
    let mut order = None;
    for row in rows {
        let [date, status, key, value] = <[Value; 4]>::try_from(row).ok()?;
        order.get_or_insert_with(|| (text(Some(date)), text(Some(status))));
        // Of several of a key the first counts.
        metas.entry(Key::from(text(Some(key)))).or_insert(value);
    }
    let (date, status) = order?;
    let meta = |key: String| text(metas.get(&Key::from(key)).cloned());
    Some(Order {
        date,
        status,
        total: meta("_order_total".to_owned()),
        currency: meta("_order_currency".to_owned()),
        billing: address(|field| meta(format!("_billing_{field}")), true),
        shipping: address(|field| meta(format!("_shipping_{field}")), false),
    })
}

/// An address, whose fields are asked for in their order.
fn address(mut field: impl FnMut(&str) -> String, is_billing: bool) -> Map {
    let fields = ADDRESS.map(|name| (Key::from(name), Value::from(field(name))));
    let own = fields.into_iter();
    own.filter(|(name, _)| is_billing || *name != Key::from(BILLING_ONLY))
        .collect()
}

fn text(cell: Option<Value>) -> String {
    match cell {
        Some(Value::Bytes(text)) => String::from_utf8_lossy(&text).into_owned(),
        _ => String::new(),
    }
}

/// A status as the shop's own states are written; one that is still being made has none of them.
fn prefixed(status: &str) -> String {
    if status.starts_with(STATUS_PREFIX) {
        status.to_owned()
    } else {
        format!("{STATUS_PREFIX}{status}")
    }
}

/// An order with its lines and addresses.
pub(super) async fn get_order(cx: &Context<'_>, id: CmsId) -> Result<Option<Value>> {
    let book = Book::open(cx).await?;
    let Some(order) = book.order(id).await? else {
        return Ok(None);
    };
    let lines = book.lines(id).await?;
    let currency = match order.currency.as_str() {
        "" => book.site.options.text(CURRENCY),
        own => own.to_owned(),
    };
    Ok(Some(Value::map([
        ("id", id.into()),
        ("date", order.date.into()),
        ("total", money::total(&order.total, money::decimals(&book.site)).into()),
        ("status", prefixed(&order.status).into()),
        ("products", lines.into()),
        ("billing_address", order.billing.into()),
        ("shipping_address", order.shipping.into()),
        ("currency_symbol", currency_sign(&currency).into()),
    ])))
}

/// The orders of a user, the newest first.
pub(super) async fn get_user_orders(cx: &Context<'_>, user: UserId) -> Result<Records> {
    let mut orders = Records::new(Columns::Static(&["id", "date", "total", "status"]));
    let book = Book::open(cx).await?;
    let Some(customer) = id_of(cx, &book.site.cms, user).await? else {
        return Ok(orders);
    };
    let cms = &book.site.cms;
    let rows = if book.in_tables {
        cms.cells(OF_CUSTOMER_IN_TABLES, params![customer]).await?
    } else {
        let customer = customer.number().to_string();
        cms.cells(OF_CUSTOMER_IN_POSTS, params![customer]).await?
    };
    let decimals = money::decimals(&book.site);
    for row in rows {
        let Ok([id, date, total, status]) = <[Value; 4]>::try_from(row) else {
            continue;
        };
        let date = if book.in_tables {
            book.local(&text(Some(date))).into()
        } else {
            date
        };
        orders.push([id, date, money::total(&text(Some(total)), decimals).into(), status]);
    }
    Ok(orders)
}
