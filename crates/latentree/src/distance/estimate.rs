//! Distances of all pairs: chooses the estimator and fills the triangle row by row.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::features::{self, SecondMoments};
use super::judge::{Estimate, Judge};
use super::table::{self, JointTable};
use super::variable::{Form, Variable, WIDE, variables};
use super::{DistanceMatrix, DistanceOptions, Estimator};
use crate::error::{Error, Place, Result, Shortened};
use crate::index::ColIx;
use crate::moments::PairMoments;
use crate::observer::Observer;

/// The estimator that [`estimate`] uses: the requested one, or the choice of [`Estimator::Auto`].
///
/// # Errors
/// As [`estimate`].
pub fn choose_estimator(moments: &PairMoments, options: &DistanceOptions) -> Result<Estimator> {
    options.check()?;
    let all = moments.schema().variables();
    let variables: Vec<Variable> =
        all.par_iter().map(|variable| Variable::new(moments, &variable.columns, variable.is_group)).collect();
    resolve(moments, &variables, options)
}

/// Distances between all variables of the moments' schema.
///
/// A pair has *no* distance if a variable is constant, if the two are never present together, or if its (smallest) correlation is
/// not significant: with r correlations, `ρ_r √n < z + (√f_i − 1) + (√f_j − 1)`, f the number of a variable's dimensions after
/// the first r − 1, n the effective number of rows, z the [significance](DistanceOptions::significance). Two identical columns
/// have distance 0. Standard errors are those of the delta method: exact to first order for columns of labels,
/// `(1 − ρ²)/(|ρ| √n)` for numbers, and with Gaussian canonical variates for groups; never less than 1/n. With missing cells
/// everything is pairwise complete.
///
/// # Errors
/// [`Error::Option`] if an option is out of range; [`Error::Data`], naming a variable, if an estimator that was asked for by name
/// does not apply to it; [`Error::Cancelled`].
///
/// # Complexity
/// O(p²) pairs in parallel over rows of the triangle; no memory of that order but the result. A pair of scalars allocates
/// nothing; one of d labels costs O(d³), or the non-zero cells of its table times k where d > 24.
///
/// # Example
/// ```
/// use latentree::distance::{DistanceOptions, estimate};
/// use latentree::moments::{PairMoments, fold};
/// use latentree::simulate::{ParameterFamily, Shape, Simulation};
/// use latentree::{Silent, inference::Inference};
///
/// let model = Simulation::new(Shape::Star, 4).family(ParameterFamily::gaussian()).model()?;
/// let rows = Inference::new(&model).sample(2000, 0)?;
/// let moments = fold(&mut rows.source(), PairMoments::new(rows.schema().clone())?, &Silent)?;
/// let distances = estimate(&moments, &DistanceOptions::new(), &Silent)?;
/// assert_eq!(distances.len(), 4);
/// # Ok::<(), latentree::Error>(())
/// ```
pub fn estimate(moments: &PairMoments, options: &DistanceOptions, observer: &dyn Observer) -> Result<DistanceMatrix> {
    options.check()?;
    let weight = moments.total_weight();
    let per_weight = if weight > 0.0 { moments.effective_rows() / weight } else { 0.0 };
    let variables = variables(moments, options, per_weight)?;
    let estimator = resolve(moments, &variables, options)?;
    warn(moments, &variables, options, estimator, observer);
    let run = Run::new(moments, options, estimator, variables, per_weight);
    let p = run.variables.len();
    let n_pairs = p.checked_mul(p.saturating_sub(1)).map(|twice| twice / 2);
    let room = |wanted: bool| -> Option<Vec<f64>> {
        let n = if wanted { n_pairs? } else { 0 };
        let mut values = Vec::new();
        values.try_reserve_exact(n).ok()?;
        values.resize(n, f64::NAN);
        Some(values)
    };
    let (Some(mut values), Some(mut errors)) = (room(true), room(options.errors)) else {
        let problem = format!("the distances of {p} variables do not fit in memory; leave out variables");
        return Err(Error::data(Place::default(), problem));
    };
    observer.stage("distances", Some(values.len() as u64));
    let done = AtomicU64::new(0);
    let mut rows: Vec<(usize, &mut [f64], &mut [f64])> = Vec::with_capacity(p);
    let (mut values_left, mut errors_left) = (&mut values[..], &mut errors[..]);
    for i in 0..p {
        let (row, rest) = std::mem::take(&mut values_left).split_at_mut(i);
        let (row_errors, rest_errors) = std::mem::take(&mut errors_left).split_at_mut(if options.errors { i } else { 0 });
        (values_left, errors_left) = (rest, rest_errors);
        rows.push((i, row, row_errors));
    }
    // The longest rows first, so that no thread is left with one of them at the end.
    rows.into_par_iter().rev().with_max_len(1).try_for_each(|(i, row, row_errors)| {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        run.row(i, row, row_errors);
        observer.progress(done.fetch_add(i as u64, Ordering::Relaxed) + i as u64);
        Ok(())
    })?;
    let names = moments.schema().variables().iter().map(|variable| variable.name.clone()).collect();
    DistanceMatrix::from_lower(names, values, options.errors.then_some(errors))
}

