//! Office hours: whether the company answers now.

use chrono::{Datelike, NaiveDateTime, TimeDelta, TimeZone, Timelike};
use chrono_tz::Tz;

use crate::contract::args::Argument;
use crate::contract::error::Result;
use crate::contract::{Key, Value};
use crate::platform::Context;

const DAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

/// Whether the present time is within the office hours of the settings.
pub(super) async fn office_hours(cx: &Context<'_>) -> Result<bool> {
    let settings = cx.settings().await?;
    let timetable = Timetable::read(&settings.value("timetable").unwrap_or_default());
    let zone = settings.text("timetable-utc").unwrap_or_default();
    Ok(timetable.is_open(local(cx.now(), &zone)))
}

/// A time in UTC as clocks show it in a zone: one of IANA's names, or hours before UTC's. Any other is UTC.
fn local(time: NaiveDateTime, zone: &str) -> NaiveDateTime {
    let zone = zone.trim();
    if let Some(offset) = offset(zone) {
        return time.checked_add_signed(offset).unwrap_or(time);
    }
    zone.parse::<Tz>()
        .map_or(time, |zone| zone.from_utc_datetime(&time).naive_local())
}

fn offset(hours: &str) -> Option<TimeDelta> {
    let hours: f64 = hours.parse().ok()?;
    #[allow(clippy::cast_possible_truncation)]
    (hours.abs() <= 24.0).then(|| TimeDelta::seconds((hours * 3600.0).round() as i64))
}

/// The opening hours of each day, from Monday on.
struct Timetable([Day; 7]);

/// A day's opening hours, in minutes from midnight. A closing time before its opening time is one of the next day.
#[derive(Debug, PartialEq, Eq)]
struct Day {
    hours: Vec<(u32, u32)>,
    /// Nothing is written down for it, not even that it is closed.
    is_blank: bool,
}

impl Timetable {
    fn read(timetable: &Value) -> Self {
        Self(DAYS.map(|day| Day::read(timetable.get(&Key::from(day)))))
    }

    /// Whether it is open at what clocks show. A timetable in which nothing is written is always open.
    fn is_open(&self, local: NaiveDateTime) -> bool {
        let Self(days) = self;
        if days.iter().all(|day| day.is_blank) {
            return true;
        }
        let minute = local.hour() * 60 + local.minute();
        let day = |number: u32| days.get(usize::try_from(number % 7).unwrap_or_default());
        let today = local.weekday().num_days_from_monday();
        let hours = |number| day(number).into_iter().flat_map(|day| &day.hours);
        let opened_today = hours(today).any(|&(open, close)| minute >= open && (minute < close || close < open));
        opened_today || hours(today + 6).any(|&(open, close)| close < open && minute < close)
    }
}

impl Day {
    /// Reads the four cells: open, close, open, close.
    fn read(day: Option<&Value>) -> Self {
        let cells: [String; 4] = std::array::from_fn(|at| text(day, at));
        let [open, close, open_again, close_again] = cells.each_ref().map(|cell| minutes(cell));
        let hours = [open.zip(close), open_again.zip(close_again)];
        Self {
            hours: hours.into_iter().flatten().collect(),
            is_blank: cells.iter().all(String::is_empty),
        }
    }
}

/// The text of a cell, which is `[time, label]`.
fn text(day: Option<&Value>, cell: usize) -> String {
    let cell = i64::try_from(cell).ok().and_then(|cell| day?.get(&Key::Int(cell)));
    let time = match cell {
        Some(pair @ (Value::List(_) | Value::Map(_))) => pair.get(&Key::Int(0)),
        cell => cell,
    };
    let text = time.cloned().and_then(String::from_value).unwrap_or_default();
    text.trim().to_owned()
}

