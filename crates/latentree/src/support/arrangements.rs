//! The rearrangements of one edge of a discrete model, fitted: its neighbours moved and swapped, and its ends merged.

use std::collections::HashMap;

use super::local::{Arrangement, Fit, Surroundings};
use super::messages::{Messages, Part, Reader};
use super::sample::Sample;
use super::weigh::{Alternative, Compared};
use crate::index::NodeIx;
use crate::model::{Emission, LatentTree, Table};
use crate::parameters::em::Smoothing;

/// Moves and swaps that are fitted, of those that look best.
const MOST_FITTED: usize = 6;
/// Branches of each end that are tried in swaps.
const MOST_SWAPPED: usize = 4;
/// Steps of EM for each arrangement.
const STEPS: usize = 60;
/// A step that gains less ends EM.
const TOLERANCE: f64 = 0.02;
/// An arrangement that stays behind the present one by more than this has no weight and is not fitted to the end.
const HOPELESS: f64 = 60.0;

/// An edge with everything around it.
pub(super) struct Edge {
    pub(super) surroundings: Surroundings,
    pub(super) present: Arrangement,
    /// The other ends of the branches.
    pub(super) outer: Vec<NodeIx>,
    /// Which of the different rows each sampled row is.
    pub(super) kinds_of_rows: Vec<u32>,
    scale: f64,
}

impl Edge {
    pub(super) fn new(model: &LatentTree, messages: &Messages<'_>, sample: &Sample, ends: [NodeIx; 2]) -> Self {
        let [u, v] = ends;
        let smoothing = Smoothing::default();
        let (mut outer, mut second, mut branches, mut parameters) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (node, other) in [(u, v), (v, u)] {
            for link in model.tree().links(node).iter().filter(|link| link.to != other) {
                let (parts, own) = messages.branch(node, link.to);
                outer.push(link.to);
                second.push(node == v);
                branches.push(parts);
                parameters.push(own);
            }
        }
        let floors = branches.iter().zip(&parameters).map(|(parts, own): (&Vec<Part<'_>>, &Vec<Emission>)| {
            parts.iter().zip(own).map(|(part, parameter)| floor(part, parameter, &smoothing)).collect()
        });
        let between = messages.conditional(u, v);
        let joint = messages.marginal(u).iter().zip(between.rows()).flat_map(|(p, row)| row.iter().map(move |q| p * q)).collect();
        let floors = floors.collect();
        let (kinds_of_rows, firsts) = different_rows(&branches, sample.n_rows());
        let mut weights = vec![0.0; firsts.len()];
        kinds_of_rows.iter().zip(&sample.weights).for_each(|(&kind, weight)| weights[kind as usize] += weight);
        let branches = branches.iter().map(|parts| parts.iter().map(|part| part.chosen(&firsts)).collect()).collect();
        Self {
            surroundings: Surroundings { weights, branches, floors, smoothing },
            present: Arrangement { n_states: [between.n_parent_states(), between.n_states()], joint, second, parameters },
            outer,
            kinds_of_rows,
            scale: sample.scale(),
        }
    }

    fn n_at(&self, side: bool) -> usize {
        self.present.second.iter().filter(|&&it| it == side).count()
    }

    /// The present arrangement, its rearrangements and the merged node, fitted alike; and the merged node.
    pub(super) fn compared(&self) -> (Compared, Arrangement) {
        let tolerance = TOLERANCE / self.scale.max(1.0).sqrt();
        let present = self.surroundings.fit(self.present.clone(), STEPS, tolerance, f64::NEG_INFINITY);
        let least = present.ln_likelihood - HOPELESS / self.scale.max(1.0);
        let fit = |arrangement: Arrangement| self.surroundings.fit(arrangement, STEPS, tolerance, least);
        let merged = [false, true].map(|into_second| fit(merged(&present.arrangement, into_second)));
        let criterion = |fit: &Fit| self.scale * fit.ln_likelihood - 0.5 * fit.arrangement.n_parameters() as f64 * self.n().ln();
        let [first, second] = merged;
        let merged = if criterion(&first) >= criterion(&second) { first } else { second };
        let others = self.candidates(&present.arrangement).into_iter().map(|second| {
            let size = second.iter().filter(|&&it| it).count();
            self.alternative(&fit(rearranged(&present.arrangement, &second)), Some([second.len() - size, size]))
        });
        let compared = Compared {
            n: self.n(),
            scale: self.scale,
            present: self.alternative(&present, Some([self.n_at(false), self.n_at(true)])),
            merged: self.alternative(&merged, None),
            rearranged: others.collect(),
        };
        (compared, merged.arrangement)
    }

