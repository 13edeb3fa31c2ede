//! Grows the hierarchy: chooses the next node to split, and describes each node.

use std::sync::Arc;

use serde_json::{Value, json};

use super::centres::{Likelihood, Sums};
use super::options::{ClusterOptions, Extent, SplitMethod};
use super::split::Splitter;
use super::table::Table;
use crate::data::{Kind, Rows};
use crate::error::{Error, Place, Result};
use crate::information;
use crate::mixture::{MixtureFamily, RELEVANCE_LAMBDA, relevance};
use crate::model::features::{Features, Scaling, Source};
use crate::model::{ClusterNode, ClusterTree, Provenance, SplitRule};
use crate::moments::{Accumulator, ColumnSummary, Summary, fold};
use crate::named::counted;
use crate::observer::Observer;

/// Number of relevant features reported per node.
const RELEVANT: usize = 10;

/// A fitted hierarchy of clusters.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterFit {
    /// The hierarchy.
    pub model: ClusterTree,
    /// The leaf of each row, as an index into the model's nodes.
    pub labels: Vec<usize>,
    /// The family used to compute gains.
    pub family: MixtureFamily,
    /// How the two sides of a split were separated.
    pub method: SplitMethod,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

impl ClusterFit {
    /// Everything except the rules and the labels, as printed by the command line with `--json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let nodes = self.model.nodes();
        let node = |node: &ClusterNode| {
            let parent = node.parent.map(|parent| nodes[parent].name.clone());
            json!({"name": node.name, "parent": parent, "leaf": node.children.is_none(), "size": node.size, "relevant": node.relevant})
        };
        json!({
            "rows": self.labels.len(),
            "family": self.family,
            "method": self.method.name(),
            "leaves": self.model.leaves().count(),
            "clusters": nodes.iter().map(node).collect::<Vec<_>>(),
            "warnings": self.warnings,
        })
    }
}

/// A leaf and its best split, if any.
struct Leaf {
    node: usize,
    depth: usize,
    rows: Vec<u32>,
    split: Option<Split>,
}

struct Split {
    rule: SplitRule,
    sides: [Vec<u32>; 2],
    sums: [Sums; 2],
    /// Gain of the log-likelihood, and of BIC.
    gain: f64,
    bic_gain: f64,
}

/// Splits rows into a hierarchy of clusters.
///
/// # Errors
/// [`Error::Option`] if the family does not fit the columns, [`Error::Data`] if the rows cannot be clustered, any error from
/// reading the rows, and [`Error::Cancelled`].
///
/// # Example
/// ```
/// use latentree::clusters::{ClusterOptions, Extent, fit_clusters};
/// use latentree::simulate::{ParameterFamily, Shape, Simulation};
/// use latentree::{Inference, Silent};
/// let family = ParameterFamily::Categorical { states: 2, hidden_states: 4, separation: 0.8 };
/// let truth = Simulation::new(Shape::Star, 30).family(family).model()?;
/// let rows = Inference::new(&truth).sample(1000, 0)?;
/// let fit = fit_clusters(&rows, &ClusterOptions::new(Extent::Leaves(4)), &Silent)?;
/// assert_eq!(fit.model.leaves().count(), 4);
/// assert_eq!(fit.model.assign(&rows.batches()[0])[..], fit.labels[..]);
/// # Ok::<(), latentree::Error>(())
/// ```
pub fn fit_clusters(rows: &dyn Rows, options: &ClusterOptions, observer: &dyn Observer) -> Result<ClusterFit> {
    let schema = Arc::clone(rows.schema());
    let family = options.family.unwrap_or_else(|| MixtureFamily::of(&schema));
    family.check(&schema)?;
    if family == MixtureFamily::Lda {
        let problem = "documents of lda mix topics, so that they are in no one cluster; use the family single-topic";
        return Err(Error::option("cluster.family", problem));
    }
    observer.stage("columns", rows.n_rows_hint());
    let summary = fold(&mut *rows.open()?, Summary::new(Arc::clone(&schema)), observer)?.finish()?;
    check(&summary, family)?;
    let has_numbers = schema.columns().iter().any(|column| column.kind == Kind::Continuous);
    let scaling = if family == MixtureFamily::Categorical { Scaling::Standardised } else { Scaling::None };
    let features = Features::new(&schema, scaling, &summary);
    let table = Table::read(rows, &features, observer)?;
    let likelihood = Likelihood::new(&features, family, &summary);
    let splitter = Splitter {
        table: &table,
        likelihood: &likelihood,
        family,
        method: options.method,
        affine: has_numbers,
        em: options.em,
        seed: options.seed,
    };
    let empty = (0..table.n_rows()).filter(|&row| table.vectors().features(row).is_empty()).count() as u64;
    let mut growth =
        Growth { splitter, options, nodes: Vec::new(), leaves: Vec::new(), all_rows: summary.total_weight(), gain: 0.0 };
    observer.stage("splits", None);
    growth.run(observer)?;
    let Growth { nodes, leaves, gain, .. } = growth;
    let mut fit = finish(rows, options, family, features, nodes, leaves)?;
    if summary.columns().iter().all(ColumnSummary::has_one_value) {
        fit.warnings.push("all rows are equal: there is nothing to tell clusters apart".to_owned());
    }
    if information::falls_short(gain, 0.0) {
        fit.warnings.push(format!(
            "the log-likelihood of the leaves is {:.2} below that of a single cluster: use fewer `cluster.leaves`, or `cluster.em`",
            -gain
        ));
    }
    if empty > 0 && (family.is_counts() || family == MixtureFamily::Bernoulli) {
        fit.warnings
            .push(format!("{}: put into the cluster that is most probable given no words or values", family.told_empty(empty)));
    }
    Ok(fit)
}

