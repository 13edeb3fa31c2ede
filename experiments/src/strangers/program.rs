//! Calls of the command-line program: with a time limit, their JSON, their time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use latentree::{Error, Result};
use serde_json::Value;

/// The program, and how long one call of it may take.
#[derive(Debug, Clone)]
pub(super) struct Program {
    path: PathBuf,
    limit: Duration,
}

/// What a call gave.
#[derive(Debug, Clone)]
pub(super) struct Called {
    /// Its JSON, or why there is none.
    pub(super) json: std::result::Result<Value, String>,
    pub(super) seconds: f64,
    /// Seconds of all its threads, user and system; `None` where the machine does not tell.
    pub(super) cpu_seconds: Option<f64>,
}

impl Program {
    /// The program at this path, else the one that was built beside the experiments.
    pub(super) fn new(path: Option<&Path>, limit: f64) -> Result<Self> {
        let path = match path {
            Some(path) => path.to_owned(),
            None => std::env::current_exe().map_err(Error::io("find", "experiments"))?.with_file_name("latentree"),
        };
        if !path.is_file() {
            return Err(Error::option(
                "--program",
                format!("{} is not there; build latentree-cli, or give its path", path.display()),
            ));
        }
        let limit = Duration::try_from_secs_f64(limit).map_err(|error| Error::option("--limit", error.to_string()))?;
        Ok(Self { path, limit })
    }

    /// Calls the program in a folder, where what it prints is kept until the next call.
    pub(super) fn call(&self, folder: &Path, arguments: &[String]) -> Result<Called> {
        let (stdout, stderr) = (folder.join("stdout.json"), folder.join("stderr.txt"));
        let create = |path: &Path| File::create(path).map_err(Error::io("create", path));
        let mut command = Command::new(&self.path);
        command.args(arguments).args(["--json", "--quiet"]).current_dir(folder).stdin(Stdio::null());
        command.stdout(create(&stdout)?).stderr(create(&stderr)?);
        let before = cpu_seconds_of_children();
        let begun = Instant::now();
        let mut child = command.spawn().map_err(Error::io("run", &self.path))?;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(Error::io("wait for", &self.path))? {
                break Some(status);
            }
            if begun.elapsed() > self.limit {
                // A run that has ended in the meantime cannot be killed any more.
                let _ = child.kill();
                child.wait().map_err(Error::io("wait for", &self.path))?;
                break None;
            }
            std::thread::sleep(Duration::from_millis(10).min(begun.elapsed()));
        };
        let seconds = begun.elapsed().as_secs_f64();
        let cpu_seconds = before.zip(cpu_seconds_of_children()).map(|(before, after)| after - before);
        let text = std::fs::read_to_string(&stdout).map_err(Error::io("read", &stdout))?;
        let json = match status {
            None => Err(format!("not done in {} s", self.limit.as_secs())),
            Some(status) if status.success() => serde_json::from_str(&text).map_err(|error| format!("not JSON: {error}")),
            Some(status) => {
                let said: Option<Value> = serde_json::from_str(&text).ok();
                let said = said.and_then(|it| it["error"].as_str().map(str::to_owned));
                Err(said.unwrap_or_else(|| {
                    let errors = std::fs::read_to_string(&stderr).unwrap_or_default();
                    let line = errors.lines().find(|line| line.starts_with("error")).or(errors.lines().last());
                    format!("{status}: {}", line.unwrap_or_default())
                }))
            }
        };
        Ok(Called { json, seconds, cpu_seconds })
    }
}

/// User and system seconds of all children that have been waited for; Linux counts them in hundredths.
fn cpu_seconds_of_children() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the name in parentheses, which may hold spaces; cutime and cstime are the 16th and 17th.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / 100.0)
}
