//! A first round in which sites agree on the columns. It reveals only names, kinds and labels.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::{Column, Kind, Schema};
use crate::error::{Error, Result};

/// The name of the round in which sites report their columns.
pub const SCHEMA_PASS: &str = "schema";

/// Merges the columns of all sites. Labels are joined and sorted; a column that only some sites have is missing at the
/// others.
///
/// # Errors
/// [`Error::Mismatch`] if a column has labels at one site and numbers at another, or if groups differ.
pub(super) fn joined(parts: &[(String, Schema)]) -> Result<Schema> {
    if let Some((_, first)) = parts.first().filter(|(_, first)| parts.iter().all(|(_, other)| other == first)) {
        return Ok(first.clone());
    }
    let mut order: Vec<&str> = Vec::new();
    let mut kinds: BTreeMap<&str, Vec<(&str, &Kind)>> = BTreeMap::new();
    for (site, schema) in parts {
        for variable in schema.variables() {
            if variable.is_group {
                return Err(Error::Mismatch {
                    left: format!("the columns of {site}"),
                    right: "those of other sites".to_owned(),
                    problem: "groups must be the same everywhere; declare them in a schema".to_owned(),
                });
            }
        }
        for Column { name, kind } in schema.columns() {
            let known = kinds.entry(name).or_default();
            if known.is_empty() {
                order.push(name);
            }
            known.push((site, kind));
        }
    }
    let mut builder = Schema::builder();
    for name in order {
        builder = builder.scalar(name, joined_kind(name, &kinds[name])?);
    }
    builder.build()
}

fn joined_kind(name: &str, kinds: &[(&str, &Kind)]) -> Result<Kind> {
    let (first_site, first) = kinds[0];
    if kinds.iter().all(|(_, kind)| *kind == first) {
        return Ok(first.clone());
    }
    if let Some((site, other)) = kinds.iter().find(|(_, kind)| kind.labels().is_some() != first.labels().is_some()) {
        return Err(Error::Mismatch {
            left: format!("column {name:?} of {first_site}"),
            right: format!("that of {site}"),
            problem: format!("it is {} there and {} here; declare it in a schema", other.name(), first.name()),
        });
    }
    let labels: BTreeSet<&String> = kinds.iter().filter_map(|(_, kind)| kind.labels()).flatten().collect();
    if labels.is_empty() {
        return Ok(Kind::Continuous);
    }
    let labels: Vec<String> = labels.into_iter().cloned().collect();
    let is_binary = kinds.iter().any(|(_, kind)| matches!(kind, Kind::Binary { .. }));
    Ok(match <[String; 2]>::try_from(labels) {
        Ok(labels) if is_binary => Kind::Binary { labels },
        Ok(labels) => Kind::Categorical { labels: labels.into() },
        Err(labels) => Kind::Categorical { labels },
    })
}
