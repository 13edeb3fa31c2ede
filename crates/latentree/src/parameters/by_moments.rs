//! All tables of a discrete latent tree from moments, one decomposition per hidden node.
//!
//! Huang et al. (2020, §5–6) decompose a tensor for each triplet of neighbours and then repair the labels of hidden states across triplets. Here labels
//! are chosen once per hidden node, and everything else is linear in them:
//!
//! 1. the branches of a hidden node h make three [views](super::branches), each summarised by k − 1 canonical variates `s_v` with the rest;
//! 2. [one pass](super::summaries) gives the moments of `a = (1, s₁, s₂, s₃)`; the third moment is whitened and decomposed into `w = P(h)` and
//!    `M = E[a | h]`;
//! 3. for what lies in view v let `G_v = (MᵀV⁻¹M)⁻¹MᵀV⁻¹` over the other two views, `V = E[a aᵀ]`: the best linear unbiased way from a to the
//!    indicators of h. Then `P(y, h) = E[φ_y aᵀ] G_vᵀ` for an observed neighbour y, and `P(h, g) = G_h E[a_h a_gᵀ] G_gᵀ` for a hidden one;
//! 4. tables are projected to probabilities. An edge has one joint table, so both directions agree.
//!
//! Exact moments give the exact model. Missing cells are zeros of φ and of the coordinates of a: all holds as long as being missing is independent of
//! the rest given the hidden parent.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::branches::{MOST_COORDINATES, Views, nearest};
use super::local_pairs::{LocalPairs, Plan};
use super::summaries::{Features, Neighbour, ObservedChild, Summaries, SummaryPlan};
use crate::coordinates::feature_cross::{self, Directions};
use crate::coordinates::{Coordinates, standards};
use crate::data::{BatchSource, Schema, SelectedRows};
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::linalg::{Cholesky, Matrix, jacobi_svd, symmetric_eigen};
use crate::model::{Distribution, Emission, LatentTree, Provenance, Table};
use crate::moments::{Accumulator, ColumnSummary, Summary, fold};
use crate::observer::Observer;
use crate::tensor::{Decomposition, Mixture, Options, Whitening};
use crate::tree::{Edge, Node, Rooted, Tree};

/// Most rows that directions are found with.
const ROWS_FOR_PAIRS: u64 = 1 << 14;
/// Multiplications that the first pass may cost.
const MOST_WORK: f64 = 1e10;
/// Variables that one of many features is looked at with.
const MOST_NEAR: usize = 6;
/// No probability is less than this after projection.
const FLOOR: f64 = 1e-6;
/// No hidden state is rarer than this.
const RAREST: f64 = 1e-3;
/// Eigenvalues of a covariance below this share of the largest are taken for zero.
const NEGLIGIBLE: f64 = 1e-9;

/// Settings of [`by_moments`].
#[derive(Debug, Clone, PartialEq)]
pub struct MomentOptions {
    hidden_states: usize,
    states_of: Vec<(NodeIx, usize)>,
    decomposition: Decomposition,
    seed: u64,
}

impl MomentOptions {
    /// Hidden nodes of this many states, decomposed by simultaneous diagonalisation.
    #[must_use]
    pub fn new(hidden_states: usize) -> Self {
        Self { hidden_states, states_of: Vec::new(), decomposition: Decomposition::Sidiwo, seed: 0 }
    }

    /// Another number of states for one hidden node.
    #[must_use]
    pub fn states_of(mut self, node: NodeIx, n_states: usize) -> Self {
        self.states_of.push((node, n_states));
        self
    }

    /// How whitened tensors are decomposed.
    #[must_use]
    pub fn decomposition(mut self, decomposition: Decomposition) -> Self {
        self.decomposition = decomposition;
        self
    }

    /// The seed of decompositions that start at random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    fn n_states(&self, node: NodeIx) -> usize {
        self.states_of.iter().rev().find(|it| it.0 == node).map_or(self.hidden_states, |it| it.1)
    }
}

/// A model learned from moments.
#[derive(Debug, Clone, PartialEq)]
pub struct MomentModel {
    /// The model; its tree is the given one but for [`warnings`](Self::warnings).
    pub model: LatentTree,
    /// What was not as asked for: fewer states than the data tell apart, moments of no model, numbers inside the tree.
    pub warnings: Vec<String>,
}

