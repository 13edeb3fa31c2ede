//! Groups as text, for a terminal.

use std::fmt::Write as _;

use super::{Group, GroupState, Groups};
use crate::model::LatentTree;

/// Maximum number of variables to list per group.
const LISTED: usize = 10;
/// Maximum number of states to describe per group.
const DESCRIBED: usize = 6;
/// Line width of lists.
const WIDTH: usize = 110;

/// Formats the broad groups, or one group and its finer groups: label, states in words, variables.
pub(super) fn text(groups: &Groups, model: &LatentTree, of: Option<usize>) -> String {
    let all = groups.all();
    let mut text = String::new();
    let mut wanted = Vec::new();
    match of {
        None => wanted.extend((0..all.len()).filter(|&ix| all[ix].level == 1)),
        Some(of) => in_order(groups, of, &mut wanted),
    }
    let outermost = of.map_or(1, |of| all[of].level);
    for &ix in &wanted {
        if !text.is_empty() {
            text.push('\n');
        }
        let listed = if of == Some(ix) { usize::MAX } else { LISTED };
        write_group(&mut text, model, &all[ix], all[ix].level - outermost, listed);
    }
    text
}

/// A group and the groups inside it, each before its finer groups.
fn in_order(groups: &Groups, of: usize, found: &mut Vec<usize>) {
    found.push(of);
    for (ix, group) in groups.all().iter().enumerate() {
        if group.parent == Some(of) {
            in_order(groups, ix, found);
        }
    }
}

fn write_group(text: &mut String, model: &LatentTree, group: &Group, depth: usize, most: usize) {
    let indent = "  ".repeat(depth);
    let n = group.variables.len();
    // A label that others share already ends with the name.
    let is_named = group.label == group.name || group.label.ends_with(&format!("({})", group.name));
    let name = if is_named { String::new() } else { format!(" ({})", clean(&group.name)) };
    let variables = if n == 1 { "1 variable".to_owned() } else { format!("{n} variables") };
    let support = group.support.map_or_else(String::new, |support| format!(", support {support:.2}"));
    let mut line = |content: &str| {
        let _ = writeln!(text, "{indent}{content}");
    };
    line(&format!("{}{name}: {variables}{support}", clean(&group.label)));
    if group.states.is_empty() && !group.description.is_empty() {
        line(&format!("  {}", clean(&group.description)));
    }
    // Of two states, the first is what the other is compared with.
    let mut states: Vec<&GroupState> = group.states.iter().skip(usize::from(group.states.len() < 3)).collect();
    let n_left = if most < usize::MAX { states.len().saturating_sub(DESCRIBED) } else { 0 };
    if n_left > 0 {
        let mut shares: Vec<f64> = states.iter().map(|state| state.share).collect();
        shares.sort_by(|a, b| b.total_cmp(a));
        states.retain(|state| state.share >= shares[DESCRIBED - 1]);
        states.truncate(DESCRIBED);
    }
    states.iter().for_each(|state| line(&format!("  {}", clean(&state.description))));
    if n_left > 0 {
        let states = if n_left == 1 { "state" } else { "states" };
        line(&format!("  … and {n_left} more {states} (describe MODEL --of {} lists all)", clean(&group.name)));
    }
    let names: Vec<String> = group.variables.iter().take(most).map(|it| clean(model.tree().name(it.0))).collect();
    let more = if n > names.len() { format!(", … ({} more)", n - names.len()) } else { String::new() };
    let mut part = String::new();
    for (ix, name) in names.iter().enumerate() {
        let next = if ix + 1 < names.len() { format!("{name}, ") } else { format!("{name}{more}") };
        if !part.is_empty() && part.chars().count() + next.chars().count() + 2 + indent.len() > WIDTH {
            line(&format!("  {}", part.trim_end()));
            part.clear();
        }
        part.push_str(&next);
    }
    line(&format!("  {}", part.trim_end()));
}

/// The text without control characters.
fn clean(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { '·' } else { it }).collect()
}
