//! Exact mutual information between hidden nodes, or themes of them, and all other nodes, from the model alone.
//!
//! Information only falls along a path (the data-processing inequality), so a walk from a node may stop where little is left: nodes
//! beyond have less. In a discrete tree, the distribution given each state of the origin is passed along; in a Gaussian tree,
//! correlations multiply and `I = −½ ln(1 − ρ²)`.

use rayon::prelude::*;

use crate::index::NodeIx;
use crate::model::{Family, LatentTree, Marginal};
use crate::report::profile;
use crate::report::steps::{Content, Steps, chain};

/// Maximum number of pairs of a theme and a variable; the least informative ones of each theme are dropped first.
const MAX_PAIRS: usize = 16 << 20;
/// With more pairs than this, walks stop at `LITTLE`.
const ALL_PAIRS: usize = 4 << 20;
/// In large trees, walks stop when less information than this is left, in nats.
pub(super) const LITTLE: f64 = 1e-5;
/// Entropy in nats of an event in 2% of rows.
const RARE: f64 = 0.098;
/// Correlations are kept at least this far from ±1.
const MIN_NOISE: f64 = 1e-12;

/// Maximum number of states of a node that are themes one by one; of more states, only all but the first are one.
const MAX_THEMES: usize = 32;

/// What a group is about: a hidden node, or whether it is in some of its states.
///
/// The states of one node may stand for things that exclude each other, such as the months of a year: the node has much
/// information about all of them, although no two ever occur together. Variables that do go together are those that one
/// state, or all states from one on, separate from the rest.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Theme {
    pub(super) node: NodeIx,
    /// The states; `None` for the node itself.
    pub(super) states: Option<std::ops::Range<usize>>,
}

impl Theme {
    pub(super) fn whole(node: NodeIx) -> Self {
        Self { node, states: None }
    }

    /// The distribution of the node given each side of the theme, and the probability of each side.
    fn sides(&self, marginal: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n_states = marginal.len();
        let Some(inside) = &self.states else {
            let mut identity = vec![0.0; n_states * n_states];
            (0..n_states).for_each(|state| identity[state * (n_states + 1)] = 1.0);
            return (identity, marginal.to_vec());
        };
        let mut given = vec![0.0; 2 * n_states];
        let mut prior = vec![0.0; 2];
        for (state, &p) in marginal.iter().enumerate() {
            let side = usize::from(inside.contains(&state));
            given[side * n_states + state] = p;
            prior[side] += p;
        }
        for (row, &total) in given.chunks_exact_mut(n_states).zip(&prior) {
            row.iter_mut().for_each(|p| *p /= total.max(f64::MIN_POSITIVE));
        }
        (given, prior)
    }
}

/// The information of a theme about a variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Says {
    /// The variable, by its index in the list of observed nodes.
    pub(super) variable: u32,
    /// The explained share, from 0 to 1; see [`Scale`].
    pub(super) share: f32,
}

/// The total information in a node, to convert nats to shares.
///
/// For labels, the share is `I / H`, the fraction of the entropy; for numbers it is `1 − e^(−2I)`, which is ρ² for Gaussian variables.
/// Shares make all variables count equally: in nats, a common word or a variable with many labels would outweigh many others. Rare
/// variables, which may number thousands, count less: their entropy is set to at least that of an event in 2% of rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scale {
    /// Entropy of the labels in nats.
    Entropy(f64),
    /// A number.
    Number,
}

impl Scale {
    pub(super) fn share(self, nats: f64) -> f64 {
        match self {
            Self::Entropy(entropy) => (nats / entropy.max(RARE)).min(1.0),
            Self::Number => -(-2.0 * nats).exp_m1(),
        }
    }

    /// Returns whether a share is less than this fraction of the information, also for rare variables.
    pub(super) fn is_below(self, part: f64, share: f64) -> bool {
        match self {
            Self::Entropy(entropy) => self.nats(share) < part * entropy || share <= 0.0,
            Self::Number => share < part,
        }
    }

    pub(super) fn nats(self, share: f64) -> f64 {
        match self {
            Self::Entropy(entropy) => share * entropy.max(RARE),
            Self::Number => -0.5 * (1.0 - share).max(MIN_NOISE).ln(),
        }
    }
}

/// A model, ready for walks.
#[derive(Debug)]
pub(super) struct Walks<'a> {
    pub(super) model: &'a LatentTree,
    pub(super) marginals: Vec<Marginal>,
    pub(super) kind: Kind,
}

/// The arithmetic of a walk.
#[derive(Debug)]
pub(super) enum Kind {
    Discrete(Steps),
    /// Correlations by node, with its parent.
    Gaussian(Vec<f64>),
}

impl<'a> Walks<'a> {
    pub(super) fn new(model: &'a LatentTree) -> Self {
        let marginals = model.marginals();
        let kind = match model.family() {
            Family::Discrete => Kind::Discrete(Steps::new(model)),
            Family::Gaussian => Kind::Gaussian(profile::correlations(model, &marginals)),
        };
        Self { model, marginals, kind }
    }

