//! One number with a sign for each pair of variables of several dimensions, which multiplies along the tree as correlations do.
//!
//! Let `C_ij` be the whitened cross-covariance of two variables. In a latent tree of hidden variables of k states all `C_ij` of a
//! variable i have the same column space, of r = k − 1 dimensions. With an orthonormal basis `U_i` of that space
//! `D_ij = U_iᵀ C_ij U_j` is the product of one r × r matrix for every edge of the way from i to j, and `det D_ij` the product of
//! their determinants, signs included.
//!
//! Singular values of a noisy matrix are too large, and no mean of them makes that good: two variables that are far from each
//! other seem as near as chance makes all of them. A determinant of the same matrix has no such bias: its errors have both
//! signs, and averaged over many pairs they vanish. What is given is `sign(det) |det|^(1/r)`, whose noise is
//! about 1/√n for pairs that have nothing in common, as that of a correlation.
//!
//! The common space is that of the leading eigenvectors of `Σ_j C_ij C_ijᵀ`, over the few variables j that go with i best.

use rayon::prelude::*;

use super::DistanceOptions;
use super::features::dense_cross;
use super::variable::{Form, Variable, WIDE};
use crate::error::{Error, Result};
use crate::linalg::symmetric_eigen;
use crate::moments::PairMoments;
use crate::observer::Observer;

/// Variables by which the space of a variable is found.
const NEIGHBOURS: usize = 12;

/// `sign(det) |det|^(1/r)` of all pairs, the strict lower triangle row by row, with r one less than the number of hidden states,
/// or fewer for a variable that has fewer dimensions. A pair without rows in common, or with a constant, has 0.
///
/// `None` if a variable has more than 512 features.
///
/// # Errors
/// [`Error::Option`] if an option is out of range, [`Error::Cancelled`].
///
/// # Complexity
/// O(p² d²) for d features of each of p variables, in parallel.
pub fn determinants(moments: &PairMoments, options: &DistanceOptions, observer: &dyn Observer) -> Result<Option<Vec<f64>>> {
    options.check()?;
    let (rank, weight) = (options.n_hidden_states() - 1, moments.total_weight());
    let per_weight = if weight > 0.0 { moments.effective_rows() / weight } else { 0.0 };
    let all = moments.schema().variables();
    let variables: Vec<Variable> = all
        .par_iter()
        .map(|variable| {
            let mut variable = Variable::new(moments, &variable.columns, variable.is_group);
            if variable.n_features <= WIDE {
                variable.whiten(moments, options, per_weight);
            }
            variable
        })
        .collect();
    if variables.iter().any(|variable| variable.n_features > WIDE) {
        return Ok(None);
    }
    let p = variables.len();
    let crosses = Crosses { moments, variables: &variables };
    let spaces = (0..p)
        .into_par_iter()
        .map(|i| if observer.cancelled() { Err(Error::Cancelled) } else { Ok(crosses.space(i, rank)) })
        .collect::<Result<Vec<Space>>>()?;
    let rows = (0..p).into_par_iter().map(|i| {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        Ok((0..i).map(|j| crosses.determinant((i, &spaces[i]), (j, &spaces[j]))).collect())
    });
    Ok(Some(rows.collect::<Result<Vec<Vec<f64>>>>()?.concat()))
}

/// The space that a variable shares with others: rows of stored features, columns of orthonormal whitened directions.
struct Space {
    width: usize,
    rows: Vec<f64>,
}

struct Crosses<'a> {
    moments: &'a PairMoments,
    variables: &'a [Variable],
}

