//! From the columns of a file to the columns of a schema.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::group::Groups;
use super::options::{KindOverride, ReadOptions};
use super::overrides::{Overrides, Told, unknown_column};
use super::rollup::{note_undescribed, read_descriptions};
use super::unseen::{Similar, UnseenPolicy};
use crate::data::{Column, Kind, Schema};
use crate::error::{Error, Place, Result, Shortened};
use crate::index::ColIx;

/// Where the cells of one column of the file go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Skip,
    Weight,
    /// A column of the schema.
    Column(usize),
}

/// What becomes of every column of a file.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) schema: Arc<Schema>,
    /// One for each column of the file.
    pub(super) targets: Vec<Target>,
    /// For each column of the schema, whether counts are reduced to "above 0".
    pub(super) thresholds: Vec<bool>,
    /// Columns of the schema that the file does not have.
    pub(super) absent: Vec<ColIx>,
    /// Columns of the file that the schema it must fit does not have, with their names.
    pub(super) unknown: Vec<(usize, String)>,
    pub(super) warnings: Vec<String>,
    /// Columns of the file that are carried as text: the id first, then the others in order.
    pub(super) carried: Vec<usize>,
}

/// The outcome of inspecting a column.
pub(super) enum Verdict {
    /// What its values are, and how finely numbers were recorded if that is known.
    Kind(Kind, Option<f64>),
    /// Not a variable, with the reason for a warning.
    Leave(String),
}

/// The columns of a file.
pub(super) struct Columns<'a> {
    pub(super) place: Place,
    pub(super) names: &'a [String],
    /// Whether the file gave the names; otherwise columns are known by their position.
    pub(super) named: bool,
}

impl Plan {
    /// A plan whose kinds come from the data and the user.
    pub(super) fn infer(
        columns: &Columns<'_>,
        options: &ReadOptions,
        overrides: &Overrides,
        mut verdict: impl FnMut(usize, &Told) -> Result<Verdict>,
    ) -> Result<Self> {
        overrides.check_names(columns.names, options)?;
        let (weight, id) = (weight_column(columns, options)?, id_column(columns, options)?);
        let mut warnings = Vec::new();
        let mut chosen: Vec<(usize, Kind, bool)> = Vec::new();
        let mut resolutions: Vec<(usize, f64)> = Vec::new();
        for (ix, name) in columns.names.iter().enumerate() {
            let told = overrides.of(name);
            if weight == Some(ix) || id == Some(ix) || told.kind == Some(KindOverride::Ignore) {
                continue;
            }
            let is_threshold = told.kind == Some(KindOverride::Binary) && told.labels.is_none();
            match verdict(ix, &told)? {
                Verdict::Kind(kind, resolution) => {
                    let kind = told.fixed_kind().unwrap_or(kind);
                    resolutions.extend(resolution.filter(|_| kind == Kind::Continuous).map(|it| (ix, it)));
                    chosen.push((ix, kind, is_threshold));
                }
                Verdict::Leave(reason) => warnings.push(format!("column {:?} is ignored: {reason}", Shortened(name))),
            }
        }
        if chosen.is_empty() {
            let reason = match &warnings[..] {
                [] => "all are ignored".to_owned(),
                [only] => only.clone(),
                [first, rest @ ..] => format!("{first} (and so are {} more)", rest.len()),
            };
            let problem = format!("no column remains as a variable: {reason}; give them values, or set their kinds");
            return Err(Error::data(columns.place.clone(), problem));
        }
        let groups = read_groups(options, overrides)?;
        let members = join(columns, &chosen, groups, options, &mut warnings)?;
        let mut builder = Schema::builder();
        let mut targets = vec![Target::Skip; columns.names.len()];
        let mut thresholds = Vec::with_capacity(chosen.len());
        let scalar_names: HashSet<&str> =
            members.iter().filter(|(group, _)| group.is_none()).map(|(_, of)| columns.names[chosen[of[0]].0].as_str()).collect();
        for (group, of) in &members {
            let mut taken = Vec::with_capacity(of.len());
            for &which in of {
                let (ix, kind, is_threshold) = &chosen[which];
                targets[*ix] = Target::Column(thresholds.len());
                thresholds.push(*is_threshold);
                taken.push(Column { name: columns.names[*ix].clone(), kind: kind.clone() });
            }
            builder = match group {
                None => taken.into_iter().fold(builder, |builder, column| builder.scalar(column.name, column.kind)),
                Some(group) if scalar_names.contains(group.as_str()) => {
                    let name = format!("{group} (group)");
                    warnings.push(format!("the group {:?} is called {name:?}: a column has its name", Shortened(group)));
                    builder.group(name, taken)
                }
                Some(group) => builder.group(group.clone(), taken),
            };
        }
        if let Some(ix) = weight {
            targets[ix] = Target::Weight;
        }
        for (ix, resolution) in resolutions.into_iter().filter(|it| matches!(targets[it.0], Target::Column(_))) {
            builder = builder.resolution(&columns.names[ix], resolution);
        }
        let schema = builder.build().map_err(|error| match columns.place.file.as_deref() {
            Some(file) => error.in_file(file),
            None => error,
        })?;
        let carried = carried(&targets, id, options);
        Ok(Self { schema: Arc::new(schema), targets, thresholds, absent: Vec::new(), unknown: Vec::new(), warnings, carried })
    }

