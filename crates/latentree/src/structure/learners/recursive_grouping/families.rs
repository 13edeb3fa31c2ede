//! Which active nodes are of one family.

use rayon::prelude::*;

use super::active::ActiveSet;
use crate::distance::DistanceMatrix;
use crate::structure::lengths::rounding_error;

/// Nearest nodes of i and of j over which Φ is compared when distances are exact: these are the ones that tell nodes apart at
/// once; the other nodes follow.
const NEAR_EXACT: usize = 4;
/// Nearest nodes of i and of j over which Φ is compared when distances are estimates.
const NEAR_ESTIMATED: usize = 32;
/// Nearest nodes among which a node's best partner is looked for when distances are estimates: with all of them a star of
/// thousands would take minutes, and those far away are never the best, being the least precise.
const PARTNERS: usize = 256;
/// Nearest nodes of i and of j that say how far a pair can be trusted.
const NEAREST: usize = 2;
/// Members by which two groups are compared.
const REPRESENTATIVES: usize = 4;
/// How many standard errors Φ may vary within a family: the largest of about sixty differences is rarely above.
const STANDARD_ERRORS: f64 = 4.0;
/// A pair whose Φ may vary by more, as far as its nearest nodes tell, is left for a later round as long as others are better
/// known.
const MAX_VARIATION: f64 = 3.0;
/// Largest standard error of a distance that is used to find families.
const MAX_ERROR: f64 = 0.3;

/// Thresholds of the tests.
pub(super) struct Limits {
    /// Two values are the same if they differ by no more, when distances are exact.
    pub(super) rounding: f64,
    epsilon: Option<f64>,
    tau: Option<f64>,
    /// A member nearer than this to its family's parent is the parent.
    pub(super) parent: f64,
}

impl Limits {
    pub(super) fn new(distances: &DistanceMatrix, epsilon: Option<f64>, tau: Option<f64>, parent: f64) -> Self {
        Self { rounding: rounding_error(distances), epsilon, tau, parent }
    }
}

/// How badly two nodes fit as a family.
#[derive(Clone, Copy, PartialEq)]
struct Misfit {
    /// How much Φ may vary over the nearest nodes, given how precise it is: by this the best of the partners that fit is chosen,
    /// as a pair of which little is known must not pass for a pair that fits.
    bound: f64,
    /// How much Φ is seen to vary, in standard errors, or in units of distance where ε is given: by this a family is accepted.
    seen: f64,
}

impl Misfit {
    /// Whether this is a better fit, where Φ may vary by so much: one that fits before one that does not, then the one that is
    /// known better.
    fn is_better(self, other: Self, limit: f64) -> bool {
        match (self.seen <= limit, other.seen <= limit) {
            (true, true) => self.bound < other.bound,
            (false, false) => self.seen < other.seen,
            (fits, _) => fits,
        }
    }
}

/// The best partner of a node so far, and how badly they fit.
#[derive(Clone, Copy, PartialEq)]
struct Partner {
    misfit: Misfit,
    slot: usize,
}

const NO_FIT: Misfit = Misfit { bound: f64::INFINITY, seen: f64::INFINITY };
const NOBODY: Partner = Partner { misfit: NO_FIT, slot: usize::MAX };

/// The active set with what is known about families in it.
pub(super) struct Families {
    pub(super) active: ActiveSet,
    pub(super) limits: Limits,
    /// Whether distances are taken to be exact.
    pub(super) exact: bool,
    /// Whether standard errors are only assumed, so that their scale means nothing.
    assumed: bool,
    /// Nearest active nodes of each, nearest first.
    pub(super) near: Vec<Vec<usize>>,
    best: Vec<Partner>,
    /// Nodes whose relations are not known yet.
    pub(super) changed: Vec<usize>,
}

impl Families {
    pub(super) fn new(active: ActiveSet, limits: Limits) -> Self {
        let n = active.n_slots();
        let exact = !active.has_errors() && limits.epsilon.is_none();
        let changed = active.slots().to_vec();
        let mut families =
            Self { active, limits, exact, assumed: false, near: vec![Vec::new(); n], best: vec![NOBODY; n], changed };
        if !exact && !families.active.has_errors() {
            families.assume_errors();
        }
        families
    }

    fn assume_errors(&mut self) {
        self.exact = false;
        self.assumed = true;
        self.active.assume_errors();
        self.changed = self.active.slots().to_vec();
    }

