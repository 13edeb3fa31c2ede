//! A single split: two directions from the moments of some rows.

use super::SplitMethod;
use super::centres::{Likelihood, Sums};
use super::table::Table;
use crate::linalg::LeadingEigen;
use crate::mixture::MixtureFamily;
use crate::model::{Linear, SplitRule};
use crate::tensor::two_component_angle;

/// Maximum number of rounds of the range finder, and the change below which it stops.
const ROUNDS: usize = 30;
const SETTLED: f64 = 1e-5;
/// Maximum number of features for which the second moment of a node may be a matrix.
const MOST_DENSE: usize = 1000;
/// Number of directions tried if there are continuous columns.
const DIRECTIONS: usize = 3;
/// Minimum ratio of the second eigenvalue to the first.
const SINGULAR: f64 = 1e-12;

/// Finds splits of rows.
pub(super) struct Splitter<'a> {
    pub(super) table: &'a Table,
    pub(super) likelihood: &'a Likelihood,
    pub(super) family: MixtureFamily,
    pub(super) method: SplitMethod,
    /// Whether rows are centred at the mean of the node, as continuous columns require.
    pub(super) affine: bool,
    pub(super) em: bool,
    pub(super) seed: u64,
}

/// Two whitened coordinates of rows, `y = Wᵀ(x − m)`; if rows are centred, the second coordinate is 1.
struct Plane {
    /// W, two numbers per feature.
    whitener: Vec<[f64; 2]>,
    offsets: [f64; 2],
    values: [f64; 2],
}

