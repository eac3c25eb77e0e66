//! Times of automations: ranges, and the periods in which they come again.

use chrono::{Datelike, Days, Months, NaiveDate, NaiveDateTime, TimeDelta};

use crate::contract::args::time;

/// A range of time. Both ends belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: NaiveDateTime,
    pub(super) end: NaiveDateTime,
}

/// How often something comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Period {
    Day,
    Week,
    Month,
    Year,
}

/// What stands between the ends of a range.
const BETWEEN: &str = " - ";

impl Range {
    /// Reads `YYYY-MM-DD HH:MM:SS - YYYY-MM-DD HH:MM:SS`. Of a date without a time the whole day belongs to it.
    pub(super) fn between(text: &str) -> Option<Self> {
        let (start, end) = text.split_once(BETWEEN)?;
        let (start, end) = (Self::exactly(start)?.start, Self::exactly(end)?.end);
        (start <= end).then_some(Self { start, end })
    }

    /// Reads `YYYY-MM-DD`, which is that day, or a date and a time, which is that minute, or with seconds that second.
    pub(super) fn exactly(text: &str) -> Option<Self> {
        let start = time(text)?;
        let length = match text.trim().matches(':').count() {
            0 => TimeDelta::days(1),
            1 => TimeDelta::minutes(1),
            _ => TimeDelta::seconds(1),
        };
        Some(Self {
            start,
            end: start + length - TimeDelta::seconds(1),
        })
    }

    /// Reads either.
    pub(super) fn read(text: &str) -> Option<Self> {
        Self::between(text).or_else(|| Self::exactly(text))
    }

    /// The beginning of the occurrence that a time belongs to: of the range itself, or of one a whole number of periods
    /// later.
    pub(super) fn occurrence(&self, now: NaiveDateTime, repeat: Option<Period>) -> Option<NaiveDateTime> {
        let last = match repeat {
            None => self.start,
            Some(period) => period.last(self.start, now)?,
        };
        (last <= now && now - last <= self.end - self.start).then_some(last)
    }
}

impl Period {
    /// The period of that operator: `every-day`.
    pub(super) fn read(text: &str) -> Option<Self> {
        Some(match text {
            "every-day" => Self::Day,
            "every-week" => Self::Week,
            "every-month" => Self::Month,
            "every-year" => Self::Year,
            _ => return None,
        })
    }

    /// What the period that a day belongs to is called, and no other.
    pub(super) fn name(self, day: NaiveDate) -> String {
        match self {
            Self::Day => day.format("%Y-%m-%d"),
            Self::Week => day.format("%G-W%V"),
            Self::Month => day.format("%Y-%m"),
            Self::Year => day.format("%Y"),
        }
        .to_string()
    }

    /// The last time at or before `now` that is a whole number of periods after `start`.
    fn last(self, start: NaiveDateTime, now: NaiveDateTime) -> Option<NaiveDateTime> {
        let (days, months) = match self {
            Self::Day => (1, 0),
            Self::Week => (7, 0),
            Self::Month => (0, 1),
            Self::Year => (0, 12),
        };
        if start > now {
            return None;
        }
        if days > 0 {
            let periods = (now - start).num_days() / days;
            return start.checked_add_days(Days::new(u64::try_from(periods * days).ok()?));
        }
        let apart = (now.year() - start.year()) * 12 + month(now) - month(start);
        // The last one may lie later in its month than now.
        let of = |periods: i32| start.checked_add_months(Months::new(u32::try_from(periods * months).ok()?));
        let periods = apart / months;
        of(periods)
            .filter(|time| *time <= now)
            .or_else(|| of(periods.checked_sub(1)?))
    }
}

