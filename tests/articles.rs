//! Articles under concurrency: ratings and saves that meet.
//!
//! `tests/support/mariadb cargo test --test articles`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use sb::contract::{Key, Value};
use support::case::Given;
use support::scene::{Scene, answer};

fn scene(test: &str, schema: &str) -> Scene {
    let given = Given {
        schema: schema.to_owned(),
        force_admin: true,
        ..Given::default()
    };
    Scene::of(&format!("{test} {schema}"), &given)
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::List(items) => items,
        other => panic!("no list: {other:?}"),
    }
}

#[test]
fn no_rating_is_lost() {
    const WORKERS: usize = 4;
    const RATINGS: usize = 100;
    let scene = scene("ratings", "generation-4");
    scene.at_once(WORKERS, |worker, core| {
        for turn in 0..RATINGS {
            let rating = Value::Int(i64::from(worker % 2 == 0));
            let article = if turn % 2 == 0 {
                "shared".to_owned()
            } else {
                worker.to_string()
            };
            let added = answer(core, "sb_article_ratings", [article.into(), rating]);
            assert_eq!(added, Value::Bool(true));
        }
    });
    scene.at_once(1, |_, core| {
        let ratings = |article: &str| list(answer(core, "sb_article_ratings", [article.into()]));
        let shared = ratings("shared");
        assert_eq!(shared.len(), WORKERS * RATINGS / 2);
        assert_eq!(
            shared.iter().filter(|rating| **rating == Value::Int(1)).count(),
            WORKERS * RATINGS / 4
        );
        for worker in 0..WORKERS {
            assert_eq!(ratings(&worker.to_string()).len(), RATINGS / 2);
        }
    });
    scene.database.drop();
}

#[test]
fn of_saves_that_meet_one_stands_whole() {
    const WORKERS: usize = 4;
    const SAVES: usize = 25;
    const ARTICLES: usize = 45;
    for schema in ["generation-4", "generation-5"] {
        let scene = scene("saves", schema);
        scene.at_once(WORKERS, |worker, core| {
            for turn in 0..SAVES {
                let mark = Value::from(format!("{worker}/{turn}"));
                let article = |number: usize| {
                    Value::map([
                        ("id", Value::from((number + 1).to_string())),
                        ("title", mark.clone()),
                        ("content", mark.clone()),
                    ])
                };
                let articles: Vec<Value> = (0..ARTICLES - worker).map(article).collect();
                let translations = Value::map([("de", Value::from(articles.clone()))]);
                let saved = answer(core, "sb_save_articles", [articles.into(), Value::Null, translations]);
                assert_eq!(saved, Value::Bool(true), "{schema}");
            }
        });
        scene.at_once(1, |_, core| {
            let all = [Value::Null, Value::Null, true.into(), Value::Null, "all".into()];
            let articles = list(answer(core, "sb_get_articles", all));
            let title = |article: &Value| article.get(&Key::from("title")).unwrap().clone();
            let last = title(&articles[0]);
            let worker: usize = last.as_str().unwrap().split('/').next().unwrap().parse().unwrap();
            assert_eq!(articles.len(), 2 * (ARTICLES - worker), "{schema}");
            assert!(articles.iter().all(|article| title(article) == last), "{schema}");
        });
        scene.database.drop();
    }
}
