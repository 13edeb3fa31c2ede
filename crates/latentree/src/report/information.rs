//! How strongly the two ends of an edge depend on each other.

use crate::model::{Distribution, LatentTree, Marginal};

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
                let terms = above.iter().zip(table.rows()).flat_map(|(&weight, row)| {
                    let cells = row.iter().zip(own);
                    cells.map(move |(&value, &own)| if weight * value > 0.0 { weight * value * (value / own).ln() } else { 0.0 })
                });
                Some(terms.sum::<f64>().max(0.0))
            }
            (&Distribution::LinearGaussian { coefficient, variance, .. }, _, &Marginal::Gaussian { variance: above, .. }) => {
                // −½ ln(1 − ρ²) with ρ² = explained / (explained + variance), without the cancellation.
                Some(0.5 * (coefficient * coefficient * above / variance).ln_1p())
            }
            _ => None,
        }
    });
    information.collect()
}
