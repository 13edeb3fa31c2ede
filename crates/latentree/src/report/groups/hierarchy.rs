//! From a dozen broad groups to fine ones: the cover, applied again inside each group.

use super::cover::{Choice, greedy, knee};
use super::information::{Says, Walks};
use crate::index::NodeIx;

/// A tree of at most this many hidden nodes is shown in one level, each of them a group.
const FEW_HIDDEN: usize = 12;
/// Broad groups of a larger tree.
const BROAD: std::ops::RangeInclusive<usize> = 8..=20;
/// Finer groups inside a group.
const FINER: std::ops::RangeInclusive<usize> = 2..=10;
/// Variables of a group that is not divided further.
const FEW_VARIABLES: usize = 12;
/// Variables of a finer group.
const LEAST_VARIABLES: usize = 2;
/// A finer group adds at least this share of what the group tells already.
const LEAST_GAIN: f64 = 0.02;
/// A variable, or hidden node, of which a group tells less than this share is not put under it.
const WEAK: f64 = 0.005;

/// A group before it is described.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// `None` for what no group tells much of.
    pub(super) node: Option<NodeIx>,
    /// From 1, the broad groups.
    pub(super) level: usize,
    /// Place of the group around it.
    pub(super) parent: Option<usize>,
    /// Observed nodes, the most informative first, with what the group tells of them in nats.
    pub(super) variables: Vec<(NodeIx, f64)>,
    /// Hidden nodes, its own first.
    pub(super) hidden: Vec<NodeIx>,
}

struct Hierarchy<'a> {
    walks: &'a Walks<'a>,
    entropies: Option<Vec<f64>>,
    hidden: Vec<NodeIx>,
    observed: Vec<NodeIx>,
    says: Vec<Vec<Says>>,
    found: Vec<Found>,
}

/// What is shared out between groups: places in `observed` and `hidden`.
struct Share {
    variables: Vec<(usize, f64)>,
    hidden: Vec<usize>,
}

/// All groups, each before the finer ones inside it.
pub(super) fn hierarchy(walks: &Walks<'_>) -> Vec<Found> {
    let tree = walks.model.tree();
    let (observed, hidden): (Vec<NodeIx>, Vec<NodeIx>) = tree.node_ixs().partition(|&node| tree.is_observed(node));
    if hidden.is_empty() {
        return Vec::new();
    }
    let mut places = vec![None; tree.n_nodes()];
    observed.iter().enumerate().for_each(|(place, node)| places[node.get()] = Some(place as u32));
    let says = walks.all(&hidden, &places);
    let mut all = Hierarchy { walks, entropies: walks.entropies(), hidden, observed, says, found: Vec::new() };
    all.broad();
    all.found
}

