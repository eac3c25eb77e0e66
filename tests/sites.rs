//! The content-management system and the shop on sites that are set up in other ways than those whose answers there are:
//! other links, languages, networks, time zones, currencies, collations, kinds of products, and parts that are missing.
//!
//! `tests/support/mariadb cargo test --test sites -- --nocapture` prints tables of cases. Needs gzip and the client
//! mariadb.

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/answers.rs"]
mod answers;
#[path = "support/shop.rs"]
mod shop;
mod support;

use answers::{Table, agrees, answers, bare};
use serde_json::{Value, json};
use shop::{Place, Shop, expected};

impl Shop {
    /// Sets options, by way of the library: null takes one away.
    fn set_options(&mut self, options: &Value) {
        for (name, value) in options.as_object().unwrap() {
            if value.is_null() {
                self.rows(&format!("DELETE FROM wp_options WHERE option_name = '{name}'"));
            } else {
                let stored = self.call("sb_cms_update_option", &[json!(name), value.clone()]);
                assert!(stored.is_string(), "{name}: {stored}");
            }
        }
    }

    fn url(&self, arguments: &Value) -> Value {
        self.call("sb_shop_get_url", arguments.as_array().unwrap())
    }

    fn product(&self, id: u32) -> Value {
        self.call("sb_shop_get_product", &[json!(id.to_string())])
    }

    /// The ids of the products that filters leave.
    fn found(&self, filters: Value) -> Vec<String> {
        let list = self.call("sb_shop_get_products", &[filters]);
        let items = list.as_array().unwrap_or_else(|| panic!("no list: {list}")).iter();
        items.map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    }
}

/// What Polylang keeps, with other entries than usual.
fn polylang(changed: &Value) -> Value {
    let mut settings = json!({"default_lang": "en", "force_lang": 1, "hide_default": true, "rewrite": true,
        "post_types": ["product"], "taxonomies": ["product_cat", "product_tag"], "domains": []});
    for (name, value) in changed.as_object().unwrap() {
        settings[name] = value.clone();
    }
    settings
}

/// What WPML keeps.
fn wpml(changed: &Value) -> Value {
    let mut settings = json!({"default_language": "en", "active_languages": ["en", "it"],
        "language_negotiation_type": 1, "urls": {"directory_for_default_language": 0}, "language_domains": {},
        "custom_posts_sync_option": {"post": 1, "page": 1, "product": 1, "attachment": 0},
        "taxonomies_sync_option": {"category": 1, "product_cat": 1, "product_tag": 1, "pa_color": 0}});
    for (name, value) in changed.as_object().unwrap() {
        settings[name] = value.clone();
    }
    settings
}

/// Products in English and Italian, pages, a category below another one, and a tag in Italian.
#[track_caller]
fn links_are(shop: &Shop, what: &str, links: [&str; 6]) {
    let found = [
        shop.product(41)["url"].clone(),
        shop.product(947)["url"].clone(),
        shop.url(&json!(["cart"])),
        shop.url(&json!(["cart", "", "it"])),
        shop.url(&json!(["category", "Hoodies"])),
        shop.url(&json!(["tag", "[it] new", "it"])),
    ];
    assert_eq!(found.map(|url| url.as_str().unwrap().to_owned()), links, "{what}");
}

#[test]
fn links_have_the_structure_of_the_site() {
    let mut shop = Shop::open("links", &["woo.sql.gz"], Place::Beside, "");
    let none = json!(["woocommerce/woocommerce.php"]);
    shop.set_options(&json!({"active_plugins": none}));
    for (options, links) in [
        (
            json!({"permalink_structure": ""}),
            [
                "http://shop.test/?product=cafe-au-lait-bowl",
                "http://shop.test/?product=it-everyday-watch",
                "http://shop.test/?page_id=6",
                "http://shop.test/?page_id=6",
                "http://shop.test/?product_cat=hoodies",
                "http://shop.test/?product_tag=new-it",
            ],
        ),
        (
            json!({"permalink_structure": "/index.php/%year%/%postname%/"}),
            [
                "http://shop.test/index.php/product/cafe-au-lait-bowl/",
                "http://shop.test/index.php/product/it-everyday-watch/",
                "http://shop.test/index.php/cart/",
                "http://shop.test/index.php/cart/",
                "http://shop.test/index.php/product-category/clothing/hoodies/",
                "http://shop.test/index.php/product-tag/new-it/",
            ],
        ),
        // What stands before the names of posts stands before no others.
        (
            json!({"permalink_structure": "/blog/%postname%"}),
            [
                "http://shop.test/product/cafe-au-lait-bowl",
                "http://shop.test/product/it-everyday-watch",
                "http://shop.test/cart",
                "http://shop.test/cart",
                "http://shop.test/product-category/clothing/hoodies",
                "http://shop.test/product-tag/new-it",
            ],
        ),
        (
            json!({"permalink_structure": "/archives/%post_id%", "woocommerce_permalinks":
                {"product_base": "/laden/%product_cat%/", "category_base": "/laden/gruppe/", "tag_base": "marke"}}),
            [
                "http://shop.test/laden/accessories/bags/cafe-au-lait-bowl",
                "http://shop.test/laden/clothing/it-everyday-watch",
                "http://shop.test/cart",
                "http://shop.test/cart",
                "http://shop.test/laden/gruppe/clothing/hoodies",
                "http://shop.test/marke/new-it",
            ],
        ),
        (
            json!({"permalink_structure": "/%postname%/", "woocommerce_permalinks":
                {"product_base": "shop/%year%/%monthnum%/%day%/%post_id%", "category_base": "", "tag_base": ""}}),
            [
                "http://shop.test/shop/2026/01/08/41/cafe-au-lait-bowl/",
                "http://shop.test/shop/~/it-everyday-watch/",
                "http://shop.test/cart/",
                "http://shop.test/cart/",
                "http://shop.test/product-category/clothing/hoodies/",
                "http://shop.test/product-tag/new-it/",
            ],
        ),
        // In a folder, and the system's own files in another one.
        (
            json!({"home": "https://www.shop.test/en-gb/", "siteurl": "https://www.shop.test/en-gb/wp/",
                "woocommerce_permalinks": {"product_base": ""}}),
            [
                "https://www.shop.test/en-gb/product/cafe-au-lait-bowl/",
                "https://www.shop.test/en-gb/product/it-everyday-watch/",
                "https://www.shop.test/en-gb/cart/",
                "https://www.shop.test/en-gb/cart/",
                "https://www.shop.test/en-gb/product-category/clothing/hoodies/",
                "https://www.shop.test/en-gb/product-tag/new-it/",
            ],
        ),
        (
            json!({"woocommerce_permalinks": null, "home": ""}),
            [
                "https://www.shop.test/en-gb/wp/product/cafe-au-lait-bowl/",
                "https://www.shop.test/en-gb/wp/product/it-everyday-watch/",
                "https://www.shop.test/en-gb/wp/cart/",
                "https://www.shop.test/en-gb/wp/cart/",
                "https://www.shop.test/en-gb/wp/product-category/clothing/hoodies/",
                "https://www.shop.test/en-gb/wp/product-tag/new-it/",
            ],
        ),
    ] {
        shop.set_options(&options);
        let day = shop.rows("SELECT DATE_FORMAT(post_date, '%Y/%m/%d/947') AS day FROM wp_posts WHERE ID = 947");
        let links = links.map(|link| link.replace('~', day[0]["day"].as_str().unwrap()));
        links_are(&shop, &options.to_string(), links.each_ref().map(String::as_str));
    }
    assert_eq!(
        shop.call("sb_cms_site_url", &[]),
        json!("https://www.shop.test/en-gb/wp")
    );
    shop.drop();
}

