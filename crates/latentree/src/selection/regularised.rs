//! Regularised Chow–Liu grouping (`reg-clrg`, `reg-clnj`): accepts those latent subtrees, as replacements for neighbourhoods
//! of the Chow–Liu tree, that improve BIC.
//!
//! For each inner node of the spanning tree, the model of its candidate subtree is compared with that of its star of observed
//! neighbours, both fitted to these columns alone. Candidates touch only at edges between two inner nodes, so the gain of all
//! together is about the sum of their single gains, and no candidate needs to be scored again when another is accepted. (Choi
//! et al. accept the best one, sample hidden states and start again.) The list is data: a person may accept others.
//!
//! Reference: Choi et al. (2011), §6.6.

use std::sync::Arc;

use crate::data::{Batch, BatchSource, Block, ColumnData, Dataset, JournaledRows, Kind, Rows, Schema};
use crate::distance::DistanceMatrix;
use crate::information;
use crate::observer::Quiet;
use crate::parameters::em::{Em, Smoothing, Start, template};
use crate::structure::{
    Candidate, NeighborJoining, RecursiveGrouping, StructureLearner, apply, candidates, completed, contract_short,
    distance_spanning_tree,
};
use crate::tree::{Edge, Node, Tree};
use crate::{ColIx, Error, NodeIx, Observer, Place, Result, VarIx};

/// The learner of the subtrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalLearner {
    /// Neighbour joining: `reg-clnj`.
    NeighborJoining,
    /// Recursive grouping: `reg-clrg`.
    RecursiveGrouping,
}

/// A candidate and its gain.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredCandidate {
    /// The inner node and its subtree.
    pub candidate: Candidate,
    /// Log-likelihood of its columns minus that of the star of observed nodes.
    pub log_likelihood_gain: f64,
    /// Number of free parameters beyond those of the star.
    pub parameters: i64,
    /// Gain of BIC.
    pub bic_gain: f64,
}

/// All candidates of a data set, and the spanning tree (or forest) they belong to.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidates {
    /// The spanning tree over the variables.
    pub spanning_tree: Tree,
    /// The candidates, in the order in which the learner produces them.
    pub list: Vec<ScoredCandidate>,
    /// Maximum length at which edges at hidden nodes are contracted when candidates are combined; `None` contracts none.
    pub contraction: Option<f64>,
}

impl Candidates {
    /// The tree with the candidates of these leaders, given by name.
    ///
    /// # Errors
    /// [`Error::Option`] for a name without a candidate.
    pub fn accept(&self, leaders: &[String]) -> Result<Tree> {
        for leader in leaders {
            if !self.list.iter().any(|scored| scored.candidate.leader == *leader) {
                let names: Vec<&str> = self.list.iter().take(8).map(|scored| scored.candidate.leader.as_str()).collect();
                let more = if self.list.len() > names.len() { ", …" } else { "" };
                return Err(Error::option(
                    "selection.accept",
                    format!("{leader:?} has no candidate; those are {}{more}", names.join(", ")),
                ));
            }
        }
        self.with(|scored| leaders.contains(&scored.candidate.leader))
    }

    /// The tree with all candidates that improve BIC.
    ///
    /// # Errors
    /// [`Error::Tree`] if the candidates do not fit the tree.
    pub fn best(&self) -> Result<Tree> {
        self.with(|scored| scored.bic_gain > 0.0)
    }

    fn with(&self, choose: impl Fn(&ScoredCandidate) -> bool) -> Result<Tree> {
        let chosen: Vec<Candidate> =
            self.list.iter().filter(|scored| choose(scored)).map(|scored| scored.candidate.clone()).collect();
        let tree = apply(&self.spanning_tree, &chosen)?;
        let tree = self.contraction.map_or_else(|| tree.minimal(), |threshold| contract_short(&tree, threshold));
        Ok(tree.relabel_hidden())
    }
}

