//! `federate`: learning across sites by files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use latentree::data::{BatchSource as _, CachedRows, Rows as _, Schema};
use latentree::federation::masks::{SecretKey, fingerprint, read_public};
use latentree::federation::{
    Answer, Federation, PassFile, Policy, RunOptions, Site, Status, Step, answer, answer_schema, check_site_name,
};
use latentree::learn::LearnOptions;
use latentree::privacy::{Privacy, epsilon};
use latentree::{Error, Place, Result, counted};
use serde_json::{Value, json};

use super::files::Files;
use super::simulate::read_tree;
use super::{LITTLE_MEMORY, note_unseen, open_reader, read_options, weight_kind};
use crate::Failure;
use crate::federate_args::{AnswerArgs, FederateArgs, FederateCommand, KeygenArgs, NextArgs, StartArgs, StatusArgs};
use crate::printer::{Printer, in_full, number, table};

pub(crate) fn run(args: &FederateArgs, seed: Option<u64>, printer: &Printer) -> Result<(), Failure> {
    match &args.action {
        FederateCommand::Start(args) => start(args, seed, printer),
        FederateCommand::Answer(args) => answered(args, printer),
        FederateCommand::Next(args) => next(args, printer),
        FederateCommand::Status(args) => status(args, printer),
        FederateCommand::Keygen(args) => keygen(args, printer),
    }
}

fn start(args: &StartArgs, seed: Option<u64>, printer: &Printer) -> Result<(), Failure> {
    let mut learn = LearnOptions::default();
    args.options.apply(&mut learn, &[])?;
    if let Some(seed) = seed {
        learn.set("seed", seed.into())?;
    }
    let schema = args.schema.as_deref().map(read_schema).transpose()?.map(Arc::new);
    let tree = args.tree.as_deref().map(|path| read_tree(path, &[])).transpose()?;
    let keys = args.keys.iter().map(|path| read_public(path)).collect::<Result<Vec<_>>>()?;
    let n_keys = keys.len();
    let keys: BTreeMap<String, String> = keys.into_iter().collect();
    if keys.len() < n_keys {
        return Err(Error::option("--keys", "two keys are of the same site; give one for each").into());
    }
    let privacy = args.dp_rho.map(|rho| privacy(rho, args)).transpose()?;
    let options = RunOptions { schema, learn, tree, sites: args.sites.clone(), keys, privacy };
    let (run, step) = Federation::start(&args.run, options, printer)?;
    show(&run.status(), &step, printer)
}

fn privacy(rho: f64, args: &StartArgs) -> Result<Privacy> {
    let mut ranges = BTreeMap::new();
    for text in &args.range {
        let parsed = text.rsplit_once('=').and_then(|(name, range)| {
            let (low, high) = range.split_once(',')?;
            Some((name.to_owned(), (low.trim().parse().ok()?, high.trim().parse().ok()?)))
        });
        let (name, range) = parsed.ok_or_else(|| Error::option("--range", format!("{text:?} is not NAME=LOW,HIGH")))?;
        ranges.insert(name, range);
    }
    Ok(Privacy { rho, delta: args.dp_delta, max_items: args.max_items, ranges })
}

/// The columns of a run; all labels must be listed, because sites do not see each other's rows.
fn read_schema(path: &Path) -> Result<Schema> {
    let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
    let place = |line: usize| Place::file(path).line(line as u64);
    serde_json::from_str(&text).map_err(|error| {
        let problem =
            format!("{error}; a schema lists variables with their kinds and all labels, as describe --schema-out writes it");
        Error::format(place(error.line()), "schema JSON", problem)
    })
}

