//! How groups of variables are printed.

use std::io::{self, Write};
use std::path::Path;

use latentree::model::LatentTree;
use latentree::report::Groups;

/// Writes the broad groups and how to see the finer ones; `path` is the file of the model, if any.
pub(crate) fn write(out: &mut dyn Write, model: &LatentTree, groups: &Groups, path: Option<&Path>) -> io::Result<()> {
    let n_broad = groups.broad().count();
    let n_finer = groups.all().len() - n_broad;
    if n_broad == 0 {
        return Ok(());
    }
    let what = if n_finer == 0 { "groups of variables" } else { "broad groups of variables" };
    writeln!(
        out,
        "\n{what}, each by the hidden variable that says most about them\n\n{}",
        groups.to_text(model, None).trim_end()
    )?;
    if n_finer > 0 {
        let path = path.map_or_else(|| "MODEL".to_owned(), |path| path.display().to_string());
        let first = groups.broad().next().map_or("NAME", |group| &group.name);
        let are = if n_finer == 1 { "group is" } else { "groups are" };
        writeln!(
            out,
            "\n{n_finer} finer {are} inside them: latentree describe {path} --of {} shows those of one,",
            clean(first)
        )?;
        writeln!(out, "latentree report {path} -o page.html all of them")?;
    }
    Ok(())
}

/// The text without control characters.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { '·' } else { it }).collect()
}
