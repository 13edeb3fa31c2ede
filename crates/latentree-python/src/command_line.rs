//! The command line, for the command included in the package.

use std::ffi::OsString;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use latentree_cli::{Signals, main_with, request_interrupt, request_stop};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

/// How often to check for signals.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the command with arguments as in `sys.argv[1:]` and returns its exit status.
///
/// It runs on another thread while this one checks for signals. A `KeyboardInterrupt` that a Python handler raises interrupts the
/// command, and any other exception stops it; both remove temporary files before this returns.
#[pyfunction]
pub(crate) fn run_command_line(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    let (sender, receiver) = sync_channel(1);
    let spawned = std::thread::Builder::new().name("latentree".to_owned()).spawn(move || {
        let arguments = std::iter::once(OsString::from("latentree")).chain(arguments);
        // The caller waits for it.
        let _ = sender.send(main_with(arguments, Signals::Leave));
    });
    spawned.map_err(|error| PyRuntimeError::new_err(format!("no thread can be started: {error}")))?;
    let receiver = Mutex::new(receiver);
    loop {
        match py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK)) {
            Ok(status) => return Ok(status.code()),
            Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err("the working thread has ended")),
            Err(RecvTimeoutError::Timeout) => {}
        }
        match py.check_signals() {
            Ok(()) => {}
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => request_interrupt(),
            Err(_) => request_stop(),
        }
    }
}
