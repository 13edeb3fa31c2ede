//! Structure and numbers of states by the Bayesian information criterion.
//!
//! `BIC = ln L − ½ (free parameters) ln N`. A search by changes that are tried on all rows for a few passes of EM and kept where BIC rises:
//!
//! 1. **islands**: variables are grouped by average linkage of 1 − |ρ|, each group under a hidden node of its own, all under a root that begins as the
//!    class of a latent class model;
//! 2. **moves**: every leaf goes to the hidden node whose posterior explains it best by expected counts, less ½ ln N per parameter; hidden nodes are joined by the
//!    maximum spanning tree of the mutual information of their posteriors; nodes left with two neighbours go;
//! 3. **states**: one state more, or less, in one hidden node;
//! 4. **nodes**: a hidden node less (its neighbours go to one of them), a copy of one that takes over some of its leaves, or a new one over the two variables that the
//!    model explains least together.
//!
//! Several starts are taken through a first cycle, the best through all.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::growth;
use super::islands::islands;
use super::misfit::{PairMisfit, pair_misfits};
use super::shape::{Shape, hidden_nodes};
use super::statistics::{Statistics, node_of, spanning_links};
use super::surgery::{drop_state, split_state};
use crate::data::Rows;
use crate::information;
use crate::model::LatentTree;
use crate::moments::{PairMoments, Summary, fold};
use crate::observer::Quiet;
use crate::parameters::em::{Em, Merged, Smoothing, Start, template};
use crate::tree::Tree;
use crate::{Error, Observer, Result, VarIx};

/// Settings of [`by_bic`].
#[derive(Debug, Clone)]
pub struct BicSearch {
    pub(super) seed: u64,
    pub(super) smoothing: Smoothing,
    pub(super) starts: usize,
    pub(super) cycles: usize,
    pub(super) hidden_states: Option<usize>,
    pub(super) trees: Vec<Tree>,
}

impl BicSearch {
    /// The default search.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, smoothing: Smoothing::default(), starts: 3, cycles: 6, hidden_states: None, trees: Vec::new() }
    }

    /// How EM smooths.
    #[must_use]
    pub fn smoothing(mut self, smoothing: Smoothing) -> Self {
        self.smoothing = smoothing;
        self
    }

    /// Keeps this number of states in every hidden node, and searches trees only.
    #[must_use]
    pub fn hidden_states(mut self, hidden_states: Option<usize>) -> Self {
        self.hidden_states = hidden_states;
        self
    }

    /// Begins with these trees too.
    #[must_use]
    pub fn trees(mut self, trees: Vec<Tree>) -> Self {
        self.trees = trees;
        self
    }

    /// How many starts are tried.
    #[must_use]
    pub fn starts(mut self, starts: usize) -> Self {
        self.starts = starts.max(1);
        self
    }
}

/// A model and its score.
#[derive(Debug, Clone)]
pub(super) struct Scored {
    pub(super) model: LatentTree,
    pub(super) bic: f64,
}

/// What a search works on.
pub(super) struct Workbench<'a> {
    data: Merged<'a>,
    summary: Summary,
    /// Moments that distances are estimated from.
    pub(super) moments: &'a PairMoments,
    /// The same where they hold the tables of pairs of columns, which those of wide variables do not.
    tables: Option<&'a PairMoments>,
    weight: f64,
    smoothing: Smoothing,
    observer: &'a dyn Observer,
}

impl<'a> Workbench<'a> {
    pub(super) fn new(
        data: &'a dyn Rows,
        moments: &'a PairMoments,
        smoothing: Smoothing,
        observer: &'a dyn Observer,
    ) -> Result<Self> {
        let data = Merged::of(data)?;
        let summary = fold(&mut *data.open()?, Summary::new(data.schema().clone()), &Quiet(observer))?;
        let weight = summary.total_weight();
        let tables = (**moments.schema() == **data.schema()).then_some(moments);
        Ok(Self { data, summary, moments, tables, weight, smoothing, observer })
    }