fn answered(args: &AnswerArgs, printer: &Printer) -> Result<(), Failure> {
    check_site_name(&args.site)?;
    let beside = args.output.with_file_name(format!("{}.record.json", args.site));
    let record = args.record.clone().unwrap_or(beside);
    Files::new()
        .input("PASS", &args.pass)
        .data("DATA", &args.data)
        .input_if("--policy", args.policy.as_deref())
        .input_if("--mask", args.mask.as_deref())
        .reading(&args.reading)
        .output("-o", &args.output)
        .output("--record", &record)
        .check()?;
    if args.reading.weights.is_some() && weight_kind(&args.reading)? != latentree::data::WeightKind::Frequency {
        let problem = "sampling weights have no common scale across sites; only --weight-kind frequency works here";
        return Err(Error::option("--weights", problem).into());
    }
    let pass = PassFile::read(&args.pass)?;
    let policy = args.policy.as_deref().map(Policy::read).transpose()?.unwrap_or_default();
    let key = args.mask.as_deref().map(SecretKey::read).transpose()?;
    let site = Site { name: args.site.clone(), policy, key: key.as_ref(), record: Some(&record) };
    let options = read_options(&args.reading)?;
    let (answer, unseen) = match pass.schema() {
        None => {
            let reader = open_reader(&args.data, options, printer)?;
            (answer_schema(&pass, reader.schema(), &site)?, None)
        }
        Some(schema) => {
            if args.reading.schema.is_some() || !args.reading.kind.is_empty() || args.reading.group.is_some() {
                let problem = "the pass says which columns and kinds there are; leave --schema, --kind and --group out";
                return Err(Error::option("--schema", problem).into());
            }
            let reader = open_reader(&args.data, options.schema(Arc::clone(schema)), printer)?;
            let absent = reader.absent_columns();
            if !absent.is_empty() {
                let names: Vec<&str> = absent.iter().take(5).map(|&column| schema.column(column).name.as_str()).collect();
                let more = if absent.len() > names.len() { ", …" } else { "" };
                printer.note(&format!(
                    "{} of {} columns are not in {} and count as missing: {}{more}",
                    absent.len(),
                    schema.columns().len(),
                    args.data.display(),
                    names.join(", ")
                ));
            }
            let rows = CachedRows::new(reader, LITTLE_MEMORY);
            let answer = answer(&pass, &rows, &site).map_err(|error| error.in_file(&args.pass))?;
            debug_assert_eq!(**rows.schema(), **schema);
            (answer, Some(rows.of_source(|reader| note_unseen(reader, printer))))
        }
    };
    latentree::file::write_atomically(&args.output, |out| out.write_all(&answer.part).map_err(Error::io("write", &args.output)))?;
    show_answer(&answer, &unseen.map(|unseen| json!(unseen)), args, &pass, printer)
}

fn show_answer(
    answer: &Answer,
    unseen: &Option<Value>,
    args: &AnswerArgs,
    pass: &PassFile,
    printer: &Printer,
) -> Result<(), Failure> {
    let mut json = json!(answer);
    json["bytes"] = json!(answer.part.len());
    json["unseen"] = json!(unseen);
    json["output"] = json!(args.output);
    let spent = answer.spent.zip(pass.delta()).map(|(rho, delta)| (rho, epsilon(rho, delta), delta));
    json["epsilon"] = json!(spent.map(|it| it.1));
    printer.result(&json, |out| {
        writeln!(out, "round           {}", answer.round)?;
        writeln!(out, "pass            {}", answer.pass)?;
        writeln!(out, "what it holds   {}", answer.reveals)?;
        if let Some(sums) = answer.sums.filter(|&sums| sums > 0) {
            let how = if answer.masked { ", masked: only the sum of all sites can be read" } else { "" };
            writeln!(out, "numbers         {sums}{how}")?;
        }
        if answer.rows > 0 {
            let kept = if answer.masked || answer.rho.is_some() { " (this number stays here)" } else { "" };
            writeln!(out, "rows            {}{kept}", answer.rows)?;
        }
        if let Some(least) = answer.smallest_count {
            writeln!(out, "smallest count  {least}")?;
        }
        if answer.suppressed > 0 {
            writeln!(out, "suppressed      {} counts are sent as 0", answer.suppressed)?;
        }
        if let (Some(rho), Some((all, epsilon, delta))) = (answer.rho, spent) {
            writeln!(
                out,
                "privacy         ρ {} of this answer, {} in total: ε {} at δ {delta:e}",
                number(rho),
                number(all),
                number(epsilon)
            )?;
        }
        if let Some(clipped) = answer.clipped_rows.filter(|&clipped| clipped > 0) {
            writeln!(out, "cut rows        {clipped} (this number stays here)")?;
        }
        for (peer, fingerprint) in &answer.peers {
            writeln!(out, "key of {peer:<8} {fingerprint}")?;
        }
        writeln!(out, "written         {} ({} bytes)", args.output.display(), answer.part.len())
    })?;
    Ok(())
}

