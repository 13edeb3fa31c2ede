//! The single component with the greatest likelihood, which more components should improve on.

use std::sync::Arc;

use super::{Candidate, Problem, moment_error};
use crate::error::Result;
use crate::information;
use crate::linalg::Matrix;
use crate::mixture::fitted::{MixtureModel, Tried};
use crate::mixture::moments::{Parameters, SecondMoment};
use crate::mixture::star::{overall_means, provenance, star_tree};
use crate::mixture::{MixtureFamily, MixtureMethod};
use crate::model::{Distribution, LatentTree, Table, TopicModel};
use crate::parameters::independent;

impl Problem<'_> {
    /// The frequencies and means of all rows as one component.
    pub(super) fn one(&self, alpha: Option<f64>, moment: Option<&SecondMoment>) -> Result<Candidate> {
        let schema = self.summary.schema();
        let moment_error = moment.filter(|it| it.are_shares()).map(|moment| {
            let overall = overall_means(schema, moment, &self.summary);
            let means = Matrix::new(overall.len(), 1, overall);
            moment_error(moment, &Parameters { weights: vec![1.0], means, variance: None, unsure: 0 })
        });
        if let Some(alpha) = alpha {
            let total: f64 = self.summary.columns().iter().map(|column| column.mean).sum();
            let equal = 1.0 / schema.columns().len() as f64;
            let share = |mean: f64| if total > 0.0 { mean / total } else { equal };
            let topic = self.summary.columns().iter().map(|column| share(column.mean)).collect();
            return Ok(Candidate { moment_error, ..self.topics(topic, vec![alpha], alpha)? });
        }
        let (tree, root) = star_tree(schema)?;
        let alone = independent(schema, &self.summary)?;
        let mut builder = LatentTree::builder(Arc::clone(schema), tree.clone()).root(root);
        builder = builder.distribution(root, Distribution::Discrete(Table::new(1, vec![1.0])));
        for (node, variable) in tree.node_ixs().zip(schema.variable_ixs()) {
            builder = builder.distribution(node, alone.distribution(alone.node_of(variable)).clone());
        }
        let provenance = provenance(self.options, self.family, self.method, self.summary.n_rows());
        let model = builder.build()?.with_provenance(provenance);
        let log_likelihood = self.log_likelihood(&model)?;
        let bic = information::bic(log_likelihood, model.n_free_parameters(), self.summary.total_weight());
        let (model, em) = (MixtureModel::Star(model), self.em.then_some((0, true)));
        Ok(Candidate { model, log_likelihood, bic, gap: None, em, moment_error, warnings: Vec::new() })
    }

    /// The candidate with these topics, stored one after another.
    pub(super) fn topics(&self, topics: Vec<f64>, alphas: Vec<f64>, alpha: f64) -> Result<Candidate> {
        let provenance = provenance(self.options, self.family, self.method, self.summary.n_rows()).option("alpha", alpha);
        let model = TopicModel::new(Arc::clone(self.summary.schema()), topics, alphas, provenance)?;
        let (log_likelihood, weight) = self.bound(&model)?;
        let bic = information::bic(log_likelihood, model.n_free_parameters(), weight);
        let model = MixtureModel::Topics(model);
        Ok(Candidate { model, log_likelihood, bic, gap: None, em: None, moment_error: None, warnings: Vec::new() })
    }

    /// The warning if several components have a smaller likelihood than one.
    pub(super) fn worse_than_one(
        &self,
        candidate: &Candidate,
        alpha: Option<f64>,
        tried: Option<&Tried>,
    ) -> Result<Option<String>> {
        let k = candidate.n_components();
        if k == 1 {
            return Ok(None);
        }
        let alone = match tried.filter(|it| it.components == 1) {
            Some(tried) => tried.log_likelihood,
            None => self.one(alpha, None)?.log_likelihood,
        };
        let own = candidate.log_likelihood;
        if !information::falls_short(own, alone) {
            return Ok(None);
        }
        let (what, one) = match alpha {
            Some(_) => ("bound of log-likelihood", "a single topic"),
            None => ("log-likelihood", "independent columns (one component)"),
        };
        let improve = match (self.family, self.em, self.method) {
            (MixtureFamily::Lda, _, _) => "use the family single-topic with `mixture.em`",
            (_, true, _) => "use another `mixture.method`",
            (_, false, MixtureMethod::Sidiwo) => "use `mixture.em`",
            (_, false, _) => "use `mixture.em`, or the method sidiwo",
        };
        Ok(Some(format!("{what} {own:.2} of {k} components is below the {alone:.2} of {one}: {improve}, or fewer components")))
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::Silent;
    use crate::data::{ColumnData, Dataset, Kind, Schema};
    use crate::mixture::{MixtureOptions, NumberOfComponents, component_means, fit_mixture};

    /// A count, a number and a column with two labels; without a value where `is_missing`.
    fn mixed(rng: &mut ChaCha8Rng, n: usize, is_missing: impl Fn(usize) -> bool) -> Dataset {
        let kinds = [("count", Kind::Count), ("number", Kind::Continuous), ("label", Kind::binary())];
        let schema = kinds.iter().fold(Schema::builder(), |schema, (name, kind)| schema.scalar(*name, kind.clone()));
        let mut columns: Vec<ColumnData> = kinds.iter().map(|(_, kind)| ColumnData::for_kind(kind, n)).collect();
        for row in 0..n {
            let cells = [f64::from(rng.random_range(0..9)), rng.random_range(-1.0..5.0), f64::from(rng.random_range(0..2))];
            for (place, (column, cell)) in columns.iter_mut().zip(cells).enumerate() {
                match column {
                    ColumnData::Reals(values) => values.push(if is_missing(row + place) { f64::NAN } else { cell }),
                    codes => codes.push_code((!is_missing(row + place)).then_some(cell as u32)),
                }
            }
        }
        Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap()
    }

    fn means(rows: &Dataset) -> Vec<f64> {
        let batch = &rows.batches()[0];
        let mean = |column: usize| {
            let cells = (0..batch.n_rows).map(|row| batch.number(row, crate::ColIx::new(column)));
            let present: Vec<f64> = cells.filter(|cell| !cell.is_nan()).collect();
            present.iter().sum::<f64>() / present.len() as f64
        };
        (0..3).map(mean).collect()
    }

    #[test]
    fn one_component_has_the_means_of_all_present_cells() {
        for every in [usize::MAX, 5] {
            let rows = mixed(&mut ChaCha8Rng::seed_from_u64(1), 200, |cell| cell % every == every - 1);
            for em in [false, true] {
                let options = MixtureOptions::new(NumberOfComponents::Fixed(1)).em(em);
                let fit = fit_mixture(&rows, &options, &Silent).unwrap();
                let found = component_means(fit.star().unwrap()).unwrap();
                for (own, mean) in found.row(0).iter().zip(means(&rows)) {
                    assert!((own - mean).abs() < 1e-12, "{own} {mean}");
                }
            }
        }
    }

    #[test]
    fn independent_columns_have_one_component_without_em_and_more_are_said_to_be_worse() {
        let rows = mixed(&mut ChaCha8Rng::seed_from_u64(2), 500, |_| false);
        let auto = fit_mixture(&rows, &MixtureOptions::new(NumberOfComponents::Auto), &Silent).unwrap();
        assert_eq!(auto.weights.len(), 1, "{:?}", auto.tried);
        let two = fit_mixture(&rows, &MixtureOptions::new(NumberOfComponents::Fixed(2)), &Silent).unwrap();
        let is_told = two.warnings.iter().any(|it| it.contains("independent columns"));
        assert_eq!(is_told, information::falls_short(two.log_likelihood, auto.log_likelihood), "{:?}", two.warnings);
        assert!(is_told);
    }

    #[test]
    fn the_number_of_normal_components_is_found_without_em() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let (n, d) = (600, 6);
        let group: Vec<usize> = (0..n).map(|_| rng.random_range(0..3)).collect();
        let normal = |rng: &mut ChaCha8Rng| (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>();
        let columns = (0..d).map(|column| {
            let cell = |&group: &usize| if column % 3 == group { 4.0 } else { 0.0 } + normal(&mut rng);
            ColumnData::Reals(group.iter().map(cell).collect())
        });
        let columns = columns.collect();
        let schema = (0..d).fold(Schema::builder(), |schema, ix| schema.scalar(format!("x{ix}"), Kind::Continuous));
        let rows = Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap();
        let fit = fit_mixture(&rows, &MixtureOptions::new(NumberOfComponents::Auto), &Silent).unwrap();
        assert_eq!(fit.weights.len(), 3, "{:?}", fit.tried);
        let fixed = fit_mixture(&rows, &MixtureOptions::new(NumberOfComponents::Fixed(2)), &Silent).unwrap();
        assert_eq!(fit.tried[1].log_likelihood, fixed.log_likelihood);
    }
}