/// Learns all distributions of a tree from rows: two passes, one more where `summary` is not at hand.
///
/// The tree's observed nodes are the variables of the source's schema. Hidden nodes are discrete; a number or a group cannot have neighbours
/// other than a hidden one, so where one is inside the tree a hidden node takes its place, with it as a leaf.
///
/// # Errors
/// [`Error::Tree`] if the tree does not fit the schema or a hidden node has fewer than three neighbours, [`Error::Option`] for fewer than two
/// states, [`Error::Data`] if there are no rows, those of the source, and [`Error::Cancelled`].
pub fn by_moments(
    tree: &Tree,
    source: &mut dyn BatchSource,
    summary: Option<&Summary>,
    options: &MomentOptions,
    observer: &dyn Observer,
) -> Result<MomentModel> {
    let schema = Arc::clone(source.schema());
    let own_summary;
    let summary = match summary {
        Some(summary) => summary,
        None => {
            observer.stage("columns", source.n_rows_hint());
            own_summary = fold(source, Summary::new(Arc::clone(&schema)), observer)?;
            source.rewind()?;
            &own_summary
        }
    };
    if summary.total_weight() <= 0.0 {
        return Err(Error::data(crate::error::Place::default(), "there are no rows to learn from"));
    }
    let mut warnings = Vec::new();
    let tree = discrete_tree(tree, &schema, &mut warnings)?;
    let variable_of = variables_of(&tree, &schema)?;
    let wanted = tree.node_ixs().filter(|&node| !tree.is_observed(node)).map(|node| options.n_states(node)).max().unwrap_or(2);
    let near = near(&tree, &schema, &variable_of);
    let directions = feature_cross::directions(&schema, summary.columns(), &near, wanted, source, observer)?;
    let mut problem = Problem::new(tree, schema, summary.columns().to_vec(), &directions, options)?;
    problem.warnings.splice(0..0, warnings);
    observer.stage("pairs", source.n_rows_hint());
    // Directions need not be exact to give exact tables: some rows tell them well enough.
    let step = summary.n_rows().div_ceil(ROWS_FOR_PAIRS).max(1);
    let pairs = {
        let mut some = SelectedRows::new(&mut *source, |row| row % step == 0);
        fold(&mut some, LocalPairs::new(Arc::clone(&problem.plan)), observer)?.finish()?
    };
    source.rewind()?;
    let plan = problem.summarise(&pairs, summary.total_weight() / step as f64);
    observer.stage("triples", source.n_rows_hint());
    let summaries = fold(source, Summaries::new(plan), observer)?.finish()?;
    source.rewind()?;
    observer.stage("tables", None);
    problem.solve(&summaries, options)
}

/// A tree with its variables and views.
pub(super) struct Problem {
    pub(super) tree: Tree,
    pub(super) schema: Arc<Schema>,
    columns: Vec<ColumnSummary>,
    /// The variable of each observed node.
    variable_of: Vec<Option<usize>>,
    pub(super) plan: Arc<Plan>,
    rooted: Rooted,
    warnings: Vec<String>,
}

/// A hidden node's fitted views.
struct Fit {
    weights: Vec<f64>,
    /// `G` for what lies in each view, states by the numbers of a.
    inverses: [Matrix; 3],
}

impl Problem {
    pub(super) fn new(
        tree: Tree,
        schema: Arc<Schema>,
        columns: Vec<ColumnSummary>,
        directions: &Directions,
        options: &MomentOptions,
    ) -> Result<Self> {
        let variable_of = variables_of(&tree, &schema)?;
        let coordinates = Coordinates::new(&schema, &columns, directions);
        // What the first pass costs: the squares of all views' sizes for every row.
        let budget = (2.0 * MOST_WORK / (ROWS_FOR_PAIRS as f64 * tree.n_hidden().max(1) as f64)).sqrt() / 3.0;
        let most = (budget as usize).clamp(8, MOST_COORDINATES);
        let mut views = Vec::new();
        for node in tree.node_ixs().filter(|&node| !tree.is_observed(node)) {
            let n_states = options.n_states(node);
            if n_states < 2 {
                return Err(Error::option("hidden states", format!("{n_states} is fewer than two (node {})", tree.name(node))));
            }
            if tree.degree(node) < 3 {
                let problem =
                    format!("hidden node {} has fewer than three neighbours and cannot be told from data", tree.name(node));
                return Err(Error::tree(problem));
            }
            views.push(Views::new(&tree, node, n_states, &variable_of, &coordinates, most));
        }
        let rooted = roots(&tree, &schema)?;
        let plan = Arc::new(Plan { coordinates, views });
        Ok(Self { tree, schema, columns, variable_of, plan, rooted, warnings: Vec::new() })
    }

