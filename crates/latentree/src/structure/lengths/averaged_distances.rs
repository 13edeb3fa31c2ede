//! Edge lengths for a given order of joining, by weighted averages of all distances.
//!
//! When the clades `i` and `j` are joined at `u`, the difference of their edges is seen by every other clade `k` as `d_ik −
//! d_jk`, with weight `w_ik w_jk / (w_ik + w_jk)`, where `w` is a precision (one over a variance, up to a factor); their sum is
//! `d_ij`. Then `d_uk` is the average of `d_ik − l_i` and `d_jk − l_j` with weights `w_ik` and `w_jk`, and has the sum of the
//! weights. With equal weights this is the least-squares fit to the tree (Gascuel 1997, unweighted neighbour joining); with exact
//! distances it is exact for any weights.

/// Distances between the clades that are left, in places `0..n`, as averages with their weights. A joined pair takes the
/// lower of its places, the last clade the higher one.
pub(in crate::structure) struct AveragedDistances {
    n: usize,
    width: usize,
    /// Square, row by row.
    distances: Vec<f64>,
    weights: Vec<f64>,
}

impl AveragedDistances {
    /// From distances (finite) and positive weights of the pairs `i > j`.
    pub(in crate::structure) fn new(n: usize, pair: impl Fn(usize, usize) -> (f64, f64)) -> Self {
        let mut averaged = Self { n, width: n, distances: vec![0.0; n * n], weights: vec![0.0; n * n] };
        for i in 0..n {
            for j in 0..i {
                averaged.set(i, j, pair(i, j));
            }
        }
        averaged
    }

    fn set(&mut self, i: usize, j: usize, (distance, weight): (f64, f64)) {
        for cell in [i * self.width + j, j * self.width + i] {
            self.distances[cell] = distance;
            self.weights[cell] = weight;
        }
    }

    pub(in crate::structure) fn get(&self, i: usize, j: usize) -> f64 {
        self.distances[i * self.width + j]
    }

    /// Replaces the clades `i < j` by their union and gives the lengths of their edges, which may be negative.
    pub(in crate::structure) fn join(&mut self, i: usize, j: usize) -> (f64, f64) {
        let pair = |k: usize| {
            let (to_i, to_j) = (k * self.width + i, k * self.width + j);
            ((self.distances[to_i], self.weights[to_i]), (self.distances[to_j], self.weights[to_j]))
        };
        let (mut sum, mut weight) = (0.0, 0.0);
        for k in (0..self.n).filter(|&k| k != i && k != j) {
            let ((d_i, w_i), (d_j, w_j)) = pair(k);
            let share = w_i * (w_j / (w_i + w_j));
            sum += share * (d_i - d_j);
            weight += share;
        }
        let difference = if weight > 0.0 { sum / weight } else { 0.0 };
        let to_i = (self.get(i, j) + difference) / 2.0;
        let to_j = self.get(i, j) - to_i;
        for k in (0..self.n).filter(|&k| k != i && k != j) {
            let ((d_i, w_i), (d_j, w_j)) =
                ((self.get(k, i), self.weights[k * self.width + i]), (self.get(k, j), self.weights[k * self.width + j]));
            let weight = w_i + w_j;
            self.set(k, i, ((w_i / weight) * (d_i - to_i) + (w_j / weight) * (d_j - to_j), weight));
        }
        let last = self.n - 1;
        for k in (0..last).filter(|&k| k != j) {
            self.set(k, j, (self.get(k, last), self.weights[k * self.width + last]));
        }
        self.n = last;
        (to_i, to_j)
    }
}
