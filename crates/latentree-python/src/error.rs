//! Conversion of the library's errors to Python exceptions.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use latentree::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::pyfunction;

/// The result of a call, or the library's error.
pub(crate) struct Failure(Error);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let message = with_python_names(&failure.0.to_string());
        match &failure.0 {
            Error::Cancelled => PyKeyboardInterrupt::new_err(()),
            Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
            Error::Io { .. } => PyOSError::new_err(message),
            _ => PyValueError::new_err(message),
        }
    }
}

/// Converts an error of the library to a Python exception.
pub(crate) fn to_python(error: Error) -> PyErr {
    Failure(error).into()
}

/// Sentences about files, and their replacements for Python callers.
const PHRASES: &[(&str, &str)] = &[
    ("learn its parameters first, with this tree as `learn.tree`", "learn its parameters first: LatentTree(tree=...).fit(X)"),
    ("write missing values as an empty field", "write missing values as NaN or None"),
    ("write a missing value as an empty field", "write a missing value as NaN or None"),
    ("give them names (a header, `read.names`)", "give a data frame with column names"),
    ("check the header", "check the column names"),
    ("the file has", "the table has"),
    ("a sparse file", "a sparse matrix"),
    ("save the file as UTF-8", "decode it first"),
    ("learn from the data", "fit rows"),
    ("use `cluster`, which", "use HierarchicalClustering, which"),
    ("use sidiwo, or `cluster`", "use sidiwo, or HierarchicalClustering"),
    ("use the verb mixture", "use Mixture"),
    ("cells are missing", "cells are missing (NaN)"),
    ("1 cell is missing", "1 cell is missing (NaN)"),
    ("the cell is missing", "the cell is missing (NaN)"),
];

/// The learning options and the arguments that set them.
pub(crate) const ARGUMENTS: [(&str, &str); 26] = [
    ("structure.learner", "structure"),
    ("structure.contract", "contract"),
    ("structure.collapse", "collapse"),
    ("structure.epsilon", "epsilon"),
    ("structure.tau", "tau"),
    ("structure.bootstrap", "bootstrap"),
    ("distance.estimator", "distance"),
    ("distance.significance", "significance"),
    ("distance.smoothing", "smoothing"),
    ("parameters.method", "parameters"),
    ("parameters.hidden_states", "n_states"),
    ("parameters.states", "states"),
    ("parameters.decomposition", "decomposition"),
    ("parameters.alignment", "alignment"),
    ("parameters.linkers", "linkers"),
    ("em.start", "start"),
    ("em.restarts", "restarts"),
    ("em.iterations", "em_iterations"),
    ("em.tolerance", "em_tolerance"),
    ("em.smoothing", "em_smoothing"),
    ("selection.criterion", "select"),
    ("selection.effort", "effort"),
    ("selection.validation", "validation_fraction"),
    ("selection.accept", "accept"),
    ("weight_kind", "weight_kind"),
    ("seed", "random_state"),
];

/// Other options whose name in Python differs from the last part of their path.
const NAMES: &[(&str, &str)] = &[
    ("read.weights", "sample_weight"),
    ("read.unseen", "handle_unknown"),
    ("read.subject_split", "split"),
    ("read.features_cols", "columns"),
    ("sample.rows", "n_samples"),
    ("learn.threads", "n_jobs"),
    ("mixture.components", "n_components"),
    ("mixture.family", "family"),
    ("mixture.method", "method"),
    ("mixture.em", "em"),
    ("mixture.alpha", "alpha"),
    ("mixture.stability", "n_runs"),
    ("cluster.depth", "depth"),
    ("cluster.leaves", "n_clusters"),
    ("cluster.method", "method"),
    ("cluster.family", "family"),
    ("cluster.em", "em"),
];

/// The option that an argument sets.
pub(crate) fn path_of(argument: &str) -> Option<&'static str> {
    ARGUMENTS.iter().find(|(_, name)| *name == argument).map(|(path, _)| *path)
}

/// Values that messages recommend: they are quoted after their option, as in `distance="canonical"`.
const VALUES: [&str; 26] = [
    "auto",
    "bic",
    "canonical",
    "chow-liu",
    "clnj",
    "clrg",
    "distances",
    "em",
    "error",
    "gaussian",
    "hclt",
    "lcm",
    "likelihood",
    "linear",
    "logdet",
    "missing",
    "moments",
    "moments+em",
    "multivariate",
    "nj",
    "none",
    "random",
    "reg-clnj",
    "reg-clrg",
    "symmetric",
    "validation",
];

