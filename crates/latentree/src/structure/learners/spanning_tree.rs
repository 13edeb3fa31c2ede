//! Dense Prim: the spanning tree of a complete graph whose weights are computed when asked for.

/// The minimum spanning forest of `n` nodes: its edges `(a, b)` with `a < b`, in the order in which they were found.
///
/// `weights(i, out)` fills `out[j]` with the weight between `i` and every `j`; an infinite or NaN weight means that the two
/// cannot be joined. Every row is asked for once, so that nothing of size n² is kept. Ties go to the lower index.
///
/// # Complexity
/// O(n²) time, O(n) memory.
pub fn minimum_spanning_forest(n: usize, mut weights: impl FnMut(usize, &mut [f64])) -> Vec<(usize, usize)> {
    let mut edges = Vec::with_capacity(n.saturating_sub(1));
    let mut inside = vec![false; n];
    let mut nearest = vec![(f64::INFINITY, 0_usize); n];
    let mut row = vec![0.0; n];
    let mut next = (n > 0).then_some(0);
    while let Some(node) = next {
        inside[node] = true;
        weights(node, &mut row);
        let mut best: Option<usize> = None;
        let mut first_outside = None;
        for other in 0..n {
            if inside[other] {
                continue;
            }
            first_outside = first_outside.or(Some(other));
            if row[other] < nearest[other].0 {
                nearest[other] = (row[other], node);
            }
            if nearest[other].0 < best.map_or(f64::INFINITY, |best| nearest[best].0) {
                best = Some(other);
            }
        }
        if let Some(best) = best {
            let from = nearest[best].1;
            edges.push((from.min(best), from.max(best)));
        }
        // With nothing left to join, the next tree of the forest starts at the first node outside.
        next = best.or(first_outside);
    }
    edges
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::minimum_spanning_forest;

    /// Kruskal's algorithm as the oracle: the sum of weights, and the number of trees.
    fn kruskal(n: usize, weight: &[f64]) -> (f64, usize) {
        let mut pairs: Vec<(f64, usize, usize)> =
            (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| (weight[i * n + j], i, j)).collect();
        pairs.retain(|it| it.0.is_finite());
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut group: Vec<usize> = (0..n).collect();
        let (mut sum, mut trees) = (0.0, n);
        for (weight, i, j) in pairs {
            if group[i] != group[j] {
                let (from, to) = (group[i], group[j]);
                group.iter_mut().filter(|it| **it == from).for_each(|it| *it = to);
                sum += weight;
                trees -= 1;
            }
        }
        (sum, trees)
    }

    #[test]
    fn the_sum_of_weights_is_least_also_in_forests() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for trial in 0..100 {
            let n = 1 + trial % 30;
            let mut weight = vec![f64::INFINITY; n * n];
            for i in 0..n {
                for j in 0..i {
                    let value = if rng.random_bool(0.1 + 0.8 * f64::from(trial as u32 % 2)) {
                        rng.random_range(-1.0..1.0)
                    } else {
                        f64::NAN
                    };
                    weight[i * n + j] = value;
                    weight[j * n + i] = value;
                }
            }
            let edges = minimum_spanning_forest(n, |i, out| out.copy_from_slice(&weight[i * n..(i + 1) * n]));
            let (sum, trees) = kruskal(n, &weight);
            assert_eq!(edges.len(), n - trees);
            assert!((edges.iter().map(|&(a, b)| weight[a * n + b]).sum::<f64>() - sum).abs() < 1e-9);
        }
    }
}
