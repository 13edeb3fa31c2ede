//! The distribution of a node given its parent.

/// A conditional probability table: one row of `n_states` probabilities per state of the parent.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    n_states: usize,
    values: Vec<f64>,
}

impl Table {
    /// Sums of a row may differ from 1 by this much.
    pub const TOLERANCE: f64 = 1e-8;

    /// A table from its values, row by row.
    ///
    /// # Panics
    /// If the number of values is not a multiple of `n_states`, or is zero.
    #[must_use]
    pub fn new(n_states: usize, values: Vec<f64>) -> Self {
        assert!(n_states > 0 && !values.is_empty() && values.len().is_multiple_of(n_states), "a table has whole rows");
        Self { n_states, values }
    }

    /// Number of states of the node itself (columns).
    #[must_use]
    pub fn n_states(&self) -> usize {
        self.n_states
    }

    /// Number of states of the parent (rows).
    #[must_use]
    pub fn n_parent_states(&self) -> usize {
        self.values.len() / self.n_states
    }

    /// All values, row by row.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The distribution given one state of the parent.
    #[must_use]
    pub fn given(&self, parent_state: usize) -> &[f64] {
        &self.values[parent_state * self.n_states..][..self.n_states]
    }

    /// The rows, one per state of the parent.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.n_states)
    }

    /// Why this is not a table of probabilities, if it is not.
    pub(crate) fn fault(&self) -> Option<String> {
        for (state, row) in self.rows().enumerate() {
            if let Some(bad) = row.iter().find(|value| !(0.0..=1.0 + Self::TOLERANCE).contains(*value)) {
                return Some(format!("{bad} is not a probability (given state {state} of the parent)"));
            }
            let sum: f64 = row.iter().sum();
            if (sum - 1.0).abs() > Self::TOLERANCE {
                return Some(format!("probabilities given state {state} of the parent sum to {sum}, not 1"));
            }
        }
        None
    }
}

/// How a leaf that is not a plain discrete node is distributed in each state of its (discrete) parent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Emission {
    /// A discrete member of a group.
    Categorical(Table),
    /// Normal with a mean and a variance per state of the parent.
    Gaussian {
        /// Mean in each state of the parent.
        means: Vec<f64>,
        /// Variance in each state of the parent, > 0.
        variances: Vec<f64>,
    },
    /// Poisson with a rate per state of the parent.
    Poisson {
        /// Rate in each state of the parent, ≥ 0.
        rates: Vec<f64>,
    },
    /// A vector whose members are independent given the parent's state, one emission per member.
    Group(Vec<Emission>),
}

impl Emission {
    /// Number of states of the parent it is made for; `None` if it is not well formed.
    #[must_use]
    pub fn n_parent_states(&self) -> Option<usize> {
        match self {
            Self::Categorical(table) => Some(table.n_parent_states()),
            Self::Gaussian { means, variances } => (means.len() == variances.len()).then_some(means.len()),
            Self::Poisson { rates } => Some(rates.len()),
            Self::Group(members) => {
                let first = members.first()?.n_parent_states()?;
                members.iter().all(|member| member.n_parent_states() == Some(first)).then_some(first)
            }
        }
    }

    /// Number of free parameters.
    #[must_use]
    pub fn n_free_parameters(&self) -> usize {
        match self {
            Self::Categorical(table) => table.n_parent_states() * (table.n_states() - 1),
            Self::Gaussian { means, variances } => means.len() + variances.len(),
            Self::Poisson { rates } => rates.len(),
            Self::Group(members) => members.iter().map(Self::n_free_parameters).sum(),
        }
    }
}

/// The distribution of a node given its parent; for a root, its own.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// A discrete node: one row per state of the parent, a single row for a root.
    Discrete(Table),
    /// A continuous, count or group leaf with a discrete parent; with a single parent state for a node that stands alone.
    Emission(Emission),
    /// A node of a Gaussian tree: `x = mean + coefficient · (x_parent − mean_parent) + noise`.
    LinearGaussian {
        /// Marginal mean of the node.
        mean: f64,
        /// Slope on the parent; 0 for a root.
        coefficient: f64,
        /// Variance of the noise, > 0; for a root, of the node.
        variance: f64,
    },
}

impl Distribution {
    /// Number of free parameters (of a hidden Gaussian node see [`LatentTree`](crate::model::LatentTree)).
    #[must_use]
    pub(crate) fn discrete_free_parameters(&self) -> usize {
        match self {
            Self::Discrete(table) => table.n_parent_states() * (table.n_states() - 1),
            Self::Emission(emission) => emission.n_free_parameters(),
            Self::LinearGaussian { .. } => 0,
        }
    }
}
