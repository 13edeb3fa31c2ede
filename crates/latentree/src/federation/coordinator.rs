//! The coordinator of a run: which passes were requested, which sites answered, and what comes next.
//!
//! A run is a directory:
//!
//! | file | content |
//! | --- | --- |
//! | `run.json` | options, columns, sites, version; never changed |
//! | `state.json` | the rounds so far: passes, sites that answered or were left out |
//! | `round-N.pass` | the request to the sites in round N |
//! | `parts/` | the parts of the open round |
//! | `answers/` | merged answers, each in its own file; locked while a command uses the run |
//! | `model.json` | the model, at the end |
//!
//! Files are written to a temporary name and then renamed. A command that is killed leaves the run as it was before or after
//! a file was written, and [`next`](Federation::next) continues from either state.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::envelope::{self, PROGRAM};
use super::files::{PartFile, PassFile, PassHeader, store};
use super::schema_round::{self, SCHEMA_PASS};
use super::{masks, private_run, site};
use crate::coordinates::feature_cross::NARROW;
use crate::data::{RemoteRows, Schema};
use crate::error::{Error, Place, Result};
use crate::journal::Journal;
use crate::learn::{Criterion, LearnOptions, Learned, Learning, ParameterMethod, Source, tree_over};
use crate::observer::{Observer, Unwarned};
use crate::parameters::em::EmOptions;
use crate::passes;
use crate::privacy::Privacy;
use crate::structure::LearnerName;
use crate::tree::Tree;

/// The options of a run, which are fixed when the run starts.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The columns; if absent, sites agree on them in a first round.
    pub schema: Option<Arc<Schema>>,
    /// How to learn.
    pub learn: LearnOptions,
    /// A tree to keep.
    pub tree: Option<Tree>,
    /// The sites; if empty, those that answer the first round.
    pub sites: Vec<String>,
    /// Public keys by site, for masked parts.
    pub keys: BTreeMap<String, String>,
    /// The noise and its budget.
    pub privacy: Option<Privacy>,
}

/// `run.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RunFile {
    version: String,
    id: String,
    schema: Option<Arc<Schema>>,
    learn: LearnOptions,
    tree: Option<String>,
    sites: Vec<String>,
    keys: BTreeMap<String, String>,
    privacy: Option<Privacy>,
}

/// `state.json`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct State {
    rounds: Vec<RoundStatus>,
    /// The columns that sites agreed on.
    schema: Option<Arc<Schema>>,
    /// Sites that still take part; empty while they are unknown.
    sites: Vec<String>,
    is_finished: bool,
}

/// One round of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundStatus {
    /// The number of the round, from 1.
    pub round: u32,
    /// The attempt at this round, from 1.
    pub attempt: u32,
    /// The name of the pass.
    pub pass: String,
    /// The digest of the pass file.
    pub digest: String,
    /// The sites whose answers were merged, with their numbers of rows if known.
    pub answered: BTreeMap<String, Option<u64>>,
    /// Sites left out in this round.
    pub without: Vec<String>,
    /// The cost ρ of the round for each site, if the run is private.
    pub rho: Option<f64>,
    /// Whether the round is complete.
    pub is_complete: bool,
}

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// The name of the run, drawn at random.
    pub run: String,
    /// All rounds.
    pub rounds: Vec<RoundStatus>,
    /// The total number of rounds, if known.
    pub expected_rounds: Option<u32>,
    /// Sites that take part; empty if not known yet.
    pub sites: Vec<String>,
    /// Sites whose parts of the open round have been received.
    pub received: Vec<String>,
    /// Sites whose parts of the open round are missing.
    pub missing: Vec<String>,
    /// The pass to be answered.
    pub pass: Option<PathBuf>,
    /// The model, once there is one.
    pub model: Option<PathBuf>,
    /// The total ρ spent by each site.
    pub spent: f64,
    /// The budget, if the run is private.
    pub privacy: Option<Privacy>,
}

/// The next step of a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Step {
    /// Sites must answer this pass.
    Round(PathBuf),
    /// Parts of these sites are missing.
    Waiting(Vec<String>),
    /// The run is finished.
    Finished(PathBuf, Box<Learned>),
}

