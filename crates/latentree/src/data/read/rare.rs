//! Merging of rare labels.

use crate::error::Shortened;

/// The label that stands for all rare ones. A column that has it takes every label that it does not know for a rare one, so
/// that a model learned from joined labels can be applied to other rows.
pub const OTHER_LABEL: &str = "(other)";

/// Joins the labels that occur less often than `min_count`; the order of the others stays. Gives a note if there are any.
///
/// # Errors
/// The reason to leave the column out, if all labels are rare.
pub(super) fn join_rare(counted: Vec<(u64, String)>, min_count: u64) -> Result<(Vec<String>, Option<String>), String> {
    let n_labels = counted.len();
    let is_kept = |count: u64, label: &str| count >= min_count && label != OTHER_LABEL;
    let n_kept = counted.iter().filter(|(count, label)| is_kept(*count, label)).count();
    if n_kept == n_labels {
        return Ok((counted.into_iter().map(|(_, label)| label).collect(), None));
    }
    let rarest = counted.iter().filter(|(count, label)| !is_kept(*count, label)).map(|(_, label)| label).min();
    let rarest = rarest.map_or("", String::as_str);
    if n_kept == 0 {
        return Err(format!("each of its {n_labels} labels occurs fewer than {min_count} times ({:?}, …)", Shortened(rarest)));
    }
    let note = format!(
        "has {} of {n_labels} labels that occur fewer than {min_count} times ({:?}, …); they are merged into {OTHER_LABEL:?}",
        n_labels - n_kept,
        Shortened(rarest)
    );
    let kept = counted.into_iter().filter(|(count, label)| is_kept(*count, label)).map(|(_, label)| label);
    Ok((kept.chain([OTHER_LABEL.to_owned()]).collect(), Some(note)))
}
