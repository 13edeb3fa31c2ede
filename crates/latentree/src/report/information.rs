//! How strongly the two ends of an edge depend on each other.

use crate::index::NodeIx;
use crate::model::{Distribution, LatentTree};

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
    let n_nodes = model.tree().n_nodes();
    let mut marginals: Vec<Vec<f64>> = vec![Vec::new(); n_nodes];
    let mut variances = vec![0.0; n_nodes];
    let mut information = vec![None; n_nodes];
    for &node in &model.rooted().order {
        let parent: Option<NodeIx> = model.parent(node);
        match model.distribution(node) {
            Distribution::Discrete(table) => {
                let above: &[f64] = parent.map_or(&[1.0], |parent| &marginals[parent.get()]);
                let mut own = vec![0.0; table.n_states()];
                for (weight, row) in above.iter().zip(table.rows()) {
                    own.iter_mut().zip(row).for_each(|(own, value)| *own += weight * value);
                }
                if parent.is_some() {
                    let terms = above.iter().zip(table.rows()).flat_map(|(&weight, row)| {
                        row.iter().zip(&own).map(
                            move |(&value, &own)| {
                                if weight * value > 0.0 { weight * value * (value / own).ln() } else { 0.0 }
                            },
                        )
                    });
                    information[node.get()] = Some(terms.sum::<f64>().max(0.0));
                }
                marginals[node.get()] = own;
            }
            &Distribution::LinearGaussian { coefficient, variance, .. } => {
                let explained = parent.map_or(0.0, |parent| coefficient * coefficient * variances[parent.get()]);
                variances[node.get()] = explained + variance;
                if parent.is_some() {
                    // −½ ln(1 − ρ²) with ρ² = explained / (explained + variance), without the cancellation.
                    information[node.get()] = Some(0.5 * (explained / variance).ln_1p());
                }
            }
            Distribution::Emission(_) => {}
        }
    }
    information
}