impl Hierarchy<'_> {
    fn broad(&mut self) {
        let mut covered = vec![0.0; self.observed.len()];
        let candidates: Vec<usize> = (0..self.hidden.len()).collect();
        let is_small = candidates.len() <= FEW_HIDDEN;
        let most = if is_small { FEW_HIDDEN } else { *BROAD.end() };
        let mut chosen: Vec<Choice> = greedy(&self.says, &candidates, &mut covered, most);
        if !is_small {
            chosen.truncate(knee(&chosen, *BROAD.start()));
        }
        let mut centres: Vec<usize> = chosen.iter().map(|it| it.candidate).collect();
        if is_small {
            // Nodes that add nothing are shown too, last.
            centres.extend(candidates.iter().filter(|candidate| !chosen.iter().any(|it| it.candidate == **candidate)));
        }
        let variables: Vec<usize> = (0..self.observed.len()).collect();
        let (shares, rest) = self.shared(&centres, &variables, &candidates);
        let first = self.found.len();
        for (&centre, share) in centres.iter().zip(&shares) {
            self.push(Some(centre), 1, None, share);
        }
        if !rest.variables.is_empty() {
            self.push(None, 1, None, &rest);
        }
        if !is_small {
            for (ix, (&centre, share)) in centres.iter().zip(&shares).enumerate() {
                self.divide(Some(centre), 1, first + ix, share);
            }
            if !rest.variables.is_empty() {
                self.divide(None, 1, first + centres.len(), &rest);
            }
        }
        for ix in first..self.found.len() {
            self.fill(ix);
        }
    }

    /// Adds the groups inside a group.
    fn divide(&mut self, centre: Option<usize>, level: usize, parent: usize, share: &Share) {
        if share.variables.len() <= FEW_VARIABLES {
            return;
        }
        // Variables of other groups count for nothing here.
        let mut covered = vec![f32::INFINITY; self.observed.len()];
        share.variables.iter().for_each(|&(variable, nats)| covered[variable] = nats as f32);
        let candidates: Vec<usize> = share.hidden.iter().copied().filter(|&it| Some(it) != centre).collect();
        let mut chosen = greedy(&self.says, &candidates, &mut covered, *FINER.end());
        let mut told: f64 = share.variables.iter().map(|it| it.1).sum();
        let telling = chosen.iter().take_while(|choice| {
            told += choice.gain;
            choice.gain >= LEAST_GAIN * told
        });
        let n_telling = telling.count();
        chosen.truncate(n_telling);
        chosen.truncate(knee(&chosen, *FINER.start()));
        let mut finer: Vec<usize> = chosen.iter().map(|it| it.candidate).collect();
        let variables: Vec<usize> = share.variables.iter().map(|it| it.0).collect();
        // A group of one variable says no more than the variable: it stays with the group around it.
        let shares = loop {
            let centres: Vec<usize> = finer.iter().copied().chain(centre).collect();
            let (shares, _) = self.shared(&centres, &variables, &candidates);
            let too_small = (0..finer.len()).rev().find(|&ix| shares[ix].variables.len() < LEAST_VARIABLES);
            match too_small {
                Some(ix) => drop(finer.remove(ix)),
                None => break shares,
            }
        };
        let begun = self.found.len();
        for (&it, share) in finer.iter().zip(&shares) {
            self.push(Some(it), level + 1, Some(parent), share);
        }
        for (ix, (&it, share)) in finer.iter().zip(&shares).enumerate() {
            self.divide(Some(it), level + 1, begun + ix, share);
        }
    }

    /// Shares out variables and hidden nodes: each to the centre that tells most of it, the weak ones to none.
    fn shared(&self, centres: &[usize], variables: &[usize], hidden: &[usize]) -> (Vec<Share>, Share) {
        let mut best_of_variable: Vec<Option<(usize, f64)>> = vec![None; self.observed.len()];
        let mut best_of_node: Vec<Option<(usize, f64)>> = vec![None; self.walks.model.tree().n_nodes()];
        for (ix, &centre) in centres.iter().enumerate() {
            for it in &self.says[centre] {
                let best = &mut best_of_variable[it.variable as usize];
                if best.is_none_or(|best| f64::from(it.nats) > best.1) {
                    *best = Some((ix, f64::from(it.nats)));
                }
            }
            self.walks.visit(self.hidden[centre], super::information::LITTLE, |node, nats| {
                let best = &mut best_of_node[node.get()];
                if best.is_none_or(|best| nats > best.1) {
                    *best = Some((ix, nats));
                }
            });
        }
        let mut shares: Vec<Share> =
            centres.iter().map(|&centre| Share { variables: Vec::new(), hidden: vec![centre] }).collect();
        let mut rest = Share { variables: Vec::new(), hidden: Vec::new() };
        for &variable in variables {
            match best_of_variable[variable].filter(|best| !self.is_weak(self.observed[variable], best.1)) {
                Some((ix, nats)) => shares[ix].variables.push((variable, nats)),
                None => rest.variables.push((variable, 0.0)),
            }
        }
        for &it in hidden.iter().filter(|it| !centres.contains(it)) {
            match best_of_node[self.hidden[it].get()].filter(|best| !self.is_weak(self.hidden[it], best.1)) {
                Some((ix, _)) => shares[ix].hidden.push(it),
                None => rest.hidden.push(it),
            }
        }
        for share in &mut shares {
            share.variables.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        }
        (shares, rest)
    }

    /// Whether these nats are next to nothing of what there is to tell of a node.
    fn is_weak(&self, node: NodeIx, nats: f64) -> bool {
        match &self.entropies {
            Some(entropies) => nats < WEAK * entropies[node.get()],
            None => -(-2.0 * nats).exp_m1() < WEAK,
        }
    }

    fn push(&mut self, centre: Option<usize>, level: usize, parent: Option<usize>, share: &Share) {
        self.found.push(Found {
            node: centre.map(|it| self.hidden[it]),
            level,
            parent,
            variables: share.variables.iter().map(|&(variable, nats)| (self.observed[variable], nats)).collect(),
            hidden: share.hidden.iter().map(|&it| self.hidden[it]).collect(),
        });
    }

    /// A group that tells most of no variable lists those that it tells most of.
    fn fill(&mut self, ix: usize) {
        const LISTED: usize = 6;
        let Some(node) = self.found[ix].node.filter(|_| self.found[ix].variables.is_empty()) else { return };
        let place = self.hidden.binary_search(&node).expect("a group is a hidden node");
        let mut says = self.says[place].clone();
        says.sort_by(|a, b| b.nats.total_cmp(&a.nats).then(a.variable.cmp(&b.variable)));
        let listed = says.iter().take(LISTED).map(|it| (self.observed[it.variable as usize], f64::from(it.nats)));
        self.found[ix].variables = listed.collect();
    }
}