fn check(summary: &Summary, family: MixtureFamily) -> Result<()> {
    if summary.total_weight() <= 0.0 {
        return Err(Error::data(Place::default(), "there are no rows of positive weight to cluster"));
    }
    for (column, it) in summary.schema().columns().iter().zip(summary.columns()) {
        let place = || Place::default().column(&column.name);
        if it.missing > 0 {
            let problem = format!(
                "{} of its cells are missing, and a hierarchy needs complete rows; fill them, or use the verb mixture",
                it.missing
            );
            return Err(Error::data(place(), problem));
        }
        if family.is_counts() && it.range.is_some_and(|range| range.0 < 0.0) {
            return Err(Error::data(place(), format!("{family} needs counts, but there are numbers below 0")));
        }
    }
    Ok(())
}

struct Growth<'a> {
    splitter: Splitter<'a>,
    options: &'a ClusterOptions,
    nodes: Vec<(ClusterNode, Sums)>,
    leaves: Vec<Leaf>,
    all_rows: f64,
    /// Sum of the gains of the log-likelihood.
    gain: f64,
}

impl Growth<'_> {
    fn run(&mut self, observer: &dyn Observer) -> Result<()> {
        let all: Vec<u32> = (0..self.splitter.table.n_rows() as u32).collect();
        let sums = self.splitter.likelihood.sums(self.splitter.table, &all, None);
        self.add("1".to_owned(), None, 1, all, sums);
        loop {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            observer.progress(self.leaves.len() as u64);
            let room = match self.options.extent {
                Extent::Leaves(most) => self.leaves.len() < most,
                Extent::Depth(_) | Extent::Auto => true,
            };
            let allowed = |leaf: &Leaf| match (&leaf.split, self.options.extent) {
                (None, _) => false,
                (Some(_), Extent::Depth(depth)) => leaf.depth < depth,
                (Some(_), Extent::Leaves(_)) => true,
                (Some(split), Extent::Auto) => split.bic_gain > 0.0,
            };
            let gain = |leaf: &Leaf| leaf.split.as_ref().map_or(f64::NEG_INFINITY, |split| split.gain);
            let candidates = (0..self.leaves.len()).filter(|&ix| room && allowed(&self.leaves[ix]));
            let best = candidates.fold(None, |best: Option<usize>, ix| match best {
                Some(best) if gain(&self.leaves[best]) >= gain(&self.leaves[ix]) => Some(best),
                _ => Some(ix),
            });
            let Some(best) = best else { return Ok(()) };
            let leaf = self.leaves.remove(best);
            let Some(Split { rule, sides, sums, gain, .. }) = leaf.split else { unreachable!("a split was chosen") };
            self.gain += gain;
            let first = self.nodes.len();
            self.nodes[leaf.node].0.children = Some([first, first + 1]);
            self.nodes[leaf.node].0.rule = Some(rule);
            let name = self.nodes[leaf.node].0.name.clone();
            for ((side, rows), sums) in sides.into_iter().enumerate().zip(sums) {
                self.add(format!("{name}.{}", side + 1), Some(leaf.node), leaf.depth + 1, rows, sums);
            }
        }
    }

    fn add(&mut self, name: String, parent: Option<usize>, depth: usize, rows: Vec<u32>, sums: Sums) {
        let node = self.nodes.len();
        let is_last =
            matches!(self.options.extent, Extent::Depth(most) if depth >= most) || self.options.extent == Extent::Leaves(1);
        let split = if is_last { None } else { self.split(&rows, &sums) };
        self.nodes.push((
            ClusterNode { name, parent, children: None, size: rows.len() as u64, relevant: Vec::new(), rule: None },
            sums,
        ));
        self.leaves.push(Leaf { node, depth, rows, split });
    }

    fn split(&self, rows: &[u32], all: &Sums) -> Option<Split> {
        if rows.len() < 2 * self.options.min_size.max(1) || all.weight <= 0.0 {
            return None;
        }
        let splits = self.splitter.rules(rows, all).into_iter().filter_map(|rule| self.split_by(rule, rows, all));
        splits.reduce(|best, other| if other.gain > best.gain { other } else { best })
    }

    /// Splits rows by a rule. `None` if a side is too small.
    fn split_by(&self, mut rule: SplitRule, rows: &[u32], all: &Sums) -> Option<Split> {
        let Splitter { table, likelihood, .. } = &self.splitter;
        let vectors = table.vectors();
        let divide = |rule: &SplitRule| -> [Vec<u32>; 2] {
            let (first, second) = rows.iter().partition(|&&row| rule.side(&vectors, row as usize) == 0);
            [first, second]
        };
        let mut sides = divide(&rule);
        // The larger side comes first, so that names do not depend on arbitrary signs.
        let weight = |side: &[u32]| side.iter().map(|&row| vectors.weight(row as usize)).sum::<f64>();
        if weight(&sides[1]) > weight(&sides[0]) {
            rule = match rule {
                SplitRule::Alignment { sides: [a, b] } => SplitRule::Alignment { sides: [b, a] },
                SplitRule::Posterior { mut log_ratio } => {
                    log_ratio.offset = -log_ratio.offset;
                    log_ratio.factors.iter_mut().for_each(|x| *x = -*x);
                    SplitRule::Posterior { log_ratio }
                }
            };
            sides = divide(&rule);
        }
        if sides.iter().any(|side| side.len() < self.options.min_size.max(1)) {
            return None;
        }
        let sums = [0, 1].map(|side| likelihood.sums(table, &sides[side], None));
        if sums.iter().any(|side| side.weight <= 0.0) {
            return None;
        }
        let proportions: f64 = sums.iter().map(|side| side.weight * (side.weight / all.weight).ln()).sum();
        let gain = likelihood.largest(&sums[0]) + likelihood.largest(&sums[1]) - likelihood.largest(all) + proportions;
        let parameters =
            likelihood.n_parameters(&sums[0]) + likelihood.n_parameters(&sums[1]) - likelihood.n_parameters(all) + 1.0;
        let bic_gain = gain - parameters * information::bic_cost(self.all_rows);
        Some(Split { rule, sides, sums, gain, bic_gain })
    }
}