/// Of several categories the newer shop takes the first by name and the older one the one under the latest.
#[test]
fn a_product_lies_in_the_category_that_the_shops_version_takes() {
    let mut shop = Shop::open("categories", &["woo.sql.gz"], Place::Beside, "");
    shop.set_options(&json!({"woocommerce_permalinks": {"product_base": "/%product_cat%"}}));
    for (version, paths) in [
        (
            "7.8.2",
            ["home-living", "accessories/bags", "uncategorized", "clothing"],
        ),
        (
            "9.8.9",
            ["home-living", "accessories/bags", "uncategorized", "clothing"],
        ),
        (
            "9.9.0",
            ["accessories", "accessories/bags", "uncategorized", "clothing/hoodies"],
        ),
        (
            "10.6.2-rc.1",
            ["accessories", "accessories/bags", "uncategorized", "clothing/hoodies"],
        ),
    ] {
        shop.set_options(&json!({"woocommerce_version": version}));
        // 34 is in Clothing; it comes to be in Hoodies too, which lies in it.
        shop.rows("INSERT IGNORE INTO wp_term_relationships (object_id, term_taxonomy_id) VALUES (34, 30)");
        shop.rows("DELETE FROM wp_term_relationships WHERE object_id = 43 AND term_taxonomy_id = 15");
        for (id, path) in [57, 41, 43].into_iter().zip(paths) {
            let url = shop.product(id)["url"].clone();
            assert!(
                url.as_str().unwrap().starts_with(&format!("http://shop.test/{path}/")),
                "{version}: {url}"
            );
        }
    }
    shop.drop();
}

/// The links of three things in the language of the site, and of three in Italian, by what stands before and behind them.
fn links(prefix: &str, it: &str, query: &str) -> [String; 6] {
    [
        format!("{prefix}product/cafe-au-lait-bowl/"),
        format!("{it}product/it-everyday-watch/{query}"),
        format!("{prefix}cart/"),
        format!("{it}cart-it/{query}"),
        format!("{prefix}product-category/clothing/hoodies/"),
        format!("{it}product-tag/new-it/{query}"),
    ]
}

/// Sets a plugin up, and looks whether the links are those.
fn check_links(shop: &mut Shop, option: &str, settings: Value, links: &[String; 6]) {
    let option = json!({option: settings});
    shop.set_options(&option);
    links_are(shop, &option.to_string(), links.each_ref().map(String::as_str));
}

