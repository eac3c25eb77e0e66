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

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;

use sb::contract::error::Exit;
use sb::contract::json as library_json;
use sb::contract::{Arguments, Key, Value as Own};
use sb::platform::context::Request;
use sb::platform::engine::Engine;
use sb::platform::host::{Cookie, Host, PlainHost};
use sb::platform::php_serialize::Serialized;
use serde_json::{Value, json};
use support::bench::Installation;
use support::case::{Given, root};
use support::core::Core;
use support::database::{Database, Server};

/// How the tables are reached.
#[derive(Clone, Copy)]
enum Place {
    /// They are in the service's own database.
    Beside,
    /// In another schema of the server, with another prefix.
    Schema,
    /// In another schema, by a connection of their own.
    Server,
}

/// A shop's database, beside an installation whose users are the shop's.
struct Shop {
    database: Database,
    core: Core,
    schema: String,
    /// The system's user → the service's.
    users: BTreeMap<String, String>,
}

fn fixture(name: &str) -> PathBuf {
    root().join("tests/fixtures/shop").join(name)
}

fn expected(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(fixture(name)).unwrap()).unwrap()
}

/// Loads a dump into a schema, its tables under another prefix than the one that they were written with.
fn load(dump: &str, schema: &str, prefix: &str) {
    let path = fixture(dump);
    let text = if path.extension().is_some_and(|extension| extension == "gz") {
        let output = Command::new("gzip").arg("-dc").arg(path).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    } else {
        std::fs::read_to_string(path).unwrap()
    };
    // The prefix stands in names of tables and in some keys; both follow a quote.
    let mut text = text.replace("`wp_", &format!("`{prefix}"));
    for begin in ["INTO ", "FROM ", "EXISTS ", "TABLE "] {
        text = text.replace(&format!("{begin}wp_"), &format!("{begin}{prefix}"));
    }
    for key in ["capabilities", "user_level", "user_roles"] {
        text = text.replace(&format!("'wp_{key}'"), &format!("'{prefix}{key}'"));
    }
    let mut client = Command::new("mariadb")
        .args(["--no-defaults", "-uroot", "--default-character-set=utf8mb4", "-S"])
        .arg(std::env::var("SB_TEST_SOCKET").unwrap())
        .arg(schema)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    client.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(client.wait().unwrap().success(), "{dump} cannot be loaded");
}

impl Shop {
    fn open(test: &str, dumps: &[&str], place: Place, plugin: &str) -> Self {
        let server = Server::of_environment().unwrap();
        let given = Given::default();
        let mut database = Database::create(&server, &format!("shop: {test}"), &given).unwrap();
        let (schema, prefix) = match place {
            Place::Beside => (database.name.clone(), "wp_"),
            Place::Schema => (format!("{}_site", database.name), "Shop7_2_"),
            Place::Server => (format!("{}_site", database.name), "x"),
        };
        if schema != database.name {
            database.rows(&format!("DROP DATABASE IF EXISTS {schema}")).unwrap();
            database
                .rows(&format!("CREATE DATABASE {schema} CHARACTER SET utf8mb4"))
                .unwrap();
        }
        for dump in dumps {
            load(dump, &schema, prefix);
        }
        let mut cms = json!({"cms-active": [true, "checkbox"], "cms-db-prefix": [prefix, "text"],
            "cms-multilingual-plugin": [plugin, "text"]});
        let set = |cms: &mut Value, name: &str, value: &str| cms[name] = json!([value, "text"]);
        match place {
            Place::Beside => {}
            Place::Schema => set(&mut cms, "cms-db-name", &schema),
            Place::Server => {
                set(&mut cms, "cms-db-name", &schema);
                set(&mut cms, "cms-db-host", &format!("127.0.0.1:{}", server.port));
                set(&mut cms, "cms-db-user", "sb");
                set(&mut cms, "cms-db-password", "secret");
            }
        }
        let settings = json!({"cms": [cms, "multi-input"],
            "shop": [{"shop-active": [true, "checkbox"]}, "multi-input"]});
        let settings = settings.to_string().replace('\'', "''");
        database
            .rows(&format!(
                "UPDATE sb_settings SET value = '{settings}' WHERE name = 'settings'"
            ))
            .unwrap();
        let installation = Installation {
            force_admin: true,
            ..Installation::of(&server, &database)
        };
        let core = Core::open(installation);
        let mut shop = Self {
            database,
            core,
            schema,
            users: BTreeMap::new(),
        };
        assert_eq!(shop.call("sb_cms_synch", &[]), json!(true));
        shop.map_users(prefix);
        shop
    }

