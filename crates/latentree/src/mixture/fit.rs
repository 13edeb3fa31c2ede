//! Fits a mixture to rows: moments, components, a model, and its diagnostics.

mod one_component;

use std::sync::Arc;

use super::component_means::component_means;
use super::fitted::{MixtureFit, MixtureModel, Tried};
use super::labels::labels;
use super::moments::{MomentPlan, Parameters, SecondMoment};
use super::options::{Concentration, MixtureOptions, NumberOfComponents};
use super::relevance::{relevant_of_star, relevant_of_topics};
use super::star::{as_topics, overall_means, proper_means, provenance, star, star_tree};
use super::{MixtureFamily, MixtureMethod, coherence, document_moves, topic_em};
use crate::data::{Kind, Rows};
use crate::error::{Error, Place, Result};
use crate::index::NodeIx;
use crate::information;
use crate::model::{Distribution, LatentTree, TopicModel};
use crate::moments::{Accumulator, Summary, fold};
use crate::named::counted;
use crate::observer::Observer;
use crate::parameters::em::{Em, Start, template};
use crate::parameters::{MomentOptions, by_moments};
use crate::tensor::Spectrum;

/// Maximum number of components considered by `auto`.
const MOST_AUTO: usize = 32;
/// Number of consecutive candidates that fail to improve BIC before `auto` stops.
const PATIENCE: usize = 3;
/// Values of α₀ tried by `auto`.
const ALPHAS: [f64; 9] = [0.01, 0.03, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];
/// Number of relevant features reported per component.
const RELEVANT: usize = 10;
/// Maximum number of columns named in a warning.
const NAMED: usize = 5;
/// Number of random starts of EM for more components than the views support.
const RANDOM_STARTS: usize = 10;

/// The fit for one number of components.
struct Candidate {
    model: MixtureModel,
    log_likelihood: f64,
    bic: f64,
    gap: Option<f64>,
    em: Option<(usize, bool)>,
    moment_error: Option<[f64; 2]>,
    warnings: Vec<String>,
}

impl Candidate {
    fn n_components(&self) -> usize {
        match &self.model {
            MixtureModel::Star(model) => model.n_states(model.rooted().roots[0]).unwrap_or(1),
            MixtureModel::Topics(model) => model.n_topics(),
        }
    }
}

/// A candidate, the number of components that the second moment supports, α₀, and all numbers of components that were tried.
type Chosen = (Candidate, Option<usize>, Option<f64>, Vec<Tried>);

/// The rows and the options of a fit.
struct Problem<'a> {
    rows: &'a dyn Rows,
    options: &'a MixtureOptions,
    family: MixtureFamily,
    method: MixtureMethod,
    em: bool,
    summary: Summary,
    observer: &'a dyn Observer,
}

/// Learns a mixture of components with independent columns: from moments, refined by EM if asked.
///
/// # Errors
/// [`Error::Option`] if the options do not fit each other or the columns, [`Error::Data`] if the rows cannot be learned from,
/// any error from reading the rows, and [`Error::Cancelled`].
///
/// # Example
/// ```
/// use latentree::mixture::{MixtureOptions, NumberOfComponents, fit_mixture};
/// use latentree::simulate::{ParameterFamily, Shape, Simulation};
/// use latentree::{Inference, Silent};
/// let family = ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.7 };
/// let truth = Simulation::new(Shape::Star, 12).family(family).model()?;
/// let rows = Inference::new(&truth).sample(2000, 0)?;
/// let fit = fit_mixture(&rows, &MixtureOptions::new(NumberOfComponents::Fixed(2)).em(true), &Silent)?;
/// assert_eq!((fit.sizes.len(), fit.labels.len()), (2, 2000));
/// # Ok::<(), latentree::Error>(())
/// ```
pub fn fit_mixture(rows: &dyn Rows, options: &MixtureOptions, observer: &dyn Observer) -> Result<MixtureFit> {
    let schema = Arc::clone(rows.schema());
    let family = options.family.unwrap_or_else(|| MixtureFamily::of(&schema));
    family.check(&schema)?;
    options.check(family)?;
    observer.stage("columns", rows.n_rows_hint());
    let summary = fold(&mut *rows.open()?, Summary::new(Arc::clone(&schema)), observer)?.finish()?;
    let mut warnings = Vec::new();
    let (method, em) = usable_method(&summary, family, options, &mut warnings)?;
    let problem = Problem { rows, options, family, method, em, summary, observer };
    let (candidate, supported, alpha, tried) = problem.choose(&mut warnings)?;
    problem.report(candidate, supported, alpha, tried, warnings)
}