#[test]
fn links_of_languages_have_the_form_that_the_plugin_has() {
    let mut shop = Shop::open("polylang", &["woo.sql.gz"], Place::Beside, "");
    shop.set_options(&json!({"permalink_structure": "/%postname%/"}));
    let home = "http://shop.test/";
    for (settings, expected) in [
        (json!({"force_lang": 0}), links(home, home, "")),
        (json!({}), links(home, "http://shop.test/it/", "")),
        (
            json!({"hide_default": 0}),
            links("http://shop.test/en/", "http://shop.test/it/", ""),
        ),
        (json!({"rewrite": 0}), links(home, "http://shop.test/language/it/", "")),
        (json!({"force_lang": 2}), links(home, "http://it.shop.test/", "")),
        (
            json!({"force_lang": 2, "hide_default": 0}),
            links("http://en.shop.test/", "http://it.shop.test/", ""),
        ),
        (
            json!({"force_lang": 3, "domains": {"en": "http://shop.test", "it": "http://negozio.test"}}),
            links(home, "http://negozio.test/", ""),
        ),
    ] {
        check_links(&mut shop, "polylang", polylang(&settings), &expected);
    }
    // Products that are not translated have no language in their links; pages always do.
    shop.set_options(&json!({"polylang": polylang(&json!({"post_types": [], "taxonomies": []}))}));
    assert_eq!(
        shop.product(947)["url"],
        json!("http://shop.test/product/it-everyday-watch/")
    );
    assert_eq!(
        shop.url(&json!(["cart", "", "it"])),
        json!("http://shop.test/it/cart-it/")
    );
    // Below index.php.
    shop.set_options(&json!({"polylang": polylang(&json!({})), "permalink_structure": "/index.php/%postname%/"}));
    assert_eq!(
        shop.url(&json!(["cart", "", "it"])),
        json!("http://shop.test/index.php/it/cart-it/")
    );
    // Without paths, however the plugin is set up.
    shop.set_options(&json!({"permalink_structure": ""}));
    for form in [1, 2, 3] {
        shop.set_options(
            &json!({"polylang": polylang(&json!({"force_lang": form, "domains": {"it": "http://n.test"}}))}),
        );
        assert_eq!(
            shop.product(947)["url"],
            json!("http://shop.test/?product=it-everyday-watch&lang=it")
        );
        assert_eq!(
            shop.product(41)["url"],
            json!("http://shop.test/?product=cafe-au-lait-bowl")
        );
    }
    shop.drop();
}

#[test]
fn links_of_languages_have_the_form_that_the_other_plugin_has() {
    let home = "http://shop.test/";
    let dumps = ["woo.sql.gz", "wpml_handmade.sql"];
    let mut shop = Shop::open("wpml links", &dumps, Place::Beside, "wpml");
    shop.set_options(&json!({"permalink_structure": "/%postname%/"}));
    for (settings, expected) in [
        (json!({}), links(home, "http://shop.test/it/", "")),
        (
            json!({"urls": {"directory_for_default_language": 1}}),
            links("http://shop.test/en/", "http://shop.test/it/", ""),
        ),
        (
            json!({"language_negotiation_type": 2, "language_domains": {"it": "negozio.test"}}),
            links(home, "http://negozio.test/", ""),
        ),
        (
            json!({"language_negotiation_type": "3", "urls": {"directory_for_default_language": 1}}),
            links(home, home, "?lang=it"),
        ),
    ] {
        check_links(&mut shop, "icl_sitepress_settings", wpml(&settings), &expected);
    }
    assert_eq!(
        shop.call("sb_cms_language_settings", &[]),
        json!({"default": "en", "languages": ["en", "it"], "post-types": ["page", "post", "product"],
            "taxonomies": ["category", "product_cat", "product_tag"], "link-type": 3, "plugin": "wpml"})
    );
    // Where its settings do not list the languages, its table does.
    shop.set_options(&json!({"icl_sitepress_settings": wpml(&json!({"active_languages": []}))}));
    shop.rows("UPDATE wp_icl_languages SET active = 1 WHERE code = 'ja'");
    assert_eq!(
        shop.call("sb_cms_language_settings", &[])["languages"],
        json!(["en", "it", "ja"])
    );
    shop.drop();
}

/// The plugin that runs is the one that counts, unless the settings name one; without one there are no languages.
#[test]
fn without_a_plugin_there_are_no_languages() {
    let dumps = ["woo.sql.gz", "wpml_handmade.sql"];
    let mut shop = Shop::open("plugins", &dumps, Place::Beside, "");
    let all = shop.found(json!([]));
    for (plugins, plugin, italian) in [
        (json!(["woocommerce/woocommerce.php"]), Value::Null, 100),
        (json!(["polylang-pro/polylang.php"]), json!("polylang"), 7),
        (
            json!({"3": "sitepress-multilingual-cms/sitepress.php"}),
            json!("wpml"),
            7,
        ),
        (json!([]), Value::Null, 100),
    ] {
        shop.set_options(&json!({"active_plugins": plugins}));
        let settings = shop.call("sb_cms_language_settings", &[]);
        assert_eq!(
            settings.get("plugin").cloned().unwrap_or_default(),
            plugin,
            "{settings}"
        );
        let list = shop.call("sb_shop_get_products", &[json!([]), json!(0), json!("it")]);
        assert_eq!(list.as_array().unwrap().len(), italian, "{plugins}");
        let terms = shop.call("sb_shop_get_taxonomies", &[json!("category"), json!("it")]);
        assert_eq!(terms.as_array().unwrap().len(), if italian == 7 { 4 } else { 19 });
        assert_eq!(shop.found(json!([])), all);
        let page = if italian == 7 { "cart-it" } else { "cart" };
        let url = shop.url(&json!(["cart", "", "it"]));
        assert!(url.as_str().unwrap().ends_with(&format!("/{page}/")), "{url}");
    }
    for none in ["translatepress", "", "POLYLANG "] {
        let settings = shop.call("sb_cms_language_settings", &[json!(none)]);
        assert_eq!(settings == json!(false), none != "POLYLANG ", "{none}: {settings}");
    }
    shop.drop();
}