/// The choice of [`Estimator::Auto`], or a check that the requested estimator applies.
pub(super) fn resolve(moments: &PairMoments, variables: &[Variable], options: &DistanceOptions) -> Result<Estimator> {
    let k = options.n_hidden_states();
    let named =
        |ix: usize, problem: String| Err(Error::data(Place::default().column(&moments.schema().variables()[ix].name), problem));
    let first = |bad: &dyn Fn(&Variable) -> bool| variables.iter().position(bad);
    let used = |variable: &Variable| variable.form != Form::Constant;
    match options.estimator {
        Estimator::Auto => {
            let is_full = |variable: &Variable| {
                !used(variable) || variable.labels().is_some_and(|(_, d)| d == k && d <= WIDE) && variable.rank == k - 1
            };
            if variables.iter().all(Variable::is_scalar) {
                return Ok(Estimator::Gaussian);
            }
            Ok(if variables.iter().all(is_full) { Estimator::LogDet } else { Estimator::Canonical })
        }
        Estimator::Gaussian => match first(&|it| !it.is_scalar()) {
            None => Ok(Estimator::Gaussian),
            Some(ix) => named(ix, "−ln |ρ| needs numbers or two labels; use `distance.estimator` canonical or auto".to_owned()),
        },
        Estimator::LogDet => {
            let fits = |it: &Variable| it.labels().is_some_and(|(_, d)| d == k && d <= WIDE) && it.rank == k - 1;
            match first(&|it| used(it) && !fits(it)) {
                None => Ok(Estimator::LogDet),
                Some(ix) => {
                    let found = match variables[ix].labels() {
                        None => "this is not a column of labels".to_owned(),
                        Some((_, d)) if d == k && d <= WIDE => format!("only {} of its {d} labels occur", variables[ix].rank + 1),
                        Some((_, d)) => format!("this has {d} (and {WIDE} at most)"),
                    };
                    let problem = format!(
                        "the log-det distance needs variables that all have as many labels as hidden variables have states, \
                         {k}; {found}; use `distance.estimator` canonical or auto, or change `parameters.hidden_states`"
                    );
                    named(ix, problem)
                }
            }
        }
        Estimator::Symmetric => {
            let states = variables.iter().find_map(|it| it.labels()).map(|it| it.1);
            match first(&|it| used(it) && (it.labels().map(|it| it.1) != states || states < Some(2))) {
                None => Ok(Estimator::Symmetric),
                Some(ix) => {
                    let problem = "the symmetric distance needs columns of labels that all have the same number of labels; use \
                                   `distance.estimator` canonical or auto";
                    named(ix, problem.to_owned())
                }
            }
        }
        Estimator::Multivariate | Estimator::Canonical => {
            if let Some(ix) = first(&|it| used(it) && it.rank < k - 1) {
                let problem = format!(
                    "hidden variables of {k} states need variables of at least {k} labels that occur, or {} features; this has \
                     {}; lower `parameters.hidden_states`, leave it out, or use `distance.estimator` auto",
                    k - 1,
                    if variables[ix].labels().is_some() { variables[ix].rank + 1 } else { variables[ix].rank }
                );
                return named(ix, problem);
            }
            let labels_only = variables.iter().all(|it| it.labels().is_some() || !used(it));
            match first(&|it| it.is_wide) {
                Some(ix) if options.estimator == Estimator::Multivariate && !labels_only => {
                    let problem = format!(
                        "Huang's distance takes columns of more than {WIDE} labels only where all variables are columns of \
                         labels; use `distance.estimator` canonical"
                    );
                    named(ix, problem)
                }
                _ => Ok(options.estimator),
            }
        }
    }
}

