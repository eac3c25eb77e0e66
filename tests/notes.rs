//! Notes, ratings and who is busy under concurrency: of what several store in one row at once nothing is lost.
//!
//! `tests/support/mariadb cargo test --test notes`

// A test fails by panicking, in its helpers too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::collections::BTreeSet;

use sb::contract::Value;
use support::core::Core;
use support::scene::{Scene, answer};

const WORKERS: usize = 6;
const TURNS: usize = 40;

fn add_note(core: &Core, conversation: usize, message: String) -> i64 {
    let arguments = [
        conversation.to_string().into(),
        "2".into(),
        "Ben".into(),
        message.into(),
    ];
    match answer(core, "sb_add_note", arguments) {
        Value::Int(id) => id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn of_notes_that_are_added_and_deleted_at_the_same_time_none_is_lost() {
    let mut scene = Scene::new("notes", &[]);
    let ids = scene.at_once(WORKERS, |worker, core| {
        let ids: Vec<i64> = (0..TURNS)
            .map(|turn| add_note(core, 1 + turn % 2, format!("{worker} {turn}")))
            .collect();
        // The first of each conversation goes again.
        for (conversation, id) in ["1", "2"].into_iter().zip(&ids) {
            let arguments = [conversation.into(), Value::Int(*id)];
            assert_eq!(answer(core, "sb_delete_note", arguments), Value::Bool(true));
        }
        ids
    });
    for first in 0..2 {
        let of_conversation = ids.iter().flat_map(|ids| ids.iter().skip(first).step_by(2));
        let distinct: BTreeSet<i64> = of_conversation.copied().collect();
        assert_eq!(distinct.len(), WORKERS * TURNS / 2);
    }
    let left = (WORKERS * (TURNS / 2 - 1)).to_string();
    scene.expect(
        "SELECT JSON_LENGTH(MAX(IF(name = 'notes-1', value, NULL))) AS first,
            JSON_LENGTH(MAX(IF(name = 'notes-2', value, NULL))) AS second FROM sb_settings",
        &[("first", &left), ("second", &left)],
    );
    scene.database.drop();
}

#[test]
fn of_ratings_and_of_agents_who_answer_at_the_same_time_none_is_lost() {
    const OPEN: &str = "
        INSERT INTO sb_conversations (id, user_id, creation_time, status_code, agent_id)
        WITH RECURSIVE n AS (SELECT 101 AS seq UNION ALL SELECT seq + 1 FROM n WHERE seq < 340)
        SELECT seq, 3, '2026-03-01 17:00:00', 2, 2 FROM n";
    let mut scene = Scene::new("ratings", &[OPEN]);
    scene.at_once(WORKERS, |worker, core| {
        for turn in 0..TURNS {
            let conversation = (101 + worker * TURNS + turn).to_string();
            let settings = Value::map([
                ("conversation_id", conversation.as_str().into()),
                ("rating", Value::Int(i64::from(turn % 4 > 0))),
            ]);
            assert_eq!(answer(core, "sb_set_rating", [settings]), Value::Bool(true));
            let agent = (1000 + worker).to_string();
            let active = [conversation.into(), agent.into()];
            assert_eq!(
                answer(core, "sb_set_agent_active_conversation", active),
                Value::Bool(true)
            );
        }
    });
    let counts = scene.at_once(1, |_, core| answer(core, "sb_get_rating", ["2".into()]));
    assert_eq!(counts, [Value::List(vec![Value::Int(180), Value::Int(60)])]);
    scene.expect(
        "SELECT JSON_LENGTH(MAX(IF(name = 'ratings', value, NULL))) AS ratings,
            JSON_LENGTH(MAX(IF(name = 'active_agents_conversations', value, NULL))) AS agents FROM sb_settings",
        &[("ratings", "240"), ("agents", "6")],
    );
    scene.database.drop();
}