/// A message for Python callers: options are named by their arguments (`n_states` for `parameters.hidden_states`), values are quoted,
/// and files are not mentioned if the input was a table.
pub(crate) fn with_python_names(message: &str) -> String {
    // Marks where values may follow: no message has this character.
    const MARK: char = '\u{1}';
    let message = PHRASES.iter().fold(message.to_owned(), |text, (from, to)| text.replace(from, to));
    let message = replaced(&message, " or name rows by it (", Some(')'), "");
    let message = replaced(&message, "add `read.na` ", None, "replace them by NaN");
    let message = latentree::spelled(&message, |path| {
        let known = ARGUMENTS.iter().chain(NAMES).find(|(option, _)| *option == path).map(|it| it.1);
        let others = ["read", "learn", "sample", "export", "read_model", "impute"];
        let last = path.split_once('.').filter(|(first, _)| others.contains(first)).map(|(_, last)| last);
        known.or(last).map(|name| format!("{name}{MARK}"))
    });
    let mut parts = message.split(MARK);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let part = if text.ends_with("kind") { quote_kind(part, &mut text) } else { part };
        let rest = quote_values(part, &mut text);
        text.push_str(rest);
    }
    text
}

/// Replaces what begins with `start` and ends with `end`, or with the line.
fn replaced(message: &str, start: &str, end: Option<char>, by: &str) -> String {
    let Some((before, after)) = message.split_once(start) else { return message.to_owned() };
    let rest = match end {
        Some(end) => after.split_once(end).map_or("", |it| it.1),
        None => after.find('\n').map_or("", |at| &after[at..]),
    };
    format!("{before}{by}{rest}")
}

/// Writes the kind of a column that follows, ` age=ignore`, as `={"age": "ignore"}`, and returns the rest.
fn quote_kind<'a>(after: &'a str, text: &mut String) -> &'a str {
    const KINDS: [&str; 6] = ["categorical", "binary", "continuous", "count", "ignore", "KIND"];
    let Some(told) = after.strip_prefix(' ') else { return after };
    let quote = told.chars().next().filter(|first| matches!(first, '\'' | '"'));
    let told = quote.map_or(told, |quote| &told[quote.len_utf8()..]);
    let ends = told.match_indices('=').filter_map(|(at, _)| {
        let kind = KINDS.into_iter().find(|kind| told[at + 1..].starts_with(kind))?;
        Some((at, kind))
    });
    let Some((at, kind)) = ends.into_iter().next().filter(|(at, _)| quote.is_some() || !told[..*at].contains(' ')) else {
        return after;
    };
    text.push_str(&format!("={{{:?}: {kind:?}}}", &told[..at]));
    let rest = &told[at + 1 + kind.len()..];
    quote.and_then(|quote| rest.strip_prefix(quote)).unwrap_or(rest)
}

/// Writes the values that follow an option, `="em" or "moments+em"`, and returns the rest.
fn quote_values<'a>(after: &'a str, text: &mut String) -> &'a str {
    let mut rest = after;
    let mut is_first = true;
    loop {
        let separator = if is_first { " " } else { " or " };
        let Some(value) = rest.strip_prefix(separator) else { return rest };
        let end = value.find(|c: char| !(c.is_ascii_lowercase() || c == '-' || c == '+')).unwrap_or(value.len());
        if !VALUES.contains(&&value[..end]) {
            return rest;
        }
        text.push_str(if is_first { "=" } else { separator });
        text.push_str(&format!("{:?}", &value[..end]));
        rest = &value[end..];
        is_first = false;
    }
}

/// Converts a message of the library for Python callers.
#[pyfunction]
pub(crate) fn python_message(message: &str) -> String {
    with_python_names(message)
}

/// The exception for a panic, which is a bug in latentree.
pub(crate) fn bug(panic: &(dyn Any + Send)) -> PyErr {
    let message = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let message = message.unwrap_or("no message");
    PyRuntimeError::new_err(format!("{message}: this is a bug in latentree; please report it"))
}

/// Runs a conversion; a panic in it becomes an error.
pub(crate) fn guarded<T>(conversion: impl FnOnce() -> Result<T, PyErr>) -> Result<T, PyErr> {
    catch_unwind(AssertUnwindSafe(conversion)).unwrap_or_else(|panic| Err(bug(&*panic)))
}
