//! How groups of variables are printed.

use std::io::{self, Write};

use latentree::model::LatentTree;
use latentree::report::{Group, Groups};

/// Variables that are listed of a group.
const LISTED: usize = 10;
/// Columns of the terminal that lists are fitted to.
const WIDTH: usize = 110;

/// Writes the broad groups, each with its share, its states in words and its variables.
pub(crate) fn write(out: &mut dyn Write, model: &LatentTree, groups: &Groups, all_levels: bool) -> io::Result<()> {
    let broad: Vec<&Group> = groups.broad().collect();
    if broad.is_empty() {
        return Ok(());
    }
    let finer = groups.all().len() - broad.len();
    let levels = groups.all().iter().map(|group| group.level).max().unwrap_or(1);
    match finer {
        0 => writeln!(out, "\ngroups of variables, by the hidden variable that says most about them")?,
        _ => writeln!(out, "\nbroad groups of variables, by the hidden variable that says most about them")?,
    }
    for group in groups.all().iter().filter(|group| group.level == 1 || all_levels) {
        write_group(out, model, group)?;
    }
    if finer > 0 && !all_levels {
        writeln!(out, "\n{finer} finer groups on {} more levels are inside them", levels - 1)?;
    }
    Ok(())
}

fn write_group(out: &mut dyn Write, model: &LatentTree, group: &Group) -> io::Result<()> {
    let indent = "  ".repeat(group.level - 1);
    let name = if group.label == group.name { String::new() } else { format!(" ({})", clean(&group.name)) };
    let support = group.support.map_or_else(String::new, |support| format!(", support {support:.2}"));
    let n = group.variables.len();
    let variables = if n == 1 { "1 variable".to_owned() } else { format!("{n} variables") };
    writeln!(out, "\n{indent}{}{name}: {variables}{support}", clean(&group.label))?;
    match group.states.len() {
        0 if group.description.is_empty() => {}
        0 | 2 => writeln!(out, "{indent}  {}", clean(&group.description))?,
        _ => {
            for state in group.states.iter().skip(1) {
                writeln!(out, "{indent}  {}", clean(&state.description))?;
            }
        }
    }
    let names: Vec<String> =
        group.variables.iter().take(LISTED).map(|it| clean(model.tree().name(it.0))).collect();
    let more = if n > LISTED { format!(", … ({} more)", n - LISTED) } else { String::new() };
    let mut line = String::new();
    for (ix, name) in names.iter().enumerate() {
        let part = if ix + 1 < names.len() { format!("{name}, ") } else { format!("{name}{more}") };
        if !line.is_empty() && line.chars().count() + part.chars().count() > WIDTH - 2 - indent.len() {
            writeln!(out, "{indent}  {}", line.trim_end())?;
            line.clear();
        }
        line.push_str(&part);
    }
    writeln!(out, "{indent}  {}", line.trim_end())
}

/// A text without characters that disturb a terminal.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { '·' } else { it }).collect()
}