/// A run, as seen by its coordinator.
#[derive(Debug)]
pub struct Federation {
    directory: PathBuf,
    run: RunFile,
    state: State,
    journal: Journal,
}

impl Federation {
    /// Starts a run in a directory that is empty or does not exist, and writes its first pass.
    ///
    /// # Errors
    /// [`Error::Option`] for options that need all rows in one place, [`Error::Data`] if the directory is not empty, and
    /// [`Error::Io`].
    pub fn start(directory: &Path, options: RunOptions, observer: &dyn Observer) -> Result<(Self, Step)> {
        let mut learn = options.learn;
        without_rows(&mut learn, options.tree.is_some(), options.privacy.is_some())?;
        check_sites(&options.sites, &options.keys)?;
        let mut sites = if options.keys.is_empty() { options.sites } else { options.keys.keys().cloned().collect() };
        sites.sort_unstable();
        if let Some(privacy) = &options.privacy {
            let schema = options.schema.as_deref().ok_or_else(|| {
                Error::option("federate.schema", "a private run needs declared columns: labels that sites report are not private")
            })?;
            privacy.check(schema)?;
        }
        // A start that was killed leaves only empty directories behind.
        let is_foreign = |entry: fs::DirEntry| !["answers", "parts"].iter().any(|name| entry.file_name() == *name);
        if fs::read_dir(directory).is_ok_and(|entries| entries.filter_map(std::result::Result::ok).any(is_foreign)) {
            let problem = "the directory is not empty; choose another for a new run, or go on with `federate next`";
            return Err(Error::data(Place::file(directory), problem));
        }
        let tree = match (&options.tree, &options.schema) {
            (Some(tree), Some(schema)) => Some(tree_over(tree, schema)?.to_json()),
            (tree, _) => tree.as_ref().map(Tree::to_json),
        };
        let run = RunFile {
            version: PROGRAM.to_owned(),
            id: envelope::random_name()?,
            schema: options.schema,
            learn,
            tree,
            sites: sites.clone(),
            keys: options.keys,
            privacy: options.privacy,
        };
        let journal = Journal::open(&directory.join("answers"))?.for_run(&run.id)?;
        // Runs before anything is written, so that options that do not fit the columns fail here.
        let state = State { sites, ..State::default() };
        let mut federation = Self { directory: directory.to_owned(), run, state, journal };
        match federation.advanced(observer) {
            Ok(next) => {
                let parts = directory.join("parts");
                fs::create_dir_all(&parts).map_err(Error::io("create", &parts))?;
                federation.store_json("run.json", &federation.run)?;
                let step = federation.put(next, observer)?;
                Ok((federation, step))
            }
            Err(error) => {
                drop(federation);
                // The directory was empty, so nothing is lost.
                let _ = fs::remove_dir_all(directory.join("answers"));
                let _ = fs::remove_dir(directory);
                Err(error)
            }
        }
    }

    /// Opens a run and locks it.
    ///
    /// # Errors
    /// [`Error::Data`] if the directory is not a run, belongs to another version of the program, or is in use; [`Error::Io`].
    pub fn open(directory: &Path) -> Result<Self> {
        let path = directory.join("run.json");
        if !path.exists() {
            let problem = "it holds no run of a federation; begin one with `federate start`";
            return Err(Error::data(Place::file(directory), problem));
        }
        let run: RunFile = read_json(&path)?;
        if run.version != PROGRAM {
            let problem = format!(
                "latentree {} began this run, and this is latentree {PROGRAM}; go on with the version that began it",
                run.version
            );
            return Err(Error::data(Place::file(directory), problem));
        }
        let journal = Journal::open(&directory.join("answers"))?.for_run(&run.id)?;
        let state = directory.join("state.json");
        let state = if state.exists() { read_json(&state)? } else { State { sites: run.sites.clone(), ..State::default() } };
        Ok(Self { directory: directory.to_owned(), run, state, journal })
    }