    /// A plan that fits a file to a schema.
    pub(super) fn fit(schema: &Arc<Schema>, columns: &Columns<'_>, options: &ReadOptions, overrides: &Overrides) -> Result<Self> {
        let (weight, id) = (weight_column(columns, options)?, id_column(columns, options)?);
        let n_columns = columns.names.len() - usize::from(weight.is_some()) - usize::from(id.is_some());
        let mut targets = vec![Target::Skip; columns.names.len()];
        let mut is_found = vec![false; schema.columns().len()];
        // A schema that was learned from a file without names may lack columns that were left out, but its names tell which.
        let has_all_names = || {
            let known: HashSet<&str> = columns.names.iter().map(String::as_str).collect();
            schema.columns().iter().all(|column| known.contains(schema.code_of(&column.name).unwrap_or(&column.name)))
        };
        let by_name = columns.named || (n_columns > schema.columns().len() && has_all_names());
        let by_position = !by_name;
        if by_position && n_columns != schema.columns().len() {
            let problem = format!(
                "the file has {n_columns} columns without names, and {} are expected; give them names (a header, `read.names`)",
                schema.columns().len()
            );
            return Err(Error::data(columns.place.clone(), problem));
        }
        let mut position = 0;
        let mut unknown = Vec::new();
        for (ix, name) in columns.names.iter().enumerate() {
            if weight == Some(ix) {
                targets[ix] = Target::Weight;
                continue;
            }
            if by_position && id == Some(ix) {
                continue;
            }
            // An id that is a variable of the schema is both.
            let column = if by_position { Some(ColIx::new(position)) } else { schema.find_data_column(name) };
            position += 1;
            if let Some(column) = column
                && overrides.of(&schema.column(column).name).kind != Some(KindOverride::Ignore)
            {
                targets[ix] = Target::Column(column.get());
                is_found[column.get()] = true;
            }
            if column.is_none() && id != Some(ix) && overrides.of(name).kind != Some(KindOverride::Ignore) {
                unknown.push((ix, name.clone()));
            }
        }
        if let (Some(UnseenPolicy::Error), true, Some((_, item))) = (options.unseen, options.events.is_some(), unknown.first()) {
            let problem = format!(
                "{} unknown to the model, the first is {:?}; leave out of the data what the model does not know, or read it as missing",
                if unknown.len() == 1 { "1 item is".to_owned() } else { format!("{} items are", unknown.len()) },
                Shortened(item)
            );
            return Err(Error::data(columns.place.clone(), problem));
        }
        // Texts may well have none of the words, and a period no events.
        let may_be_empty = options.text.is_some() || (options.times.is_set() && columns.names.is_empty());
        if !is_found.contains(&true) && !may_be_empty {
            let similar = Similar::new(schema.columns().iter().map(|column| column.name.as_str()));
            if let Some((name, known)) = unknown.iter().find_map(|(_, name)| Some((name, similar.to(name)?))) {
                let problem = format!(
                    "none of the {} expected columns is present, but {:?} is: did you mean {:?}? Case and spaces must match",
                    schema.columns().len(),
                    Shortened(name),
                    Shortened(known)
                );
                return Err(Error::data(columns.place.clone(), problem));
            }
            let expected: Vec<String> =
                schema.columns().iter().take(5).map(|column| format!("{:?}", Shortened(&column.name))).collect();
            // Events have few columns, and a model of them many.
            let hint = if options.events.is_none() && n_columns <= 5 && n_columns < schema.columns().len() {
                ", or add `read.events` if the file lists events"
            } else {
                ""
            };
            let problem = format!(
                "none of the {} expected columns is present ({}, …); check the header{hint}",
                schema.columns().len(),
                expected.join(", ")
            );
            return Err(Error::data(columns.place.clone(), problem));
        }
        for column in schema.columns() {
            let told = overrides.by_name(&column.name);
            let conflicts = told.is_some_and(|told| told != KindOverride::Ignore && told.name() != column.kind.name());
            if let (true, Some(told)) = (conflicts, told) {
                let problem = format!(
                    "column {:?} cannot be {}: it is {} in the schema it must fit",
                    Shortened(&column.name),
                    told.name(),
                    column.kind.name()
                );
                return Err(Error::option("read.kind", problem));
            }
        }
        let thresholds =
            schema.columns().iter().map(|column| overrides.of(&column.name).kind == Some(KindOverride::Binary)).collect();
        let absent = (0..is_found.len()).filter(|&ix| !is_found[ix]).map(ColIx::new).collect();
        let carried = carried(&targets, id, options);
        // Carried columns are not lost.
        unknown.retain(|(ix, _)| !carried.contains(ix));
        Ok(Self { schema: Arc::clone(schema), targets, thresholds, absent, unknown, warnings: Vec::new(), carried })
    }
}