    /// The directions of every view's summary from the pairs, and so what the second pass collects.
    pub(super) fn summarise(&mut self, pairs: &[Vec<f64>], rows: f64) -> Arc<SummaryPlan> {
        let mut plan = (*self.plan).clone();
        let found: Vec<(usize, [Vec<f64>; 3])> =
            plan.views.par_iter().zip(pairs).map(|(views, gram)| directions(views, gram, rows)).collect();
        let mut all = Vec::with_capacity(found.len());
        for (views, (n_states, directions)) in plan.views.iter_mut().zip(found) {
            if n_states < views.n_states {
                let leaves = self.around(views.node);
                self.warnings.push(format!(
                    "hidden node {} near {leaves} has {n_states} states instead of {}: its branches tell no more apart; ask for fewer states, or \
                     give more rows",
                    self.tree.name(NodeIx::new(views.node)),
                    views.n_states
                ));
                views.n_states = n_states;
            }
            all.push(directions);
        }
        let mut place = vec![usize::MAX; self.tree.n_nodes()];
        plan.views.iter().enumerate().for_each(|(ix, views)| place[views.node] = ix);
        let (mut edges, mut neighbours, mut observed) = (Vec::new(), Vec::new(), Vec::new());
        for edge in self.tree.edges() {
            let (a, b) = (edge.a.get(), edge.b.get());
            match (self.variable_of[a], self.variable_of[b]) {
                (None, None) => edges.push((place[a], place[b])),
                (Some(x), Some(y)) => {
                    let (parent, child) = if self.rooted.parent[b] == Some(edge.a) { (x, y) } else { (y, x) };
                    let parent = self.schema.variables()[parent].columns[0].get();
                    observed.extend(self.features(child).into_iter().map(|features| ObservedChild { parent, features }));
                }
                (Some(variable), None) => {
                    neighbours
                        .extend(self.features(variable).into_iter().map(|features| Neighbour { views: place[b], features }));
                }
                (None, Some(variable)) => {
                    neighbours
                        .extend(self.features(variable).into_iter().map(|features| Neighbour { views: place[a], features }));
                }
            }
        }
        Arc::new(SummaryPlan { plan, directions: all, edges, neighbours, observed })
    }

    /// The features of every column of a variable.
    fn features(&self, variable: usize) -> Vec<Features> {
        let columns = self.schema.variables()[variable].columns.iter();
        columns
            .map(|&column| {
                let kind = &self.schema.column(column).kind;
                let (mean, scale) = match kind.n_states() {
                    Some(_) => (0.0, 1.0),
                    None => standards(kind, &self.columns[column.get()])[0],
                };
                Features { column: column.get(), n_labels: kind.n_states().unwrap_or(0), mean, scale }
            })
            .collect()
    }

    /// Names of some observed neighbours of a node, for messages.
    fn around(&self, node: usize) -> String {
        let links = self.tree.links(NodeIx::new(node)).iter().filter(|link| self.tree.is_observed(link.to));
        let names: Vec<&str> = links.map(|link| self.tree.name(link.to)).take(4).collect();
        if names.is_empty() { "hidden nodes only".to_owned() } else { names.join(", ") }
    }

