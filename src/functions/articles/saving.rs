//! Saving articles: what is given is read and checked as a whole before anything is stored.

use super::{Article, TABLE, content, rows, table};
use crate::contract::args::{Items, Kept, Texts, field};
use crate::contract::error::{Error, Result};
use crate::contract::language::Language;
use crate::contract::{Argument, Map, Value};
use crate::platform::Context;
use crate::platform::db::OnUnknown;

/// What is to be stored.
pub(super) struct Saved {
    /// The articles, and their ids where they have one.
    pub articles: Vec<(Option<String>, Article)>,
    /// Which categories stay; none given: all.
    pub categories: Option<Vec<String>>,
    /// The translations, each with the id of its original.
    pub translations: Vec<(Language, Vec<Article>)>,
}

/// Puts articles in the place of all there are.
pub(super) async fn save_articles(
    cx: &Context<'_>,
    articles: Option<Items>,
    categories: Option<Kept>,
    translations: Map,
) -> Result<bool> {
    // Who passes false for a list that was not read means no deletion of all there are.
    let Items(articles) = articles.ok_or(NO_LIST)?;
    let categories = categories.map(Kept::into_texts);
    let keeps = |article: &mut Article| {
        if let Some(kept) = &categories {
            article.categories.retain(|category| kept.contains(category));
        }
    };
    let articles = articles.into_iter().map(|article| {
        let (id, mut article) = checked(article, "articles")?;
        keeps(&mut article);
        Ok((id, article))
    });
    let articles = articles.collect::<Result<Vec<_>>>()?;
    let translations = translations.into_iter().map(|(code, list)| {
        let code = code.to_text();
        let language = Language::exact(&code).ok_or_else(|| Error::invalid_language(&code))?;
        let Items(list) = Items::from_value(list).ok_or(MISSHAPEN)?;
        let list = list.into_iter().map(|translation| {
            let mut translation = Map::from_value(translation).ok_or(MISSHAPEN)?;
            let parent = field::<String>(&mut translation, "parent_id")?.filter(|id| !id.is_empty());
            let (id, mut article) = checked(translation.into(), "translations")?;
            // A translation that names no original is a translation of nothing.
            article.id = parent.or(id).ok_or(MISSHAPEN)?;
            keeps(&mut article);
            Ok(article)
        });
        Ok((language, list.collect::<Result<Vec<_>>>()?))
    });
    let translations = translations.collect::<Result<Vec<_>>>()?;
    let saved = Saved {
        articles,
        categories: categories.clone(),
        translations,
    };
    let database = cx.database()?;
    let in_table = database.has(TABLE).await?;
    if in_table {
        table::check(&saved)?;
    }
    let now = cx.now();
    database
        .transaction(OnUnknown::Repeat, async |transaction| {
            // To store it again changes nothing but what was stored.
            if in_table {
                table::store(transaction, &saved, now).await
            } else {
                rows::store(transaction, &saved).await
            }
        })
        .await?;
    Ok(true)
}

const MISSHAPEN: Error = Error::Argument {
    name: "translations",
    expected: "a map of language code to articles with the ids of their originals",
};

const NO_LIST: Error = Error::Argument {
    name: "articles",
    expected: "a list of articles",
};

/// An article as it may be stored, and its id.
fn checked(article: Value, argument: &'static str) -> Result<(Option<String>, Article)> {
    let misshapen = Error::Argument {
        name: argument,
        expected: "articles with title, content, link and categories",
    };
    let (id, mut article) = given_article(article).map_err(|_| misshapen.clone())?;
    if id.is_none() && article.title.is_empty() && article.content.is_empty() {
        return Err(misshapen);
    }
    if !content::is_harmless(&article.link) {
        return Err(Error::Refused {
            code: "invalid-link",
            message: format!("{:?} is no http(s) link", article.link),
        });
    }
    article.content = content::cleaned(&article.content);
    Ok((id, article))
}

/// An article as callers and rows have it, and its id. What is missing is empty.
pub(super) fn given_article(article: Value) -> Result<(Option<String>, Article)> {
    let mut article = Map::from_value(article).ok_or(NO_LIST)?;
    let mut text = |name| field::<String>(&mut article, name).map(Option::unwrap_or_default);
    let id = text("id")?;
    let (title, content, link) = (text("title")?, text("content")?, text("link")?);
    let categories = field::<Texts>(&mut article, "categories")?.map_or_else(Vec::new, |Texts(ids)| ids);
    let article = Article {
        id: String::new(),
        title,
        content,
        link,
        categories: categories.into_iter().filter(|id| !id.is_empty()).collect(),
        language: None,
    };
    Ok((Some(id).filter(|id| !id.is_empty()), article))
}
