//! Events between two times. Times are written as ISO 8601 (`2021-03-04`, `2021-03-04T12:30:05`), so that their texts sort as they do.

use std::fmt;

use super::cell::Cell;
use crate::error::{Error, Result, Shortened};

/// The column of the times of events, and the times between which they count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeFilter {
    /// The column of times.
    pub column: Option<String>,
    /// The first time: a year, a month, a day, or a day and a time.
    pub since: Option<String>,
    /// The last time; of a year, a month or a day all of it counts.
    pub until: Option<String>,
}

impl TimeFilter {
    /// Whether events are chosen by their times.
    pub(super) fn is_set(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Refuses all of this for data that have no times.
    pub(super) fn refuse(&self) -> Result<()> {
        let given =
            [("read.time", self.column.is_some()), ("read.since", self.since.is_some()), ("read.until", self.until.is_some())];
        match given.iter().find(|it| it.1) {
            Some((option, _)) => {
                Err(Error::option(*option, "only events have times; name their columns with `read.events`, or leave it out"))
            }
            None => Ok(()),
        }
    }

    /// The bounds, checked; `None` if there are none.
    pub(super) fn bounds(&self) -> Result<Option<Bounds>> {
        let bound = |option: &str, text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => match normal(text) {
                Some(time) if !is_possible(&time) => Err(Error::option(option, format!("there is no such time as {text:?}"))),
                Some(time) => Ok(Some(time)),
                None => Err(Error::option(
                    option,
                    format!("{text:?} is not a date such as 2021, 2021-03, 2021-03-04 or 2021-03-04T12:30"),
                )),
            },
        };
        let (since, until) = (bound("read.since", &self.since)?, bound("read.until", &self.until)?);
        if let (Some(since), Some(until)) = (&since, &until)
            && since.as_bytes() > until.as_bytes()
            && !since.starts_with(until.as_str())
        {
            return Err(Error::option("read.until", format!("{until} is before {since}, the first time")));
        }
        Ok(self.is_set().then_some(Bounds { since, until }))
    }
}

/// Checked bounds of times.
#[derive(Debug)]
pub(super) struct Bounds {
    since: Option<String>,
    until: Option<String>,
}

impl Bounds {
    /// Whether a time is between the bounds.
    pub(super) fn include(&self, time: &str) -> bool {
        let after = self.since.as_ref().is_none_or(|since| time >= since.as_str());
        let before = self.until.as_ref().is_none_or(|until| time.get(..until.len()).unwrap_or(time) <= until.as_str());
        after && before
    }

    /// The option that set a bound, for messages.
    pub(super) fn option(&self) -> &'static str {
        if self.since.is_some() { "read.since" } else { "read.until" }
    }
}

impl fmt::Display for Bounds {
    /// As in `no event is …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.since, &self.until) {
            (Some(since), Some(until)) => write!(f, "between {since} and {until}"),
            (Some(since), None) => write!(f, "from {since} on"),
            (None, Some(until)) => write!(f, "up to {until}"),
            (None, None) => write!(f, "at any time"),
        }
    }
}

/// The time in a cell; `None` if it is missing, or a day or time that does not exist, such as 2018-02-31 or 0000-00-00.
///
/// # Errors
/// What is wrong with a cell that is not a time.
pub(super) fn time_of(cell: Cell<'_>) -> Result<Option<String>, String> {
    match cell {
        Cell::Missing => Ok(None),
        Cell::Text(text) if super::cell::is_missing(text) => Ok(None),
        Cell::Text(text) => {
            std::str::from_utf8(text).ok().and_then(normal).map(|it| Some(it).filter(|it| is_possible(it))).ok_or_else(|| {
                let text = String::from_utf8_lossy(text).into_owned();
                format!("{:?} is not a time such as 2021-03-04 or 2021-03-04T12:30:05", Shortened(&text))
            })
        }
        _ => Err("a number is not a time; write times as 2021-03-04 or 2021-03-04T12:30:05".to_owned()),
    }
}

