//! All tables of a discrete latent tree from moments, one decomposition per hidden node.
//!
//! Huang et al. (2020, §5–6) decompose a tensor for each triplet of neighbours and then repair the labels of hidden states across
//! triplets. Here labels are chosen once per hidden node, and everything else is linear in them:
//!
//! 1. the branches of a hidden node h make up to six [parts](super::branches) and these three views, each summarised by k − 1
//!    canonical variates with the rest, which are sums over the view's parts;
//! 2. [one pass](super::summaries) gives the moments of `a = (1, s₁, s₂, …)`, a summary for each part, and of the views' triple,
//!    which is whitened and [decomposed](super::hidden_fit) into `w = P(h)` and the views' means; those of the parts,
//!    `M = E[a | h]`, are linear in them;
//! 3. for what lies in part v let `G_v = (MᵀV⁻¹M)⁻¹MᵀV⁻¹` over all other parts, `V = E[a aᵀ]`: the best linear unbiased way from
//!    a to the indicators of h. Then `P(y, h) = E[φ_y aᵀ] G_vᵀ` for an observed neighbour y, and `P(h, g) = G_h E[a_h a_gᵀ] G_gᵀ`
//!    for a hidden one;
//! 4. tables are projected to probabilities. An edge has one joint table, so both directions agree.
//!
//! A number shows more than two states through the indicators of its [bins](crate::coordinates::bins); its means and variances
//! come from `(1, z, z²)` of the number itself. Exact moments give the exact model. Missing cells are zeros of φ and of the
//! coordinates of a: all holds as long as being missing is independent of the rest given the hidden parent.

use std::borrow::Cow;
use std::sync::Arc;

use rayon::prelude::*;

use super::branches::{MAX_COORDINATES, Views, nearest};
use super::discrete_tree::{discrete_roots, discrete_tree, variables_of};
use super::hidden_fit::{Fit, Moments, all_directions};
use super::local_pairs::{LocalPairs, Plan};
use super::number_states::NumberStates;
use super::projection::{discrete_table, probabilities, projected_joint, rows_of};
use super::summaries::{Features, Neighbour, ObservedChild, Summaries, SummaryPlan};
use crate::coordinates::bins::{BinnedRows, Bins};
use crate::coordinates::feature_cross;
use crate::coordinates::{Coordinates, FoundCoordinates, number_standard};
use crate::data::{BatchSource, Kind, Remote, Schema};
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::limits;
use crate::linalg::Matrix;
use crate::model::{Distribution, Emission, LatentTree, Provenance, Table};
use crate::moments::chosen_rows::{ChosenRows, End, RowChoice, RowChoices};
use crate::moments::{Accumulator, ColumnSummary, Summary, fold};
use crate::observer::Observer;
use crate::tensor::Decomposition;
use crate::tree::{Rooted, Tree};

/// Most rows that directions are found with.
const ROWS_FOR_PAIRS: u64 = 1 << 14;
/// Rows for each feature of the widest variable that its directions are found with, at least.
const ROWS_FOR_A_FEATURE: u64 = 100;
/// Rows for each feature of the widest variable below which directions and moments come from different rows.
pub(super) const FEW_ROWS_FOR_A_FEATURE: u64 = 20;
/// Multiplications that the first pass may cost.
const MAX_WORK: f64 = 5e9;
/// Variables that one of many features is looked at with.
const MAX_NEAR: usize = 6;

/// Settings of [`by_moments`].
#[derive(Debug, Clone, PartialEq)]
pub struct MomentOptions {
    hidden_states: usize,
    states_of: Vec<(NodeIx, usize)>,
    pub(super) decomposition: Decomposition,
    pub(super) seed: u64,
    coordinates: Option<FoundCoordinates>,
}