    fn half_ln_weight(&self) -> f64 {
        information::bic_cost(self.weight.max(2.0))
    }

    /// Some passes of EM, and the score after them.
    pub(super) fn climb(&self, model: &LatentTree, passes: usize, tolerance: f64) -> Result<Scored> {
        let em = Em::new().merge(false).smoothing(self.smoothing).iterations(passes).tolerance(tolerance);
        let fit = em.fit(model, &self.data, &Quiet(self.observer))?;
        let log_likelihood = fit.log_likelihood.last().copied().unwrap_or(f64::NEG_INFINITY);
        let bic = log_likelihood - self.half_ln_weight() * fit.model.n_free_parameters() as f64;
        Ok(Scored { model: fit.model, bic })
    }

    pub(super) fn statistics(&self, model: &LatentTree) -> Result<Statistics> {
        Statistics::new(&[model], &self.data, &self.summary, self.observer)
    }

    /// A latent class model of `n_states`.
    fn classes(&self, n_states: usize, seed: u64) -> Result<LatentTree> {
        let n_variables = self.data.schema().variables().len();
        let star = Shape { states: vec![n_states], links: Vec::new(), leaf_of: vec![0; n_variables] };
        let model = template(self.data.schema().clone(), star.tree(self.data.schema())?, n_states)?;
        let start = Start::Random { restarts: 1, seed };
        let em = Em::new().merge(false).smoothing(self.smoothing).iterations(60).tolerance(1e-6).start(start);
        Ok(em.fit(&model, &self.data, &Quiet(self.observer))?.model)
    }
}

/// A model with the best BIC that the search finds; see the module.
///
/// # Errors
/// [`Error::Option`] for fewer than three variables, those of EM, and [`Error::Cancelled`].
pub fn by_bic(data: &dyn Rows, moments: &PairMoments, search: &BicSearch, observer: &dyn Observer) -> Result<LatentTree> {
    if data.schema().variables().len() < 3 {
        return Err(Error::option("selection.criterion", "a search for hidden variables needs three variables or more"));
    }
    let bench = Workbench::new(data, moments, search.smoothing, observer)?;
    let sparse = super::search::sparse_rows(&bench.data)?;
    let rows: &dyn Rows = sparse.as_ref().map_or(&bench.data, |it| it);
    let fast = super::search::Bench::new(rows, bench.weight, search.smoothing, search.hidden_states, observer)?;
    let n_starts = search.trees.len() + search.starts;
    observer.stage("starts", Some(n_starts as u64));
    let trace = std::env::var_os("LT_TRACE").is_some();
    let mut best: Option<super::search::Found> = None;
    for start in 0..n_starts {
        let t = std::time::Instant::now();
        let begun = match search.trees.get(start) {
            Some(tree) => begin_with(&bench, tree, search)?,
            None => begin(&bench, search, start - search.trees.len())?,
        };
        if trace { eprintln!("start {start} begun {:.1} in {:?}", begun.bic, t.elapsed()); }
        let Some(found) = fast.fit(&begun.model, 10, 1e-6)? else { continue };
        let found = fast.climb(found, 3, search.seed.wrapping_add(start as u64))?;
        if trace { eprintln!("start {start} -> {:.1} in {:?}", found.bic, t.elapsed()); }
        if best.as_ref().is_none_or(|best| found.bic > best.bic) {
            best = Some(found);
        }
        observer.progress(start as u64 + 1);
    }
    let best = best.expect("there is a start");
    observer.stage("refinement", None);
    let best = fast.climb(best, 20, search.seed.wrapping_add(77))?;
    let last = fast.fit(&best.model, 300, 1e-8)?;
    Ok(last.map_or(best.model, |it| it.model))
}

fn better(best: Option<Scored>, other: Scored) -> Scored {
    match best {
        Some(best) if best.bic >= other.bic => best,
        _ => other,
    }
}

