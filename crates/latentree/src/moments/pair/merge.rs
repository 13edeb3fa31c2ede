//! Merging moments: aligning labels, shifts and missing indicators, then adding.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::cells::Cells;
use super::layout::{Map, cell};
use super::wide::{Entry, Table, WideTables, key, parts};
use super::{PairMoments, PairOptions};
use crate::data::{Column, Kind, Schema};
use crate::error::{Error, Result, Shortened};

/// How the codes of another schema become codes of a schema that has all labels of both.
struct Alignment {
    /// The schema of both; `None` if it is the first one.
    union: Option<Schema>,
    /// For each column the new code of each old one; `None` if they stay.
    codes: Vec<Option<Vec<u32>>>,
    /// Binary columns whose labels are swapped.
    swapped: Vec<usize>,
}

/// Adds `other` to `moments`.
pub(super) fn merge(moments: &mut PairMoments, mut other: PairMoments) -> Result<()> {
    if moments.layout.degree != other.layout.degree {
        let problem = format!("degree {} and degree {}; make both with the same", moments.layout.degree, other.layout.degree);
        return Err(mismatch(problem));
    }
    let alignment = align(&moments.layout.schema, &other.layout.schema)?;
    if let Some(union) = alignment.union {
        *moments = relaid(moments, union)?;
    }
    alignment.swapped.iter().for_each(|&column| swap_labels(&mut other, column));
    let sums = matches!(moments.cells, Cells::Sums(_)) || matches!(other.cells, Cells::Sums(_));
    let promote = sums || moments.n_rows + other.n_rows > u64::from(u32::MAX);
    let new = other.layout.missing.iter().copied().filter(|&ix| moments.layout.columns[ix].missing().is_none());
    let new: Vec<usize> = new.collect();
    let wide_bytes = moments.wide.bytes() + other.wide.bytes();
    moments.layout.check_memory(new.len(), if promote { 8 } else { 4 }, wide_bytes, moments.memory_limit)?;
    for column in 0..moments.shifts.len() {
        match (moments.shifts[column], other.shifts[column]) {
            (None, shift) => moments.shifts[column] = shift,
            (Some(ours), Some(theirs)) if ours != theirs => translate(&mut other, column, theirs - ours),
            _ => {}
        }
    }
    if promote {
        moments.cells.promote();
    }
    new.into_iter().for_each(|column| moments.layout.append_missing(column));
    moments.cells.grow(moments.layout.n_features());
    moments.squares.iter_mut().for_each(|squares| squares.grow(&moments.layout));
    add(moments, &other, &alignment.codes);
    Ok(())
}

fn mismatch(problem: String) -> Error {
    Error::Mismatch { left: "moments".to_owned(), right: "the moments merged into them".to_owned(), problem }
}