    fn map_users(&mut self, prefix: &str) {
        let pairs = self.rows(&format!(
            "SELECT CAST(c.ID AS CHAR) AS cms, CAST(u.id AS CHAR) AS own
                FROM {}.{prefix}users c JOIN sb_users u ON u.email = CONVERT(c.user_email USING utf8mb4)
                    COLLATE utf8mb4_unicode_ci",
            self.schema
        ));
        let pairs = pairs.as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        self.users = pairs.map(|pair| (text(&pair["cms"]), text(&pair["own"]))).collect();
    }

    /// What a function gives, as JSON; an error object is a map of its parts.
    fn call(&self, name: &str, arguments: &[Value]) -> Value {
        let function = sb::functions::find(name).unwrap();
        let arguments = arguments.iter().map(own);
        let value = match self
            .core
            .call(name, arguments)
            .map_or_else(|error| function.exit(error), Exit::Value)
        {
            Exit::Value(value) => value,
            Exit::Object(failure) => Own::Error(Box::new(failure)),
            other @ Exit::Exception(..) => panic!("{name}: {other:?}"),
        };
        serde_json::from_str(&library_json::encode(&value)).unwrap()
    }

    fn rows(&mut self, sql: &str) -> Value {
        let rows = self.database.rows(sql).unwrap();
        serde_json::from_str(&library_json::encode(&rows)).unwrap()
    }

    /// The bytes of a column.
    fn texts(&mut self, sql: &str) -> Vec<Vec<u8>> {
        let Own::List(rows) = self.database.rows(sql).unwrap() else {
            panic!("no rows")
        };
        let first = |row: &Own| match row {
            Own::Map(map) => map.values().next().unwrap().as_bytes().unwrap().to_vec(),
            _ => panic!("no row"),
        };
        rows.iter().map(first).collect()
    }

    /// An argument with the service's user in place of the system's.
    fn argument(&self, value: &Value) -> Value {
        match value.as_str().and_then(|text| text.strip_prefix("cms_user:")) {
            Some(user) => json!(self.users[user]),
            None => value.clone(),
        }
    }

    fn drop(mut self) {
        if self.schema != self.database.name {
            let sql = format!("DROP DATABASE {}", self.schema);
            self.database.rows(&sql).unwrap();
        }
        drop(self.core);
        self.database.drop();
    }
}

/// JSON as a value of the library.
fn own(value: &Value) -> Own {
    library_json::decode(value.to_string().as_bytes()).unwrap()
}

/// Without what the shop's own code only remarks upon.
fn bare(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| !key.starts_with('_'))
            .map(|(key, value)| (key.clone(), bare(value)))
            .collect(),
        Value::Array(items) => items.iter().map(bare).collect(),
        other => other.clone(),
    }
}

/// The ids of a list of records, as a list.
fn ids(value: &Value) -> Vec<String> {
    let items = value.as_array().unwrap_or_else(|| panic!("no list: {value}")).iter();
    let id = |item: &Value| item["id"].as_str().unwrap_or_else(|| item.as_str().unwrap()).to_owned();
    items.map(id).collect()
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items
}

/// A list as a set.
fn set(value: &Value) -> Vec<String> {
    let items = value.as_array().unwrap_or_else(|| panic!("no list: {value}")).iter();
    sorted(items.map(|item| bare(item).to_string()).collect())
}

/// Whether an answer is the expected one, as the case says that they are compared.
fn agrees(case: &Value, got: &Value) -> bool {
    let expect = &case["expect"];
    match case["compare"].as_str() {
        Some("ids") => ids(expect) == ids(got),
        Some("id set") => sorted(ids(expect)) == sorted(ids(got)),
        Some("set" | "set by id" | "set by term_id+taxonomy") => set(expect) == set(got),
        Some("reading") if expect.is_object() => {
            // The shop's own code adds abbreviations to two of the names that Unicode's CLDR has.
            let name = |name: &Value| name.as_str().unwrap().split(" (").next().unwrap().to_owned();
            let pairs = |list: &Value| -> Vec<(String, String)> {
                let pairs = list.as_array().unwrap().iter();
                pairs.map(|pair| (name(&pair[0]), name(&pair[1]))).collect()
            };
            let names: Vec<String> = pairs(&got[1]).into_iter().map(|(name, _)| name).collect();
            pairs(&expect["list"]) == pairs(&got[1])
                && got[0] == json!(names.join(", "))
                && got[2] == expect["excludes"]
        }
        Some("reading") | None => bare(expect) == *got,
        Some(other) => panic!("there is no comparison {other}"),
    }
}

