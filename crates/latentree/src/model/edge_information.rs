//! How strongly the two ends of an edge depend on each other.

use super::{Distribution, LatentTree, Marginal};
use crate::information;

/// Mutual information, in nats, between each node and its parent, by node index.
///
/// For discrete nodes
/// $$ I(x; y) = \sum_{x, y} p(x)\, p(y \mid x) \ln \frac{p(y \mid x)}{p(y)} $$
/// with the marginals passed down from the root; for nodes of a Gaussian tree $-\tfrac12 \ln(1 - \rho^2)$. `None` for roots
/// and for continuous, count and group leaves of discrete parents, where there is no closed form.
///
/// # Complexity
/// Linear in the sizes of the tables.
#[must_use]
pub fn edge_information(model: &LatentTree) -> Vec<Option<f64>> {
    let marginals = model.marginals();
    let information = model.tree().node_ixs().map(|node| {
        let parent = model.parent(node)?;
        match (model.distribution(node), &marginals[node.get()], &marginals[parent.get()]) {
            (Distribution::Discrete(table), Marginal::Discrete(own), Marginal::Discrete(above)) => {
                Some(information::of_table(above, table.values(), own.len()))
            }
            (&Distribution::LinearGaussian { coefficient, variance, .. }, _, &Marginal::Gaussian { variance: above, .. }) => {
                Some(information::of_variances(coefficient * coefficient * above, variance))
            }
            _ => None,
        }
    });
    information.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{Kind, Schema};
    use crate::model::Table;
    use crate::tree::Tree;

    #[test]
    fn information_of_a_noisy_copy_is_that_of_the_binary_symmetric_channel() {
        let noise: f64 = 0.1;
        let mut tree = Tree::new();
        let (a, b) = (tree.add_observed("a").unwrap(), tree.add_observed("b").unwrap());
        tree.connect(a, b, None).unwrap();
        let schema = Schema::builder().scalar("a", Kind::binary()).scalar("b", Kind::binary());
        let model = LatentTree::builder(Arc::new(schema.build().unwrap()), tree)
            .root(a)
            .distribution(a, Distribution::Discrete(Table::new(2, vec![0.5, 0.5])))
            .distribution(b, Distribution::Discrete(Table::new(2, vec![1.0 - noise, noise, noise, 1.0 - noise])))
            .build()
            .unwrap();
        let capacity = 2_f64.ln() + noise * noise.ln() + (1.0 - noise) * (1.0 - noise).ln();
        let information = edge_information(&model);
        assert_eq!(information[0], None);
        assert!((information[1].unwrap() - capacity).abs() < 1e-12);
    }
}
