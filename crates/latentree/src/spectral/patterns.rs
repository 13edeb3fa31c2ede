//! The distinct rows and their weights.

use serde::{Deserialize, Serialize};

use super::labels::Labels;
use crate::data::Batch;
use crate::error::Result;
use crate::moments::Accumulator;
use crate::moments::sums::{from_bytes, mismatch, to_bytes};

/// Rows of labels; a missing cell is coded as the number of labels of the variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Patterns {
    labels: Labels,
    /// Stored row by row.
    codes: Vec<u16>,
    weights: Vec<f64>,
}

impl Patterns {
    pub(super) fn new(labels: Labels) -> Self {
        Self { labels, codes: Vec::new(), weights: Vec::new() }
    }

    fn n_columns(&self) -> usize {
        self.labels.n_labels.len().max(1)
    }

    /// Each row once, sorted, with the total weight of its copies.
    fn distinct(&self) -> Self {
        let n = self.n_columns();
        let row = |ix: usize| &self.codes[ix * n..(ix + 1) * n];
        let mut order: Vec<usize> = (0..self.weights.len()).collect();
        order.sort_by(|&a, &b| row(a).cmp(row(b)));
        let mut out = Self::new(self.labels.clone());
        for ix in order {
            if out.codes.len() >= n && out.codes[out.codes.len() - n..] == *row(ix) {
                *out.weights.last_mut().expect("there is a row") += self.weights[ix];
            } else {
                out.codes.extend_from_slice(row(ix));
                out.weights.push(self.weights[ix]);
            }
        }
        out
    }

    /// The codes of each column, and the weights of the rows.
    pub(super) fn into_columns(self) -> (Vec<Vec<u16>>, Vec<f64>) {
        let n = self.n_columns();
        let columns = (0..self.labels.n_labels.len()).map(|column| self.codes[column..].iter().step_by(n).copied().collect());
        (columns.collect(), self.weights)
    }
}

impl Accumulator for Patterns {
    type Output = Self;

    const NAME: &'static str = "patterns";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let (own, own_weights) = (&mut self.codes, &mut self.weights);
        self.labels.each_strip(batch, &mut [], &mut 0.0, |codes, weights| {
            for (row, &weight) in weights.iter().enumerate().filter(|it| *it.1 > 0.0) {
                own.extend(codes.iter().map(|column| column[row] as u16));
                own_weights.push(weight);
            }
        });
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.labels != other.labels {
            return Err(mismatch());
        }
        self.codes.extend(other.codes);
        self.weights.extend(other.weights);
        Ok(())
    }

    fn empty(&self) -> Self {
        Self::new(self.labels.clone())
    }

    fn settle(&mut self) {
        *self = self.distinct();
    }

    fn finish(self) -> Result<Self> {
        Ok(self.distinct())
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        to_bytes(&self.distinct())
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let read: Self = from_bytes(bytes)?;
        let n = read.n_columns();
        let fits = read.codes.len() == n * read.weights.len()
            && read
                .codes
                .chunks_exact(n)
                .all(|row| row.iter().zip(&read.labels.n_labels).all(|(&code, &labels)| usize::from(code) <= labels));
        if fits { Ok(read) } else { Err(mismatch()) }
    }
}
