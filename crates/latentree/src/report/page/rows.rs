//! A pass over the data: the fit, and the rows most typical of each state of each hidden node.

use std::borrow::Cow;
use std::sync::Arc;

use crate::data::{Batch, BatchSource, Block, Schema, SparseRows, select_rows};
use crate::error::{Error, Result};
use crate::index::{ColIx, NodeIx};
use crate::inference::{Inference, Score};
use crate::model::{Family, LatentTree};
use crate::moments::{Accumulator as _, PairMoments, PairOptions};
use crate::observer::Observer;

/// Maximum number of posterior values held at once.
const MAX_VALUES: usize = 1 << 21;
/// Maximum number of features whose pairs are counted; with more, only the columns that vary most are considered.
const MAX_FEATURES: usize = 3000;
/// Maximum number of labels of a column that is considered in pairs.
const MAX_LABELS: usize = 30;

/// A row that is typical of a state.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TypicalRow {
    /// Zero-based.
    pub(super) row: u64,
    /// The posterior probability of the state; in a Gaussian tree, the posterior mean.
    pub(super) value: f64,
    /// Cells of the columns shown for the node.
    pub(super) cells: Vec<f64>,
}

/// The rows of one hidden node.
#[derive(Debug, Clone, Default)]
pub(super) struct NodeRows {
    /// Weighted share of the rows in each state; empty in a Gaussian tree.
    pub(super) shares: Vec<f64>,
    /// The most typical rows of each state; in a Gaussian tree, those with the highest and the lowest mean.
    pub(super) typical: Vec<Vec<TypicalRow>>,
}

/// The result of the passes over the data.
pub(super) struct DataView {
    pub(super) score: Score,
    /// By node; `None` for observed nodes.
    pub(super) rows: Vec<Option<NodeRows>>,
    /// `None` if the numbers in the columns are too large for moments.
    pub(super) moments: Option<PairMoments>,
    /// The model's columns whose pairs were counted, in the order of the moments' columns.
    pub(super) pair_columns: Vec<ColIx>,
}

/// Reads the data twice: for posteriors and pairs, then for the cells of the typical rows. `shown` holds the columns of each
/// node.
pub(super) fn read(
    model: &LatentTree,
    source: &mut dyn BatchSource,
    per_state: usize,
    shown: &[Vec<ColIx>],
    observer: &dyn Observer,
) -> Result<DataView> {
    let inference = Inference::new(model);
    inference.check_schema(source.schema())?;
    let nodes: Vec<NodeIx> = model.hidden().collect();
    let is_gaussian = model.family() == Family::Gaussian;
    let widths: Vec<usize> = nodes.iter().map(|&node| inference.width(node)).collect::<Result<_>>()?;
    let width: usize = widths.iter().sum();
    let mut found: Vec<NodeRows> = widths
        .iter()
        .map(|&width| NodeRows {
            shares: if is_gaussian { Vec::new() } else { vec![0.0; width] },
            typical: vec![Vec::new(); width],
        })
        .collect();
    let (pair_columns, pair_schema) = pair_columns(model)?;
    let mut moments = Some(PairMoments::with_options(pair_schema, PairOptions::default().degree(1))?);
    let mut score =
        Score { rows: 0, weight: 0.0, log_likelihood: 0.0, impossible_rows: 0, free_parameters: model.n_free_parameters() };
    observer.stage("posteriors", source.n_rows_hint());
    while let Some(batch) = source.next_batch()? {
        if let Some(pairs) = &mut moments
            && let Err(error) = pairs.observe(&project(&batch, &pair_columns, model.schema().columns().len()))
        {
            // Everything else can be shown.
            observer.warn(&format!("the page omits pairs of variables: {error}"));
            moments = None;
        }
        let at_once = (MAX_VALUES / width.max(1)).clamp(16, batch.n_rows.max(16));
        for start in (0..batch.n_rows).step_by(at_once) {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            let rows: Vec<usize> = (start..batch.n_rows.min(start + at_once)).collect();
            let part = if rows.len() == batch.n_rows {
                Cow::Borrowed(&*batch)
            } else {
                Cow::Owned(select_rows(&batch, &rows, batch.first_row + start as u64))
            };
            let posterior = inference.posterior(&part, &nodes)?;
            for (row, &ln) in posterior.log_likelihood().iter().enumerate() {
                let weight = part.weight(row);
                if weight <= 0.0 {
                    continue;
                }
                score.weight += weight;
                score.log_likelihood += weight * ln;
                if ln == f64::NEG_INFINITY {
                    score.impossible_rows += 1;
                    continue;
                }
                let number = part.first_row + row as u64;
                for (at, node) in found.iter_mut().enumerate() {
                    let values = posterior.get(row, at);
                    if is_gaussian {
                        keep(&mut node.typical[0], number, values[0], per_state);
                        keep(&mut node.typical[1], number, -values[0], per_state);
                    } else {
                        for (state, &value) in values.iter().enumerate() {
                            node.shares[state] += weight * value;
                            // A row is shown for states that are more probable than under a uniform posterior.
                            if value * values.len() as f64 > 1.0 {
                                keep(&mut node.typical[state], number, value, per_state);
                            }
                        }
                    }
                }
            }
        }
        score.rows += batch.n_rows as u64;
        observer.progress(score.rows);
    }
    let possible = score.weight.max(f64::MIN_POSITIVE);
    for node in &mut found {
        node.shares.iter_mut().for_each(|share| *share /= possible);
        if is_gaussian {
            node.typical[1].iter_mut().for_each(|row| row.value = -row.value);
        }
    }
    fill_cells(source, &nodes, &mut found, shown, observer)?;
    let mut rows = vec![None; model.tree().n_nodes()];
    nodes.iter().zip(found).for_each(|(node, found)| rows[node.get()] = Some(found));
    Ok(DataView { score, rows, moments, pair_columns })
}

