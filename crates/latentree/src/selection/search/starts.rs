//! Starting models of a search: latent classes, islands of variables below them, and levels of islands.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use super::leaves::{joint, masses, proportions, rejoined};
use super::moves::{Judge, grown};
use super::mutual::{Labels, Mutual};
use super::residual::labels;
use crate::patch::{ALONE, Column, Columns, Leaf, Net, Node, Patch, Source};

/// Number of EM steps for a latent class model.
const CLASS_STEPS: usize = 40;

/// A latent class model of some variables: a star with states that are tilted apart at random.
pub(super) fn classes(variables: &[usize], n_states: usize, columns: &Columns, judge: &Judge<'_>, seed: u64) -> Patch {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut leaves = Vec::new();
    for &column in variables.iter().flat_map(|&variable| &columns.of_variable[variable]) {
        let own = crate::patch::alone(&columns.columns[column], &columns.weights, judge.floors.pseudo_count.max(1e-6));
        let mut values = Vec::with_capacity(n_states * own.len());
        for _ in 0..n_states {
            values.extend(leaning(&own, &columns.columns[column], &mut rng));
        }
        leaves.push(Leaf { at: 0, source: Source::Column(column), values });
    }
    let root = Node { n_states, parent: None, table: vec![1.0 / n_states as f64; n_states] };
    let mut patch = Patch { nodes: vec![root], leaves, background: None };
    patch.climb(columns, &judge.floors, CLASS_STEPS, 0.1);
    patch
}

fn leaning(own: &[f64], column: &Column, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut lean = || rng.sample::<f64, _>(StandardNormal);
    match column {
        Column::Numbers { is_count: true, .. } => vec![own[0] * (0.5 * lean()).exp()],
        Column::Numbers { .. } => vec![own[0] + 0.7 * lean() * own[1].sqrt(), own[1]],
        _ => {
            let raw: Vec<f64> = own.iter().map(|value| value * (0.6 * lean()).exp()).collect();
            let total: f64 = raw.iter().sum();
            raw.into_iter().map(|value| value / total).collect()
        }
    }
}

/// A net of separate stars; variables in no star stand alone.
pub(super) fn forest(stars: &[(Vec<usize>, Patch)], columns: &Columns, pseudo_count: f64) -> Net {
    let mut net = Net {
        states: Vec::new(),
        parent: Vec::new(),
        table: Vec::new(),
        observed: Vec::new(),
        leaf_of: vec![ALONE; columns.of_variable.len()],
        values: Net::independent(columns, pseudo_count.max(1e-6)),
    };
    for (ix, (variables, star)) in stars.iter().enumerate() {
        net.states.push(star.nodes[0].n_states);
        net.parent.push(None);
        net.table.push(star.nodes[0].table.clone());
        net.observed.push(None);
        variables.iter().for_each(|&variable| net.leaf_of[variable] = ix);
        for leaf in &star.leaves {
            if let Source::Column(column) = leaf.source {
                net.values[column].clone_from(&leaf.values);
            }
        }
    }
    net
}

/// A single class variable for all variables, with as many states as improve BIC.
pub(super) fn latent_classes(columns: &Columns, judge: &Judge<'_>, seed: u64) -> Net {
    let variables: Vec<usize> = (0..columns.of_variable.len()).collect();
    let n_states = judge.fixed_states.unwrap_or(2);
    let mut star = classes(&variables, n_states, columns, judge, seed);
    if judge.fixed_states.is_none() {
        star = grown(star, judge, seed);
    }
    forest(&[(variables, star)], columns, judge.floors.pseudo_count)
}

/// Islands of variables below the class of a latent class model; variables that form an island alone hang on the class
/// directly.
pub(super) fn islands_under_classes(
    groups: &[Vec<usize>],
    root_states: usize,
    columns: &Columns,
    judge: &Judge<'_>,
    seed: u64,
) -> Net {
    let variables: Vec<usize> = (0..columns.of_variable.len()).collect();
    let groups: Vec<&Vec<usize>> = groups.iter().filter(|group| group.len() >= 2).collect();
    let n_states = judge.fixed_states.unwrap_or(2);
    let root = classes(&variables, root_states, columns, judge, seed);
    let stars: Vec<(Vec<usize>, Patch)> = groups
        .par_iter()
        .enumerate()
        .map(|(at, group)| ((*group).clone(), classes(group, n_states, columns, judge, seed.wrapping_add(1 + at as u64))))
        .collect();
    let above = forest(&[(variables, root)], columns, judge.floors.pseudo_count);
    let below = forest(&stars, columns, judge.floors.pseudo_count);
    let class = &above.posteriors(columns)[0];
    let islands = below.posteriors(columns);
    let mut net = above.clone();
    for (ix, island) in islands.iter().enumerate() {
        net.states.push(island.n_states);
        net.parent.push(Some(0));
        net.observed.push(None);
        net.table.push(proportions(&joint(class, island, columns), island.n_states));
        for &variable in &stars[ix].0 {
            net.leaf_of[variable] = ix + 1;
            for &column in &columns.of_variable[variable] {
                net.values[column].clone_from(&below.values[column]);
            }
        }
    }
    net.prune(columns);
    net
}

