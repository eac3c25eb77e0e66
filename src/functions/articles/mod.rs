//! Section "Settings, articles, automations and utilities": the articles of the knowledge base.
//!
//! Where the database has the table sb_articles they are its rows (`table.rs`), else rows of the settings (`rows.rs`).

mod categories;
mod content;
mod ratings;
mod rows;
mod saving;
mod table;

use crate::contract::args::{Items, Kept, OneOrSeveral};
use crate::contract::error::Result;
use crate::contract::language::Language;
use crate::contract::{Key, Map, Value};
use crate::functions;
use crate::platform::Context;

functions! {
    /// Returns articles.
    ///
    /// @param $id an id, or several as a list or between commas; not given: all
    /// @param $count how many at most; not given: all
    /// @param $full true for the whole content; else it is the beginning of its text, up to 100 characters
    /// @param $categories true to return the categories too
    /// @param $articles_language a language code: each article in that language where it is translated, else in the
    ///     default language; all: every article in every language, each with its language and the id of its original
    ///     as parent_id
    /// @return for one id that article, or false; with $categories a pair of that and the list of categories
    async fn sb_get_articles(
        id: Option<OneOrSeveral> = false,
        count: Option<i64> = false,
        full: bool = false,
        categories: bool = false,
        articles_language: Option<String> = false,
    ) -> "list<Article>|Article|array{list<Article>|Article|false, list<ArticleCategory>}|false|SBError" => get_articles;

    /// Saves all articles. Either all of it is stored or nothing.
    ///
    /// Of the HTML of a content only harmless elements, attributes and links are kept.
    ///
    /// @param $articles list of articles, which takes the place of all there are; one without an id gets one
    /// @param $categories the ids of the categories to keep; delete_all for none; not given: all
    /// @param $translations map of language code to list of articles, each with the id of its original as id or
    ///     parent_id, which take the place of all in that language; those of other languages stay while their originals do
    /// @errors SBError security-error, invalid-language, invalid-link, too-long
    async fn sb_save_articles(
        articles: Option<Items>,
        categories: Option<Kept> = false,
        translations: Map = false,
    ) -> "true|SBError" => saving::save_articles, protected;

    /// Returns the articles in whose title or content a text occurs, as sb_get_articles lists them.
    ///
    /// @param $search the text, up to 200 characters; case does not count
    /// @param $articles_language as of sb_get_articles
    async fn sb_search_articles(
        search: String,
        articles_language: Option<String> = false,
    ) -> "list<Article>|SBError" => search_articles;

    /// Returns the categories of articles.
    async fn sb_get_articles_categories() -> "list<ArticleCategory>|SBError" => categories::get_articles_categories;

    /// Saves the categories of articles.
    ///
    /// @param $categories list of categories, which takes the place of all there are; one without an id gets one after
    ///     its title
    /// @errors SBError security-error
    async fn sb_save_articles_categories(categories: Option<Items>) -> "true|SBError"
        => categories::save_articles_categories, protected;

    /// Returns or adds ratings of an article.
    ///
    /// @param $article_id the article
    /// @param $rating 1 for a positive, 0 for a negative rating to add
    /// @return without a rating the list of ratings, 1 or -1 each; else true
    /// @errors invalid-rating; SBError too-long
    async fn sb_article_ratings(article_id: String, rating: Value = false) -> "list<1|-1>|true|'invalid-rating'|SBError"
        => ratings::article_ratings;
}

/// The rows of the articles and their categories.
const ARTICLES: &str = "articles";
const CATEGORIES: &str = "articles-categories";
/// The rows of translated articles, each behind its language code.
const TRANSLATIONS: &str = "articles-translations-";

/// The table of the articles, in younger databases.
const TABLE: &str = "sb_articles";

/// Longer texts are not searched for.
const SEARCH_LIMIT: usize = 200;

/// An article, or the translation of one.
#[derive(Debug, Clone, PartialEq)]
struct Article {
    /// The id of the original.
    id: String,
    title: String,
    content: String,
    link: String,
    categories: Vec<String>,
    /// Of a translation.
    language: Option<Language>,
}