#[test]
fn pages_lie_in_each_other_or_in_front() {
    let mut shop = Shop::open("pages", &["woo.sql.gz"], Place::Beside, "");
    shop.set_options(&json!({"permalink_structure": "/%postname%/", "active_plugins": []}));
    shop.rows("UPDATE wp_posts SET post_parent = 6 WHERE ID = 7");
    shop.rows("UPDATE wp_posts SET post_parent = 936, post_name = '%e6%97%a5%e6%9c%ac' WHERE ID = 6");
    assert_eq!(
        shop.url(&json!(["checkout"])),
        json!("http://shop.test/about-us/%e6%97%a5%e6%9c%ac/checkout/")
    );
    // Pages that lie in each other end somewhere too.
    shop.rows("UPDATE wp_posts SET post_parent = 7 WHERE ID = 936");
    assert!(shop.url(&json!(["checkout"])).as_str().unwrap().ends_with("/checkout/"));
    shop.set_options(&json!({"show_on_front": "page", "page_on_front": 5}));
    assert_eq!(shop.url(&json!(["shop"])), json!("http://shop.test/"));
    shop.set_options(&json!({"show_on_front": "posts"}));
    assert_eq!(shop.url(&json!(["shop"])), json!("http://shop.test/shop/"));
    // None is set, it is in the bin, or it is none at all.
    shop.set_options(&json!({"woocommerce_shop_page_id": null, "woocommerce_cart_page_id": "-1"}));
    shop.rows("UPDATE wp_posts SET post_status = 'trash' WHERE ID = 7");
    for kind in ["shop", "cart", "checkout", "no such kind", "siteurl"] {
        assert_eq!(shop.url(&json!([kind])), json!(""), "{kind}");
    }
    shop.drop();
}

#[test]
fn uploads_lie_where_the_options_say() {
    let mut shop = Shop::open("uploads", &["woo.sql.gz"], Place::Beside, "");
    for (options, base) in [
        (json!({"upload_path": "media/files/"}), "http://shop.test/media/files"),
        (
            json!({"upload_path": "/srv/www/wp-content/uploads"}),
            "http://shop.test/wp-content/uploads",
        ),
        (json!({"upload_url_path": "https://cdn.test/u/"}), "https://cdn.test/u"),
    ] {
        shop.set_options(&options);
        assert_eq!(
            shop.call("sb_cms_get_image", &[json!("10")]),
            json!(format!("{base}/2026/11/mug.png"))
        );
    }
    shop.rows(
        "UPDATE wp_postmeta SET meta_value = '/srv/www/wp-content/uploads/2026/11/mug.png'
            WHERE post_id = 10 AND meta_key = '_wp_attached_file'",
    );
    assert_eq!(
        shop.call("sb_cms_get_image", &[json!("10")]),
        json!("https://cdn.test/u/2026/11/mug.png")
    );
    shop.drop();
}

/// The second site of a network: its users are the network's, its uploads lie in a folder of their own.
#[test]
fn a_site_of_a_network_answers_as_one_alone() {
    let mut shop = Shop::open("network", &["woo.sql.gz"], Place::Network, "");
    let text = expected("EXPECTED.json").to_string();
    let text = text.replace("/wp-content/uploads/", "/wp-content/uploads/sites/2/");
    let mut table = Table::default();
    answers(&mut shop, &serde_json::from_str(&text).unwrap(), &mut table);
    table.finish("network");

    // Who has no role on this site is not taken over.
    shop.rows(
        "INSERT INTO wp_users (ID, user_login, user_pass, user_nicename, user_email, user_registered) VALUES
            (900, 'other', '', 'other', 'other@network.test', '2026-01-01'),
            (901, 'member', '', 'member', 'member@network.test', '2026-01-01')",
    );
    shop.rows(
        "INSERT INTO wp_usermeta (user_id, meta_key, meta_value) VALUES
            (900, 'wp_3_capabilities', 'a:1:{s:8:\"customer\";b:1;}'),
            (901, 'wp_2_capabilities', 'a:1:{s:8:\"customer\";b:1;}')",
    );
    assert_eq!(shop.call("sb_cms_synch", &[]), json!(true));
    let taken = shop.rows("SELECT email FROM sb_users WHERE email LIKE '%@network.test'");
    assert_eq!(taken, json!([{"email": "member@network.test"}]));
    assert_eq!(
        shop.call("sb_cms_get_user", &[json!("900")])["email"],
        json!("other@network.test")
    );
    // Its posts are its own, and their author is the network's.
    let login = shop.rows("SELECT CAST(id AS CHAR) AS id, email FROM sb_users WHERE email LIKE 'member@%'")[0].clone();
    shop.core.begin(shop::own(
        &json!({"id": login["id"], "email": login["email"], "user_type": "user"}),
    ));
    let post = shop.call("sb_cms_post", &[json!("Title"), json!("x"), json!("page")]);
    let post = shop.rows(&format!(
        "SELECT CAST(post_author AS CHAR) AS author FROM wp_2_posts WHERE ID = {}",
        post.as_str().unwrap()
    ));
    assert_eq!(post, json!([{"author": "901"}]));
    shop.drop();
}

