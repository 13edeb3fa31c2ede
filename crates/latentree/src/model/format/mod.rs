//! Other programs' files of discrete models: BIF and XMLBIF, read and written.
//!
//! Both formats hold a directed network of discrete variables. A latent tree rooted for its parametrisation is such a
//! network in which no variable has more than one parent. What the formats cannot say is kept in properties of the
//! variable, `latentree = …`, which other programs skip:
//!
//! - `hidden`: the node is hidden;
//! - `binary` or `categorical`: the kind of a column, where the labels do not tell;
//! - `name TEXT`, `state N TEXT`: the name, or the label of state N, that had to be replaced by one the format allows.
//!   TEXT has every byte but ASCII letters, digits, `_`, `-` and `.` written as `%` and two hexadecimal digits.

mod bif;
mod names;
mod network;
#[cfg(test)]
mod tests;
mod xml;
mod xmlbif;

pub(super) use bif::read_bif;
pub use bif::to_bif;
pub(crate) use xml::escape;
pub(super) use xmlbif::read_xmlbif;
pub use xmlbif::to_xmlbif;