    /// Decomposes, solves and puts the model together.
    pub(super) fn solve(mut self, moments: &Summaries, options: &MomentOptions) -> Result<MomentModel> {
        let plan = Arc::clone(&moments.plan);
        let fits: Vec<(Fit, bool)> = (0..plan.plan.views.len())
            .into_par_iter()
            .map(|ix| fit(&moments.seconds[ix], &moments.thirds[ix], plan.plan.views[ix].n_states, moments.weight, options))
            .collect();
        for ((fit, sound), views) in fits.iter().zip(&plan.plan.views) {
            let (name, leaves) = (self.tree.name(NodeIx::new(views.node)).to_owned(), self.around(views.node));
            if !sound {
                self.warnings.push(format!(
                    "the moments around hidden node {name} near {leaves} are those of no model of two states: its tables start from a symmetric guess; \
                     more rows or EM may help"
                ));
            } else if fit.weights.len() < views.n_states {
                self.warnings.push(format!(
                    "hidden node {name} near {leaves} has {} states instead of {}: the moments tell no more apart; ask for fewer states, or give more rows",
                    fit.weights.len(),
                    views.n_states
                ));
            }
        }
        let fits: Vec<Fit> = fits.into_iter().map(|it| it.0).collect();
        let mut place = vec![usize::MAX; self.tree.n_nodes()];
        plan.plan.views.iter().enumerate().for_each(|(ix, views)| place[views.node] = ix);
        // G of a hidden node for what lies towards a neighbour.
        let towards = |ix: usize, neighbour: NodeIx| {
            let views = &plan.plan.views[ix];
            let links = self.tree.links(NodeIx::new(views.node));
            let at = links.iter().position(|link| link.to == neighbour).expect("they are neighbours");
            &fits[ix].inverses[views.group_of[at]]
        };
        let mut joints: Vec<Option<Matrix>> = vec![None; self.tree.n_nodes()];
        let rooted = &self.rooted;
        for (&(a, b), cells) in plan.edges.iter().zip(&moments.edges) {
            let (node_a, node_b) = (NodeIx::new(plan.plan.views[a].node), NodeIx::new(plan.plan.views[b].node));
            let cross = Matrix::new(plan.width(a), plan.width(b), cells.clone());
            let joint = towards(a, node_b).times(&cross).times(&towards(b, node_a).transposed());
            let joint = projected_joint(&joint);
            // Stored at the child, with the parent's states as rows.
            if rooted.parent[node_b.get()] == Some(node_a) {
                joints[node_b.get()] = Some(joint);
            } else {
                joints[node_a.get()] = Some(joint.transposed());
            }
        }
        let place_of: HashMap<(usize, usize), usize> =
            plan.neighbours.iter().enumerate().map(|(at, it)| ((it.views, it.features.column), at)).collect();
        // E[φ 1{h}] of every column of an observed neighbour of a hidden node.
        let columns = |views: usize, variable: usize, node: NodeIx| -> Vec<Matrix> {
            let members = &self.schema.variables()[variable].columns;
            let found = members.iter().map(|column| {
                let at = place_of[&(views, column.get())];
                let neighbour = &plan.neighbours[at];
                let cross = Matrix::new(neighbour.features.len(), plan.width(views), moments.neighbours[at].clone());
                cross.times(&towards(views, node).transposed())
            });
            found.collect()
        };
        let mut builder = LatentTree::builder(Arc::clone(&self.schema), self.tree.clone()).roots(&rooted.roots);
        for node in self.tree.node_ixs() {
            let parent = rooted.parent[node.get()];
            let distribution = match (self.variable_of[node.get()], parent.map(|parent| (parent, self.variable_of[parent.get()])))
            {
                (None, None) => Distribution::Discrete(Table::new(
                    fits[place[node.get()]].weights.len(),
                    fits[place[node.get()]].weights.clone(),
                )),
                (None, Some((_, None))) => {
                    let joint = joints[node.get()].as_ref().expect("every edge has its joint table");
                    Distribution::Discrete(rows_of(joint))
                }
                (None, Some((parent, Some(variable)))) => {
                    // P(h | y) from P(y, h), scaled to the hidden node's own probabilities.
                    let tables = columns(place[node.get()], variable, parent);
                    let fit = &fits[place[node.get()]];
                    let given = discrete_table(&tables[0]);
                    let d = given.n_states();
                    let joint = Matrix::from_fn(d, fit.weights.len(), |y, c| given.given(c)[y] * fit.weights[c]);
                    Distribution::Discrete(rows_of(&joint))
                }
                (Some(variable), None) => self.alone(variable),
                (Some(variable), Some((_, Some(above)))) => {
                    let parent = self.schema.variables()[above].columns[0].get();
                    let labels = probabilities(&self.columns[parent].levels);
                    let members = self.schema.variables()[variable].columns.iter();
                    let tables: Vec<Matrix> =
                        members.map(|column| observed_moments(moments, parent, column.get(), labels.len())).collect();
                    self.emission(variable, &tables, &labels)
                }
                (Some(variable), Some((parent, None))) => {
                    let tables = columns(place[parent.get()], variable, node);
                    self.emission(variable, &tables, &fits[place[parent.get()]].weights)
                }
            };
            builder = builder.distribution(node, distribution);
        }
        let model = builder.provenance(Provenance::default()).build()?;
        Ok(MomentModel { model, warnings: self.warnings })
    }

    /// The distribution of an observed node without a parent.
    fn alone(&self, variable: usize) -> Distribution {
        let whole = |column: usize, kind: &crate::data::Kind| {
            let summary = &self.columns[column];
            match kind.n_states() {
                Some(_) => Emission::Categorical(Table::new(summary.levels.len(), probabilities(&summary.levels))),
                None if *kind == crate::data::Kind::Count => Emission::Poisson { rates: vec![summary.mean.max(FLOOR)] },
                None => {
                    Emission::Gaussian { means: vec![summary.mean], variances: vec![variance_floor(summary.variance(), summary)] }
                }
            }
        };
        let variable = &self.schema.variables()[variable];
        let members: Vec<Emission> =
            variable.columns.iter().map(|&column| whole(column.get(), &self.schema.column(column).kind)).collect();
        as_distribution(variable.is_group, members)
    }

