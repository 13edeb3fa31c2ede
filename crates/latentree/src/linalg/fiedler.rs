//! The Fiedler vector of a dense graph.

use nalgebra::DMatrix;
use rayon::prelude::*;

/// The vector that splits a graph best, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fiedler {
    /// The eigenvector of the second smallest eigenvalue; its sign is arbitrary, its entries sum to 0 when weighted by degrees.
    pub(crate) vector: Vec<f64>,
    /// The eigenvalue.
    pub(crate) value: f64,
    /// Number of products with the matrix.
    pub(crate) iterations: usize,
}

/// The eigenvector of the second smallest eigenvalue of `(D − A) x = λ D x`, where `A` is a symmetric matrix of weights ≥ 0 with
/// 0 on its diagonal, row by row, and `D` the diagonal matrix of its row sums: the relaxed normalised cut (Shi and Malik 2000).
///
/// `tree` are the edges of a spanning tree of positive weights, best of the largest. Its Laplacian, which is solved in linear
/// time, preconditions the locally optimal conjugate gradient method (Knyazev 2001): the number of products with `A`
/// then hardly depends on how long and thin the graph is.
///
/// It ends when the residual is below 1e-8 of the eigenvalue; or below `settled` of it, when no sign of the vector has changed in
/// the last ten iterations (0 asks for the vector, not just its signs); or after 150 iterations.
///
/// # Panics
/// If the matrix is not square, or the tree does not span it.
///
/// # Complexity
/// O(n²) for each of some tens of iterations, in parallel; the result does not depend on the number of threads.
#[must_use]
pub(crate) fn fiedler_vector(affinity: &[f64], n: usize, tree: &[(usize, usize)], settled: f64) -> Fiedler {
    const MAX_COUNT: usize = 150;
    const TOLERANCE: f64 = 1e-8;
    const UNCHANGED: usize = 10;
    assert_eq!(affinity.len(), n * n, "the matrix is square");
    let tree = TreeSolver::new(affinity, n, tree);
    let degree: Vec<f64> = affinity.par_chunks(n.max(1)).map(|row| row.iter().sum()).collect();
    let laplacian = |x: &[f64]| -> Vec<f64> {
        let row = |i: usize| degree[i] * x[i] - dot(&affinity[i * n..(i + 1) * n], x);
        (0..n).into_par_iter().map(row).collect()
    };
    let space = Space { total: degree.iter().sum(), degree: &degree };
    // Any start will do that is not orthogonal to the answer; the solver makes it smooth.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut noise: Vec<f64> = (0..n)
        .map(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        })
        .collect();
    let mean = noise.iter().sum::<f64>() / n.max(1) as f64;
    noise.iter_mut().for_each(|value| *value -= mean);
    let mut x = tree.solve(&noise);
    if !space.normalize(&mut x, &[]) {
        return Fiedler { vector: x, value: 0.0, iterations: 0 };
    }
    let mut image = laplacian(&x);
    let mut direction: Option<(Vec<f64>, Vec<f64>)> = None;
    let (mut value, mut iterations) = (dot(&x, &image), 1);
    let mut signs: Vec<bool> = Vec::new();
    let mut n_unchanged = 0;
    while iterations < MAX_COUNT {
        let residual: Vec<f64> = (0..n).map(|i| image[i] - value * degree[i] * x[i]).collect();
        let error = residual.iter().zip(&degree).map(|(r, d)| r * r / d).sum::<f64>().sqrt();
        let new_signs: Vec<bool> = x.iter().map(|value| *value >= 0.0).collect();
        // The sign of the whole vector is arbitrary.
        let n_changed = signs.iter().zip(&new_signs).filter(|(old, new)| old != new).count();
        n_unchanged = if signs.len() == n && (n_changed == 0 || n_changed == n) { n_unchanged + 1 } else { 0 };
        signs = new_signs;
        if error <= TOLERANCE * value || (error <= settled * value && n_unchanged >= UNCHANGED) {
            break;
        }
        let mut step = tree.solve(&residual);
        if !space.normalize(&mut step, &[&x]) {
            break;
        }
        let step_image = laplacian(&step);
        iterations += 1;
        let mut basis = vec![(std::mem::take(&mut x), std::mem::take(&mut image)), (step, step_image)];
        if let Some((mut old, mut old_image)) = direction.take()
            && space.orthogonalize(&mut old, &mut old_image, &basis)
        {
            basis.push((old, old_image));
        }
        let small = DMatrix::from_fn(basis.len(), basis.len(), |a, b| {
            (dot(&basis[a].0, &basis[b].1) + dot(&basis[b].0, &basis[a].1)) / 2.0
        });
        let eigen = small.symmetric_eigen();
        let least = eigen.eigenvalues.imin();
        let weights = eigen.eigenvectors.column(least);
        let combine = |from: usize, which: fn(&Pair) -> &Vec<f64>| -> Vec<f64> {
            let mut sum = vec![0.0; n];
            for (pair, weight) in basis.iter().zip(weights.iter()).skip(from) {
                sum.iter_mut().zip(which(pair)).for_each(|(sum, value)| *sum += weight * value);
            }
            sum
        };
        x = combine(0, |pair| &pair.0);
        image = combine(0, |pair| &pair.1);
        direction = Some((combine(1, |pair| &pair.0), combine(1, |pair| &pair.1)));
        value = dot(&x, &image) / space.square(&x);
    }
    Fiedler { vector: x, value, iterations }
}

/// A vector and its image under the Laplacian.
type Pair = (Vec<f64>, Vec<f64>);

