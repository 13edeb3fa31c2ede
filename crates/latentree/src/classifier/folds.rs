//! Cross-validation.

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

use super::learn::{Split, target_column};
use super::{Classifier, Results};
use crate::data::Dataset;
use crate::error::{Error, Result, Shortened};
use crate::learn::Learning;
use crate::observer::{Observer, Unwarned};

/// How well the labels of one fold were predicted by a classifier learned from the others.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FoldResult {
    /// The labels of the classifier.
    pub labels: Vec<String>,
    /// The predictions compared with the true labels.
    pub results: Results,
}

impl Classifier {
    /// For each fold, learns from all other folds and predicts the labels of this one. Each label is spread evenly over the
    /// folds, and its rows are assigned at random.
    ///
    /// # Errors
    /// The same as for [`learn`](Self::learn), and [`Error::Option`] if a label has fewer rows than there are folds.
    pub fn cross_validate(
        rows: &Dataset,
        target: &str,
        n_folds: usize,
        learning: &Learning,
        observer: &dyn Observer,
    ) -> Result<Vec<FoldResult>> {
        if n_folds < 2 {
            return Err(Error::option("learn.folds", format!("{n_folds} given; at least 2 are needed")));
        }
        let column = target_column(rows.schema(), target)?;
        let labels = rows.schema().column(column).kind.labels().unwrap_or_default();
        let mut of_label: Vec<Vec<u64>> = vec![Vec::new(); labels.len()];
        for batch in rows.batches() {
            for row in 0..batch.n_rows {
                let code = batch.number(row, column);
                if !code.is_nan() {
                    of_label[code as usize].push(batch.first_row + row as u64);
                }
            }
        }
        let mut fold_of = vec![usize::MAX; rows.n_rows() as usize];
        let mut random = ChaCha8Rng::seed_from_u64(learning.options().seed);
        let mut next = 0;
        for (label, mut rows) in labels.iter().zip(of_label) {
            if !rows.is_empty() && rows.len() < n_folds {
                let problem = format!(
                    "label {:?} has {}, fewer than {n_folds} folds; use fewer, or leave its rows out",
                    Shortened(label),
                    crate::counted(rows.len(), "row")
                );
                return Err(Error::option("learn.folds", problem));
            }
            rows.shuffle(&mut random);
            for row in rows {
                fold_of[row as usize] = next % n_folds;
                next += 1;
            }
        }
        let mut found = Vec::with_capacity(n_folds);
        for fold in 0..n_folds {
            let learned = Split::new(rows, target, |row| fold_of[row as usize] != fold && fold_of[row as usize] != usize::MAX)?;
            // Warnings are issued only for the models learned from all rows.
            let classifier = learned.learned(target, learning, &Unwarned(observer))?.classifier;
            let held_out = rows.rows_where(|row| fold_of[row as usize] == fold);
            found.push(FoldResult { labels: classifier.labels.clone(), results: classifier.evaluate(&held_out, None)? });
        }
        Ok(found)
    }
}