/// Where an answer is another one on purpose, and why.
fn differs_on_purpose(function: &str, case: &Value, got: &Value) -> Option<&'static str> {
    let argument = case["args"][0].as_str().unwrap_or_default();
    match (function, argument) {
        ("sb_cms_get_option", "sb_test_object") if got == "O:8:\"stdClass\":1:{s:1:\"k\";s:1:\"v\";}" => {
            Some("a stored object comes back as its stored text")
        }
        ("sb_cms_get_option", "gmt_offset") if [json!(-4.0), json!(-5.0), json!(1.0), json!(2.0)].contains(got) => {
            Some("the offset is that of today, not of the day when the answers were written")
        }
        ("sb_shop_get_attribute_by_term", "No such term") if *got == json!(false) => {
            Some("the answers do not say what stands for nothing: false does")
        }
        ("sb_shop_get_product", _) if case["expect"].is_null() => {
            // The shop's own code answers with the variation; its rating there is a number.
            let mut variation = case["_woocommerce"].clone();
            variation["rating"] = json!("0");
            (variation == *got).then_some("the answers leave open what a variation is: it is answered as the shop does")
        }
        ("sb_shop_get_session", _) => {
            let mut given = got.clone();
            for key in case["_missing_keys"].as_array()? {
                let empty = given.as_object_mut()?.remove(key.as_str()?)?;
                if empty != json!([]) {
                    return None;
                }
            }
            (bare(&case["expect"]) == given)
                .then_some("what a newer shop leaves out because it is empty is given empty")
        }
        _ => None,
    }
}

/// The cases of each function: passed, and all of them.
#[derive(Default)]
struct Table {
    rows: BTreeMap<String, (usize, usize)>,
    failures: Vec<String>,
    on_purpose: BTreeMap<(String, &'static str), usize>,
}

impl Table {
    fn add(&mut self, function: &str, passed: bool, what: impl FnOnce() -> String) {
        let row = self.rows.entry(function.to_owned()).or_default();
        row.0 += usize::from(passed);
        row.1 += 1;
        if !passed {
            self.failures.push(what());
        }
    }

    fn case(&mut self, function: &str, case: &Value, got: &Value) {
        if !agrees(case, got) {
            if let Some(reason) = differs_on_purpose(function, case, got) {
                *self.on_purpose.entry((function.to_owned(), reason)).or_default() += 1;
            } else {
                self.add(function, false, || {
                    let shown = |value: &Value| value.to_string().chars().take(1500).collect::<String>();
                    let (arguments, expected) = (&case["args"], shown(&bare(&case["expect"])));
                    format!("{function} {arguments}\nexpected {expected}\n     got {}", shown(got))
                });
                return;
            }
        }
        self.add(function, true, String::new);
    }

