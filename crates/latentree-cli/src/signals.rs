//! What happens when the user or the system asks the program to stop: Ctrl-C (SIGINT), SIGTERM and SIGHUP.
//!
//! The first request lets the running step end and tidy up. If that takes too long, or on a second request, temporary files are removed and
//! the program ends at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Set when the program was asked to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// How long a step may take to notice: service managers and batch systems often kill after 10 seconds.
const GRACE: Duration = Duration::from_secs(5);

/// Status of a program that was asked to stop.
const STOPPED: i32 = 130;

/// Whether the program was asked to stop.
pub(crate) fn is_stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Catches the signals from here on.
pub(crate) fn catch() -> Result<(), ctrlc::Error> {
    let ignored = ignored();
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            end();
        }
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            end();
        });
    })?;
    ignore(&ignored);
    Ok(())
}

fn end() -> ! {
    latentree::file::remove_unfinished();
    std::process::exit(STOPPED);
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
