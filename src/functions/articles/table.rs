//! Articles as rows of the table sb_articles. A translation is a row with a language and the id of its original.

use std::collections::HashSet;

use chrono::NaiveDateTime;

use super::categories::{self, slug};
use super::content::escaped;
use super::rows::completed;
use super::saving::Saved;
use super::{Article, Sought, Wanted};
use crate::contract::error::{Error, Result};
use crate::contract::language::Language;
use crate::functions::columns::{self, check_bytes, check_characters};
use crate::params;
use crate::platform::Context;
use crate::platform::db::{Builder, Param, Transaction, containing};

/// The article of a row. Beside a translation stand the link and the categories of its original, which hold where it has
/// none of its own.
const SELECT: &str = "
    SELECT COALESCE(a.parent_id, a.id), a.title, a.content, a.link, a.category, a.parent_category, a.language,
        o.link, o.category, o.parent_category
    FROM sb_articles a
    LEFT JOIN sb_articles o ON o.id = a.parent_id
    WHERE ";

const IS_ORIGINAL: &str = "a.parent_id IS NULL";

/// The translations into a language, and what is not translated into it.
const IN_LANGUAGE: &str = "(
        (a.parent_id IS NOT NULL AND a.language = ?)
        OR (a.parent_id IS NULL AND NOT EXISTS (
            SELECT 1 FROM sb_articles t WHERE t.parent_id = a.id AND t.language = ?)))";

const BY_ORIGINAL: &str = "
    ORDER BY COALESCE(a.parent_id, a.id), a.parent_id IS NOT NULL, a.language, a.id";

/// The ids there are, and the lock that whoever saves articles waits for.
const LOCK: &str = "
    SELECT id, parent_id
    FROM sb_articles
    FOR UPDATE";

const DELETE: &str = "
    DELETE FROM sb_articles
    WHERE id IN ";

const DELETE_LANGUAGE: &str = "
    DELETE FROM sb_articles
    WHERE parent_id IS NOT NULL AND language = ?";

const INSERT: &str = "
    INSERT INTO sb_articles (id, title, content, editor_js, nav, link, category, language, parent_id, slug, update_time)
    VALUES ";

/// What an editor keeps beside the content holds as long as the content is the same. Assigned from left to right: the
/// content comes last.
const OVERWRITE: &str = "
    ON DUPLICATE KEY UPDATE title = VALUES(title), editor_js = IF(content <=> VALUES(content), editor_js, ''),
        nav = IF(content <=> VALUES(content), nav, NULL), link = VALUES(link), category = VALUES(category),
        parent_category = NULL, language = NULL, parent_id = NULL, slug = COALESCE(slug, VALUES(slug)),
        update_time = IF(content <=> VALUES(content), update_time, VALUES(update_time)), content = VALUES(content)";

/// What the columns hold.
const LANGUAGE_LIMIT: usize = 2;

/// How many rows one statement carries: few enough for the packets of any server.
const ROWS_AT_ONCE: usize = 20;

type Row = (
    u32,
    String,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
);

/// The articles in a language.
pub(super) async fn found(cx: &Context<'_>, wanted: &Wanted, sought: &Sought) -> Result<Vec<Article>> {
    let mut statement = Builder::new(SELECT, Vec::new());
    match wanted {
        Wanted::Original => statement.add(IS_ORIGINAL, Vec::new()),
        // The column has no room for regions.
        Wanted::In(languages) => {
            let language = languages.last().map(Language::code).unwrap_or_default();
            statement.add(IN_LANGUAGE, params![language, language])
        }
        Wanted::All => statement.add("TRUE", Vec::new()),
    };
    if let Some(ids) = &sought.ids {
        let ids: Vec<u32> = ids.iter().filter_map(|id| id.parse().ok()).collect();
        statement.add(" AND (a.id IN ", Vec::new()).list(ids.clone());
        statement.add(" OR a.parent_id IN ", Vec::new()).list(ids);
        statement.add(")", Vec::new());
    }
    if let Some(text) = &sought.text {
        let in_html = containing(&escaped(text));
        statement.add(
            " AND (a.title LIKE ? OR a.content LIKE ?)",
            params![containing(text), in_html],
        );
    }
    statement.add(BY_ORIGINAL, Vec::new());
    let (sql, params) = statement.finish();
    let rows: Vec<Row> = cx.database()?.rows(sql, params).await?;
    Ok(rows.into_iter().map(article).collect())
}

fn article(row: Row) -> Article {
    let (
        id,
        title,
        content,
        link,
        category,
        parent_category,
        language,
        link_of_original,
        category_of_original,
        parent_category_of_original,
    ) = row;
    let id = id.to_string();
    let original = Article {
        id: id.clone(),
        title: String::new(),
        content: String::new(),
        link: link_of_original.unwrap_or_default(),
        categories: categories_of(category_of_original, parent_category_of_original),
        language: None,
    };
    let article = Article {
        id,
        title,
        content,
        link: link.unwrap_or_default(),
        categories: categories_of(category, parent_category),
        language: language.as_deref().and_then(Language::exact),
    };
    completed(article, original)
}

