//! How the service is: for whoever watches over it.

use std::fmt::{Display, Write};

use super::answer::Answer;
use super::failure::Failure;
use super::routes::Call;
use crate::contract::{Result, Value};
use crate::params;
use crate::platform::{Context, counters, outbox};

/// The text format of Prometheus.
pub const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A node that is cut off from its cluster still answers `SELECT 1`, but reads no table.
const READ_A_TABLE: &str = "
    SELECT EXISTS (SELECT 1 FROM sb_settings)";

/// `GET /healthz`
// Handlers are asynchronous, whether they wait or not.
#[allow(clippy::unused_async)]
pub async fn alive(_: &Call<'_>) -> Result<Answer, Failure> {
    Ok(Answer::json(200, &Value::map([("status", "ok".into())])))
}

/// `GET /readyz`
pub async fn ready(call: &Call<'_>) -> Result<Answer, Failure> {
    read_a_table(call.cx).await?;
    Ok(Answer::json(200, &Value::map([("status", "ready".into())])))
}

/// `GET /metrics`
pub async fn metrics(call: &Call<'_>) -> Result<Answer, Failure> {
    let cx = call.cx;
    let mut text = String::new();
    gauge(
        &mut text,
        "sb_info",
        "The version.",
        &[(&format!("version=\"{}\"", crate::VERSION), 1)],
    );
    let is_up = read_a_table(cx).await.is_ok();
    gauge(
        &mut text,
        "sb_database_up",
        "Whether the database answers.",
        &[("", is_up.into())],
    );
    if is_up && let Ok(counts) = outbox::count(cx.database()?).await {
        let counts: Vec<_> = counts
            .iter()
            .map(|(state, count)| (format!("state=\"{}\"", state.text()), *count))
            .collect();
        let counts: Vec<_> = counts.iter().map(|(label, count)| (label.as_str(), *count)).collect();
        gauge(
            &mut text,
            "sb_outbox_deliveries",
            "Deliveries that are not done.",
            &counts,
        );
    }
    for counter in counters::all() {
        figure(
            &mut text,
            counter.name,
            "counter",
            &format!("{} of this process.", counter.about),
            &[("", counter.count())],
        );
    }
    text.push_str(&cx.host().figures());
    Ok(Answer::text(200, METRICS, text))
}

async fn read_a_table(cx: &Context<'_>) -> Result<()> {
    let _: Option<(i64,)> = cx.database()?.row(READ_A_TABLE, params![]).await?;
    Ok(())
}

fn gauge(text: &mut String, name: &str, about: &str, values: &[(&str, i64)]) {
    figure(text, name, "gauge", about, values);
}

/// Adds a figure with its values by label.
fn figure(text: &mut String, name: &str, kind: &str, about: &str, values: &[(&str, impl Display)]) {
    // Nothing fails that is written to a text.
    let _ = writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}");
    for (label, value) in values {
        let label = if label.is_empty() {
            String::new()
        } else {
            format!("{{{label}}}")
        };
        let _ = writeln!(text, "{name}{label} {value}");
    }
}
