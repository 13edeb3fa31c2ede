//! The command line, for the command included in the package.

use std::ffi::OsString;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use latentree_cli::{Signals, main_with, request_stop};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the command with arguments as in `sys.argv[1:]`; gives its exit status.
///
/// It runs on another thread. This one looks for signals: whatever a handler of Python raises asks the command to stop, so that
/// files in the making are removed before this returns.
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
        if py.check_signals().is_err() {
            request_stop();
        }
    }
}
