//! A digest that identifies a table.

use sha2::{Digest as _, Sha256};

use super::{Block, ColumnData, Rows};
use crate::error::Result;
use crate::journal::hexadecimal;

/// A digest of all columns, cells and weights of a table.
pub(crate) fn digest(rows: &dyn Rows) -> Result<String> {
    let mut hash = Sha256::new();
    for column in rows.schema().columns() {
        hash.update(format!("{:?} {:?};", column.name, column.kind));
    }
    for variable in rows.schema().variables() {
        hash.update(format!("{:?} {:?};", variable.name, variable.columns));
    }
    let mut source = rows.open()?;
    while let Some(batch) = source.next_batch()? {
        hash.update(format!("{} {};", batch.first_row, batch.n_rows));
        match &batch.block {
            Block::Dense(columns) => {
                for column in columns {
                    match column {
                        ColumnData::Codes8(codes) => hash.update(codes),
                        ColumnData::Codes(codes) => codes.iter().for_each(|code| hash.update(code.to_le_bytes())),
                        ColumnData::Reals(values) => update(&mut hash, values),
                    }
                }
            }
            Block::Sparse(sparse) => {
                sparse.starts.iter().for_each(|start| hash.update(start.to_le_bytes()));
                sparse.columns.iter().for_each(|column| hash.update(column.to_le_bytes()));
                sparse.values.iter().for_each(|values| update(&mut hash, values));
            }
        }
        batch.weights.iter().for_each(|weights| update(&mut hash, weights));
    }
    Ok(hexadecimal(&hash.finalize()))
}

fn update(hash: &mut Sha256, values: &[f64]) {
    values.iter().for_each(|value| hash.update(value.to_bits().to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{Dataset, Kind, Schema};

    #[test]
    fn tables_with_the_same_marginals_have_different_digests() {
        let schema = Schema::builder().scalar("a", Kind::binary()).scalar("b", Kind::binary()).build().unwrap();
        let table = |b: [u8; 4]| {
            let columns = vec![ColumnData::Codes8(vec![0, 0, 1, 1]), ColumnData::Codes8(b.to_vec())];
            Dataset::from_columns(Arc::new(schema.clone()), columns, None).unwrap()
        };
        assert_eq!(digest(&table([0, 1, 0, 1])).unwrap(), digest(&table([0, 1, 0, 1])).unwrap());
        assert_ne!(digest(&table([0, 1, 0, 1])).unwrap(), digest(&table([0, 0, 1, 1])).unwrap());
    }
}
