//! Known models: trees of known shapes with random parameters, for tests, benches and users.
//!
//! Start with [`Simulation`]: a [`Shape`] or a given tree, a [`ParameterFamily`] and a seed define a model.
//! [`random_model`] creates varied small models for tests.

mod families;
mod random_model;
mod shapes;
#[cfg(test)]
mod tests;

pub use families::ParameterFamily;
pub use random_model::{RandomKind, RandomModelOptions, random_model};
pub use shapes::Shape;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, Result};
use crate::model::{LatentTree, Provenance};
use crate::tree::Tree;

/// A known model to be made: the tree, the family of its parameters and the seed.
///
/// # Example
/// ```
/// use latentree::simulate::{ParameterFamily, Shape, Simulation};
/// let model = Simulation::new(Shape::DoubleStar, 80).family(ParameterFamily::gaussian()).seed(7).model()?;
/// assert_eq!((model.tree().n_observed(), model.tree().n_hidden()), (80, 2));
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Simulation {
    source: Source,
    family: ParameterFamily,
    observed_inner: f64,
    seed: u64,
}

#[derive(Debug, Clone, PartialEq)]
enum Source {
    Shape { shape: Shape, n_observed: usize },
    Tree(Tree),
}

impl Simulation {
    /// A Gaussian model on a tree of this shape with seed 0, until told otherwise.
    #[must_use]
    pub fn new(shape: Shape, n_observed: usize) -> Self {
        Self::from_source(Source::Shape { shape, n_observed })
    }

    /// A Gaussian model on the given tree or forest with seed 0, until told otherwise.
    #[must_use]
    pub fn on_tree(tree: Tree) -> Self {
        Self::from_source(Source::Tree(tree))
    }

    fn from_source(source: Source) -> Self {
        Self { source, family: ParameterFamily::gaussian(), observed_inner: 0.0, seed: 0 }
    }

    /// Sets the family of the parameters.
    #[must_use]
    pub fn family(mut self, family: ParameterFamily) -> Self {
        self.family = family;
        self
    }

    /// Sets the share of inner nodes that are observed; only [`Shape::Random`] takes other than 0, the default.
    #[must_use]
    pub fn observed_inner(mut self, observed_inner: f64) -> Self {
        self.observed_inner = observed_inner;
        self
    }

    /// Sets the seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Draws the tree and its parameters, rooted at the tree's centre. Provenance records all settings.
    ///
    /// # Errors
    /// [`Error::Option`] if a setting is out of its range or the shape has no tree with that many observed nodes;
    /// [`Error::Tree`] if a given tree has no nodes.
    pub fn model(&self) -> Result<LatentTree> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut provenance = Provenance::by_this_program(self.seed).option("command", "simulate");
        let tree = match &self.source {
            Source::Shape { shape, n_observed } => {
                provenance = provenance.option("shape", shape.name()).option("observed", n_observed);
                if let Some(degree) = shape.degree() {
                    provenance = provenance.option("degree", degree);
                }
                if matches!(shape, Shape::Random { .. }) {
                    provenance = provenance.option("observed-inner", self.observed_inner);
                }
                shape.tree(*n_observed, self.observed_inner, &mut rng)?
            }
            Source::Tree(_) if self.observed_inner != 0.0 => {
                return Err(Error::option(
                    "observed-inner",
                    "applies only to random trees; a given tree determines which nodes are observed",
                ));
            }
            Source::Tree(tree) => {
                provenance = provenance.option("tree", "given");
                tree.clone()
            }
        };
        for (name, value) in self.family.settings() {
            provenance = provenance.option(name, value);
        }
        Ok(self.family.model(tree, &mut rng)?.with_provenance(provenance))
    }
}