/// Chooses the method and whether EM follows; adds warnings about constant columns and missing cells.
fn usable_method(
    summary: &Summary,
    family: MixtureFamily,
    options: &MixtureOptions,
    warnings: &mut Vec<String>,
) -> Result<(MixtureMethod, bool)> {
    if summary.total_weight() <= 0.0 {
        return Err(Error::data(Place::default(), "there are no rows of positive weight to learn from"));
    }
    let columns = || summary.schema().columns().iter().zip(summary.columns());
    let listed = |names: &[&str]| {
        let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
        format!("{}{more}", names[..names.len().min(NAMED)].join(", "))
    };
    if let Some((column, _)) =
        columns().find(|(_, it)| it.levels.is_empty() && it.range.is_some_and(|range| range.0 < 0.0 && family.is_counts()))
    {
        return Err(Error::data(
            Place::default().column(&column.name),
            format!("{family} needs counts, but there are numbers below 0"),
        ));
    }
    let empty: Vec<&str> = columns().filter(|(_, it)| it.weight <= 0.0).map(|it| it.0.name.as_str()).collect();
    if !empty.is_empty() {
        return Err(Error::data(Place::default().column(empty[0]), "all its cells are missing; leave the column out"));
    }
    let flat: Vec<&str> = columns().filter(|(_, it)| it.has_one_value()).map(|it| it.0.name.as_str()).collect();
    if flat.len() == summary.columns().len() {
        warnings.push("all rows are equal: there is nothing to tell components apart".to_owned());
    } else if !flat.is_empty() && !family.is_topics() {
        warnings.push(format!(
            "{} of {} columns are constant and tell nothing: {}",
            flat.len(),
            summary.columns().len(),
            listed(&flat)
        ));
    }
    let missing: u64 = summary.columns().iter().map(|it| it.missing).sum();
    let method = options.method.unwrap_or_default();
    if missing == 0 {
        return Ok((method, options.em));
    }
    let cells = format!("{} {}", counted(missing, "cell"), if missing == 1 { "is" } else { "are" });
    let holes: Vec<&str> = columns().filter(|(_, it)| it.missing > 0).map(|it| it.0.name.as_str()).collect();
    if family.is_topics() {
        let problem = format!(
            "{cells} missing, and the words of a document are all known or not there: write 0 for words that do not occur"
        );
        return Err(Error::data(Place::default().column(holes[0]), problem));
    }
    if options.method.is_some_and(|method| method != MixtureMethod::MultiView) {
        let problem =
            format!("{method} needs complete rows, but {cells} missing ({}); use multi-view, or fill them", listed(&holes));
        return Err(Error::option("mixture.method", problem));
    }
    warnings.push(format!("{cells} missing ({}): components come from views and EM", listed(&holes)));
    Ok((MixtureMethod::MultiView, true))
}