/// The ids that the two columns hold: between commas, and that of the category above.
fn categories_of(category: Option<String>, parent: Option<String>) -> Vec<String> {
    let mut categories: Vec<String> = Vec::new();
    for id in category.iter().chain(&parent).flat_map(|ids| ids.split(',')) {
        let id = id.trim();
        if !id.is_empty() && !categories.iter().any(|known| known == id) {
            categories.push(id.to_owned());
        }
    }
    categories
}

/// Whether the columns can hold it all.
pub(super) fn check(saved: &Saved) -> Result<()> {
    let articles = saved.articles.iter().map(|(_, article)| article);
    let translations = saved.translations.iter().flat_map(|(_, list)| list);
    for article in articles.chain(translations) {
        let category = article.categories.join(",");
        for (name, text) in [
            ("title", &article.title),
            ("link", &article.link),
            ("categories", &category),
        ] {
            check_characters(name, text, columns::SHORT)?;
        }
        check_bytes("content", &article.content, columns::TEXT)?;
    }
    match saved
        .translations
        .iter()
        .find(|(language, _)| language.code().len() > LANGUAGE_LIMIT)
    {
        Some(_) => Err(Error::too_long("language", "2 letters")),
        None => Ok(()),
    }
}

/// Stores what is to be saved, within a transaction.
pub(super) async fn store(transaction: &mut Transaction<'_>, saved: &Saved, now: NaiveDateTime) -> Result<()> {
    let there: Vec<(u32, Option<u32>)> = transaction.rows(LOCK, Vec::new()).await?;
    categories::keep(transaction, saved).await?;
    let kept: HashSet<u32> = saved
        .articles
        .iter()
        .filter_map(|(id, _)| number(id.as_deref()))
        .collect();
    // With an original the server deletes its translations. A row that was a translation is kept as an article.
    let gone = there
        .iter()
        .filter(|(id, parent)| parent.is_none() && !kept.contains(id))
        .map(|(id, _)| *id);
    let gone: Vec<u32> = gone.collect();
    if !gone.is_empty() {
        let mut delete = Builder::new(DELETE, Vec::new());
        delete.list(gone);
        let (sql, params) = delete.finish();
        transaction.execute(sql, params).await?;
    }
    let articles = saved.articles.iter().map(|(id, article)| New {
        id: number(id.as_deref()),
        article,
        language: None,
        parent: None,
    });
    insert(transaction, articles.collect(), now).await?;
    for (language, _) in &saved.translations {
        transaction.execute(DELETE_LANGUAGE, params![language.code()]).await?;
    }
    let translations = saved.translations.iter().flat_map(|(language, list)| {
        list.iter().filter_map(|article| {
            let parent = number(Some(&article.id)).filter(|parent| kept.contains(parent))?;
            Some(New {
                id: None,
                article,
                language: Some(language),
                parent: Some(parent),
            })
        })
    });
    insert(transaction, translations.collect(), now).await
}

/// A row to be written.
struct New<'a> {
    id: Option<u32>,
    article: &'a Article,
    language: Option<&'a Language>,
    parent: Option<u32>,
}

async fn insert(transaction: &mut Transaction<'_>, rows: Vec<New<'_>>, now: NaiveDateTime) -> Result<()> {
    for rows in rows.chunks(ROWS_AT_ONCE) {
        let mut statement = Builder::new(INSERT, Vec::new());
        for (position, row) in rows.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            statement.add(comma, Vec::new());
            statement.add("(?, ?, ?, '', NULL, ?, ?, ?, ?, ?, ?)", row.params(now));
        }
        statement.add(OVERWRITE, Vec::new());
        let (sql, params) = statement.finish();
        transaction.execute(sql, params).await?;
    }
    Ok(())
}

impl New<'_> {
    fn params(&self, now: NaiveDateTime) -> Vec<Param> {
        let filled = |text: String| Some(text).filter(|text| !text.is_empty());
        let slug: String = slug(&self.article.title).chars().take(columns::SHORT).collect();
        params![
            self.id,
            &self.article.title,
            &self.article.content,
            filled(self.article.link.clone()),
            filled(self.article.categories.join(",")),
            self.language.map(Language::code),
            self.parent,
            filled(slug),
            now
        ]
    }
}

/// The id as its column holds it; another gets a new one.
fn number(id: Option<&str>) -> Option<u32> {
    id?.parse().ok().filter(|number| (1..=i32::MAX as u32).contains(number))
}
