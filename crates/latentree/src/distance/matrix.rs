//! A symmetric matrix of distances, some of which may be undefined.

use std::collections::HashSet;

use crate::error::{Error, Place, Result, Shortened};

/// Distances between named variables: symmetric, finite, ≥ 0, or undefined.
///
/// # Example
/// ```
/// use latentree::distance::DistanceMatrix;
/// let names = ["a", "b", "c"].map(str::to_owned).to_vec();
/// let matrix = DistanceMatrix::from_fn(names, |i, j| if (i, j) == (2, 0) { None } else { Some(1.0) })?;
/// assert_eq!(matrix.get(0, 1), Some(1.0));
/// assert_eq!(matrix.get(0, 2), None);
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DistanceMatrix {
    names: Vec<String>,
    /// Strict lower triangle, row by row: (i > j) at i(i−1)/2 + j. NaN is undefined.
    values: Vec<f64>,
    /// Standard errors in the same order, where known.
    errors: Option<Vec<f64>>,
}

fn cell(i: usize, j: usize) -> usize {
    let (i, j) = (i.max(j), i.min(j));
    i * (i - 1) / 2 + j
}

impl DistanceMatrix {
    /// A matrix from a function of the pairs `i > j`; `None` marks a missing distance.
    ///
    /// # Errors
    /// [`Error::Data`] if a name is empty or appears twice, or a distance is negative or not finite.
    pub fn from_fn(names: Vec<String>, mut distance: impl FnMut(usize, usize) -> Option<f64>) -> Result<Self> {
        let values = (0..names.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        let values = values.map(|(i, j)| distance(i, j).unwrap_or(f64::NAN)).collect();
        Self::from_lower(names, values, None)
    }

    /// A matrix from its strict lower triangle, row by row, with NaN for "no distance", and standard errors in the same order.
    ///
    /// # Errors
    /// As [`from_fn`](Self::from_fn); also if there are more or fewer values than pairs.
    pub fn from_lower(names: Vec<String>, values: Vec<f64>, errors: Option<Vec<f64>>) -> Result<Self> {
        let n = names.len();
        let pairs = n * n.saturating_sub(1) / 2;
        if values.len() != pairs || errors.as_ref().is_some_and(|errors| errors.len() != pairs) {
            let problem = format!("{n} variables have {pairs} pairs, but {} distances are given", values.len());
            return Err(Error::data(Place::default(), problem));
        }
        let mut seen = HashSet::with_capacity(n);
        if let Some(bad) = names.iter().find(|name| name.is_empty() || !seen.insert(name.as_str())) {
            let problem = format!("the name {:?} is empty or appears twice", Shortened(bad));
            return Err(Error::data(Place::default(), problem));
        }
        if let Some(at) = values.iter().position(|value| *value < 0.0 || value.is_infinite()) {
            let i = (0..n).find(|&i| i * (i + 1) / 2 > at).unwrap_or(0);
            let j = at - i * i.saturating_sub(1) / 2;
            let problem = format!(
                "the distance of {:?} and {:?} is {}; distances are finite and ≥ 0, and an empty field means no distance",
                Shortened(&names[i]),
                Shortened(&names[j]),
                values[at]
            );
            return Err(Error::data(Place::default(), problem));
        }
        Ok(Self { names, values, errors })
    }

    /// Number of variables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no variables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Names of the variables.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The distance of two variables: 0 from a variable to itself, `None` if undefined.
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> Option<f64> {
        let value = self.raw(i, j);
        (!value.is_nan()).then_some(value)
    }

    /// The distance with NaN for "none": for inner loops.
    #[must_use]
    pub fn raw(&self, i: usize, j: usize) -> f64 {
        if i == j { 0.0 } else { self.values[cell(i, j)] }
    }

    /// Standard error of a distance, where known; 0 of a variable to itself.
    #[must_use]
    pub fn error(&self, i: usize, j: usize) -> Option<f64> {
        if i == j {
            return Some(0.0);
        }
        let error = self.errors.as_ref()?[cell(i, j)];
        (!error.is_nan()).then_some(error)
    }

    /// Whether standard errors are known.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.errors.is_some()
    }

    /// The strict lower triangle, row by row, with NaN for "none".
    #[must_use]
    pub fn lower(&self) -> &[f64] {
        &self.values
    }

    /// Standard errors in the order of [`lower`](Self::lower), where known.
    #[must_use]
    pub fn lower_errors(&self) -> Option<&[f64]> {
        self.errors.as_deref()
    }

    /// Number of pairs without a distance.
    #[must_use]
    pub fn n_undefined(&self) -> usize {
        self.values.iter().filter(|value| value.is_nan()).count()
    }

    /// The variables in groups that are connected by defined distances, each sorted, in the order of their first members: a
    /// learner makes one tree of each.
    #[must_use]
    pub fn components(&self) -> Vec<Vec<usize>> {
        let n = self.len();
        let mut seen = vec![false; n];
        let mut components = Vec::new();
        for start in 0..n {
            if seen[start] {
                continue;
            }
            seen[start] = true;
            let mut members = vec![start];
            let mut next = 0;
            while next < members.len() {
                let at = members[next];
                next += 1;
                for other in 0..n {
                    if !seen[other] && !self.raw(at, other).is_nan() {
                        seen[other] = true;
                        members.push(other);
                    }
                }
            }
            members.sort_unstable();
            components.push(members);
        }
        components
    }

    /// The matrix of some of the variables.
    #[must_use]
    pub fn subset(&self, members: &[usize]) -> Self {
        let pairs = || (0..members.len()).flat_map(|i| (0..i).map(move |j| (members[i], members[j])));
        Self {
            names: members.iter().map(|&ix| self.names[ix].clone()).collect(),
            values: pairs().map(|(i, j)| self.raw(i, j)).collect(),
            errors: self.errors.as_ref().map(|errors| pairs().map(|(i, j)| errors[cell(i, j)]).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|ix| format!("x{ix}")).collect()
    }

    #[test]
    fn components_follow_defined_distances() {
        let joined = |i: usize, j: usize| (i % 2 == j % 2).then_some((i - j) as f64);
        let matrix = DistanceMatrix::from_fn(names(7), joined).unwrap();
        assert_eq!(matrix.components(), [vec![0, 2, 4, 6], vec![1, 3, 5]]);
        assert_eq!(matrix.subset(&[1, 5]).get(0, 1), Some(4.0));
        assert_eq!(matrix.n_undefined(), 12);
    }

    #[test]
    fn negative_and_infinite_distances_are_refused_with_their_names() {
        for bad in [-0.5, f64::INFINITY] {
            let error = DistanceMatrix::from_fn(names(4), |i, j| Some(if (i, j) == (3, 1) { bad } else { 1.0 })).unwrap_err();
            let message = error.to_string();
            assert!(message.contains("\"x3\"") && message.contains("\"x1\""), "{message}");
        }
        assert!(DistanceMatrix::from_fn(vec!["a".into(), "a".into()], |_, _| Some(1.0)).is_err());
    }
}