impl Problem<'_> {
    /// Returns whether raw moments are used.
    fn is_raw(&self) -> bool {
        self.method == MixtureMethod::Asvtd || !self.family.is_corrected()
    }

    fn wants_slices(&self) -> bool {
        match self.method {
            MixtureMethod::Asvtd | MixtureMethod::Svtd | MixtureMethod::Svd => true,
            MixtureMethod::Tpm | MixtureMethod::Als => false,
            MixtureMethod::Sidiwo | MixtureMethod::MultiView => self.is_raw(),
        }
    }

    fn n_features(&self) -> usize {
        self.summary
            .schema()
            .columns()
            .iter()
            .map(|column| column.kind.n_states().map_or(1, |n_states| n_states.saturating_sub(1)))
            .sum()
    }

    fn second(&self, most: usize, alpha: f64) -> Result<SecondMoment> {
        let plan = MomentPlan {
            family: self.family,
            raw: self.method == MixtureMethod::Asvtd && self.family.is_corrected(),
            alpha,
            most,
            seed: self.options.seed,
            population: self.options.population,
        };
        SecondMoment::of(self.rows, &self.summary, plan, self.observer)
    }

    /// Fits the requested number of components, or the best number.
    fn choose(&self, warnings: &mut Vec<String>) -> Result<Chosen> {
        let d = self.n_features();
        if let NumberOfComponents::Fixed(k) = self.options.components
            && k > d
            && self.method != MixtureMethod::MultiView
        {
            let problem = format!(
                "{k} components need as many features, there are {d}; ask for fewer, or use `cluster`, which splits step by step"
            );
            return Err(Error::option("mixture.components", problem));
        }
        if self.method == MixtureMethod::MultiView {
            let (candidate, tried) = self.choose_views()?;
            return Ok((candidate, None, None, tried));
        }
        let most = match self.options.components {
            NumberOfComponents::Fixed(k) => k,
            NumberOfComponents::Auto => MOST_AUTO.min(d),
        };
        let (moment, alpha) = self.with_alpha(most)?;
        self.tell_documents(&moment, warnings);
        if self.options.components == NumberOfComponents::Fixed(1) {
            let supported = moment.whiten(1).ok().and_then(|it| it.spectra().first().map(Spectrum::supported));
            return Ok((self.one(alpha, Some(&moment))?, supported, alpha, Vec::new()));
        }
        let Ok(spectrum) = moment.whiten(1) else {
            if self.options.components == NumberOfComponents::Auto {
                return Ok((self.one(alpha, Some(&moment))?, None, alpha, Vec::new()));
            }
            let problem = "the rows have no second moment to tell components by: all rows are equal, all cells are zero, or every \
                           row has one count; ask for 1 component, or for auto";
            return Err(Error::data(Place::default(), problem));
        };
        let supported = spectrum.spectra().first().map_or(0, Spectrum::supported);
        let rank = moment.rank();
        match self.options.components {
            NumberOfComponents::Fixed(k) => {
                if k > rank {
                    warnings.push(format!("{k} components asked for, but the second moment has rank {rank}: {rank} were found"));
                } else if k > supported && !self.options.population {
                    warnings
                        .push(format!("{k} components asked for, but the second moment supports {supported} above its noise"));
                }
                Ok((self.candidate(&moment, k.min(rank))?, Some(supported), alpha, Vec::new()))
            }
            NumberOfComponents::Auto => {
                let (mut best, mut tried): (Option<Candidate>, Vec<Tried>) = (None, Vec::new());
                let mut since_best = 0;
                let has_noise = moment.variance().is_some();
                // Noise hides eigenvalues of small tables, so BIC also judges a few more components than the noise level
                // supports.
                for k in 1..=supported.max(PATIENCE + 1).min(rank).max(1) {
                    // What counts as noise of normal vectors depends on the number of components.
                    let own = if k > 1 && has_noise { Some(self.second(k, 0.0)?) } else { None };
                    let moment = own.as_ref().unwrap_or(&moment);
                    if k > 1 && moment.rank() < k {
                        break;
                    }
                    let candidate = if k == 1 { self.one(alpha, Some(moment))? } else { self.candidate(moment, k)? };
                    tried.push(Tried { components: k, log_likelihood: candidate.log_likelihood, bic: candidate.bic });
                    if best.as_ref().is_none_or(|best| candidate.bic > best.bic) {
                        (best, since_best) = (Some(candidate), 0);
                    } else {
                        since_best += 1;
                        if since_best == PATIENCE {
                            break;
                        }
                    }
                }
                let best = best.expect("one component was tried");
                if best.n_components() == 1 && supported > 1 && !self.em && self.family != MixtureFamily::Lda {
                    warnings.push(format!(
                        "the second moment supports {supported} components, but none of more than one has a better BIC: \
                         `mixture.em` may find them"
                    ));
                }
                Ok((best, Some(supported), alpha, tried))
            }
        }
    }

    /// The second moment with the requested α₀, or with the best one.
    fn with_alpha(&self, most: usize) -> Result<(SecondMoment, Option<f64>)> {
        if self.family != MixtureFamily::Lda {
            return Ok((self.second(most, 0.0)?, None));
        }
        if let Concentration::Fixed(alpha) = self.options.alpha.unwrap_or_default() {
            return Ok((self.second(most, alpha)?, Some(alpha)));
        }
        let mut best: Option<(f64, f64, SecondMoment)> = None;
        for alpha in ALPHAS {
            let moment = self.second(most, alpha)?;
            let k = most.min(moment.rank()).max(1);
            let Ok(whitening) = moment.whiten(k) else { continue };
            let third = moment.third(self.rows, &whitening, self.wants_slices(), self.observer)?;
            let (_, components) = moment.recover(&whitening, &third, self.method, self.options.seed)?;
            if best.as_ref().is_none_or(|best| components.residual < best.0) {
                best = Some((components.residual, alpha, moment));
            }
        }
        let none = || Error::data(Place::default(), "the documents have no second moment to tell topics by");
        best.map(|(_, alpha, moment)| (moment, Some(alpha))).ok_or_else(none)
    }

    fn tell_documents(&self, moment: &SecondMoment, warnings: &mut Vec<String>) {
        let totals = &moment.totals;
        if self.family.is_topics() && totals.short > 0 {
            let (have, get) = match totals.short {
                1 => ("has", "it gets a label, but cannot"),
                _ => ("have", "they get a label, but cannot"),
            };
            warnings.push(format!(
                "{} of {} {have} fewer than three words: {get} contribute to the third moments",
                totals.short,
                counted(totals.rows, "document")
            ));
        }
        if totals.empty > 0 && (self.family.is_counts() || self.family == MixtureFamily::Bernoulli) {
            let empty = self.family.told_empty(totals.empty);
            warnings.push(format!("{empty}: labelled with the component that is most probable given no words or values"));
        }
    }

    /// Fits k components by moments, followed by EM if asked.
    fn candidate(&self, moment: &SecondMoment, k: usize) -> Result<Candidate> {
        let whitening = moment.whiten(k)?;
        let third = moment.third(self.rows, &whitening, self.wants_slices(), self.observer)?;
        let (parameters, components) = moment.recover(&whitening, &third, self.method, self.options.seed)?;
        let mut warnings = Vec::new();
        if parameters.unsure > 0 {
            warnings.push(format!("the moments do not tell the weight of {} of {k} components", parameters.unsure));
        }
        if !components.converged {
            warnings.push(format!("{} did not converge in {} rounds", self.method, components.iterations));
        }
        let gap = Some(components.gap);
        let moment_error = moment.are_shares().then(|| moment_error(moment, &parameters));
        let schema = self.summary.schema();
        if self.family == MixtureFamily::Lda {
            let overall = overall_means(schema, moment, &self.summary);
            let topics = as_topics(&proper_means(&parameters, &overall, moment.totals.weight, self.options.population));
            let alphas = parameters.weights.iter().map(|weight| moment.alpha() * weight.max(1e-6)).collect();
            let topics = topics.transposed().cells().to_vec();
            return Ok(Candidate { gap, moment_error, warnings, ..self.topics(topics, alphas, moment.alpha())? });
        }
        let model = star(schema, self.family, &parameters, moment, &self.summary, self.options.population)?;
        if !self.em && !self.family.is_corrected() {
            warnings.push("raw moments of labels are not exact; EM (`mixture.em`) improves them".to_owned());
        }
        let overall = overall_means(schema, moment, &self.summary);
        let mut candidate = self.refined(model, &overall)?;
        candidate.warnings.splice(0..0, warnings);
        Ok(Candidate { gap, moment_error, ..candidate })
    }

    /// A star, refined by EM if asked, and its likelihood.
    fn refined(&self, model: LatentTree, overall: &[f64]) -> Result<Candidate> {
        let root = model.rooted().roots[0];
        let (mut em, mut warnings) = (None, Vec::new());
        let (model, log_likelihood) = if self.em && self.family == MixtureFamily::SingleTopic {
            let total: f64 = overall.iter().sum();
            let overall: Vec<f64> = overall.iter().map(|share| share / total).collect();
            let rough = topic_em::fit(model, root, &overall, topic_em::ROUGH, self.rows, self.observer)?;
            let by_moves = self.by_moves(&rough.model, root, &overall)?;
            let fit = match by_moves.filter(|it| it.log_likelihood > rough.log_likelihood) {
                Some(fit) => fit,
                None => topic_em::fit(rough.model, root, &overall, topic_em::TOLERANCE, self.rows, self.observer)?,
            };
            em = Some((fit.passes, fit.converged));
            (fit.model, fit.log_likelihood)
        } else if self.em {
            let fit = Em::new().fit(&model, self.rows, self.observer)?;
            em = Some((fit.iterations, fit.converged()));
            warnings.extend(fit.warnings.iter().cloned());
            let log_likelihood = self.log_likelihood(&fit.model)?;
            (fit.model, log_likelihood)
        } else {
            let log_likelihood = self.log_likelihood(&model)?;
            (model, log_likelihood)
        };
        if em.is_some_and(|it| !it.1) {
            warnings.push("EM had not converged when it reached its limit of passes".to_owned());
        }
        let provenance = provenance(self.options, self.family, self.method, self.summary.n_rows());
        let model = model.with_provenance(provenance);
        let bic = information::bic(log_likelihood, model.n_free_parameters(), self.summary.total_weight());
        Ok(Candidate { model: MixtureModel::Star(model), log_likelihood, bic, gap: None, em, moment_error: None, warnings })
    }

    /// Fits topics by EM, starting from the most likely grouping found by moving documents. `None` if there are too many
    /// documents.
    fn by_moves(&self, model: &LatentTree, root: NodeIx, overall: &[f64]) -> Result<Option<topic_em::TopicFit>> {
        let k = model.n_states(root).unwrap_or(1);
        if k < 2 || self.rows.schema().variables().iter().any(|variable| variable.columns.len() != 1) {
            return Ok(None);
        }
        let first = labels(&MixtureModel::Star(model.clone()), self.rows, self.options.seed, self.observer)?;
        let prior = overall.iter().map(|share| topic_em::PSEUDO_WORDS * share).collect();
        let Some(groups) = document_moves::grouping(self.rows, k, prior, &first, self.options.seed, self.observer)? else {
            return Ok(None);
        };
        let start = topic_em::of_groups(model, root, overall, self.rows, &groups)?;
        topic_em::fit(start, root, overall, topic_em::TOLERANCE, self.rows, self.observer).map(Some)
    }

    /// Fits by views: the requested number of components, or increasing numbers from two until BIC stops improving.
    fn choose_views(&self) -> Result<(Candidate, Vec<Tried>)> {
        let fit = |k: usize| -> Result<Candidate> {
            if k == 1 {
                return self.one(None, None);
            }
            let (tree, _) = star_tree(self.summary.schema())?;
            if self.summary.schema().variables().len() < 3 {
                return Err(Error::option("mixture.method", "multi-view needs three columns or more; use sidiwo, or `cluster`"));
            }
            let options = MomentOptions::new(k).seed(self.options.seed);
            let found = by_moments(&tree, &mut *self.rows.open()?, Some(&self.summary), &options, self.observer)?;
            let mut warnings = found.warnings;
            let root = found.model.rooted().roots[0];
            let model = if self.em && found.model.n_states(root) != Some(k) {
                warnings.push(format!("EM for {k} components begins at random ({RANDOM_STARTS} starts, the best is kept)"));
                let start = Start::Random { restarts: RANDOM_STARTS, seed: self.options.seed };
                let of_k = template(Arc::clone(self.rows.schema()), tree, k)?;
                Em::new().start(start).fit(&of_k, self.rows, self.observer)?.model
            } else {
                found.model
            };
            let mut candidate = self.refined(model, &[])?;
            candidate.warnings.splice(0..0, warnings);
            Ok(candidate)
        };
        if let NumberOfComponents::Fixed(k) = self.options.components {
            return Ok((fit(k)?, Vec::new()));
        }
        let (mut best, mut tried): (Option<Candidate>, Vec<Tried>) = (None, Vec::new());
        let mut since_best = 0;
        for k in 1..=MOST_AUTO {
            let candidate = fit(k)?;
            tried.push(Tried { components: k, log_likelihood: candidate.log_likelihood, bic: candidate.bic });
            if best.as_ref().is_none_or(|best| candidate.bic > best.bic) {
                (best, since_best) = (Some(candidate), 0);
            } else {
                since_best += 1;
                if since_best == PATIENCE {
                    break;
                }
            }
        }
        Ok((best.expect("one component was tried"), tried))
    }

    fn log_likelihood(&self, model: &LatentTree) -> Result<f64> {
        crate::parameters::em::rows_log_likelihood(model, self.rows, self.observer)
    }

    /// The sum of the bounds of all documents, and the sum of their weights.
    fn bound(&self, model: &TopicModel) -> Result<(f64, f64)> {
        let (mut sum, mut weight) = (0.0, 0.0);
        let mut source = self.rows.open()?;
        while let Some(batch) = source.next_batch()? {
            if self.observer.cancelled() {
                return Err(Error::Cancelled);
            }
            for (row, bound) in model.bound(&batch).into_iter().enumerate() {
                sum += batch.weight(row) * bound;
                weight += batch.weight(row);
            }
        }
        Ok((sum, weight))
    }

    fn report(
        &self,
        candidate: Candidate,
        supported: Option<usize>,
        alpha: Option<f64>,
        tried: Vec<Tried>,
        mut warnings: Vec<String>,
    ) -> Result<MixtureFit> {
        let worse = self.worse_than_one(&candidate, alpha, tried.first())?;
        warnings.extend(candidate.warnings.into_iter().chain(worse));
        let labels = labels(&candidate.model, self.rows, self.options.seed, self.observer)?;
        let (weights, relevant) = match &candidate.model {
            MixtureModel::Star(model) => {
                let Distribution::Discrete(prior) = model.distribution(model.rooted().roots[0]) else {
                    unreachable!("the root has states")
                };
                (prior.values().to_vec(), relevant_of_star(model, RELEVANT)?)
            }
            MixtureModel::Topics(model) => {
                let total: f64 = model.alpha().iter().sum();
                (model.alpha().iter().map(|alpha| alpha / total).collect(), relevant_of_topics(model, RELEVANT))
            }
        };
        let mut sizes = vec![0; weights.len()];
        labels.iter().for_each(|&label| sizes[label] += 1);
        let topics = leading_columns(&candidate.model);
        let coherence = topics.map(|topics| coherence(self.rows, &topics, self.observer)).transpose()?;
        let given = match (&candidate.model, self.family) {
            (MixtureModel::Star(model), MixtureFamily::SingleTopic) => Some(candidate.log_likelihood - self.ln_lengths(model)?),
            _ => None,
        };
        Ok(MixtureFit {
            family: self.family,
            method: self.method,
            weights,
            log_likelihood: candidate.log_likelihood,
            log_likelihood_given_lengths: given,
            bic: candidate.bic,
            labels,
            sizes,
            relevant,
            coherence,
            moment_error: candidate.moment_error,
            gap: candidate.gap,
            supported,
            alpha,
            em: candidate.em,
            tried,
            warnings,
            model: candidate.model,
        })
    }

    /// Log-probability of the lengths of all documents.
    fn ln_lengths(&self, model: &LatentTree) -> Result<f64> {
        let mut source = self.rows.open()?;
        let mut sum = 0.0;
        while let Some(batch) = source.next_batch()? {
            let lengths = crate::inference::star::ln_lengths(model, &batch).unwrap_or_default();
            sum += lengths.iter().enumerate().map(|(row, ln)| batch.weight(row) * ln).sum::<f64>();
        }
        Ok(sum)
    }
}

