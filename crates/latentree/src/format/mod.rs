//! File formats of models and trees, one source file each. JSON (models and trees), Newick, BIF and XMLBIF are read and written;
//! DOT, GraphML and indented text are only written.
//!
//! [`Format`] lists the formats and their file extensions. A [`View`] is a model or a tree to export: [`render`] returns its
//! text, [`export`] writes the file. [`read_model`] reads a model in any format that can hold one;
//! [`Tree::from_newick`](crate::tree::Tree::from_newick) reads a tree.

mod bif;
mod dot;
mod endings;
mod graphml;
mod linkage;
mod model_file;
mod names;
mod network;
#[cfg(test)]
mod network_tests;
mod newick;
mod other_models;
#[cfg(test)]
mod tests;
mod text;
mod tree_json;
mod value_checksum;
mod view;
mod xml;
mod xmlbif;

pub use bif::to_bif;
pub use dot::to_dot;
pub use endings::Format;
pub use graphml::to_graphml;
pub use linkage::{Merge, merges, to_linkage};
pub use model_file::{ModelFile, ReadModelOptions, read_model, read_model_from};
pub use other_models::{OtherModel, clusters_to_text, kind_of_file};
pub use text::to_text;
pub(crate) use value_checksum::{checksum_fault, value_checksum};
pub use view::View;
pub use xmlbif::to_xmlbif;

use std::path::Path;

use crate::error::{Error, Result};

/// The text of a model or tree in a format.
///
/// # Errors
/// [`Error::Data`] naming a node that the format cannot hold, if the format needs tables and there are none, or if the text is
/// longer than can be read again.
///
/// # Example
/// ```
/// use latentree::format::{Format, render};
/// use latentree::tree::Tree;
/// let mut tree = Tree::new();
/// let (h, a) = (tree.add_hidden("h1")?, tree.add_observed("a")?);
/// tree.connect(h, a, Some(0.5))?;
/// assert!(render(&tree, Format::Dot)?.contains("n0 -- n1"));
/// # Ok::<(), latentree::Error>(())
/// ```
pub fn render<'a>(what: impl Into<View<'a>>, format: Format) -> Result<String> {
    let view = what.into();
    match format {
        Format::Json => match (view.file, view.model) {
            (Some(file), _) => file.to_file_text(),
            (None, Some(model)) => model.to_file_text(),
            (None, None) => ModelFile::from(view.tree.clone()).to_file_text(),
        },
        Format::Newick => Ok(view.tree.to_newick(view.model.map(|model| model.rooted().roots[0])) + "\n"),
        Format::Dot => Ok(to_dot(view)),
        Format::GraphMl => Ok(to_graphml(view)),
        Format::Bif => to_bif(view.need_model(format)?).and_then(checked),
        Format::XmlBif => to_xmlbif(view.need_model(format)?).and_then(checked),
        Format::Linkage => to_linkage(&linkage::dendrogram(&view)?),
        Format::Text => Ok(to_text(view)),
    }
}

/// What to know about a model or tree in a format; `None` if the format shows it as it is.
#[must_use]
pub fn export_note<'a>(what: impl Into<View<'a>>, format: Format) -> Option<String> {
    (format == Format::Linkage).then(|| linkage::note(what.into().tree())).flatten()
}

/// A text that can be read again.
fn checked(text: String) -> Result<String> {
    model_file::check_length(&text).map(|()| text)
}

/// Writes a model or tree in a format, or nothing when something fails; `.gz` and `.zst` endings compress, `-` is standard
/// output.
///
/// # Errors
/// Those of [`render`], and [`Error::Io`].
pub fn export<'a>(what: impl Into<View<'a>>, format: Format, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let text = render(what, format)?;
    crate::file::write_atomically(path, |out| out.write_all(text.as_bytes()).map_err(Error::io("write", path)))
}
