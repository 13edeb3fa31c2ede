//! Chooses the few themes that together have the most information about all variables, by a greedy cover.
//!
//! The coverage of a set of themes is the sum over variables of the best theme's share of the variable's information. It is monotone and
//! submodular, so the greedy choice reaches at least `1 − 1/e` of the best choice of the same size (Nemhauser, Wolsey and Fisher 1978).
//! Gains only fall while themes are chosen, so one whose gain in an earlier round is below the best of this round can be skipped.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::information::Says;

/// A chosen candidate and the coverage it added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    pub(super) candidate: usize,
    pub(super) gain: f64,
}

struct Offer {
    gain: f64,
    candidate: usize,
    round: usize,
}

impl PartialEq for Offer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Offer {}
impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Offer {
    /// The larger gain first, then the smaller index.
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain.total_cmp(&other.gain).then(other.candidate.cmp(&self.candidate))
    }
}

/// Chooses up to `most` of the candidates, in the order of the coverage they add, and at most one per owner. `covered` holds
/// the coverage of each variable so far, and is updated.
pub(super) fn greedy(
    says: &[Vec<Says>],
    owner: impl Fn(usize) -> usize,
    candidates: &[usize],
    covered: &mut [f32],
    most: usize,
) -> Vec<Choice> {
    let gain = |candidate: usize, covered: &[f32]| -> f64 {
        says[candidate].iter().map(|it| f64::from((it.share - covered[it.variable as usize]).max(0.0))).sum()
    };
    let mut offers: BinaryHeap<Offer> =
        candidates.iter().map(|&candidate| Offer { gain: gain(candidate, covered), candidate, round: 0 }).collect();
    let mut chosen: Vec<Choice> = Vec::new();
    while let Some(best) = offers.pop() {
        if chosen.len() == most || best.gain <= 0.0 {
            break;
        }
        if chosen.iter().any(|it| owner(it.candidate) == owner(best.candidate)) {
            continue;
        }
        if best.round < chosen.len() {
            offers.push(Offer { gain: gain(best.candidate, covered), round: chosen.len(), ..best });
            continue;
        }
        for it in &says[best.candidate] {
            let known = &mut covered[it.variable as usize];
            *known = known.max(it.share);
        }
        chosen.push(Choice { candidate: best.candidate, gain: best.gain });
    }
    chosen
}

/// How many of the choices to keep, at least `least`: where the curve of coverage bends most, farthest above the line between its ends.
pub(super) fn knee(choices: &[Choice], least: usize) -> usize {
    let last = choices.len();
    if last <= least {
        return last;
    }
    let slope = choices[least..].iter().map(|it| it.gain).sum::<f64>() / (last - least) as f64;
    let mut best = (0.0, least);
    let mut above = 0.0;
    for (ix, choice) in choices.iter().enumerate().skip(least) {
        above += choice.gain - slope;
        if above > best.0 {
            best = (above, ix + 1);
        }
    }
    best.1
}