    /// The distribution of an observed node given its parent from `E[φ 1{h}]` of its columns.
    fn emission(&self, variable: usize, tables: &[Matrix], weights: &[f64]) -> Distribution {
        let variable = &self.schema.variables()[variable];
        let members = variable.columns.iter().zip(tables).map(|(&column, table)| {
            let kind = &self.schema.column(column).kind;
            if kind.n_states().is_some() {
                return Emission::Categorical(discrete_table(table));
            }
            let summary = &self.columns[column.get()];
            let (mean, scale) = standards(kind, summary)[0];
            let sd = if scale > 0.0 { 1.0 / scale } else { 0.0 };
            let states = weights.iter().enumerate().map(|(c, weight)| {
                // The weight of a state among the rows where the cell is present.
                let present = table[(0, c)].max(0.1 * weight).max(FLOOR);
                let z = (table[(1, c)] / present).clamp(-10.0, 10.0);
                // Of few rows a variance may come out as anything: one that is too small would make the others impossible.
                let variance = (table[(2, c)] / present - z * z).clamp(0.05, 4.0);
                (mean + sd * z, variance * sd * sd)
            });
            let (means, variances): (Vec<f64>, Vec<f64>) = states.unzip();
            match kind {
                crate::data::Kind::Count => {
                    Emission::Poisson { rates: means.iter().map(|mean| mean.max(1e-3 * summary.mean).max(FLOOR)).collect() }
                }
                _ => Emission::Gaussian { variances: variances.iter().map(|&it| variance_floor(it, summary)).collect(), means },
            }
        });
        as_distribution(variable.is_group, members.collect())
    }
}

/// `E[φ 1{label}]` of a column whose variable has an observed parent, features as rows.
fn observed_moments(moments: &Summaries, parent: usize, column: usize, n_labels: usize) -> Matrix {
    let is_it = |it: &ObservedChild| it.parent == parent && it.features.column == column;
    let at = moments.plan.observed.iter().position(is_it).expect("every edge of observed nodes was collected");
    let mut table = Matrix::zeros(moments.plan.observed[at].features.len(), n_labels);
    for (&(label, feature), sum) in &moments.observed[at] {
        table[(feature as usize, label as usize)] = sum / moments.weight;
    }
    table
}

/// Roots that have a table: a hidden node of every tree, or a column of labels where there is none, or what stands alone.
fn roots(tree: &Tree, schema: &Schema) -> Result<Rooted> {
    let any = Rooted::with_roots(tree, &[])?;
    let mut best: Vec<(usize, NodeIx)> = any.roots.iter().map(|&root| (usize::MAX, root)).collect();
    let mut component = vec![usize::MAX; tree.n_nodes()];
    any.roots.iter().enumerate().for_each(|(ix, root)| component[root.get()] = ix);
    for &node in &any.order {
        if let Some(parent) = any.parent[node.get()] {
            component[node.get()] = component[parent.get()];
        }
        let rank = match is_discrete(tree, schema, node) {
            None => 0,
            Some(true) => 1,
            Some(false) => 2,
        };
        let best = &mut best[component[node.get()]];
        if rank < best.0 {
            *best = (rank, node);
        }
    }
    Rooted::with_roots(tree, &best.iter().map(|it| it.1).collect::<Vec<_>>())
}

/// Whether an observed node is one column of labels; `None` for a hidden one.
fn is_discrete(tree: &Tree, schema: &Schema, node: NodeIx) -> Option<bool> {
    if !tree.is_observed(node) {
        return None;
    }
    let variable = schema.find_variable(tree.name(node));
    Some(variable.is_some_and(|it| schema.scalar_kind(it).is_some_and(|kind| kind.n_states().is_some())))
}

/// The variable of each observed node.
fn variables_of(tree: &Tree, schema: &Schema) -> Result<Vec<Option<usize>>> {
    let mut variable_of = vec![None; tree.n_nodes()];
    for (ix, variable) in schema.variables().iter().enumerate() {
        let node = tree.find(&variable.name).filter(|&node| tree.is_observed(node));
        let node =
            node.ok_or_else(|| Error::tree(format!("variable {:?} is not an observed node of the tree", variable.name)))?;
        variable_of[node.get()] = Some(ix);
    }
    let is_other = |node: &NodeIx| tree.is_observed(*node) && variable_of[node.get()].is_none();
    if let Some(node) = tree.node_ixs().find(is_other) {
        return Err(Error::tree(format!("its node {:?} is not a variable of the data", tree.name(node))));
    }
    Ok(variable_of)
}

/// For every variable of many features some variables near it on the tree.
fn near(tree: &Tree, schema: &Schema, variable_of: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut near = vec![Vec::new(); schema.variables().len()];
    for node in tree.node_ixs() {
        let Some(variable) = variable_of[node.get()] else { continue };
        if feature_cross::n_features(schema, variable) > feature_cross::NARROW {
            near[variable] = nearest(tree, node, None, variable_of, MOST_NEAR);
        }
    }
    near
}

fn variance_floor(variance: f64, summary: &ColumnSummary) -> f64 {
    let whole = summary.variance();
    variance.max(if whole > 0.0 { 1e-4 * whole } else { 1e-9 })
}

