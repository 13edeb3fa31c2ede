//! Projection of estimates onto probabilities: non-negative, with sum one.

use crate::linalg::Matrix;
use crate::model::Table;

/// No probability is less than this after projection.
pub(super) const FLOOR: f64 = 1e-6;

/// Weights as probabilities, uniform if all are zero.
pub(super) fn probabilities(weights: &[f64]) -> Vec<f64> {
    let floored: Vec<f64> = weights.iter().map(|weight| weight.max(0.0)).collect();
    let sum: f64 = floored.iter().sum();
    if sum > 0.0 { floored.iter().map(|weight| weight / sum).collect() } else { vec![1.0 / weights.len() as f64; weights.len()] }
}

/// The nearest probabilities, none less than the floor.
fn simplex(values: &mut [f64]) {
    let n = values.len() as f64;
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (ix, value) in sorted.iter().enumerate() {
        sum += value;
        let candidate = (sum - 1.0) / (ix + 1) as f64;
        if value - candidate > 0.0 {
            shift = candidate;
        }
    }
    let floor = FLOOR.min(0.01 / n);
    values.iter_mut().for_each(|value| *value = (*value - shift).max(floor));
    let sum: f64 = values.iter().sum();
    values.iter_mut().for_each(|value| *value /= sum);
}

/// P(y | h) with a row for each state of h, from `P(y, h)` with a column for each.
pub(super) fn discrete_table(joint: &Matrix) -> Table {
    let (d, k) = (joint.n_rows(), joint.n_cols());
    let mut values = Vec::with_capacity(d * k);
    for c in 0..k {
        let mut column = joint.column(c);
        let sum: f64 = column.iter().sum();
        if sum > FLOOR {
            column.iter_mut().for_each(|value| *value /= sum);
        } else {
            column = probabilities(&column);
        }
        simplex(&mut column);
        values.extend(column);
    }
    Table::new(d, values)
}

/// A joint table of probabilities near a given one.
pub(super) fn projected_joint(joint: &Matrix) -> Matrix {
    let mut cells = joint.cells().to_vec();
    simplex(&mut cells);
    Matrix::new(joint.n_rows(), joint.n_cols(), cells)
}

/// The rows of a joint table as conditional probabilities.
pub(super) fn rows_of(joint: &Matrix) -> Table {
    let mut values = Vec::with_capacity(joint.cells().len());
    for row in 0..joint.n_rows() {
        let mut row = probabilities(joint.row(row));
        simplex(&mut row);
        values.extend(row);
    }
    Table::new(joint.n_cols(), values)
}
