//! One or two joined hidden nodes and what hangs on them: likelihood and EM on the local parameters alone.

use super::messages::{OwnPart, Reader};
use crate::model::{Emission, Table};
use crate::parameters::em::Smoothing;

/// What hangs on an edge: the branches of both ends, compressed to what they say row by row.
pub(super) struct Surroundings {
    /// Of different rows.
    pub(super) weights: Vec<f64>,
    /// The parts of each branch.
    pub(super) branches: Vec<Vec<OwnPart>>,
    /// Least variance or rate of each part, where it has one.
    pub(super) floors: Vec<Vec<f64>>,
    pub(super) smoothing: Smoothing,
}

/// An arrangement of the branches around two joined nodes, with parameters. A single node is joined to one of a single state.
#[derive(Debug, Clone)]
pub(super) struct Arrangement {
    /// States of the two nodes.
    pub(super) n_states: [usize; 2],
    /// Their joint distribution, row by row.
    pub(super) joint: Vec<f64>,
    /// Which branches hang on the second.
    pub(super) second: Vec<bool>,
    /// The parameters of each branch's parts.
    pub(super) parameters: Vec<Vec<Emission>>,
}

impl Arrangement {
    /// The number of states that a branch hangs on.
    pub(super) fn states_at(&self, branch: usize) -> usize {
        self.n_states[usize::from(self.second[branch])]
    }

    /// Free parameters of the two nodes and the branches.
    pub(super) fn n_parameters(&self) -> usize {
        let branches = self.parameters.iter().flatten().map(Emission::n_free_parameters).sum::<usize>();
        self.joint.len() - 1 + branches
    }
}

/// A fitted arrangement.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub(super) arrangement: Arrangement,
    /// Of the sampled rows, up to a constant of the surroundings.
    pub(super) ln_likelihood: f64,
}

/// What an E-step collects.
struct Counts {
    joint: Vec<f64>,
    parts: Vec<Vec<Vec<f64>>>,
}

impl Surroundings {
    /// EM until a step gains less than `tolerance`, or `most` steps. The log-likelihood is that of the last model that was looked at, and what geometric
    /// convergence would still add to it. What would stay below `least` is given up early.
    pub(super) fn fit(&self, mut arrangement: Arrangement, most: usize, tolerance: f64, least: f64) -> Fit {
        let (mut value, mut last_gain, mut limit) = (f64::NEG_INFINITY, f64::INFINITY, 0.0);
        for step in 0..=most {
            let (found, next) = self.step(&arrangement, None);
            let gain = found - value;
            if step > 0 && gain < 0.0 {
                break;
            }
            let ratio = gain / last_gain;
            limit = if ratio > 0.0 && ratio < 0.98 { gain * ratio / (1.0 - ratio) } else { 0.0 };
            (value, last_gain) = (found, gain);
            let is_hopeless = step >= 4 && value + 40.0 * gain < least;
            if gain < tolerance || step == most || is_hopeless {
                break;
            }
            arrangement = next;
        }
        Fit { arrangement, ln_likelihood: value + limit.min(last_gain.min(1e9) * 20.0) }
    }

