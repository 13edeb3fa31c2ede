//! A site: answers passes about its own rows, within its policy.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::envelope::{self, PROGRAM};
use super::files::{PartHeader, PassFile, store};
use super::masks::{self, SecretKey};
use super::policy::{Policy, refused};
use super::private_run;
use super::schema_round::SCHEMA_PASS;
use crate::data::{Rows, Schema, digest};
use crate::error::{Error, Place, Result};
use crate::moments::Sums;
use crate::passes;

/// The settings of a site.
#[derive(Debug, Default)]
pub struct Site<'a> {
    /// The name of the site.
    pub name: String,
    /// The rules for what may leave the site.
    pub policy: Policy,
    /// Its secret key, for masked parts.
    pub key: Option<&'a SecretKey>,
    /// A file that records past answers. Without it, nothing is recorded.
    pub record: Option<&'a Path>,
}

/// The answer of a site to a pass.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// The bytes of the part file.
    #[serde(skip)]
    pub part: Vec<u8>,
    /// The name of the pass.
    pub pass: String,
    /// A description of what the pass reveals.
    pub reveals: &'static str,
    /// The number of the round.
    pub round: u32,
    /// Number of rows used.
    pub rows: u64,
    /// Number of sums.
    pub sums: Option<u64>,
    /// The smallest count above 0 that leaves the site, if any leaves without noise or masks.
    pub smallest_count: Option<u64>,
    /// Number of counts that the policy replaced by 0.
    pub suppressed: u64,
    /// Whether only the sum over all sites can be read.
    pub masked: bool,
    /// The ρ of this answer, if it has noise.
    pub rho: Option<f64>,
    /// The total ρ of all answers so far, including this one.
    pub spent: Option<f64>,
    /// Number of rows clipped to the maximum number of items.
    pub clipped_rows: Option<u64>,
    /// Fingerprints of the keys of the other sites.
    pub peers: BTreeMap<String, String>,
}

/// The record of a site's past answers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Record {
    answers: Vec<Answered>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Answered {
    run: String,
    round: u32,
    /// The digest of the pass itself, which is the same for all attempts.
    pass: String,
    data: String,
    rows: u64,
    rho: Option<f64>,
    /// The answer with its noise. A repeated round must release the same noise, because averaging several would reveal the
    /// counts.
    noisy: Option<String>,
}

/// Checks that a text is a valid site name: letters, digits, `-` and `_`.
///
/// # Errors
/// [`Error::Option`] if it is not valid.
pub fn check_name(name: &str) -> Result<()> {
    let is_usable = |it: char| it.is_alphanumeric() || it == '-' || it == '_';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(is_usable) {
        return Ok(());
    }
    Err(Error::option("federate.site", format!("{name:?} is not a name of letters, digits, - and _ (up to 64)")))
}

/// Reports the columns of a site: names, kinds and labels, no counts.
///
/// # Errors
/// [`Error::Data`] if the pass asks for something else or the policy refuses.
pub fn answer_schema(pass: &PassFile, schema: &Schema, site: &Site<'_>) -> Result<Answer> {
    check_name(&site.name)?;
    if pass.pass() != SCHEMA_PASS {
        return Err(refused(format!("the pass {} is not about columns", pass.pass())));
    }
    check_site(pass, &site.name)?;
    let content = serde_json::to_vec(schema).map_err(|error| Error::data(Place::default(), error.to_string()))?;
    let part = envelope::write("part", &header(pass, site, None, false), &content)?;
    Ok(Answer { sums: Some(0), ..plain(pass, part, 0) })
}