/// Keeps the rows with the largest values, best first; in case of ties, the earlier row.
fn keep(kept: &mut Vec<TypicalRow>, row: u64, value: f64, most: usize) {
    if kept.len() == most && kept.last().is_some_and(|last| last.value >= value) {
        return;
    }
    let at = kept.partition_point(|other| other.value >= value);
    kept.insert(at, TypicalRow { row, value, cells: Vec::new() });
    kept.truncate(most);
}

fn fill_cells(
    source: &mut dyn BatchSource,
    nodes: &[NodeIx],
    found: &mut [NodeRows],
    shown: &[Vec<ColIx>],
    observer: &dyn Observer,
) -> Result<()> {
    let mut wanted: Vec<(u64, usize, usize, usize)> = Vec::new();
    for (at, node) in found.iter().enumerate() {
        for (state, rows) in node.typical.iter().enumerate() {
            wanted.extend(rows.iter().enumerate().map(|(place, row)| (row.row, at, state, place)));
        }
    }
    wanted.sort_unstable();
    let mut next = 0;
    source.rewind()?;
    while next < wanted.len() {
        let Some(batch) = source.next_batch()? else { break };
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        let end = batch.first_row + batch.n_rows as u64;
        while let Some(&(row, at, state, place)) = wanted.get(next).filter(|it| it.0 < end) {
            let columns = &shown[nodes[at].get()];
            let cells = columns.iter().map(|&column| batch.number((row - batch.first_row) as usize, column));
            found[at].typical[state][place].cells = cells.collect();
            next += 1;
        }
    }
    Ok(())
}

/// The columns whose pairs are considered: all, or those that vary most under the model, in their original order.
fn pair_columns(model: &LatentTree) -> Result<(Vec<ColIx>, Arc<Schema>)> {
    let schema = model.schema();
    let marginals = model.marginals();
    let entropy = |column: ColIx| match &marginals[model.node_of(schema.variable_of(column)).get()] {
        crate::model::Marginal::Discrete(values) => values.iter().map(|p| if *p > 0.0 { -p * p.ln() } else { 0.0 }).sum(),
        _ => f64::INFINITY,
    };
    let n_features = |column: ColIx| match schema.column(column).kind.n_states() {
        Some(n_states) if n_states > 2 => n_states,
        _ => 1,
    };
    let all = (0..schema.columns().len()).map(ColIx::new).filter(|&column| n_features(column) <= MAX_LABELS);
    let mut ranked: Vec<(f64, ColIx)> = all.map(|column| (entropy(column), column)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut total = 0;
    let fitting = ranked.into_iter().take_while(|&(_, column)| {
        total += n_features(column);
        total <= MAX_FEATURES
    });
    let mut chosen: Vec<ColIx> = fitting.map(|it| it.1).collect();
    chosen.sort_unstable();
    let parts = chosen.iter().map(|&column| schema.column(column));
    let own = parts.fold(Schema::builder(), |builder, column| builder.scalar(&column.name, column.kind.clone())).build()?;
    Ok((chosen, Arc::new(own)))
}

/// A batch restricted to some of its columns.
fn project<'a>(batch: &'a Batch, columns: &[ColIx], n_columns: usize) -> Cow<'a, Batch> {
    if columns.len() == n_columns {
        return Cow::Borrowed(batch);
    }
    let block = match &batch.block {
        Block::Dense(data) => Block::Dense(columns.iter().map(|column| data[column.get()].clone()).collect()),
        Block::Sparse(sparse) => {
            let mut place = vec![u32::MAX; n_columns];
            columns.iter().enumerate().for_each(|(ix, column)| place[column.get()] = ix as u32);
            let mut out = SparseRows { values: sparse.values.as_ref().map(|_| Vec::new()), ..SparseRows::default() };
            for row in 0..sparse.n_rows() {
                for at in sparse.starts[row]..sparse.starts[row + 1] {
                    let to = place[sparse.columns[at] as usize];
                    if to != u32::MAX {
                        out.columns.push(to);
                        if let (Some(out), Some(values)) = (&mut out.values, &sparse.values) {
                            out.push(values[at]);
                        }
                    }
                }
                out.starts.push(out.columns.len());
            }
            Block::Sparse(out)
        }
    };
    Cow::Owned(Batch { first_row: batch.first_row, n_rows: batch.n_rows, block, weights: batch.weights.clone() })
}
