//! Exact moments of a model: what its population has, without a row drawn.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::by_moments::{MomentOptions, Problem};
use super::super::summaries::{Features, Summaries};
use crate::coordinates::Coordinates;
use crate::coordinates::bins::Bins;
use crate::data::{Kind, Schema};
use crate::linalg::Matrix;
use crate::model::{Distribution, Emission, LatentTree, Marginal, Table};
use crate::moments::ColumnSummary;
use crate::{ColIx, NodeIx};

/// P(v | from) of every node v of a connected discrete model, states of `from` as rows.
fn conditionals(model: &LatentTree, from: NodeIx, marginals: &[Vec<f64>]) -> Vec<Matrix> {
    let tree = model.tree();
    let step = |a: NodeIx, b: NodeIx| -> Matrix {
        let table = |child: NodeIx| match model.distribution(child) {
            Distribution::Discrete(table) => table,
            _ => panic!("the model is discrete"),
        };
        let (n_a, n_b) = (marginals[a.get()].len(), marginals[b.get()].len());
        if model.parent(b) == Some(a) {
            Matrix::from_fn(n_a, n_b, |i, j| table(b).given(i)[j])
        } else {
            Matrix::from_fn(n_a, n_b, |i, j| table(a).given(j)[i] * marginals[b.get()][j] / marginals[a.get()][i])
        }
    };
    let n = marginals[from.get()].len();
    let mut found: Vec<Option<Matrix>> = vec![None; tree.n_nodes()];
    found[from.get()] = Some(Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j))));
    let mut stack = vec![from];
    while let Some(node) = stack.pop() {
        for link in tree.links(node) {
            if found[link.to.get()].is_none() {
                found[link.to.get()] = Some(found[node.get()].as_ref().unwrap().times(&step(node, link.to)));
                stack.push(link.to);
            }
        }
    }
    found.into_iter().map(Option::unwrap).collect()
}

/// Values that a column of numbers takes in a population, and their probabilities in each state of its parent: as few as have the
/// means and variances of the distributions there.
fn support(emission: &Emission) -> (Vec<f64>, Vec<Vec<f64>>) {
    let of_state: Vec<Vec<(f64, f64)>> = match emission {
        Emission::Gaussian { means, variances } => {
            let ends = |(mean, variance): (&f64, &f64)| vec![(mean - variance.sqrt(), 0.5), (mean + variance.sqrt(), 0.5)];
            means.iter().zip(variances).map(ends).collect()
        }
        Emission::Poisson { rates } => {
            let around = |rate: &f64| vec![(rate.floor(), 1.0 - rate.fract()), (rate.floor() + 1.0, rate.fract())];
            rates.iter().map(around).collect()
        }
        _ => panic!("a column of numbers"),
    };
    let mut values: Vec<f64> = of_state.iter().flatten().map(|it| it.0).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let place = |value: f64| values.iter().position(|it| *it == value).unwrap();
    let rows = of_state.iter().map(|points| {
        let mut row = vec![0.0; values.len()];
        points.iter().for_each(|&(value, probability)| row[place(value)] += probability);
        row
    });
    let rows = rows.collect();
    (values, rows)
}

/// A discrete model of the population of a model, with the values that the labels of its columns stand for.
fn population(truth: &LatentTree) -> (LatentTree, Vec<Vec<f64>>) {
    let (mut schema, mut values, mut tables) = (Schema::builder(), Vec::new(), vec![None; truth.tree().n_nodes()]);
    for variable in truth.schema().variable_ixs() {
        let (node, kind) = (truth.node_of(variable), truth.schema().scalar_kind(variable).unwrap());
        let (points, kind) = match truth.distribution(node) {
            Distribution::Emission(emission) => {
                let (points, rows) = support(emission);
                tables[node.get()] = Some(Table::new(points.len(), rows.concat()));
                let n = points.len();
                (points, Kind::numbered(n))
            }
            _ => ((0..kind.n_states().unwrap()).map(|code| code as f64).collect(), kind.clone()),
        };
        values.push(points);
        schema = schema.scalar(truth.schema().variable(variable).name.clone(), kind);
    }
    let schema = Arc::new(schema.build().unwrap());
    let mut builder = LatentTree::builder(schema, truth.tree().clone()).roots(&truth.rooted().roots);
    for (node, table) in truth.tree().node_ixs().zip(tables) {
        let distribution = table.map_or_else(|| truth.distribution(node).clone(), Distribution::Discrete);
        builder = builder.distribution(node, distribution);
    }
    (builder.build().unwrap(), values)
}