impl Splitter<'_> {
    /// Candidate rules for splitting these rows of the table: one, or one for each of a few directions if there are
    /// continuous columns. Empty if the moments do not separate two sides.
    pub(super) fn rules(&self, rows: &[u32], all: &Sums) -> Vec<SplitRule> {
        let corrected = self.method == SplitMethod::Model && self.family.is_counts();
        let planes = if self.affine { self.affine_planes(rows, all) } else { self.plane(rows, corrected).into_iter().collect() };
        planes.iter().filter_map(|plane| self.rule(rows, all, plane, corrected)).collect()
    }

    /// The rule in a plane of two coordinates.
    fn rule(&self, rows: &[u32], all: &Sums, plane: &Plane, corrected: bool) -> Option<SplitRule> {
        let slices = self.slices(rows, plane, corrected, all);
        let (sine, cosine) = two_component_angle(&slices).sin_cos();
        let turn = [[cosine, sine], [-sine, cosine]];
        let rule = match self.method {
            SplitMethod::Model if !self.affine => self.pseudo_centres(plane, &turn, all)?,
            _ => {
                let side = |o: [f64; 2]| Linear {
                    offset: o[0] * plane.offsets[0] + o[1] * plane.offsets[1],
                    factors: plane.whitener.iter().map(|w| o[0] * w[0] + o[1] * w[1]).collect(),
                };
                SplitRule::Alignment { sides: turn.map(side) }
            }
        };
        // A single direction is rarely the boundary of two clusters in continuous columns; EM rotates it.
        if !self.em && !self.affine {
            return Some(rule);
        }
        let vectors = self.table.vectors();
        let shares = rows.iter().map(|&row| if rule.side(&vectors, row as usize) == 0 { 1.0 } else { 0.0 }).collect();
        self.likelihood.refine(self.table, rows, all, shares).or(Some(rule))
    }

    /// The two leading directions of the second moment.
    fn plane(&self, rows: &[u32], corrected: bool) -> Option<Plane> {
        let d = self.table.n_features;
        let leading = self.leading(rows, 2, corrected, None)?;
        let &[first, second] = &leading.values[..] else { return None };
        if second <= SINGULAR * first || first <= 0.0 {
            return None;
        }
        let whitener = (0..d).map(|i| [leading.vectors[0][i] / first.sqrt(), leading.vectors[1][i] / second.sqrt()]).collect();
        Some(Plane { whitener, offsets: [0.0; 2], values: [first, second] })
    }

    /// The leading directions of the covariance, each paired with the constant.
    fn affine_planes(&self, rows: &[u32], all: &Sums) -> Vec<Plane> {
        let mean: Vec<f64> = all.first.iter().map(|sum| sum / all.weight).collect();
        let Some(leading) = self.leading(rows, DIRECTIONS, false, Some(&mean)) else { return Vec::new() };
        let least = SINGULAR * all.squares.iter().sum::<f64>() / all.weight;
        let plane = |(&value, vector): (&f64, &Vec<f64>)| {
            let direction: Vec<f64> = vector.iter().map(|x| x / value.sqrt()).collect();
            let offset = -direction.iter().zip(&mean).map(|(x, y)| x * y).sum::<f64>();
            let whitener = direction.into_iter().map(|x| [x, 0.0]).collect();
            Plane { whitener, offsets: [offset, 1.0], values: [value, 1.0] }
        };
        leading.values.iter().zip(&leading.vectors).filter(|it| *it.0 > least && *it.0 > 0.0).map(plane).collect()
    }

    /// Leading eigenvectors of the second moment of the rows, or of their covariance.
    fn leading(&self, rows: &[u32], wanted: usize, corrected: bool, mean: Option<&[f64]>) -> Option<LeadingEigen> {
        let (d, table) = (self.table.n_features, self.table);
        let vectors = table.vectors();
        let weight: f64 = rows.iter().map(|&row| vectors.weight(row as usize)).sum();
        let finish = |block: &[f64], width: usize, image: &mut [f64]| {
            image.iter_mut().for_each(|cell| *cell /= weight);
            let Some(mean) = mean else { return };
            let mut along = vec![0.0; width];
            for (own, block) in mean.iter().zip(block.chunks_exact(width)) {
                along.iter_mut().zip(block).for_each(|(out, x)| *out += own * x);
            }
            for (own, image) in mean.iter().zip(image.chunks_exact_mut(width)) {
                image.iter_mut().zip(&along).for_each(|(out, along)| *out -= own * along);
            }
        };
        let (cells, squares) = rows.iter().fold((0, 0), |sum, &row| {
            let n = vectors.features(row as usize).len();
            (sum.0 + n, sum.1 + n * n)
        });
        // A round costs d² with the matrix, plus the sum of squares once to build it, and twice the number of cells without
        // it.
        if d <= MOST_DENSE && d * d + squares / ROUNDS < 2 * cells {
            let dense = table.sums(rows, d * d, |vectors, row, weight, out| {
                for (i, x) in vectors.row(row) {
                    let own = &mut out[i * d..(i + 1) * d];
                    vectors.row(row).for_each(|(j, y)| own[j] += weight * x * y);
                    if corrected {
                        own[i] -= weight * x;
                    }
                }
            });
            let products = |block: &[f64], width: usize| {
                let mut image = vec![0.0; d * width];
                for (row, out) in dense.chunks_exact(d).zip(image.chunks_exact_mut(width)) {
                    for (cell, block) in row.iter().zip(block.chunks_exact(width)).filter(|it| *it.0 != 0.0) {
                        out.iter_mut().zip(block).for_each(|(out, x)| *out += cell * x);
                    }
                }
                finish(block, width, &mut image);
                Ok::<_, ()>(image)
            };
            return LeadingEigen::by_products(d, wanted, self.seed, ROUNDS, SETTLED, products).ok().flatten();
        }
        let products = |block: &[f64], width: usize| {
            let mut image = table.sums(rows, d * width, |vectors, row, weight, out| {
                let mut along = [0.0; 32];
                let along = &mut along[..width];
                for (i, x) in vectors.row(row) {
                    along.iter_mut().zip(&block[i * width..][..width]).for_each(|(out, y)| *out += x * y);
                }
                for (i, x) in vectors.row(row) {
                    let x = weight * x;
                    out[i * width..][..width].iter_mut().zip(&*along).for_each(|(out, y)| *out += x * y);
                    if corrected {
                        out[i * width..][..width].iter_mut().zip(&block[i * width..][..width]).for_each(|(out, y)| *out -= x * y);
                    }
                }
            });
            finish(block, width, &mut image);
            Ok::<_, ()>(image)
        };
        LeadingEigen::by_products(d, wanted, self.seed, ROUNDS, SETTLED, products).ok().flatten()
    }

    /// The whitened slices of the third moment, `[h₁₁, h₁₂, h₂₂]` for each feature.
    fn slices(&self, rows: &[u32], plane: &Plane, corrected: bool, all: &Sums) -> Vec<[f64; 3]> {
        let d = self.table.n_features;
        // For each feature, x_r y yᵀ (minus the products of counts with themselves) and x_r y; at the end, y yᵀ.
        let sums = self.table.sums(rows, 5 * d + 3, |vectors, row, weight, out| {
            let mut y = plane.offsets;
            for (i, x) in vectors.row(row) {
                let w = &plane.whitener[i];
                y[0] += x * w[0];
                y[1] += x * w[1];
            }
            let mut square = [y[0] * y[0], y[0] * y[1], y[1] * y[1]];
            out[5 * d..].iter_mut().zip(square).for_each(|(out, it)| *out += weight * it);
            if corrected {
                for (i, x) in vectors.row(row) {
                    let w = &plane.whitener[i];
                    square[0] -= x * w[0] * w[0];
                    square[1] -= x * w[0] * w[1];
                    square[2] -= x * w[1] * w[1];
                }
            }
            for (i, x) in vectors.row(row) {
                let out = &mut out[5 * i..5 * i + 5];
                let x = weight * x;
                out[0] += x * square[0];
                out[1] += x * square[1];
                out[2] += x * square[2];
                out[3] += x * y[0];
                out[4] += x * y[1];
            }
        });
        let squares = &sums[5 * d..];
        let slice = |(r, sums): (usize, &[f64])| {
            let (w, m, s) = (&plane.whitener[r], all.first[r], [sums[3], sums[4]]);
            let mut slice = [sums[0], sums[1], sums[2]];
            if corrected {
                slice[0] += 2.0 * (m * w[0] * w[0] - s[0] * w[0]);
                slice[1] += 2.0 * m * w[0] * w[1] - s[0] * w[1] - w[0] * s[1];
                slice[2] += 2.0 * (m * w[1] * w[1] - s[1] * w[1]);
            } else if self.affine {
                // The feature itself is centred as well.
                let mean = m / all.weight;
                slice.iter_mut().zip(squares).for_each(|(cell, square)| *cell -= mean * square);
            }
            slice
        };
        sums[..5 * d].chunks_exact(5).enumerate().map(slice).collect()
    }

    /// The rule given by pseudo-centres `E o_c / s_c` with weights `s_c²`, where s follows from the first moment (Algorithm
    /// 3, step 4).
    fn pseudo_centres(&self, plane: &Plane, turn: &[[f64; 2]; 2], all: &Sums) -> Option<SplitRule> {
        let mut along = [0.0; 2];
        for (w, sum) in plane.whitener.iter().zip(&all.first) {
            along[0] += sum / all.weight * w[0];
            along[1] += sum / all.weight * w[1];
        }
        let scales = turn.map(|o| o[0] * along[0] + o[1] * along[1]);
        let total: f64 = scales.iter().map(|scale| scale * scale).sum();
        if scales.iter().any(|scale| scale * scale < 1e-6 * total) {
            return None;
        }
        let side = |c: usize| {
            let weight = all.weight * scales[c] * scales[c] / total;
            // E = U S^(1/2) = W S for each feature; scaled so that the two centres add up to the sums of the node.
            let mean = |i: usize| {
                (plane.whitener[i][0] * plane.values[0] * turn[c][0] + plane.whitener[i][1] * plane.values[1] * turn[c][1])
                    / scales[c]
            };
            Sums {
                weight,
                first: (0..plane.whitener.len()).map(|i| weight * mean(i)).collect(),
                squares: vec![0.0; plane.whitener.len()],
            }
        };
        let sides = [side(0), side(1)];
        Some(self.likelihood.rule(all, [&sides[0], &sides[1]]))
    }
}