    /// The families among the active nodes: disjoint groups of two or more; at least one.
    pub(super) fn find(&mut self) -> Vec<Vec<usize>> {
        if self.active.len() == 3 {
            return vec![self.active.slots().to_vec()];
        }
        self.refresh();
        let least = self.least_misfit();
        if self.exact && least > self.limits.rounding {
            self.assume_errors();
            self.refresh();
        }
        let limit = match (self.exact, self.assumed) {
            (true, _) => self.limits.rounding,
            // The scale of errors that are only assumed means nothing, and the best pairs are families.
            (false, true) => self.limits.epsilon.unwrap_or(0.0).max(2.0 * self.least_misfit()),
            (false, false) => self.fitting().max(self.least_misfit()),
        };
        let mut groups = self.partners(limit);
        if groups.is_empty() {
            groups.push(self.closest_pair());
        }
        self.joined(groups, limit)
    }

    /// How much Φ may vary within a family; without limit where the scale of errors means nothing.
    fn fitting(&self) -> f64 {
        self.limits.epsilon.unwrap_or(if self.assumed { f64::INFINITY } else { STANDARD_ERRORS })
    }

    fn least_misfit(&self) -> f64 {
        self.active.slots().iter().map(|&slot| self.best[slot].misfit.seen).fold(f64::INFINITY, f64::min)
    }

    /// Brings the nearest nodes and best partners up to date.
    fn refresh(&mut self) {
        let n_near = if self.exact { NEAR_EXACT } else { PARTNERS };
        let is_changed = {
            let mut is_changed = vec![false; self.active.n_slots()];
            self.changed.iter().for_each(|&slot| is_changed[slot] = true);
            is_changed
        };
        let active = &self.active;
        let is_far = |slot: usize, other: usize| !self.exact && !self.is_in_reach(slot, other);
        let wanted = n_near.min(active.len() - 1);
        let stale: Vec<usize> = (active.slots().iter().copied())
            .filter(|&slot| {
                let is_usable = |&&near: &&usize| active.is_active(near) && !is_changed[near];
                is_changed[slot] || self.near[slot].iter().filter(is_usable).count() * 2 < wanted
            })
            .collect();
        let fresh: Vec<Vec<usize>> =
            stale.par_iter().map(|&slot| nearest(active, slot, n_near, |other| is_far(slot, other))).collect();
        for (slot, near) in stale.into_iter().zip(fresh) {
            self.near[slot] = near;
        }
        // A node whose partner is gone, or is not what it was, starts anew; so do changed nodes.
        let lost = |slot: usize| {
            let partner = self.best[slot].slot;
            is_changed[slot] || (partner != usize::MAX && (!self.active.is_active(partner) || is_changed[partner]))
        };
        let again: Vec<usize> = self.active.slots().iter().copied().filter(|&slot| lost(slot)).collect();
        let found = again
            .par_iter()
            .map(|&slot| self.scan(slot, if self.exact { self.active.slots() } else { &self.near[slot] }, NOBODY));
        let found: Vec<Partner> = found.collect();
        let is_again = {
            let mut is_again = vec![false; self.active.n_slots()];
            again.iter().for_each(|&slot| is_again[slot] = true);
            is_again
        };
        let others: Vec<usize> = self.active.slots().iter().copied().filter(|&slot| !is_again[slot]).collect();
        let improved: Vec<Partner> = others.par_iter().map(|&slot| self.scan(slot, &self.changed, self.best[slot])).collect();
        for (slot, partner) in again.into_iter().zip(found).chain(others.into_iter().zip(improved)) {
            self.best[slot] = partner;
        }
        self.changed.clear();
    }

    /// The best partner of a node among others, given the best known.
    fn scan(&self, slot: usize, others: &[usize], mut best: Partner) -> Partner {
        for &other in others.iter().filter(|&&other| other != slot && self.active.is_active(other)) {
            if self.exact {
                if self.is_exact_family(slot, other) {
                    return Partner { misfit: Misfit { bound: 0.0, seen: 0.0 }, slot: other };
                }
            } else if self.is_in_reach(slot, other) {
                let limit = self.fitting();
                let cap = match best.misfit.seen <= limit {
                    true => Misfit { bound: best.misfit.bound, seen: limit },
                    false => Misfit { bound: f64::INFINITY, seen: best.misfit.seen },
                };
                let misfit = self.misfit(slot, other, cap);
                if misfit.is_better(best.misfit, limit) {
                    best = Partner { misfit, slot: other };
                }
            }
        }
        best
    }

