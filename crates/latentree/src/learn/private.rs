//! Learning from private passes: noisy pairs for the tree, then noisy triples for its tables.
//!
//! Distances and the refinement by likelihood treat the noise as a smaller number of rows for each pair. Splits that would
//! not have appeared with other noise of the same size are reported, because they may be noise.

use std::sync::Arc;

use rand_distr::{Distribution as _, StandardNormal};

use super::model::Fitted;
use super::moments::Moments;
use super::recorder::{Recorder, warn_briefly};
use super::run::Run;
use super::{Learned, Learning, ParameterMethod};
use crate::data::{Kind, Rows, Schema};
use crate::error::Result;
use crate::moments::fold;
use crate::observer::{Observer, Quiet};
use crate::parameters::{PrivateTables, column_summaries};
use crate::privacy::{Privacy, PrivatePairs};
use crate::structure::{LearnedStructure, StructureInput, learn_structure, with_bootstrap_support};

/// Number of trees that are learned again with other noise.
const REPLICATES: usize = 20;
/// Number of variables above which this is done only if a bootstrap is requested.
const MOST_VARIABLES: usize = 300;
/// A split found in a smaller share of these trees may be noise.
const LEAST_SHARE: f64 = 0.5;

/// Returns whether tables of these columns can be learned from private passes: all columns must be binary.
pub(crate) fn has_private_triples(schema: &Schema) -> bool {
    schema.columns().iter().all(|column| matches!(column.kind, Kind::Binary { .. }))
}

impl Learning {
    /// Learns from rows that answer with noise.
    ///
    /// # Errors
    /// The same as for [`run`](Self::run).
    pub fn run_privately(&self, rows: &dyn Rows, privacy: &Privacy, observer: &dyn Observer) -> Result<Learned> {
        let recorder = Recorder::new(observer);
        self.options.check(false, self.tree.is_some())?;
        Run::new(self, None, &recorder).learned_privately(rows, privacy)
    }
}

impl Run<'_> {
    fn learned_privately(&self, rows: &dyn Rows, privacy: &Privacy) -> Result<Learned> {
        let schema = Arc::clone(rows.schema());
        let wants_tables = self.options.parameters.method != ParameterMethod::None;
        let has_triples = wants_tables && has_private_triples(&schema);
        let (of_pairs, of_triples) = privacy.shares(has_triples);
        let pairs = fold(&mut *rows.open()?, PrivatePairs::new(&schema, privacy, of_pairs)?, self.observer)?;
        let moments = Moments::without_rows(pairs.moments()?);
        self.warn_of_lost(&schema, &pairs.lost());
        let structure = self.structure(&moments, None)?;
        let structure = self.with_noise_support(structure, &moments)?;
        let fitted = match (has_triples, wants_tables) {
            (true, _) => self.private_tables(structure, &moments, rows, privacy, of_triples)?,
            (false, true) if schema.columns().iter().all(|column| column.kind.labels().is_none()) => {
                self.fitted(structure, &moments, None)?
            }
            (false, wants_tables) => {
                if wants_tables {
                    self.observer.warn("the file holds the tree alone: private tables are for columns that are all yes or no");
                }
                self.private_tree(structure, &moments)
            }
        };
        self.concluded(fitted, Some(&moments), None)
    }

    fn private_tree(&self, structure: LearnedStructure, moments: &Moments) -> Fitted {
        let provenance = self.provenance(Some(&structure), Some(moments.n_rows()));
        let schema = Some(Arc::clone(moments.schema()));
        let file = crate::format::ModelFile::Tree { tree: structure.tree.clone(), schema, provenance };
        Fitted::new(file, &structure)
    }

    fn private_tables(
        &self,
        structure: LearnedStructure,
        moments: &Moments,
        rows: &dyn Rows,
        privacy: &Privacy,
        rho: f64,
    ) -> Result<Fitted> {
        let options = self.moment_options(None);
        let columns = column_summaries(&moments.whole);
        let tables = PrivateTables::new(&structure.tree, &moments.whole, &columns, &options)?;
        let answer = fold(&mut *rows.open()?, tables.pass(privacy, rho), self.observer)?;
        let found = tables.model(&moments.whole, &answer, &options)?;
        warn_briefly(self.observer, &found.warnings);
        let provenance = self.provenance(Some(&structure), Some(moments.n_rows()));
        let provenance = provenance.option("parameters", ParameterMethod::Moments.name()).option("dp-rho", privacy.rho);
        Ok(Fitted::new(found.model.with_provenance(provenance).into(), &structure))
    }

    /// Annotates each split with the share of trees, learned with other noise, that contain it.
    fn with_noise_support(&self, structure: LearnedStructure, moments: &Moments) -> Result<LearnedStructure> {
        let n_variables = moments.schema().variables().len();
        let asked = self.options.structure.bootstrap;
        let by_default = (n_variables <= MOST_VARIABLES).then_some(REPLICATES);
        let Some(replicates) = asked.or(by_default).filter(|_| self.tree.is_none() && moments.whole.has_noise()) else {
            if self.tree.is_none() && moments.whole.has_noise() {
                self.observer.warn("which splits are noise was not tested, since there are many variables; set `structure.bootstrap`, such as 10");
            }
            return Ok(structure);
        };
        let options = self.options.structure_options();
        let quiet = Quiet(self.observer);
        let tree = with_bootstrap_support(&structure.tree, replicates, self.options.seed, self.observer, |rng| {
            let other = moments.whole.with_more_noise(|| StandardNormal.sample(rng));
            learn_structure(StructureInput::Moments { whole: &other, halves: None }, &options, &quiet).map(|it| it.tree)
        })?;
        let is_inner = |node| !tree.is_observed(node);
        let inner: Vec<_> = tree.edges().filter(|edge| is_inner(edge.a) && is_inner(edge.b)).collect();
        let weak: Vec<String> = (inner.iter())
            .filter(|edge| edge.bootstrap.is_some_and(|share| share < LEAST_SHARE))
            .map(|edge| format!("{}–{}", tree.name(edge.a), tree.name(edge.b)))
            .collect();
        if !weak.is_empty() {
            let more = if weak.len() > 8 { ", …" } else { "" };
            self.observer.warn(&format!(
                "{} of {} splits may be noise: fewer than half of {replicates} trees from other noise of the same size have them ({}{more})",
                weak.len(),
                inner.len(),
                weak[..weak.len().min(8)].join(", ")
            ));
        }
        Ok(LearnedStructure { tree, ..structure })
    }

    /// Warns about columns that are rarer than the noise.
    fn warn_of_lost(&self, schema: &Schema, lost: &[usize]) {
        if !lost.is_empty() {
            let names: Vec<&str> = lost.iter().take(5).map(|&ix| schema.columns()[ix].name.as_str()).collect();
            let more = if lost.len() > 5 { ", …" } else { "" };
            self.observer.warn(&format!(
                "{} of {} columns are rarer than the noise and stand alone: {}{more}",
                lost.len(),
                schema.columns().len(),
                names.join(", ")
            ));
        }
    }
}