/// A sum of products in lanes of their own, which lets the compiler use vector registers.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (x, y) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    lanes.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum::<f64>()
}

/// The inner product weighted by degrees, in which eigenvectors are orthogonal, also to the constant one.
struct Space<'a> {
    degree: &'a [f64],
    total: f64,
}

impl Space<'_> {
    fn product(&self, a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).zip(self.degree).map(|((x, y), d)| x * y * d).sum()
    }

    fn square(&self, a: &[f64]) -> f64 {
        self.product(a, a)
    }

    /// Makes a vector orthogonal to the constant and the others and of length 1; false if nothing is left of it.
    fn normalize(&self, x: &mut [f64], others: &[&[f64]]) -> bool {
        let before = self.square(x).sqrt();
        // Twice, as the first time leaves rounding errors of what it takes away.
        for _ in 0..2 {
            let mean = x.iter().zip(self.degree).map(|(x, d)| x * d).sum::<f64>() / self.total;
            x.iter_mut().for_each(|x| *x -= mean);
            for other in others {
                let share = self.product(x, other);
                x.iter_mut().zip(*other).for_each(|(x, other)| *x -= share * other);
            }
        }
        let length = self.square(x).sqrt();
        if length.is_nan() || length <= 1e-12 * before {
            return false;
        }
        x.iter_mut().for_each(|x| *x /= length);
        true
    }

    /// Makes a vector orthonormal to the basis, with its image; false if nothing is left of it.
    fn orthogonalize(&self, x: &mut [f64], image: &mut [f64], basis: &[(Vec<f64>, Vec<f64>)]) -> bool {
        let before = self.square(x).sqrt();
        for (other, other_image) in basis.iter().chain(basis) {
            let share = self.product(x, other);
            x.iter_mut().zip(other).for_each(|(x, other)| *x -= share * other);
            image.iter_mut().zip(other_image).for_each(|(x, other)| *x -= share * other);
        }
        let length = self.square(x).sqrt();
        if length.is_nan() || length <= 1e-8 * before {
            return false;
        }
        x.iter_mut().chain(image).for_each(|x| *x /= length);
        true
    }
}

/// Solves with the Laplacian of a tree.
struct TreeSolver {
    /// Nodes, parents first, with the parent and the weight of the edge to it.
    order: Vec<(usize, usize, f64)>,
}

impl TreeSolver {
    fn new(affinity: &[f64], n: usize, edges: &[(usize, usize)]) -> Self {
        let mut neighbours = vec![Vec::new(); n];
        for &(a, b) in edges {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
        let mut order = Vec::with_capacity(n);
        let mut stack = if n > 0 { vec![(0, 0)] } else { Vec::new() };
        while let Some((node, parent)) = stack.pop() {
            order.push((node, parent, affinity[node * n + parent]));
            stack.extend(neighbours[node].iter().filter(|&&next| next != parent).map(|&next| (next, node)));
            assert!(order.len() <= n, "the edges make a tree");
        }
        assert_eq!(order.len(), n, "the tree spans the graph");
        Self { order }
    }

    /// A solution `x` of `L x = b` for `b` of sum 0.
    fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut flow = b.to_vec();
        for &(node, parent, _) in self.order[1..].iter().rev() {
            flow[parent] += flow[node];
        }
        let mut x = vec![0.0; b.len()];
        for &(node, parent, weight) in &self.order[1..] {
            x[node] = x[parent] + flow[node] / weight;
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn the_vector_is_that_of_the_dense_eigenproblem() {
        for trial in 0..60 {
            let mut rng = ChaCha8Rng::seed_from_u64(trial);
            let n = rng.random_range(2..60);
            // Points on a line: from well connected to long and thin.
            let places: Vec<f64> = (0..n).map(|_| rng.random_range(0.0..[2.0, 20.0, 60.0][trial as usize % 3])).collect();
            let mut affinity = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..i {
                    let value = (-(places[i] - places[j]).abs()).exp() * rng.random_range(0.5..1.0);
                    affinity[i * n + j] = value;
                    affinity[j * n + i] = value;
                }
            }
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&a, &b| places[a].total_cmp(&places[b]));
            let tree: Vec<(usize, usize)> = order.windows(2).map(|pair| (pair[0], pair[1])).collect();
            let found = fiedler_vector(&affinity, n, &tree, 0.0);
            let degree: Vec<f64> = affinity.chunks(n).map(|row| row.iter().sum()).collect();
            let normalized =
                DMatrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)) - affinity[i * n + j] / (degree[i] * degree[j]).sqrt());
            let eigen = normalized.symmetric_eigen();
            let mut ranks: Vec<usize> = (0..n).collect();
            ranks.sort_by(|&a, &b| eigen.eigenvalues[a].total_cmp(&eigen.eigenvalues[b]));
            let expected = eigen.eigenvalues[ranks[1]];
            assert!((found.value - expected).abs() < 1e-9, "trial {trial}: {} is not {expected}", found.value);
            assert!(found.iterations < 150, "trial {trial}: {} iterations", found.iterations);
            let gap = ranks.get(2).map_or(1.0, |&third| eigen.eigenvalues[third] - expected);
            if gap > 1e-3 {
                let vector = eigen.eigenvectors.column(ranks[1]);
                let product: f64 = (0..n).map(|i| vector[i] * found.vector[i] * degree[i].sqrt()).sum();
                assert!((product.abs() - 1.0).abs() < 1e-6, "trial {trial}: {product}");
            }
        }
    }
}
