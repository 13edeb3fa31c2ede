//! Pairs of variables that a model fails to explain, in nats.
//!
//! For two discrete variables with observed counts `n(a, b)` that sum to n, and the model's joint distribution `P(a, b)`, the
//! misfit is `Σ n(a, b) ln(n(a, b) / (n P(a, b)))`: the possible increase of their log-likelihood. If the model is true,
//! twice the misfit approximately has a χ² distribution with as many degrees of freedom as the table. Pairs of many labels therefore
//! have large misfits by chance, and pairs are ranked by the misfit less ½ ln n for each parameter of their dependence.

use rayon::prelude::*;

use super::steps::Steps;
use crate::information::{bic_cost, of_joint};
use crate::model::LatentTree;
use crate::moments::PairMoments;
use crate::spectral::{Evaluator, SpectralModel};
use crate::{ColIx, Result, VarIx};

/// Two variables and how badly a model explains them together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairMisfit {
    /// The first variable.
    pub a: VarIx,
    /// The second variable, which comes after the first.
    pub b: VarIx,
    /// The possible increase of the log-likelihood of the two variables alone, in nats over all rows.
    pub nats: f64,
    /// Mutual information of the two variables in the data, in nats per row.
    pub information: f64,
    /// Mutual information of the two variables in the model, in nats per row.
    pub model_information: f64,
    /// The misfit in nats less the BIC cost of a dependence between the two variables, by which pairs are ranked.
    pub gain: f64,
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
    let (schema, steps) = (model.schema(), Steps::new(model));
    let discrete: Vec<VarIx> =
        schema.variable_ixs().filter(|&ix| schema.scalar_kind(ix).is_some_and(|kind| kind.n_states().is_some())).collect();
    let column = |variable: VarIx| schema.variable(variable).columns[0];
    let of_variable = |&a: &VarIx| {
        let own = &steps.marginals[model.node_of(a).get()];
        let k = own.len();
        let same: Vec<f64> = (0..k * k).map(|at| if at / k == at % k { own[at / k] } else { 0.0 }).collect();
        let mut joints: Vec<Option<Vec<f64>>> = vec![None; model.tree().n_nodes()];
        steps.walk(model.node_of(a).get(), same, |node, joint| joints[node] = Some(joint.to_vec()));
        let mut worst: Vec<PairMisfit> = Vec::new();
        for &b in discrete.iter().filter(|b| b.get() > a.get()) {
            let node = model.node_of(b).get();
            // Variables of different trees are independent.
            let apart = || own.iter().flat_map(|p| steps.marginals[node].iter().map(move |q| p * q)).collect();
            let joint = joints[node].take().unwrap_or_else(apart);
            worst.extend(misfit(moments, a, b, [column(a), column(b)], &joint));
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

/// The same for a spectral model.
///
/// # Errors
/// The same as for [`pair_misfits`].
///
/// # Complexity
/// `O(p³ l²)` for p variables with l labels.
pub(crate) fn spectral_pair_misfits(model: &SpectralModel, moments: &PairMoments, most: usize) -> Result<Vec<PairMisfit>> {
    let evaluator = Evaluator::new(model);
    evaluator.check_schema(moments.schema())?;
    let schema = model.schema();
    let n = schema.variables().len();
    let nothing = vec![None; n];
    let pairs: Vec<(usize, usize)> = (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
    let of_pair = |&(a, b): &(usize, usize)| {
        let joint = evaluator.joint(&nothing, &[a, b])?.distributions.swap_remove(0);
        let [a, b] = [a, b].map(VarIx::new);
        Ok(misfit(moments, a, b, [a, b].map(|variable| schema.variable(variable).columns[0]), &joint))
    };
    let mut all: Vec<PairMisfit> = pairs.par_iter().map(of_pair).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    sort(&mut all);
    all.truncate(most);
    Ok(all)
}

fn sort(pairs: &mut [PairMisfit]) {
    pairs.sort_by(|x, y| y.gain.total_cmp(&x.gain).then((x.a, x.b).cmp(&(y.a, y.b))));
}

fn misfit(moments: &PairMoments, a: VarIx, b: VarIx, columns: [ColIx; 2], joint: &[f64]) -> Option<PairMisfit> {
    let table = moments.table(columns[0], columns[1])?;
    let total: f64 = table.iter().sum();
    if total <= 0.0 || table.len() != joint.len() {
        return None;
    }
    let cells = table.iter().zip(joint).filter(|cell| *cell.0 > 0.0);
    let nats: f64 = cells.map(|(&count, &expected)| count * (count / (total * expected.max(1e-300))).ln()).sum();
    let n_b = moments.schema().column(columns[1]).kind.n_states()?;
    let information = of_joint(&table, n_b).max(0.0) / total;
    let n_free = (table.len() / n_b - 1) * (n_b - 1);
    let gain = nats - bic_cost(total.max(2.0)) * n_free as f64;
    Some(PairMisfit { a, b, nats, information, model_information: of_joint(joint, n_b).max(0.0), gain })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Silent;
    use crate::inference::Inference;
    use crate::moments::{Summary, fold};
    use crate::parameters::independent;
    use crate::simulate::{ParameterFamily, Shape, Simulation};

    #[test]
    fn pairs_of_the_true_model_are_explained_and_those_of_an_independent_one_lack_their_information() {
        let family = ParameterFamily::Categorical { states: 3, hidden_states: 3, separation: 0.7 };
        let model = Simulation::new(Shape::DoubleStar, 8).family(family).model().unwrap();
        let schema = Arc::clone(model.schema());
        let inference = Inference::new(&model);
        let rows = || inference.sampler(20_000, 0);
        let moments = fold(&mut rows(), PairMoments::new(Arc::clone(&schema)).unwrap(), &Silent).unwrap();
        let worst = pair_misfits(&model, &moments, 1000).unwrap();
        assert_eq!(worst.len(), 28);
        assert!(worst.is_sorted_by(|a, b| a.nats >= b.nats));
        // Twice the misfit is about χ² with eight degrees of freedom; 45 is exceeded once in a million.
        assert!(worst.iter().all(|pair| (0.0..25.0).contains(&pair.nats)), "{:?}", worst[0]);
        // Of pairs of true models that differ in their numbers of labels, the one with most labels is not the worst by chance alone.
        assert!(worst.iter().all(|pair| (pair.gain - (pair.nats - 0.5 * 4.0 * 20_000_f64.ln())).abs() < 1e-9));
        // Each variable is a separate tree, with the shares of the data.
        let summary = fold(&mut rows(), Summary::new(Arc::clone(&schema)), &Silent).unwrap();
        let apart = independent(&schema, &summary).unwrap();
        let worst = pair_misfits(&apart, &moments, 1000).unwrap();
        assert_eq!(worst.len(), 28);
        for pair in worst {
            assert!(pair.model_information < 1e-9);
            assert!((pair.nats - 20_000.0 * pair.information).abs() < 0.1 + 1e-3 * pair.nats, "{pair:?}");
        }
    }
}
