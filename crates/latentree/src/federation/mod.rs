//! Learning across sites that exchange files but no rows.
//!
//! A learner is a deterministic program that accesses rows only through [passes](crate::passes). The coordinator runs it on
//! the passes that have already been answered, until it requests one that has not. That pass is written to a file, and the
//! program stops. Each site answers with a file of its own ([`answer`]), and [`Federation::next`] merges these parts and runs
//! the learner again, which gets further than before. In the end, there is a model.
//!
//! Parts are merged in the order of their sites' names, so the model has the same bytes as one learned from the same parts on
//! one machine. The answers are the only state of a run, so an interrupted run can always be resumed.
//!
//! | part | what it does |
//! | --- | --- |
//! | [`Federation`] | the coordinator: starts a run, takes parts, writes the next pass or the model |
//! | [`answer`] | a site: checks a pass against the site's [`Policy`] and runs it over the site's rows |
//! | [`masks`] | hides each site's numbers from the coordinator, which sees only their sum |
//! | [`privacy`](crate::privacy) | noise, and the account of what was spent |

mod coordinator;
mod envelope;
mod files;
pub mod masks;
mod policy;
mod private_run;
mod schema_round;
mod site;
#[cfg(test)]
mod tests;

pub use coordinator::{Federation, RoundStatus, RunOptions, Status, Step};
pub use files::PassFile;
pub use policy::Policy;
pub use schema_round::SCHEMA_PASS;
pub use site::check_name as check_site_name;
pub use site::{Answer, Site, answer, answer_schema};
