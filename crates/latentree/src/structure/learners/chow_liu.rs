//! The Chow–Liu tree: the tree over the observed variables alone that maximises the likelihood.
//!
//! It is the maximum spanning tree of the pairwise mutual informations; with them and the entropies `H_i`, all from pair
//! moments, the maximised log-likelihood is `N (Σ_edges I_ij − Σ_i H_i)`. Chow and Liu (1968); Choi et al. (2011), §5.1.

use rayon::prelude::*;

use super::minimum_spanning_forest;
use crate::error::{Error, Place, Result};
use crate::index::{ColIx, NodeIx, VarIx};
use crate::information::of_correlation;
use crate::moments::PairMoments;
use crate::tree::{Edge, Node, Tree};

/// A Chow–Liu tree and how well it explains the data it was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct ChowLiu {
    /// The tree; variables that no other says anything about stand alone.
    pub tree: Tree,
    /// Maximised log-likelihood of the data; `None` where there are columns of numbers.
    pub log_likelihood: Option<f64>,
    /// Number of free parameters; `None` as for the log-likelihood.
    pub free_parameters: Option<usize>,
}

impl ChowLiu {
    /// The maximum-likelihood tree of the observed variables.
    ///
    /// Mutual information of two discrete columns is that of their table, of two columns of numbers `−½ ln(1 − ρ²)`.
    ///
    /// # Errors
    /// [`Error::Data`] if there are groups, or both discrete columns and columns of numbers: no mutual information
    /// from pair moments compares with both.
    ///
    /// # Complexity
    /// O(p²) mutual informations, O(p) memory beyond the moments.
    pub fn from_moments(moments: &PairMoments) -> Result<Self> {
        let schema = moments.schema();
        let columns = schema.variables().iter().map(|variable| {
            let problem = "the Chow–Liu tree needs one column per variable; groups have no mutual information";
            if variable.is_group {
                Err(Error::data(Place::default().column(&variable.name), problem))
            } else {
                Ok(variable.columns[0])
            }
        });
        let columns: Vec<ColIx> = columns.collect::<Result<_>>()?;
        let is_number = |&column: &ColIx| schema.column(column).kind.n_states().is_none();
        let numbers = columns.iter().filter(|column| is_number(column)).count();
        if numbers > 0 && numbers < columns.len() {
            let name = columns.iter().find(|column| is_number(column)).map_or("", |&column| schema.column(column).name.as_str());
            let problem = "the Chow–Liu tree needs columns that are all discrete or all numbers; leave out or recode one kind";
            return Err(Error::data(Place::default().column(name), problem));
        }
        let information = |i: ColIx, j: ColIx| -> Option<f64> {
            if numbers > 0 {
                return Some(of_correlation(moments.correlation(i, j)?));
            }
            moments.mutual_information(i, j)
        };
        let n = columns.len();
        let edges = minimum_spanning_forest(n, |i, out| {
            out.par_iter_mut().enumerate().with_min_len(256).for_each(|(j, out)| {
                let information = if i == j { None } else { information(columns[i], columns[j]) };
                *out = information.map_or(f64::INFINITY, |it| -it);
            });
        });
        let nodes = schema.variables().iter().map(|variable| Node { name: variable.name.clone(), observed: true });
        let joined: Vec<Edge> = edges.iter().map(|&(a, b)| Edge::new(NodeIx::new(a), NodeIx::new(b))).collect();
        let tree = Tree::from_parts(nodes.collect(), &joined)?;
        let (mut log_likelihood, mut free_parameters) = (None, None);
        if numbers == 0 && !moments.has_missing() {
            let entropies: f64 = columns.iter().map(|&column| moments.mutual_information(column, column).unwrap_or(0.0)).sum();
            let shared: f64 = edges.iter().map(|&(a, b)| information(columns[a], columns[b]).unwrap_or(0.0)).sum();
            log_likelihood = Some(moments.total_weight() * (shared - entropies));
            let states = |ix: usize| schema.scalar_kind(VarIx::new(ix)).and_then(crate::data::Kind::n_states).unwrap_or(1);
            let alone: usize = (0..n).map(|ix| states(ix) - 1).sum();
            // A table given a parent has (k_parent − 1) more rows than the node by itself.
            free_parameters = Some(alone + edges.iter().map(|&(a, b)| (states(a) - 1) * (states(b) - 1)).sum::<usize>());
        }
        Ok(Self { tree, log_likelihood, free_parameters })
    }
}