impl MomentOptions {
    /// Hidden nodes of this many states, decomposed by simultaneous diagonalisation.
    #[must_use]
    pub fn new(hidden_states: usize) -> Self {
        Self { hidden_states, states_of: Vec::new(), decomposition: Decomposition::Sidiwo, seed: 0, coordinates: None }
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

    /// Coordinates of variables of many features that are known already, as [`moments_for`](crate::distance::moments_for) finds
    /// them.
    #[must_use]
    pub fn coordinates(mut self, coordinates: Option<FoundCoordinates>) -> Self {
        self.coordinates = coordinates;
        self
    }

    pub(super) fn hidden_states(&self) -> usize {
        self.hidden_states
    }

    pub(super) fn n_states(&self, node: NodeIx) -> usize {
        self.states_of.iter().rev().find(|it| it.0 == node).map_or(self.hidden_states, |it| it.1)
    }
}

/// A model learned from moments.
#[derive(Debug, Clone, PartialEq)]
pub struct MomentModel {
    /// The model; its tree is the given one except for [`warnings`](Self::warnings).
    pub model: LatentTree,
    /// Deviations from the request: fewer states than asked for, moments that match no model, numeric inner nodes.
    pub warnings: Vec<String>,
}

/// Learns all distributions of a tree from rows, in two passes, or three without a `summary`.
///
/// The tree's observed nodes are the variables of the source's schema. Hidden nodes are discrete; a number or a group cannot have
/// neighbours other than a hidden one, so where one is inside the tree a hidden node takes its place, with it as a leaf.
///
/// # Errors
/// [`Error::Tree`] if the tree does not fit the schema or a hidden node has fewer than three neighbours, [`Error::Option`] for
/// fewer than two states, [`Error::Data`] if there are no rows, those of the source, and [`Error::Cancelled`].
pub fn by_moments(
    tree: &Tree,
    source: &mut dyn BatchSource,
    summary: Option<&Summary>,
    options: &MomentOptions,
    observer: &dyn Observer,
) -> Result<MomentModel> {
    let own_summary;
    let summary = match summary {
        Some(summary) => summary,
        None => {
            observer.stage("columns", source.n_rows_hint());
            let empty = Summary::new(Arc::clone(source.schema()));
            own_summary = fold(source, empty, observer)?;
            source.rewind()?;
            &own_summary
        }
    };
    let Planned { problem, plan, others } = planned(tree, source, summary, options, observer)?;
    observer.stage("triples", source.n_rows_hint());
    let summaries = match others {
        Some(others) => fold(&mut ChosenRows::new(&mut *source, others), Summaries::new(plan), observer)?.finish()?,
        None => fold(source, Summaries::new(plan), observer)?.finish()?,
    };
    source.rewind()?;
    observer.stage("tables", None);
    problem.solve(&summaries, options)
}

/// A tree, and the pass that its tables are made from.
pub(super) struct Planned<'a> {
    pub(super) problem: Problem<'a>,
    pub(super) plan: Arc<SummaryPlan>,
    /// The rows that the pass is to see, if not all: directions were found with the rest.
    pub(super) others: Option<RowChoice>,
}

