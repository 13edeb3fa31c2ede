//! Runs that are killed at random moments and started again: the model must have the bytes of a run that was never interrupted.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use latentree::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::record::Results;

/// Options of the experiment.
#[derive(Debug, Clone, Args)]
pub(crate) struct ResumeArgs {
    /// Kills for each way of learning
    #[arg(long, default_value_t = 20)]
    kills: usize,
    /// Seed of the moments
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

const WAYS: [(&str, &str); 5] = [
    ("default search", ""),
    ("EM from random starts", "--structure clnj --parameters em --start random --restarts 8 --hidden-states 3"),
    ("search by BIC", "--select bic"),
    ("search by validation", "--select validation --validation 0.2"),
    ("bootstrap", "--bootstrap 40"),
];

pub(crate) fn run(args: &ResumeArgs) -> Result<Results> {
    let header = ["way", "seconds without a kill", "kills", "seconds of the last run", "same bytes"];
    let mut results = Results::new("Runs killed at random moments and started again", &header);
    let program = std::env::current_exe().map_err(Error::io("find", "experiments"))?.with_file_name("latentree");
    let folder = std::env::temp_dir().join(format!("latentree-resume-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
    let simulate = "simulate --quiet --shape random --observed 30 --family categorical --separation 0.5 --model truth.json --data d.csv --rows 20000";
    call(&program, &folder, simulate)?;
    let mut rng = ChaCha8Rng::seed_from_u64(args.seed);
    for (name, way) in WAYS {
        let begun = Instant::now();
        call(&program, &folder, &format!("learn --quiet d.csv {way} -o whole.json"))?;
        let alone = begun.elapsed();
        let directory = name.replace(' ', "-");
        let resumed = format!("learn --quiet d.csv {way} -o resumed.json --checkpoint {directory}");
        for _ in 0..args.kills {
            let mut child = command(&program, &folder, &resumed).spawn().map_err(Error::io("run", &program))?;
            std::thread::sleep(Duration::from_secs_f64(alone.as_secs_f64() * rng.random_range(0.0..1.0)));
            // SIGKILL. A run that has ended cannot be killed any more.
            let _ = child.kill();
            child.wait().map_err(Error::io("wait for", &program))?;
        }
        let begun = Instant::now();
        call(&program, &folder, &resumed)?;
        let last = begun.elapsed();
        let read = |file: &str| std::fs::read(folder.join(file)).map_err(Error::io("read", file));
        results.row([
            name.to_owned(),
            format!("{:.1}", alone.as_secs_f64()),
            args.kills.to_string(),
            format!("{:.1}", last.as_secs_f64()),
            if read("whole.json")? == read("resumed.json")? { "yes" } else { "NO" }.to_owned(),
        ]);
    }
    std::fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
    Ok(results)
}

fn command(program: &Path, folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn call(program: &Path, folder: &Path, arguments: &str) -> Result<()> {
    let status = command(program, folder, arguments).status().map_err(Error::io("run", program))?;
    if status.success() { Ok(()) } else { Err(Error::option("resume", format!("latentree {arguments} failed: {status}"))) }
}
