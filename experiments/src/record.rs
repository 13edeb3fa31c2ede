//! Results as tables, kept with the machine and the date.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// A table of results.
#[derive(Debug, Clone)]
pub(crate) struct Results {
    pub(crate) title: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Results {
    pub(crate) fn new(title: impl Into<String>, header: &[&str]) -> Self {
        Self { title: title.into(), header: header.iter().map(|&it| it.to_owned()).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
        let mut text = format!("### {}\n\n{}\n|{}\n", self.title, line(&self.header), " --- |".repeat(self.header.len()));
        for row in &self.rows {
            let _ = writeln!(text, "{}", line(row));
        }
        text
    }

    /// Appends the table to a file.
    pub(crate) fn append(&self, path: &Path) -> std::io::Result<()> {
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        writeln!(file, "\n{}\n{}, {}\n", self.markdown().trim_end(), today(), machine())
    }
}

/// Processor and number of cores.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")).and_then(|line| line.split(": ").nth(1));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} cores, latentree {}", model.unwrap_or(std::env::consts::ARCH), env!("CARGO_PKG_VERSION"))
}

/// Today's date, by the civil-from-days algorithm.
fn today() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs() / 86_400) as i64 + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_part = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_part + 2) / 5 + 1;
    let month = if month_part < 10 { month_part + 3 } else { month_part - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

/// Seconds of the processor that this process has used.
pub(crate) fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = after.split_whitespace().skip(11).take(2).filter_map(|it| it.parse::<f64>().ok()).sum();
    ticks / 100.0
}
