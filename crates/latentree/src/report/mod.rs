//! Reports: goodness of fit, comparisons, groups of variables, and the page.
//!
//! [`page`] creates a single HTML file, [`cluster_page`] that of a mixture, topic model or hierarchy, [`goodness`] measures
//! the fit of a model, [`compare`] compares two models, and [`Groups`] describes a model in words. Files for other programs
//! are in [`format`](crate::format).

mod channel;
mod cluster_page;
mod comparison;
mod goodness;
mod groups;
mod misfits;
mod page;
mod pair_misfits;
mod plain_page;
mod profile;
mod reference;
mod spectral_page;
mod steps;
mod topics;
mod weak_pairs;

pub use cluster_page::{Grouping, cluster_page};
pub use comparison::{Comparison, ParameterError, compare, parameter_error};
pub use goodness::{EdgeStrength, Fit, Goodness, GoodnessOptions, HiddenVariable, ProfileVariable, UnexplainedPair, goodness};
pub use groups::{Difference, Group, GroupState, Groups, find_node};
pub use misfits::{has_few_pairs, poor_pairs};
pub use page::{PageOptions, page};
pub use pair_misfits::{PairMisfit, pair_misfits};
pub(crate) use plain_page::{document, escaped, table, tree_text};
pub use reference::{Agreement, Hierarchy, agreement};
pub use spectral_page::spectral_page;
pub use topics::{TOPICS_OPTION, Topic, TopicTable};
pub use weak_pairs::{WeakPairs, weak_pairs};