fn as_distribution(is_group: bool, mut members: Vec<Emission>) -> Distribution {
    match (is_group, members.pop()) {
        (false, Some(Emission::Categorical(table))) => Distribution::Discrete(table),
        (false, Some(one)) => Distribution::Emission(one),
        (_, last) => {
            members.extend(last);
            Distribution::Emission(Emission::Group(members))
        }
    }
}

/// Weights as probabilities, uniform if all are zero.
fn probabilities(weights: &[f64]) -> Vec<f64> {
    let floored: Vec<f64> = weights.iter().map(|weight| weight.max(0.0)).collect();
    let sum: f64 = floored.iter().sum();
    if sum > 0.0 { floored.iter().map(|weight| weight / sum).collect() } else { vec![1.0 / weights.len() as f64; weights.len()] }
}

/// The nearest probabilities, none less than the floor.
fn simplex(values: &mut [f64]) {
    let n = values.len() as f64;
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (ix, value) in sorted.iter().enumerate() {
        sum += value;
        let candidate = (sum - 1.0) / (ix + 1) as f64;
        if value - candidate > 0.0 {
            shift = candidate;
        }
    }
    let floor = FLOOR.min(0.01 / n);
    values.iter_mut().for_each(|value| *value = (*value - shift).max(floor));
    let sum: f64 = values.iter().sum();
    values.iter_mut().for_each(|value| *value /= sum);
}

/// P(y | h) with a row for each state of h, from `P(y, h)` with a column for each.
fn discrete_table(joint: &Matrix) -> Table {
    let (d, k) = (joint.n_rows(), joint.n_cols());
    let mut values = Vec::with_capacity(d * k);
    for c in 0..k {
        let mut column = joint.column(c);
        let sum: f64 = column.iter().sum();
        if sum > FLOOR {
            column.iter_mut().for_each(|value| *value /= sum);
        } else {
            column = probabilities(&column);
        }
        simplex(&mut column);
        values.extend(column);
    }
    Table::new(d, values)
}

/// A joint table of probabilities near a given one.
fn projected_joint(joint: &Matrix) -> Matrix {
    let mut cells = joint.cells().to_vec();
    simplex(&mut cells);
    Matrix::new(joint.n_rows(), joint.n_cols(), cells)
}

/// The rows of a joint table as conditional probabilities.
fn rows_of(joint: &Matrix) -> Table {
    let mut values = Vec::with_capacity(joint.cells().len());
    for row in 0..joint.n_rows() {
        let mut row = probabilities(joint.row(row));
        simplex(&mut row);
        values.extend(row);
    }
    Table::new(joint.n_cols(), values)
}

/// The tree as one whose hidden nodes are discrete: a hidden node takes the place of every inner node that is a number or a group, with it as a leaf, and
/// two of them that are joined to each other alone are cut apart. What was changed is added to the warnings.
///
/// # Errors
/// None for a tree whose names are unique.
pub fn discrete_tree(tree: &Tree, schema: &Schema, warnings: &mut Vec<String>) -> Result<Tree> {
    let is_other = |node: NodeIx| is_discrete(tree, schema, node) == Some(false);
    let mut nodes: Vec<Node> = tree.nodes().to_vec();
    let mut edges: Vec<Edge> = tree.edges().collect();
    let (mut taken, mut moved) = (1, Vec::new());
    let is_pair = |edge: &Edge| [edge.a, edge.b].iter().all(|&end| is_other(end) && tree.degree(end) == 1);
    for edge in edges.extract_if(.., |edge| is_pair(edge)) {
        let (a, b) = (tree.name(edge.a), tree.name(edge.b));
        warnings.push(format!("{a} and {b} are joined to each other alone and are not discrete: they are taken for independent"));
    }
    for node in tree.node_ixs().filter(|&node| is_other(node) && tree.degree(node) > 1) {
        while tree.find(&format!("h{taken}")).is_some() {
            taken += 1;
        }
        let hidden = NodeIx::new(nodes.len());
        nodes.push(Node { name: format!("h{taken}"), observed: false });
        taken += 1;
        for edge in &mut edges {
            if edge.a == node {
                edge.a = hidden;
            } else if edge.b == node {
                edge.b = hidden;
            }
        }
        edges.push(Edge::with_length(node, hidden, 0.05));
        moved.push(tree.name(node).to_owned());
    }
    if let [first, ..] = &moved[..] {
        warnings.push(format!(
            "{} of the variables inside the tree (first {first:?}) are not discrete: a hidden node has taken each one's place, with it as a leaf",
            moved.len()
        ));
    }
    Tree::from_parts(nodes, &edges)
}

