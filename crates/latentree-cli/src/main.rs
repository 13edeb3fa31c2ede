//! The `latentree` command line: thin verbs over the `latentree` crate.

mod args;
mod commands;
mod group_file;
mod learn_options;
mod printer;
mod signals;

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::Mutex;

use clap::Parser;

use args::Cli;
use printer::Printer;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExitStatus {
    /// The work is done.
    Success,
    /// A bug of ours.
    Bug,
    /// The user's mistake, or something outside that failed.
    Failure,
    /// The user stopped it.
    Stopped,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        match status {
            ExitStatus::Success => Self::SUCCESS,
            ExitStatus::Bug => Self::from(1),
            ExitStatus::Failure => Self::from(2),
            ExitStatus::Stopped => Self::from(130),
        }
    }
}

/// What stops a verb.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library's error.
    Library(latentree::Error),
    /// Standard output could not be written.
    Output(std::io::Error),
}

impl From<latentree::Error> for Failure {
    fn from(error: latentree::Error) -> Self {
        Self::Library(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let printer = Printer::new(&cli.global);
    // A panic is kept, not printed: readers catch those of file libraries on damaged files and report an error of their
    // own. One that gets here is a bug of ours and ends with status 1.
    static PANIC: Mutex<String> = Mutex::new(String::new());
    std::panic::set_hook(Box::new(|panic| {
        if let Ok(mut message) = PANIC.lock() {
            *message = panic.to_string();
        }
    }));
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| run(cli, &printer)));
    let status = match outcome {
        Ok(Ok(())) => ExitStatus::Success,
        Ok(Err(Failure::Output(error))) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitStatus::Success,
        Ok(Err(Failure::Output(error))) => {
            printer.error(&format!("cannot write to standard output: {error}"));
            ExitStatus::Failure
        }
        Ok(Err(Failure::Library(latentree::Error::Io { source, path, .. })))
            if source.kind() == std::io::ErrorKind::BrokenPipe && path.as_os_str() == "-" =>
        {
            ExitStatus::Success
        }
        Ok(Err(Failure::Library(error))) => {
            printer.error(&error.to_string());
            if error.is_cancelled() { ExitStatus::Stopped } else { ExitStatus::Failure }
        }
        Err(_) => {
            let message = PANIC.lock().map_or_else(|_| String::new(), |message| message.clone());
            printer.error(&format!("{message}\nthis is a bug in latentree, not a mistake of yours; please report it"));
            ExitStatus::Bug
        }
    };
    status.into()
}

fn run(cli: Cli, printer: &Printer) -> Result<(), Failure> {
    let mut pool = rayon::ThreadPoolBuilder::new();
    if let Some(threads) = cli.global.threads {
        pool = pool.num_threads(usize::from(threads));
    }
    let pool = pool.build().map_err(|error| latentree::Error::option("--threads", error.to_string()))?;
    pool.install(|| commands::run(cli, printer))
}