/// In which language articles are wanted.
#[derive(Debug, Clone, PartialEq)]
enum Wanted {
    /// As they were written.
    Original,
    /// In the first of these that there is, else as they were written.
    In(Vec<Language>),
    /// In every language.
    All,
}

impl Wanted {
    fn read(language: Option<&str>) -> Self {
        match language {
            Some("all") => Self::All,
            Some(code) => Language::read(code).map_or(Self::Original, |language| Self::In(language.with_primary())),
            None => Self::Original,
        }
    }
}

/// What is looked for. A store need not look as closely as that: what it finds is looked at again.
#[derive(Default)]
struct Sought {
    ids: Option<Vec<String>>,
    text: Option<String>,
}

impl Article {
    /// As it leaves.
    fn into_value(self, full: bool, with_language: bool) -> Value {
        let content = if full {
            self.content
        } else {
            content::excerpt(&self.content)
        };
        let categories = self.categories.into_iter().map(Value::from).collect::<Vec<_>>();
        let mut article = Map::from_iter([
            (Key::from("id"), self.id.as_str().into()),
            ("title".into(), self.title.into()),
            ("content".into(), content.into()),
            ("link".into(), self.link.into()),
            ("categories".into(), categories.into()),
        ]);
        if with_language {
            let (code, parent) = match &self.language {
                Some(language) => (language.code(), self.id.as_str()),
                None => ("", ""),
            };
            article.insert("language".into(), code.into());
            article.insert("parent_id".into(), parent.into());
        }
        article.into()
    }

    /// Whether the text, in small letters, occurs in it.
    fn holds(&self, text: &str) -> bool {
        self.title.to_lowercase().contains(text) || content::text(&self.content).to_lowercase().contains(text)
    }
}

async fn get_articles(
    cx: &Context<'_>,
    id: Option<OneOrSeveral>,
    count: Option<i64>,
    full: bool,
    categories: bool,
    language: Option<String>,
) -> Result<Value> {
    let wanted = Wanted::read(language.as_deref());
    let with_language = wanted == Wanted::All;
    let is_one = matches!(id, Some(OneOrSeveral::One(_)));
    let ids = id.map(OneOrSeveral::into_texts);
    let sought = Sought {
        ids: ids.clone(),
        text: None,
    };
    let mut found = found(cx, &wanted, &sought).await?;
    if let Some(ids) = &ids {
        found.retain(|article| ids.contains(&article.id));
        // In the order that was asked for.
        found.sort_by_key(|article| ids.iter().position(|id| *id == article.id));
    }
    if let Some(count) = count
        .and_then(|count| usize::try_from(count).ok())
        .filter(|count| *count > 0)
    {
        found.truncate(count);
    }
    let mut articles = found.into_iter().map(|article| article.into_value(full, with_language));
    let articles = if is_one && !with_language {
        articles.next().into()
    } else {
        Value::List(articles.collect())
    };
    Ok(if categories {
        let categories = categories::get_articles_categories(cx).await?;
        Value::List(vec![articles, categories.into()])
    } else {
        articles
    })
}

async fn search_articles(cx: &Context<'_>, search: String, language: Option<String>) -> Result<Vec<Value>> {
    let text = search.trim().to_lowercase();
    if text.is_empty() || text.chars().nth(SEARCH_LIMIT).is_some() {
        return Ok(Vec::new());
    }
    let wanted = Wanted::read(language.as_deref());
    let sought = Sought {
        ids: None,
        text: Some(text.clone()),
    };
    let mut found = found(cx, &wanted, &sought).await?;
    found.retain(|article| article.holds(&text));
    let with_language = wanted == Wanted::All;
    Ok(found
        .into_iter()
        .map(|article| article.into_value(false, with_language))
        .collect())
}

/// The articles in a language, by the order of their ids.
async fn found(cx: &Context<'_>, wanted: &Wanted, sought: &Sought) -> Result<Vec<Article>> {
    if cx.database()?.has(TABLE).await? {
        table::found(cx, wanted, sought).await
    } else {
        rows::found(cx, wanted).await
    }
}