/// Maximum number of members of an island of variables, and of an island of islands.
const LARGEST_ISLAND: usize = 15;
const LARGEST_GROUP: usize = 5;
/// Maximum number of nodes on the highest level.
const HIGHEST: usize = 30;
/// Number of pairs of labels up to which levels are tried.
pub(super) const WIDEST: usize = 12_000;
/// Number of variables up to which the learner tells columns that avoid each other apart. With more, an island is seldom without
/// a better candidate, and the results of large texts (KOS, NIPS) stay as they were measured.
pub(super) const MOST_APART: usize = 1_000;
/// BIC margin by which two hidden variables must be better than one.
const BETTER: f64 = 3.0;

/// Levels: islands of variables explained by one hidden variable, then islands of islands, until few remain; those are joined
/// by a spanning tree. With `is_apart`, a column that avoids the members of an island joins it only if the column nearest to it
/// would, too.
pub(super) fn levels(columns: &Columns, judge: &Judge<'_>, seed: u64, is_apart: bool) -> Option<Net> {
    let first: Vec<Labels> = columns
        .of_variable
        .par_iter()
        .map(|own| {
            let leaf = Leaf { at: 0, source: Source::Column(own[0]), values: Vec::new() };
            let (n_labels, of_row) = labels(&leaf, columns);
            Labels { n_labels, of_row }
        })
        .collect();
    if first.iter().map(|column| column.n_labels - 1).sum::<usize>() > WIDEST {
        return None;
    }
    let groups = islands(&first, columns, judge, LARGEST_ISLAND, is_apart);
    let stars: Vec<(Vec<usize>, Patch)> = groups
        .into_par_iter()
        .enumerate()
        .map(|(at, group)| {
            let star = best_classes(&group, columns, judge, seed.wrapping_add(at as u64 * 7919));
            (group, star)
        })
        .collect();
    let mut net = forest(&stars, columns, judge.floors.pseudo_count);
    // Nodes that have no parent yet.
    let mut top: Vec<usize> = (0..net.n_hidden()).collect();
    for level in 1..8_u64 {
        if top.len() <= HIGHEST {
            break;
        }
        let posteriors = net.posteriors(columns);
        let own: Vec<Labels> = top.iter().map(|&ix| hard(&posteriors[ix].values, net.states[ix], columns.n_rows)).collect();
        let upper = Columns::of_labels(&own, &columns.weights);
        let of_upper = Judge { columns: &upper, ..*judge };
        let groups = islands(&own, &upper, &of_upper, LARGEST_GROUP, is_apart);
        if groups.len() == top.len() {
            break;
        }
        let stars: Vec<(Vec<usize>, Patch)> = groups
            .into_par_iter()
            .enumerate()
            .map(|(at, group)| {
                let star = best_classes(&group, &upper, &of_upper, seed.wrapping_add(level * 104_729 + at as u64));
                (group, star)
            })
            .collect();
        let mut next = Vec::new();
        for (group, star) in stars {
            if group.len() < 2 {
                next.push(top[group[0]]);
                continue;
            }
            let ix = net.n_hidden();
            net.states.push(star.nodes[0].n_states);
            net.parent.push(None);
            net.table.push(star.nodes[0].table.clone());
            net.observed.push(None);
            for (&member, leaf) in group.iter().zip(&star.leaves) {
                net.parent[top[member]] = Some(ix);
                net.table[top[member]].clone_from(&leaf.values);
            }
            next.push(ix);
        }
        top = next;
    }
    // The highest nodes are joined by a spanning tree; those not worth an edge stay separate.
    let posteriors = net.posteriors(columns);
    let mut above = Net { leaf_of: Vec::new(), values: Vec::new(), ..net.clone() };
    above.states = top.iter().map(|&ix| net.states[ix]).collect();
    above.parent = vec![None; top.len()];
    above.table = top.iter().map(|&ix| proportions(&masses(&posteriors[ix], columns), net.states[ix])).collect();
    let chosen: Vec<_> = top.iter().map(|&ix| posteriors[ix].clone()).collect();
    let above = rejoined(&above, &chosen, columns, judge.cost);
    for (at, &ix) in top.iter().enumerate() {
        net.parent[ix] = above.parent[at].map(|parent| top[parent]);
        net.table[ix].clone_from(&above.table[at]);
    }
    net.prune(columns);
    Some(net)
}