    /// The log-likelihood of the rows under an arrangement, and the arrangement after a step of EM. `rows` takes the log-likelihood of each row.
    pub(super) fn step(&self, arrangement: &Arrangement, mut rows: Option<&mut Vec<f64>>) -> (f64, Arrangement) {
        let [k, l] = arrangement.n_states;
        let widest = k.max(l);
        let readers: Vec<Vec<Reader<'_>>> = (0..self.branches.len())
            .map(|branch| {
                let parts = self.branches[branch].iter().zip(&arrangement.parameters[branch]);
                parts.map(|(part, parameter)| Reader::new(part.borrowed(), parameter, arrangement.states_at(branch))).collect()
            })
            .collect();
        let n_parts: usize = readers.iter().map(Vec::len).sum();
        let mut counts = Counts {
            joint: vec![0.0; k * l],
            parts: readers.iter().map(|it| it.iter().map(|reader| vec![0.0; reader.counts_len()]).collect()).collect(),
        };
        let mut messages = vec![0.0; n_parts * widest];
        let (mut at, mut posterior) = ([vec![1.0; k], vec![1.0; l]], vec![0.0; k * l]);
        let mut shares = [vec![0.0; k], vec![0.0; l]];
        let mut sum = 0.0;
        for (row, &weight) in self.weights.iter().enumerate() {
            at.iter_mut().for_each(|values| values.fill(1.0));
            let mut ln_scale = 0.0;
            let mut places = messages.chunks_exact_mut(widest);
            for (branch, readers) in readers.iter().enumerate() {
                let side = &mut at[usize::from(arrangement.second[branch])];
                for reader in readers {
                    let message = places.next().expect("one message for each part");
                    ln_scale += reader.read(row, message);
                    let mut largest = 0.0;
                    for (value, factor) in side.iter_mut().zip(message.iter()) {
                        *value *= factor;
                        largest = f64::max(largest, *value);
                    }
                    if largest < 1e-60 && largest > 0.0 {
                        side.iter_mut().for_each(|value| *value /= largest);
                        ln_scale += largest.ln();
                    }
                }
            }
            let mut total = 0.0;
            for x in 0..k {
                for y in 0..l {
                    let value = arrangement.joint[x * l + y] * at[0][x] * at[1][y];
                    posterior[x * l + y] = value;
                    total += value;
                }
            }
            // A row that the arrangement excludes counts as very improbable, and teaches nothing.
            let ln_row = if total > 0.0 { total.ln() + ln_scale } else { -700.0 };
            if let Some(rows) = rows.as_deref_mut() {
                rows.push(ln_row);
            }
            sum += weight * ln_row;
            if total <= 0.0 {
                continue;
            }
            shares.iter_mut().for_each(|values| values.fill(0.0));
            let factor = weight / total;
            for x in 0..k {
                for y in 0..l {
                    let share = posterior[x * l + y] * factor;
                    counts.joint[x * l + y] += share;
                    shares[0][x] += share;
                    shares[1][y] += share;
                }
            }
            let mut places = messages.chunks_exact(widest);
            for (branch, readers) in readers.iter().enumerate() {
                let shares = &shares[usize::from(arrangement.second[branch])];
                for (reader, sums) in readers.iter().zip(&mut counts.parts[branch]) {
                    reader.count(row, shares, places.next().expect("one message for each part"), sums);
                }
            }
        }
        let parameters = (0..self.branches.len()).map(|branch| {
            let parts =
                arrangement.parameters[branch].iter().zip(&counts.parts[branch]).zip(&readers[branch]).zip(&self.floors[branch]);
            parts.map(|(((old, sums), reader), &floor)| self.maximised(old, sums, reader.shift(), floor)).collect()
        });
        let next = Arrangement {
            joint: normalised(&counts.joint, self.smoothing.pseudo_count),
            parameters: parameters.collect(),
            ..arrangement.clone()
        };
        (sum, next)
    }

    pub(super) fn maximised(&self, old: &Emission, sums: &[f64], shift: f64, floor: f64) -> Emission {
        match old {
            Emission::Categorical(table) => {
                let (k, n) = (table.n_parent_states(), table.n_states());
                let values = (0..k).flat_map(|centre| {
                    let row: Vec<f64> = (0..n).map(|state| sums[state * k + centre]).collect();
                    normalised(&row, self.smoothing.pseudo_count)
                });
                Emission::Categorical(Table::new(n, values.collect()))
            }
            Emission::Gaussian { means, variances } => {
                let parts = sums.chunks_exact(3).zip(means.iter().zip(variances)).map(|(sums, (&mean, &variance))| {
                    if sums[0] < 1e-9 {
                        return (mean, variance);
                    }
                    let centre = sums[1] / sums[0];
                    (centre + shift, (sums[2] / sums[0] - centre * centre).max(floor))
                });
                let (means, variances) = parts.unzip();
                Emission::Gaussian { means, variances }
            }
            Emission::Poisson { rates } => {
                let rates = sums.chunks_exact(3).zip(rates);
                Emission::Poisson {
                    rates: rates
                        .map(|(sums, &rate)| if sums[0] < 1e-9 { rate } else { (sums[1] / sums[0]).max(floor) })
                        .collect(),
                }
            }
            Emission::Group(_) => old.clone(),
        }
    }
}

/// Counts as probabilities, with a pseudo-count; equal ones where there are none.
fn normalised(counts: &[f64], pseudo_count: f64) -> Vec<f64> {
    let sum: f64 = counts.iter().map(|count| count + pseudo_count).sum();
    let even = 1.0 / counts.len() as f64;
    counts.iter().map(|count| if sum > 0.0 { (count + pseudo_count) / sum } else { even }).collect()
}