/// `W` with `Wᵀ C W = 1` on the space where the covariance is not zero, as columns.
fn whitening(covariance: &[f64], d: usize, ridge: f64) -> Matrix {
    let Some((values, vectors)) = symmetric_eigen(covariance, d) else { return Matrix::zeros(d, 0) };
    let largest = values.iter().copied().fold(0.0, f64::max);
    let kept: Vec<usize> = (0..d).filter(|&ix| values[ix] > NEGLIGIBLE * largest && values[ix] > 0.0).collect();
    Matrix::from_fn(d, kept.len(), |i, c| vectors[kept[c] * d + i] / (values[kept[c]] + ridge).sqrt())
}

/// For each view the weights of its first k − 1 canonical variates with the rest, and the k that all of them support.
fn directions(views: &Views, gram: &[f64], rows: f64) -> (usize, [Vec<f64>; 3]) {
    let n = views.len();
    let sizes = views.coordinates.each_ref().map(Vec::len);
    let starts = [0, sizes[0], sizes[0] + sizes[1]];
    let block =
        |rows: &[usize], columns: &[usize]| Matrix::from_fn(rows.len(), columns.len(), |i, j| gram[rows[i] * n + columns[j]]);
    let mut k = views.n_states;
    let mut found = Vec::new();
    for group in 0..3 {
        let own: Vec<usize> = (starts[group]..starts[group] + sizes[group]).collect();
        let rest: Vec<usize> = (0..n).filter(|ix| !own.contains(ix)).collect();
        let whiten = |places: &[usize]| whitening(block(places, places).cells(), places.len(), places.len() as f64 / rows * 0.1);
        let (left, right) = (whiten(&own), whiten(&rest));
        let cross = left.transposed_times(&block(&own, &rest)).times(&right);
        let (a, b) = (cross.n_rows(), cross.n_cols());
        if a == 0 || b == 0 {
            k = k.min(2);
            found.push((left, None));
            continue;
        }
        let svd = jacobi_svd(cross.cells(), a, b);
        // Half of what correlations of nothing would reach: the decomposition says more about states that are hardly there.
        let noise = 0.5 * ((a as f64).sqrt() + (b as f64).sqrt()) / rows.sqrt();
        let wanted = k - 1;
        let supported = svd.values.iter().take(wanted).take_while(|&&value| value > noise.max(1e-9)).count();
        k = k.min(supported + 1).max(2);
        found.push((left, Some(svd)));
    }
    let r = k - 1;
    let weights = found.into_iter().map(|(left, svd)| {
        let d = left.n_rows();
        let mut out = vec![0.0; d * r];
        if let Some(svd) = svd {
            for c in 0..r.min(svd.values.len()) {
                for i in 0..d {
                    out[i * r + c] = left.row(i).iter().zip(svd.left(c)).map(|(w, u)| w * u).sum();
                }
            }
        }
        out
    });
    let weights: Vec<Vec<f64>> = weights.collect();
    (k, weights.try_into().expect("three views"))
}

/// Weights and inverses of one hidden node, and whether they come from a decomposition. Fewer states are tried where k are not there.
fn fit(second: &[f64], third: &[f64], k: usize, rows: f64, options: &MomentOptions) -> (Fit, bool) {
    for states in (2..=k).rev() {
        if let Some(fit) = decomposed(second, third, k, states, rows, options) {
            return (fit, true);
        }
    }
    let width = 1 + 3 * (k - 1);
    let s = |group: usize| 1 + group * (k - 1);
    let cross = |a: usize, b: usize| second[s(a) * width + s(b)];
    let own = |group: usize| second[s(group) * width + s(group)].max(1e-12).sqrt();
    let strength = |a: usize, b: usize, c: usize| {
        let square = (cross(a, b) * cross(a, c) / cross(b, c)).abs() / (own(a) * own(a));
        own(a) * if square.is_finite() { square.sqrt().clamp(0.05, 0.9) } else { 0.3 }
    };
    let signs = [1.0, cross(0, 1).signum(), cross(0, 2).signum()];
    let rho = [strength(0, 1, 2), strength(1, 0, 2), strength(2, 0, 1)];
    let means = [0, 1, 2].map(|group| Matrix::new(2, 2, vec![1.0, 1.0, signs[group] * rho[group], -signs[group] * rho[group]]));
    (Fit { inverses: inverses(second, k, 2, &means), weights: vec![0.5, 0.5] }, false)
}

/// Places in `a` of the first `states − 1` numbers of a view, after the constant.
fn places(group: usize, k: usize, states: usize) -> Vec<usize> {
    std::iter::once(0).chain((0..states - 1).map(|c| 1 + group * (k - 1) + c)).collect()
}

