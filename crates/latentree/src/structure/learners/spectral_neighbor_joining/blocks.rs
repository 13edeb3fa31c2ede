//! How far the affinity block of every pair of clades is from rank one, kept up to date while clades are joined.
//!
//! Let `S` be a set of variables, `R_S` the block of affinities between `S` and the rest and `E = ‖R_S‖⁴ − ‖R_S R_Sᵀ‖²`
//! (Frobenius). With singular values `σ`, `E = Σ_{a≠b} σ_a² σ_b²`: four times the sum of the squares of all 2×2 minors, 0 exactly
//! if the rank is at most one. For clades `A ≠ B` and `S = A ∪ B` with rest `C`,
//!
//! ```text
//! E(A ∪ B) = E(A|B) + E(B|A) + 2 (f(A|B) f(B|A) − X(A,B))
//! f(A|B) = ‖R_AC‖²      E(A|B) = f(A|B)² − ‖R_AC R_CA‖²      X(A,B) = ‖R_AC R_CB‖²
//! ```
//!
//! and everything is kept from these sums, where `W_A = R_{A,¬A} R_{¬A,A}`:
//!
//! ```text
//! F(A,B) = ‖R_AB‖²      L(A,B) = ⟨W_A, R_AB R_BA⟩      N(A,B) = ‖R_AB R_BA‖²      P_ab = Σ_{c ∉ A∪B} R_ac R_cb  for a ∈ A, b ∈ B
//! ‖R_AC R_CA‖² = ‖W_A‖² − 2 L(A,B) + N(A,B)      X(A,B) = Σ_ab P_ab²
//! ```
//!
//! When `A` and `B` become `U`, for every other clade `Z`:
//!
//! ```text
//! F(U,Z) = F(A,Z) + F(B,Z)      L(Z,U) = L(Z,A) + L(Z,B)      N(U,Z) = N(A,Z) + N(B,Z) + 2 ‖R_AZ R_ZB‖²
//! L(U,Z) = L(A,Z) + L(B,Z) − ‖R_BA R_AZ‖² − ‖R_AB R_BZ‖² + 2 ⟨P_AB, R_AZ R_ZB⟩
//! P_az −= (R_AB R_BZ)_az      P_bz −= (R_BA R_AZ)_bz
//! ```
//!
//! The products cost |A| |B| n, and as any two variables come together once, all joins together O(n³).

use rayon::prelude::*;

/// Differences below this share of what they are taken from are rounding errors: the block has rank one.
const ROUNDING: f64 = 1e-12;

/// Products of fewer multiplications than this are not worth a second thread.
const PARALLEL_WORK: usize = 100_000;

/// Sums over the clades that are left, in places `0..n`. A joined pair takes the lower of its places, the last clade the
/// higher one.
pub(super) struct Blocks {
    /// Number of variables, and width of all square matrices.
    width: usize,
    n: usize,
    /// `R`, with 0 on the diagonal.
    affinity: Vec<f64>,
    /// `P` between variables of different clades.
    products: Vec<f64>,
    members: Vec<Vec<usize>>,
    /// Place of the clade of each variable.
    clade: Vec<usize>,
    /// `F`, `f`, `L`, `N` and `X` between clades, and `‖W_A‖²`.
    energy: Vec<f64>,
    outside: Vec<f64>,
    linear: Vec<f64>,
    quadratic: Vec<f64>,
    cross: Vec<f64>,
    own: Vec<f64>,
    /// The score of every pair.
    scores: Vec<f64>,
}

/// What one member of a clade adds to the sums with every other clade.
struct Part {
    /// The member's row of `R_AB R_B·`.
    row: Vec<f64>,
    /// `‖row‖²` by clade.
    norms: Vec<f64>,
    /// `⟨P_AB, R_AZ R_ZB⟩` and `‖R_AZ R_ZB‖²` by clade.
    linear: Vec<f64>,
    quadratic: Vec<f64>,
}