fn finish(
    rows: &dyn Rows,
    options: &ClusterOptions,
    family: MixtureFamily,
    features: Features,
    nodes: Vec<(ClusterNode, Sums)>,
    leaves: Vec<Leaf>,
) -> Result<ClusterFit> {
    let schema = Arc::clone(rows.schema());
    let names = features.names(&schema);
    let all = nodes[0].1.clone();
    let is_number: Vec<bool> = features
        .sources
        .iter()
        .flat_map(|source| match source {
            Source::Number { .. } => vec![!family.is_counts()],
            Source::Codes { n_states, .. } => vec![false; n_states.saturating_sub(1) as usize],
        })
        .collect();
    let words = |sums: &Sums| if family.is_topics() { sums.first.iter().sum::<f64>() } else { sums.weight };
    let all_words = words(&all);
    let mut made = Vec::with_capacity(nodes.len());
    for (mut node, sums) in nodes {
        let own_words = words(&sums);
        let mut ranked: Vec<(f64, usize)> = (0..features.n)
            .map(|feature| {
                let (own, overall) = (sums.first[feature] / own_words, all.first[feature] / all_words);
                let value =
                    if is_number[feature] { (own - overall).abs().ln() } else { relevance(own, overall, RELEVANCE_LAMBDA) };
                (value, feature)
            })
            .filter(|it| it.0 > f64::NEG_INFINITY)
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let told = |&(_, feature): &(f64, usize)| match is_number[feature] {
            false => names[feature].clone(),
            true if sums.first[feature] / sums.weight < all.first[feature] / all.weight => format!("{} low", names[feature]),
            true => format!("{} high", names[feature]),
        };
        node.relevant = ranked.iter().take(RELEVANT).map(told).collect();
        made.push(node);
    }
    let n_rows: usize = leaves.iter().map(|leaf| leaf.rows.len()).sum();
    let mut labels = vec![0; n_rows];
    for leaf in &leaves {
        leaf.rows.iter().for_each(|&row| labels[row as usize] = leaf.node);
    }
    let mut warnings = Vec::new();
    if let Extent::Leaves(wanted) = options.extent
        && leaves.len() < wanted
    {
        warnings.push(format!(
            "{wanted} leaves asked for, {} found: no other leaf has two sides of at least {}",
            leaves.len(),
            counted(options.min_size.max(1), "row")
        ));
    }
    if options.method == SplitMethod::Alignment && options.family.is_some() && !options.em {
        warnings.push("the family decides which leaf is split first; d-sidiwo itself has none".to_owned());
    }
    let mut provenance = Provenance::by_this_program(options.seed)
        .option("verb", "cluster")
        .option("method", options.method)
        .option("family", family)
        .option("em", options.em)
        .option("min_size", options.min_size);
    provenance.rows = Some(n_rows as u64);
    let model = ClusterTree::new(schema, features, made, provenance)?;
    Ok(ClusterFit { model, labels, family, method: options.method, warnings })
}