    fn n(&self) -> f64 {
        self.scale * self.surroundings.weights.iter().sum::<f64>()
    }

    fn alternative(&self, fit: &Fit, sizes: Option<[usize; 2]>) -> Alternative {
        let mut rows = Vec::with_capacity(self.surroundings.weights.len());
        self.surroundings.step(&fit.arrangement, Some(&mut rows));
        Alternative { ln_likelihood: fit.ln_likelihood, n_parameters: fit.arrangement.n_parameters() as f64, sizes, rows }
    }

    /// The moves and swaps that look best by one step from the present arrangement.
    fn candidates(&self, present: &Arrangement) -> Vec<Vec<bool>> {
        let gains = self.gains(present);
        let by_gain = |side: bool| {
            let mut own: Vec<usize> = (0..gains.len()).filter(|&branch| present.second[branch] == side).collect();
            own.sort_by(|&a, &b| gains[b].total_cmp(&gains[a]).then(a.cmp(&b)));
            own
        };
        let sides = [by_gain(false), by_gain(true)];
        let flipped = |branches: &[usize]| {
            let mut second = present.second.clone();
            branches.iter().for_each(|&branch| second[branch] = !second[branch]);
            second
        };
        let mut found: Vec<(f64, Vec<bool>)> = Vec::new();
        for side in &sides {
            if side.len() >= 3 {
                found.extend(side.iter().take(MOST_SWAPPED).map(|&branch| (gains[branch], flipped(&[branch]))));
            }
        }
        for &a in sides[0].iter().take(MOST_SWAPPED) {
            for &b in sides[1].iter().take(MOST_SWAPPED) {
                found.push((gains[a] + gains[b], flipped(&[a, b])));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut chosen: Vec<Vec<bool>> = Vec::new();
        for (_, second) in found {
            let mirrored: Vec<bool> = second.iter().map(|it| !it).collect();
            if !chosen.contains(&second) && !chosen.contains(&mirrored) {
                chosen.push(second);
            }
            if chosen.len() == MOST_FITTED {
                break;
            }
        }
        chosen
    }

    /// What each branch would gain at the other end, everything else as it is.
    fn gains(&self, present: &Arrangement) -> Vec<f64> {
        let [k, l] = present.n_states;
        let n_branches = self.surroundings.branches.len();
        let messages: Vec<Vec<f64>> =
            (0..n_branches).map(|branch| self.message(branch, &present.parameters[branch], present.states_at(branch))).collect();
        let n_rows = self.surroundings.weights.len();
        // ln of the product of all branches at each end would underflow; posteriors of the ends do not.
        let mut at = [vec![0.0; n_rows * k], vec![0.0; n_rows * l]];
        for branch in 0..n_branches {
            let sums = &mut at[usize::from(present.second[branch])];
            sums.iter_mut().zip(&messages[branch]).for_each(|(sum, value)| *sum += value.max(1e-300).ln());
        }
        (0..n_branches)
            .map(|branch| {
                let side = usize::from(present.second[branch]);
                let (own, other) = (present.n_states[side], present.n_states[1 - side]);
                let joint = |x: usize, y: usize| if side == 0 { present.joint[x * l + y] } else { present.joint[y * l + x] };
                // Posteriors of both ends without the branch, row by row.
                let mut without = [vec![0.0; n_rows * own], vec![0.0; n_rows * other]];
                for row in 0..n_rows {
                    let message = &messages[branch][row * own..][..own];
                    let mine: Vec<f64> = (0..own).map(|x| at[side][row * own + x] - message[x].max(1e-300).ln()).collect();
                    let theirs = &at[1 - side][row * other..][..other];
                    let tops = [
                        mine.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                        theirs.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    ];
                    for x in 0..own {
                        for y in 0..other {
                            let value = joint(x, y) * (mine[x] - tops[0] + theirs[y] - tops[1]).exp();
                            without[0][row * own + x] += value;
                            without[1][row * other + y] += value;
                        }
                    }
                    for (values, n) in without.iter_mut().zip([own, other]) {
                        let values = &mut values[row * n..][..n];
                        let sum = values.iter().sum::<f64>().max(1e-300);
                        values.iter_mut().for_each(|value| *value /= sum);
                    }
                }
                let there = projected(&present.parameters[branch], &conditional(present, 1 - side));
                let there = self.refitted(branch, there, &without[1], other);
                let message = self.message(branch, &there, other);
                let value = |message: &[f64], prior: &[f64], n: usize, row: usize| {
                    message[row * n..][..n].iter().zip(&prior[row * n..][..n]).map(|(a, b)| a * b).sum::<f64>().max(1e-300).ln()
                };
                let rows = self.surroundings.weights.iter().enumerate();
                rows.map(|(row, weight)| {
                    weight * (value(&message, &without[1], other, row) - value(&messages[branch], &without[0], own, row))
                })
                .sum()
            })
            .collect()
    }

    /// What a branch says about each state of its centre, row by row.
    fn message(&self, branch: usize, parameters: &[Emission], k: usize) -> Vec<f64> {
        let n_rows = self.surroundings.weights.len();
        let mut product = vec![1.0; n_rows * k];
        let mut message = vec![0.0; k];
        for (part, parameter) in self.surroundings.branches[branch].iter().zip(parameters) {
            let reader = Reader::new(part.borrowed(), parameter, k);
            for (row, values) in product.chunks_exact_mut(k).enumerate() {
                // The factor is not that of the parameters alone: it must count where they are compared.
                let factor = reader.read(row, &mut message).clamp(-200.0, 200.0).exp();
                values.iter_mut().zip(&message).for_each(|(value, it)| *value *= it * factor);
            }
        }
        product
    }

    /// Parameters of a branch after one step of EM in which its centre has the given prior in every row.
    fn refitted(&self, branch: usize, parameters: Vec<Emission>, prior: &[f64], k: usize) -> Vec<Emission> {
        let mut shares = vec![0.0; k];
        let mut message = vec![0.0; k];
        let parts = self.surroundings.branches[branch].iter().zip(&parameters).enumerate();
        parts
            .map(|(at, (part, parameter))| {
                let reader = Reader::new(part.borrowed(), parameter, k);
                let mut sums = vec![0.0; reader.counts_len()];
                for (row, weight) in self.surroundings.weights.iter().enumerate() {
                    reader.read(row, &mut message);
                    let prior = &prior[row * k..][..k];
                    let total = message.iter().zip(prior).map(|(a, b)| a * b).sum::<f64>();
                    if total > 0.0 {
                        shares
                            .iter_mut()
                            .zip(message.iter().zip(prior))
                            .for_each(|(share, (a, b))| *share = weight * a * b / total);
                        reader.count(row, &shares, &message, &mut sums);
                    }
                }
                self.surroundings.maximised(parameter, &sums, reader.shift(), self.surroundings.floors[branch][at])
            })
            .collect()
    }
}

/// The different rows around an edge: the number of each row's kind, and the first row of each kind. In sparse tables they are few.
fn different_rows(branches: &[Vec<Part<'_>>], n_rows: usize) -> (Vec<u32>, Vec<usize>) {
    let mut seen: HashMap<Vec<u64>, u32> = HashMap::new();
    let mut firsts = Vec::new();
    let kinds = (0..n_rows).map(|row| {
        let mut key = Vec::with_capacity(branches.len() + 4);
        branches.iter().flatten().for_each(|part| part.add_to_key(row, &mut key));
        *seen.entry(key).or_insert_with(|| {
            firsts.push(row);
            (firsts.len() - 1) as u32
        })
    });
    (kinds.collect(), firsts)
}

fn floor(part: &Part<'_>, parameter: &Emission, smoothing: &Smoothing) -> f64 {
    let Part::Reals { values } = part else { return 0.0 };
    let seen = || values.iter().filter(|value| !value.is_nan());
    let n = seen().count().max(1) as f64;
    let mean = seen().sum::<f64>() / n;
    match parameter {
        Emission::Poisson { .. } => (smoothing.rate_floor * mean).max(1e-12),
        _ => {
            let variance = seen().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n;
            (smoothing.variance_floor * variance).max(1e-12 * mean * mean).max(1e-300)
        }
    }
}

/// `P(other | end)` for the two ends of an arrangement; `end` is the one that is given.
fn conditional(arrangement: &Arrangement, end: usize) -> Table {
    let [k, l] = arrangement.n_states;
    let (own, other) = (arrangement.n_states[end], arrangement.n_states[1 - end]);
    let entry = |x: usize, y: usize| if end == 0 { arrangement.joint[x * l + y] } else { arrangement.joint[y * l + x] };
    debug_assert_eq!(k * l, arrangement.joint.len());
    let values = (0..own).flat_map(|x| {
        let row: Vec<f64> = (0..other).map(|y| entry(x, y)).collect();
        let sum: f64 = row.iter().sum();
        row.into_iter().map(move |value| if sum > 0.0 { value / sum } else { 1.0 / other as f64 })
    });
    Table::new(other, values.collect())
}

/// Parameters given one node, for another from which the first follows by a table: mixtures, of numbers with the mixture's mean and variance.
fn projected(parameters: &[Emission], table: &Table) -> Vec<Emission> {
    let mix = |values: &[f64]| -> Vec<f64> {
        table.rows().map(|row| row.iter().zip(values).map(|(p, value)| p * value).sum()).collect()
    };
    let one = |parameter: &Emission| match parameter {
        Emission::Categorical(own) => {
            let n = own.n_states();
            let values = table
                .rows()
                .flat_map(|row| (0..n).map(move |state| row.iter().zip(own.rows()).map(|(p, given)| p * given[state]).sum()));
            Emission::Categorical(Table::new(n, values.collect()))
        }
        Emission::Gaussian { means, variances } => {
            let mixed = mix(means);
            let squares: Vec<f64> = means.iter().zip(variances).map(|(mean, variance)| mean * mean + variance).collect();
            let least = variances.iter().copied().fold(f64::INFINITY, f64::min);
            let variances = mix(&squares).iter().zip(&mixed).map(|(square, mean)| (square - mean * mean).max(least)).collect();
            Emission::Gaussian { means: mixed, variances }
        }
        Emission::Poisson { rates } => Emission::Poisson { rates: mix(rates) },
        Emission::Group(_) => parameter.clone(),
    };
    parameters.iter().map(one).collect()
}

/// The start of an arrangement with other branches at the second end.
pub(super) fn rearranged(present: &Arrangement, second: &[bool]) -> Arrangement {
    let tables = [conditional(present, 0), conditional(present, 1)];
    let parameters = second.iter().enumerate().map(|(branch, &to_second)| {
        let own = &present.parameters[branch];
        if to_second == present.second[branch] { own.clone() } else { projected(own, &tables[usize::from(to_second)]) }
    });
    Arrangement { parameters: parameters.collect(), second: second.to_vec(), ..present.clone() }
}

/// The start of a single node in place of two, which has the states of one of them.
pub(super) fn merged(present: &Arrangement, into_second: bool) -> Arrangement {
    let end = usize::from(into_second);
    let second = vec![into_second; present.second.len()];
    let moved = rearranged(present, &second);
    let l = present.n_states[1];
    let prior: Vec<f64> = (0..present.n_states[end])
        .map(|x| {
            (0..present.n_states[1 - end])
                .map(|y| if end == 0 { present.joint[x * l + y] } else { present.joint[y * l + x] })
                .sum()
        })
        .collect();
    Arrangement {
        n_states: [present.n_states[end], 1],
        joint: prior,
        second: vec![false; second.len()],
        parameters: moved.parameters,
    }
}