impl Blocks {
    /// From a symmetric matrix of affinities, row by row, with 0 on the diagonal.
    pub(super) fn new(width: usize, affinity: Vec<f64>) -> Self {
        let row = |i: usize| &affinity[i * width..(i + 1) * width];
        let dot = |a: usize, b: usize| row(a).iter().zip(row(b)).map(|(x, y)| x * y).sum::<f64>();
        let mut products = vec![0.0; width * width];
        products.par_chunks_mut(width.max(1)).enumerate().for_each(|(a, out)| (0..a).for_each(|b| out[b] = dot(a, b)));
        for a in 0..width {
            for b in 0..a {
                products[b * width + a] = products[a * width + b];
            }
        }
        let energy: Vec<f64> = affinity.iter().map(|value| value * value).collect();
        let total: Vec<f64> = (0..width).map(|a| energy[a * width..(a + 1) * width].iter().sum()).collect();
        let mut blocks = Self {
            width,
            n: width,
            members: (0..width).map(|a| vec![a]).collect(),
            clade: (0..width).collect(),
            outside: vec![0.0; width * width],
            linear: (0..width * width).map(|cell| total[cell / width] * energy[cell]).collect(),
            quadratic: energy.iter().map(|value| value * value).collect(),
            cross: products.iter().map(|value| value * value).collect(),
            own: total.iter().map(|value| value * value).collect(),
            scores: vec![f64::INFINITY; width * width],
            affinity,
            products,
            energy,
        };
        for a in 0..width {
            blocks.renew(a, 0..a);
        }
        blocks
    }

    pub(super) fn n(&self) -> usize {
        self.n
    }

    fn row(&self, variable: usize) -> &[f64] {
        &self.affinity[variable * self.width..(variable + 1) * self.width]
    }

    /// Makes the score of place `a` with the given others anew.
    fn renew(&mut self, a: usize, others: std::ops::Range<usize>) {
        let outside = |of: usize, without: usize| -> f64 {
            let row = &self.energy[of * self.width..of * self.width + self.n];
            // Not as a difference: where the other clade is nearly all there is, the rest would be rounding errors.
            let (low, high) = (of.min(without), of.max(without));
            row[..low].iter().sum::<f64>() + row[low + 1..high].iter().sum::<f64>() + row[high + 1..].iter().sum::<f64>()
        };
        let work = self.n * others.len();
        let pair = |b: usize| (b, outside(a, b), outside(b, a));
        let is_other = |b: &usize| *b != a;
        let pairs: Vec<(usize, f64, f64)> = if work > PARALLEL_WORK {
            others.into_par_iter().filter(is_other).map(pair).collect()
        } else {
            others.filter(is_other).map(pair).collect()
        };
        for (b, of_a, of_b) in pairs {
            self.outside[a * self.width + b] = of_a;
            self.outside[b * self.width + a] = of_b;
            let score = self.score(a, b);
            self.scores[a.max(b) * self.width + a.min(b)] = score;
        }
    }

    /// `E(A|B)`.
    fn within(&self, a: usize, b: usize) -> f64 {
        if self.members[a].len() == 1 {
            return 0.0;
        }
        let cell = a * self.width + b;
        let difference = self.outside[cell].powi(2) - self.without(a, b);
        // The terms are as large as without `b` left out.
        if difference > ROUNDING * self.own[a] { difference } else { 0.0 }
    }

    /// `‖R_AC R_CA‖²`.
    fn without(&self, a: usize, b: usize) -> f64 {
        let cell = a * self.width + b;
        self.own[a] - 2.0 * self.linear[cell] + self.quadratic[cell]
    }

    /// `E(A ∪ B)`.
    fn distance_from_rank_one(&self, a: usize, b: usize) -> f64 {
        let (of_a, of_b) = (self.outside[a * self.width + b], self.outside[b * self.width + a]);
        let difference = of_a * of_b - self.cross[a * self.width + b];
        let between = if difference > ROUNDING * of_a * of_b { difference } else { 0.0 };
        self.within(a, b) + self.within(b, a) + 2.0 * between
    }

    fn score(&self, a: usize, b: usize) -> f64 {
        let inside = self.members[a].len() + self.members[b].len();
        let freedom = (inside - 1) * (self.width - inside).saturating_sub(1).max(1);
        self.distance_from_rank_one(a, b) / freedom as f64
    }

