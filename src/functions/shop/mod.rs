//! Section "Shop integration": products, orders, carts, coupons and links, on the shop's own tables in the database of
//! the content-management system.

mod coupons;
mod customers;
mod delivery;
mod filters;
mod links;
mod money;
mod orders;
mod products;
mod ratings;
mod terms;

pub(crate) use coupons::delete_expired as delete_expired_coupons;

use crate::contract::args::{Items, Several};
use crate::contract::error::{Error, Result};
use crate::contract::ids::{CmsId, UserId};
use crate::contract::{Map, Value};
use crate::functions;
use crate::platform::Context;
use crate::platform::cms::Cms;

functions! {
    /// Returns the customer whose session it is.
    ///
    /// @param $session_key the key, from sb_shop_get_session_key
    /// @return false for a guest
    /// @errors SBError shop-not-active
    async fn sb_shop_get_customer(session_key: String)
        -> "array{customer_id: string, user_id: string, username: string, first_name: string, last_name: string, email: string, date_last_active: string|null, date_registered: string|null, country: string, postcode: string, city: string, state: string}|false|SBError"
        => customers::get_customer;

    /// Returns the orders of a user, the newest first. The shop knows the user by the e-mail address of its account.
    ///
    /// @param $user_id the user
    /// @return date is that of the site's clocks; status is the stored one: wc-on-hold, wc-processing …
    /// @errors SBError shop-not-active
    async fn sb_shop_get_user_orders(user_id: UserId)
        -> "list<array{id: string, date: string, total: string, status: string}>|SBError" => orders::get_user_orders;

    /// Returns an order.
    ///
    /// @param $order_id the order
    /// @return price is what one costs after discounts, without taxes; the id of a deleted product is 0; date is that of
    ///     the site's clocks
    /// @errors SBError shop-not-active
    async fn sb_shop_get_order(order_id: CmsId)
        -> "array{id: string, date: string, total: string, status: string, products: list<array{name: string, id: string, quantity: string, price: string}>, billing_address: array<string, string>, shipping_address: array<string, string>, currency_symbol: string}|false|SBError"
        => orders::get_order;

    /// Returns a published product, or a variation of one.
    ///
    /// @param $product_id the product
    /// @return price is the stored number, empty when there is none; image is empty when there is none
    /// @errors SBError shop-not-active
    async fn sb_shop_get_product(product_id: CmsId)
        -> "array{id: string, name: string, description: string, price: string, image: string, rating: string, url: string}|false|SBError"
        => products::get_product;

    /// Returns a page of 100 published products, the newest first.
    ///
    /// @param $filters category, tag, attribute_term: slugs, ids or names, with all below them; taxonomy: a map of a
    ///     taxonomy's name to such; attribute: names, or a map of a name to terms; min_price, max_price; stock_status:
    ///     instock, outofstock, onbackorder; featured, on_sale: true; sku; search: a text in the name; include, exclude:
    ///     ids; after, before: a time of the site's clocks; orderby: date, modified, title, id, menu_order, price,
    ///     popularity or rating; order: asc or desc. Lists are arrays or have commas; others are ignored
    /// @param $pagination the page, from 0
    /// @param $language only products of this language
    /// @errors SBError shop-not-active
    async fn sb_shop_get_products(
        filters: Map = [],
        pagination: i64 = 0,
        language: Option<String> = false,
    ) -> "list<array{id: string, name: string, description: string, date: string, price: string, image: string, rating: string, url: string}>|SBError"
        => products::get_products;

    /// Returns the newest 100 published products whose names hold a text; case and accents do not count.
    ///
    /// @param $search the text
    /// @return as sb_shop_get_products
    /// @errors SBError shop-not-active
    async fn sb_shop_search_products(search: String)
        -> "list<array{id: string, name: string, description: string, date: string, price: string, image: string, rating: string, url: string}>|SBError"
        => products::search_products;

    /// Returns all categories or tags of products, by their names.
    ///
    /// @param $type category or tag
    /// @param $language only those of this language
    /// @return names are as stored, with & as &amp;
    /// @errors SBError shop-not-active
    async fn sb_shop_get_taxonomies(r#type: String, language: Option<String> = false)
        -> "list<array{id: string, name: string, slug: string}>|SBError" => terms::get_taxonomies;

    /// Returns the attributes of products that the whole shop knows, and their terms.
    ///
    /// @param $type attribute for the attributes, terms for the names of their terms; not given: both
    /// @param $language only terms of this language, of attributes that are translated
    /// @return both: by the name of the attribute's taxonomy (pa_color)
    /// @errors SBError shop-not-active
    async fn sb_shop_get_attributes(r#type: Option<String> = false, language: Option<String> = false)
        -> "array<string, array{id: string, name: string, slug: string, terms: list<array{id: string, name: string, slug: string}>}>|list<array{name: string}>|list<array{id: string, name: string, slug: string}>|SBError"
        => terms::get_attributes;

    /// Returns the id of the published product of a name; of several the oldest.
    ///
    /// @param $name the name; case and accents count only where another has them
    /// @errors SBError shop-not-active
    async fn sb_shop_get_product_id_by_name(name: String) -> "string|false|SBError"
        => products::get_product_id_by_name;

    /// Returns the URLs of a product's images: the main one, then the gallery.
    ///
    /// @param $product_id the product
    /// @errors SBError shop-not-active
    async fn sb_shop_get_product_images(product_id: CmsId) -> "list<string>|SBError" => products::get_product_images;

    /// Returns the categories and tags of a product.
    ///
    /// @param $product_id the product
    /// @errors SBError shop-not-active
    async fn sb_shop_get_product_taxonomies(product_id: CmsId)
        -> "list<array{term_id: string, name: string, slug: string, term_group: string, taxonomy: 'product_cat'|'product_tag'}>|SBError"
        => terms::get_product_taxonomies;

    /// Returns the attribute that has a term.
    ///
    /// @param $term_name the term: Blue
    /// @errors SBError shop-not-active
    async fn sb_shop_get_attribute_by_term(term_name: String)
        -> "array{id: string, name: string, slug: string}|false|SBError" => terms::get_attribute_by_term;

    /// Returns the attribute of a name.
    ///
    /// @param $name its name, or its slug: Color, color, pa_color
    /// @errors SBError shop-not-active
    async fn sb_shop_get_attribute_by_name(name: String)
        -> "array{id: string, name: string, slug: string}|false|SBError" => terms::get_attribute_by_name;

    /// Says whether a product or variation can be ordered: it is in stock or on backorder.
    ///
    /// @param $product_id the product
    /// @errors SBError shop-not-active
    async fn sb_shop_is_in_stock(product_id: CmsId) -> "bool|SBError" => products::is_in_stock;

    /// Makes a coupon.
    ///
    /// @param $discount percent from 1 to 100
    /// @param $expiration a number and a unit: 2 days, 30 minutes, 45 seconds; also hours, weeks, months (of 30 days) and
    ///     years
    /// @param $product_id ids of products, between commas or as a list; not given: it is good for everything
    /// @param $user_id whom it is made out to, by the e-mail address; not given: it is good for everyone
    /// @return the code and the discount
    /// @errors user-not-found; SBError shop-not-active, invalid-discount, invalid-expiration, missing-email
    async fn sb_shop_coupon(
        discount: Value,
        expiration: String,
        product_id: Several<CmsId> = "",
        user_id: Option<UserId> = "",
    ) -> "array{string, int|float}|'user-not-found'|SBError" => coupons::coupon;

    /// Says whether a coupon is made out to a user, by the e-mail address or a pattern of it.
    ///
    /// @param $user_id the user
    /// @errors SBError shop-not-active
    async fn sb_shop_coupon_check(user_id: UserId) -> "bool|SBError" => coupons::coupon_check;

    /// Deletes the expired coupons that sb_shop_coupon has made; those of the merchant stay.
    ///
    /// @errors SBError shop-not-active
    async fn sb_shop_coupon_delete_expired() -> "true|SBError" => coupons::delete_expired;

    /// Returns the average of ratings; 0 when there are none.
    ///
    /// @param $rating numbers; what is none is left out
    pure fn sb_shop_rating(rating: Items) -> "int|float" => ratings::average;

    /// Returns the URL of a category, a tag or a page of the shop.
    ///
    /// @param $type category, tag, cart, shop, checkout or myaccount
    /// @param $name the category or tag: its name or its slug
    /// @param $language the language of the category, tag or page, where it has a translation
    /// @return empty when there is none
    /// @errors SBError shop-not-active
    async fn sb_shop_get_url(r#type: String, name: String = "", language: Option<String> = false)
        -> "string|SBError" => links::get_url;

    /// Returns the cart of a session.
    ///
    /// What a shop leaves out because it is empty is an empty array. Objects in a session are left out.
    ///
    /// @param $session_key the key; not given: that of the active user
    /// @return false when there is no such session
    /// @errors SBError shop-not-active
    async fn sb_shop_get_session(session_key: Option<String> = false)
        -> "array{cart: array<string, array<string, mixed>>, cart_totals: array<string, mixed>, applied_coupons: list<string>, coupon_discount_totals: array<string, float>, coupon_discount_tax_totals: array<string, float>, removed_cart_contents: array<string, array<string, mixed>>, customer: array<string, mixed>}|false|SBError"
        => customers::get_session;

    /// Returns the key of a user's session in the shop.
    ///
    /// @param $user_id the user; not given: the active user, or the guest whom the browser's cookie of the shop names
    /// @errors SBError shop-not-active
    async fn sb_shop_get_session_key(user_id: Option<UserId> = false) -> "string|false|SBError"
        => customers::get_session_key;

    /// Returns the names of the payment methods that are enabled, in the order of the checkout.
    ///
    /// @errors SBError shop-not-active
    async fn sb_shop_payment_methods() -> "list<string>|SBError" => delivery::payment_methods;

    /// Returns the countries that the shop ships to, by their English names, or says whether it ships to one.
    ///
    /// @param $country_code two letters; not given: the list
    /// @return the names as a text, a list of name and code, and true when the list is of those that it does not ship to
    /// @errors SBError shop-not-active
    async fn sb_shop_shipping_locations(country_code: Option<String> = false)
        -> "array{string, list<array{string, string}>, bool}|bool|SBError" => delivery::shipping_locations;
}

/// The database of the shop, when the integration is active.
async fn open<'a>(cx: &'a Context<'_>) -> Result<Cms<'a>> {
    if cx.settings().await?.is_on("shop-active") {
        return cx.cms().await;
    }
    Err(Error::Refused {
        code: "shop-not-active",
        message: "the shop is not active: see the setting shop-active".into(),
    })
}
