//! Groups of related variables, by average linkage.

use crate::distance::{DistanceOptions, estimate};
use crate::moments::PairMoments;
use crate::{Observer, Result};

/// At most `n_groups` groups of variables, by average linkage of `1 − e^(−d)` (1 − |ρ| if distances come from correlations).
///
/// # Complexity
/// O(p²) for each of p joins in the worst case; usually about O(p²) in total.
pub(super) fn islands(moments: &PairMoments, n_groups: usize, observer: &dyn Observer) -> Result<Vec<Vec<usize>>> {
    let distances = estimate(moments, &DistanceOptions::new().significance(None), observer)?;
    let p = distances.len();
    let mut apart = vec![0.0; p * p];
    for i in 0..p {
        for j in 0..p {
            apart[i * p + j] = if i == j { f64::INFINITY } else { 1.0 - distances.get(i, j).map_or(0.0, |d| (-d).exp()) };
        }
    }
    let mut groups: Vec<Vec<usize>> = (0..p).map(|ix| vec![ix]).collect();
    let mut alive: Vec<usize> = (0..p).collect();
    let find = |apart: &[f64], alive: &[usize], i: usize| {
        let others = alive.iter().copied().filter(|&j| j != i);
        others.min_by(|&a, &b| apart[i * p + a].total_cmp(&apart[i * p + b]).then(a.cmp(&b))).unwrap_or(i)
    };
    let mut nearest: Vec<usize> = (0..p).map(|i| find(&apart, &alive, i)).collect();
    while alive.len() > n_groups.max(1) {
        let Some(a) = alive
            .iter()
            .copied()
            .min_by(|&a, &b| apart[a * p + nearest[a]].total_cmp(&apart[b * p + nearest[b]]).then(a.cmp(&b)))
        else {
            break;
        };
        let (a, b) = (a.min(nearest[a]), a.max(nearest[a]));
        let (n_a, n_b) = (groups[a].len() as f64, groups[b].len() as f64);
        alive.retain(|&ix| ix != b);
        for &other in alive.iter().filter(|&&other| other != a) {
            let joined = (n_a * apart[a * p + other] + n_b * apart[b * p + other]) / (n_a + n_b);
            apart[a * p + other] = joined;
            apart[other * p + a] = joined;
        }
        let moved = std::mem::take(&mut groups[b]);
        groups[a].extend(moved);
        for &other in &alive {
            if other == a || nearest[other] == a || nearest[other] == b {
                nearest[other] = find(&apart, &alive, other);
            } else if apart[other * p + a] < apart[other * p + nearest[other]] {
                nearest[other] = a;
            }
        }
    }
    let mut groups: Vec<Vec<usize>> = alive.into_iter().map(|ix| std::mem::take(&mut groups[ix])).collect();
    groups.iter_mut().for_each(|group| group.sort_unstable());
    Ok(groups)
}
