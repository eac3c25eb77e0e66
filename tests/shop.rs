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

use sb::contract::error::Exit;
use sb::contract::json as library_json;
use sb::contract::{Key, Map, Value as Own};
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

#[test]
fn orders_among_posts_in_another_schema() {
    all_answers("schema", &["woo.sql.gz"], &["EXPECTED.json"], Place::Schema, "polylang");
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

/// What the map of a serialized value holds.
fn decoded(text: &Value) -> Own {
    let stored = Serialized::decode(text.as_str().unwrap().as_bytes()).unwrap();
    stored.into_value().unwrap()
}

#[test]
fn an_array_of_an_option_keeps_its_keys() {
    let Own::Map(map) = decoded(&json!("a:2:{s:1:\"a\";i:1;i:7;N;}")) else {
        panic!("no map")
    };
    assert_eq!(
        map,
        Map::from_iter([(Key::from("a"), Own::Int(1)), (Key::Int(7), Own::Null)])
    );
}