fn next(args: &NextArgs, printer: &Printer) -> Result<(), Failure> {
    let mut run = Federation::open(&args.run)?;
    let step = run.next(&args.parts, &args.without, printer)?;
    show(&run.status(), &step, printer)
}

fn status(args: &StatusArgs, printer: &Printer) -> Result<(), Failure> {
    let status = Federation::open(&args.run)?.status();
    let rows = status.rounds.iter().map(|round| {
        let sites: Vec<&str> = round.answered.keys().map(String::as_str).collect();
        let rows: Option<u64> = round.answered.values().copied().sum();
        vec![
            round.round.to_string(),
            round.pass.clone(),
            if round.is_complete { sites.join(" ") } else { "open".to_owned() },
            round.without.join(" "),
            round.rho.map_or(String::new(), number),
            rows.filter(|_| round.is_complete && rows > Some(0)).map_or(String::new(), |rows| rows.to_string()),
        ]
    });
    let header = ["round", "pass", "answered", "without", "rho", "rows"];
    let text = table(&header, rows.collect(), 5);
    printer.result(&status_json(&status), |out| {
        writeln!(out, "{text}\n")?;
        conclude(&status, out)
    })?;
    Ok(())
}

fn status_json(status: &Status) -> Value {
    let mut json = json!(status);
    json["epsilon"] = json!(status.privacy.as_ref().map(|privacy| epsilon(status.spent, privacy.delta)));
    json
}

/// What is to be done next.
fn conclude(status: &Status, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    if let Some(privacy) = &status.privacy {
        writeln!(
            out,
            "privacy         ρ {} of {} spent: ε {} at δ {:e}",
            number(status.spent),
            number(privacy.rho),
            number(epsilon(status.spent, privacy.delta)),
            privacy.delta
        )?;
    }
    if let Some(model) = &status.model {
        return writeln!(out, "finished        {} after {}", model.display(), counted(status.rounds.len(), "round"));
    }
    let Some((pass, round)) = status.pass.as_ref().zip(status.rounds.last()) else { return Ok(()) };
    let of = status.expected_rounds.map_or(String::new(), |n| format!(" of up to {n}"));
    writeln!(out, "round           {}{of}: {}", round.round, round.pass)?;
    if !status.received.is_empty() {
        writeln!(out, "received        {}", status.received.join(", "))?;
    }
    let who = if status.missing.is_empty() { "the sites".to_owned() } else { status.missing.join(", ") };
    writeln!(out, "waiting for     {who} to answer {}", pass.display())
}

fn show(status: &Status, step: &Step, printer: &Printer) -> Result<(), Failure> {
    let mut json = status_json(status);
    let learned = match step {
        Step::Finished(_, learned) => Some(learned),
        _ => None,
    };
    if let Some(learned) = learned {
        json["learned"] = learned.to_json();
    }
    printer.result(&json, |out| {
        if let Some(learned) = learned {
            writeln!(out, "rows            {}", learned.rows.unwrap_or(0))?;
            let (observed, hidden) = (learned.tree().n_observed(), learned.tree().n_hidden());
            writeln!(out, "variables       {observed} observed, {hidden} hidden")?;
            if let Some(log_likelihood) = learned.log_likelihood {
                writeln!(out, "log-likelihood  {}", in_full(log_likelihood))?;
            }
        }
        conclude(status, out)
    })?;
    Ok(())
}

fn keygen(args: &KeygenArgs, printer: &Printer) -> Result<(), Failure> {
    let key = SecretKey::generate(&args.site)?;
    let path = |ending: &str| -> PathBuf { args.output.join(format!("{}.{ending}", args.site)) };
    let (secret, public) = (path("key"), path("pub"));
    key.write(&secret, &public)?;
    let fingerprint = fingerprint(&key.public());
    let json = json!({"site": args.site, "secret": secret, "public": public, "key": key.public(), "fingerprint": fingerprint});
    printer.result(&json, |out| {
        writeln!(out, "secret key      {} (keep it at the site)", secret.display())?;
        writeln!(out, "public key      {} (for the coordinator and the other sites)", public.display())?;
        writeln!(out, "fingerprint     {fingerprint}")
    })?;
    Ok(())
}
