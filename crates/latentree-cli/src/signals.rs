//! What happens when the user or the system asks the command to stop: Ctrl-C (SIGINT), SIGTERM and SIGHUP.
//!
//! The first Ctrl-C ends a search with its best model so far. Anything else that runs stops and writes nothing, as it does at
//! SIGTERM, SIGHUP and a second Ctrl-C. Temporary files are removed in every case.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::ExitStatus;

/// Who listens to signals while the command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signals {
    /// The command does, for as long as the process lives. Call it before the process starts other threads.
    Catch,
    /// The caller does, and calls [`request_interrupt`] or [`request_stop`].
    Leave,
}

/// Set when the command must stop and write nothing.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Set when the user pressed Ctrl-C.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether a search is running that has a model to end with.
static HAS_MODEL: AtomicBool = AtomicBool::new(false);

/// How many commands have ended in this process.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// How long a step may take to notice: service managers and batch systems often kill after 10 seconds.
const GRACE: Duration = Duration::from_secs(5);

/// Asks the running command to end as at Ctrl-C, with [`ExitStatus::Stopped`]. A search that has a model writes it first; any
/// other command stops as with [`request_stop`].
///
/// The second call removes temporary files and ends the process at once.
pub fn request_interrupt() {
    if STOPPED.load(Ordering::Relaxed) || INTERRUPTED.swap(true, Ordering::Relaxed) {
        end_process();
    }
    end_process_later(|| !HAS_MODEL.load(Ordering::Relaxed));
}

/// Asks the running command to stop, to write nothing and to remove temporary files. It ends with [`ExitStatus::Stopped`].
///
/// If the command is still running after five seconds, or on a second call, this ends the process.
pub fn request_stop() {
    if STOPPED.swap(true, Ordering::Relaxed) {
        end_process();
    }
    end_process_later(|| true);
}

/// Ends the process after the grace period if the command is still running then.
fn end_process_later(is_due: fn() -> bool) {
    let ended = ENDED.load(Ordering::Relaxed);
    std::thread::spawn(move || {
        std::thread::sleep(GRACE);
        if ENDED.load(Ordering::Relaxed) == ended && is_due() {
            end_process();
        }
    });
}

/// Whether the command must stop and write nothing.
pub(crate) fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed) || (is_interrupted() && !HAS_MODEL.load(Ordering::Relaxed))
}

/// Whether the user pressed Ctrl-C.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// A search has a model to end with.
pub(crate) fn model_found() {
    HAS_MODEL.store(true, Ordering::Relaxed);
}

/// Whether Ctrl-C ends a search with its best model.
pub(crate) fn has_model() -> bool {
    HAS_MODEL.load(Ordering::Relaxed)
}

/// Learning is over. From here on Ctrl-C stops the command, unless it already ended the search: then the rest is written.
pub(crate) fn search_is_over() {
    if !is_interrupted() {
        HAS_MODEL.store(false, Ordering::Relaxed);
    }
}

/// A command begins; whether signals reach it.
pub(crate) fn begin(signals: Signals) -> bool {
    signals == Signals::Leave || catch().is_ok()
}

/// The command is over: nobody waits for it to stop, and the next one starts with no requests.
pub(crate) fn end() {
    ENDED.fetch_add(1, Ordering::Relaxed);
    [&STOPPED, &INTERRUPTED, &HAS_MODEL].into_iter().for_each(|flag| flag.store(false, Ordering::Relaxed));
}

fn end_process() -> ! {
    latentree::file::remove_unfinished();
    std::process::exit(ExitStatus::Stopped.code().into());
}

/// Catches the signals from here on: a thread waits for those that all others block.
///
/// A signal that the program was started with ignored stays ignored: SIGHUP under `nohup`, SIGINT in the background of a script.
#[cfg(unix)]
fn catch() -> std::io::Result<()> {
    let caught: Vec<libc::c_int> =
        [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].into_iter().filter(|&it| !is_ignored(it)).collect();
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigemptyset` initialises the set, and the signals are valid.
    let set = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in &caught {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    };
    // SAFETY: the set is initialised; the mask of before is not asked for.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) } {
        0 => {}
        error => return Err(std::io::Error::from_raw_os_error(error)),
    }
    let wait = move || {
        loop {
            let mut signal: libc::c_int = 0;
            // SAFETY: the set is initialised, and `signal` takes the signal's number.
            match unsafe { libc::sigwait(&raw const set, &raw mut signal) } {
                0 if signal == libc::SIGINT => request_interrupt(),
                0 => request_stop(),
                _ => {}
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
}

#[cfg(unix)]
fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: sigaction with no new action only writes the present one to a place that is large enough for it.
    let found = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: all bytes are initialised, by `zeroed` or by the call.
    found == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

#[cfg(not(unix))]
fn catch() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(request_interrupt)
}
