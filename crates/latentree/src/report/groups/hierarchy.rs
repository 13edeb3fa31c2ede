//! The hierarchy from a dozen broad groups to fine ones: the greedy cover, applied again inside each group.
//!
//! Groups of a small tree are based on its hidden nodes, those of a larger tree on themes of these nodes.

use super::cover::{Choice, greedy, knee};
use super::information::{LITTLE, Says, Scale, Theme, Walks};
use crate::index::NodeIx;
use crate::model::LatentTree;

/// In trees with at most this many hidden nodes, every hidden node that is the best for some variable is a group of a single
/// level.
const FEW_HIDDEN: usize = 12;
/// Number of broad groups of a larger tree.
const BROAD: std::ops::RangeInclusive<usize> = 8..=20;
/// Number of finer groups inside a group.
const FINER: std::ops::RangeInclusive<usize> = 2..=10;
/// Groups of at most this many variables are not divided further.
const FEW_VARIABLES: usize = 12;
/// Minimum number of variables of a finer group, and of a broad group of a large tree.
const MIN_VARIABLES: usize = 2;
const MIN_OF_BROAD: usize = 3;
/// Minimum gain of a finer group, relative to the total of the groups before it.
const MIN_GAIN: f64 = 0.02;
/// A group does not include variables and hidden nodes if it explains less than this share of their information.
const WEAK: f64 = 0.005;

/// A group before it is described.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// `None` for the variables that no group explains well.
    pub(super) theme: Option<Theme>,
    /// From 1, the broad groups.
    pub(super) level: usize,
    /// Index of the enclosing group.
    pub(super) parent: Option<usize>,
    /// Observed nodes and the group's information about them in nats. The most informative come first or, in larger trees, those of
    /// which the group explains the largest share.
    pub(super) variables: Vec<(NodeIx, f64)>,
    /// Hidden nodes, its own first.
    pub(super) hidden: Vec<NodeIx>,
}

struct Hierarchy<'a> {
    walks: &'a Walks<'a>,
    scales: Vec<Scale>,
    hidden: Vec<NodeIx>,
    /// Candidates, and the index of the hidden node of each.
    themes: Vec<Theme>,
    owners: Vec<usize>,
    observed: Vec<NodeIx>,
    says: Vec<Vec<Says>>,
    found: Vec<Found>,
}

/// The members of a group: indices into `observed`, with the share that the group explains of each, and into `hidden`.
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
    let scales = walks.scales();
    let is_small = hidden.len() <= FEW_HIDDEN;
    let themes_of = |(owner, &node): (usize, &NodeIx)| {
        let themes = if is_small { vec![Theme::whole(node)] } else { walks.themes(node) };
        themes.into_iter().map(move |theme| (owner, theme))
    };
    let (owners, themes): (Vec<usize>, Vec<Theme>) = hidden.iter().enumerate().flat_map(themes_of).unzip();
    let says = walks.all(&themes, &places, &scales);
    let mut all = Hierarchy { walks, scales, hidden, themes, owners, observed, says, found: Vec::new() };
    all.broad();
    all.found
}

/// The hidden nodes, at most `most`, that together have the most information about all variables, in the order of what they
/// add.
pub(in crate::report) fn covering(model: &LatentTree, most: usize) -> Vec<NodeIx> {
    let walks = Walks::new(model);
    let tree = model.tree();
    let (observed, hidden): (Vec<NodeIx>, Vec<NodeIx>) = tree.node_ixs().partition(|&node| tree.is_observed(node));
    let mut places = vec![None; tree.n_nodes()];
    observed.iter().enumerate().for_each(|(place, node)| places[node.get()] = Some(place as u32));
    let themes: Vec<Theme> = hidden.iter().map(|&node| Theme::whole(node)).collect();
    let says = walks.all(&themes, &places, &walks.scales());
    let candidates: Vec<usize> = (0..hidden.len()).collect();
    let chosen = greedy(&says, |it| it, &candidates, &mut vec![0.0; observed.len()], most);
    chosen.into_iter().map(|choice| hidden[choice.candidate]).collect()
}