/// The candidates for data with only discrete or only continuous columns.
///
/// # Arguments
/// - `local`: the learner of the subtrees;
/// - `contraction`: maximum length at which their edges are contracted; `None` contracts none;
/// - `hidden_states`: number of states of the hidden nodes of discrete columns.
///
/// # Errors
/// [`Error::Data`] for other or mixed columns, [`Error::Mismatch`] if the distances are of other variables, any error from
/// EM, and [`Error::Cancelled`].
pub fn scored_candidates(
    data: &dyn Rows,
    distances: &DistanceMatrix,
    local: LocalLearner,
    contraction: Option<f64>,
    hidden_states: usize,
    observer: &dyn Observer,
) -> Result<Candidates> {
    let schema = data.schema();
    let kinds: Vec<Option<&Kind>> = schema.variable_ixs().map(|ix| schema.scalar_kind(ix)).collect();
    let is_gaussian = kinds.iter().all(|kind| *kind == Some(&Kind::Continuous));
    if !is_gaussian && kinds.iter().any(|kind| kind.is_none_or(|kind| kind.n_states().is_none())) {
        let problem = "reg-clrg and reg-clnj compare models with observed inner nodes: they need discrete columns only, or continuous ones only; use clrg or clnj";
        return Err(Error::data(Place::default(), problem));
    }
    let learner: Box<dyn StructureLearner> = match local {
        LocalLearner::NeighborJoining => Box::new(NeighborJoining::new().contract(contraction)),
        LocalLearner::RecursiveGrouping => Box::new(RecursiveGrouping::default().contraction(contraction.unwrap_or(0.0))),
    };
    let spanning_tree = distance_spanning_tree(distances);
    let mut found = Vec::new();
    for members in distances.components().iter().filter(|members| members.len() >= 3) {
        let part = distances.subset(members);
        let part = if part.n_undefined() > 0 { completed(&part) } else { part };
        found.extend(candidates(&part, &restricted(&spanning_tree, members)?, &*learner, observer)?);
    }
    distinct_names(&mut found, &spanning_tree);
    observer.stage("scores of candidates", Some(found.len() as u64));
    let hidden_states = if is_gaussian { 0 } else { hidden_states };
    let mut list = Vec::with_capacity(found.len());
    for candidate in found {
        list.push(score(data, candidate, hidden_states, observer)?);
        observer.progress(list.len() as u64);
    }
    Ok(Candidates { spanning_tree, list, contraction })
}

/// The part of a spanning tree over one component. It may differ from the spanning tree of the component's completed
/// distances, which has more pairs to choose from.
fn restricted(spanning_tree: &Tree, members: &[usize]) -> Result<Tree> {
    let nodes = members.iter().map(|&ix| spanning_tree.node(NodeIx::new(ix)).clone()).collect();
    let place = |node: NodeIx| members.iter().position(|&ix| ix == node.get()).map(NodeIx::new);
    let edges: Vec<Edge> =
        spanning_tree.edges().filter_map(|edge| Some(Edge { a: place(edge.a)?, b: place(edge.b)?, ..edge })).collect();
    Tree::from_parts(nodes, &edges)
}

/// Makes hidden names distinct over all components.
fn distinct_names(candidates: &mut [Candidate], spanning_tree: &Tree) {
    let mut next = 0;
    for candidate in candidates {
        let hidden: Vec<NodeIx> = candidate.subtree.node_ixs().filter(|&node| !candidate.subtree.is_observed(node)).collect();
        for (ix, node) in hidden.iter().enumerate() {
            // A temporary name that no variable has.
            let _ = candidate.subtree.rename(*node, format!("\u{0}{next}-{ix}"));
        }
        for node in hidden {
            loop {
                next += 1;
                let name = format!("h{next}");
                if spanning_tree.find(&name).is_none() && candidate.subtree.rename(node, name).is_ok() {
                    break;
                }
            }
        }
    }
}

