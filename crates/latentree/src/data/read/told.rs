//! How messages write an option for one column. Each shell spells the path in its own way.

use crate::error::Shortened;

/// The kind of a column as an option.
pub(crate) fn told(name: &str, kind: &str) -> String {
    format!("`read.kind` {}", quoted(name, &format!("={kind}")))
}

/// A column as the one that names rows.
pub(super) fn id(name: &str) -> String {
    format!("`read.id` {}", quoted(name, ""))
}

/// Values of a column that mean missing.
pub(super) fn na(name: &str, values: &str) -> String {
    format!("`read.na` {}", quoted(name, &format!("={values}")))
}

/// A name and what follows it, in quotes if a command line needs them.
fn quoted(name: &str, rest: &str) -> String {
    let shown = if name.len() > 60 { format!("{:?}", Shortened(name)) } else { name.to_owned() };
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | ':' | '/' | '+');
    if shown.chars().all(is_plain) && !shown.is_empty() {
        format!("{shown}{rest}")
    } else if shown.contains('\'') {
        format!("\"{shown}{rest}\"")
    } else {
        format!("'{shown}{rest}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_blanks_are_quoted() {
        assert_eq!(told("age", "ignore"), "`read.kind` age=ignore");
        assert_eq!(told("Gewicht (kg)", "ignore"), "`read.kind` 'Gewicht (kg)=ignore'");
        assert_eq!(na("Größe", "99"), "`read.na` Größe=99");
        assert_eq!(id("mother's id"), "`read.id` \"mother's id\"");
    }
}
