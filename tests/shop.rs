//! The content-management system and the shop on databases that real ones have written, held against the answers of
//! their own code.
//!
//! `tests/support/mariadb cargo test --test shop -- --nocapture` prints a table of the cases of each function. Needs gzip
//! and the client mariadb.

// A test fails by panicking, in its helpers too.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

#[path = "support/answers.rs"]
mod answers;
#[path = "support/shop.rs"]
mod shop;
mod support;

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;

use answers::{Table, agrees, answers};
use sb::contract::{Arguments, Key, Value as Own};
use sb::platform::context::Request;
use sb::platform::engine::Engine;
use sb::platform::host::{Cookie, Host, PlainHost};
use sb::platform::php_serialize::Serialized;
use serde_json::{Value, json};
use shop::{Place, Shop, expected, own};
use support::bench::Installation;
use support::core::Core;
use support::database::Server;

#[track_caller]
fn all_answers(test: &str, dumps: &[&str], files: &[&str], place: Place, plugin: &str) {
    let mut shop = Shop::open(test, dumps, place, plugin);
    let mut table = Table::default();
    for file in files {
        answers(&mut shop, &expected(file), &mut table);
    }
    table.finish(test);
    shop.drop();
}

#[test]
fn orders_among_posts() {
    all_answers("posts", &["woo.sql.gz"], &["EXPECTED.json"], Place::Beside, "");
}

#[test]
fn orders_in_tables_of_their_own() {
    all_answers(
        "tables",
        &["woo_hpos.sql.gz"],
        &["EXPECTED_hpos.json"],
        Place::Beside,
        "",
    );
}

/// Where the tables of the shop were made under another collation than those of the site.
#[test]
fn orders_among_posts_in_another_schema() {
    let mut shop = Shop::open("schema", &["woo.sql.gz"], Place::Schema, "polylang");
    let tables = shop.rows(&format!(
        "SELECT TABLE_NAME AS name FROM information_schema.TABLES
            WHERE TABLE_SCHEMA = '{}' AND TABLE_NAME REGEXP '_(wc|woocommerce)_'",
        shop.schema
    ));
    assert!(tables.as_array().unwrap().len() > 20);
    for table in tables.as_array().unwrap() {
        shop.rows(&format!(
            "ALTER TABLE {}.{} CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
            shop.schema,
            table["name"].as_str().unwrap()
        ));
    }
    let mut table = Table::default();
    answers(&mut shop, &expected("EXPECTED.json"), &mut table);
    table.finish("schema");
    shop.drop();
}

#[test]
fn orders_in_tables_of_their_own_on_another_server() {
    all_answers(
        "server",
        &["woo_hpos.sql.gz"],
        &["EXPECTED_hpos.json"],
        Place::Server,
        "polylang",
    );
}

#[test]
fn the_other_multilingual_plugin() {
    let dumps = ["woo.sql.gz", "wpml_handmade.sql"];
    all_answers("wpml", &dumps, &["wpml_handmade_EXPECTED.json"], Place::Schema, "wpml");
}