/// Tells the user what is less than asked for.
fn warn(moments: &PairMoments, variables: &[Variable], options: &DistanceOptions, estimator: Estimator, observer: &dyn Observer) {
    let name = |ix: usize| Shortened(&moments.schema().variables()[ix].name);
    let k = options.n_hidden_states();
    let short = |it: &Variable| it.form != Form::Constant && it.rank < k - 1;
    if options.estimator == Estimator::Auto && variables.iter().any(short) {
        let first = variables.iter().position(short).unwrap_or(0);
        observer.warn(&format!(
            "{} of {} variables (first {:?}) cannot distinguish {k} hidden states; their distances use fewer \
             correlations and are not additive",
            variables.iter().filter(|it| short(it)).count(),
            variables.len(),
            name(first)
        ));
    }
    if estimator == Estimator::Symmetric {
        let labels = |ix: usize| {
            let (column, _) = variables[ix].labels()?;
            moments.schema().column(column).kind.labels()
        };
        let first = (0..variables.len()).find(|&ix| labels(ix).is_some());
        let other = (0..variables.len()).find(|&ix| labels(ix).is_some() && labels(ix) != first.and_then(labels));
        if let (Some(first), Some(other)) = (first, other) {
            observer.warn(&format!(
                "{:?} and {:?} have different labels; the symmetric distance matches labels by position",
                name(first),
                name(other)
            ));
        }
    }
}

/// Everything that a row needs.
struct Run<'a> {
    moments: &'a PairMoments,
    options: &'a DistanceOptions,
    estimator: Estimator,
    variables: Vec<Variable>,
    /// Weight of all rows.
    weight: f64,
    /// Rows of equal weight that a unit of weight stands for.
    per_weight: f64,
    judge: Judge,
    /// Singular values of each variable's own second moments, for Huang's distance of other than labels.
    own: Vec<Vec<f64>>,
}

impl<'a> Run<'a> {
    fn new(
        moments: &'a PairMoments,
        options: &'a DistanceOptions,
        estimator: Estimator,
        variables: Vec<Variable>,
        per_weight: f64,
    ) -> Self {
        let labels_only = variables.iter().all(|it| it.labels().is_some() || it.form == Form::Constant);
        let own = if estimator == Estimator::Multivariate && !labels_only {
            let second = SecondMoments::new(moments, options.n_hidden_states());
            variables.par_iter().map(|variable| second.own(variable)).collect()
        } else {
            Vec::new()
        };
        let (weight, judge) = (moments.total_weight(), Judge::new(options));
        Self { moments, options, estimator, variables, weight, per_weight, judge, own }
    }

    /// The pairs of one variable with those before it.
    fn row(&self, i: usize, row: &mut [f64], errors: &mut [f64]) {
        let mut scratch = Scratch::default();
        for j in 0..row.len() {
            let found = self.pair(i, j, &mut scratch);
            row[j] = found.distance;
            if let Some(error) = errors.get_mut(j) {
                *error = found.error;
            }
        }
    }