    /// Accepts parts of the open round and, once all have arrived, continues with the next round or the model.
    ///
    /// Sites in `without` are left out from now on. In a masked run, the round is then repeated, because the masks of the
    /// other sites cancel only together with theirs.
    ///
    /// # Errors
    /// [`Error::Data`] for a part that is damaged, belongs to another run, round or site, or was already received;
    /// [`Error::Io`]; and errors of learning. The run does not change if there is an error.
    pub fn next(&mut self, parts: &[PathBuf], without: &[String], observer: &dyn Observer) -> Result<Step> {
        if self.state.is_finished {
            let problem = "the run is finished; its model is model.json";
            return Err(Error::data(Place::file(&self.directory), problem));
        }
        let Some(open) = self.state.rounds.last().filter(|round| !round.is_complete).cloned() else {
            // A command was killed between two rounds; its parts are already merged.
            for part in parts {
                let file = PartFile::read(part)?;
                let is_merged = |round: &RoundStatus| round.round == file.header.round && round.digest == file.header.pass;
                if file.header.run != self.run.id || !self.state.rounds.iter().any(is_merged) {
                    self.check_old(&file, part)?;
                }
            }
            let next = self.advanced(observer)?;
            return self.put(next, observer);
        };
        let files = self.checked(parts, &open)?;
        // A repeated command names sites that are left out already.
        let without: Vec<String> = without.iter().filter(|site| !open.without.contains(site)).cloned().collect();
        self.check_without(&without)?;
        for (path, file) in &files {
            if without.contains(&file.header.site) {
                let problem =
                    format!("{:?} is left out, but {} is its part; leave one of them out", file.header.site, path.display());
                return Err(Error::option("federate.without", problem));
            }
        }
        for (path, file) in &files {
            let kept = self.part(&open, &file.header.site);
            if kept.exists() {
                let site = &file.header.site;
                observer.warn(&format!("{}: the part of {site:?} was received before; it counts once", path.display()));
            }
            store(&kept, &file.bytes)?;
        }
        let mut open = open;
        if !without.is_empty() {
            self.state.sites.retain(|site| !without.contains(site));
            open.without.extend(without);
            let is_masked = !self.run.keys.is_empty();
            *self.state.rounds.last_mut().expect("a round is open") = open.clone();
            if is_masked {
                return self.asked_again(open);
            }
            self.store_state()?;
        }
        let received = self.received(&open);
        let missing: Vec<String> = self.state.sites.iter().filter(|site| !received.contains(*site)).cloned().collect();
        if !missing.is_empty() || received.is_empty() {
            return Ok(Step::Waiting(missing));
        }
        self.merge(&open, &received)?;
        let next = self.advanced(observer)?;
        self.put(next, observer)
    }

    /// The state of the run.
    #[must_use]
    pub fn status(&self) -> Status {
        let open = self.state.rounds.last().filter(|round| !round.is_complete);
        let received: Vec<String> = open.map(|round| self.received(round).into_iter().collect()).unwrap_or_default();
        let missing = match open {
            Some(_) => self.state.sites.iter().filter(|site| !received.contains(*site)).cloned().collect(),
            None => Vec::new(),
        };
        Status {
            run: self.run.id.clone(),
            rounds: self.state.rounds.clone(),
            expected_rounds: self.expected_rounds(),
            sites: self.state.sites.clone(),
            received,
            missing,
            pass: open.map(|round| self.pass_path(round.round)),
            model: self.state.is_finished.then(|| self.directory.join("model.json")),
            // The sum of no floats is −0.
            spent: self.state.rounds.iter().filter_map(|round| round.rho).fold(0.0, |sum, rho| sum + rho),
            privacy: self.run.privacy.clone(),
        }
    }