    /// Prints it, and fails when a case did.
    fn finish(self, title: &str) {
        let mut text = format!("{title}\n");
        for (function, (passed, all)) in &self.rows {
            writeln!(text, "  {function:36} {passed:4}/{all}").unwrap();
        }
        let (passed, all) = self
            .rows
            .values()
            .fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
        writeln!(text, "  {:36} {passed:4}/{all}", "all").unwrap();
        for ((function, reason), times) in &self.on_purpose {
            writeln!(text, "  {times} of {function} differ on purpose: {reason}").unwrap();
        }
        println!("{text}");
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n"));
    }
}

/// The filters of a case by the names that the library has for them.
fn filters(value: &Value) -> Value {
    let Some(map) = value.as_object() else {
        return value.clone();
    };
    map.iter()
        .map(|(key, value)| {
            let key = match key.as_str() {
                "taxonomy:product_cat" => "category",
                "taxonomy:product_tag" => "tag",
                other => other,
            };
            (key.to_owned(), value.clone())
        })
        .collect()
}

/// Functions that write, or whose answers depend on who is active: they have tests of their own.
const APART: [&str; 2] = ["sb_shop_coupon_delete_expired", "sb_cms_language_get_page_id"];

/// Every case of a file of answers.
fn answers(shop: &mut Shop, answers: &Value, table: &mut Table) {
    for (function, cases) in answers.as_object().unwrap() {
        if function.starts_with('_') || APART.contains(&function.as_str()) {
            continue;
        }
        for case in cases.as_array().unwrap() {
            let arguments = case["args"].as_array().unwrap().iter();
            let mut arguments: Vec<Value> = arguments.map(|argument| shop.argument(argument)).collect();
            if function == "sb_shop_get_products" {
                arguments[0] = filters(&arguments[0]);
            }
            let got = shop.call(function, &arguments);
            table.case(function, case, &got);
        }
    }
    pages(shop, answers, table);
    products(shop, answers, table);
    passwords(shop, answers, table);
    customers(shop, answers, table);
}

/// `sb_cms_language_get_page_id` for an active user of each language.
fn pages(shop: &mut Shop, answers: &Value, table: &mut Table) {
    for case in answers["sb_cms_language_get_page_id"].as_array().unwrap() {
        for (language, id) in case["expect"].as_object().unwrap() {
            let sql = format!(
                "REPLACE INTO sb_users_data (user_id, slug, name, value) VALUES (3, 'language', 'Language', '{language}')"
            );
            shop.rows(&sql);
            let login = Own::map([("id", "3".into()), ("user_type", "user".into())]);
            shop.core.begin(login);
            let got = shop.call("sb_cms_language_get_page_id", &[case["args"][0].clone()]);
            table.case(
                "sb_cms_language_get_page_id",
                &json!({"args": case["args"], "expect": id}),
                &got,
            );
        }
    }
    shop.core.begin(Own::Bool(false));
}

/// Every published product, page by page.
fn products(shop: &Shop, answers: &Value, table: &mut Table) {
    let Some(expected) = answers.get("_products").and_then(Value::as_object) else {
        return;
    };
    let mut seen = 0;
    for page in 0.. {
        let list = shop.call("sb_shop_get_products", &[json!([]), json!(page)]);
        let list = list.as_array().unwrap();
        if list.is_empty() {
            break;
        }
        for product in list {
            let id = product["id"].as_str().unwrap();
            let case = json!({"args": [id], "expect": bare(&expected[id])});
            table.case("sb_shop_get_products", &case, product);
            seen += 1;
        }
    }
    assert_eq!(seen, expected.len());
}

/// The passwords of the system open the accounts of the service.
fn passwords(shop: &mut Shop, answers: &Value, table: &mut Table) {
    let Some(passwords) = answers.get("_passwords").and_then(Value::as_array) else {
        return;
    };
    for case in passwords {
        let text = |name: &str| case[name].as_str().unwrap().to_owned();
        let user = shop.users[&text("cms_user")].clone();
        let email = shop.rows(&format!("SELECT email FROM sb_users WHERE id = {user}"))[0]["email"].clone();
        let verify = |password: &str| shop.call("sb_password_verify", &[json!(password), case["hash"].clone()]);
        let what = || format!("the password of {case}");
        table.add("sb_password_verify", verify(&text("plain")) == json!(true), what);
        table.add("sb_password_verify", verify(&text("wrong")) == json!(false), what);
        let login = |password: &str| shop.call("sb_login", &[email.clone(), json!(password)]);
        table.add("sb_login", login(&text("plain"))[0]["id"] == json!(user), what);
        table.add("sb_login", login(&text("wrong")) == json!(false), what);
    }
    shop.core.begin(Own::Bool(false));
}

/// Every customer who has an account.
fn customers(shop: &Shop, answers: &Value, table: &mut Table) {
    let customers = answers.get("_customers").and_then(Value::as_array);
    for customer in customers.into_iter().flatten() {
        if let Some(user) = customer["user_id"].as_str() {
            let case = json!({"args": [user], "expect": customer});
            table.case(
                "sb_shop_get_customer",
                &case,
                &shop.call("sb_shop_get_customer", &[json!(user)]),
            );
        }
    }
}

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
            SELECT CONCAT('u', seq), '$P$B', CONCAT('u', seq), CONCAT('u', seq, '@crowd.test'), '2026-01-01' FROM seq_1_to_1000",
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