fn decomposed(second: &[f64], third: &[f64], k: usize, states: usize, rows: f64, options: &MomentOptions) -> Option<Fit> {
    let width = 1 + 3 * (k - 1);
    let views = [0, 1, 2].map(|group| places(group, k, states));
    let pair = |a: usize, b: usize| Matrix::from_fn(states, states, |i, j| second[views[a][i] * width + views[b][j]]);
    let pairs = [pair(0, 1), pair(0, 2), pair(1, 2)];
    let triple: Vec<f64> =
        (0..states.pow(3)).map(|at| third[(at / (states * states) * k + at / states % states) * k + at % states]).collect();
    let whitening = Whitening::of_views(&pairs, states, 1.0 / rows.sqrt()).ok()?;
    let tensor = whitening.whiten(&triple).ok()?;
    let components = options.decomposition.decompose(&tensor, &Options::new().seed(options.seed)).ok()?;
    let firsts = [0, 1, 2].map(|group| views[group].iter().map(|&place| second[place]).collect::<Vec<f64>>());
    let firsts = firsts.each_ref().map(Vec::as_slice);
    let mixture = Mixture::recover(&whitening, &components, Some(&firsts)).ok()?;
    if mixture.unsure > 0 || mixture.weights.iter().any(|weight| !weight.is_finite() || *weight < RAREST) {
        return None;
    }
    let mut means: Vec<Matrix> = mixture.means;
    for view in &mut means {
        for c in 0..states {
            let one = view[(0, c)];
            if !(0.2..5.0).contains(&one) {
                return None;
            }
            for i in 0..states {
                view[(i, c)] /= one;
            }
        }
    }
    let means: [Matrix; 3] = means.try_into().ok()?;
    let inverses = inverses(second, k, states, &means);
    // The same labels and views give the weights a second time, and better.
    let first: Vec<f64> = (0..width).map(|place| second[place]).collect();
    let mut weights = vec![0.0; states];
    for inverse in &inverses {
        for (c, weight) in weights.iter_mut().enumerate() {
            *weight += inverse.row(c).iter().zip(&first).map(|(g, a)| g * a).sum::<f64>() / 3.0;
        }
    }
    weights.iter_mut().for_each(|weight| *weight = weight.max(RAREST));
    let weights = probabilities(&weights);
    inverses.iter().all(|it| it.cells().iter().all(|cell| cell.is_finite())).then_some(Fit { weights, inverses })
}

/// `G = (MᵀV⁻¹M)⁻¹MᵀV⁻¹` over the constant and two views, for what lies in each of the three.
fn inverses(second: &[f64], k: usize, states: usize, means: &[Matrix; 3]) -> [Matrix; 3] {
    let width = 1 + 3 * (k - 1);
    [0, 1, 2].map(|left_out| {
        let mut at = vec![0];
        let mut rows: Vec<Vec<f64>> = vec![vec![1.0; states]];
        for group in (0..3).filter(|&group| group != left_out) {
            for (ix, &place) in places(group, k, states).iter().enumerate().skip(1) {
                at.push(place);
                rows.push(means[group].row(ix).to_vec());
            }
        }
        let n = at.len();
        let covariance: Vec<f64> = (0..n * n)
            .map(|cell| second[at[cell / n] * width + at[cell % n]] * if cell / n == cell % n { 1.0 + 1e-9 } else { 1.0 })
            .collect();
        let mean = Matrix::from_fn(n, states, |i, c| rows[i][c]);
        let weighted = match Cholesky::new(&covariance, n) {
            Some(factor) => {
                let columns: Vec<Vec<f64>> = (0..states).map(|c| factor.solve(&mean.column(c))).collect();
                Matrix::from_fn(n, states, |i, c| columns[c][i])
            }
            None => mean.clone(),
        };
        let small = pseudo_inverse(&mean.transposed_times(&weighted));
        let inverse = small.times(&weighted.transposed());
        let mut whole = Matrix::zeros(states, width);
        for c in 0..states {
            for (i, &place) in at.iter().enumerate() {
                whole[(c, place)] = inverse[(c, i)];
            }
        }
        whole
    })
}

/// The inverse of a small symmetric matrix, of its larger part where it has none.
fn pseudo_inverse(matrix: &Matrix) -> Matrix {
    let n = matrix.n_rows();
    let svd = jacobi_svd(matrix.cells(), n, n);
    let least = 1e-10 * svd.values.first().copied().unwrap_or(0.0);
    let kept: Vec<usize> = (0..svd.values.len()).filter(|&ix| svd.values[ix] > least).collect();
    Matrix::from_fn(n, n, |i, j| kept.iter().map(|&ix| svd.right(ix)[i] * svd.left(ix)[j] / svd.values[ix]).sum())
}