fn hard(posterior: &[f32], n_states: usize, n_rows: usize) -> Labels {
    let label = |row: usize| {
        let value = |state: usize| posterior[state * n_rows + row];
        let labels = 0..n_states.min(usize::from(u8::MAX));
        labels.max_by(|&a, &b| value(a).total_cmp(&value(b)).then(b.cmp(&a))).unwrap_or(0) as u8
    };
    Labels { n_labels: n_states, of_row: (0..n_rows).into_par_iter().map(label).collect() }
}

fn best_classes(group: &[usize], columns: &Columns, judge: &Judge<'_>, seed: u64) -> Patch {
    let n_states = judge.fixed_states.unwrap_or(2);
    let star = classes(group, n_states, columns, judge, seed);
    if group.len() < 3 || judge.fixed_states.is_some() { star } else { grown(star, judge, seed) }
}

/// Groups of at most `most` columns explained by one hidden variable. The strongest pair starts a group, and the column with
/// the most information about a member joins, until a test on four columns shows that two hidden variables are better: the
/// new column and the closest member beside two other members; or, with `is_apart`, if its labels avoid those of the closest
/// member and it has more information about a column outside, these two beside two members.
fn islands(own: &[Labels], columns: &Columns, judge: &Judge<'_>, most: usize, is_apart: bool) -> Vec<Vec<usize>> {
    let n = own.len();
    let mutual = Mutual::new(own, &columns.weights);
    let mut free = vec![true; n];
    // The strongest remaining partner of each column.
    let strongest = |ix: usize, free: &[bool]| {
        let others = (0..n).filter(|&other| other != ix && free[other]);
        others.max_by(|&a, &b| mutual.of(ix, a).total_cmp(&mutual.of(ix, b)).then(b.cmp(&a)))
    };
    let mut partner: Vec<Option<usize>> = (0..n).into_par_iter().map(|ix| strongest(ix, &free)).collect();
    let mut groups = Vec::new();
    loop {
        let value = |ix: usize| partner[ix].map_or(f64::NEG_INFINITY, |other| mutual.of(ix, other));
        let seed = (0..n).filter(|&ix| free[ix]).max_by(|&a, &b| value(a).total_cmp(&value(b)).then(b.cmp(&a)));
        let Some(seed) = seed else { break };
        free[seed] = false;
        let mut group = vec![seed];
        // A pair must be worth a hidden variable at all.
        let worth = |a: usize, b: usize| {
            let n_free = (own[a].n_labels - 1) * (own[b].n_labels - 1);
            mutual.of(a, b) > judge.cost * n_free as f64
        };
        if let Some(other) = partner[seed].filter(|&other| worth(seed, other)) {
            free[other] = false;
            group.push(other);
            while group.len() < most {
                let near = |ix: usize| group.iter().map(|&member| mutual.of(ix, member)).fold(0.0, f64::max);
                let next = (0..n).filter(|&ix| free[ix]).max_by(|&a, &b| near(a).total_cmp(&near(b)).then(b.cmp(&a)));
                let Some(next) = next else { break };
                let closest =
                    group.iter().copied().max_by(|&a, &b| mutual.of(next, a).total_cmp(&mutual.of(next, b)).then(b.cmp(&a)));
                let Some(closest) = closest.filter(|&closest| worth(next, closest)) else { break };
                // A word of another topic is absent where the group's words are, which one hidden variable explains as well. Its
                // nearest column tells them apart.
                let outside = (0..n).filter(|ix| is_apart && *ix != next && !group.contains(ix));
                let nearest = outside.max_by(|&a, &b| mutual.of(next, a).total_cmp(&mutual.of(next, b)).then(b.cmp(&a)));
                if let Some(nearest) = nearest.filter(|&nearest| mutual.of(next, nearest) > mutual.of(next, closest))
                    && mutual.avoid(next, closest, own, &columns.weights)
                {
                    let other = group.iter().copied().find(|&it| it != closest).unwrap_or(seed);
                    if !is_one([other, closest, next, nearest], own, columns, judge) {
                        break;
                    }
                }
                if group.len() >= 3 {
                    let others: Vec<usize> = group.iter().copied().filter(|&it| it != closest).take(2).collect();
                    if !is_one([others[0], others[1], closest, next], own, columns, judge) {
                        break;
                    }
                }
                free[next] = false;
                group.push(next);
            }
        }
        let stale: Vec<usize> = (0..n).filter(|&ix| free[ix] && partner[ix].is_some_and(|other| !free[other])).collect();
        let found: Vec<(usize, Option<usize>)> = stale.into_par_iter().map(|ix| (ix, strongest(ix, &free))).collect();
        found.into_iter().for_each(|(ix, other)| partner[ix] = other);
        groups.push(group);
    }
    groups
}