/// Runs a pass over the rows of a site. Only [`Answer::part`] leaves the site.
///
/// # Errors
/// [`Error::Data`] if the policy refuses, the pass is not for this site, or it was answered before with other data; and
/// errors from reading the rows and from the pass.
pub fn answer(pass: &PassFile, rows: &dyn Rows, site: &Site<'_>) -> Result<Answer> {
    check_name(&site.name)?;
    check_site(pass, &site.name)?;
    let header_of = &pass.header;
    let name = passes::name_of(&pass.wire)?;
    if name != header_of.pass {
        return Err(refused(format!("the file says {}, but holds the pass {name}", header_of.pass)));
    }
    site.policy.check_pass(name)?;
    let is_private = private_run::is_private(name);
    if site.policy.rho.is_some() && !is_private {
        return Err(refused(format!("the policy has a privacy budget, and the pass {name} adds no noise")));
    }
    if header_of.privacy.is_some() && !is_private {
        return Err(refused(format!("the run is private, but the pass {name} adds no noise")));
    }
    let is_masked = !header_of.keys.is_empty();
    if !is_masked {
        site.policy.check_unmasked()?;
    }
    let key = match (is_masked, site.key) {
        (true, None) => return Err(refused("parts of this run are masked; give the site's key with `federate.mask`")),
        (false, Some(_)) => return Err(refused("a key was given, but parts of this run are not masked")),
        (_, key) => key,
    };
    if is_masked {
        check_peers(pass, site)?;
    }
    let data = digest(rows)?;
    let question = envelope::digest(&pass.wire);
    let mut record = Record::read(site.record)?;
    let before = record.answers.iter().find(|it| it.run == header_of.run && it.pass == question).cloned();
    if let Some(other) = before.as_ref().filter(|it| it.data != data) {
        return Err(refused(format!(
            "this pass was already answered with other data ({} rows, round {}); answer with the same rows in all rounds",
            other.rows, other.round
        )));
    }
    let other_data = record.answers.iter().find(|it| it.run == header_of.run && it.data != data);
    if let Some(other) = other_data {
        return Err(refused(format!(
            "round {} of this run was answered with other data ({} rows); answer with the same rows in all rounds",
            other.round, other.rows
        )));
    }
    let n_rows = counted_rows(rows)?;
    site.policy.check_rows(n_rows)?;
    let (wire, suppressed, spent, cost, clipped) = if is_private {
        let cost = private_run::cost_of(&pass.wire)?;
        let earlier: f64 = record.answers.iter().filter_map(|it| it.rho).sum();
        match before.as_ref().and_then(|it| it.noisy.as_deref()) {
            Some(noisy) => (from_text(noisy)?, 0, Some(earlier), Some(cost), None),
            None => {
                if let Some(budget) = site.policy.rho.filter(|budget| earlier + cost > budget * (1.0 + 1e-9)) {
                    return Err(refused(format!(
                        "the privacy budget is used up: ρ {earlier:.6} of {budget} is spent, and this pass costs {cost:.6}"
                    )));
                }
                let observed = passes::observe(&pass.wire, &mut *rows.open()?)?;
                let (wire, clipped) = private_run::with_noise(&observed)?;
                (wire, 0, Some(earlier + cost), Some(cost), Some(clipped))
            }
        }
    } else {
        let observed = passes::observe(&pass.wire, &mut *rows.open()?)?;
        let (wire, suppressed) = site.policy.suppressed(name, observed)?;
        (wire, suppressed, None, None, None)
    };
    let (n_sums, smallest) = counts_of(&wire);
    let content = match key {
        None => wire.clone(),
        Some(key) => masks::masked(&wire, key, &site.name, header_of)?,
    };
    // The number of rows is exact, so it does not leave a site that hides its counts.
    let shown_rows = (!is_private && !is_masked).then_some(n_rows);
    let part = envelope::write("part", &header(pass, site, shown_rows, is_masked), &content)?;
    if before.is_none() {
        record.answers.push(Answered {
            run: header_of.run.clone(),
            round: header_of.round,
            pass: question,
            data,
            rows: n_rows,
            rho: cost,
            noisy: is_private.then(|| to_text(&wire)),
        });
        // Recorded before the part is written: an unrecorded cost could be spent twice.
        record.write(site.record)?;
    }
    Ok(Answer {
        sums: n_sums,
        smallest_count: smallest.filter(|_| !is_private && !is_masked),
        suppressed,
        masked: is_masked,
        rho: cost,
        spent,
        clipped_rows: clipped,
        peers: masks::fingerprints(&header_of.keys, &site.name),
        ..plain(pass, part, n_rows)
    })
}

fn plain(pass: &PassFile, part: Vec<u8>, rows: u64) -> Answer {
    Answer {
        part,
        pass: pass.header.pass.clone(),
        reveals: reveals(&pass.header.pass),
        round: pass.header.round,
        rows,
        sums: None,
        smallest_count: None,
        suppressed: 0,
        masked: false,
        rho: None,
        spent: None,
        clipped_rows: None,
        peers: BTreeMap::new(),
    }
}

fn header(pass: &PassFile, site: &Site<'_>, rows: Option<u64>, masked: bool) -> PartHeader {
    PartHeader {
        version: PROGRAM.to_owned(),
        run: pass.header.run.clone(),
        round: pass.header.round,
        attempt: pass.header.attempt,
        pass: pass.digest.clone(),
        site: site.name.clone(),
        rows,
        masked,
    }
}

fn check_site(pass: &PassFile, name: &str) -> Result<()> {
    let sites = &pass.header.sites;
    if sites.is_empty() || sites.iter().any(|site| site == name) {
        return Ok(());
    }
    Err(refused(format!("this round asks {}, not {name:?}", sites.join(", "))))
}