impl Crosses<'_> {
    /// `W_iᵀ C_ij W_j`, row by row, unless one is constant.
    fn whitened(&self, i: usize, j: usize) -> Option<Vec<f64>> {
        let (a, b) = (&self.variables[i], &self.variables[j]);
        if a.form == Form::Constant || b.form == Form::Constant {
            return None;
        }
        let (stored, _) = dense_cross(self.moments, a, b);
        let (n_a, n_b) = (a.whitening.n_out(), b.whitening.n_out());
        let mut half = vec![0.0; a.n_features * n_b];
        for (out, row) in half.chunks_exact_mut(n_b.max(1)).zip(stored.chunks_exact(b.n_features)) {
            b.whitening.apply_transposed(row, out);
        }
        let (mut column, mut image) = (vec![0.0; a.n_features], vec![0.0; n_a]);
        let mut out = vec![0.0; n_a * n_b];
        for col in 0..n_b {
            column.iter_mut().zip(half.chunks_exact(n_b)).for_each(|(cell, row)| *cell = row[col]);
            a.whitening.apply_transposed(&column, &mut image);
            image.iter().enumerate().for_each(|(row, value)| out[row * n_b + col] = *value);
        }
        Some(out)
    }

    fn space(&self, i: usize, rank: usize) -> Space {
        let variable = &self.variables[i];
        let n = variable.whitening.n_out();
        if variable.form == Form::Constant || n == 0 {
            return Space { width: 0, rows: Vec::new() };
        }
        let mut near: Vec<(f64, Vec<f64>)> = Vec::new();
        for j in (0..self.variables.len()).filter(|&j| j != i) {
            let Some(cross) = self.whitened(i, j) else { continue };
            // What is expected of noise grows with the other's dimensions.
            let strength = cross.iter().map(|x| x * x).sum::<f64>() / self.variables[j].rank.max(1) as f64;
            let at = near.partition_point(|it| it.0 >= strength);
            if at < NEIGHBOURS {
                near.insert(at, (strength, cross));
                near.truncate(NEIGHBOURS);
            }
        }
        let mut sum = vec![0.0; n * n];
        for (_, cross) in &near {
            let m = cross.len() / n.max(1);
            for (row, sums) in cross.chunks_exact(m.max(1)).zip(sum.chunks_exact_mut(n.max(1))) {
                let inner = |other: &[f64]| row.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
                sums.iter_mut().zip(cross.chunks_exact(m.max(1))).for_each(|(cell, other)| *cell += inner(other));
            }
        }
        let Some((values, vectors)) = symmetric_eigen(&sum, n).filter(|_| !near.is_empty()) else {
            return Space { width: 0, rows: Vec::new() };
        };
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
        order.truncate(rank.min(variable.rank));
        let width = order.len();
        let mut rows = vec![0.0; variable.n_features * width];
        let mut stored = vec![0.0; variable.n_features];
        for (column, &at) in order.iter().enumerate() {
            variable.whitening.apply(&vectors[at * n..at * n + n], &mut stored);
            stored.iter().enumerate().for_each(|(feature, value)| rows[feature * width + column] = *value);
        }
        Space { width, rows }
    }

    fn determinant(&self, (i, left): (usize, &Space), (j, right): (usize, &Space)) -> f64 {
        let (a, b) = (&self.variables[i], &self.variables[j]);
        let r = left.width.min(right.width);
        if r == 0 {
            return 0.0;
        }
        let (stored, _) = dense_cross(self.moments, a, b);
        let mut product = vec![0.0; r * r];
        let mut half = vec![0.0; r];
        for (row, weights) in stored.chunks_exact(b.n_features).zip(left.rows.chunks_exact(left.width)) {
            half.fill(0.0);
            for (cell, weights) in row.iter().zip(right.rows.chunks_exact(right.width)) {
                half.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += cell * weight);
            }
            for (out, weight) in product.chunks_exact_mut(r).zip(weights) {
                out.iter_mut().zip(&half).for_each(|(out, value)| *out += weight * value);
            }
        }
        let determinant = determinant(&mut product, r);
        (determinant.signum() * determinant.abs().powf(1.0 / r as f64)).clamp(-1.0, 1.0)
    }
}