/// The option decides where orders are, whatever tables there are and whatever lies in them.
#[test]
fn the_option_decides_where_orders_are() {
    let mut shop = Shop::open("both", &["woo_hpos.sql.gz"], Place::Beside, "");
    let answers = expected("EXPECTED_hpos.json");
    shop.rows(
        "UPDATE wp_posts p JOIN wp_wc_orders o ON o.id = p.ID SET p.post_type = o.type, p.post_status = 'wc-failed'
            WHERE p.post_type = 'shop_order_placehold'",
    );
    shop.rows(
        "INSERT INTO wp_postmeta (post_id, meta_key, meta_value)
            SELECT id, '_order_total', '7' FROM wp_wc_orders UNION ALL
            SELECT id, '_customer_user', customer_id FROM wp_wc_orders UNION ALL
            SELECT id, '_billing_city', 'Elsewhere' FROM wp_wc_orders",
    );
    for function in ["sb_shop_get_order", "sb_shop_get_user_orders"] {
        for case in answers[function].as_array().unwrap() {
            let arguments = [shop.argument(&case["args"][0])];
            let got = shop.call(function, &arguments);
            assert!(agrees(case, &got), "{case}\n{got}");
        }
    }
    shop.set_options(&json!({"woocommerce_custom_orders_table_enabled": "no"}));
    let order = shop.call("sb_shop_get_order", &[json!("1057")]);
    assert_eq!(
        [&order["total"], &order["status"], &order["billing_address"]["city"]],
        [&json!("7.00"), &json!("wc-failed"), &json!("Elsewhere")]
    );
    // An order that does not say its currency has the shop's.
    assert_eq!(order["currency_symbol"], json!("£"));
    shop.drop();

    let mut shop = Shop::open("empty tables", &["woo.sql.gz"], Place::Beside, "");
    let answers = expected("EXPECTED.json");
    for table in [
        "wp_wc_orders (id bigint unsigned NOT NULL PRIMARY KEY, status varchar(20), currency varchar(10),
            type varchar(20), tax_amount decimal(26,8), total_amount decimal(26,8), customer_id bigint unsigned,
            billing_email varchar(320), date_created_gmt datetime, date_updated_gmt datetime)",
        "wp_wc_order_addresses (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, order_id bigint unsigned NOT NULL,
            address_type varchar(20), first_name text, last_name text, company text, address_1 text, address_2 text,
            city text, state text, postcode text, country text, email varchar(320), phone varchar(100))",
    ] {
        shop.rows(&format!("CREATE TABLE {table}"));
    }
    for option in [Value::Null, json!("no"), json!(""), json!(false)] {
        shop.set_options(&json!({"woocommerce_custom_orders_table_enabled": option}));
        for case in answers["sb_shop_get_user_orders"].as_array().unwrap() {
            let arguments = [shop.argument(&case["args"][0])];
            let got = shop.call("sb_shop_get_user_orders", &arguments);
            assert!(agrees(case, &got), "{case}\n{got}");
        }
    }
    shop.drop();
}

#[test]
fn orders_have_the_clock_of_the_site() {
    let mut shop = Shop::open("clock", &["woo_hpos.sql.gz"], Place::Beside, "");
    shop.rows("UPDATE wp_wc_orders SET date_created_gmt = '2026-01-15 23:30:00' WHERE id = 1058");
    for (zone, offset, summer, winter) in [
        ("Asia/Kathmandu", "0", "2026-04-15 17:45:00", "2026-01-16 05:15:00"),
        ("America/New_York", "3", "2026-04-15 08:00:00", "2026-01-15 18:30:00"),
        ("", "5.5", "2026-04-15 17:30:00", "2026-01-16 05:00:00"),
        ("", "-9.5", "2026-04-15 02:30:00", "2026-01-15 14:00:00"),
        ("", "", "2026-04-15 12:00:00", "2026-01-15 23:30:00"),
        ("UTC", "0", "2026-04-15 12:00:00", "2026-01-15 23:30:00"),
        ("Mars/Olympus", "1", "2026-04-15 13:00:00", "2026-01-16 00:30:00"),
    ] {
        shop.set_options(&json!({"timezone_string": zone, "gmt_offset": offset}));
        for (order, date) in [("1057", summer), ("1058", winter)] {
            assert_eq!(
                shop.call("sb_shop_get_order", &[json!(order)])["date"],
                json!(date),
                "{zone} {offset}"
            );
        }
        let customer = json!(shop.users["300"]);
        let orders = shop.call("sb_shop_get_user_orders", &[customer]);
        let own = orders.as_array().unwrap().iter().find(|order| order["id"] == "1057");
        assert_eq!(own.unwrap()["date"], json!(summer));
    }
    shop.drop();
}

/// Amounts have the shop's decimals, and no signs, whatever the shop puts around them.
#[test]
fn amounts_have_the_decimals_of_the_shop() {
    let mut shop = Shop::open("amounts", &["woo_hpos.sql.gz"], Place::Beside, "");
    let price = shop.product(930)["price"].clone();
    shop.rows("UPDATE wp_wc_orders SET currency = 'JPY', total_amount = 1500.5 WHERE id = 1057");
    shop.rows(
        "UPDATE wp_woocommerce_order_itemmeta m JOIN wp_woocommerce_order_items i USING (order_item_id)
            SET m.meta_value = IF(m.meta_key = '_qty', '4', '2002')
            WHERE i.order_id = 1057 AND m.meta_key IN ('_qty', '_line_total')",
    );
    for (decimals, total, unit) in [
        (json!(0), "1501", "501"),
        (json!("2"), "1500.50", "500.50"),
        (json!(3), "1500.500", "500.500"),
        (Value::Null, "1500.50", "500.50"),
        (json!("none"), "1500.50", "500.50"),
    ] {
        shop.set_options(
            &json!({"woocommerce_price_num_decimals": decimals, "woocommerce_price_decimal_sep": ",",
            "woocommerce_price_thousand_sep": ".", "woocommerce_currency_pos": "right_space"}),
        );
        let order = shop.call("sb_shop_get_order", &[json!("1057")]);
        assert_eq!(
            [
                &order["total"],
                &order["products"][0]["price"],
                &order["currency_symbol"]
            ],
            [&json!(total), &json!(unit), &json!("¥")],
            "{decimals}"
        );
        assert_eq!(shop.product(930)["price"], price);
    }
    shop.drop();
}