fn check_peers(pass: &PassFile, site: &Site<'_>) -> Result<()> {
    let keys = &pass.header.keys;
    let least = site.policy.least_sites.max(masks::LEAST_SITES);
    if keys.len() < least {
        return Err(refused(format!("a masked sum of {} sites was asked for, and at least {least} are needed", keys.len())));
    }
    if let Some((peer, _)) = site.policy.peers.iter().find(|(peer, key)| keys.get(*peer).is_some_and(|it| it != *key)) {
        return Err(refused(format!("the key of {peer:?} in this pass is not the one in the policy")));
    }
    if !site.policy.peers.is_empty()
        && let Some(stranger) = keys.keys().find(|peer| **peer != site.name && !site.policy.peers.contains_key(*peer))
    {
        return Err(refused(format!("the policy has no key of {stranger:?}")));
    }
    Ok(())
}

/// What each pass reveals, in words for the person who decides.
fn reveals(pass: &str) -> &'static str {
    match pass {
        SCHEMA_PASS => "names, kinds and labels of the columns",
        "summary" => "for each column: counts of labels and missing cells; of numbers mean, variance and range",
        "pair-moments" => "for each pair of columns: counts of their labels together, or sums of products of numbers",
        "block-moments" => {
            "for each pair of columns, in two or more blocks of rows: counts of their labels together, or sums of products"
        }
        "pair-counts" => "for some pairs of columns: counts of their labels together",
        "feature-cross" => "for pairs of columns: sums of products of features",
        "local-pairs" => "for each hidden variable: sums of products of the variables around it",
        "summaries" => "for each hidden variable: sums of products of two and three averages of variables around it",
        "expected-counts" => "under the current model: expected counts of hidden states with labels, and the log-likelihood",
        "private-pairs" => "noisy counts of pairs of columns",
        "private-triples" => "noisy sums of products of three averages of variables around each hidden variable",
        _ => "sums over all rows",
    }
}

/// The number of sums, and the smallest count above 0.
fn counts_of(wire: &[u8]) -> (Option<u64>, Option<u64>) {
    let (mut n, mut least) = (0, None::<u64>);
    let mut count = |value: u64| {
        if value > 0 {
            least = Some(least.map_or(value, |least| least.min(value)));
        }
    };
    let visited = passes::visit_sums(wire, false, &mut |sums| match sums {
        Sums::Counts(counts) => {
            n += counts.len() as u64;
            counts.iter().for_each(|&it| count(u64::from(it)));
        }
        Sums::LongCounts(counts) => {
            n += counts.len() as u64;
            counts.iter().for_each(|&it| count(it));
        }
        Sums::Weights(weights) => {
            n += weights.len() as u64;
            weights.iter().for_each(|&it| count(it.max(0.0) as u64));
        }
        Sums::Noisy(counts) => n += counts.len() as u64,
        Sums::Reals(reals) => n += reals.len() as u64,
    });
    if visited.is_ok() { (Some(n), least) } else { (None, None) }
}

fn counted_rows(rows: &dyn Rows) -> Result<u64> {
    let mut source = rows.open()?;
    let mut n_rows = 0;
    while let Some(batch) = source.next_batch()? {
        n_rows += batch.n_rows as u64;
    }
    Ok(n_rows)
}

impl Record {
    fn read(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| path.exists()) else { return Ok(Self::default()) };
        let text = std::fs::read(path).map_err(Error::io("read", path))?;
        serde_json::from_slice(&text).map_err(|error| Error::format(Place::file(path), "record of a site", error.to_string()))
    }

    fn write(&self, path: Option<&Path>) -> Result<()> {
        let Some(path) = path else { return Ok(()) };
        let text = serde_json::to_vec_pretty(self).map_err(|error| Error::data(Place::default(), error.to_string()))?;
        store(path, &text)
    }
}

fn to_text(bytes: &[u8]) -> String {
    crate::journal::hexadecimal(bytes)
}

fn from_text(text: &str) -> Result<Vec<u8>> {
    let digit = |at: usize| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..text.len())
        .step_by(2)
        .map(digit)
        .collect::<Option<Vec<u8>>>()
        .ok_or_else(|| Error::format(Place::default(), "record of a site", "an answer in it cannot be read"))
}

/// The columns of a pass, for reading rows.
impl PassFile {
    /// The columns that the pass was written for.
    ///
    /// # Errors
    /// [`Error::Data`] if the pass names no columns.
    pub fn required_schema(&self) -> Result<&Arc<Schema>> {
        self.schema().ok_or_else(|| refused("the pass names no columns"))
    }
}
