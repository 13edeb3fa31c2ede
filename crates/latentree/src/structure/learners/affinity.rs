//! Affinities: distances turned into numbers that multiply along a tree.

use crate::distance::DistanceMatrix;

/// Variables farther than this from all others would have no affinity to speak of.
const FAR: f64 = 30.0;

/// What distances are multiplied by so that every variable has some affinity to another: 1 unless one is farther than
/// [`FAR`] from all others. Affinities multiply along the tree for any factor.
pub(super) fn affinity_scale(distances: &DistanceMatrix) -> f64 {
    let n = distances.len();
    let mut nearest = vec![f64::INFINITY; n];
    let mut rest = distances.lower();
    for i in 0..n {
        let (row, later) = rest.split_at(i);
        rest = later;
        for (j, &distance) in row.iter().enumerate() {
            nearest[i] = nearest[i].min(distance);
            nearest[j] = nearest[j].min(distance);
        }
    }
    let farthest = nearest.into_iter().filter(|distance| distance.is_finite()).fold(0.0, f64::max);
    if farthest > FAR { FAR / farthest } else { 1.0 }
}

/// `exp(−distance)`, but 0 where its fourth power would come near the smallest numbers: those are slow, and nothing next to
/// the affinity that every variable has to its nearest.
pub(super) fn affinity(distance: f64) -> f64 {
    if distance < 140.0 { (-distance).exp() } else { 0.0 }
}
