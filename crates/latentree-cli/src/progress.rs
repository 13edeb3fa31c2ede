//! The line of progress on a terminal: what runs, how far it is and how long it may still take.
//!
//! A thread draws the line a few times a second, so that the clock goes on while a long step says nothing. Short stages draw
//! nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How often the line is drawn.
const TICK: Duration = Duration::from_millis(200);
/// Stages that are over sooner draw nothing.
const SHORT: Duration = Duration::from_secs(1);
/// Time that a stage must have run before its end is estimated.
const MIN_MEASURED: Duration = Duration::from_secs(2);
/// Characters of the bar.
const BAR: usize = 24;

/// The running stage.
struct Stage {
    name: String,
    step: String,
    done: u64,
    total: Option<u64>,
    begun: Instant,
    line: Option<ProgressBar>,
}

/// Shows the running stage until it is dropped.
pub(crate) struct Progress {
    stage: Arc<Mutex<Option<Stage>>>,
}

fn lock(stage: &Mutex<Option<Stage>>) -> MutexGuard<'_, Option<Stage>> {
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress {
    pub(crate) fn new() -> Self {
        let stage = Arc::new(Mutex::new(None));
        let shown = Arc::downgrade(&stage);
        // Without a thread there is no line, and the work goes on.
        let _ = std::thread::Builder::new().name("progress".to_owned()).spawn(move || draw(&shown));
        Self { stage }
    }

    /// A stage begins; the one before it ends.
    pub(crate) fn begin(&self, name: &str, total: Option<u64>) {
        self.end();
        let (name, step) = (name.to_owned(), String::new());
        *lock(&self.stage) = Some(Stage { name, step, done: 0, total, begun: Instant::now(), line: None });
    }

    pub(crate) fn done(&self, done: u64) {
        if let Some(stage) = lock(&self.stage).as_mut() {
            stage.done = done;
        }
    }

    pub(crate) fn step(&self, step: &str) {
        if let Some(stage) = lock(&self.stage).as_mut() {
            step.clone_into(&mut stage.step);
        }
    }

    /// Does something with the line out of the way.
    pub(crate) fn suspended(&self, print: impl FnOnce()) {
        let line = lock(&self.stage).as_ref().and_then(|stage| stage.line.clone());
        match line {
            Some(line) => line.suspend(print),
            None => print(),
        }
    }

    /// The stage is over.
    pub(crate) fn end(&self) {
        if let Some(Stage { line: Some(line), .. }) = lock(&self.stage).take() {
            line.finish_and_clear();
        }
    }
}

/// Draws the line until nobody has the stage any more.
fn draw(shown: &Weak<Mutex<Option<Stage>>>) {
    loop {
        std::thread::sleep(TICK);
        let Some(stage) = shown.upgrade() else { return };
        if let Some(stage) = lock(&stage).as_mut().filter(|stage| stage.begun.elapsed() > SHORT) {
            let line = stage.line.get_or_insert_with(|| {
                let style = ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
                ProgressBar::new_spinner().with_style(style)
            });
            line.set_message(text(&stage.name, &stage.step, stage.done, stage.total, stage.begun.elapsed()));
            line.tick();
        }
    }
}

/// The line of a stage.
fn text(name: &str, step: &str, done: u64, total: Option<u64>, elapsed: Duration) -> String {
    let mut parts = match total.filter(|&total| total > 0) {
        Some(total) => {
            let share = (done as f64 / total as f64).clamp(0.0, 1.0);
            let filled = (share * BAR as f64) as usize;
            let bar = format!("[{}{}]", "#".repeat(filled), "-".repeat(BAR - filled));
            let left = if elapsed < MIN_MEASURED { None } else { remaining(share, elapsed) };
            let time = left.map_or_else(|| duration(elapsed), |left| format!("{} left", rounded(left)));
            vec![format!("{name} {bar} {:.0}%, {time}", (100.0 * share).floor())]
        }
        None if done > 0 => vec![format!("{name}: {done} done, {}", duration(elapsed))],
        None => vec![format!("{name}: {}", duration(elapsed))],
    };
    if !step.is_empty() {
        parts.push(step.to_owned());
    }
    parts.join("; ")
}

/// The time that a stage still takes if it goes on as so far.
fn remaining(share: f64, elapsed: Duration) -> Option<Duration> {
    let left = elapsed.as_secs_f64() * (1.0 - share) / share;
    Duration::try_from_secs_f64(left).ok()
}

/// A time that is only roughly known.
fn rounded(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 5.0 => "a few seconds".to_owned(),
        seconds if seconds < 55.0 => format!("about {:.0} s", 5.0 * (seconds / 5.0).round()),
        seconds if seconds < 3570.0 => format!("about {:.0} min", (seconds / 60.0).round()),
        seconds => format!("about {:.1} h", seconds / 3600.0),
    }
}

fn duration(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(step: &str, done: u64, total: Option<u64>, seconds: u64) -> String {
        text("search", step, done, total, Duration::from_secs(seconds))
    }

    #[test]
    fn a_line_tells_share_remaining_time_and_step() {
        // A quarter in 20 seconds: the rest takes 60.
        let quarter = "[######------------------]";
        assert_eq!(line("sweep 2", 5, Some(20), 20), format!("search {quarter} 25%, about 1 min left; sweep 2"));
        assert_eq!(line("", 5, Some(20), 4), format!("search {quarter} 25%, about 10 s left"));
    }

    #[test]
    fn nothing_is_estimated_from_nothing() {
        assert_eq!(line("", 0, Some(20), 30), format!("search [{}] 0%, 30 s", "-".repeat(BAR)));
        assert_eq!(line("", 19, Some(20), 1), "search [######################--] 95%, 1 s");
        assert_eq!(line("", 0, None, 75), "search: 1 min 15 s");
        assert_eq!(line("", 3, None, 2), "search: 3 done, 2 s");
        assert_eq!(line("", 0, Some(0), 2), "search: 2 s");
    }

    #[test]
    fn more_done_than_planned_is_everything() {
        assert_eq!(line("", 25, Some(20), 10), format!("search [{}] 100%, a few seconds left", "#".repeat(BAR)));
    }

    #[test]
    fn times_are_rounded_to_what_is_known_of_them() {
        let rounded = |seconds: f64| rounded(Duration::from_secs_f64(seconds));
        assert_eq!(rounded(3.0), "a few seconds");
        assert_eq!(rounded(42.0), "about 40 s");
        assert_eq!(rounded(58.0), "about 1 min");
        assert_eq!(rounded(3500.0), "about 58 min");
        assert_eq!(rounded(5400.0), "about 1.5 h");
    }
}