    /// The number of rounds, if known: EM takes as many as it needs.
    fn expected_rounds(&self) -> Option<u32> {
        if self.state.is_finished {
            return Some(self.state.rounds.len() as u32);
        }
        let schema = self.run.schema.as_deref().or(self.state.schema.as_deref())?;
        let agreed = u32::from(self.run.schema.is_none());
        if self.run.privacy.is_some() {
            return Some(private_run::n_rounds(schema, self.run.learn.parameters.method) + agreed);
        }
        let is_continuous = schema.columns().iter().all(|column| column.kind.labels().is_none());
        match self.run.learn.parameters.method {
            ParameterMethod::None => Some(1 + agreed),
            ParameterMethod::Moments | ParameterMethod::Auto
                if is_continuous && self.run.learn.parameters.hidden_states.fixed().is_none() =>
            {
                None
            }
            ParameterMethod::Moments
                if schema.columns().iter().all(|column| column.kind.n_states().is_some_and(|n| n <= NARROW)) =>
            {
                // One more for tables of so few rows that pairs do not suffice for the directions.
                Some(5 + agreed)
            }
            _ => None,
        }
    }

    fn pass_path(&self, round: u32) -> PathBuf {
        self.directory.join(format!("round-{round}.pass"))
    }

    /// The path of a site's part of a round.
    fn part(&self, round: &RoundStatus, site: &str) -> PathBuf {
        self.directory.join("parts").join(format!("round-{}.{}.{site}.part", round.round, round.attempt))
    }

    /// The sites whose parts of the round have been received.
    fn received(&self, round: &RoundStatus) -> BTreeSet<String> {
        let Ok(entries) = fs::read_dir(self.directory.join("parts")) else { return BTreeSet::new() };
        let prefix = format!("round-{}.{}.", round.round, round.attempt);
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let site = |name: &str| Some(name.strip_prefix(&prefix)?.strip_suffix(".part")?.to_owned());
        names.filter_map(|name| site(&name)).filter(|site| !round.without.contains(site)).collect()
    }