impl Hierarchy<'_> {
    fn is_small(&self) -> bool {
        self.hidden.len() <= FEW_HIDDEN
    }

    fn broad(&mut self) {
        let mut covered = vec![0.0; self.observed.len()];
        let candidates: Vec<usize> = (0..self.themes.len()).collect();
        let is_small = self.is_small();
        let most = if is_small { FEW_HIDDEN } else { *BROAD.end() };
        let mut chosen: Vec<Choice> = greedy(&self.says, |it| self.owners[it], &candidates, &mut covered, most);
        if !is_small {
            chosen.truncate(knee(&chosen, *BROAD.start()));
        }
        let mut centres: Vec<usize> = chosen.iter().map(|it| it.candidate).collect();
        if is_small {
            // Nodes that add nothing come last.
            centres.extend(candidates.iter().filter(|candidate| !chosen.iter().any(|it| it.candidate == **candidate)));
        }
        let (variables, hidden): (Vec<usize>, Vec<usize>) =
            ((0..self.observed.len()).collect(), (0..self.hidden.len()).collect());
        let least = if is_small { 1 } else { MIN_OF_BROAD };
        let (shares, rest) = self.settled(&mut centres, None, &variables, &hidden, least);
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
    }

    /// Adds the groups inside a group.
    fn divide(&mut self, centre: Option<usize>, level: usize, parent: usize, share: &Share) {
        if share.variables.len() <= FEW_VARIABLES {
            return;
        }
        // Variables of other groups do not count here.
        let mut covered = vec![f32::INFINITY; self.observed.len()];
        share.variables.iter().for_each(|&(variable, told)| covered[variable] = told as f32);
        let own = centre.map(|it| self.owners[it]);
        let hidden: Vec<usize> = share.hidden.iter().copied().filter(|&it| Some(it) != own).collect();
        let mut is_inside = vec![false; self.hidden.len()];
        hidden.iter().for_each(|&it| is_inside[it] = true);
        let candidates: Vec<usize> = (0..self.themes.len()).filter(|&it| is_inside[self.owners[it]]).collect();
        let mut chosen = greedy(&self.says, |it| self.owners[it], &candidates, &mut covered, *FINER.end());
        let mut told: f64 = share.variables.iter().map(|it| it.1).sum();
        let telling = chosen.iter().take_while(|choice| {
            told += choice.gain;
            choice.gain >= MIN_GAIN * told
        });
        let n_telling = telling.count();
        chosen.truncate(n_telling);
        chosen.truncate(knee(&chosen, *FINER.start()));
        let mut finer: Vec<usize> = chosen.iter().map(|it| it.candidate).collect();
        let variables: Vec<usize> = share.variables.iter().map(|it| it.0).collect();
        let (shares, _) = self.settled(&mut finer, centre, &variables, &hidden, MIN_VARIABLES);
        let begun = self.found.len();
        for (&it, share) in finer.iter().zip(&shares) {
            self.push(Some(it), level + 1, Some(parent), share);
        }
        for (ix, (&it, share)) in finer.iter().zip(&shares).enumerate() {
            self.divide(Some(it), level + 1, begun + ix, share);
        }
    }

    /// Assigns variables and hidden nodes to centres. Centres with fewer than `least` variables are dropped one by one, from the last.
    fn settled(
        &self,
        centres: &mut Vec<usize>,
        around: Option<usize>,
        variables: &[usize],
        hidden: &[usize],
        least: usize,
    ) -> (Vec<Share>, Share) {
        loop {
            let all: Vec<usize> = centres.iter().copied().chain(around).collect();
            let (shares, rest) = self.shared(&all, variables, hidden);
            match (0..centres.len()).rev().find(|&ix| shares[ix].variables.len() < least) {
                Some(ix) => drop(centres.remove(ix)),
                None => return (shares, rest),
            }
        }
    }

    /// Assigns each variable and hidden node to the centre with the most information about it, or to none if all have little.
    fn shared(&self, centres: &[usize], variables: &[usize], hidden: &[usize]) -> (Vec<Share>, Share) {
        let mut best_of_variable: Vec<Option<(usize, f64)>> = vec![None; self.observed.len()];
        let mut best_of_node: Vec<Option<(usize, f64)>> = vec![None; self.walks.model.tree().n_nodes()];
        let raise = |best: &mut Option<(usize, f64)>, ix: usize, share: f64| {
            if best.is_none_or(|best| share > best.1) {
                *best = Some((ix, share));
            }
        };
        for (ix, &centre) in centres.iter().enumerate() {
            for it in &self.says[centre] {
                raise(&mut best_of_variable[it.variable as usize], ix, f64::from(it.share));
            }
            self.walks.visit(&self.themes[centre], LITTLE, |node, nats| {
                raise(&mut best_of_node[node.get()], ix, self.scales[node.get()].share(nats));
            });
        }
        let mut shares: Vec<Share> =
            centres.iter().map(|&centre| Share { variables: Vec::new(), hidden: vec![self.owners[centre]] }).collect();
        let mut rest = Share { variables: Vec::new(), hidden: Vec::new() };
        for &variable in variables {
            let scale = self.scales[self.observed[variable].get()];
            match best_of_variable[variable].filter(|best| !scale.is_below(WEAK, best.1)) {
                Some((ix, share)) => shares[ix].variables.push((variable, share)),
                None => rest.variables.push((variable, 0.0)),
            }
        }
        for &it in hidden.iter().filter(|it| !centres.iter().any(|&centre| self.owners[centre] == **it)) {
            let node = self.hidden[it].get();
            match best_of_node[node].filter(|best| !self.scales[node].is_below(WEAK, best.1)) {
                Some((ix, _)) => shares[ix].hidden.push(it),
                None => rest.hidden.push(it),
            }
        }
        (shares, rest)
    }

    fn push(&mut self, centre: Option<usize>, level: usize, parent: Option<usize>, share: &Share) {
        let mut variables: Vec<((NodeIx, f64), f64)> =
            share.variables.iter().map(|&(variable, share)| (self.in_nats(variable, share), share)).collect();
        // Of a long list only the first are read: they should be typical of the group rather than common.
        let key = |it: &((NodeIx, f64), f64)| if self.is_small() { it.0.1 } else { it.1 };
        variables.sort_by(|a, b| key(b).total_cmp(&key(a)).then(a.0.0.cmp(&b.0.0)));
        let variables = variables.into_iter().map(|it| it.0).collect();
        self.found.push(Found {
            theme: centre.map(|it| self.themes[it].clone()),
            level,
            parent,
            variables,
            hidden: share.hidden.iter().map(|&it| self.hidden[it]).collect(),
        });
    }

    fn in_nats(&self, variable: usize, share: f64) -> (NodeIx, f64) {
        let node = self.observed[variable];
        (node, self.scales[node.get()].nats(share))
    }
}