/// Finds the directions of the pass that the tables are made from.
pub(super) fn planned<'a>(
    tree: &Tree,
    source: &mut dyn BatchSource,
    summary: &'a Summary,
    options: &MomentOptions,
    observer: &dyn Observer,
) -> Result<Planned<'a>> {
    let schema = Arc::clone(source.schema());
    if summary.total_weight() <= 0.0 {
        return Err(Error::data(crate::error::Place::default(), "there are no rows to learn from"));
    }
    let mut warnings = Vec::new();
    let tree = discrete_tree(tree, &schema, &mut warnings)?;
    let variable_of = variables_of(&tree, &schema)?;
    let wanted = tree.node_ixs().filter(|&node| !tree.is_observed(node)).map(|node| options.n_states(node)).max().unwrap_or(2);
    limits::check("parameters.hidden_states", wanted, 1..=limits::MAX_HIDDEN_STATES)?;
    let seen = Seen::new(source, summary, wanted, observer)?;
    let near = near(&tree, &seen.schema, &variable_of);
    let most_features =
        (0..schema.variables().len()).map(|ix| feature_cross::n_features(&seen.schema, ix)).max().unwrap_or(0) as u64;
    // Where rows may not be chosen, all of them say the same, at a higher price.
    let may_choose = source.remote().is_none_or(Remote::may_choose_rows);
    // Directions of many features fit the chance correlations of the rows they are found with: moments are then taken of the other rows.
    let apart = may_choose && most_features.saturating_mul(FEW_ROWS_FOR_A_FEATURE) > summary.n_rows();
    let share = if apart { 2 } else { 1 };
    let step = if may_choose { (summary.n_rows() / share).div_ceil(ROWS_FOR_PAIRS).max(1) } else { 1 };
    let choices = if apart || step > 1 { Some(RowChoices::of(source, observer)?) } else { None };
    let found = options.coordinates.as_ref().filter(|it| it.0.len() == schema.variables().len());
    let directions = match found {
        Some(found) => Cow::Borrowed(&found.0),
        None => {
            // Directions need not be exact to give exact tables: some rows tell them well enough.
            let rows = ROWS_FOR_PAIRS.max(most_features.saturating_mul(ROWS_FOR_A_FEATURE));
            let step = if apart { 2 } else { (summary.n_rows() / rows).max(1) };
            let directions = |rows: &mut dyn BatchSource| {
                let find = |rows: &mut dyn BatchSource| {
                    feature_cross::directions(&seen.schema, &seen.columns, &near, wanted, rows, observer)
                };
                match &seen.bins {
                    Some(bins) => find(&mut BinnedRows::new(rows, Arc::clone(bins))?),
                    None => find(rows),
                }
            };
            Cow::Owned(match choices.as_ref().filter(|_| step > 1) {
                Some(choices) => {
                    let choice = choices.share(1.0 / step as f64, End::Low);
                    directions(&mut ChosenRows::new(&mut *source, choice))?
                }
                None => directions(&mut *source)?,
            })
        }
    };
    let coordinates = Coordinates::new(&seen.schema, &seen.columns, &directions).with_bins(seen.bins.clone());
    let mut problem = Problem::new(tree, schema, summary.columns(), coordinates, options)?;
    problem.warnings.splice(0..0, warnings);
    observer.stage("pairs", source.n_rows_hint());
    let empty = LocalPairs::new(Arc::clone(&problem.plan));
    let share = 1.0 / (share * step) as f64;
    let pairs = match &choices {
        Some(choices) => {
            let choice = choices.share(share, if apart { End::High } else { End::Low });
            fold(&mut ChosenRows::new(&mut *source, choice), empty, observer)?.finish()?
        }
        None => fold(source, empty, observer)?.finish()?,
    };
    source.rewind()?;
    let plan = problem.summarise(&pairs, summary.total_weight() * share);
    let others = choices.filter(|_| apart).map(|choices| choices.share(0.5, End::High));
    Ok(Planned { problem, plan, others })
}

/// The columns as their coordinates see them: numbers cut into bins where there are more than two states.
struct Seen<'a> {
    schema: Arc<Schema>,
    columns: Cow<'a, [ColumnSummary]>,
    bins: Option<Arc<Bins>>,
}

impl<'a> Seen<'a> {
    fn new(source: &mut dyn BatchSource, summary: &'a Summary, n_states: usize, observer: &dyn Observer) -> Result<Self> {
        let Some(bins) = Bins::find(source, n_states, observer)?.map(Arc::new) else {
            return Ok(Self { schema: Arc::clone(source.schema()), columns: Cow::Borrowed(summary.columns()), bins: None });
        };
        let mut binned = BinnedRows::new(source, Arc::clone(&bins))?;
        let schema = Arc::clone(binned.schema());
        let binned_summary = fold(&mut binned, Summary::new(Arc::clone(&schema)), observer)?;
        binned.rewind()?;
        Ok(Self { schema, columns: Cow::Owned(binned_summary.columns().to_vec()), bins: Some(bins) })
    }
}