/// Probabilities or rates of the columns in each component. `None` unless all columns are counts or binary.
fn leading_columns(model: &MixtureModel) -> Option<Vec<Vec<f64>>> {
    let model = match model {
        MixtureModel::Topics(model) => return Some((0..model.n_topics()).map(|topic| model.topic(topic).to_vec()).collect()),
        MixtureModel::Star(model) => model,
    };
    let is_event = |kind: &Kind| matches!(kind, Kind::Binary { .. } | Kind::Count);
    if !model.schema().columns().iter().all(|column| is_event(&column.kind)) {
        return None;
    }
    let means = component_means(model)?;
    Some((0..means.n_rows()).map(|c| means.row(c).to_vec()).collect())
}

/// `√(W (1 − ‖M‖²))` for the second and third moments, with the norms of the moments implied by the parameters.
fn moment_error(moment: &SecondMoment, parameters: &Parameters) -> [f64; 2] {
    let k = parameters.weights.len();
    let gram = parameters.means.transposed_times(&parameters.means);
    let norm = |power: i32| -> f64 {
        let cells =
            (0..k * k).map(|at| parameters.weights[at / k] * parameters.weights[at % k] * gram[(at / k, at % k)].powi(power));
        cells.sum::<f64>().clamp(0.0, 1.0)
    };
    let totals = &moment.totals;
    let spread = [0, 1].map(|ix| totals.squared_lengths[ix] / totals.lengths[ix + 1].powi(2));
    [(spread[0] * (1.0 - norm(2))).sqrt(), (spread[1] * (1.0 - norm(3))).sqrt()]
}
