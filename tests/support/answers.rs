//! The answers that the systems' own code gives on these databases, and a table of the cases of each function.

// Each test uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sb::contract::Value as Own;
use serde_json::{Value, json};

use super::shop::Shop;

/// Without what the shop's own code only remarks upon.
pub fn bare(value: &Value) -> Value {
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
pub fn agrees(case: &Value, got: &Value) -> bool {
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
pub struct Table {
    rows: BTreeMap<String, (usize, usize)>,
    failures: Vec<String>,
    on_purpose: BTreeMap<(String, &'static str), usize>,
}

impl Table {
    pub fn add(&mut self, function: &str, passed: bool, what: impl FnOnce() -> String) {
        let row = self.rows.entry(function.to_owned()).or_default();
        row.0 += usize::from(passed);
        row.1 += 1;
        if !passed {
            self.failures.push(what());
        }
    }

    pub fn case(&mut self, function: &str, case: &Value, got: &Value) {
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
    #[allow(clippy::print_stdout)]
    pub fn finish(self, title: &str) {
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
pub fn answers(shop: &mut Shop, answers: &Value, table: &mut Table) {
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
