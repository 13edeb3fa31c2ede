//! A table as files that the program reads: all rows, and the rows of each fold.

use std::fmt::Write as _;
use std::path::Path;

use latentree::{Error, Result};

/// Rows of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rows {
    /// CSV: a header and lines.
    Dense { header: String, lines: Vec<String> },
    /// Which items each row has; all are 0 or 1.
    Presence { names: Vec<String>, rows: Vec<Vec<u32>> },
}

/// A table with its name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) rows: Rows,
}

impl Table {
    pub(crate) fn n_rows(&self) -> usize {
        match &self.rows {
            Rows::Dense { lines, .. } => lines.len(),
            Rows::Presence { rows, .. } => rows.len(),
        }
    }

    /// Writes the chosen rows into a folder, and returns the arguments by which the program reads them.
    pub(crate) fn write(&self, folder: &Path, part: &str, is_chosen: impl Fn(usize) -> bool) -> Result<Vec<String>> {
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(Error::io("write", &path))
        };
        match &self.rows {
            Rows::Dense { header, lines } => {
                let mut text = format!("{header}\n");
                for (_, line) in lines.iter().enumerate().filter(|(row, _)| is_chosen(*row)) {
                    text.push_str(line);
                    text.push('\n');
                }
                let file = format!("{part}.csv");
                write(&file, text)?;
                Ok(vec![file])
            }
            Rows::Presence { names, rows } => {
                let chosen: Vec<&Vec<u32>> =
                    rows.iter().enumerate().filter(|(row, _)| is_chosen(*row)).map(|(_, items)| items).collect();
                let n_cells: usize = chosen.iter().map(|items| items.len()).sum();
                let mut text = format!("{}\n{}\n{n_cells}\n", chosen.len(), names.len());
                for (row, items) in chosen.iter().enumerate() {
                    for item in *items {
                        let _ = writeln!(text, "{} {} 1", row + 1, item + 1);
                    }
                }
                let file = format!("docword.{part}.txt");
                write(&file, text)?;
                write("vocab.txt", names.iter().map(|name| format!("{name}\n")).collect())?;
                Ok([&file, "--names", "vocab.txt", "--kind", "*=binary"].map(str::to_owned).to_vec())
            }
        }
    }
}

/// The fold of each row: rows in the order of a seeded hash, dealt out one by one.
pub(crate) fn folds(n_rows: usize, n_folds: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n_rows).collect();
    order.sort_by_key(|&row| (mixed(seed ^ mixed(row as u64)), row));
    let mut folds = vec![0; n_rows];
    for (place, row) in order.into_iter().enumerate() {
        folds[row] = place % n_folds;
    }
    folds
}

/// The finaliser of SplitMix64.
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// A star over these variables in Newick: the tree of a latent class model.
pub(crate) fn star(variables: &[String]) -> String {
    let quoted: Vec<String> = variables.iter().map(|name| format!("'{}'", name.replace('\'', "''"))).collect();
    let mut center = "class".to_owned();
    while variables.contains(&center) {
        center.push('_');
    }
    format!("({})'{center}';\n", quoted.join(","))
}

#[cfg(test)]
mod tests {
    use super::{folds, star};

    #[test]
    fn folds_have_the_same_size_and_depend_on_the_seed() {
        let dealt = folds(118, 5, 0);
        for fold in 0..5 {
            assert!((23..=24).contains(&dealt.iter().filter(|&&it| it == fold).count()));
        }
        assert_ne!(dealt, folds(118, 5, 1));
    }

    #[test]
    fn a_star_quotes_names() {
        let names = ["it's", "class"].map(str::to_owned);
        assert_eq!(star(&names), "('it''s','class')'class_';\n");
    }
}
