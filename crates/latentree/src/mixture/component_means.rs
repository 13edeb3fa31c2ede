//! The mean of each column in each component of a star.

use crate::data::Kind;
use crate::linalg::Matrix;
use crate::model::{Distribution, Emission, LatentTree, Table};

/// The k×d means of the columns in the components of a star: the rate of a count, the probability of 1 for a binary column,
/// the mean of a number, and NaN for any other categorical column. `None` if the root is not discrete.
#[must_use]
pub fn component_means(model: &LatentTree) -> Option<Matrix> {
    let schema = model.schema();
    let k = model.n_states(*model.rooted().roots.first()?)?;
    let mut means = Matrix::from_fn(k, schema.columns().len(), |_, _| f64::NAN);
    for variable in schema.variable_ixs() {
        let columns = &schema.variable(variable).columns;
        match model.distribution(model.node_of(variable)) {
            Distribution::Emission(Emission::Group(members)) => {
                for (member, column) in members.iter().zip(columns) {
                    fill(&mut means, column.get(), &schema.column(*column).kind, member);
                }
            }
            Distribution::Emission(emission) => fill(&mut means, columns[0].get(), &schema.column(columns[0]).kind, emission),
            Distribution::Discrete(table) => fill_labels(&mut means, columns[0].get(), &schema.column(columns[0]).kind, table),
            Distribution::LinearGaussian { .. } => {}
        }
    }
    Some(means)
}

fn fill(means: &mut Matrix, column: usize, kind: &Kind, emission: &Emission) {
    match emission {
        Emission::Poisson { rates: values } | Emission::Gaussian { means: values, .. } => {
            values.iter().enumerate().for_each(|(c, &value)| means[(c, column)] = value);
        }
        Emission::Categorical(table) => fill_labels(means, column, kind, table),
        Emission::Group(_) => {}
    }
}

fn fill_labels(means: &mut Matrix, column: usize, kind: &Kind, table: &Table) {
    if matches!(kind, Kind::Binary { .. }) {
        table.rows().enumerate().for_each(|(c, row)| means[(c, column)] = row[1]);
    }
}