/// Compares two schemas and aligns the labels of their categorical columns.
fn align(ours: &Arc<Schema>, theirs: &Arc<Schema>) -> Result<Alignment> {
    let n_columns = ours.columns().len();
    let mut alignment = Alignment { union: None, codes: vec![None; n_columns], swapped: Vec::new() };
    if Arc::ptr_eq(ours, theirs) || ours == theirs {
        return Ok(alignment);
    }
    let mut columns = ours.columns().to_vec();
    let mut grown = false;
    for (ix, (mine, other)) in columns.iter_mut().zip(theirs.columns()).enumerate() {
        let name = mine.name.clone();
        if name != other.name {
            let problem =
                format!("column {} is {:?} in one and {:?} in the other", ix + 1, Shortened(&name), Shortened(&other.name));
            return Err(mismatch(problem));
        }
        match (&mut mine.kind, &other.kind) {
            (Kind::Binary { labels: [zero, one] }, Kind::Binary { labels }) => {
                if [&*one, &*zero] == [&labels[0], &labels[1]] {
                    alignment.swapped.push(ix);
                } else if [&*zero, &*one] != [&labels[0], &labels[1]] {
                    let problem = format!(
                        "binary column {:?} has the labels {zero:?}, {one:?} in one and {labels:?} in the other; give both the \
                         same schema",
                        Shortened(&name)
                    );
                    return Err(mismatch(problem));
                }
            }
            (Kind::Categorical { labels: mine }, Kind::Categorical { labels }) if mine != labels => {
                let mut code_of: HashMap<String, u32> =
                    mine.iter().enumerate().map(|(code, label)| (label.clone(), code as u32)).collect();
                let codes = labels.iter().map(|label| {
                    *code_of.entry(label.clone()).or_insert_with(|| {
                        grown = true;
                        mine.push(label.clone());
                        mine.len() as u32 - 1
                    })
                });
                alignment.codes[ix] = Some(codes.collect());
            }
            (mine, kind) if mine.name() != kind.name() => {
                let problem = format!(
                    "column {:?} is {} in one and {} in the other; give both the same schema",
                    Shortened(&name),
                    mine.name(),
                    kind.name()
                );
                return Err(mismatch(problem));
            }
            _ => {}
        }
    }
    if n_columns != theirs.columns().len() {
        return Err(mismatch(format!("{n_columns} columns in one and {} in the other", theirs.columns().len())));
    }
    if ours.variables() != theirs.variables() {
        let differing = ours.variables().iter().zip(theirs.variables()).find(|(mine, other)| mine != other);
        let name = differing.map_or("", |(mine, _)| mine.name.as_str());
        return Err(mismatch(format!("variable {:?} groups other columns in one than in the other", Shortened(name))));
    }
    if grown {
        alignment.union = Some(with_columns(ours, columns)?);
    }
    Ok(alignment)
}

/// The same variables with other columns.
fn with_columns(schema: &Schema, columns: Vec<Column>) -> Result<Schema> {
    let builder = schema.variables().iter().fold(Schema::builder(), |builder, variable| {
        let members: Vec<Column> = variable.columns.iter().map(|&ix| columns[ix.get()].clone()).collect();
        if variable.is_group {
            builder.group(&variable.name, members)
        } else {
            builder.scalar(&variable.name, members[0].kind.clone())
        }
    });
    builder.codes_of(schema).build()
}

/// The same moments in the layout of a schema with more labels.
fn relaid(moments: &PairMoments, union: Schema) -> Result<PairMoments> {
    let (degree, wide_levels) = (moments.layout.degree, moments.layout.wide_levels);
    let options = PairOptions { degree, wide_levels, memory_limit: moments.memory_limit };
    let mut out = PairMoments::with_options(Arc::new(union), options)?;
    let bytes = moments.cells.cell_bytes();
    out.layout.check_memory(moments.layout.missing.len(), bytes, moments.wide.bytes(), moments.memory_limit)?;
    moments.layout.missing.iter().for_each(|&column| out.layout.append_missing(column));
    if matches!(moments.cells, Cells::Sums(_)) {
        out.cells.promote();
    }
    out.cells.grow(out.layout.n_features());
    out.squares.iter_mut().for_each(|squares| squares.grow(&out.layout));
    out.shifts.clone_from(&moments.shifts);
    add(&mut out, moments, &vec![None; moments.shifts.len()]);
    Ok(out)
}

/// Replaces feature f by α·f + Σ k·g over the terms (k, g), g ≠ f: a congruence of the Gram matrix.
fn combine(moments: &mut PairMoments, feature: usize, alpha: f64, terms: &[(f64, usize)]) {
    let n_features = moments.layout.n_features();
    let gram = |cells: &Cells, i: usize, j: usize| cells.get(cell(i, j));
    let cells = &moments.cells;
    let mut diagonal = alpha * alpha * gram(cells, feature, feature);
    for &(k, g) in terms {
        diagonal += 2.0 * alpha * k * gram(cells, feature, g);
        diagonal += terms.iter().map(|&(l, h)| k * l * gram(cells, g, h)).sum::<f64>();
    }
    for other in (0..n_features).filter(|&other| other != feature) {
        let sum = alpha * gram(&moments.cells, feature, other)
            + terms.iter().map(|&(k, g)| k * gram(&moments.cells, g, other)).sum::<f64>();
        moments.cells.set(cell(feature, other), sum);
    }
    moments.cells.set(cell(feature, feature), diagonal);
    for table in &mut moments.wide.features {
        let mut entries: Vec<Entry> = Vec::new();
        for group in table.entries().chunk_by(|left, right| parts(left.0).0 == parts(right.0).0) {
            let level = parts(group[0].0).0;
            let find = |position: usize| {
                let found = group.binary_search_by_key(&key(level, position as u32), |entry| entry.0);
                found.map_or(0.0, |ix| group[ix].1)
            };
            let sum = alpha * find(feature) + terms.iter().map(|&(k, g)| k * find(g)).sum::<f64>();
            entries.extend(group.iter().filter(|entry| parts(entry.0).1 as usize != feature));
            if sum != 0.0 {
                entries.push((key(level, feature as u32), sum));
            }
        }
        entries.sort_unstable_by_key(|entry| entry.0);
        *table = Table::from_sorted(entries);
    }
}