/// Root states and islands of the starts, as a share of the number of variables that falls with it.
fn begin(bench: &Workbench<'_>, search: &BicSearch, start: usize) -> Result<Scored> {
    let seed = search.seed;
    let p = bench.data.schema().variables().len();
    let size = (p as f64).ln() / 100_f64.ln();
    let root_states = [12, 8, 16, 12, 10, 14][start % 6];
    let root_states = ((f64::from(root_states) * size).round() as usize).clamp(2, 16);
    let root_states = search.hidden_states.unwrap_or(root_states);
    let island_states = search.hidden_states.unwrap_or(2);
    let n_islands = [p / 5, p / 4, p / 6, p / 3, p / 5, p / 4][start % 6].clamp(1, 60);
    let classes = bench.classes(root_states, seed.wrapping_mul(31).wrapping_add(start as u64))?;
    let groups = islands(bench.moments, n_islands, &Quiet(bench.observer))?;
    let schema = bench.data.schema();
    let mut forest = Shape { states: Vec::new(), links: Vec::new(), leaf_of: vec![0; p] };
    let mut shape = Shape { states: vec![root_states], links: Vec::new(), leaf_of: vec![0; p] };
    for group in groups {
        let island = forest.n_hidden();
        forest.states.push(island_states);
        group.iter().for_each(|&variable| forest.leaf_of[variable] = island);
        // A hidden node of one variable says nothing more than the variable.
        if group.len() >= 2 {
            group.iter().for_each(|&variable| shape.leaf_of[variable] = island + 1);
            shape.links.push((0, island + 1));
        }
        shape.states.push(island_states);
    }
    let islands = template(schema.clone(), forest.tree(schema)?, island_states)?;
    let seed = seed.wrapping_mul(37).wrapping_add(start as u64);
    let em = Em::new().merge(false).smoothing(bench.smoothing).iterations(40).tolerance(1e-6);
    let islands = em.start(Start::Random { restarts: 1, seed }).fit(&islands, &bench.data, &Quiet(bench.observer))?.model;
    let statistics = Statistics::new(&[&classes, &islands], &bench.data, &bench.summary, bench.observer)?;
    let (shape, kept) = shape.pruned();
    bench.climb(&statistics.model(&shape, &kept, bench.smoothing.pseudo_count)?, 25, 1e-6)
}

/// A start on a given tree: from latent classes in every hidden node.
fn begin_with(bench: &Workbench<'_>, tree: &Tree, search: &BicSearch) -> Result<Scored> {
    let schema = bench.data.schema();
    let n_states = search.hidden_states.unwrap_or(2);
    let shape = Shape::of_tree(tree, schema, n_states);
    let model = template(schema.clone(), shape.tree(schema)?, n_states)?;
    let em = Em::new().merge(false).smoothing(bench.smoothing).iterations(60).tolerance(1e-6);
    let start = Start::LatentClass { restarts: 3, seed: search.seed };
    let fit = em.start(start).fit(&model, &bench.data, &Quiet(bench.observer))?;
    bench.climb(&fit.model, 25, 1e-6)
}

/// Every kind of change once.
fn cycle(bench: &Workbench<'_>, begun: Scored, search: &BicSearch, round: u64, is_first: bool) -> Result<Scored> {
    let mut rng = ChaCha8Rng::seed_from_u64(search.seed.wrapping_add(round));
    let mut best = begun;
    for _ in 0..if is_first { 4 } else { 3 } {
        let before = best.bic;
        best = moved(bench, best)?;
        if search.hidden_states.is_none() {
            best = with_states(bench, best, &mut rng)?;
        }
        if best.bic < before + 1.0 {
            break;
        }
    }
    if !is_first {
        best = with_fewer_nodes(bench, best)?;
        best = with_twins(bench, best)?;
        // New nodes begin with two states.
        if search.hidden_states.is_none_or(|n_states| n_states == 2) {
            best = with_new_nodes(bench, best)?;
        }
    }
    Ok(best)
}