fn score(data: &dyn Rows, candidate: Candidate, hidden_states: usize, observer: &dyn Observer) -> Result<ScoredCandidate> {
    let subtree = candidate.subtree.minimal();
    if subtree.n_hidden() == 0 {
        return Ok(ScoredCandidate { candidate, log_likelihood_gain: 0.0, parameters: 0, bic_gain: 0.0 });
    }
    let names: Vec<&str> = subtree.node_ixs().filter(|&node| subtree.is_observed(node)).map(|node| subtree.name(node)).collect();
    let part = Projected::new(data, &names)?;
    let kept = match data.dataset() {
        Some(_) => Some(Dataset::read(&mut *part.open()?)?),
        None => None,
    };
    let part: &dyn Rows = kept.as_ref().map_or(&part, |kept| kept);
    let part = &JournaledRows::new(part, data.journal());
    let fit = |tree: &Tree| -> Result<(f64, usize)> {
        let model = template(Arc::clone(part.schema()), tree.clone(), hidden_states)?;
        let start = if tree.n_hidden() == 0 && hidden_states > 0 { Start::Given } else { Start::Random { restarts: 3, seed: 0 } };
        let fit = Em::new().smoothing(Smoothing::pseudo_count(1e-3)).iterations(300).start(start).fit(
            &model,
            part,
            &Quiet(observer),
        )?;
        let ln = fit.log_likelihood.last().copied().unwrap_or(f64::NEG_INFINITY);
        Ok((ln, fit.model.n_free_parameters()))
    };
    let star = star(&candidate.leader, &names)?;
    let ((with, with_parameters), (without, without_parameters)) = (fit(&subtree)?, fit(&star)?);
    let (mut weight, mut source) = (0.0_f64, part.open()?);
    while let Some(batch) = source.next_batch()? {
        weight += (0..batch.n_rows).map(|row| batch.weight(row)).sum::<f64>();
    }
    let parameters = with_parameters as i64 - without_parameters as i64;
    let log_likelihood_gain = with - without;
    let bic_gain = log_likelihood_gain - parameters as f64 * information::bic_cost(weight.max(1.0));
    Ok(ScoredCandidate { candidate, log_likelihood_gain, parameters, bic_gain })
}

/// A star with the leader at its centre.
fn star(leader: &str, names: &[&str]) -> Result<Tree> {
    let nodes: Vec<Node> = names.iter().map(|&name| Node { name: name.to_owned(), observed: true }).collect();
    let center = names.iter().position(|name| *name == leader).unwrap_or(0);
    let others = (0..names.len()).filter(|&ix| ix != center);
    let edges: Vec<Edge> = others.map(|ix| Edge::new(NodeIx::new(center), NodeIx::new(ix))).collect();
    Tree::from_parts(nodes, &edges)
}

/// Rows restricted to some scalar variables.
struct Projected<'a> {
    rows: &'a dyn Rows,
    schema: Arc<Schema>,
    columns: Vec<ColIx>,
}

impl<'a> Projected<'a> {
    fn new(rows: &'a dyn Rows, names: &[&str]) -> Result<Self> {
        let schema = rows.schema();
        let mut builder = Schema::builder();
        let mut columns: Vec<ColIx> = Vec::new();
        for name in names {
            let variable: VarIx = schema.find_variable(name).ok_or_else(|| Error::Mismatch {
                left: "the distances".to_owned(),
                right: "the data".to_owned(),
                problem: format!("the data have no variable {name:?}"),
            })?;
            let column = schema.variable(variable).columns[0];
            builder = builder.scalar(*name, schema.column(column).kind.clone());
            columns.push(column);
        }
        Ok(Self { rows, schema: Arc::new(builder.build()?), columns })
    }
}

impl Rows for Projected<'_> {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn open(&self) -> Result<Box<dyn BatchSource + '_>> {
        Ok(Box::new(ProjectedSource { to: self, source: self.rows.open()? }))
    }

    fn n_rows_hint(&self) -> Option<u64> {
        self.rows.n_rows_hint()
    }
}

struct ProjectedSource<'a> {
    to: &'a Projected<'a>,
    source: Box<dyn BatchSource + 'a>,
}

impl BatchSource for ProjectedSource<'_> {
    fn schema(&self) -> &Arc<Schema> {
        &self.to.schema
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        let Some(batch) = self.source.next_batch()? else { return Ok(None) };
        let cells = self.to.columns.iter().zip(self.to.schema.columns()).map(|(&from, column)| {
            let mut cells = ColumnData::for_kind(&column.kind, batch.n_rows);
            (0..batch.n_rows).for_each(|row| cells.push_number(batch.number(row, from)));
            cells
        });
        let block = Block::Dense(cells.collect());
        Ok(Some(Arc::new(Batch { first_row: batch.first_row, n_rows: batch.n_rows, block, weights: batch.weights.clone() })))
    }

    fn rewind(&mut self) -> Result<()> {
        self.source.rewind()
    }
}