/// A tree with its variables and views.
pub(super) struct Problem<'a> {
    pub(super) tree: Tree,
    pub(super) schema: Arc<Schema>,
    pub(super) columns: Cow<'a, [ColumnSummary]>,
    /// The columns by which numbers were standardised in the passes: the same, unless moments were merged since.
    pub(super) standards: Cow<'a, [ColumnSummary]>,
    /// The variable of each observed node.
    pub(super) variable_of: Vec<Option<usize>>,
    pub(super) plan: Arc<Plan>,
    pub(super) rooted: Rooted,
    pub(super) warnings: Vec<String>,
}

impl<'a> Problem<'a> {
    pub(super) fn new(
        tree: Tree,
        schema: Arc<Schema>,
        columns: &'a [ColumnSummary],
        coordinates: Coordinates,
        options: &MomentOptions,
    ) -> Result<Self> {
        let variable_of = variables_of(&tree, &schema)?;
        // What the first pass costs: the squares of all views' sizes for every row.
        let budget = (2.0 * MAX_WORK / (ROWS_FOR_PAIRS as f64 * tree.n_hidden().max(1) as f64)).sqrt() / 3.0;
        let most = (budget as usize).clamp(8, MAX_COORDINATES);
        let mut views = Vec::new();
        for node in tree.node_ixs().filter(|&node| !tree.is_observed(node)) {
            let n_states = options.n_states(node);
            if n_states < 2 {
                return Err(Error::option("hidden states", format!("{n_states} is fewer than two (node {})", tree.name(node))));
            }
            if tree.degree(node) < 3 {
                let problem = format!(
                    "hidden node {} has fewer than three neighbours, which moments do not determine; fit it by EM (`parameters.method` em)",
                    tree.name(node)
                );
                return Err(Error::tree(problem));
            }
            views.push(Views::new(&tree, node, n_states, &variable_of, &coordinates, most));
        }
        let rooted = discrete_roots(&tree, &schema)?;
        let plan = Arc::new(Plan { coordinates: Arc::new(coordinates), views });
        Ok(Self {
            tree,
            schema,
            columns: Cow::Borrowed(columns),
            standards: Cow::Borrowed(columns),
            variable_of,
            plan,
            rooted,
            warnings: Vec::new(),
        })
    }