    /// Whether Φ is the same, to a rounding error, for all other nodes.
    fn is_exact_family(&self, i: usize, j: usize) -> bool {
        let (of_i, of_j) = (self.active.distances_of(i), self.active.distances_of(j));
        let near = self.near[i].iter().chain(&self.near[j]);
        let mut others = near.chain(self.active.slots()).filter(|&&k| k != i && k != j && self.active.is_active(k));
        let Some(&first) = others.next() else { return true };
        let reference = of_i[first] - of_j[first];
        others.all(|&k| (of_i[k] - of_j[k] - reference).abs() <= self.limits.rounding)
    }

    /// Whether a distance is reliable enough to find families by.
    pub(super) fn is_in_reach(&self, i: usize, j: usize) -> bool {
        match self.limits.tau {
            Some(tau) => self.active.distance(i, j) < tau,
            None => self.active.error(i, j) <= MAX_ERROR,
        }
    }

    /// The nodes by which i and j are compared, near one of them, with their rank among its nearest. The least precise come
    /// first: most pairs are ruled out by what these say.
    fn ranked(&self, i: usize, j: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let of = move |a: usize, b: usize| {
            let ranked = self.near[a].iter().copied().take(NEAR_ESTIMATED).enumerate().rev();
            ranked.filter(move |&(_, k)| k != a && k != b && self.active.is_active(k))
        };
        of(i, j).chain(of(j, i))
    }