    fn pair(&self, i: usize, j: usize, scratch: &mut Scratch) -> Estimate {
        let (a, b) = (&self.variables[i], &self.variables[j]);
        let k = self.options.n_hidden_states();
        let r = match self.estimator {
            Estimator::Gaussian => 1,
            _ if self.options.estimator == Estimator::Auto => (k - 1).min(a.rank).min(b.rank),
            _ => k - 1,
        };
        let plain = r == 1 && matches!(self.estimator, Estimator::Gaussian | Estimator::LogDet | Estimator::Canonical);
        match (a.form, b.form) {
            (Form::Constant, _) | (_, Form::Constant) => Estimate::NONE,
            (Form::Binary(left), Form::Binary(right)) if plain => {
                let weights = match (a.complete, b.complete) {
                    (Some(a), Some(b)) => {
                        let both = self.moments.scalar_product(left, right);
                        let neither = (self.weight - a.sum - b.sum + both).max(0.0);
                        [neither, (b.sum - both).max(0.0), (a.sum - both).max(0.0), both]
                    }
                    _ => {
                        let mut weights = [0.0; 4];
                        self.moments.table_into(left, right, &mut weights);
                        weights
                    }
                };
                let n = self.told(left, right, weights.iter().sum::<f64>() * self.per_weight);
                if n > 0.0 { table::binary(weights, self.options.smoothing, n, &self.judge) } else { Estimate::NONE }
            }
            (Form::Binary(left) | Form::Number(left), Form::Binary(right) | Form::Number(right))
                if self.estimator == Estimator::Gaussian =>
            {
                let (weight, correlation) = match (a.complete, b.complete) {
                    (Some(a), Some(b)) => {
                        let weight = self.weight;
                        let product = self.moments.scalar_product(left, right) / weight;
                        let covariance = product - a.sum / weight * (b.sum / weight);
                        (weight, Some((covariance / (a.deviation * b.deviation)).clamp(-1.0, 1.0)))
                    }
                    _ => (self.moments.pair_weight(left, right), self.moments.correlation(left, right)),
                };
                let n = self.told(left, right, weight * self.per_weight);
                match correlation {
                    Some(correlation) if n > 0.0 => self.judge.scalar(correlation, n),
                    _ => Estimate::NONE,
                }
            }
            _ => match (a.labels(), b.labels()) {
                (Some(left), Some(right)) => self.labels(left, right, r, scratch),
                _ => self.features((i, j), r),
            },
        }
    }

    /// The rows that would tell as much without noise, of private moments; all of them otherwise.
    fn told(&self, i: ColIx, j: ColIx, n: f64) -> f64 {
        if !self.moments.has_noise() {
            return n;
        }
        let deviation = |column: ColIx| self.moments.noise_deviation(column);
        n / (1.0 + self.moments.noise_ratio(i, j, (deviation(i), deviation(j))))
    }

    /// Two columns of labels.
    fn labels(&self, (i, d_i): (ColIx, usize), (j, d_j): (ColIx, usize), r: usize, scratch: &mut Scratch) -> Estimate {
        let n = self.told(i, j, self.moments.pair_weight(i, j) * self.per_weight);
        if n <= 0.0 {
            return Estimate::NONE;
        }
        let Scratch { weights, table } = scratch;
        if self.estimator == Estimator::Symmetric && d_i > WIDE {
            let cells = self.moments.sparse_table(i, j).unwrap_or_default();
            let sum = |same: bool| cells.iter().filter(|cell| !same || cell.0 == cell.1).map(|cell| cell.2).sum::<f64>();
            return table::symmetric(sum(true) / sum(false), d_i, n, &self.judge);
        }
        if d_i.max(d_j) > WIDE {
            let cells = self.moments.sparse_table(i, j).unwrap_or_default();
            *table = JointTable::from_sparse(cells, d_i, d_j, n);
        } else {
            weights.resize(d_i * d_j, 0.0);
            self.moments.table_into(i, j, weights);
            table.set_dense(weights, d_j, self.options.smoothing, n);
        }
        match self.estimator {
            Estimator::Symmetric => table.symmetric(d_i, &self.judge),
            Estimator::Multivariate => table.multivariate(self.options.n_hidden_states(), &self.judge),
            Estimator::Canonical => table.canonical(r, self.options.rare_weight, &self.judge),
            _ => table.canonical(r, 0.0, &self.judge),
        }
    }

    /// Two variables of which one is a number or a group.
    fn features(&self, (i, j): (usize, usize), r: usize) -> Estimate {
        let pair = (&self.variables[i], &self.variables[j]);
        if self.estimator == Estimator::Multivariate {
            let second = SecondMoments::new(self.moments, self.options.n_hidden_states());
            return second.distance(pair, (&self.own[i], &self.own[j]), self.per_weight, &self.judge);
        }
        features::canonical(self.moments, pair, r, self.per_weight, &self.judge)
    }
}

/// Buffers that the pairs of a row share.
#[derive(Default)]
struct Scratch {
    weights: Vec<f64>,
    table: JointTable,
}