/// Each kind of product, as its rows say.
#[test]
fn products_of_every_kind_are_shown() {
    let mut shop = Shop::open("kinds", &["woo.sql.gz"], Place::Beside, "");
    for kind in ["simple", "variable", "grouped", "external"] {
        let products = shop.rows(&format!(
            "SELECT CAST(p.ID AS CHAR) AS id, p.post_title AS name,
                    COALESCE((SELECT meta_value FROM wp_postmeta WHERE post_id = p.ID AND meta_key = '_price'
                        ORDER BY meta_id LIMIT 1), '') AS price
                FROM wp_posts p
                JOIN wp_term_relationships r ON r.object_id = p.ID
                JOIN wp_term_taxonomy x ON x.term_taxonomy_id = r.term_taxonomy_id AND x.taxonomy = 'product_type'
                JOIN wp_terms t ON t.term_id = x.term_id AND t.slug = '{kind}'
                WHERE p.post_type = 'product' AND p.post_status = 'publish' LIMIT 5"
        ));
        for product in products.as_array().unwrap() {
            let shown = shop.call("sb_shop_get_product", &[product["id"].clone()]);
            for field in ["id", "name", "price"] {
                assert_eq!(shown[field], product[field], "{kind}");
            }
        }
        assert!(!products.as_array().unwrap().is_empty(), "{kind}");
    }
    // On backorder it can be ordered, whatever the count says; a sale that has not begun is none.
    let states = [("onbackorder", true), ("outofstock", false), ("instock", true)];
    for (state, can_be_ordered) in states {
        shop.rows(&format!(
            "UPDATE wp_postmeta SET meta_value = '{state}' WHERE post_id = 34 AND meta_key = '_stock_status'"
        ));
        shop.rows(&format!(
            "UPDATE wp_wc_product_meta_lookup SET stock_status = '{state}', stock_quantity = -3 WHERE product_id = 34"
        ));
        assert_eq!(shop.call("sb_shop_is_in_stock", &[json!("34")]), json!(can_be_ordered));
        for (filter, _) in states {
            let found = shop.found(json!({"stock_status": filter, "include": [34]}));
            assert_eq!(found.len(), usize::from(filter == state));
        }
    }
    shop.rows("DELETE FROM wp_postmeta WHERE post_id = 34 AND meta_key LIKE '%sale_price%'");
    shop.rows(
        "INSERT INTO wp_postmeta (post_id, meta_key, meta_value) VALUES (34, '_sale_price', '0.01'),
            (34, '_sale_price_dates_from', '4000000000'), (34, '_sale_price_dates_to', '4000086400')",
    );
    shop.rows("UPDATE wp_wc_product_meta_lookup SET onsale = 0 WHERE product_id = 34");
    let price = shop.rows("SELECT meta_value AS price FROM wp_postmeta WHERE post_id = 34 AND meta_key = '_price'");
    assert_eq!(shop.product(34)["price"], price[0]["price"]);
    assert_eq!(shop.found(json!({"on_sale": true, "include": [34]})), [""; 0]);
    // What is not published is not there, and a page is no product.
    for id in shop
        .rows("SELECT CAST(ID AS CHAR) AS id FROM wp_posts WHERE post_type = 'product' AND post_status <> 'publish'")
        .as_array()
        .unwrap()
    {
        assert_eq!(shop.call("sb_shop_get_product", &[id["id"].clone()]), json!(false));
    }
    assert_eq!(shop.product(6), json!(false));
    // A product without any of its metas.
    shop.rows("DELETE FROM wp_postmeta WHERE post_id = 35");
    shop.rows("DELETE FROM wp_wc_product_meta_lookup WHERE product_id = 35");
    let bare = shop.product(35);
    assert_eq!(
        [&bare["price"], &bare["image"], &bare["rating"]],
        [&json!(""), &json!(""), &json!("0")]
    );
    assert_eq!(shop.call("sb_shop_get_product_images", &[json!("35")]), json!([]));
    assert_eq!(shop.found(json!({"include": "35"})), ["35"]);
    shop.drop();
}

/// A coupon counts as made out to somebody whatever else restricts it, until it is taken away.
#[test]
fn coupons_that_are_limited_stay_linked_to_their_users() {
    let mut shop = Shop::open("limited", &["woo.sql.gz"], Place::Beside, "");
    let anna = json!(shop.users["2"]);
    let check = |shop: &Shop| shop.call("sb_shop_coupon_check", std::slice::from_ref(&anna));
    assert_eq!(check(&shop), json!(true));
    shop.rows("UPDATE wp_postmeta SET meta_value = '3' WHERE post_id = 556 AND meta_key = 'usage_count'");
    shop.rows("UPDATE wp_postmeta SET meta_value = '1000000000' WHERE post_id = 556 AND meta_key = 'date_expires'");
    assert_eq!(check(&shop), json!(true));
    shop.rows("UPDATE wp_posts SET post_status = 'trash' WHERE ID = 556");
    assert_eq!(check(&shop), json!(false));
    // What the chat makes is a coupon of the shop's own kind, for that address alone.
    let made = shop.call(
        "sb_shop_coupon",
        &[json!(20), json!("2 days"), json!("34, 35"), anna.clone()],
    );
    assert_eq!(made[1], json!(20));
    assert_eq!(check(&shop), json!(true));
    assert_eq!(
        shop.call("sb_shop_coupon_check", &[json!(shop.users["8"])]),
        json!(false)
    );
    let metas = shop.rows(&format!(
        "SELECT m.meta_key, m.meta_value FROM wp_posts p JOIN wp_postmeta m ON m.post_id = p.ID
            WHERE p.post_title = '{}' AND m.meta_key IN ('product_ids', 'customer_email', 'discount_type',
                'coupon_amount', '_sb_coupon') ORDER BY m.meta_key",
        made[0].as_str().unwrap()
    ));
    assert_eq!(
        metas,
        json!([{"meta_key": "_sb_coupon", "meta_value": "1"}, {"meta_key": "coupon_amount", "meta_value": "20"},
            {"meta_key": "customer_email", "meta_value": "a:1:{i:0;s:24:\"anna.schmidt@example.com\";}"},
            {"meta_key": "discount_type", "meta_value": "percent"},
            {"meta_key": "product_ids", "meta_value": "34,35"}])
    );
    shop.drop();
}