/// The model that exact moments of a model of columns of any kind give.
pub(super) fn from_population(model: &LatentTree, options: &MomentOptions, n_states: usize) -> (LatentTree, Vec<String>) {
    let (truth, values_of) = population(model);
    let truth = &truth;
    let marginals: Vec<Vec<f64>> = truth
        .marginals()
        .into_iter()
        .map(|it| match it {
            Marginal::Discrete(probabilities) => probabilities,
            _ => panic!("the model is discrete"),
        })
        .collect();
    let tree = truth.tree();
    let schema = model.schema().clone();
    let rows = 1e14;
    let node_of = |column: usize| tree.find(&schema.column(ColIx::new(column)).name).unwrap();
    let n_columns = schema.columns().len();
    let columns: Vec<ColumnSummary> = (0..n_columns)
        .map(|column| {
            let shares = &marginals[node_of(column).get()];
            if schema.columns()[column].kind.n_states().is_some() {
                let levels = shares.iter().map(|p| p * rows).collect();
                return ColumnSummary { weight: rows, levels, ..ColumnSummary::default() };
            }
            let mean_of = |f: &dyn Fn(f64) -> f64| values_of[column].iter().zip(shares).map(|(&x, p)| p * f(x)).sum::<f64>();
            let mean = mean_of(&|x| x);
            ColumnSummary { weight: rows, mean, deviations: rows * mean_of(&|x| (x - mean).powi(2)), ..ColumnSummary::default() }
        })
        .collect();
    // As `by_moments` does: numbers are cut into bins where there are more than two states.
    let all_shares: Vec<Vec<(f64, f64)>> = (0..n_columns)
        .map(|column| values_of[column].iter().copied().zip(marginals[node_of(column).get()].iter().copied()).collect())
        .collect();
    let bins = Bins::of_distributions(&schema, &all_shares, n_states).map(Arc::new);
    let (seen_schema, seen_columns) = match &bins {
        None => (schema.clone(), columns.clone()),
        Some(bins) => {
            let seen = Arc::new(bins.schema(&schema).unwrap());
            let of = |column: usize| {
                let Some(n) = seen.columns()[column].kind.n_states() else { return columns[column].clone() };
                let mut levels = vec![0.0; n];
                let cells = all_shares[column].iter().map(|&(x, p)| (bins.code(column, x) as usize, p * rows));
                cells.for_each(|(code, weight)| levels[code] += weight);
                ColumnSummary { weight: rows, levels, ..ColumnSummary::default() }
            };
            (Arc::clone(&seen), (0..n_columns).map(of).collect())
        }
    };
    let coordinates = Coordinates::new(&seen_schema, &seen_columns, &Vec::new()).with_bins(bins);
    let mut problem = Problem::new(tree.clone(), schema.clone(), &columns, coordinates, options).unwrap();
    let coordinates = problem.plan.coordinates.clone();
    // Coordinates of every value of every column, and their means given the states of a node.
    let values: Vec<Vec<Vec<f64>>> =
        (0..n_columns).map(|column| values_of[column].iter().map(|&x| coordinates.of_value(column, x)).collect()).collect();
    let given = |node: NodeIx| -> Matrix {
        let tables = conditionals(truth, node, &marginals);
        let n = marginals[node.get()].len();
        let mut out = Matrix::zeros(coordinates.len(), n);
        for column in 0..n_columns {
            let table = &tables[node_of(column).get()];
            for (at, place) in coordinates.of(column).enumerate() {
                for c in 0..n {
                    out[(place, c)] = values[column].iter().enumerate().map(|(x, value)| table[(c, x)] * value[at]).sum();
                }
            }
        }
        out
    };
    let of_column: Vec<Matrix> = (0..n_columns).map(|column| given(node_of(column))).collect();
    let column_of: Vec<usize> = (0..n_columns).flat_map(|column| coordinates.of(column).map(move |_| column)).collect();
    let second = |i: usize, j: usize| -> f64 {
        let column = column_of[i];
        let at = i - coordinates.of(column).start;
        let probabilities = &marginals[node_of(column).get()];
        (0..probabilities.len()).map(|x| probabilities[x] * values[column][x][at] * of_column[column][(j, x)]).sum()
    };
    let all: Vec<Vec<f64>> = (0..coordinates.len()).map(|i| (0..coordinates.len()).map(|j| second(i, j)).collect()).collect();
    let grams: Vec<Vec<f64>> = problem
        .plan
        .views
        .iter()
        .map(|views| {
            let places: Vec<usize> = views.coordinates.iter().flatten().copied().collect();
            places.iter().flat_map(|&i| places.iter().map(|&j| all[i][j]).collect::<Vec<_>>()).collect()
        })
        .collect();
    let plan = problem.summarise(&grams, rows);
    let mut moments = Summaries::new(Arc::clone(&plan));
    moments.weight = rows;
    // E[a | h].
    let means: Vec<Matrix> = (0..plan.plan.views.len())
        .map(|ix| {
            let (views, r) = (&plan.plan.views[ix], plan.plan.views[ix].n_states - 1);
            let given = given(NodeIx::new(views.node));
            let mut out = Matrix::zeros(plan.width(ix), given.n_cols());
            for c in 0..given.n_cols() {
                out[(0, c)] = 1.0;
                for (group, places) in views.coordinates.iter().enumerate() {
                    for (at, &place) in places.iter().enumerate() {
                        for s in 0..r {
                            out[(1 + group * r + s, c)] += plan.directions[ix][group][at * r + s] * given[(place, c)];
                        }
                    }
                }
            }
            out
        })
        .collect();
    for (ix, views) in plan.plan.views.iter().enumerate() {
        let (r, width, k) = (views.n_states - 1, plan.width(ix), views.n_states);
        let weights = &marginals[views.node];
        let flat: Vec<(usize, usize, usize)> = views
            .coordinates
            .iter()
            .enumerate()
            .flat_map(|(group, places)| places.iter().enumerate().map(move |(at, &place)| (group, at, place)))
            .collect();
        let mut mean = vec![0.0; width];
        for (i, mean) in mean.iter_mut().enumerate() {
            *mean = weights.iter().enumerate().map(|(c, w)| w * means[ix][(i, c)]).sum();
        }
        for i in 0..width {
            moments.seconds[ix][i] = mean[i];
            moments.seconds[ix][i * width] = mean[i];
        }
        for &(g1, at1, p1) in &flat {
            for &(g2, at2, p2) in &flat {
                for s in 0..r {
                    for t in 0..r {
                        let weight = plan.directions[ix][g1][at1 * r + s] * plan.directions[ix][g2][at2 * r + t];
                        moments.seconds[ix][(1 + g1 * r + s) * width + 1 + g2 * r + t] += weight * all[p1][p2];
                    }
                }
            }
        }
        let parts = |view: usize| (0..views.view_of.len()).filter(move |&part| views.view_of[part] == view);
        let view = |view: usize, i: usize, c: usize| -> f64 {
            if i == 0 { 1.0 } else { parts(view).map(|part| means[ix][(part * r + i, c)]).sum() }
        };
        let part = |part: usize, i: usize, c: usize| if i == 0 { 1.0 } else { means[ix][(part * r + i, c)] };
        for at in 0..k * k * k {
            let (i, j, l) = (at / (k * k), at / k % k, at % k);
            moments.thirds[ix][at] =
                weights.iter().enumerate().map(|(c, w)| w * view(0, i, c) * view(1, j, c) * view(2, l, c)).sum();
            for (extra, &(u, b, d)) in views.extra.iter().enumerate() {
                moments.thirds[ix][(extra + 1) * k * k * k + at] =
                    weights.iter().enumerate().map(|(c, w)| w * view(u, i, c) * part(b, j, c) * part(d, l, c)).sum();
            }
        }
    }
    for (&(a, b), sum) in plan.edges.iter().zip(&mut moments.edges) {
        let (node_a, node_b) = (NodeIx::new(plan.plan.views[a].node), NodeIx::new(plan.plan.views[b].node));
        let table = &conditionals(truth, node_a, &marginals)[node_b.get()];
        let scaled = Matrix::from_fn(table.n_rows(), table.n_cols(), |i, j| table[(i, j)] * marginals[node_a.get()][i]);
        sum.copy_from_slice(means[a].times(&scaled).times(&means[b].transposed()).cells());
    }
    for (place, neighbour) in plan.neighbours.iter().enumerate() {
        let node = NodeIx::new(plan.plan.views[neighbour.views].node);
        let table = &conditionals(truth, node, &marginals)[node_of(neighbour.features.column).get()];
        let scaled = Matrix::from_fn(table.n_cols(), table.n_rows(), |y, c| table[(c, y)] * marginals[node.get()][c]);
        let scaled = features(&neighbour.features, &values_of).times(&scaled);
        moments.of_neighbour_mut(place).copy_from_slice(scaled.times(&means[neighbour.views].transposed()).cells());
    }
    for (child, table) in plan.observed.iter().zip(&mut moments.observed) {
        let (node_a, node_b) = (node_of(child.parent), node_of(child.features.column));
        let given = &conditionals(truth, node_a, &marginals)[node_b.get()];
        let given = given.times(&features(&child.features, &values_of).transposed());
        let cells = (0..given.n_rows()).flat_map(|i| (0..given.n_cols()).map(move |j| (i, j)));
        let joint = cells.map(|(i, j)| ((i as u32, j as u32), rows * given[(i, j)] * marginals[node_a.get()][i]));
        *table = joint.collect::<BTreeMap<_, _>>();
    }
    let found = problem.solve(&moments, options).unwrap();
    (found.model, found.warnings)
}

/// The features of every value of a column: features as rows.
fn features(features: &Features, values_of: &[Vec<f64>]) -> Matrix {
    let values = &values_of[features.column];
    Matrix::from_fn(features.len(), values.len(), |i, x| match features.n_labels {
        0 => ((values[x] - features.mean) * features.scale).powi(i as i32),
        _ => f64::from(u8::from(i == x)),
    })
}
