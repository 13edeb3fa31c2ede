//! The active set: the nodes that still have no parent, and their distances.

use crate::distance::DistanceMatrix;

/// Bounds for standard errors, so that no weight is zero or infinite.
const ERRORS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// The active nodes. A node lives in a slot; a parent takes the slot of a child, so that memory stays quadratic in the number of
/// variables.
pub(super) struct ActiveSet {
    n_slots: usize,
    distance: Vec<f64>,
    /// Standard errors; empty as long as distances are taken to be exact.
    error: Vec<f32>,
    slots: Vec<usize>,
    is_active: Vec<bool>,
    node: Vec<usize>,
}

/// Longer distances are taken for this long: sums stay finite.
const LONGEST: f64 = 1e100;

/// The standard error of `−ln|ρ|` from 1,600 rows.
fn assumed_error(distance: f64) -> f64 {
    (0.05 * distance.min(18.0).sinh()).max(1e-4)
}

impl ActiveSet {
    pub(super) fn new(distances: &DistanceMatrix) -> Self {
        let n = distances.len();
        let mut square = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..i {
                let value = distances.raw(i, j).min(LONGEST);
                square[i * n + j] = value;
                square[j * n + i] = value;
            }
        }
        let mut error = Vec::new();
        if distances.has_errors() {
            error.resize(n * n, 0.0);
            for i in 0..n {
                for j in 0..i {
                    let known = distances.error(i, j).filter(|error| error.is_finite());
                    let value = known.unwrap_or_else(|| assumed_error(square[i * n + j])).clamp(*ERRORS.start(), *ERRORS.end());
                    error[i * n + j] = value as f32;
                    error[j * n + i] = value as f32;
                }
            }
        }
        Self { n_slots: n, distance: square, error, slots: (0..n).collect(), is_active: vec![true; n], node: (0..n).collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The slots in use, ascending.
    pub(super) fn slots(&self) -> &[usize] {
        &self.slots
    }

    pub(super) fn n_slots(&self) -> usize {
        self.n_slots
    }

    pub(super) fn is_active(&self, slot: usize) -> bool {
        self.is_active[slot]
    }

    /// The tree's node in a slot.
    pub(super) fn node(&self, slot: usize) -> usize {
        self.node[slot]
    }

    pub(super) fn distance(&self, i: usize, j: usize) -> f64 {
        self.distance[i * self.n_slots + j]
    }

    pub(super) fn distances_of(&self, i: usize) -> &[f64] {
        &self.distance[i * self.n_slots..(i + 1) * self.n_slots]
    }

    /// Standard errors of the distances of a node; empty while distances are exact.
    pub(super) fn errors_of(&self, i: usize) -> &[f32] {
        if self.error.is_empty() { &[] } else { &self.error[i * self.n_slots..(i + 1) * self.n_slots] }
    }

    /// Standard error of a distance; 1 while distances are exact, as all weights are equal then.
    pub(super) fn error(&self, i: usize, j: usize) -> f64 {
        self.error.get(i * self.n_slots + j).map_or(1.0, |&error| f64::from(error))
    }

    pub(super) fn has_errors(&self) -> bool {
        !self.error.is_empty()
    }

    /// Ends the belief in exact distances.
    pub(super) fn assume_errors(&mut self) {
        self.error = self.distance.iter().map(|&distance| assumed_error(distance) as f32).collect();
    }

    pub(super) fn set(&mut self, i: usize, j: usize, distance: f64, error: f64) {
        for cell in [i * self.n_slots + j, j * self.n_slots + i] {
            self.distance[cell] = distance.max(0.0);
            if let Some(place) = self.error.get_mut(cell) {
                *place = error.clamp(*ERRORS.start(), *ERRORS.end()) as f32;
            }
        }
    }

    pub(super) fn put(&mut self, slot: usize, node: usize) {
        self.node[slot] = node;
    }

    /// Takes nodes out of the set.
    pub(super) fn remove(&mut self, slots: &[usize]) {
        for &slot in slots {
            self.is_active[slot] = false;
        }
        let is_active = &self.is_active;
        self.slots.retain(|&slot| is_active[slot]);
    }
}