/// The answers of the other plugin hold no products: what is in the second language is the same by either.
#[test]
fn the_other_multilingual_plugin_tells_products_and_categories_by_their_language() {
    let dumps = ["woo.sql.gz", "wpml_handmade.sql"];
    let shop = Shop::open("wpml products", &dumps, Place::Beside, "wpml");
    let answers = expected("EXPECTED.json");
    let mut compared = 0;
    for function in ["sb_shop_get_products", "sb_shop_get_taxonomies"] {
        for case in answers[function].as_array().unwrap() {
            let arguments = case["args"].as_array().unwrap();
            if arguments.last() == Some(&json!("it")) {
                let got = shop.call(function, arguments);
                assert!(agrees(case, &got), "{case}\n{got}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 3);
    // Its links lie in folders, the default language in none.
    for (function, arguments, url) in [
        (
            "sb_shop_get_product",
            json!(["947"]),
            "http://shop.test/it/product/it-everyday-watch/",
        ),
        (
            "sb_shop_get_product",
            json!(["34"]),
            "http://shop.test/product/everyday-watch/",
        ),
    ] {
        let product = shop.call(function, arguments.as_array().unwrap());
        assert_eq!(product["url"], json!(url));
    }
    for (arguments, url) in [
        (json!(["cart", "", "it"]), "http://shop.test/it/cart-it/"),
        (
            json!(["category", "Clothing", "it"]),
            "http://shop.test/it/product-category/clothing-it/",
        ),
        (
            json!(["category", "Hoodies"]),
            "http://shop.test/product-category/clothing/hoodies/",
        ),
        (json!(["tag", "new", "it"]), "http://shop.test/it/product-tag/new-it/"),
    ] {
        assert_eq!(shop.call("sb_shop_get_url", arguments.as_array().unwrap()), json!(url));
    }
    shop.drop();
}

/// Structures that the systems have written, read and written again.
#[test]
fn what_is_serialized_stays_byte_by_byte_the_same() {
    for dump in ["woo.sql.gz", "woo_hpos.sql.gz"] {
        let mut shop = Shop::open(&format!("round trip {dump}"), &[dump], Place::Beside, "");
        let mut seen = 0;
        for sql in [
            "SELECT session_value FROM wp_woocommerce_sessions",
            "SELECT option_value FROM wp_options WHERE option_value LIKE 'a:%' OR option_value LIKE 'O:%'",
            "SELECT meta_value FROM wp_postmeta WHERE meta_value LIKE 'a:%'",
            "SELECT meta_value FROM wp_usermeta WHERE meta_value LIKE 'a:%'",
            "SELECT description FROM wp_term_taxonomy WHERE description LIKE 'a:%'",
        ] {
            for text in shop.texts(sql) {
                let value =
                    Serialized::decode(&text).unwrap_or_else(|| panic!("not read: {}", String::from_utf8_lossy(&text)));
                assert_eq!(value.encode(), text);
                seen += 1;
                // A session holds structures as texts.
                let Serialized::Array(entries) = value else { continue };
                for (_, entry) in entries {
                    if let Serialized::Bytes(inner) = entry
                        && let Some(value) = Serialized::decode(&inner)
                    {
                        assert_eq!(value.encode(), inner);
                        seen += 1;
                    }
                }
            }
        }
        assert!(seen > 200, "{seen}");
        shop.drop();
    }
}

/// The rows that the systems write themselves for a page, a post, options and a coupon, beside ours.
#[test]
fn what_is_written_is_what_the_systems_write() {
    for (dump, file, categories) in [
        ("woo.sql.gz", "EXPECTED.json", "34,35"),
        ("woo_hpos.sql.gz", "EXPECTED_hpos.json", "930,931"),
    ] {
        let mut shop = Shop::open(&format!("footprints {dump}"), &[dump], Place::Beside, "");
        let footprints = &expected(file)["_write_footprints"];
        let title = "Héllo \"it's\" & me";
        let page = shop.call(
            "sb_cms_post",
            &[
                json!(title),
                footprints["page"]["post"]["post_content"].clone(),
                json!("page"),
            ],
        );
        let post = shop.call("sb_cms_post", &[json!(title), json!("x"), json!("post")]);
        let anna = shop.rows("SELECT CAST(id AS CHAR) AS id FROM sb_users WHERE email = 'anna.schmidt@example.com'");
        let coupon = shop.call(
            "sb_shop_coupon",
            &[json!(15), json!("3 days"), json!(categories), anna[0]["id"].clone()],
        );
        let coupon_id = shop.rows(&format!(
            "SELECT CAST(ID AS CHAR) AS id FROM wp_posts WHERE post_title = {}",
            coupon[0].to_string().replace('"', "'")
        ))[0]["id"]
            .clone();
        for (name, id) in [("page", &page), ("post", &post), ("coupon", &coupon_id)] {
            let id = id.as_str().unwrap();
            let mut own = shop.rows(&format!("SELECT * FROM wp_posts WHERE ID = {id}"))[0].clone();
            let mut theirs = footprints[name]["post"].clone();
            // Ids and times are others; what a trusted caller writes is stored as it is; any address of one's own will do.
            for column in [
                "ID",
                "guid",
                "post_title",
                "post_date",
                "post_date_gmt",
                "post_modified",
                "post_modified_gmt",
            ] {
                own.as_object_mut().unwrap().remove(column).unwrap();
                theirs.as_object_mut().unwrap().remove(column).unwrap();
            }
            if name == "coupon" {
                // Its name is its code, which is another each time.
                own["post_name"] = theirs["post_name"].clone();
            }
            assert_eq!(own, theirs, "{name}");
        }
        let terms = shop.rows(&format!(
            "SELECT x.taxonomy, t.slug FROM wp_term_relationships r JOIN wp_term_taxonomy x USING (term_taxonomy_id)
                JOIN wp_terms t USING (term_id) WHERE r.object_id = {} ORDER BY x.taxonomy",
            post.as_str().unwrap()
        ));
        assert_eq!(terms, footprints["post"]["terms"]);
        let metas = |rows: &Value| -> BTreeMap<String, Value> {
            let rows = rows.as_array().unwrap().iter();
            rows.map(|row| (row["meta_key"].as_str().unwrap().to_owned(), row["meta_value"].clone()))
                .collect()
        };
        let mut own = metas(&shop.rows(&format!(
            "SELECT meta_key, meta_value FROM wp_postmeta WHERE post_id = {}",
            coupon_id.as_str().unwrap()
        )));
        let mut theirs = metas(&footprints["coupon"]["meta"]);
        assert_eq!(own.remove("_sb_coupon"), Some(json!("1")));
        // Theirs may be used once, and until a day of its own.
        for key in ["usage_limit", "date_expires"] {
            assert!(own.remove(key).is_some() && theirs.remove(key).is_some());
        }
        assert_eq!(own, theirs);
        let options = [
            ("option_array", json!({"k": "ü", "n": [1, 2.5, true, null]})),
            ("option_text", json!("text")),
            ("option_int", json!(7)),
        ];
        for (name, value) in options {
            let option = footprints[name]["option_name"].as_str().unwrap();
            assert!(
                shop.call("sb_cms_update_option", &[json!(option), value.clone()])
                    .is_string()
            );
            let mut own = shop.rows(&format!("SELECT * FROM wp_options WHERE option_name = '{option}'"))[0].clone();
            own["option_id"] = footprints[name]["option_id"].clone();
            assert_eq!(own, footprints[name]);
            let read = shop.call("sb_cms_get_option", &[json!(option)]);
            assert_eq!(read, if value == json!(7) { json!("7") } else { value });
        }
        // The name that a later one of the same title gets.
        let again = shop.call("sb_cms_post", &[json!(title), json!("x"), json!("page")]);
        let name = shop.rows(&format!(
            "SELECT post_name FROM wp_posts WHERE ID = {}",
            again.as_str().unwrap()
        ));
        assert_eq!(name[0]["post_name"], json!("hello-its-me-2"));
        shop.drop();
    }
}

/// Of the coupons that have expired only those that the chat has made go; the answers would have all of them go.
#[test]
fn the_merchants_coupons_stay() {
    for dump in ["woo.sql.gz", "woo_hpos.sql.gz"] {
        let mut shop = Shop::open(&format!("coupons {dump}"), &[dump], Place::Beside, "");
        let codes = "SELECT post_title FROM wp_posts WHERE post_type = 'shop_coupon' ORDER BY ID";
        let before = shop.rows(codes);
        let made = shop.call("sb_shop_coupon", &[json!(15), json!("1 second")]);
        let kept = shop.call("sb_shop_coupon", &[json!(15), json!("1 day")]);
        std::thread::sleep(std::time::Duration::from_millis(2100));
        assert_eq!(shop.call("sb_shop_coupon_delete_expired", &[]), json!(true));
        let after = shop.rows(codes);
        let mut expected = before.as_array().unwrap().clone();
        expected.push(json!({"post_title": kept[0]}));
        assert_eq!(after.as_array().unwrap(), &expected);
        let left = shop.rows(
            "SELECT COUNT(*) AS metas FROM wp_postmeta m LEFT JOIN wp_posts p ON p.ID = m.post_id
                WHERE m.meta_key = '_sb_coupon' AND p.ID IS NULL",
        );
        assert_eq!(left, json!([{"metas": "0"}]), "{made}");
        shop.drop();
    }
}

/// How many statements a call runs. The server writes them down, by connection.
#[test]
fn a_call_takes_few_queries() {
    let mut shop = Shop::open("queries", &["woo_hpos.sql.gz"], Place::Beside, "");
    // Addresses through categories need most.
    shop.rows("UPDATE wp_options SET option_value = '/%postname%/' WHERE option_name = 'permalink_structure'");
    shop.rows("SET GLOBAL log_output = 'TABLE'");
    shop.rows("SET GLOBAL general_log = 'ON'");
    let name = shop.database.name.clone();
    let thread = shop.rows(&format!(
        "SELECT CAST(ID AS CHAR) AS id FROM information_schema.PROCESSLIST WHERE DB = '{name}' AND USER = 'sb'"
    ))[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut counted = Vec::new();
    for (function, arguments, length, most) in [
        ("sb_shop_get_product", vec![json!("930")], 7, 3),
        ("sb_shop_get_products", vec![], 62, 4),
        (
            "sb_shop_get_products",
            vec![json!({"category": "clothing", "tag": "new"}), json!(0), json!("en")],
            2,
            4,
        ),
        ("sb_shop_search_products", vec![json!("a")], 30, 4),
        ("sb_shop_get_order", vec![json!("1057")], 8, 4),
        ("sb_shop_get_product_images", vec![json!("930")], 2, 4),
        ("sb_shop_get_session", vec![json!("300")], 7, 2),
    ] {
        // Each call is a request of its own, which reads the settings anew.
        shop.core.begin(Own::Bool(false));
        shop.rows("TRUNCATE mysql.general_log");
        let got = shop.call(function, &arguments);
        let found = got.as_array().map_or_else(|| got.as_object().unwrap().len(), Vec::len);
        assert!(found >= length, "{function}: {got}");
        let log = shop.rows(&format!(
            "SELECT COUNT(*) AS queries FROM mysql.general_log
                WHERE thread_id = {thread} AND command_type IN ('Execute', 'Query')"
        ));
        let queries: usize = log[0]["queries"].as_str().unwrap().parse().unwrap();
        counted.push((function, queries, most));
    }
    shop.rows("SET GLOBAL general_log = 'OFF'");
    println!("{counted:?}");
    for (function, queries, most) in counted {
        assert!((1..=most).contains(&queries), "{function}: {queries}");
    }
    shop.drop();
}

/// What several do at once, each with a connection of its own.
fn at_once(shop: &Shop, workers: usize, work: impl Fn(&Core) + Sync) {
    let server = Server::of_environment().unwrap();
    let start = Barrier::new(workers);
    thread::scope(|scope| {
        for _ in 0..workers {
            let installation = Installation::of(&server, &shop.database);
            let (work, start) = (&work, &start);
            scope.spawn(move || {
                let core = Core::open(installation);
                core.call("sb_is_user_online", ["0".into()]).unwrap();
                start.wait();
                work(&core);
            });
        }
    });
}

#[test]
fn who_is_taken_over_by_several_at_once_is_taken_over_once() {
    let mut shop = Shop::open("at once", &["woo.sql.gz"], Place::Beside, "");
    let sql = "SELECT COUNT(*) AS users, COUNT(DISTINCT email) AS addresses FROM sb_users WHERE email LIKE '%example%'";
    let before = shop.rows(sql);
    shop.rows("DELETE FROM sb_users WHERE id > 7");
    // More than a few chunks, of which some are broken off by others.
    shop.rows(
        "INSERT INTO wp_users (user_login, user_pass, user_nicename, user_email, user_registered)
            WITH RECURSIVE crowd AS (SELECT 1 AS seq UNION ALL SELECT seq + 1 FROM crowd WHERE seq < 1000)
            SELECT CONCAT('u', seq), '$P$B', CONCAT('u', seq), CONCAT('u', seq, '@crowd.test'), '2026-01-01' FROM crowd",
    );
    at_once(&shop, 4, |core| {
        assert_eq!(core.call("sb_cms_synch", []).unwrap(), Own::Bool(true));
    });
    assert_eq!(shop.rows(sql), before);
    let crowd = "SELECT COUNT(*) AS users, COUNT(DISTINCT email) AS addresses, COUNT(DISTINCT token) AS tokens
        FROM sb_users WHERE email LIKE '%@crowd.test'";
    assert_eq!(
        shop.rows(crowd),
        json!([{"users": "1000", "addresses": "1000", "tokens": "1000"}])
    );
    // And who comes to several pages of the site at once has one account.
    shop.rows("DELETE FROM sb_users WHERE id > 7");
    at_once(&shop, 8, |core| {
        for user in 2..=13 {
            let login = core.call("sb_cms_get_active_user", [Own::Int(user)]).unwrap();
            assert!(login.get(&Key::Int(1)).is_some(), "{user}: {login:?}");
        }
    });
    let known = shop.rows("SELECT COUNT(*) AS users FROM sb_users WHERE id > 7");
    assert_eq!(known, json!([{"users": "12"}]));
    shop.drop();
}

/// A browser that the shop has given a session.
struct Browser {
    host: PlainHost,
    cookie: (String, String),
}

impl Host for Browser {
    fn configured(&self, name: &str) -> Option<String> {
        self.host.configured(name)
    }

    fn global(&self, name: &str) -> Option<Own> {
        self.host.global(name)
    }

    fn set_global(&self, name: &'static str, value: Own) {
        self.host.set_global(name, value);
    }

    fn request(&self, _: &str) -> Option<String> {
        None
    }

    fn cookie(&self, name: &str) -> Option<String> {
        (name == self.cookie.0).then(|| self.cookie.1.clone())
    }

    fn set_cookie(&self, _: Cookie) {}

    fn print(&self, _: String) {}
}

#[test]
fn a_guest_is_known_by_the_shops_cookie_and_nobody_else_is() {
    for (dump, file, guest, joint) in [
        ("woo.sql.gz", "EXPECTED.json", "t_108b0f2284d59193ef0616505857a0", "||"),
        (
            "woo_hpos.sql.gz",
            "EXPECTED_hpos.json",
            "t_4f4543fffd15689f8ee15b68f80505",
            "|",
        ),
    ] {
        let shop = Shop::open(&format!("cookie {dump}"), &[dump], Place::Beside, "");
        let facts = &expected(file)["_facts"];
        let customer = if joint == "|" { "300" } else { "2" };
        for (key, expected) in [
            (guest, json!(guest)),
            // Anybody can write an id into a cookie.
            (customer, json!(false)),
            ("t_00000000000000000000000000000", json!(false)),
            ("t_000000000000000000000000000000", json!(false)),
            ("t_' OR 1=1 -- 0000000000000000000", json!(false)),
            ("", json!(false)),
        ] {
            let installation = Installation::of(&Server::of_environment().unwrap(), &shop.database);
            let value = [key, "1893456000", "1893452400", "0123456789abcdef"].join(joint);
            let name = facts["session_cookie_name"].as_str().unwrap().to_owned();
            let browser = Browser {
                host: PlainHost::new(installation.constants),
                cookie: (name, value),
            };
            let function = sb::functions::find("sb_shop_get_session_key").unwrap();
            let arguments = Arguments::of_values([]);
            let got = function.run(&Engine::default(), &browser, &Request::default(), arguments);
            assert_eq!(got.unwrap(), own(&expected), "{key}");
        }
        shop.drop();
    }
}
