//! The library's errors as Python's.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use latentree::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};

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

/// A message with its options named as Python's arguments are: `em_iterations` for `--em-iterations`.
pub(crate) fn with_python_names(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find("--") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        let end = after.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(after.len());
        let is_option = after.starts_with(|c: char| c.is_ascii_lowercase())
            && !before.ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '"');
        text.push_str(before);
        if is_option {
            text.push_str(&match after[..end].trim_end_matches('-') {
                "hidden-states" => "n_states".to_owned(),
                "seed" => "random_state".to_owned(),
                "threads" => "n_jobs".to_owned(),
                "weights" => "sample_weight".to_owned(),
                name => name.replace('-', "_"),
            });
        } else {
            text.push_str("--");
            text.push_str(&after[..end]);
        }
        rest = &after[end..];
    }
    text.push_str(rest);
    text
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
