//! Output: results go to standard output, everything else to standard error.
#![expect(clippy::print_stderr, reason = "this is the one place that prints")]

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use latentree::Observer;
use serde_json::Value;

use crate::args::Global;
use crate::learn_options::with_flags;
use crate::progress::Progress;
use crate::signals;

/// Prints results and notes, and shows progress.
pub(crate) struct Printer {
    json: bool,
    quiet: bool,
    progress: Option<Progress>,
    has_result: AtomicBool,
    said_interrupted: AtomicBool,
}

impl Printer {
    pub(crate) fn new(global: &Global) -> Self {
        let is_shown = !global.quiet && !global.json && io::stderr().is_terminal();
        Self {
            json: global.json,
            quiet: global.quiet,
            progress: is_shown.then(Progress::new),
            has_result: AtomicBool::new(false),
            said_interrupted: AtomicBool::new(false),
        }
    }

    /// Whether the result is printed as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether progress is shown.
    pub(crate) fn shows_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// Prints the result: the JSON object, or the output of `human`.
    pub(crate) fn result(&self, json: &Value, human: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        self.finish();
        let mut out = io::stdout().lock();
        if self.json {
            self.has_result.store(true, Ordering::Relaxed);
            let mut json = json.clone();
            if let Some(warnings) = json.get_mut("warnings").and_then(Value::as_array_mut) {
                warnings.iter_mut().for_each(|it| *it = it.as_str().map_or(Value::Null, |text| with_flags(text).into()));
            }
            serde_json::to_writer(&mut out, &json)?;
            writeln!(out)?;
        } else {
            human(&mut out)?;
        }
        out.flush()
    }

    /// Prints a note on standard error.
    pub(crate) fn note(&self, message: &str) {
        if !self.quiet {
            let message = with_flags(message);
            match &self.progress {
                Some(progress) => progress.suspended(|| eprintln!("note: {message}")),
                None => eprintln!("note: {message}"),
            }
        }
    }

    /// Prints an error on standard error and, with `--json`, as the one object on standard output, unless a result was printed.
    pub(crate) fn error(&self, message: &str) {
        self.finish();
        let message = with_flags(message);
        eprintln!("error: {message}");
        if self.json && !self.has_result.load(Ordering::Relaxed) {
            // The message is already on standard error.
            let _ = print_error_object(&message);
        }
    }

    /// Notes once that Ctrl-C ends the search with its best model.
    fn say_interrupted(&self) {
        let is_ending = signals::is_interrupted() && signals::has_model() && !signals::is_stopped();
        if is_ending && !self.said_interrupted.swap(true, Ordering::Relaxed) {
            self.note("interrupted: the search ends with its best model so far; press Ctrl-C again to quit without it");
        }
    }

    fn finish(&self) {
        if let Some(progress) = &self.progress {
            progress.end();
        }
    }
}

impl Observer for Printer {
    fn stage(&self, name: &str, total: Option<u64>) {
        if let Some(progress) = &self.progress {
            progress.begin(name, total);
        }
    }

    fn progress(&self, done: u64) {
        if let Some(progress) = &self.progress {
            progress.done(done);
        }
    }

    fn step(&self, name: &str) {
        if let Some(progress) = &self.progress {
            progress.step(name);
        }
    }

    fn warn(&self, message: &str) {
        self.note(message);
    }

    fn cancelled(&self) -> bool {
        self.say_interrupted();
        signals::is_stopped()
    }

    fn stop_early(&self) -> bool {
        self.say_interrupted();
        signals::is_interrupted()
    }

    fn model_found(&self) {
        signals::model_found();
    }
}

/// Prints an error as a JSON object on standard output.
pub(crate) fn print_error_object(message: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::json!({"error": message}))?;
    out.flush()
}

/// An aligned table without lines; columns from `numbers` on are right-aligned.
pub(crate) fn table(header: &[&str], rows: Vec<Vec<String>>, numbers: usize) -> String {
    let mut lines = vec![header.iter().map(|&title| title.to_owned()).collect::<Vec<_>>()];
    lines.extend(rows);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let text = lines.iter().map(|line| {
        let cells =
            line.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column < numbers { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    text.collect::<Vec<_>>().join("\n")
}

/// A number with the few digits that matter to a reader.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if value.is_nan() {
        "–".to_owned()
    } else if value.fract() == 0.0 && size < 1e15 {
        format!("{value}")
    } else if !(1e-4..1e6).contains(&size) {
        format!("{value:.4e}")
    } else if size >= 100.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    }
}

/// A log-likelihood or criterion: never rounded to a power of ten, so that two models can be compared.
pub(crate) fn in_full(value: f64) -> String {
    if value.is_finite() && value.abs() >= 100.0 { format!("{value:.2}") } else { number(value) }
}

/// A name without control characters, truncated to keep tables readable.
pub(crate) fn shown(name: &str) -> String {
    const WIDTH: usize = 40;
    let clean: String = name.chars().map(|it| if it.is_control() { '·' } else { it }).collect();
    match clean.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_likelihoods_are_never_rounded_to_a_power_of_ten() {
        assert_eq!(in_full(-8_221_134.52), "-8221134.52");
        assert_eq!(in_full(-1_234.567), "-1234.57");
        assert_eq!(
            (in_full(-0.712_34), in_full(0.0), in_full(f64::NEG_INFINITY)),
            ("-0.7123".to_owned(), "0".to_owned(), "-inf".to_owned())
        );
    }
}
