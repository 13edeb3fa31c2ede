//! Estimates the memory of a model's tables before they are allocated.

use crate::data::{Kind, Schema, Variable};
use crate::index::NodeIx;
use crate::tree::Tree;

/// Bytes of a number in a table.
const NUMBER: u64 = 8;

/// Bytes of all tables of a tree whose node has so many values: states, or the numbers that describe a column for one state of
/// its parent.
pub(crate) fn table_bytes(tree: &Tree, n_values: impl Fn(NodeIx) -> u64) -> u64 {
    let tables = tree.edges().map(|edge| n_values(edge.a).saturating_mul(n_values(edge.b)));
    let nodes = tree.node_ixs().map(&n_values);
    tables.chain(nodes).fold(0_u64, u64::saturating_add).saturating_mul(NUMBER)
}

/// Bytes of all tables of a model with discrete hidden nodes on this tree.
pub(crate) fn model_bytes(tree: &Tree, schema: &Schema, hidden_states: impl Fn(NodeIx) -> usize) -> u64 {
    table_bytes(tree, |node| match schema.find_variable(tree.name(node)).filter(|_| tree.is_observed(node)) {
        Some(variable) => variable_values(schema, schema.variable(variable)),
        None => hidden_states(node) as u64,
    })
}

/// Fewest bytes that the tables of any model of these variables with hidden nodes of so many states can take: those of one hidden
/// node above all.
pub(crate) fn least_model_bytes(schema: &Schema, hidden_states: usize) -> u64 {
    let values = schema.variables().iter().map(|variable| variable_values(schema, variable));
    values.fold(0_u64, u64::saturating_add).saturating_mul(hidden_states as u64).saturating_mul(NUMBER)
}

fn variable_values(schema: &Schema, variable: &Variable) -> u64 {
    variable.columns.iter().map(|&column| column_values(&schema.column(column).kind)).fold(0, u64::saturating_add)
}

/// Numbers that describe a column for one state of its parent.
fn column_values(kind: &Kind) -> u64 {
    // Mean and variance, or a rate, of a column without states.
    kind.n_states().map_or(2, |n_states| n_states as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{ParameterFamily, Shape, Simulation};

    #[test]
    fn the_estimate_is_that_of_the_tables() {
        let family = ParameterFamily::Categorical { states: 4, hidden_states: 3, separation: 0.5 };
        let model = Simulation::new(Shape::DoubleStar, 8).family(family).model().unwrap();
        // Eight tables of 3 × 4, one of 3 × 3, and the marginals of eight nodes of 4 states and two of 3.
        assert_eq!(model_bytes(model.tree(), model.schema(), |_| 3), 8 * (8 * 12 + 9 + 8 * 4 + 2 * 3));
        assert_eq!(least_model_bytes(model.schema(), 3), 8 * 8 * 12);
        assert_eq!(model_bytes(model.tree(), model.schema(), |_| usize::MAX), u64::MAX);
    }
}