    /// Reads the parts and checks that each belongs to the open round.
    fn checked<'p>(&self, paths: &'p [PathBuf], open: &RoundStatus) -> Result<Vec<(&'p PathBuf, PartFile)>> {
        let mut files: Vec<(&PathBuf, PartFile)> = Vec::new();
        for path in paths {
            let file = PartFile::read(path)?;
            let header = &file.header;
            let refused = |problem: String| Err(Error::data(Place::file(path), problem));
            if header.run != self.run.id {
                return refused(format!("it belongs to another run, {}; this one is {}", header.run, self.run.id));
            }
            if header.round != open.round {
                self.check_old(&file, path)?;
            }
            if header.attempt != open.attempt || header.pass != open.digest {
                return refused(format!(
                    "it answers attempt {} of round {}, and attempt {} is asked now; answer {} again",
                    header.attempt,
                    open.round,
                    open.attempt,
                    self.pass_path(open.round).display()
                ));
            }
            site::check_name(&header.site).map_err(|error| error.in_file(path))?;
            if open.without.contains(&header.site) || !(self.state.sites.is_empty() || self.state.sites.contains(&header.site)) {
                return refused(format!(
                    "{:?} takes no part in this round; the sites are {}",
                    header.site,
                    self.state.sites.join(", ")
                ));
            }
            if let Some((first, _)) = files.iter().find(|(_, other)| other.header.site == header.site) {
                return refused(format!("{} is also a part of {:?}; a site answers once", first.display(), header.site));
            }
            let kept = self.part(open, &header.site);
            if kept.exists() && fs::read(&kept).map_err(Error::io("read", &kept))? != file.bytes {
                return refused(format!("{:?} has already sent another answer to this round; the first one counts", header.site));
            }
            if header.masked == self.run.keys.is_empty() && open.pass != SCHEMA_PASS {
                return refused("parts of this run must be masked, or none of them".to_owned());
            }
            if open.pass != SCHEMA_PASS && !header.masked {
                let name = passes::name_of(&file.content).map_err(|error| error.in_file(path))?;
                if name != open.pass {
                    return refused(format!("it holds the pass {name}, and round {} asks for {}", open.round, open.pass));
                }
            }
            files.push((path, file));
        }
        Ok(files)
    }

    /// Fails for a part of a round that is complete or was never requested.
    fn check_old(&self, file: &PartFile, path: &Path) -> Result<()> {
        let header = &file.header;
        if header.run != self.run.id {
            let problem = format!("it belongs to another run, {}; this one is {}", header.run, self.run.id);
            return Err(Error::data(Place::file(path), problem));
        }
        let known = self.state.rounds.iter().find(|round| round.round == header.round);
        let problem = match known {
            Some(round) if round.answered.contains_key(&header.site) => {
                format!("round {} is over, and the answer of {:?} is in it already", header.round, header.site)
            }
            Some(_) => format!("round {} is over; {:?} was left out of it", header.round, header.site),
            None => format!("round {} was not asked yet", header.round),
        };
        let now = self.state.rounds.last().filter(|round| !round.is_complete);
        let now = now.map(|round| format!("; answer {} now", self.pass_path(round.round).display())).unwrap_or_default();
        Err(Error::data(Place::file(path), problem + &now))
    }

    /// Fails if a site to leave out is unknown, or too few sites would be left.
    fn check_without(&self, without: &[String]) -> Result<()> {
        let sites = &self.state.sites;
        if sites.is_empty() || without.is_empty() {
            return Ok(());
        }
        let n_left = sites.iter().filter(|site| !without.contains(site)).count();
        let problem = if let Some(site) = without.iter().find(|site| !sites.contains(site)) {
            format!("{site:?} takes no part in this run; the sites are {}", sites.join(", "))
        } else if n_left == 0 {
            "no site would be left; wait for one of them".to_owned()
        } else if !self.run.keys.is_empty() && n_left < masks::LEAST_SITES {
            format!("masks need at least {} sites; wait for the others", masks::LEAST_SITES)
        } else {
            return Ok(());
        };
        Err(Error::option("federate.without", problem))
    }

    /// Repeats the same pass with fewer sites.
    fn asked_again(&mut self, mut round: RoundStatus) -> Result<Step> {
        let pass = PassFile::read(&self.pass_path(round.round))?;
        round.attempt += 1;
        let header = PassHeader { attempt: round.attempt, ..self.header(&round.pass, round.round) };
        let bytes = envelope::write("pass", &header, &pass.wire)?;
        round.digest = envelope::digest(&bytes);
        let path = self.pass_path(round.round);
        *self.state.rounds.last_mut().expect("a round is open") = round;
        // The pass is written first, so that a command killed in between can be repeated.
        store(&path, &bytes)?;
        self.store_state()?;
        Ok(Step::Round(path))
    }

    fn header(&self, pass: &str, round: u32) -> PassHeader {
        let schema = self.run.schema.clone().or_else(|| self.state.schema.clone());
        let is_schema = pass == SCHEMA_PASS;
        let keys = self.run.keys.iter().filter(|(site, _)| self.state.sites.contains(site) && !is_schema);
        PassHeader {
            version: PROGRAM.to_owned(),
            run: self.run.id.clone(),
            round,
            attempt: 1,
            pass: pass.to_owned(),
            sites: self.state.sites.clone(),
            schema: if is_schema { None } else { schema },
            keys: keys.map(|(site, key)| (site.clone(), key.clone())).collect(),
            privacy: self.run.privacy.as_ref().map(Privacy::of_pass),
        }
    }

    /// Merges the parts of a round into the journal, ordered by site name.
    fn merge(&mut self, open: &RoundStatus, sites: &BTreeSet<String>) -> Result<()> {
        let pass = PassFile::read(&self.pass_path(open.round))?;
        let mut files = Vec::new();
        for site in sites {
            let path = self.part(open, site);
            files.push((site.clone(), PartFile::read(&path)?));
        }
        let mut state = self.state.clone();
        let mut rho = None;
        if open.pass == SCHEMA_PASS {
            let read = |(site, file): &(String, PartFile)| {
                let schema: Schema = serde_json::from_slice(&file.content)
                    .map_err(|error| Error::data(Place::default(), format!("the columns of {site} cannot be read: {error}")))?;
                Ok((site.clone(), schema))
            };
            let schemas = files.iter().map(read).collect::<Result<Vec<_>>>()?;
            state.schema = Some(Arc::new(schema_round::joined(&schemas)?));
        } else {
            let contents: Vec<&[u8]> = files.iter().map(|(_, file)| &file.content[..]).collect();
            let answer =
                if self.run.keys.is_empty() { passes::merge(&contents)? } else { masks::unmasked(&pass.wire, &contents)? };
            if self.run.privacy.is_some() {
                rho = Some(private_run::cost_of(&pass.wire)?);
            }
            self.journal.put("pass", &pass.wire, &answer)?;
        }
        let round = state.rounds.last_mut().expect("a round is open");
        *round = open.clone();
        round.answered = files.iter().map(|(site, file)| (site.clone(), file.header.rows)).collect();
        round.rho = rho;
        round.is_complete = true;
        if state.sites.is_empty() {
            state.sites = sites.iter().cloned().collect();
        }
        self.state = state;
        self.store_state()?;
        for (site, _) in &files {
            // A file that remains is only a copy of a merged part.
            let _ = fs::remove_file(self.part(open, site));
        }
        Ok(())
    }

    /// Runs the learner until it requests an unanswered pass, or to the end.
    fn advanced(&self, observer: &dyn Observer) -> Result<Advanced> {
        let Some(schema) = self.run.schema.clone().or_else(|| self.state.schema.clone()) else {
            return Ok(Advanced::Pass(SCHEMA_PASS.to_owned(), Vec::new()));
        };
        let unanswered: Mutex<Option<Vec<u8>>> = Mutex::new(None);
        let answer = |pass: &[u8]| match self.journal.get("pass", pass)? {
            Some(answer) => Ok(answer),
            None => {
                *unanswered.lock().unwrap_or_else(PoisonError::into_inner) = Some(pass.to_vec());
                Err(Error::data(Place::default(), "no site has answered this pass yet"))
            }
        };
        let rows = RemoteRows::new(Arc::clone(&schema), None, answer);
        let tree = self.run.tree.as_deref().map(Tree::from_json).transpose()?;
        let tree = tree.map(|tree| tree_over(&tree, &schema)).transpose()?;
        let learning = Learning::with_options(self.run.learn.clone()).tree(tree);
        let learned = match &self.run.privacy {
            None => learning.run(Source::Rows(&rows), &Unwarned(observer)),
            Some(privacy) => learning.run_privately(&rows, privacy, &Unwarned(observer)),
        };
        let pass = unanswered.into_inner().unwrap_or_else(PoisonError::into_inner);
        match (pass, learned) {
            (Some(pass), _) => Ok(Advanced::Pass(passes::name_of(&pass)?.to_owned(), pass)),
            (None, learned) => learned.map(|learned| Advanced::Model(Box::new(learned))),
        }
    }

    /// Writes the state that the learner reached.
    fn put(&mut self, next: Advanced, observer: &dyn Observer) -> Result<Step> {
        match next {
            Advanced::Pass(name, wire) => {
                let round = self.state.rounds.len() as u32 + 1;
                let bytes = envelope::write("pass", &self.header(&name, round), &wire)?;
                let path = self.pass_path(round);
                store(&path, &bytes)?;
                self.state.rounds.push(RoundStatus {
                    round,
                    attempt: 1,
                    pass: name,
                    digest: envelope::digest(&bytes),
                    answered: BTreeMap::new(),
                    without: Vec::new(),
                    rho: None,
                    is_complete: false,
                });
                self.store_state()?;
                Ok(Step::Round(path))
            }
            Advanced::Model(learned) => {
                let path = self.directory.join("model.json");
                learned.file.write(&path)?;
                self.state.is_finished = true;
                self.store_state()?;
                learned.warnings.iter().for_each(|warning| observer.warn(warning));
                Ok(Step::Finished(path, learned))
            }
        }
    }

    fn store_state(&self) -> Result<()> {
        self.store_json("state.json", &self.state)
    }

    fn store_json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_vec_pretty(value).map_err(|error| Error::data(Place::default(), error.to_string()))?;
        store(&self.directory.join(name), &text)
    }
}

