//! A round's end: families are replaced by their parents.

use super::Growing;
use super::families::Families;

/// Other members of a family that are used for a member's distance to the parent.
const PARTNERS: usize = 16;
/// Children that are used for distances from a new parent.
const CHILDREN: usize = 8;

/// The distance of a member to its family's parent.
#[derive(Clone, Copy)]
struct Leg {
    slot: usize,
    length: f64,
    variance: f64,
}

/// A parent that is new: its children nearest first, at most [`CHILDREN`] of them, and the slot that it takes.
struct NewParent {
    slot: usize,
    legs: Vec<Leg>,
}

/// A mean weighted by precision, and a variance for it.
#[derive(Default)]
struct WeightedMean {
    sum: f64,
    weight: f64,
    least: f64,
}

impl WeightedMean {
    fn add(&mut self, value: f64, variance: f64) {
        let weight = variance.recip();
        self.sum += weight * value;
        self.least = if self.weight == 0.0 { variance } else { self.least.min(variance) };
        self.weight += weight;
    }

    fn mean(&self) -> f64 {
        self.sum / self.weight
    }

    /// Halfway between the variance of independent and that of equal estimates: they share nodes, but not all.
    fn variance(&self) -> f64 {
        0.5 * (self.weight.recip() + self.least)
    }
}

/// The distance from a new parent by each of its children.
///
/// Where the child that knows it best does so within reach, it is the mean over those that do. Else nobody knows more than that
/// it is long: errors that are averaged away would make a precise distance of noise, the shorter the more families have been put
/// together, and so the error stays that of one child. Which child knows best is told by errors of correlations, `s e^(−d)`,
/// which do not depend on the distance found; that of a distance is small where chance has made a correlation large.
#[derive(Default)]
struct FromChildren {
    within_reach: WeightedMean,
    all: WeightedMean,
    /// Error of the correlation, variance of the distance, and whether it is within reach.
    best: Option<(f64, f64, bool)>,
}

impl FromChildren {
    fn add(&mut self, value: f64, variance: f64, is_in_reach: bool) {
        self.all.add(value, variance);
        if is_in_reach {
            self.within_reach.add(value, variance);
        }
        let error = variance.sqrt() * (-value).exp();
        if self.best.is_none_or(|best| error < best.0) {
            self.best = Some((error, variance, is_in_reach));
        }
    }

    /// The distance and its standard error.
    fn estimate(&self) -> (f64, f64) {
        match self.best {
            Some((_, variance, false)) => (self.all.mean(), variance.sqrt()),
            _ => (self.within_reach.mean(), self.within_reach.variance().sqrt()),
        }
    }
}

impl Families {
    /// Gives each family its parent: edges to the children are added, and the parent stands for them from here on.
    pub(super) fn replace(&mut self, groups: &[Vec<usize>], growing: &mut Growing) {
        let mut removed: Vec<usize> = Vec::new();
        let mut parents: Vec<NewParent> = Vec::new();
        for group in groups {
            let mut legs: Vec<Leg> = group.iter().map(|&slot| self.leg(slot, group)).collect();
            legs.sort_by(|a, b| a.length.total_cmp(&b.length).then(a.slot.cmp(&b.slot)));
            if legs[0].length <= if self.exact { self.limits.rounding } else { self.limits.parent } {
                let parent = legs[0].slot;
                for leg in &legs[1..] {
                    growing.edges.push((
                        self.active.node(leg.slot),
                        self.active.node(parent),
                        self.active.distance(leg.slot, parent),
                    ));
                    removed.push(leg.slot);
                }
                self.changed.push(parent);
                continue;
            }
            let hidden = growing.add_node();
            growing.edges.extend(legs.iter().map(|leg| (self.active.node(leg.slot), hidden, leg.length)));
            let slot = *group.iter().min().expect("a family has members");
            removed.extend(group.iter().copied().filter(|&member| member != slot));
            self.active.put(slot, hidden);
            self.changed.push(slot);
            legs.truncate(CHILDREN);
            parents.push(NewParent { slot, legs });
        }
        self.active.remove(&removed);
        self.set_distances(&parents);
    }

    /// Eq. 24, weighted: the mean of `½ (d_ij + Φ_ijk)` over other members j and witnesses k.
    fn leg(&self, slot: usize, group: &[usize]) -> Leg {
        let distances = self.active.distances_of(slot);
        let mut partners: Vec<usize> = group.iter().copied().filter(|&other| other != slot).collect();
        let compare = |&a: &usize, &b: &usize| distances[a].total_cmp(&distances[b]).then(a.cmp(&b));
        if partners.len() > PARTNERS {
            partners.select_nth_unstable_by(PARTNERS, compare);
            partners.truncate(PARTNERS);
        }
        partners.sort_unstable_by(compare);
        let mut mean = WeightedMean::default();
        for partner in partners {
            let of_partner = self.active.distances_of(partner);
            let between = self.active.error(slot, partner);
            let shared = 2.0 * (-distances[partner]).exp();
            let mut add = |k: usize| {
                let (a, b) = (self.active.error(slot, k), self.active.error(partner, k));
                let variance = 0.25 * (between * between + (a * a + b * b - shared * a * b).max(0.0));
                mean.add(0.5 * (distances[partner] + distances[k] - of_partner[k]), variance.max(1e-12));
            };
            self.witnesses(slot, partner).for_each(&mut add);
        }
        if mean.weight == 0.0 {
            // Only when the nearest nodes of all are gone: any other node is a witness.
            let partner = group.iter().copied().find(|&other| other != slot).expect("a family has two members");
            let other = self.active.slots().iter().copied().find(|&k| k != slot && k != partner);
            let phi = other.map_or(0.0, |k| distances[k] - self.active.distance(partner, k));
            mean.add(0.5 * (distances[partner] + phi), 1.0);
        }
        Leg { slot, length: mean.mean(), variance: mean.variance() }
    }

    /// Eq. 25, weighted: distances from new parents to all active nodes.
    fn set_distances(&mut self, parents: &[NewParent]) {
        let is_new = {
            let mut is_new = vec![false; self.active.n_slots()];
            parents.iter().for_each(|parent| is_new[parent.slot] = true);
            is_new
        };
        let others: Vec<usize> = self.active.slots().iter().copied().filter(|&slot| !is_new[slot]).collect();
        let is_known = |a: usize, b: usize| self.exact || self.is_in_reach(a, b);
        // A parent's slot still holds the distances of the child that had it: nothing is overwritten before all are known.
        let mut found: Vec<(usize, usize, f64, f64)> = Vec::new();
        for (ix, parent) in parents.iter().enumerate() {
            for &other in &others {
                let mut by_children = FromChildren::default();
                for leg in &parent.legs {
                    let error = self.active.error(leg.slot, other);
                    let value = self.active.distance(leg.slot, other) - leg.length;
                    by_children.add(value, error * error + leg.variance, is_known(leg.slot, other));
                }
                let (distance, error) = by_children.estimate();
                found.push((parent.slot, other, distance, error));
            }
            for earlier in &parents[..ix] {
                let mut by_children = FromChildren::default();
                for a in &parent.legs {
                    for b in &earlier.legs {
                        let error = self.active.error(a.slot, b.slot);
                        let value = self.active.distance(a.slot, b.slot) - a.length - b.length;
                        by_children.add(value, error * error + a.variance + b.variance, is_known(a.slot, b.slot));
                    }
                }
                let (distance, error) = by_children.estimate();
                found.push((parent.slot, earlier.slot, distance, error));
            }
        }
        for (a, b, distance, error) in found {
            self.active.set(a, b, distance, error);
        }
    }
}