/// By elimination with pivots.
fn determinant(matrix: &mut [f64], n: usize) -> f64 {
    let mut product = 1.0;
    for step in 0..n {
        let pivot = (step..n).max_by(|&a, &b| matrix[a * n + step].abs().total_cmp(&matrix[b * n + step].abs())).unwrap_or(step);
        if pivot != step {
            (0..n).for_each(|column| matrix.swap(pivot * n + column, step * n + column));
            product = -product;
        }
        let value = matrix[step * n + step];
        product *= value;
        if value == 0.0 {
            return 0.0;
        }
        for row in step + 1..n {
            let factor = matrix[row * n + step] / value;
            (step..n).for_each(|column| matrix[row * n + column] -= factor * matrix[step * n + column]);
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{ColumnData, Dataset};
    use crate::distance::{Estimator, estimate};
    use crate::inference::Inference;
    use crate::moments::fold;
    use crate::observer::Silent;
    use crate::simulate::{ParameterFamily, Shape, Simulation};

    /// Moments of every row there can be, weighted by its probability.
    fn population(model: &crate::model::LatentTree, states: usize) -> PairMoments {
        let p = model.schema().variables().len();
        let n = states.pow(p as u32);
        let columns = (0..p).map(|ix| (0..n).map(|row| (row / states.pow(ix as u32) % states) as u8).collect());
        let columns: Vec<ColumnData> = columns.map(ColumnData::Codes8).collect();
        let rows = Dataset::from_columns(Arc::clone(model.schema()), columns.clone(), None).unwrap();
        let mut weights = Vec::with_capacity(n);
        Inference::new(model)
            .score(&mut rows.source(), &Silent, |_, values| {
                weights.extend(values.iter().map(|value| value.exp()));
                Ok(())
            })
            .unwrap();
        let rows = Dataset::from_columns(Arc::clone(model.schema()), columns, Some(weights)).unwrap();
        fold(&mut rows.source(), PairMoments::new(Arc::clone(model.schema())).unwrap(), &Silent).unwrap()
    }

    #[test]
    fn they_multiply_along_the_tree_with_their_signs() {
        let options = DistanceOptions::exact().hidden_states(Some(3)).estimator(Estimator::Canonical);
        for seed in 0..8 {
            let family = ParameterFamily::Categorical { states: 4, hidden_states: 3, separation: 0.5 };
            let shape = Shape::Random { max_degree: Some(3) };
            let model = Simulation::new(shape, 5).family(family).seed(seed).model().unwrap();
            let moments = population(&model, 4);
            let lower = determinants(&moments, &options, &Silent).unwrap().unwrap();
            let get = |i: usize, j: usize| lower[i.max(j) * (i.max(j) - 1) / 2 + i.min(j)];
            let distances = estimate(&moments, &options, &Silent).unwrap();
            for quartet in (0..5).map(|left_out| (0..5).filter(|&ix| ix != left_out).collect::<Vec<_>>()) {
                let [a, b, c, d] = quartet[..] else { unreachable!("four are left") };
                // The split of the quartet is the one whose sum of distances is least.
                let sums = [(a, b, c, d), (a, c, b, d), (a, d, b, c)];
                let sum =
                    |it: &(usize, usize, usize, usize)| distances.get(it.0, it.1).unwrap() + distances.get(it.2, it.3).unwrap();
                let (a, b, c, d) = sums.into_iter().min_by(|x, y| sum(x).total_cmp(&sum(y))).unwrap();
                let (left, right) = (get(a, c) * get(b, d), get(a, d) * get(b, c));
                assert!((left - right).abs() < 1e-9 * left.abs().max(right.abs()), "seed {seed}: {left} {right}");
            }
            for i in 0..5 {
                for j in 0..i {
                    let distance = distances.get(i, j).unwrap();
                    assert!((get(i, j).abs() - (-distance / 2.0).exp()).abs() < 1e-9, "seed {seed}: {i} {j}");
                }
            }
        }
    }

    #[test]
    fn independent_variables_have_either_sign_and_their_mean_is_zero() {
        // Ten independent stars of three variables: 405 pairs of mean 0.
        let family = ParameterFamily::Categorical { states: 6, hidden_states: 3, separation: 0.7 };
        let model = Simulation::new(Shape::Star, 3).family(family).seed(1).model().unwrap();
        let (n, groups) = (2000, 10);
        let mut columns = Vec::new();
        let mut builder = crate::data::Schema::builder();
        for group in 0..groups {
            let rows = Inference::new(&model).sample(n, group).unwrap();
            for ix in 0..3 {
                let codes = rows.batches().iter().flat_map(|batch| match &batch.block {
                    crate::data::Block::Dense(columns) => {
                        (0..batch.n_rows).map(|row| columns[ix].number(row) as u8).collect::<Vec<_>>()
                    }
                    crate::data::Block::Sparse(_) => unreachable!("samples are dense"),
                });
                columns.push(ColumnData::Codes8(codes.collect()));
                builder = builder.scalar(format!("x{group}.{ix}"), crate::data::Kind::numbered(6));
            }
        }
        let schema = Arc::new(builder.build().unwrap());
        let data = Dataset::from_columns(Arc::clone(&schema), columns, None).unwrap();
        let moments = fold(&mut data.source(), PairMoments::new(schema).unwrap(), &Silent).unwrap();
        let options = DistanceOptions::new().hidden_states(Some(3)).significance(None);
        let lower = determinants(&moments, &options, &Silent).unwrap().unwrap();
        let apart = (0..30).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|(i, j)| i / 3 != j / 3);
        let values: Vec<f64> = apart.map(|(i, j)| lower[i * (i - 1) / 2 + j]).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        // Each is about 1/√n in size, and they are as good as independent: four standard errors of their mean.
        let scale = (values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64).sqrt();
        assert!(scale < 2.0 / (n as f64).sqrt(), "{scale}");
        assert!(mean.abs() < 4.0 * scale / (values.len() as f64).sqrt(), "{mean} {scale}");
    }
}
