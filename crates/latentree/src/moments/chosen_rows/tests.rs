use super::*;
use crate::data::{ColumnData, Dataset, Kind};
use crate::index::ColIx;
use crate::observer::Silent;

/// A number that no two rows share, and labels that many do.
fn table(n: usize, with_number: bool, row_of: impl Fn(usize) -> usize) -> Dataset {
    let mut schema = Schema::builder().scalar("a", Kind::numbered(3)).scalar("b", Kind::binary());
    let codes = |salt: u64, n_codes: u64| {
        let code = |row: usize| (mix(row_of(row) as u64 ^ salt << 40) % 16).min(n_codes - 1) as u8;
        ColumnData::Codes8((0..n).map(code).collect())
    };
    let mut columns = vec![codes(1, 3), codes(2, 2)];
    if with_number {
        schema = schema.scalar("c", Kind::Continuous);
        columns.push(ColumnData::Reals((0..n).map(|row| row_of(row) as f64).collect()));
    }
    Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap()
}

/// The chosen rows, as sorted lists of cells and weight.
fn chosen(data: &Dataset, choice: &RowChoice) -> Vec<Vec<u64>> {
    let mut source = data.source();
    let mut rows = ChosenRows::new(&mut source, choice.clone());
    let n_columns = data.schema().columns().len();
    let mut found = Vec::new();
    while let Some(batch) = rows.next_batch().unwrap() {
        found.extend((0..batch.n_rows).map(|row| {
            let cells = (0..n_columns).map(|column| batch.number(row, ColIx::new(column)).to_bits());
            cells.chain([batch.weight(row).to_bits()]).collect::<Vec<u64>>()
        }));
    }
    found.sort();
    found
}

fn weight(rows: &[Vec<u64>]) -> f64 {
    rows.iter().map(|row| f64::from_bits(row[row.len() - 1])).sum()
}

#[test]
fn the_choice_depends_on_content_alone() {
    let n = 20_000;
    for with_number in [true, false] {
        let one = table(n, with_number, |row| row);
        let other = table(n, with_number, |row| (row * 7_919 + 17) % n);
        let [a, b] = [&one, &other].map(|data| RowChoices::of(&mut data.source(), &Silent).unwrap());
        assert_eq!(a, b);
        for (share, from) in [(0.25, End::Low), (0.5, End::High)] {
            let rows = chosen(&one, &a.share(share, from));
            assert_eq!(rows, chosen(&other, &b.share(share, from)));
            // Six different rows are always there, with less weight; of many, about the share is chosen.
            let error = if with_number { 0.03 } else { 1e-3 };
            assert!((weight(&rows) / n as f64 - share).abs() < error, "{with_number} {share}: {}", weight(&rows));
        }
    }
}

#[test]
fn different_ends_are_different_rows() {
    let data = table(10_000, true, |row| row);
    let choices = RowChoices::of(&mut data.source(), &Silent).unwrap();
    let [low, high] = [End::Low, End::High].map(|end| chosen(&data, &choices.share(0.5, end)));
    assert_eq!(low.len() + high.len(), 10_000);
    assert!(low.iter().all(|row| high.binary_search(row).is_err()));
}

#[test]
fn frequent_rows_among_rare_ones_keep_their_share() {
    // Every third row is the same one.
    let data = table(30_000, true, |row| if row % 3 == 0 { 0 } else { row });
    let choices = RowChoices::of(&mut data.source(), &Silent).unwrap();
    assert!(!choices.heavy.is_empty() && choices.heavy.len() < 40, "{:?}", choices.heavy.len());
    let rows = chosen(&data, &choices.share(0.1, End::Low));
    let frequent: Vec<Vec<u64>> = rows.iter().filter(|row| row[2] == 0.0_f64.to_bits()).cloned().collect();
    assert!((weight(&frequent) - 1000.0).abs() < 1e-6, "{}", weight(&frequent));
    assert!((weight(&rows) - 3000.0).abs() < 200.0, "{}", weight(&rows));
}
