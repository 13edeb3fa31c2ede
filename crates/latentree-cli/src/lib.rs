//! The `latentree` command line as a library, for the program and for the command of the Python package.
//!
//! [`main_with`] takes the arguments and returns an [`ExitStatus`]. It does not end the process itself, unless a step does not stop
//! after [`request_stop`].

mod args;
mod commands;
mod data_args;
mod federate_args;
mod group_file;
mod learn_options;
mod mixture_args;
mod printer;
mod progress;
mod signals;
mod text_args;
mod topics_args;

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write as _};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use clap::Parser;

use args::Cli;
use printer::Printer;
pub use signals::{Signals, request_interrupt, request_stop};

/// How the command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// Success.
    Success,
    /// A bug in latentree.
    Bug,
    /// Invalid input or options, or a failure outside the program.
    Failure,
    /// Stopped by the user or the system.
    Stopped,
}

impl ExitStatus {
    /// The exit code.
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

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of the library.
    Library(latentree::Error),
    /// Standard output could not be written.
    Output(io::Error),
    /// Ctrl-C ended a search early; its model is written and shown.
    Interrupted,
    /// A structure does not fit the memory of the machine.
    OutOfMemory(String),
    /// A signal stopped the command between two outputs.
    Unfinished { written: PathBuf, missing: PathBuf },
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

/// Runs the command with its arguments; the first is the name of the program. Standard output is flushed before this returns.
///
/// Only one command may run at a time in a process, because commands share the signals and the panic hook. The caller's hook is
/// restored afterwards.
///
/// # Example
/// ```
/// use latentree_cli::{ExitStatus, Signals, main_with};
/// assert_eq!(main_with(["latentree", "--version"].map(Into::into), Signals::Leave), ExitStatus::Success);
/// assert_eq!(main_with(["latentree", "learn"].map(Into::into), Signals::Leave), ExitStatus::Failure);
/// ```
pub fn main_with(args: impl IntoIterator<Item = OsString>, signals: Signals) -> ExitStatus {
    let args: Vec<OsString> = args.into_iter().collect();
    let is_json = args.iter().any(|arg| arg == "--json");
    let gives_memory = args.iter().filter_map(|arg| arg.to_str()).any(|arg| arg == "--memory" || arg.starts_with("--memory="));
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help, the version, or a usage error. If it cannot be printed, there is nowhere else to report it.
            let _ = error.print();
            if is_json && error.exit_code() != 0 {
                let _ = printer::print_error_object(&usage_message(&error));
            }
            let _ = io::stdout().flush();
            return if error.exit_code() == 0 { ExitStatus::Success } else { ExitStatus::Failure };
        }
    };
    // This must come before the printer starts a thread, which would otherwise receive the signals.
    let is_caught = signals::begin(signals);
    let printer = Printer::new(&cli.global);
    if !is_caught && printer.shows_progress() {
        printer.note("Ctrl-C cannot be caught here; partial files may be left");
    }
    let outcome = catching_panics(|| run(cli, &printer));
    let status = status_of(outcome.map(|it| it.map_err(|failure| unprefixed(failure, gives_memory))), &printer);
    signals::end();
    status
}

/// The message of a usage error, without the usage text.
fn usage_message(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let message = text.split("\n\nUsage:").next().unwrap_or(&text);
    message.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The failure, not in the name of `--memory` if the limit is the machine's.
fn unprefixed(failure: Failure, gives_memory: bool) -> Failure {
    match failure {
        Failure::Library(latentree::Error::Option { option, problem }) if option == "learn.memory" && !gives_memory => {
            Failure::OutOfMemory(problem)
        }
        other => other,
    }
}

fn status_of(outcome: Result<Result<(), Failure>, String>, printer: &Printer) -> ExitStatus {
    match outcome {
        Ok(Ok(())) => ExitStatus::Success,
        Ok(Err(Failure::Interrupted)) => ExitStatus::Stopped,
        Ok(Err(Failure::Unfinished { written, missing })) => {
            printer.error(&format!("stopped; {} is written, {} is not", written.display(), missing.display()));
            ExitStatus::Stopped
        }
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
        Ok(Err(Failure::Library(error))) if error.is_cancelled() => {
            printer.error("stopped; nothing was written");
            ExitStatus::Stopped
        }
        Ok(Err(Failure::OutOfMemory(problem))) => {
            printer.error(&problem);
            ExitStatus::Failure
        }
        Ok(Err(Failure::Library(error))) => {
            printer.error(&error.to_string());
            ExitStatus::Failure
        }
        Err(panic) => {
            printer.error(&format!("{panic}\nthis is a bug in latentree; please report it"));
            ExitStatus::Bug
        }
    }
}

/// Runs `work`, and returns the message if it panics.
///
/// Panics are not printed, because readers catch panics of file libraries on damaged files and report an error instead. A panic that
/// reaches this function is a bug. The previous hook is restored afterwards.
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
    // The process may belong to a caller that never flushes it.
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