/// A time with a T between day and hour; `None` if the text is not written as one.
fn normal(text: &str) -> Option<String> {
    let text = text.trim();
    let is_there = |at: usize, wanted: &dyn Fn(u8) -> bool| text.as_bytes().get(at).is_none_or(|&byte| wanted(byte));
    let digits = [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15].iter().all(|&at| is_there(at, &|byte| byte.is_ascii_digit()));
    let marks = is_there(4, &|byte| byte == b'-')
        && is_there(7, &|byte| byte == b'-')
        && is_there(10, &|byte| byte == b'T' || byte == b' ')
        && is_there(13, &|byte| byte == b':');
    let is_whole = matches!(text.len(), 4 | 7 | 10) || text.len() >= 13;
    (digits && marks && is_whole && text.is_ascii()).then(|| text.replacen(' ', "T", 1))
}

/// Whether the calendar and the clock have a time, of which [`normal`] made sure that it is written as one.
fn is_possible(time: &str) -> bool {
    let field = |range: std::ops::Range<usize>| time.get(range).map(|field| field.parse::<u32>().unwrap_or(u32::MAX));
    let (year, month) = (field(0..4).unwrap_or(0), field(5..7).unwrap_or(1));
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let last_day = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    // A day may end at 24:00, and a minute with a leap second.
    let (hour, minute) = (field(11..13).unwrap_or(0), field(14..16).unwrap_or(0));
    let seconds = time.as_bytes().get(16).filter(|&&mark| mark == b':').and_then(|_| field(17..19)).unwrap_or(0);
    let is_clock = (hour < 24 && minute < 60 && seconds <= 60) || (hour == 24 && minute == 0 && seconds == 0);
    year > 0 && (1..=12).contains(&month) && (1..=last_day).contains(&field(8..10).unwrap_or(1)) && is_clock
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_hours_that_do_not_exist_are_no_times() {
        for text in
            ["2018-02-31", "2018-04-31", "2019-02-29", "1900-02-29", "0000-01-01", "0000", "2018-00-00", "2018-13", "2018-01-32"]
                .into_iter()
                .chain(["2018-01-01T25:00", "2018-01-01T99:00", "2018-01-01T12:60", "2018-01-01 24:01", "2018-01-01T12:00:61"])
        {
            assert_eq!(time_of(Cell::Text(text.as_bytes())), Ok(None), "{text}");
            let filter = TimeFilter { until: Some(text.to_owned()), ..TimeFilter::default() };
            assert!(filter.bounds().unwrap_err().to_string().contains("no such time"), "{text}");
        }
        for text in [
            "2020-02-29",
            "2000-02-29",
            "2018-12-31T23:59:59.5Z",
            "2018-12-31T23:59:60",
            "2018-12-31T24:00:00",
            "0001",
            "2018-04-30",
        ] {
            assert!(time_of(Cell::Text(text.as_bytes())).unwrap().is_some(), "{text}");
        }
    }

    fn included(since: Option<&str>, until: Option<&str>, text: &str) -> bool {
        let filter = TimeFilter { column: None, since: since.map(str::to_owned), until: until.map(str::to_owned) };
        let time = time_of(Cell::Text(text.as_bytes())).unwrap();
        time.is_some_and(|time| filter.bounds().unwrap().unwrap().include(&time))
    }

    #[test]
    fn bounds_include_all_of_their_year_month_or_day() {
        assert!(included(Some("2021"), None, "2021-01-01"));
        assert!(!included(Some("2021"), None, "2020-12-31T23:59:59"));
        assert!(included(None, Some("2021-03"), "2021-03-31 23:59:59"));
        assert!(!included(None, Some("2021-03"), "2021-04-01"));
        assert!(included(Some("2021-03-04"), Some("2021-03-04"), "2021-03-04T12:30:05.25"));
        assert!(!included(Some("2021-03-04"), Some("2021-03-04"), ""));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["4.3.2021", "03/04/2021", "2021-13-01", "202", "2021-3-4", "yesterday"] {
            let filter = TimeFilter { since: Some(text.to_owned()), ..TimeFilter::default() };
            assert!(filter.bounds().is_err(), "{text}");
        }
        let filter = TimeFilter { since: Some("2021".to_owned()), until: Some("2020".to_owned()), ..TimeFilter::default() };
        assert!(filter.bounds().is_err());
    }
}