/// Leaves move, hidden nodes are joined anew.
fn moved(bench: &Workbench<'_>, mut best: Scored) -> Result<Scored> {
    const LEAST_GAIN: f64 = 3.0;
    for _ in 0..4 {
        let statistics = bench.statistics(&best.model)?;
        let shape = Shape::of_model(&best.model);
        let mut next = shape.clone();
        for variable in bench.data.schema().variable_ixs() {
            let cost = bench.half_ln_weight() * statistics.parameters_per_state(variable) as f64;
            let score = |hidden: usize| statistics.leaf_score(variable, hidden) - cost * shape.states[hidden] as f64;
            let own = shape.leaf_of[variable.get()];
            let target = (0..shape.n_hidden()).max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a))).unwrap_or(own);
            if score(target) > score(own) + LEAST_GAIN {
                next.leaf_of[variable.get()] = target;
            }
        }
        let mut tried = Vec::new();
        let rejoined = Shape { links: spanning_links(&statistics, shape.n_hidden()), ..next.clone() };
        tried.push(rejoined);
        tried.push(next);
        let mut improved = false;
        for candidate in tried {
            if candidate == shape {
                continue;
            }
            let (candidate, kept) = candidate.pruned();
            let start = statistics.model(&candidate, &kept, bench.smoothing.pseudo_count)?;
            let found = bench.climb(&start, 30, 1e-7)?;
            if found.bic > best.bic {
                best = found;
                improved = true;
                break;
            }
        }
        if !improved {
            break;
        }
    }
    Ok(best)
}

/// One state more or less in each hidden node, as long as that pays.
pub(super) fn with_states(bench: &Workbench<'_>, mut best: Scored, rng: &mut ChaCha8Rng) -> Result<Scored> {
    for hidden in 0..hidden_nodes(&best.model).len() {
        let mut more = true;
        while more {
            more = false;
            let node = node_of(&best.model, hidden);
            let k = best.model.n_states(node).unwrap_or(2);
            // The heaviest state has the most to tell apart.
            let marginals = best.model.marginals();
            let weights = match &marginals[node.get()] {
                crate::model::Marginal::Discrete(weights) => weights.clone(),
                _ => break,
            };
            let heaviest = (0..k).max_by(|&a, &b| weights[a].total_cmp(&weights[b]).then(b.cmp(&a))).unwrap_or(0);
            let other = rng.random_range(0..k);
            for state in if other == heaviest { vec![heaviest] } else { vec![heaviest, other] } {
                let split = split_state(&best.model, node, state, || rng.sample(StandardNormal))?;
                let found = bench.climb(&split, 14, 1e-6)?;
                if found.bic > best.bic {
                    best = found;
                    more = true;
                    break;
                }
            }
        }
        let node = node_of(&best.model, hidden);
        let k = best.model.n_states(node).unwrap_or(2);
        if k > 2 {
            let marginals = best.model.marginals();
            if let crate::model::Marginal::Discrete(weights) = &marginals[node.get()] {
                let lightest = (0..k).min_by(|&a, &b| weights[a].total_cmp(&weights[b]).then(a.cmp(&b))).unwrap_or(0);
                let found = bench.climb(&drop_state(&best.model, node, lightest)?, 10, 1e-6)?;
                if found.bic > best.bic {
                    best = found;
                }
            }
        }
    }
    Ok(best)
}

/// Hidden nodes whose neighbours do as well without them.
fn with_fewer_nodes(bench: &Workbench<'_>, mut best: Scored) -> Result<Scored> {
    let mut hidden = 0;
    while hidden < hidden_nodes(&best.model).len() {
        let statistics = bench.statistics(&best.model)?;
        let shape = Shape::of_model(&best.model);
        if shape.n_hidden() < 2 {
            break;
        }
        let neighbours = shape.links.iter().filter_map(|&(a, b)| (a == hidden).then_some(b).or((b == hidden).then_some(a)));
        let heir = neighbours
            .max_by(|&a, &b| statistics.information(hidden, a).total_cmp(&statistics.information(hidden, b)).then(b.cmp(&a)));
        let Some(heir) = heir else {
            hidden += 1;
            continue;
        };
        let mut next = shape.clone();
        next.leaf_of.iter_mut().filter(|at| **at == hidden).for_each(|at| *at = heir);
        next.links.retain(|&link| link != (hidden, heir) && link != (heir, hidden));
        next.links.iter_mut().for_each(|link| {
            link.0 = if link.0 == hidden { heir } else { link.0 };
            link.1 = if link.1 == hidden { heir } else { link.1 };
        });
        let (next, kept) = next.pruned();
        let start = statistics.model(&next, &kept, bench.smoothing.pseudo_count)?;
        let found = bench.climb(&start, 20, 1e-6)?;
        if found.bic > best.bic {
            best = found;
        } else {
            hidden += 1;
        }
    }
    Ok(best)
}

