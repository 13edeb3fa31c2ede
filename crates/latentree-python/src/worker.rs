//! Runs work on other threads, so that the interpreter stays responsive, Ctrl-C takes effect at once, and progress is shown.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use latentree::limits::MAX_THREADS;
use latentree::{Error, Observer, Result};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPool;

use crate::error::{bug, to_python};

/// How often to check for signals and to show progress.
const LOOK: Duration = Duration::from_millis(50);
/// How long to wait for cancelled work before the call returns without it.
const PATIENCE: Duration = Duration::from_millis(300);

/// Shared state of the working thread and the caller.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    cancelled: AtomicBool,
    done: AtomicU64,
    stage: Mutex<(String, Option<u64>)>,
    step: Mutex<String>,
}

impl Observer for Progress {
    fn stage(&self, name: &str, total: Option<u64>) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = (name.to_owned(), total);
        self.step("");
        self.done.store(0, Ordering::Relaxed);
    }

    fn step(&self, name: &str) {
        name.clone_into(&mut self.step.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn progress(&self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

impl Progress {
    /// Fails if the work was cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        if self.cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    fn show(&self, py: Python<'_>, display: &Py<PyAny>) -> PyResult<()> {
        let (name, total) = self.stage.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let step = self.step.lock().unwrap_or_else(PoisonError::into_inner).clone();
        display.call1(py, (name, self.done.load(Ordering::Relaxed), total, step)).map(drop)
    }
}

/// A new pool with this many threads.
fn new_pool(n_jobs: usize) -> PyResult<ThreadPool> {
    if n_jobs > MAX_THREADS {
        return Err(PyValueError::new_err(format!("n_jobs: {n_jobs} given; up to {MAX_THREADS} are allowed")));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_jobs).thread_name(|ix| format!("latentree-{ix}")).build();
    pool.map_err(|error| PyRuntimeError::new_err(format!("n_jobs: {error}")))
}

/// The pool with this many threads. A pool does not survive a fork, so each process has its own.
fn shared_pool(n_jobs: usize) -> PyResult<Arc<ThreadPool>> {
    type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;
    static POOLS: Mutex<Option<Pools>> = Mutex::new(None);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = pools.get_or_insert_with(HashMap::new);
    let key = (std::process::id(), n_jobs);
    if let Some(pool) = pools.get(&key) {
        return Ok(Arc::clone(pool));
    }
    let pool = Arc::new(new_pool(n_jobs)?);
    pools.insert(key, Arc::clone(&pool));
    Ok(pool)
}

/// Asks one of several Python functions for the answer to a task; they are called on the thread of the caller.
pub(crate) type Ask = Arc<dyn Fn(usize, &[u8]) -> Result<Vec<u8>> + Send + Sync>;

/// What the working thread says.
enum Message<T> {
    Done(std::thread::Result<Result<T>>),
    /// The function, its argument, and where the answer goes.
    Ask(usize, Vec<u8>, SyncSender<Result<Vec<u8>>>),
}

/// As [`run`], for work that asks the caller's functions.
pub(crate) fn run_asking<T: Send + 'static>(
    py: Python<'_>,
    n_jobs: usize,
    display: Option<&Py<PyAny>>,
    functions: &[Py<PyAny>],
    work: impl FnOnce(&Progress, &Ask) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    // A thread that asks waits for Python, and what Python calls may need threads, too: they must be others.
    let pool = if functions.is_empty() { shared_pool(n_jobs)? } else { Arc::new(new_pool(n_jobs)?) };
    let progress = Arc::new(Progress::default());
    let (sender, receiver) = sync_channel(1);
    let shared = Arc::clone(&progress);
    let spawned = std::thread::Builder::new().name("latentree".to_owned()).spawn(move || {
        let asking = Mutex::new(sender.clone());
        let ask: Ask = Arc::new(move |which: usize, task: &[u8]| {
            let (reply, answer) = sync_channel(1);
            let message = Message::Ask(which, task.to_vec(), reply);
            let sent = asking.lock().unwrap_or_else(PoisonError::into_inner).send(message);
            // The caller may have returned without waiting for this work.
            sent.map_err(|_| Error::Cancelled)?;
            answer.recv().map_err(|_| Error::Cancelled)?
        });
        let result = catch_unwind(AssertUnwindSafe(|| pool.install(|| work(&shared, &ask))));
        let _ = sender.send(Message::Done(result));
    });
    spawned.map_err(|error| PyRuntimeError::new_err(format!("no thread can be started: {error}")))?;
    let receiver = Mutex::new(receiver);
    let wait = |time: Duration| py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time));
    let mut stopped: Option<(PyErr, Instant)> = None;
    loop {
        match wait(LOOK) {
            Ok(Message::Done(result)) => {
                if let Some((reason, _)) = stopped {
                    return Err(reason);
                }
                return match result {
                    Ok(result) => result.map_err(to_python),
                    Err(panic) => Err(bug(&*panic)),
                };
            }
            Ok(Message::Ask(_, _, reply)) if stopped.is_some() => drop(reply.send(Err(Error::Cancelled))),
            Ok(Message::Ask(which, task, reply)) => {
                let called = functions[which].call1(py, (PyBytes::new(py, &task),));
                let answer = called.and_then(|answer| {
                    let wrong = || PyTypeError::new_err("run must return the bytes of latentree.distributed.merge");
                    Ok(answer.bind(py).cast::<PyBytes>().map_err(|_| wrong())?.as_bytes().to_vec())
                });
                let answer = answer.map_err(|reason| {
                    progress.cancelled.store(true, Ordering::Relaxed);
                    stopped = Some((reason, Instant::now()));
                    Error::Cancelled
                });
                let _ = reply.send(answer);
            }
            Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err("the working thread has ended")),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if stopped.is_none() {
            let shown = py.check_signals().and_then(|()| display.map_or(Ok(()), |display| progress.show(py, display)));
            if let Err(reason) = shown {
                progress.cancelled.store(true, Ordering::Relaxed);
                stopped = Some((reason, Instant::now()));
            }
        }
        stopped = match stopped {
            Some((reason, since)) if since.elapsed() > PATIENCE => return Err(reason),
            other => other,
        };
    }
}

/// Runs work on `n_jobs` threads (0: all cores) and regularly calls `display(stage, done, total, step)`.
///
/// Ctrl-C cancels the work. If it does not stop soon, the call returns and the work ends in the background.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    n_jobs: usize,
    display: Option<&Py<PyAny>>,
    work: impl FnOnce(&Progress) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    run_asking(py, n_jobs, display, &[], move |progress, _| work(progress))
}