/// The minutes from midnight of `HH:MM`; `None` for what is no time, as the word `closed`.
fn minutes(text: &str) -> Option<u32> {
    let (hours, minutes) = text.split_once(':')?;
    let (hours, minutes) = (hours.parse::<u32>().ok()?, minutes.parse::<u32>().ok()?);
    Some(hours * 60 + minutes).filter(|total| hours <= 24 && minutes < 60 && *total <= 24 * 60)
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::*;
    use crate::contract::json;

    fn timetable(text: &str) -> Timetable {
        Timetable::read(&json::decode(text.as_bytes()).unwrap())
    }

    /// Every night from nine to two.
    fn nights() -> Timetable {
        let day = r#"[["21:00","9:00 pm"],["02:00","2:00 am"],["",""],["",""]]"#;
        timetable(&format!(
            "{{{}}}",
            DAYS.map(|name| format!(r#""{name}":{day}"#)).join(",")
        ))
    }

    fn utc(text: &str) -> NaiveDateTime {
        NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap()
    }

    #[test]
    fn the_opening_minute_is_open_and_the_closing_minute_is_not() {
        let timetable = timetable(
            r#"{"monday":[["08:00","8 am"],["12:00","12 pm"],["13:30",""],["17:00",""]],"tuesday":["9:00","10:00"],
                "wednesday":[["closed","Closed"],["17:00",""],["",""],["",""]],"thursday":[["08:00",""],["",""]]}"#,
        );
        for (time, open) in [
            ("2026-11-16 07:59:59", false),
            ("2026-11-16 08:00:00", true),
            ("2026-11-16 11:59:59", true),
            ("2026-11-16 12:00:00", false),
            ("2026-11-16 13:29:59", false),
            ("2026-11-16 13:30:00", true),
            ("2026-11-16 17:00:00", false),
            ("2026-11-17 09:00:00", true),
            ("2026-11-17 10:00:00", false),
            ("2026-11-18 09:00:00", false),
            ("2026-11-19 09:00:00", false),
            ("2026-11-20 09:00:00", false),
            ("2026-11-22 09:00:00", false),
        ] {
            assert_eq!(timetable.is_open(utc(time)), open, "{time}");
        }
    }

    #[test]
    fn a_day_may_end_in_the_next_one_and_a_week_in_the_next_week() {
        let timetable = timetable(
            r#"{"friday":[["21:00",""],["02:00",""],["",""],["",""]],"sunday":[["22:00",""],["00:00",""],["23:00",""],["06:30",""]]}"#,
        );
        for (time, open) in [
            ("2026-11-20 01:59:00", false),
            ("2026-11-20 20:59:59", false),
            ("2026-11-20 21:00:00", true),
            ("2026-11-20 23:59:59", true),
            ("2026-11-21 00:00:00", true),
            ("2026-11-21 01:59:59", true),
            ("2026-11-21 02:00:00", false),
            ("2026-11-22 21:59:59", false),
            ("2026-11-22 22:00:00", true),
            ("2026-11-23 06:29:59", true),
            ("2026-11-23 06:30:00", false),
        ] {
            assert_eq!(timetable.is_open(utc(time)), open, "{time}");
        }
    }

    #[test]
    fn a_timetable_in_which_nothing_is_written_is_always_open() {
        for text in [
            "{}",
            "[]",
            "null",
            "\"\"",
            r#"{"monday":[["",""],["",""],["",""],["",""]],"tuesday":[],"sunday":[[" ",""]]}"#,
        ] {
            assert!(timetable(text).is_open(utc("2026-11-20 03:00:00")), "{text}");
        }
        assert!(
            !timetable(r#"{"monday":[["closed",""],["closed",""],["",""],["",""]]}"#)
                .is_open(utc("2026-11-20 03:00:00"))
        );
    }

    #[test]
    fn a_whole_day_ends_at_24() {
        let timetable = timetable(r#"{"friday":[["00:00",""],["24:00",""]],"saturday":[["00:00",""],["00:00",""]]}"#);
        for (time, open) in [
            ("2026-11-19 23:59:59", false),
            ("2026-11-20 00:00:00", true),
            ("2026-11-20 23:59:59", true),
            ("2026-11-21 00:00:00", false),
        ] {
            assert_eq!(timetable.is_open(utc(time)), open, "{time}");
        }
    }

    #[test]
    fn what_is_no_time_is_closed() {
        for cell in [
            "closed",
            "25:00",
            "24:01",
            "12:60",
            "-1:00",
            "noon",
            "12",
            "12:",
            ":30",
            "99999999999:00",
        ] {
            assert_eq!(minutes(cell), None, "{cell}");
        }
        assert_eq!(minutes("8:05"), Some(485));
    }

    #[test]
    fn the_nights_on_which_the_clocks_change() {
        let nights = nights();
        // Each night is open from 21:00 to 02:00 as clocks show it; the times are UTC.
        for (zone, changes) in [
            // 2026-03-29 02:00 becomes 03:00: the night has its five hours, then it is three.
            // 2026-10-25 03:00 becomes 02:00 again: closed is closed.
            (
                "Europe/Berlin",
                [
                    ("2026-03-28 19:59:59", false),
                    ("2026-03-28 20:00:00", true),
                    ("2026-03-29 00:59:59", true),
                    ("2026-03-29 01:00:00", false),
                    ("2026-03-29 18:59:59", false),
                    ("2026-03-29 19:00:00", true),
                    ("2026-10-24 19:00:00", true),
                    ("2026-10-24 23:59:59", true),
                    ("2026-10-25 00:00:00", false),
                    ("2026-10-25 01:00:00", false),
                    ("2026-10-25 19:59:59", false),
                    ("2026-10-25 20:00:00", true),
                ],
            ),
            // 2026-03-08 02:00 becomes 03:00. 2026-11-01 02:00 becomes 01:00: the hour before closing comes twice.
            (
                "America/New_York",
                [
                    ("2026-03-08 01:59:59", false),
                    ("2026-03-08 02:00:00", true),
                    ("2026-03-08 06:59:59", true),
                    ("2026-03-08 07:00:00", false),
                    ("2026-03-09 00:59:59", false),
                    ("2026-03-09 01:00:00", true),
                    ("2026-11-01 01:00:00", true),
                    ("2026-11-01 05:59:59", true),
                    ("2026-11-01 06:00:00", true),
                    ("2026-11-01 06:59:59", true),
                    ("2026-11-01 07:00:00", false),
                    ("2026-11-02 01:59:59", false),
                ],
            ),
            // South of the equator, by half an hour: 2026-10-04 02:00 becomes 02:30, 2026-04-05 02:00 becomes 01:30.
            (
                "Australia/Lord_Howe",
                [
                    ("2026-10-03 10:29:59", false),
                    ("2026-10-03 10:30:00", true),
                    ("2026-10-03 15:29:59", true),
                    ("2026-10-03 15:30:00", false),
                    ("2026-10-04 09:59:59", false),
                    ("2026-10-04 10:00:00", true),
                    ("2026-04-04 10:00:00", true),
                    ("2026-04-04 14:59:59", true),
                    ("2026-04-04 15:00:00", true),
                    ("2026-04-04 15:29:59", true),
                    ("2026-04-04 15:30:00", false),
                    ("2026-04-05 10:29:59", false),
                ],
            ),
        ] {
            for (time, open) in changes {
                assert_eq!(nights.is_open(local(utc(time), zone)), open, "{zone} {time}");
            }
        }
    }

    #[test]
    fn a_zone_is_a_name_or_a_number_of_hours() {
        let noon = NaiveDate::from_ymd_opt(2026, 11, 20)
            .unwrap()
            .and_hms_opt(12, 0, 0)
            .unwrap();
        for (zone, shown) in [
            ("0", "12:00"),
            ("", "12:00"),
            ("2", "14:00"),
            (" +5.5 ", "17:30"),
            ("-3.75", "08:15"),
            ("Asia/Kathmandu", "17:45"),
            ("UTC", "12:00"),
            ("Nowhere/Nothing", "12:00"),
            ("NaN", "12:00"),
            ("1e9", "12:00"),
        ] {
            assert_eq!(local(noon, zone).format("%H:%M").to_string(), shown, "{zone}");
        }
    }
}
