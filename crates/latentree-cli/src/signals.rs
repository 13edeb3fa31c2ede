//! What happens when the user or the system asks the command to stop: Ctrl-C (SIGINT), SIGTERM and SIGHUP.
//!
//! The first request lets the running step end and tidy up. If that takes too long, or on a second request, temporary files are
//! removed and the process ends at once.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::ExitStatus;
use crate::printer::Printer;

/// Who listens to signals while the command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signals {
    /// The command does, for as long as the process lives.
    Catch,
    /// The caller does, and calls [`request_stop`].
    Leave,
}

/// Set when the command was asked to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// How many commands have ended in this process.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// How long a step may take to notice: service managers and batch systems often kill after 10 seconds.
const GRACE: Duration = Duration::from_secs(5);

/// Asks the running command to stop and to tidy up. It ends with [`ExitStatus::Stopped`].
///
/// If the command is still there after five seconds, or when this is called a second time, temporary files are removed and the
/// process ends at once.
pub fn request_stop() {
    if STOP.swap(true, Ordering::Relaxed) {
        end_process();
    }
    let ended = ENDED.load(Ordering::Relaxed);
    std::thread::spawn(move || {
        std::thread::sleep(GRACE);
        if ENDED.load(Ordering::Relaxed) == ended {
            end_process();
        }
    });
}

/// Whether the command was asked to stop.
pub(crate) fn is_stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// A command begins.
pub(crate) fn begin(signals: Signals, printer: &Printer) {
    if signals == Signals::Catch && catch().is_err() && printer.shows_progress() {
        printer.note("Ctrl-C cannot be caught here; partial files may be left");
    }
}

/// The command is over: nobody waits for it to stop, and the next one is not asked to.
pub(crate) fn end() {
    ENDED.fetch_add(1, Ordering::Relaxed);
    STOP.store(false, Ordering::Relaxed);
}

/// Catches the signals from here on.
fn catch() -> Result<(), ctrlc::Error> {
    let ignored = ignored();
    ctrlc::set_handler(request_stop)?;
    ignore(&ignored);
    Ok(())
}

fn end_process() -> ! {
    latentree::file::remove_unfinished();
    std::process::exit(ExitStatus::Stopped.code().into());
}

/// The signals that the program was started with ignored: SIGHUP by `nohup`, SIGINT in the background of a script. They stay so.
#[cfg(unix)]
fn ignored() -> Vec<libc::c_int> {
    let is_ignored = |&signal: &libc::c_int| {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: sigaction with no new action only writes the present one to a place that is large enough for it.
        let found = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
        // SAFETY: all bytes are initialised, by `zeroed` or by the call.
        found == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
    };
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].into_iter().filter(is_ignored).collect()
}

#[cfg(unix)]
fn ignore(signals: &[libc::c_int]) {
    for &signal in signals {
        // SAFETY: SIG_IGN is a valid disposition of each of these signals.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

#[cfg(not(unix))]
fn ignored() {}

#[cfg(not(unix))]
fn ignore(_: &()) {}
