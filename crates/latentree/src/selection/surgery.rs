//! Adds or removes one state of a hidden node, with hardly any change to the distribution of the observed variables.

use std::sync::Arc;

use crate::model::{Distribution, Emission, LatentTree, Table};
use crate::{NodeIx, Result};

/// A model with new distributions for some nodes.
fn rebuilt(model: &LatentTree, mut changed: impl FnMut(NodeIx) -> Option<Distribution>) -> Result<LatentTree> {
    let mut builder = LatentTree::builder(Arc::clone(model.schema()), model.tree().clone()).roots(&model.rooted().roots);
    for node in model.tree().node_ixs() {
        builder = builder.distribution(node, changed(node).unwrap_or_else(|| model.distribution(node).clone()));
    }
    builder.build()
}

/// Splits a state of a hidden node in two. Each gets half of its weight, and the distributions of the neighbours are tilted
/// apart by `lean()`, numbers around zero.
pub(super) fn split_state(model: &LatentTree, node: NodeIx, state: usize, mut lean: impl FnMut() -> f64) -> Result<LatentTree> {
    rebuilt(model, |other| {
        if other == node {
            let Distribution::Discrete(table) = model.distribution(node) else { return None };
            let k = table.n_states();
            let values = table.rows().flat_map(|row| {
                let share = 0.5 + 0.2 * lean().tanh();
                let halves = [row[state] * share, row[state] * (1.0 - share)];
                (0..=k)
                    .map(|at| {
                        if at == k {
                            halves[1]
                        } else if at == state {
                            halves[0]
                        } else {
                            row[at]
                        }
                    })
                    .collect::<Vec<_>>()
            });
            return Some(Distribution::Discrete(Table::new(k + 1, values.collect())));
        }
        if model.parent(other) != Some(node) {
            return None;
        }
        Some(match model.distribution(other) {
            Distribution::Discrete(table) => Distribution::Discrete(doubled_row(table, state, &mut lean)),
            Distribution::Emission(emission) => Distribution::Emission(doubled_emission(emission, state, &mut lean)),
            other => other.clone(),
        })
    })
}

fn doubled_row(table: &Table, state: usize, lean: &mut impl FnMut() -> f64) -> Table {
    let mut values = table.values().to_vec();
    let row = table.given(state).to_vec();
    let tilts: Vec<f64> = row.iter().map(|_| 0.5 * lean()).collect();
    let tilted = |sign: f64| {
        let raw: Vec<f64> = row.iter().zip(&tilts).map(|(value, tilt)| value * (sign * tilt).exp()).collect();
        let sum: f64 = raw.iter().sum();
        raw.into_iter().map(move |value| value / sum).collect::<Vec<f64>>()
    };
    values[state * table.n_states()..][..table.n_states()].copy_from_slice(&tilted(1.0));
    values.extend(tilted(-1.0));
    Table::new(table.n_states(), values)
}

fn doubled_emission(emission: &Emission, state: usize, lean: &mut impl FnMut() -> f64) -> Emission {
    match emission {
        Emission::Categorical(table) => Emission::Categorical(doubled_row(table, state, lean)),
        Emission::Gaussian { means, variances } => {
            let (mut means, mut variances) = (means.clone(), variances.clone());
            let apart = 0.5 * lean() * variances[state].sqrt();
            means.push(means[state] - apart);
            means[state] += apart;
            variances.push(variances[state]);
            Emission::Gaussian { means, variances }
        }
        Emission::Poisson { rates } => {
            let mut rates = rates.clone();
            let factor = (0.5 * lean()).exp();
            rates.push(rates[state] / factor);
            rates[state] *= factor;
            Emission::Poisson { rates }
        }
        Emission::Group(members) => Emission::Group(members.iter().map(|it| doubled_emission(it, state, lean)).collect()),
    }
}

/// Removes a state of a hidden node that has at least two; the others share its weight in proportion.
pub(super) fn drop_state(model: &LatentTree, node: NodeIx, state: usize) -> Result<LatentTree> {
    rebuilt(model, |other| {
        if other == node {
            let Distribution::Discrete(table) = model.distribution(node) else { return None };
            let k = table.n_states();
            let values = table.rows().flat_map(|row| {
                let rest: f64 = (0..k).filter(|&at| at != state).map(|at| row[at].max(1e-12)).sum();
                (0..k).filter(|&at| at != state).map(|at| row[at].max(1e-12) / rest).collect::<Vec<f64>>()
            });
            return Some(Distribution::Discrete(Table::new(k - 1, values.collect())));
        }
        if model.parent(other) != Some(node) {
            return None;
        }
        Some(match model.distribution(other) {
            Distribution::Discrete(table) => Distribution::Discrete(without_row(table, state)),
            Distribution::Emission(emission) => Distribution::Emission(without_state(emission, state)),
            other => other.clone(),
        })
    })
}

fn without_row(table: &Table, state: usize) -> Table {
    let rows = table.rows().enumerate().filter(|(at, _)| *at != state).flat_map(|(_, row)| row.iter().copied());
    Table::new(table.n_states(), rows.collect())
}

fn without_state(emission: &Emission, state: usize) -> Emission {
    let without = |values: &[f64]| values.iter().enumerate().filter(|(at, _)| *at != state).map(|it| *it.1).collect::<Vec<f64>>();
    match emission {
        Emission::Categorical(table) => Emission::Categorical(without_row(table, state)),
        Emission::Gaussian { means, variances } => Emission::Gaussian { means: without(means), variances: without(variances) },
        Emission::Poisson { rates } => Emission::Poisson { rates: without(rates) },
        Emission::Group(members) => Emission::Group(members.iter().map(|it| without_state(it, state)).collect()),
    }
}
