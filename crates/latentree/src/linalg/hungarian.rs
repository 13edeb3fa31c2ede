//! The Hungarian method: the cheapest way to pair rows with columns.

/// For each row of a square matrix of costs (row by row), the column it is paired with so that the sum of costs is least;
/// no column is used twice.
///
/// # Panics
/// If the matrix is not square.
///
/// # Complexity
/// O(n³), by shortest augmenting paths with potentials (Kuhn–Munkres).
#[must_use]
pub fn cheapest_assignment(costs: &[f64], n: usize) -> Vec<usize> {
    assert_eq!(costs.len(), n * n, "the matrix is square");
    // One-based, with 0 for "none"; `owner[column]` is the row it is paired with.
    let (mut row_potential, mut column_potential) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    let mut owner = vec![0_usize; n + 1];
    for row in 1..=n {
        let mut previous = vec![0_usize; n + 1];
        let mut slack = vec![f64::INFINITY; n + 1];
        let mut visited = vec![false; n + 1];
        owner[0] = row;
        let mut at = 0;
        loop {
            visited[at] = true;
            let from = owner[at];
            let (mut least, mut next) = (f64::INFINITY, 0);
            for column in (1..=n).filter(|&column| !visited[column]) {
                let reduced = costs[(from - 1) * n + column - 1] - row_potential[from] - column_potential[column];
                if reduced < slack[column] {
                    slack[column] = reduced;
                    previous[column] = at;
                }
                if slack[column] < least || next == 0 {
                    least = slack[column];
                    next = column;
                }
            }
            for column in 0..=n {
                if visited[column] {
                    row_potential[owner[column]] += least;
                    column_potential[column] -= least;
                } else {
                    slack[column] -= least;
                }
            }
            at = next;
            if owner[at] == 0 {
                break;
            }
        }
        while at != 0 {
            owner[at] = owner[previous[at]];
            at = previous[at];
        }
    }
    let mut column_of = vec![0; n];
    for column in 1..=n {
        column_of[owner[column] - 1] = column - 1;
    }
    column_of
}

#[cfg(test)]
mod tests {
    use super::cheapest_assignment;
    use rand::{RngExt, SeedableRng};

    fn brute_force(costs: &[f64], n: usize, row: usize, used: &mut Vec<bool>) -> f64 {
        if row == n {
            return 0.0;
        }
        let mut best = f64::INFINITY;
        for column in 0..n {
            if !used[column] {
                used[column] = true;
                best = best.min(costs[row * n + column] + brute_force(costs, n, row + 1, used));
                used[column] = false;
            }
        }
        best
    }

    #[test]
    fn the_sum_is_that_of_the_best_permutation() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for trial in 0..200 {
            let n = 1 + trial % 6;
            let costs: Vec<f64> = (0..n * n).map(|_| rng.random_range(-1.0..5.0)).collect();
            let chosen = cheapest_assignment(&costs, n);
            let mut columns = chosen.clone();
            columns.sort_unstable();
            assert_eq!(columns, (0..n).collect::<Vec<_>>());
            let sum: f64 = chosen.iter().enumerate().map(|(row, column)| costs[row * n + column]).sum();
            assert!((sum - brute_force(&costs, n, 0, &mut vec![false; n])).abs() < 1e-9);
        }
    }
}
