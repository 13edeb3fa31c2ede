//! The models from which a search starts.

use std::sync::Arc;

use super::{Bench, BicSearch, Found, LARGE, SMALL, VERY_LARGE, WIDE, starts};
use crate::Result;
use crate::data::Kind;
use crate::moments::PairMoments;
use crate::observer::Quiet;
use crate::parameters::em::{Em, Start, template};
use crate::selection::islands::islands;
use crate::selection::options::Effort;
use crate::selection::shape::Shape;
use crate::structure::ChowLiu;

/// A starting point.
#[derive(Debug, Clone, Copy)]
pub(super) enum Beginning {
    Levels,
    Islands(usize),
    Classes,
    /// One of the given trees, with this number of states.
    Given(usize, usize),
    /// One of the given models.
    Model(usize),
    /// The Chow–Liu tree.
    Spanning,
}

pub(super) fn beginnings(search: &BicSearch, size: f64, n_variables: usize) -> Vec<Beginning> {
    use Beginning::{Classes, Given, Islands, Levels, Model, Spanning};
    let k = search.hidden_states.unwrap_or(2);
    let given = |n_states: usize| (0..search.trees.len()).map(move |tree| Given(tree, n_states));
    if size > VERY_LARGE {
        return [Levels].into_iter().chain(given(k).take(1)).collect();
    }
    if n_variables > WIDE {
        return [Levels].into_iter().chain(given(k)).collect();
    }
    if size > LARGE {
        return [Levels, Islands(0), Islands(1), Spanning].into_iter().chain(given(k).take(1)).collect();
    }
    let mut all = vec![Islands(0), Islands(1), Islands(2), Levels, Classes, Spanning];
    all.extend((0..search.models.len()).map(Model));
    all.extend(given(k));
    if search.hidden_states.is_none() {
        all.extend(given(3));
    }
    // If a start is cheap, many are tried.
    let more = if search.effort == Effort::Thorough || size < SMALL { 9 } else { 0 };
    all.extend((3..3 + more).map(Islands));
    all
}

impl Bench<'_> {
    /// Builds the model of a starting point.
    pub(super) fn begin(&self, beginning: Beginning, moments: &PairMoments, search: &BicSearch) -> Result<Option<Found>> {
        let (schema, columns, judge, seed) = (self.rows.schema(), &self.columns, self.judge(), search.seed);
        match beginning {
            Beginning::Model(model) => self.fit(&search.models[model], 20, 1e-6),
            Beginning::Levels => match starts::levels(columns, &judge, seed.wrapping_mul(41), false) {
                Some(net) if net.n_hidden() > 0 => self.fit_net(&net, 30, 1e-6),
                _ => Ok(None),
            },
            Beginning::Spanning => {
                let is_for = |ix| schema.scalar_kind(ix).and_then(Kind::n_states).is_some_and(|n_states| n_states <= 64);
                if **moments.schema() != **schema || !schema.variable_ixs().all(is_for) {
                    return Ok(None);
                }
                let tree = ChowLiu::from_moments(moments)?.tree;
                self.fit(&template(Arc::clone(schema), tree, 2)?, 10, 1e-7)
            }
            Beginning::Classes => {
                let net = starts::latent_classes(columns, &judge, seed.wrapping_mul(43).wrapping_add(5));
                self.fit_net(&net, 60, 1e-7)
            }
            Beginning::Islands(variant) => {
                let p = schema.variables().len();
                let size = (p as f64).ln() / 100_f64.ln();
                let root_states = [12.0, 8.0, 16.0, 12.0, 10.0, 14.0][variant % 6];
                let root_states = ((root_states * size).round() as usize).clamp(2, 16);
                let n_islands = [p / 5, p / 4, p / 6, p / 3, p / 5, p / 4][variant % 6].max(1);
                let groups = islands(moments, n_islands, &Quiet(self.observer))?;
                let root_states = search.hidden_states.unwrap_or(root_states);
                let seed = seed.wrapping_mul(31).wrapping_add(variant as u64 * 1009);
                let net = starts::islands_under_classes(&groups, root_states, columns, &judge, seed);
                if net.n_hidden() == 0 { Ok(None) } else { self.fit_net(&net, 25, 1e-6) }
            }
            Beginning::Given(tree, n_states) => {
                let shape = Shape::of_tree(&search.trees[tree], schema, n_states);
                let model = template(Arc::clone(schema), shape.tree(schema)?, n_states)?;
                let em = Em::new().merge(false).smoothing(self.smoothing).iterations(40).tolerance(1e-6);
                let start = Start::LatentClass { restarts: 2, seed };
                let fit = em.start(start).fit(&model, self.rows, &Quiet(self.observer))?;
                self.fit(&fit.model, 10, 1e-6)
            }
        }
    }
}