    /// The pair `i < j` with the least score, of several the first.
    pub(super) fn nearest(&self) -> (usize, usize) {
        let mut best = (f64::INFINITY, 0, 1);
        for j in 1..self.n {
            for (i, &score) in self.scores[j * self.width..j * self.width + j].iter().enumerate() {
                if score < best.0 || (score == best.0 && (i, j) < (best.1, best.2)) {
                    best = (score, i, j);
                }
            }
        }
        (best.1, best.2)
    }

    /// The part of one member of the one clade in joining it with the other.
    fn part(&self, member: usize, other: &[usize]) -> Part {
        let mut row = vec![0.0; self.width];
        let (mut norms, mut linear, mut quadratic) = (vec![0.0; self.n], vec![0.0; self.n], vec![0.0; self.n]);
        let mut by_clade = vec![0.0; self.n];
        let own = self.row(member);
        for &of_other in other {
            let weight = own[of_other];
            for (sum, value) in row.iter_mut().zip(self.row(of_other)) {
                *sum += weight * value;
            }
            by_clade.fill(0.0);
            for ((x, y), &clade) in own.iter().zip(self.row(of_other)).zip(&self.clade) {
                by_clade[clade] += x * y;
            }
            let product = self.products[member * self.width + of_other];
            for ((value, linear), quadratic) in by_clade.iter().zip(&mut linear).zip(&mut quadratic) {
                *linear += product * value;
                *quadratic += value * value;
            }
        }
        for (value, &clade) in row.iter().zip(&self.clade) {
            norms[clade] += value * value;
        }
        Part { row, norms, linear, quadratic }
    }

    /// The rows `R_BA R_A·` of the other clade's members, for which the sums by pairs are already known.
    fn plain_part(&self, member: usize, other: &[usize]) -> Part {
        let mut row = vec![0.0; self.width];
        for &of_other in other {
            let weight = self.row(member)[of_other];
            for (sum, value) in row.iter_mut().zip(self.row(of_other)) {
                *sum += weight * value;
            }
        }
        let mut norms = vec![0.0; self.n];
        for (value, &clade) in row.iter().zip(&self.clade) {
            norms[clade] += value * value;
        }
        Part { row, norms, linear: Vec::new(), quadratic: Vec::new() }
    }

    /// Replaces the clades `i < j` by their union.
    pub(super) fn join(&mut self, i: usize, j: usize) {
        let (of_i, of_j) = (std::mem::take(&mut self.members[i]), std::mem::take(&mut self.members[j]));
        let is_parallel = of_i.len() * of_j.len() * self.width > PARALLEL_WORK;
        // One thread and many add in the same order.
        let parts = |members: &[usize], make: &(dyn Fn(usize) -> Part + Sync)| -> Vec<Part> {
            if is_parallel {
                members.par_iter().map(|&member| make(member)).collect()
            } else {
                members.iter().map(|&member| make(member)).collect()
            }
        };
        let parts_i = parts(&of_i, &|member| self.part(member, &of_j));
        let parts_j = parts(&of_j, &|member| self.plain_part(member, &of_i));
        let own = self.without(i, j) + self.without(j, i) + 2.0 * self.cross[i * self.width + j];
        for z in (0..self.n).filter(|&z| z != i && z != j) {
            let sum = |parts: &[Part], of: fn(&Part) -> &Vec<f64>| parts.iter().map(|part| of(part)[z]).sum::<f64>();
            let lost = sum(&parts_i, |part| &part.norms) + sum(&parts_j, |part| &part.norms);
            let linear = 2.0 * sum(&parts_i, |part| &part.linear) - lost;
            let quadratic = 2.0 * sum(&parts_i, |part| &part.quadratic);
            let (iz, jz, zi, zj) = (i * self.width + z, j * self.width + z, z * self.width + i, z * self.width + j);
            self.energy[iz] += self.energy[jz];
            self.energy[zi] = self.energy[iz];
            self.linear[zi] += self.linear[zj];
            self.linear[iz] += self.linear[jz] + linear;
            self.quadratic[iz] += self.quadratic[jz] + quadratic;
            self.quadratic[zi] = self.quadratic[iz];
        }
        self.own[i] = own;
        for (&member, part) in of_i.iter().zip(&parts_i).chain(of_j.iter().zip(&parts_j)) {
            for z in (0..self.width).filter(|&z| self.clade[z] != i && self.clade[z] != j) {
                let product = self.products[member * self.width + z] - part.row[z];
                self.products[member * self.width + z] = product;
                self.products[z * self.width + member] = product;
            }
        }
        self.unite(i, j, of_i, of_j);
        self.renew_cross(i);
        self.renew(i, 0..self.n);
    }

