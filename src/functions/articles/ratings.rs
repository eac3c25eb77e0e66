//! The ratings of articles: row `article-ratings`, article id → list of 1 and -1.

use std::collections::BTreeMap;

use crate::contract::args::Items;
use crate::contract::error::{Code, Result};
use crate::contract::{Argument, Key, Map, Value};
use crate::functions::columns::{self, check_characters};
use crate::functions::events::{Event, Followers};
use crate::platform::Context;
use crate::platform::db::OnUnknown;

const RATINGS: &str = "article-ratings";

/// Adds a rating to an article, or gives its ratings.
pub(super) async fn article_ratings(cx: &Context<'_>, article_id: String, rating: Value) -> Result<Value> {
    // That of a column it could stand in.
    check_characters("article_id", &article_id, columns::SHORT)?;
    let key = Key::from(article_id);
    if Option::<i64>::from_value(rating.clone()) == Some(None) {
        let stored = cx.stored(RATINGS).await?.unwrap_or_default();
        return Ok(ratings_of(stored.get(&key).cloned()).into());
    }
    let rating = match i64::from_value(rating) {
        Some(1) => 1,
        Some(0 | -1) => -1,
        _ => return Err(Code::InvalidRating.into()),
    };
    let followers = Followers::of(cx).await?;
    let recorded = cx
        .database()?
        .transaction(OnUnknown::Report, async |transaction| {
            let stored = transaction.locked_row(RATINGS).await?;
            let mut all = Map::from_value(stored).unwrap_or_default();
            let mut ratings = ratings_of(all.get(&key).cloned());
            ratings.push(Value::Int(rating));
            all.insert(key.clone(), ratings.into());
            transaction
                .put_rows(&BTreeMap::from([(RATINGS.to_owned(), all.into())]))
                .await?;
            let data = || {
                Value::map([
                    ("article_id", key.to_text().as_ref().into()),
                    ("rating", Value::Int(rating)),
                ])
            };
            followers.record(transaction, Event::ArticleRating, data).await
        })
        .await?;
    cx.after_commit(recorded);
    Ok(true.into())
}

/// The ratings of one article, as numbers.
fn ratings_of(stored: Option<Value>) -> Vec<Value> {
    let entries = stored
        .and_then(Items::from_value)
        .map_or_else(Vec::new, |Items(entries)| entries);
    let numbers = entries.into_iter().filter_map(i64::from_value);
    numbers
        .map(|rating| Value::Int(if rating > 0 { 1 } else { -1 }))
        .collect()
}
