//! The `latentree` command line as a library: the verbs over the `latentree` crate, for the program and for the Python package's
//! command.
//!
//! [`main_with`] is all there is to it: arguments in, an [`ExitStatus`] out. It never ends the process by itself, except where a
//! step does not stop after [`request_stop`].

mod args;
mod commands;
mod group_file;
mod learn_options;
mod mixture_args;
mod printer;
mod signals;

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write as _};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use clap::Parser;

use args::Cli;
use printer::Printer;
pub use signals::{Signals, request_stop};

/// How the command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// The work is done.
    Success,
    /// A bug of ours.
    Bug,
    /// The user's mistake, or something outside that failed.
    Failure,
    /// The user stopped it.
    Stopped,
}

impl ExitStatus {
    /// The number that the shell sees.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Bug => 1,
            Self::Failure => 2,
            Self::Stopped => 130,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}

/// What stops a verb.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library's error.
    Library(latentree::Error),
    /// Standard output could not be written.
    Output(io::Error),
}

impl From<latentree::Error> for Failure {
    fn from(error: latentree::Error) -> Self {
        Self::Library(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Runs the command with its arguments, the first of which is the program's name. Results are on standard output when this
/// returns.
///
/// Only one command may run at a time in a process: they share the signals and the panic hook, which is the caller's again
/// afterwards.
///
/// # Example
/// ```
/// use latentree_cli::{ExitStatus, Signals, main_with};
/// assert_eq!(main_with(["latentree", "--version"].map(Into::into), Signals::Leave), ExitStatus::Success);
/// assert_eq!(main_with(["latentree", "learn"].map(Into::into), Signals::Leave), ExitStatus::Failure);
/// ```
pub fn main_with(args: impl IntoIterator<Item = OsString>, signals: Signals) -> ExitStatus {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help, the version, or the user's mistake. What cannot be printed has no other place to go.
            let _ = error.print();
            let _ = io::stdout().flush();
            return if error.exit_code() == 0 { ExitStatus::Success } else { ExitStatus::Failure };
        }
    };
    let printer = Printer::new(&cli.global);
    signals::begin(signals, &printer);
    let outcome = catching_panics(|| run(cli, &printer));
    let status = status_of(outcome, &printer);
    signals::end();
    status
}

fn status_of(outcome: Result<Result<(), Failure>, String>, printer: &Printer) -> ExitStatus {
    match outcome {
        Ok(Ok(())) => ExitStatus::Success,
        Ok(Err(Failure::Output(error))) if error.kind() == ErrorKind::BrokenPipe => ExitStatus::Success,
        Ok(Err(Failure::Output(error))) => {
            printer.error(&format!("cannot write to standard output: {error}"));
            ExitStatus::Failure
        }
        Ok(Err(Failure::Library(latentree::Error::Io { source, path, .. })))
            if source.kind() == ErrorKind::BrokenPipe && path.as_os_str() == "-" =>
        {
            ExitStatus::Success
        }
        Ok(Err(Failure::Library(error))) => {
            printer.error(&error.to_string());
            if error.is_cancelled() { ExitStatus::Stopped } else { ExitStatus::Failure }
        }
        Err(panic) => {
            printer.error(&format!("{panic}\nthis is a bug in latentree; please report it"));
            ExitStatus::Bug
        }
    }
}

/// Does the work; if it panics, the message of the panic.
///
/// A panic is kept, not printed: readers catch those of file libraries on damaged files and report an error of their own. One
/// that gets here is a bug of ours. The hook that was there before is there again afterwards.
fn catching_panics<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static PANIC: Mutex<String> = Mutex::new(String::new());
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|panic| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
    }));
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(work));
    std::panic::set_hook(before);
    outcome.map_err(|_| PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

fn run(cli: Cli, printer: &Printer) -> Result<(), Failure> {
    let mut pool = rayon::ThreadPoolBuilder::new();
    if let Some(threads) = cli.global.threads {
        pool = pool.num_threads(usize::from(threads));
    }
    let pool = pool.build().map_err(|error| latentree::Error::option("--threads", error.to_string()))?;
    pool.install(|| commands::run(cli, printer))?;
    // A process that is not ours to end may never flush it.
    io::stdout().flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_and_the_hook_of_the_caller_is_there_again() {
        static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
        std::panic::set_hook(Box::new(|panic| SEEN.lock().unwrap().push(panic.to_string())));
        let told = catching_panics(|| panic!("within the command")).expect_err("it panics");
        assert!(told.contains("within the command"), "{told}");
        assert!(SEEN.lock().unwrap().is_empty());
        assert!(std::panic::catch_unwind(|| panic!("after it")).is_err());
        let seen = SEEN.lock().unwrap().clone();
        assert!(seen.len() == 1 && seen[0].contains("after it"), "{seen:?}");
    }
}