fn month(time: NaiveDateTime) -> i32 {
    i32::try_from(time.month()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> NaiveDateTime {
        time(text).unwrap()
    }

    fn occurs(range: &str, repeat: Option<Period>, now: &str) -> Option<String> {
        let found = Range::read(range).unwrap().occurrence(at(now), repeat);
        found.map(|start| start.format("%Y-%m-%d %H:%M").to_string())
    }

    #[test]
    fn both_ends_belong_to_a_range() {
        let days = "2026-11-20 - 2026-11-22";
        for (now, holds) in [
            ("2026-11-19 23:59:59", false),
            ("2026-11-20 00:00:00", true),
            ("2026-11-22 23:59:59", true),
            ("2026-11-23 00:00:00", false),
        ] {
            assert_eq!(occurs(days, None, now).is_some(), holds, "{now}");
        }
        let hours = "2026-11-20 09:00:00 - 2026-11-20 17:30:00";
        for (now, holds) in [
            ("2026-11-20 08:59:59", false),
            ("2026-11-20 09:00:00", true),
            ("2026-11-20 17:30:00", true),
            ("2026-11-20 17:30:01", false),
        ] {
            assert_eq!(occurs(hours, None, now).is_some(), holds, "{now}");
        }
        assert!(occurs("2026-11-20", None, "2026-11-20 23:59:59").is_some());
        assert!(occurs("2026-11-20 09:30", None, "2026-11-20 09:30:59").is_some());
        assert!(occurs("2026-11-20 09:30", None, "2026-11-20 09:31").is_none());
    }

    #[test]
    fn what_is_no_range_is_none() {
        for text in [
            "",
            "today",
            "2026-11-20 - ",
            "2026-11-22 - 2026-11-20",
            "2026-13-01",
            "2026-11-20-2026-11-22",
        ] {
            assert_eq!(Range::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_range_comes_again() {
        use Period::{Day, Month, Week, Year};
        let night = "2026-11-20 22:00:00 - 2026-11-21 02:00:00";
        for (repeat, now, start) in [
            (Day, "2026-11-25 23:00", Some("2026-11-25 22:00")),
            (Day, "2026-11-26 01:59", Some("2026-11-25 22:00")),
            (Day, "2026-11-26 03:00", None),
            (Day, "2026-11-19 23:00", None),
            (Week, "2026-11-28 01:00", Some("2026-11-27 22:00")),
            (Week, "2026-11-26 01:00", None),
            (Month, "2027-01-21 01:00", Some("2027-01-20 22:00")),
            (Month, "2027-01-22 01:00", None),
            (Year, "2030-11-20 22:00", Some("2030-11-20 22:00")),
            (Year, "2030-10-20 22:00", None),
        ] {
            assert_eq!(occurs(night, Some(repeat), now).as_deref(), start, "{repeat:?} {now}");
        }
        // A month without that day has its last one in its place.
        assert_eq!(
            occurs("2026-01-31", Some(Month), "2026-02-28 12:00").as_deref(),
            Some("2026-02-28 00:00")
        );
        assert_eq!(
            occurs("2024-02-29", Some(Year), "2027-02-28 12:00").as_deref(),
            Some("2027-02-28 00:00")
        );
        // A range that is longer than its period has no end.
        assert!(occurs("2026-11-01 - 2026-11-10", Some(Week), "2027-05-05").is_some());
    }

    #[test]
    fn a_period_has_one_name() {
        let day = at("2027-01-01").date();
        for (text, name) in [
            ("every-day", "2027-01-01"),
            ("every-week", "2026-W53"),
            ("every-month", "2027-01"),
            ("every-year", "2027"),
        ] {
            assert_eq!(Period::read(text).unwrap().name(day), name);
        }
        assert_eq!(Period::read("every-hour"), None);
    }

    proptest::proptest! {
        #[test]
        fn the_last_occurrence_is_the_last(minutes in 0_i64..20_000_000, kind in 0_usize..4) {
            let start = at("2000-01-31 13:05");
            let now = start + TimeDelta::minutes(minutes);
            let period = [Period::Day, Period::Week, Period::Month, Period::Year][kind];
            let last = period.last(start, now).unwrap();
            let longest = [1, 7, 31, 366][kind];
            proptest::prop_assert!(last <= now && now - last < TimeDelta::days(longest));
        }
    }
}