/// The state that the learner reached.
enum Advanced {
    /// It requests this pass.
    Pass(String, Vec<u8>),
    Model(Box<Learned>),
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read(path).map_err(Error::io("read", path))?;
    serde_json::from_slice(&text).map_err(|error| Error::format(Place::file(path), "federation run", error.to_string()))
}

/// Adjusts the options to rows that stay at their sites: no search, and tables by moments unless requested otherwise.
fn without_rows(options: &mut LearnOptions, is_tree_given: bool, is_private: bool) -> Result<()> {
    let refused = |option: &str, problem: &str| Err(Error::option(option, problem));
    if matches!(options.selection.criterion, Some(Criterion::Bic | Criterion::Validation)) {
        return refused(
            "selection.criterion",
            "a search compares models on rows in one place, and the rows stay at their sites; leave it out, and name a learner by `structure.learner` if the default does not suit",
        );
    }
    if options.selection.validation.is_some() {
        return refused(
            "selection.validation",
            "rows are not set aside at sites; leave it out, and score the model at each site",
        );
    }
    if options.selection.effort.is_some_and(|effort| effort != crate::learn::Effort::Quick) {
        return refused("selection.effort", "there is no search across sites; leave it out");
    }
    if options.parameters.hidden_states == crate::learn::HiddenStates::Auto {
        return refused("parameters.hidden_states", "auto compares models on rows in one place; give a number, such as 2");
    }
    if matches!(
        options.structure.learner,
        LearnerName::RegularisedNeighborJoining | LearnerName::RegularisedRecursiveGrouping | LearnerName::Levels
    ) {
        return refused(
            "structure.learner",
            "this learner fits models to rows in one place; use auto, likelihood, clnj or another",
        );
    }
    if is_private
        && !matches!(options.parameters.method, ParameterMethod::Auto | ParameterMethod::Moments | ParameterMethod::None)
    {
        return refused("parameters.method", "every pass costs privacy; use moments, which needs the fewest, or none");
    }
    check_em(options, is_private)?;
    options.selection.criterion = Some(Criterion::None);
    if options.parameters.method == ParameterMethod::Auto {
        options.parameters.method = ParameterMethod::Moments;
    }
    options.check_for_sites(is_tree_given)
}

