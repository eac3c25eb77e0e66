//! The categories of articles.

use std::collections::{BTreeMap, BTreeSet};

use super::CATEGORIES;
use super::saving::Saved;
use crate::contract::args::{Items, field};
use crate::contract::error::{Error, Result};
use crate::contract::{Argument, Key, Map, Value};
use crate::platform::Context;
use crate::platform::db::Transaction;

/// The categories by id and title.
pub(super) async fn get_articles_categories(cx: &Context<'_>) -> Result<Vec<Value>> {
    let stored = stored(cx.stored(CATEGORIES).await?.unwrap_or_default());
    let shown = stored.into_iter().map(|(id, mut category)| {
        let title = field::<String>(&mut category, "title").ok().flatten();
        Value::map([("id", id.into()), ("title", title.unwrap_or_default().into())])
    });
    Ok(shown.collect())
}

/// Puts categories in the place of all there are.
pub(super) async fn save_articles_categories(cx: &Context<'_>, categories: Option<Items>) -> Result<bool> {
    let misshapen = || Error::Argument {
        name: "categories",
        expected: "a list of categories with id and title",
    };
    let Items(categories) = categories.ok_or_else(misshapen)?;
    let mut given = Vec::new();
    for category in categories {
        let mut category = Map::from_value(category).ok_or_else(misshapen)?;
        let mut text = |name| -> Result<String> {
            let text = field::<String>(&mut category, name).map_err(|_| misshapen())?;
            Ok(text.unwrap_or_default())
        };
        let (id, title) = (text("id")?, text("title")?);
        if id.is_empty() && title.is_empty() {
            return Err(misshapen());
        }
        given.push((id, title, category));
    }
    let mut taken: BTreeSet<String> = given.iter().map(|(id, ..)| id.clone()).collect();
    for (id, title, _) in &mut given {
        if id.is_empty() {
            *id = free(&slug(title), &mut taken);
        }
    }
    cx.rewrite(CATEGORIES, |before| {
        // Other keys than ours stay.
        let mut before: BTreeMap<String, Map> = stored(before).into_iter().collect();
        let entries = given.iter().map(|(id, title, further)| {
            let mut entry = before.remove(id).unwrap_or_default();
            entry.extend(further.clone());
            entry.extend([
                (Key::from("id"), id.as_str().into()),
                ("title".into(), title.as_str().into()),
            ]);
            Value::Map(entry)
        });
        Ok((Some(Value::List(entries.collect())), true))
    })
    .await
}

/// Removes the categories that do not stay.
pub(super) async fn keep(transaction: &mut Transaction<'_>, saved: &Saved) -> Result<()> {
    let Some(kept) = &saved.categories else {
        return Ok(());
    };
    let categories = stored(transaction.locked_row(CATEGORIES).await?);
    let left = categories.into_iter().filter(|(id, _)| kept.contains(id));
    let left = left.map(|(_, category)| Value::Map(category)).collect::<Vec<_>>();
    transaction
        .put_rows(&BTreeMap::from([(CATEGORIES.to_owned(), left.into())]))
        .await
}

/// The categories that a row holds, with their ids.
fn stored(row: Value) -> Vec<(String, Map)> {
    let entries = Items::from_value(row).map_or_else(Vec::new, |Items(entries)| entries);
    let identified = |entry: Value| {
        let category = Map::from_value(entry)?;
        let id = category.get(&Key::from("id")).cloned().and_then(String::from_value)?;
        (!id.is_empty()).then_some((id, category))
    };
    entries.into_iter().filter_map(identified).collect()
}

/// `Getting started!` → `getting-started`.
pub(super) fn slug(title: &str) -> String {
    let small = title.to_lowercase();
    let words = small
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// An id that no other category has.
fn free(slug: &str, taken: &mut BTreeSet<String>) -> String {
    let slug = if slug.is_empty() { "category" } else { slug };
    let mut number = 1;
    let mut id = slug.to_owned();
    while !taken.insert(id.clone()) {
        number += 1;
        id = format!("{slug}-{number}");
    }
    id
}