    /// Gives the union place `i` and the last clade place `j`.
    fn unite(&mut self, i: usize, j: usize, mut of_i: Vec<usize>, of_j: Vec<usize>) {
        of_i.extend(of_j);
        of_i.iter().for_each(|&member| self.clade[member] = i);
        self.members[i] = of_i;
        let last = self.n - 1;
        if j != last {
            self.members[j] = std::mem::take(&mut self.members[last]);
            self.members[j].iter().for_each(|&member| self.clade[member] = j);
            self.own[j] = self.own[last];
            let width = self.width;
            for matrix in [&mut self.energy, &mut self.outside, &mut self.linear, &mut self.quadratic, &mut self.cross] {
                for z in (0..last).filter(|&z| z != j) {
                    matrix[j * width + z] = matrix[last * width + z];
                    matrix[z * width + j] = matrix[z * width + last];
                }
            }
            for z in (0..last).filter(|&z| z != j) {
                self.scores[j.max(z) * width + j.min(z)] = self.scores[last * width + z];
            }
        }
        self.n = last;
    }

    /// Makes `X` of place `i` with all others anew.
    fn renew_cross(&mut self, i: usize) {
        let mut sums = vec![0.0; self.n];
        for &member in &self.members[i] {
            let row = &self.products[member * self.width..(member + 1) * self.width];
            for (value, &clade) in row.iter().zip(&self.clade) {
                sums[clade] += value * value;
            }
        }
        for (z, sum) in sums.into_iter().enumerate().filter(|&(z, _)| z != i) {
            self.cross[i * self.width + z] = sum;
            self.cross[z * self.width + i] = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::linalg::singular_values;

    /// The block between two clades and the rest, row by row.
    fn block(blocks: &Blocks, affinity: &[f64], a: usize, b: usize) -> (Vec<f64>, usize, usize) {
        let n = blocks.width;
        let rows: Vec<usize> = blocks.members[a].iter().chain(&blocks.members[b]).copied().collect();
        let columns: Vec<usize> = (0..n).filter(|variable| !rows.contains(variable)).collect();
        let values = rows.iter().flat_map(|&row| columns.iter().map(move |&column| affinity[row * n + column]));
        (values.collect(), rows.len(), columns.len())
    }

    #[test]
    fn scores_are_those_of_the_blocks_singular_values() {
        for trial in 0..60 {
            let mut rng = ChaCha8Rng::seed_from_u64(trial);
            let n = rng.random_range(4..16);
            let mut affinity = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..i {
                    let value = rng.random_range(-0.3..1.0);
                    affinity[i * n + j] = value;
                    affinity[j * n + i] = value;
                }
            }
            let mut blocks = Blocks::new(n, affinity.clone());
            while blocks.n() > 3 {
                for b in 0..blocks.n() {
                    for a in 0..b {
                        let (values, rows, columns) = block(&blocks, &affinity, a, b);
                        let squares: Vec<f64> =
                            singular_values(&values, rows, columns).into_iter().map(|value| value * value).collect();
                        let t: f64 = squares.iter().sum();
                        let e = t * t - squares.iter().map(|square| square * square).sum::<f64>();
                        let minors = blocks.distance_from_rank_one(a, b);
                        assert!((minors - e).abs() < 1e-10 * t * t, "trial {trial}, {n}: {minors} is not {e}");
                        assert_eq!(blocks.scores[b * n + a], blocks.score(a, b));
                    }
                }
                let (i, j) = if trial % 2 == 0 { blocks.nearest() } else { (0, 1 + trial as usize % (blocks.n() - 1)) };
                blocks.join(i, j);
            }
        }
    }
}