    /// The directions of every view's summary from the pairs, and so what the second pass collects.
    pub(super) fn summarise(&mut self, pairs: &[Vec<f64>], rows: f64) -> Arc<SummaryPlan> {
        let mut plan = (*self.plan).clone();
        let found = all_directions(&plan.views, pairs, rows);
        let mut all = Vec::with_capacity(found.len());
        for (views, (n_states, directions)) in plan.views.iter_mut().zip(found) {
            if n_states < views.n_states {
                let leaves = self.around(views.node);
                self.warnings.push(format!(
                    "hidden node {} near {leaves} has {n_states} states instead of {}: its branches do not identify more; use fewer states or more rows",
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
                    let parent_labels = self.schema.columns()[parent].kind.n_states().unwrap_or(0);
                    let child = self.features(child).into_iter();
                    observed.extend(child.map(|features| ObservedChild { parent, parent_labels, features }));
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
        neighbours.sort_by_key(|it: &Neighbour| (it.features.column, it.views));
        Arc::new(SummaryPlan::new(plan, all, edges, neighbours, observed))
    }

    /// The features of every column of a variable.
    fn features(&self, variable: usize) -> Vec<Features> {
        let columns = self.schema.variables()[variable].columns.iter();
        columns
            .map(|&column| {
                let kind = &self.schema.column(column).kind;
                let (mean, scale) = match kind.n_states() {
                    Some(_) => (0.0, 1.0),
                    None => number_standard(&self.standards[column.get()]),
                };
                let n_labels = kind.n_states().unwrap_or(0);
                Features { column: column.get(), n_labels, squared: *kind == Kind::Continuous, mean, scale }
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
            .map(|ix| {
                let (second, third) = (&moments.seconds[ix], &moments.thirds[ix]);
                Moments { second, third, views: &plan.plan.views[ix], rows: moments.weight }.fit(options)
            })
            .collect();
        for ((fit, sound), views) in fits.iter().zip(&plan.plan.views) {
            let (name, leaves) = (self.tree.name(NodeIx::new(views.node)).to_owned(), self.around(views.node));
            if !sound {
                self.warnings.push(format!(
                    "no two-state model matches the moments around hidden node {name} near {leaves}: its tables start from a symmetric guess; \
                     more rows or EM may help"
                ));
            } else if fit.weights.len() < views.n_states {
                self.warnings.push(format!(
                    "hidden node {name} near {leaves} has {} states instead of {}: the moments do not identify more; use fewer states or more rows",
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
            let at = views.neighbours.iter().position(|&it| it == neighbour.get()).expect("they are neighbours");
            &fits[ix].inverses[views.part_of[at]]
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
        // E[φ 1{h}] of every column of an observed neighbour of a hidden node.
        let columns = |views: usize, variable: usize, node: NodeIx| {
            let inverse = towards(views, node).transposed();
            let (plan, members) = (&plan, &self.schema.variables()[variable].columns);
            members.iter().map(move |column| {
                let place = plan.place(views, column.get());
                inverse.times_rows(moments.of_neighbour(place))
            })
        };
        let mut builder = LatentTree::builder(Arc::clone(&self.schema), self.tree.clone()).roots(&rooted.roots);
        let nodes: Vec<NodeIx> = self.tree.node_ixs().collect();
        let distributions = nodes.par_iter().map(|&node| {
            let parent = rooted.parent[node.get()];
            let rows = moments.weight;
            let table = match (self.variable_of[node.get()], parent.map(|parent| (parent, self.variable_of[parent.get()]))) {
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
                    let table = columns(place[node.get()], variable, parent).next().expect("a variable has a column");
                    let fit = &fits[place[node.get()]];
                    let given = discrete_table(&table);
                    let d = given.n_states();
                    let joint = Matrix::from_fn(d, fit.weights.len(), |y, c| given.given(c)[y] * fit.weights[c]);
                    Distribution::Discrete(rows_of(&joint))
                }
                (Some(variable), None) => return self.alone(variable, rows),
                (Some(variable), Some((_, Some(above)))) => {
                    let parent = self.schema.variables()[above].columns[0].get();
                    let labels = probabilities(&self.columns[parent].levels);
                    let members = self.schema.variables()[variable].columns.iter();
                    let tables = members.map(|column| observed_moments(moments, parent, column.get(), labels.len()));
                    return self.emission(variable, tables, &labels, rows);
                }
                (Some(variable), Some((parent, None))) => {
                    let tables = columns(place[parent.get()], variable, node);
                    return self.emission(variable, tables, &fits[place[parent.get()]].weights, rows);
                }
            };
            (table, 0)
        });
        let distributions: Vec<(Distribution, usize)> = distributions.collect();
        let changed: Vec<(&str, usize)> =
            nodes.iter().zip(&distributions).filter(|it| it.1.1 > 0).map(|(&node, it)| (self.tree.name(node), it.1)).collect();
        if let [(first, _), ..] = &changed[..] {
            self.warnings.push(format!(
                "the moments give {} impossible means, variances or rates for {} variables (first {first:?}); each is set to the nearest possible \
                 value; more rows or EM may help",
                changed.iter().map(|it| it.1).sum::<usize>(),
                changed.len(),
            ));
        }
        for (node, (distribution, _)) in nodes.into_iter().zip(distributions) {
            builder = builder.distribution(node, distribution);
        }
        let model = builder.provenance(Provenance::default()).build()?;
        Ok(MomentModel { model, warnings: self.warnings })
    }

    /// The distribution of an observed node without a parent.
    fn alone(&self, variable: usize, rows: f64) -> (Distribution, usize) {
        let whole = |column: usize, kind: &Kind| {
            let summary = &self.columns[column];
            match kind.n_states() {
                Some(_) => (Emission::Categorical(Table::new(summary.levels.len(), probabilities(&summary.levels))), 0),
                None => {
                    // The number itself: (1, z, z²) has the means (1, 0, 1).
                    let table = Matrix::new(3, 1, vec![1.0, 0.0, 1.0]);
                    NumberStates { summary, rows }.emission(kind, &table, &[1.0])
                }
            }
        };
        let variable = &self.schema.variables()[variable];
        let members = variable.columns.iter().map(|&column| whole(column.get(), &self.schema.column(column).kind));
        as_distribution(variable.is_group, members.collect())
    }

    /// The distribution of an observed node given its parent from `E[φ 1{h}]` of its columns, and how many of its numbers had to
    /// be changed to be those of a distribution.
    fn emission(
        &self,
        variable: usize,
        tables: impl Iterator<Item = Matrix>,
        weights: &[f64],
        rows: f64,
    ) -> (Distribution, usize) {
        let variable = &self.schema.variables()[variable];
        let members = variable.columns.iter().zip(tables).map(|(&column, table)| {
            let kind = &self.schema.column(column).kind;
            if kind.n_states().is_some() {
                return (Emission::Categorical(discrete_table(&table)), 0);
            }
            let (summary, standard) = (&self.columns[column.get()], &self.standards[column.get()]);
            let table = restandardised(table, number_standard(standard), number_standard(summary));
            NumberStates { summary, rows }.emission(kind, &table, weights)
        });
        as_distribution(variable.is_group, members.collect())
    }
}

/// `E[φ 1{h}]` of a number that is standardised by another mean and scale than before; features as rows.
fn restandardised(mut table: Matrix, from: (f64, f64), to: (f64, f64)) -> Matrix {
    if from == to || from.1 == 0.0 {
        return table;
    }
    let (factor, shift) = (to.1 / from.1, (from.0 - to.0) * to.1);
    for c in 0..table.n_cols() {
        let (one, z) = (table[(0, c)], table[(1, c)]);
        table[(1, c)] = factor * z + shift * one;
        if table.n_rows() > 2 {
            table[(2, c)] = factor * factor * table[(2, c)] + 2.0 * factor * shift * z + shift * shift * one;
        }
    }
    table
}

/// The model in which no variable depends on another, from the summary of each column.
///
/// # Errors
/// [`Error::Model`] if a column has no rows at all.
pub(crate) fn independent(schema: &Arc<Schema>, summary: &Summary) -> Result<LatentTree> {
    let variables = schema.variables().iter();
    let nodes = variables.map(|variable| crate::tree::Node { name: variable.name.clone(), observed: true });
    let tree = Tree::from_parts(nodes.collect(), &[])?;
    // No coordinates are needed where nothing has a parent.
    let none = vec![Some((0, Vec::new())); schema.variables().len()];
    let coordinates = Coordinates::new(schema, summary.columns(), &none);
    let problem = Problem::new(tree.clone(), Arc::clone(schema), summary.columns(), coordinates, &MomentOptions::new(2))?;
    let mut builder = LatentTree::builder(Arc::clone(schema), tree).roots(&problem.rooted.roots);
    for (ix, node) in problem.tree.node_ixs().enumerate() {
        builder = builder.distribution(node, problem.alone(ix, summary.total_weight()).0);
    }
    builder.build()
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

/// For every variable of many features some variables near it on the tree.
fn near(tree: &Tree, schema: &Schema, variable_of: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut near = vec![Vec::new(); schema.variables().len()];
    for node in tree.node_ixs() {
        let Some(variable) = variable_of[node.get()] else { continue };
        if feature_cross::n_features(schema, variable) > feature_cross::NARROW {
            near[variable] = nearest(tree, node, None, variable_of, MAX_NEAR);
        }
    }
    near
}

fn as_distribution(is_group: bool, members: Vec<(Emission, usize)>) -> (Distribution, usize) {
    let changed = members.iter().map(|it| it.1).sum();
    let mut members: Vec<Emission> = members.into_iter().map(|it| it.0).collect();
    let distribution = match (is_group, members.pop()) {
        (false, Some(Emission::Categorical(table))) => Distribution::Discrete(table),
        (false, Some(one)) => Distribution::Emission(one),
        (_, last) => {
            members.extend(last);
            Distribution::Emission(Emission::Group(members))
        }
    };
    (distribution, changed)
}