/// Adds a constant to the shifted values of a numeric column: x′ = x + δ(1 − m), x²′ = x² + 2δx + δ²(1 − m).
fn translate(moments: &mut PairMoments, column: usize, delta: f64) {
    let layout = moments.layout.columns[column];
    let present = |factor: f64| [Some((factor, 0)), layout.missing().map(|missing| (-factor, missing))].into_iter().flatten();
    if moments.layout.degree == 2 {
        let terms: Vec<_> = present(delta * delta).chain([(2.0 * delta, layout.start)]).collect();
        combine(moments, layout.start + 1, 1.0, &terms);
    }
    if let (Some(mut squares), Ok(number)) = (moments.squares.take(), moments.layout.numbers.binary_search(&column)) {
        // Over the rows where the other column is missing and this one is not.
        let missing = |slot: usize| moments.layout.n_values + slot;
        let gram = |i: usize, j: usize| moments.cells.get(cell(i, j));
        let both = |slot: usize| layout.missing().map_or(0.0, |own| gram(own, missing(slot)));
        squares.add_to_number(number, |slot| {
            2.0 * delta * gram(layout.start, missing(slot)) + delta * delta * (gram(missing(slot), 0) - both(slot))
        });
        moments.squares = Some(squares);
    }
    let terms: Vec<_> = present(delta).collect();
    combine(moments, layout.start, 1.0, &terms);
}

/// Makes code 0 of a binary column code 1: x′ = 1 − m − x.
fn swap_labels(moments: &mut PairMoments, column: usize) {
    let layout = moments.layout.columns[column];
    let terms: Vec<_> = [Some((1.0, 0)), layout.missing().map(|missing| (-1.0, missing))].into_iter().flatten().collect();
    combine(moments, layout.start, -1.0, &terms);
}

/// Where a feature of the other moments goes.
#[derive(Clone, Copy)]
enum Target {
    Triangle(usize),
    /// Wide column and level.
    Wide(usize, u32),
}

/// Adds sums into places, collecting those of sparse tables.
struct Adder<'a> {
    cells: &'a mut Cells,
    features: Vec<Vec<Entry>>,
    pairs: Vec<Vec<Entry>>,
}

impl Adder<'_> {
    fn add(&mut self, left: Target, right: Target, sum: f64) {
        match (left, right) {
            (Target::Triangle(i), Target::Triangle(j)) => match self.cells {
                Cells::Counts(cells) => cells[cell(i, j)] += sum as u32,
                Cells::Sums(cells) => cells[cell(i, j)] += sum,
            },
            (Target::Wide(a, level), Target::Triangle(position)) | (Target::Triangle(position), Target::Wide(a, level)) => {
                self.features[a].push((key(level, position as u32), sum));
            }
            // A level excludes the others of its column, and its own weight stands beside the constant.
            (Target::Wide(a, _), Target::Wide(b, _)) if a == b => {}
            (Target::Wide(a, level), Target::Wide(b, other)) => {
                let (a, level, b, other) = if a < b { (a, level, b, other) } else { (b, other, a, level) };
                self.pairs[WideTables::pair_ix(a, b)].push((key(level, other), sum));
            }
        }
    }
}