    /// The nodes by which the lengths to the parent of i and j are estimated: near one of the two and, if there are such, within
    /// reach of both.
    pub(super) fn witnesses(&self, i: usize, j: usize) -> impl Iterator<Item = usize> + '_ {
        let in_reach = move |k: usize| self.is_in_reach(i, k) && self.is_in_reach(j, k);
        let all = self.exact || !self.ranked(i, j).any(|(_, k)| in_reach(k));
        self.ranked(i, j).filter(move |&(_, k)| all || in_reach(k)).map(|(_, k)| k)
    }

    /// How much Φ varies: the largest difference from its value at the most precise witness. Infinite as soon as one of the two
    /// numbers is above its cap.
    ///
    /// A node k that is far from i or j is a witness, too: if k is near i, and the pair is a family, then k is as near to j as Φ
    /// says, and a `d_jk` that is not told from infinity speaks against it. Logarithms of such correlations are far from normal;
    /// so the two sides of `e^(−d_ik) = e^(−Φ) e^(−d_jk)` are compared, whose errors are those of correlations.
    fn misfit(&self, i: usize, j: usize, cap: Misfit) -> Misfit {
        let (of_i, of_j) = (self.active.distances_of(i), self.active.distances_of(j));
        let (error_i, error_j) = (self.active.errors_of(i), self.active.errors_of(j));
        let shared = 2.0 * (-of_i[j]).exp();
        let variance = |a: f64, b: f64| (a * a + b * b - shared * a * b).max(1e-12);
        let variance_at = |k: usize| variance(f64::from(error_i[k]), f64::from(error_j[k]));
        let precise = self.ranked(i, j).map(|(_, k)| (variance_at(k), k)).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((reference_variance, reference)) = precise else { return NO_FIT };
        let phi = of_i[reference] - of_j[reference];
        let mut worst = Misfit { bound: 0.0, seen: 0.0 };
        for (rank, k) in self.ranked(i, j) {
            let difference = of_i[k] - of_j[k] - phi;
            let seen = if self.limits.epsilon.is_some() {
                difference.abs()
            } else {
                // Both sides over e^(−d_ik); a larger one than e^20 times the other is as different as can be.
                let ratio = difference.clamp(-20.0, 20.0).exp();
                let both = variance(f64::from(error_i[k]), ratio * f64::from(error_j[k]));
                (1.0 - ratio).abs() / (both + ratio.max(1.0).powi(2) * reference_variance).sqrt()
            };
            worst.seen = worst.seen.max(seen);
            if rank < NEAREST {
                worst.bound = worst.bound.max(difference.abs() + (variance_at(k) + reference_variance).sqrt());
            }
            if worst.bound > cap.bound || worst.seen > cap.seen {
                return NO_FIT;
            }
        }
        worst
    }

    /// Groups of nodes that are linked by best partnerships within the limit.
    fn partners(&self, limit: f64) -> Vec<Vec<usize>> {
        let mut group: Vec<usize> = (0..self.active.n_slots()).collect();
        let find = |group: &mut Vec<usize>, mut slot: usize| {
            while group[slot] != slot {
                group[slot] = group[group[slot]];
                slot = group[slot];
            }
            slot
        };
        let fits = |partner: &Partner| partner.misfit.seen <= limit && partner.slot != usize::MAX;
        let bounds = self.active.slots().iter().map(|&slot| self.best[slot]).filter(fits).map(|partner| partner.misfit.bound);
        let bound = match self.exact || self.assumed || self.limits.epsilon.is_some() {
            true => f64::INFINITY,
            false => bounds.fold(f64::INFINITY, f64::min).max(MAX_VARIATION),
        };
        for &slot in self.active.slots() {
            let partner = self.best[slot];
            if fits(&partner) && partner.misfit.bound <= bound {
                let (a, b) = (find(&mut group, slot), find(&mut group, partner.slot));
                group[a.max(b)] = a.min(b);
            }
        }
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.active.n_slots()];
        for &slot in self.active.slots() {
            members[find(&mut group, slot)].push(slot);
        }
        members.retain(|members| members.len() > 1);
        members
    }

    /// Groups that are parts of one family made one: a group joins the one that fits it best on average, if within the limit.
    fn joined(&self, groups: Vec<Vec<usize>>, limit: f64) -> Vec<Vec<usize>> {
        let misfit = |a: &[usize], b: &[usize]| {
            let cap = 2.0 * limit;
            let (mut sum, mut pairs) = (0.0, 0.0);
            for &i in a.iter().take(REPRESENTATIVES) {
                for &j in b.iter().take(REPRESENTATIVES) {
                    let value = if self.exact {
                        if self.is_exact_family(i, j) { 0.0 } else { f64::INFINITY }
                    } else if self.is_in_reach(i, j) {
                        self.misfit(i, j, Misfit { bound: f64::INFINITY, seen: cap }).seen
                    } else {
                        f64::INFINITY
                    };
                    sum += value.min(cap + f64::MIN_POSITIVE);
                    pairs += 1.0;
                    if self.exact && value > 0.0 {
                        return f64::INFINITY;
                    }
                }
            }
            sum / pairs
        };
        let mut joined: Vec<Vec<usize>> = Vec::with_capacity(groups.len());
        for group in groups {
            let fits: Vec<f64> = joined.par_iter().with_min_len(16).map(|other| misfit(other, &group)).collect();
            let best = (0..joined.len()).min_by(|&a, &b| fits[a].total_cmp(&fits[b])).filter(|&ix| fits[ix] <= limit);
            match best {
                Some(ix) => joined[ix].extend(group),
                None => joined.push(group),
            }
        }
        joined
    }

    /// The two nodes with the smallest distance: what is left when no pair is within reach.
    fn closest_pair(&self) -> Vec<usize> {
        let closest = |&slot: &usize| {
            let others = self.active.slots().iter().copied().filter(|&other| other != slot);
            let other = others.min_by(|&a, &b| self.active.distance(slot, a).total_cmp(&self.active.distance(slot, b)));
            (slot, other.expect("there are others"))
        };
        let pairs = self.active.slots().iter().map(closest);
        let (a, b) = pairs
            .min_by(|x, y| self.active.distance(x.0, x.1).total_cmp(&self.active.distance(y.0, y.1)))
            .expect("there are active nodes");
        vec![a.min(b), a.max(b)]
    }
}

/// The nearest active nodes of a node, nearest first, ties by slot; those that are too far for their distances to be known come
/// last.
fn nearest(active: &ActiveSet, slot: usize, n_near: usize, is_far: impl Fn(usize) -> bool) -> Vec<usize> {
    let distances = active.distances_of(slot);
    let compare =
        |&a: &usize, &b: &usize| is_far(a).cmp(&is_far(b)).then_with(|| distances[a].total_cmp(&distances[b])).then(a.cmp(&b));
    let mut others: Vec<usize> = active.slots().iter().copied().filter(|&other| other != slot).collect();
    if others.len() > n_near {
        others.select_nth_unstable_by(n_near, compare);
        others.truncate(n_near);
    }
    others.sort_unstable_by(compare);
    others
}