#[test]
fn users_who_are_gone_leave_nothing() {
    let mut shop = Shop::open("gone", &["woo.sql.gz"], Place::Beside, "");
    let anna = json!(shop.users["2"]);
    let orders = |shop: &Shop| shop.call("sb_shop_get_user_orders", std::slice::from_ref(&anna));
    assert!(!orders(&shop).as_array().unwrap().is_empty());
    shop.rows("DELETE FROM wp_users WHERE ID = 2");
    assert_eq!(orders(&shop), json!([]));
    assert_eq!(
        shop.call("sb_shop_get_session_key", std::slice::from_ref(&anna)),
        json!(false)
    );
    assert_eq!(shop.call("sb_cms_get_user", &[json!("2")]), json!(false));
    assert_eq!(
        shop.call("sb_cms_get_user_id", &[json!("anna.schmidt@example.com")]),
        json!(false)
    );
    assert_eq!(shop.call("sb_cms_get_active_user", &[json!("2")]), json!(false));
    // The order of one who is gone is there, with who it was.
    let order = expected("EXPECTED.json")["sb_shop_get_order"][0].clone();
    shop.rows("UPDATE wp_postmeta SET meta_value = '4711' WHERE meta_key = '_customer_user'");
    let got = shop.call("sb_shop_get_order", &[order["args"][0].clone()]);
    assert_eq!(got, bare(&order["expect"]));
    assert_eq!(
        shop.call("sb_shop_get_user_orders", &[json!(shop.users["3"])]),
        json!([])
    );
    shop.drop();
}

/// Where a plugin's table is missing, what needs it says so, and the rest goes on.
#[test]
fn what_a_missing_table_takes_with_it() {
    let dumps = ["woo.sql.gz", "wpml_handmade.sql"];
    let mut shop = Shop::open("missing", &dumps, Place::Beside, "wpml");
    let product = shop.product(34);
    let anna = json!(shop.users["2"]);
    let calls: Vec<(&str, &str, Vec<Value>)> = vec![
        ("wc_customer_lookup", "sb_shop_get_customer", vec![json!("2")]),
        (
            "wc_product_meta_lookup",
            "sb_shop_get_products",
            vec![json!({"min_price": 1})],
        ),
        (
            "wc_product_meta_lookup",
            "sb_shop_get_products",
            vec![json!({"orderby": "price"})],
        ),
        ("woocommerce_sessions", "sb_shop_get_session", vec![json!("2")]),
        ("woocommerce_sessions", "sb_shop_get_session_key", vec![anna]),
        ("woocommerce_attribute_taxonomies", "sb_shop_get_attributes", vec![]),
        (
            "woocommerce_attribute_taxonomies",
            "sb_shop_get_attribute_by_name",
            vec![json!("Color")],
        ),
        ("woocommerce_order_items", "sb_shop_get_order", vec![json!("561")]),
        (
            "icl_translations",
            "sb_shop_get_products",
            vec![json!([]), json!(0), json!("it")],
        ),
        (
            "icl_translations",
            "sb_shop_get_url",
            vec![json!("cart"), json!(""), json!("it")],
        ),
    ];
    for (table, function, arguments) in &calls {
        shop.rows(&format!("DROP TABLE IF EXISTS wp_{table}"));
        let got = shop.call(function, arguments);
        let message = got["message"].as_str().unwrap_or_else(|| panic!("{function}: {got}"));
        assert!(message.contains(&format!("wp_{table}")), "{function}: {message}");
    }
    // Without languages nothing needs the plugin's tables, nor without filters those of look-ups.
    shop.set_options(&json!({"icl_sitepress_settings": null}));
    assert_eq!(shop.found(json!([])).len(), 100);
    let clothing = shop.found(json!({"category": "clothing", "orderby": "title"}));
    let cases = expected("EXPECTED.json")["sb_shop_get_products"].clone();
    let case = cases
        .as_array()
        .unwrap()
        .iter()
        .find(|case| case["args"][0]["taxonomy:product_cat"] == "clothing");
    assert_eq!(clothing.len(), case.unwrap()["expect"].as_array().unwrap().len());

    assert_eq!(shop.product(34), product);
    for function in ["sb_shop_payment_methods", "sb_shop_shipping_locations"] {
        assert!(!shop.call(function, &[]).as_array().unwrap().is_empty());
    }
    shop.drop();
}