/// Adds moments whose shifts and missing indicators are aligned, through the new codes of categorical columns.
fn add(moments: &mut PairMoments, other: &PairMoments, codes: &[Option<Vec<u32>>]) {
    moments.n_rows += other.n_rows;
    moments.weight_squares += other.weight_squares;
    match (&mut moments.squares, &other.squares) {
        (Some(squares), Some(more)) => squares.add(&moments.layout, more, &other.layout),
        (squares, _) => *squares = None,
    }
    let prefix = moments.layout.missing.starts_with(&other.layout.missing);
    if moments.layout.n_values == other.layout.n_values
        && moments.layout.wide == other.layout.wide
        && codes.iter().all(Option::is_none)
        && prefix
    {
        // The features are the same up to appended ones, hence so are the cells.
        match (&mut moments.cells, &other.cells) {
            (Cells::Counts(cells), Cells::Counts(more)) => add_all(cells, more, |cell, &more| *cell += more),
            (Cells::Sums(cells), Cells::Sums(more)) => add_all(cells, more, |cell, &more| *cell += more),
            (Cells::Sums(cells), Cells::Counts(more)) => add_all(cells, more, |cell, &more| *cell += f64::from(more)),
            (Cells::Counts(_), Cells::Sums(_)) => unreachable!("counts are promoted before sums are added"),
        }
        let tables = moments.wide.features.iter_mut().chain(&mut moments.wide.pairs);
        tables.zip(other.wide.features.iter().chain(&other.wide.pairs)).for_each(|(table, more)| {
            table.add(more.entries().into_owned());
        });
        return;
    }
    add_mapped(moments, other, codes);
}

fn add_all<A: Send, B: Sync>(cells: &mut [A], more: &[B], add: impl Fn(&mut A, &B) + Sync + Send) {
    cells.par_iter_mut().with_min_len(1 << 14).zip(more).for_each(|(cell, more)| add(cell, more));
}

fn add_mapped(moments: &mut PairMoments, other: &PairMoments, codes: &[Option<Vec<u32>>]) {
    let layout = &moments.layout;
    let level_target = |column: usize, level: u32| {
        let level = codes[column].as_ref().map_or(level, |codes| codes[level as usize]);
        match layout.columns[column].map {
            Map::Wide(slot) => Target::Wide(slot, level),
            _ => Target::Triangle(layout.columns[column].start + level as usize),
        }
    };
    let mut targets = vec![Target::Triangle(0)];
    for (column, theirs) in other.layout.columns.iter().enumerate() {
        let discrete = theirs.map == Map::OneHot;
        targets.extend((0..theirs.n_features).map(|offset| match discrete {
            true => level_target(column, offset as u32),
            false => Target::Triangle(layout.columns[column].start + offset),
        }));
    }
    for &column in &other.layout.missing {
        targets.push(Target::Triangle(layout.columns[column].missing().expect("indicators are aligned")));
    }
    let n_wide = layout.wide.len();
    let mut adder = Adder {
        cells: &mut moments.cells,
        features: vec![Vec::new(); n_wide],
        pairs: vec![Vec::new(); n_wide * n_wide.saturating_sub(1) / 2],
    };
    let mut ix = 0;
    for hi in 0..targets.len() {
        for lo in 0..=hi {
            let sum = other.cells.get(ix);
            ix += 1;
            if sum != 0.0 {
                adder.add(targets[hi], targets[lo], sum);
            }
        }
    }
    for (table, &column) in other.wide.features.iter().zip(&other.layout.wide) {
        for &(key, sum) in table.entries().iter() {
            let (level, position) = parts(key);
            let target = level_target(column, level);
            adder.add(target, targets[position as usize], sum);
            if position == 0 {
                adder.add(target, target, sum);
            }
        }
    }
    for b in 1..other.layout.wide.len() {
        for a in 0..b {
            for &(key, sum) in other.wide.pairs[WideTables::pair_ix(a, b)].entries().iter() {
                let (low, high) = parts(key);
                let low = level_target(other.layout.wide[a], low);
                adder.add(low, level_target(other.layout.wide[b], high), sum);
            }
        }
    }
    let (features, pairs) = (adder.features, adder.pairs);
    moments.wide.features.iter_mut().zip(features).for_each(|(table, entries)| table.add(entries));
    moments.wide.pairs.iter_mut().zip(pairs).for_each(|(table, entries)| table.add(entries));
}
