//! The library's errors as Python's.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use latentree::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::pyfunction;

/// What a call gives, or the library's error.
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

/// The error of Python for one of the library.
pub(crate) fn to_python(error: Error) -> PyErr {
    Failure(error).into()
}

/// Sentences that speak of files and of the command line, and what to say to callers of Python instead.
const PHRASES: [(&str, &str); 11] = [
    ("--validation FILE or a fraction such as 0.1", "validation_fraction, such as 0.1"),
    ("learn its parameters first (learn --tree)", "learn its parameters first: LatentTree(tree=...).fit(X)"),
    ("(learn --tree)", "(LatentTree(tree=...).fit(X))"),
    ("write missing values as an empty field", "write missing values as NaN or None"),
    ("write a missing value as an empty field", "write a missing value as NaN or None"),
    ("give them names (a header, --names)", "give a data frame with column names"),
    ("check the header", "check the column names"),
    ("the file has", "the table has"),
    ("a sparse file", "a sparse matrix"),
    ("leave it out (kind ignore)", "leave it out (kind=\"ignore\" for it)"),
    ("save the file as UTF-8", "decode it first"),
];

/// Options that have another name in Python. The others have their own, with `_` for `-`.
const NAMES: [(&str, &str); 7] = [
    ("hidden-states", "n_states"),
    ("seed", "random_state"),
    ("threads", "n_jobs"),
    ("weights", "sample_weight"),
    ("validation", "validation_fraction"),
    ("unseen", "handle_unknown"),
    ("rows", "n_samples"),
];

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

/// A message for callers of Python: options have the names of Python's arguments (`n_states` for `--hidden-states`) and their
/// values are quoted, and nothing is said of files where a table was given.
pub(crate) fn with_python_names(message: &str) -> String {
    let message = PHRASES.iter().fold(message.to_owned(), |text, (from, to)| text.replace(from, to));
    let mut text = String::with_capacity(message.len());
    let mut rest = message.as_str();
    while let Some(at) = rest.find("--") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        let end = after.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(after.len());
        let name = after[..end].trim_end_matches('-');
        let is_option = after.starts_with(|c: char| c.is_ascii_lowercase())
            && !before.ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '"');
        text.push_str(before);
        if !is_option {
            text.push_str("--");
            text.push_str(&after[..end]);
            rest = &after[end..];
            continue;
        }
        let python = NAMES.iter().find(|(option, _)| *option == name).map(|it| it.1.to_owned());
        text.push_str(&python.unwrap_or_else(|| name.replace('-', "_")));
        rest = quote_values(&after[name.len()..], &mut text);
    }
    text.push_str(rest);
    text
}

/// Writes the values that follow an option, `="em" or "moments+em"`; gives what comes after them.
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

/// What callers of Python are told for a message of the library.
#[pyfunction]
pub(crate) fn python_message(message: &str) -> String {
    with_python_names(message)
}

/// The error of a panic, which is a bug of ours.
pub(crate) fn bug(panic: &(dyn Any + Send)) -> PyErr {
    let message = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let message = message.unwrap_or("no message");
    PyRuntimeError::new_err(format!("{message}: this is a bug in latentree, not a mistake of yours; please report it"))
}

/// Runs a conversion; a panic in it becomes an error.
pub(crate) fn guarded<T>(conversion: impl FnOnce() -> Result<T, PyErr>) -> Result<T, PyErr> {
    catch_unwind(AssertUnwindSafe(conversion)).unwrap_or_else(|panic| Err(bug(&*panic)))
}