/// Tables of older sites, which hold no letters of four bytes: the same answers, but for those that have such letters.
#[test]
fn tables_of_another_character_set_give_the_same_answers() {
    let mut shop = Shop::open("utf8mb3", &["woo_hpos.sql.gz"], Place::Beside, "polylang");
    let tables = shop.rows(&format!(
        "SELECT TABLE_NAME AS name FROM information_schema.TABLES
            WHERE TABLE_SCHEMA = '{}' AND TABLE_NAME LIKE 'wp\\_%'",
        shop.schema
    ));
    let mut names = tables
        .as_array()
        .unwrap()
        .iter()
        .map(|table| table["name"].as_str().unwrap());
    assert!(names.clone().count() > 40);
    // What has such letters could not have been stored there. Sessions count their bytes.
    shop.rows("SET SESSION sql_mode = ''");
    let sessions = "wp_woocommerce_sessions";
    for name in names.by_ref().filter(|name| *name != sessions) {
        shop.rows(&format!(
            "ALTER TABLE {name} CONVERT TO CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci"
        ));
    }
    shop.rows("SET SESSION sql_mode = 'STRICT_ALL_TABLES'");
    let mut answers_there = expected("EXPECTED_hpos.json");
    let is_wide = |value: &Value| value.to_string().chars().any(|letter| letter > '\u{ffff}');
    let mut left_out = 0;
    for value in answers_there.as_object_mut().unwrap().values_mut() {
        match value {
            Value::Array(cases) => {
                let before = cases.len();
                cases.retain(|case| !is_wide(case));
                left_out += before - cases.len();
            }
            Value::Object(map) if map.values().any(Value::is_object) => {
                for product in map.values_mut().filter(|product| is_wide(product)) {
                    *product = json!(null);
                }
            }
            _ => {}
        }
    }
    assert!(left_out < 30, "{left_out}");
    answers_there["_products"] = json!(null);
    let mut table = Table::default();
    answers(&mut shop, &answers_there, &mut table);
    table.finish("utf8mb3");
    // Letters of four bytes are looked for and not found.
    assert_eq!(
        shop.call("sb_shop_get_product_id_by_name", &[json!("🦊 fox")]),
        json!(false)
    );
    assert_eq!(shop.call("sb_shop_search_products", &[json!("🦊")]), json!([]));
    // Nor are letters that only Latin tables do not hold.
    shop.rows("SET SESSION sql_mode = ''");
    shop.rows("ALTER TABLE wp_posts CONVERT TO CHARACTER SET latin1");
    shop.rows("SET SESSION sql_mode = 'STRICT_ALL_TABLES'");
    for name in ["日本", "🦊 日本"] {
        assert_eq!(
            shop.call("sb_shop_get_product_id_by_name", &[json!(name)]),
            json!(false)
        );
        assert_eq!(shop.call("sb_shop_search_products", &[json!(name)]), json!([]));
    }
    assert_eq!(
        shop.call("sb_shop_get_product_id_by_name", &[json!("Café au Lait Bowl")]),
        json!("937")
    );
    shop.drop();
}

/// What lies in a session is anybody's: whatever it is, there is a clear answer.
#[test]
fn hostile_sessions_have_clear_answers() {
    let mut shop = Shop::open("hostile", &["woo.sql.gz"], Place::Beside, "");
    let empty = json!({"cart": [], "cart_totals": [], "applied_coupons": [], "coupon_discount_totals": [],
        "coupon_discount_tax_totals": [], "removed_cart_contents": [], "customer": []});
    let deep = format!(
        "a:1:{{s:4:\"cart\";{}N;{}}}",
        "a:1:{i:0;".repeat(2000),
        "}".repeat(2000)
    );
    let long = format!("a:1:{{s:4:\"cart\";s:1100000:\"{}\";}}", "x".repeat(1_100_000));
    let nested = "a:1:{i:0;".repeat(70) + "N;" + &"}".repeat(70);
    let inner = format!("a:1:{{s:4:\"cart\";s:{}:\"{nested}\";}}", nested.len());
    for (what, text) in [
        ("nothing", ""),
        ("no structure", "hello"),
        ("an object", "O:8:\"stdClass\":1:{s:4:\"cart\";s:6:\"a:0:{}\";}"),
        ("a custom object", "C:11:\"ArrayObject\":6:{x:i:0;}"),
        ("a count too large", "a:999999999:{s:4:\"cart\";N;}"),
        ("a negative length", "a:1:{s:-4:\"cart\";N;}"),
        ("a length beyond the end", "a:1:{s:4:\"cart\";s:99:\"x\";}"),
        ("a reference", "a:2:{s:4:\"cart\";a:0:{}s:8:\"customer\";R:1;}"),
        (
            "parts of other kinds",
            "a:3:{s:4:\"cart\";i:5;s:8:\"customer\";b:1;s:11:\"cart_totals\";d:0.5;}",
        ),
        (
            "an object in a part",
            "a:1:{s:4:\"cart\";s:19:\"O:8:\"stdClass\":0:{}\";}",
        ),
        ("something behind its end", "a:0:{}a:0:{}"),
        ("too deep", &deep),
        ("too long", &long),
        ("too deep within", &inner),
    ] {
        shop.rows(&format!(
            "REPLACE INTO wp_woocommerce_sessions (session_key, session_value, session_expiry)
                VALUES ('t_hostile', '{}', 4000000000)",
            text.replace('\\', "\\\\").replace('\'', "''")
        ));
        assert_eq!(shop.call("sb_shop_get_session", &[json!("t_hostile")]), empty, "{what}");
    }
    // What is sound beside it is there.
    shop.rows(
        "REPLACE INTO wp_woocommerce_sessions (session_key, session_value, session_expiry) VALUES ('t_hostile',
            'a:2:{s:4:\"cart\";s:81:\"a:1:{s:1:\"k\";a:2:{s:8:\"quantity\";i:2;s:4:\"data\";O:8:\"stdClass\":1:{s:1:\"a\";r:1;}}}\";s:8:\"customer\";s:9:\"a:1:{i:0;\";}',
            4000000000)",
    );
    let mut sound = empty.clone();
    sound["cart"] = json!({"k": {"quantity": 2}});
    assert_eq!(shop.call("sb_shop_get_session", &[json!("t_hostile")]), sound);
    for key in ["t_' OR 1=1 -- ", "t_hostile\u{0}", "T_HOSTILE", "%", "t_hostil_"] {
        assert_eq!(shop.call("sb_shop_get_session", &[json!(key)]), json!(false), "{key}");
    }
    shop.drop();
}
