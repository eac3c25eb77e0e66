//! Articles as rows of the settings table, each a JSON list.

use std::collections::{BTreeMap, HashSet};

use indexmap::IndexMap;

use super::saving::{Saved, given_article};
use super::{ARTICLES, Article, TRANSLATIONS, Wanted, categories};
use crate::contract::args::Items;
use crate::contract::error::Result;
use crate::contract::language::Language;
use crate::contract::{Argument, Key, Map, Value};
use crate::platform::Context;
use crate::platform::db::Transaction;

/// The articles in a language. All are read: they are one text.
pub(super) async fn found(cx: &Context<'_>, wanted: &Wanted) -> Result<Vec<Article>> {
    let row_of = |language: &Language| format!("{TRANSLATIONS}{}", language.code());
    let mut rows = match wanted {
        Wanted::Original => cx.stored_rows(&[ARTICLES.to_owned()]).await?,
        Wanted::In(languages) => {
            let names = languages.iter().map(row_of).chain([ARTICLES.to_owned()]);
            cx.stored_rows(&names.collect::<Vec<_>>()).await?
        }
        // The row of the articles begins as those of their translations, as does the one of the categories.
        Wanted::All => cx.stored_rows_like(ARTICLES).await?,
    };
    let originals = articles_of(rows.remove(ARTICLES), None);
    if let Wanted::In(languages) = wanted {
        let mut translated: Vec<Vec<Article>> = languages
            .iter()
            .map(|language| articles_of(rows.remove(&row_of(language)), Some(language)))
            .collect();
        let nearest = |original: Article| {
            let translations = translated.iter_mut().flatten();
            let mut own = translations.filter(|translation| translation.id == original.id);
            match own.next() {
                Some(translation) => completed(translation.clone(), original),
                None => original,
            }
        };
        return Ok(originals.into_iter().map(nearest).collect());
    }
    let translations = rows.into_iter().flat_map(|(name, row)| {
        let language = name.strip_prefix(TRANSLATIONS).and_then(Language::exact);
        language.map_or_else(Vec::new, |language| articles_of(Some(row), Some(&language)))
    });
    let known: HashSet<String> = originals.iter().map(|original| original.id.clone()).collect();
    let translations: Vec<Article> = translations.filter(|article| known.contains(&article.id)).collect();
    Ok(originals.into_iter().chain(translations).collect())
}

/// What a translation does not say its original does.
pub(super) fn completed(mut translation: Article, original: Article) -> Article {
    if translation.link.is_empty() {
        translation.link = original.link;
    }
    if translation.categories.is_empty() {
        translation.categories = original.categories;
    }
    translation
}

/// The articles that a row holds. What has no id or is no map is none.
fn articles_of(row: Option<Value>, language: Option<&Language>) -> Vec<Article> {
    let entries = row
        .and_then(Items::from_value)
        .map_or_else(Vec::new, |Items(entries)| entries);
    let article = |entry| {
        let (id, mut article) = given_article(entry).ok()?;
        article.id = id?;
        article.language = language.cloned();
        Some(article)
    };
    entries.into_iter().filter_map(article).collect()
}

/// Stores what is to be saved, within a transaction.
pub(super) async fn store(transaction: &mut Transaction<'_>, saved: &Saved) -> Result<()> {
    // Whoever saves articles waits here for whoever does so already.
    let before = transaction.locked_row(ARTICLES).await?;
    let mut translations = transaction.locked_rows_like(TRANSLATIONS).await?;
    categories::keep(transaction, saved).await?;
    let articles = numbered(&saved.articles, &before);
    let is_known = |entry: &Value| identified(entry).is_some_and(|id| articles.contains_key(&id));
    let mut rows = BTreeMap::new();
    for (language, list) in &saved.translations {
        let name = format!("{TRANSLATIONS}{}", language.code());
        let known: IndexMap<String, &Article> = list
            .iter()
            .filter(|article| articles.contains_key(&article.id))
            .map(|article| (article.id.clone(), article))
            .collect();
        let before = translations.remove(&name).unwrap_or_default();
        rows.insert(name, overlaid(known, before));
    }
    for (name, row) in translations {
        if let Some(Items(entries)) = Items::from_value(row)
            && !entries.iter().all(is_known)
        {
            rows.insert(name, entries.into_iter().filter(is_known).collect::<Vec<_>>().into());
        }
    }
    rows.insert(ARTICLES.to_owned(), overlaid(articles, before));
    transaction.put_rows(&rows).await
}

/// The articles by their ids. One without an id gets the number above all others.
fn numbered<'a>(articles: &'a [(Option<String>, Article)], before: &Value) -> IndexMap<String, &'a Article> {
    let stored = Items::from_value(before.clone()).map_or_else(Vec::new, |Items(entries)| entries);
    let given = articles.iter().filter_map(|(id, _)| id.clone());
    let numbers = stored.iter().filter_map(identified).chain(given);
    let mut last = numbers.filter_map(|id| id.parse::<u32>().ok()).max().unwrap_or(0);
    let mut next = || {
        last = last.saturating_add(1);
        last.to_string()
    };
    articles
        .iter()
        .map(|(id, article)| (id.clone().unwrap_or_else(&mut next), article))
        .collect()
}

/// Articles as their row holds them, each on what was stored of it before: other keys than ours stay.
fn overlaid(articles: IndexMap<String, &Article>, before: Value) -> Value {
    let before = Items::from_value(before).map_or_else(Vec::new, |Items(entries)| entries);
    let mut before: BTreeMap<String, Map> = before
        .into_iter()
        .filter_map(|entry| Some((identified(&entry)?, Map::from_value(entry)?)))
        .collect();
    let entries = articles.into_iter().map(|(id, article)| {
        let mut entry = before.remove(&id).unwrap_or_default();
        let categories = article.categories.iter().map(|id| Value::from(id.as_str()));
        entry.extend([
            (Key::from("id"), id.into()),
            ("title".into(), article.title.as_str().into()),
            ("content".into(), article.content.as_str().into()),
            ("link".into(), article.link.as_str().into()),
            ("categories".into(), categories.collect::<Vec<_>>().into()),
        ]);
        Value::Map(entry)
    });
    Value::List(entries.collect())
}

fn identified(entry: &Value) -> Option<String> {
    let id = entry.get(&Key::from("id")).cloned().and_then(String::from_value);
    id.filter(|id| !id.is_empty())
}
