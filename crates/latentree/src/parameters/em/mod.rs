//! Parameters by EM: maximum (penalised) likelihood on a given tree, exact in every step.
//!
//! With `θ` the parameters, each step takes the expected counts of every node given its parent under the present model
//! ([`ExpectedCounts`], an [`Accumulator`](crate::moments::Accumulator) that merges across cores and machines) and sets `θ` to their maximiser:
//!
//! - a table: `θ(s|p) = (n(p, s) + α) / Σ_s' (n(p, s') + α)`, with the pseudo-count `α` of a [`Smoothing`];
//! - a continuous leaf: weighted mean and variance in each state of the parent, the variance not below a floor, and drawn
//!   towards a share of the column's by a prior of some rows' weight, if it has one;
//! - a count leaf: the weighted mean, not below a floor;
//! - a node of a Gaussian tree: regression on its parent, then hidden nodes are scaled to mean 0 and variance 1 (their scale is
//!   not identifiable; free in the step and fixed after it, it makes EM faster).
//!
//! What never falls is the objective: the log-likelihood and the logarithms of the priors ([`Smoothing`]), `α Σ ln θ` over all cells of all tables among them.
//! [`Em`] runs the steps, accelerated or not, and keeps that promise by looking at every step.
//!
//! A hidden state that almost no row is in (expected weight below [`DEAD_WEIGHT`] rows) is *dead*: it is reported in the fit's
//! warnings and kept, with the parameters it had where no row speaks of them.
//!
//! Reference: Choi, Tan, Anandkumar and Willsky (2011), §6.6 and §7.2; Dempster, Laird and Rubin (1977).

mod acceleration;
mod bytes;
mod checkpoint;
mod expected_counts;
mod fit;
mod latent_class;
mod maximise;
mod options;
mod rows;
mod starts;
mod stepwise;
#[cfg(test)]
mod tests;

pub use expected_counts::ExpectedCounts;
pub use fit::{Em, EmFit, Stop};
pub(crate) use maximise::PRIOR_VARIANCE;
pub use maximise::{DEAD_WEIGHT, Smoothing};
pub use options::{EmOptions, EmStart};
pub(crate) use rows::log_likelihood as rows_log_likelihood;
pub use rows::{Merged, merge_rows};
pub(crate) use starts::template_with;
pub use starts::{Start, template};