    /// The themes of a hidden node: each state except the first, and all states from one on; for a node with two states or a
    /// number, the node itself.
    pub(super) fn themes(&self, node: NodeIx) -> Vec<Theme> {
        let n_states = match &self.kind {
            Kind::Discrete(steps) => steps.marginals[node.get()].len(),
            Kind::Gaussian(_) => 0,
        };
        let theme = |states| Theme { node, states: Some(states) };
        match n_states {
            0..=2 => vec![Theme::whole(node)],
            3..=MAX_THEMES => {
                let tails = (1..n_states).map(|from| theme(from..n_states));
                tails.chain((1..n_states - 1).map(|state| theme(state..state + 1))).collect()
            }
            _ => vec![theme(1..n_states)],
        }
    }

    /// Visits the other nodes that a theme has at least `least` nats of information about.
    pub(super) fn visit(&self, theme: &Theme, least: f64, mut found: impl FnMut(NodeIx, f64)) {
        match &self.kind {
            Kind::Discrete(steps) => visit_discrete(steps, theme, least, &mut found),
            Kind::Gaussian(correlations) => self.visit_gaussian(correlations, theme.node, least, &mut found),
        }
    }

    fn visit_gaussian(&self, correlations: &[f64], origin: NodeIx, least: f64, found: &mut dyn FnMut(NodeIx, f64)) {
        let mut stack = vec![(origin, None, 1.0)];
        while let Some((node, from, correlation)) = stack.pop() {
            for link in self.model.tree().links(node).iter().filter(|link| Some(link.to) != from) {
                let child = if self.model.parent(node) == Some(link.to) { node } else { link.to };
                let beyond = correlation * correlations[child.get()];
                let nats = gaussian_information(beyond);
                if nats >= least {
                    found(link.to, nats);
                    stack.push((link.to, Some(node), beyond));
                }
            }
        }
    }

    /// The scale of each node; for a group, that of its label column with the highest entropy.
    pub(super) fn scales(&self) -> Vec<Scale> {
        let Kind::Discrete(steps) = &self.kind else { return vec![Scale::Number; self.model.tree().n_nodes()] };
        let own = |marginal: &Vec<f64>| if marginal.is_empty() { Scale::Number } else { Scale::Entropy(entropy(marginal)) };
        let mut scales: Vec<Scale> = steps.marginals.iter().map(own).collect();
        for (parent, attached) in steps.attached.iter().enumerate() {
            let above = &steps.marginals[parent];
            for it in attached.iter().filter(|it| it.content == Content::Labels) {
                let own = entropy(&chain(above, above.len(), &it.outcomes, it.n_outcomes));
                let known = match scales[it.node] {
                    Scale::Entropy(known) => known,
                    Scale::Number => 0.0,
                };
                scales[it.node] = Scale::Entropy(known.max(own));
            }
        }
        scales
    }

    /// The information of each of these themes about each variable; `places` maps nodes to indices of observed nodes.
    pub(super) fn all(&self, themes: &[Theme], places: &[Option<u32>], scales: &[Scale]) -> Vec<Vec<Says>> {
        let n_observed = places.iter().flatten().count();
        let least = if themes.len().saturating_mul(n_observed) > ALL_PAIRS { LITTLE } else { 0.0 };
        let most = (MAX_PAIRS / themes.len().max(1)).max(64);
        let of_theme = |theme: &Theme| {
            let mut says = Vec::new();
            self.visit(theme, least, |other, nats| {
                if let (Some(variable), true) = (places[other.get()], nats > 0.0) {
                    says.push(Says { variable, share: scales[other.get()].share(nats) as f32 });
                }
            });
            if says.len() > most {
                says.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.variable.cmp(&b.variable)));
                says.truncate(most);
            }
            says.sort_unstable_by_key(|says| says.variable);
            says.shrink_to_fit();
            says
        };
        themes.par_iter().map(of_theme).collect()
    }
}

fn visit_discrete(steps: &Steps, theme: &Theme, least: f64, found: &mut dyn FnMut(NodeIx, f64)) {
    let origin = theme.node.get();
    let (given, prior) = theme.sides(&steps.marginals[origin]);
    let prior = prior.as_slice();
    let mut stack = vec![(origin, usize::MAX, given)];
    while let Some((node, from, given)) = stack.pop() {
        let width = steps.marginals[node].len();
        for step in steps.steps[node].iter().filter(|step| step.to != from) {
            let beyond = chain(&given, width, &step.table, step.n_states);
            let nats = crate::information::of_table(prior, &beyond, step.n_states);
            if nats >= least {
                found(NodeIx::new(step.to), nats);
                stack.push((step.to, node, beyond));
            }
        }
        // The members of a group are one variable, represented by its most informative member.
        let mut members: Vec<(usize, f64)> = Vec::new();
        for column in &steps.attached[node] {
            let outcomes = chain(&given, width, &column.outcomes, column.n_outcomes);
            members.push((column.node, crate::information::of_table(prior, &outcomes, column.n_outcomes)));
        }
        members.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        members.dedup_by_key(|member| member.0);
        members.into_iter().filter(|member| member.1 >= least).for_each(|(node, nats)| found(NodeIx::new(node), nats));
    }
}

/// Information of two Gaussian variables with this correlation.
pub(super) fn gaussian_information(correlation: f64) -> f64 {
    -0.5 * (1.0 - correlation * correlation).max(MIN_NOISE).ln()
}

fn entropy(values: &[f64]) -> f64 {
    values.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
}