impl Plan {
    /// Gives columns and groups their descriptions for names, unless a model names them.
    pub(super) fn describe(&mut self, options: &ReadOptions) -> Result<()> {
        let (Some(file), None) = (&options.descriptions, &options.schema) else { return Ok(()) };
        let descriptions = read_descriptions(file)?;
        let variables = self.schema.variables().iter().map(|variable| variable.name.as_str());
        self.warnings.extend(note_undescribed(variables, file, &descriptions)?);
        self.schema = Arc::new(self.schema.described(&descriptions.text_of)?);
        Ok(())
    }
}

fn weight_column(columns: &Columns<'_>, options: &ReadOptions) -> Result<Option<usize>> {
    let Some(weights) = &options.weights else { return Ok(None) };
    match columns.names.iter().position(|name| name == weights) {
        None => Err(unknown_column("read.weights", weights, columns.names)),
        found => Ok(found),
    }
}

fn id_column(columns: &Columns<'_>, options: &ReadOptions) -> Result<Option<usize>> {
    let Some(id) = &options.id else { return Ok(None) };
    if options.weights.as_ref() == Some(id) {
        return Err(Error::option("read.id", format!("{:?} is the column of the weights", Shortened(id))));
    }
    match columns.names.iter().position(|name| name == id) {
        None => Err(unknown_column("read.id", id, columns.names)),
        found => Ok(found),
    }
}

/// The columns of the file that are carried as text.
fn carried(targets: &[Target], id: Option<usize>, options: &ReadOptions) -> Vec<usize> {
    let is_other = |&ix: &usize| options.carry_others && id != Some(ix) && !matches!(targets[ix], Target::Column(_));
    id.into_iter().chain((0..targets.len()).filter(is_other)).collect()
}

fn read_groups(options: &ReadOptions, overrides: &Overrides) -> Result<Option<Groups>> {
    if options.group.is_none() && overrides.groups.is_empty() {
        return Ok(None);
    }
    let mut groups = match &options.group {
        Some(path) => Groups::read(path, options.group_columns.as_ref())?,
        None => Groups::default(),
    };
    for (item, group) in &overrides.groups {
        groups.insert(item.clone(), group.clone());
    }
    Ok(Some(groups))
}

/// The variables in the order of their first column: a group's name, if it is one, and which columns it has.
fn join(
    columns: &Columns<'_>,
    chosen: &[(usize, Kind, bool)],
    groups: Option<Groups>,
    options: &ReadOptions,
    warnings: &mut Vec<String>,
) -> Result<Vec<(Option<String>, Vec<usize>)>> {
    let groups = groups.unwrap_or_default();
    let mut variables: Vec<(Option<String>, Vec<usize>)> = Vec::new();
    let mut place_of: HashMap<&str, usize> = HashMap::new();
    for (which, (ix, ..)) in chosen.iter().enumerate() {
        match groups.group_of.get(&columns.names[*ix]) {
            None => variables.push((None, vec![which])),
            Some(group) => {
                let place = *place_of.entry(group).or_insert_with(|| {
                    variables.push((Some(group.clone()), Vec::new()));
                    variables.len() - 1
                });
                variables[place].1.push(which);
            }
        }
    }
    let Some(path) = &options.group else { return Ok(variables) };
    let alone: Vec<&str> =
        variables.iter().filter(|(group, _)| group.is_none()).map(|(_, of)| columns.names[chosen[of[0]].0].as_str()).collect();
    if place_of.is_empty() {
        let problem = format!(
            "none of its {} is a column of {}; name the columns of the item and of the group, as in `read.group` {}:ITEM,GROUP{}",
            groups.listed(),
            columns.place,
            path.display(),
            groups.padded_hint(&alone)
        );
        return Err(Error::data(Place::file(path), problem));
    }
    let file = path.display();
    let n_used = chosen.len() - alone.len();
    let n_ambiguous = chosen.iter().filter(|(ix, ..)| groups.ambiguous.contains(&columns.names[*ix])).count();
    if n_ambiguous > 0 {
        warnings.push(format!("{file}: {n_ambiguous} of the data's columns are in several groups; the first one listed is used"));
    }
    if n_used < groups.group_of.len() {
        let n_ignored = groups.group_of.len() - n_used;
        warnings.push(format!("{file}: {n_ignored} of its {} items are not in the data and are ignored", groups.group_of.len()));
    }
    if !alone.is_empty() {
        let shown: Vec<String> = alone.iter().take(5).map(|name| format!("{:?}", Shortened(name))).collect();
        warnings.push(format!(
            "{file}: {} of the data's {} columns have no group and stay single variables: {}{}{}",
            alone.len(),
            chosen.len(),
            shown.join(", "),
            if alone.len() > shown.len() { ", …" } else { "" },
            groups.padded_hint(&alone)
        ));
    }
    Ok(variables)
}