/// A new hidden node over two variables that the model explains least together.
fn with_new_nodes(bench: &Workbench<'_>, mut best: Scored) -> Result<Scored> {
    const TRIED: usize = 24;
    let Some(tables) = bench.tables else { return Ok(best) };
    let mut failures: Vec<(VarIx, VarIx)> = Vec::new();
    for _ in 0..TRIED {
        let pairs = pair_misfits(&best.model, tables, TRIED + 1)?;
        let Some(pair) = pairs.iter().find(|pair| !failures.contains(&(pair.a, pair.b))) else { break };
        match over_pair(bench, tables, &best, pair)? {
            Some(found) if found.bic > best.bic => best = found,
            _ => failures.push((pair.a, pair.b)),
        }
    }
    Ok(best)
}

/// A copy of a hidden node for those of its leaves that go with its two worst explained ones.
fn with_twins(bench: &Workbench<'_>, mut best: Scored) -> Result<Scored> {
    const MOST_PAIRS: usize = 50_000;
    let Some(tables) = bench.tables else { return Ok(best) };
    let mut hidden = 0;
    while hidden < hidden_nodes(&best.model).len() {
        let shape = Shape::of_model(&best.model);
        let is_own = |variable: VarIx| shape.leaf_of[variable.get()] == hidden;
        let pairs = pair_misfits(&best.model, tables, MOST_PAIRS)?;
        let pairs: Vec<&PairMisfit> = pairs.iter().filter(|pair| is_own(pair.a) && is_own(pair.b)).collect();
        let Some(worst) = pairs.first() else {
            hidden += 1;
            continue;
        };
        let mut sums = vec![0.0; shape.leaf_of.len()];
        for pair in &pairs {
            for (one, other) in [(pair.a, pair.b), (pair.b, pair.a)] {
                if one == worst.a || one == worst.b {
                    sums[other.get()] += pair.nats;
                }
            }
        }
        let mut order: Vec<VarIx> = bench.data.schema().variable_ixs().filter(|&variable| is_own(variable)).collect();
        order.sort_by(|x, y| sums[y.get()].total_cmp(&sums[x.get()]).then(x.cmp(y)));
        let mut found: Option<Scored> = None;
        for n_leaves in [order.len() / 2, order.len() / 3] {
            let others = order.iter().copied().filter(|&it| it != worst.a && it != worst.b);
            let leaves: Vec<VarIx> = [worst.a, worst.b].into_iter().chain(others).take(n_leaves.max(2)).collect();
            if let Some(start) = growth::twin(&best.model, hidden, &leaves)? {
                found = Some(better(found, bench.climb(&start, 14, 1e-6)?));
            }
        }
        match found {
            Some(found) if found.bic > best.bic => best = found,
            _ => hidden += 1,
        }
    }
    Ok(best)
}

fn over_pair(bench: &Workbench<'_>, tables: &PairMoments, best: &Scored, pair: &PairMisfit) -> Result<Option<Scored>> {
    let shape = Shape::of_model(&best.model);
    let mut found: Option<Scored> = None;
    for (keep, moving) in [(pair.a, pair.b), (pair.b, pair.a)] {
        if let Some(start) = growth::over_pair(&best.model, tables, keep, moving)? {
            found = Some(better(found, bench.climb(&start, 14, 1e-6)?));
        }
        if shape.leaf_of[pair.a.get()] == shape.leaf_of[pair.b.get()] {
            break;
        }
    }
    Ok(found)
}