/// Returns whether one hidden variable explains four columns about as well as two, one of which has the last two columns.
fn is_one(four: [usize; 4], own: &[Labels], columns: &Columns, judge: &Judge<'_>) -> bool {
    const MAX_CELLS: usize = 100_000;
    // A mostly empty table is not informative about two hidden variables.
    if four.iter().map(|&ix| own[ix].n_labels + 1).product::<usize>() > MAX_CELLS {
        return true;
    }
    let table = Columns::of_patterns(&four.map(|ix| &own[ix]), &columns.weights);
    let judge = Judge { columns: &table, ..*judge };
    let leaf = |column: usize, at: usize| {
        let own = crate::patch::alone(&table.columns[column], &table.weights, 0.1);
        let usual = (0..own.len()).max_by(|&a, &b| own[a].total_cmp(&own[b]).then(b.cmp(&a))).unwrap_or(0);
        let tilted = |sign: f64| {
            let raw: Vec<f64> =
                own.iter().enumerate().map(|(label, value)| value * (if label == usual { -sign } else { sign }).exp()).collect();
            let total: f64 = raw.iter().sum();
            raw.into_iter().map(move |value| value / total)
        };
        Leaf { at, source: Source::Column(column), values: tilted(-0.8).chain(tilted(0.8)).collect() }
    };
    let root = || Node { n_states: 2, parent: None, table: vec![0.6, 0.4] };
    let mut one = Patch { nodes: vec![root()], leaves: (0..4).map(|column| leaf(column, 0)).collect(), background: None };
    let below = Node { n_states: 2, parent: Some(0), table: vec![0.8, 0.2, 0.2, 0.8] };
    let mut two = Patch {
        nodes: vec![root(), below],
        leaves: (0..4).map(|column| leaf(column, usize::from(column >= 2))).collect(),
        background: None,
    };
    judge.bic(&mut two, 80) < judge.bic(&mut one, 80) + BETTER
}

impl Columns {
    /// Columns made of labels only.
    pub(super) fn of_labels(own: &[Labels], weights: &[f64]) -> Self {
        let column =
            |labels: &Labels| Column::of_codes(labels.n_labels, labels.of_row.iter().map(|&label| u16::from(label)).collect());
        Self {
            n_rows: weights.len(),
            weights: weights.to_vec(),
            weight: weights.iter().sum(),
            scale: 1.0,
            columns: own.iter().map(column).collect(),
            of_variable: (0..own.len()).map(|ix| vec![ix]).collect(),
            is_group: vec![false; own.len()],
        }
    }

    /// The distinct rows of a few columns, with their weights.
    fn of_patterns(own: &[&Labels], weights: &[f64]) -> Self {
        let place = |row: usize| {
            own.iter().fold(0, |sum, labels| sum * (labels.n_labels + 1) + usize::from(labels.of_row[row]).min(labels.n_labels))
        };
        let n_cells = own.iter().map(|labels| labels.n_labels + 1).product();
        let mut cells = vec![0.0; n_cells];
        weights.iter().enumerate().for_each(|(row, weight)| cells[place(row)] += weight);
        let seen: Vec<usize> = (0..n_cells).filter(|&cell| cells[cell] > 0.0).collect();
        let mut labels: Vec<Labels> =
            own.iter().map(|labels| Labels { n_labels: labels.n_labels, of_row: Vec::with_capacity(seen.len()) }).collect();
        for &cell in &seen {
            let mut rest = cell;
            for to in labels.iter_mut().rev() {
                to.of_row.push((rest % (to.n_labels + 1)) as u8);
                rest /= to.n_labels + 1;
            }
        }
        let weights: Vec<f64> = seen.iter().map(|&cell| cells[cell]).collect();
        Self::of_labels(&labels, &weights)
    }
}