/// Rejects options of EM that would be ignored: across sites, EM is a round per pass, so it runs only if it is requested by name.
fn check_em(options: &LearnOptions, is_private: bool) -> Result<()> {
    let (em, by_default) = (&options.em, EmOptions::default());
    let given = [
        ("em.start", em.start != by_default.start),
        ("em.restarts", em.restarts != by_default.restarts),
        ("em.iterations", em.iterations != by_default.iterations),
        ("em.tolerance", em.tolerance != by_default.tolerance),
        ("em.smoothing", em.smoothing != by_default.smoothing),
    ];
    let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    match options.parameters.method {
        ParameterMethod::Em | ParameterMethod::MomentsAndEm => Ok(()),
        _ if is_private => Err(Error::option(option, "a private run has no EM, since every pass costs privacy; leave it out")),
        _ => {
            let problem = "EM is a round for each iteration and does not run unless it is requested; add `parameters.method` moments+em, or leave it out";
            Err(Error::option(option, problem))
        }
    }
}

/// Fails if names of sites are not valid file names, or keys do not match the sites.
fn check_sites(sites: &[String], keys: &BTreeMap<String, String>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for name in sites {
        site::check_name(name)?;
        if !seen.insert(name) {
            return Err(Error::option("federate.sites", format!("{name:?} is listed twice")));
        }
    }
    if keys.is_empty() {
        return Ok(());
    }
    if keys.len() < masks::LEAST_SITES {
        return Err(Error::option("federate.keys", format!("masks need at least {} sites", masks::LEAST_SITES)));
    }
    let are_the_sites = seen.len() == keys.len() && keys.keys().all(|site| seen.contains(site));
    if !sites.is_empty() && !are_the_sites {
        return Err(Error::option("federate.keys", "the keys are not those of the sites; give one for each"));
    }
    Ok(())
}
