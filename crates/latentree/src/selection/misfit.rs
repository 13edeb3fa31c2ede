//! Which pairs of variables a model fails to explain.
//!
//! For two discrete variables with observed counts `n(a, b)` of total n, and the model's joint distribution `P(a, b)`, the misfit is `Σ n(a, b) ln(n(a, b) / (n P(a, b)))`: by how
//! much their log-likelihood could rise. Where the model is true, twice that is about a χ² of as many degrees of freedom as the table has.

use rayon::prelude::*;

use crate::information::of_joint;
use crate::model::{Distribution, LatentTree, Marginal};
use crate::moments::PairMoments;
use crate::{ColIx, NodeIx, Result, VarIx};

/// Two variables and how badly a model explains them together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairMisfit {
    /// The first variable.
    pub a: VarIx,
    /// The second variable, after the first.
    pub b: VarIx,
    /// By how much the log-likelihood of the two alone could rise, in nats over all rows.
    pub nats: f64,
    /// Mutual information of the two in the data, in nats per row.
    pub information: f64,
    /// Mutual information of the two in the model, in nats per row.
    pub model_information: f64,
}

/// The pairs of scalar discrete variables that a model explains worst, at most `most` of them, worst first.
///
/// # Errors
/// [`Error::Mismatch`](crate::Error::Mismatch) if the moments are of other columns.
///
/// # Complexity
/// `O(p · Σ k_parent · k_child)` for p variables and the model's tables.
pub fn pair_misfits(model: &LatentTree, moments: &PairMoments, most: usize) -> Result<Vec<PairMisfit>> {
    crate::inference::Inference::new(model).check_schema(moments.schema())?;
    let schema = model.schema();
    let marginals = model.marginals();
    let discrete: Vec<VarIx> =
        schema.variable_ixs().filter(|&ix| schema.scalar_kind(ix).is_some_and(|kind| kind.n_states().is_some())).collect();
    let column = |variable: VarIx| schema.variable(variable).columns[0];
    let of_variable = |&a: &VarIx| {
        let joints = joints_with(model, &marginals, model.node_of(a));
        let mut worst: Vec<PairMisfit> = Vec::new();
        for &b in discrete.iter().filter(|b| b.get() > a.get()) {
            let Some(joint) = &joints[model.node_of(b).get()] else { continue };
            if let Some(misfit) = misfit(moments, a, b, [column(a), column(b)], joint) {
                worst.push(misfit);
            }
        }
        sort(&mut worst);
        worst.truncate(most);
        worst
    };
    let mut all: Vec<PairMisfit> = discrete.par_iter().map(of_variable).collect::<Vec<_>>().concat();
    sort(&mut all);
    all.truncate(most);
    Ok(all)
}

fn sort(pairs: &mut [PairMisfit]) {
    pairs.sort_by(|x, y| y.nats.total_cmp(&x.nats).then((x.a, x.b).cmp(&(y.a, y.b))));
}

fn misfit(moments: &PairMoments, a: VarIx, b: VarIx, columns: [ColIx; 2], joint: &[f64]) -> Option<PairMisfit> {
    let table = moments.table(columns[0], columns[1])?;
    let total: f64 = table.iter().sum();
    if total <= 0.0 || table.len() != joint.len() {
        return None;
    }
    let cells = table.iter().zip(joint).filter(|cell| *cell.0 > 0.0);
    let nats = cells.map(|(&count, &expected)| count * (count / (total * expected.max(1e-300))).ln()).sum();
    let n_b = moments.schema().column(columns[1]).kind.n_states()?;
    let information = of_joint(&table, n_b).max(0.0) / total;
    Some(PairMisfit { a, b, nats, information, model_information: of_joint(joint, n_b).max(0.0) })
}

/// The joint distribution of a discrete node with every discrete node of its tree: a row per state of it.
fn joints_with(model: &LatentTree, marginals: &[Marginal], from: NodeIx) -> Vec<Option<Vec<f64>>> {
    let mut joints: Vec<Option<Vec<f64>>> = vec![None; model.tree().n_nodes()];
    let Marginal::Discrete(own) = &marginals[from.get()] else { return joints };
    let k = own.len();
    joints[from.get()] = Some((0..k * k).map(|at| if at / k == at % k { own[at / k] } else { 0.0 }).collect());
    let mut stack = vec![(from, from)];
    while let Some((node, before)) = stack.pop() {
        for link in model.tree().links(node).iter().filter(|link| link.to != before) {
            let next = link.to;
            let (Marginal::Discrete(here), Marginal::Discrete(there)) = (&marginals[node.get()], &marginals[next.get()]) else {
                continue;
            };
            // P(next | node): the table downwards, turned by Bayes' rule upwards.
            let downwards = model.parent(next) == Some(node);
            let Distribution::Discrete(table) = model.distribution(if downwards { next } else { node }) else { continue };
            let conditional = |s: usize, t: usize| {
                if downwards {
                    table.given(s)[t]
                } else if here[s] > 0.0 {
                    table.given(t)[s] * there[t] / here[s]
                } else {
                    0.0
                }
            };
            let (n, m) = (here.len(), there.len());
            let before = joints[node.get()].as_ref().expect("a node is visited after its neighbour");
            let mut joint = vec![0.0; k * m];
            for (row, out) in before.chunks_exact(n).zip(joint.chunks_exact_mut(m)) {
                for (s, &weight) in row.iter().enumerate().filter(|cell| *cell.1 > 0.0) {
                    out.iter_mut().enumerate().for_each(|(t, sum)| *sum += weight * conditional(s, t));
                }
            }
            joints[next.get()] = Some(joint);
            stack.push((next, node));
        }
    }
    joints
}
