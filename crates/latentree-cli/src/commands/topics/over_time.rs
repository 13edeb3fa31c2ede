//! Shares of topics over a column of dates.

use std::collections::BTreeMap;
use std::io::{self, Write};

use latentree::data::DocumentNames;
use latentree::report::TopicTable;
use latentree::{Error, Result};
use serde_json::{Value, json};

use crate::printer::table;

/// With more different months than this, years are shown; with more days, months.
const MOST_PERIODS: usize = 36;

/// Documents of a day, month or year, and the mean share of every topic in them.
pub(super) struct Period {
    date: String,
    documents: usize,
    shares: Vec<f64>,
}

impl Period {
    pub(super) fn to_json(&self) -> Value {
        json!({"date": self.date, "documents": self.documents, "shares": self.shares})
    }
}

/// The periods in their order, and the number of documents without a date.
pub(super) fn periods(names: &DocumentNames, shares: &[f64], n_topics: usize) -> (Vec<Period>, usize) {
    let dates: Vec<Option<String>> = (0..names.len()).map(|row| names.kept(row, 0).and_then(date)).collect();
    let different = |length: usize| {
        let cut = dates.iter().flatten().map(|date| &date[..date.len().min(length)]);
        cut.collect::<std::collections::BTreeSet<_>>().len()
    };
    let length = [10, 7].into_iter().find(|&length| different(length) <= MOST_PERIODS).unwrap_or(4);
    let mut periods: BTreeMap<&str, (usize, Vec<f64>)> = BTreeMap::new();
    let mut undated = 0;
    for (date, shares) in dates.iter().zip(shares.chunks_exact(n_topics.max(1))) {
        let Some(date) = date else {
            undated += 1;
            continue;
        };
        let (documents, sums) = periods.entry(&date[..date.len().min(length)]).or_insert_with(|| (0, vec![0.0; n_topics]));
        *documents += 1;
        sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
    }
    let mean = |(date, (documents, sums)): (&str, (usize, Vec<f64>))| {
        let shares = sums.iter().map(|sum| sum / documents as f64).collect();
        Period { date: date.to_owned(), documents, shares }
    };
    (periods.into_iter().map(mean).collect(), undated)
}

/// Refuses a column of which most cells are no dates, and names the first.
pub(super) fn check(names: &DocumentNames, column: &str) -> Result<()> {
    let cells: Vec<(usize, &str)> = (0..names.len()).filter_map(|row| Some((row, names.kept(row, 0)?))).collect();
    let undated: Vec<&(usize, &str)> = cells.iter().filter(|(_, cell)| date(cell).is_none()).collect();
    let Some((row, cell)) = undated.first().filter(|_| 2 * undated.len() > cells.len()) else { return Ok(()) };
    let problem =
        format!("{column:?} is no column of dates: row {} has {cell:?}; write dates as 2021-03-04, 2021-03 or 2021", row + 1);
    Err(Error::option("--dates", problem))
}

/// A date as `2021-03-04`, `2021-03` or `2021`: of other ways to write it, only the year of four digits is sure.
fn date(text: &str) -> Option<String> {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let start = text.trim().get(..10).unwrap_or(text.trim());
    let parts: Vec<&str> = start.split(['-', '/']).collect();
    match parts[..] {
        [year, month, day] if year.len() == 4 && month.len() == 2 && day.len() == 2 && parts.iter().all(|it| is_digits(it)) => {
            return Some(format!("{year}-{month}-{day}"));
        }
        [year, month] if year.len() == 4 && month.len() == 2 && is_digits(year) && is_digits(month) => {
            return Some(format!("{year}-{month}"));
        }
        _ => {}
    }
    let mut numbers = text.split(|letter: char| !letter.is_ascii_digit());
    numbers.find(|number| number.len() == 4).map(str::to_owned)
}

/// Prints a line for each period with the shares of the first topics: those that no other one contains or, in a hierarchy, whose first
/// topics are its two sides, those that contain no other.
pub(super) fn show(
    periods: &[Period],
    topics: &TopicTable,
    is_hierarchy: bool,
    most: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let is_shown = |ix: &usize| if is_hierarchy { topics.is_leaf(*ix) } else { topics.depth(*ix) == 0 };
    let mut shown: Vec<usize> = (0..topics.topics().len()).filter(is_shown).collect();
    let n_shown = shown.len();
    shown.truncate(most);
    let names: Vec<&str> = shown.iter().map(|&ix| topics.topics()[ix].name.as_str()).collect();
    let header: Vec<&str> = ["date", "documents"].into_iter().chain(names).collect();
    let line = |period: &Period| {
        let shares = shown.iter().map(|&ix| format!("{:.0}%", 100.0 * period.shares[ix]));
        [period.date.clone(), period.documents.to_string()].into_iter().chain(shares).collect()
    };
    writeln!(out, "\n{}", table(&header, periods.iter().map(line).collect(), 1))?;
    if n_shown > most {
        writeln!(out, "the first {most} of {n_shown} topics; --json prints the shares of all")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_cut_to_what_is_sure() {
        assert_eq!(date("2021-03-04T10:00:00Z").as_deref(), Some("2021-03-04"));
        assert_eq!(date("2021/03/04").as_deref(), Some("2021-03-04"));
        assert_eq!(date("2021-03").as_deref(), Some("2021-03"));
        assert_eq!(date("4.3.2021").as_deref(), Some("2021"));
        assert_eq!(date("1945").as_deref(), Some("1945"));
        assert_eq!(date("yesterday"), None);
    }
}
