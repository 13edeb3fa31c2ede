use std::sync::Arc;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::kernel::Kernel;
use super::{PairMoments, PairOptions};
use crate::data::{Batch, BatchSource, Block, ColumnData, Dataset, Kind, Schema, SparseRows};
use crate::error::{Error, Result};
use crate::index::ColIx;
use crate::moments::{Accumulator, fold};
use crate::observer::{Observer, Silent};

/// A table as plain numbers, NaN for missing.
struct Plain {
    schema: Arc<Schema>,
    rows: Vec<Vec<f64>>,
    weights: Option<Vec<f64>>,
}

fn random_kind(rng: &mut impl Rng) -> Kind {
    match rng.random_range(0..5) {
        0 | 1 => Kind::binary(),
        2 => Kind::numbered(rng.random_range(2..6)),
        3 => Kind::Continuous,
        _ => Kind::Count,
    }
}

fn schema_of(kinds: &[Kind]) -> Arc<Schema> {
    let builder = kinds.iter().enumerate();
    let builder = builder.fold(Schema::builder(), |builder, (ix, kind)| builder.scalar(format!("x{ix}"), kind.clone()));
    Arc::new(builder.build().unwrap())
}

fn random_rows(rng: &mut impl Rng, schema: &Schema, n_rows: usize, missing: f64, density: f64) -> Vec<Vec<f64>> {
    let cell = |rng: &mut dyn Rng, kind: &Kind| {
        if rng.random_bool(missing) {
            f64::NAN
        } else if !rng.random_bool(density) {
            0.0
        } else {
            match kind.n_states() {
                Some(n_states) => rng.random_range(1.min(n_states - 1)..n_states) as f64,
                None if *kind == Kind::Count => rng.random_range(0..9) as f64,
                None => 1000.0 + rng.random_range(-2.0..2.0),
            }
        }
    };
    (0..n_rows).map(|_| schema.columns().iter().map(|column| cell(rng, &column.kind)).collect()).collect()
}

impl Plain {
    fn random(rng: &mut impl Rng, kinds: &[Kind], n_rows: usize, missing: f64, weighted: bool) -> Self {
        let schema = schema_of(kinds);
        let density = rng.random_range(0.1..0.9);
        let rows = random_rows(rng, &schema, n_rows, missing, density);
        let weights = weighted.then(|| (0..n_rows).map(|_| rng.random_range(0.0..3.0)).collect());
        Self { schema, rows, weights }
    }

    fn random_mixed(rng: &mut impl Rng, n_rows: usize) -> Self {
        let n_columns = rng.random_range(1..9);
        let kinds: Vec<Kind> = (0..n_columns).map(|_| random_kind(rng)).collect();
        let (missing, weighted) = ([0.0, 0.2][rng.random_range(0..2)], rng.random_bool(0.5));
        Self::random(rng, &kinds, n_rows, missing, weighted)
    }

    fn dense(&self, range: std::ops::Range<usize>) -> Batch {
        let columns = self.schema.columns().iter().enumerate().map(|(ix, column)| {
            let mut data = ColumnData::for_kind(&column.kind, range.len());
            range.clone().for_each(|row| data.push_number(self.rows[row][ix]));
            data
        });
        self.batch(range.clone(), Block::Dense(columns.collect()))
    }

    fn sparse(&self, range: std::ops::Range<usize>) -> Batch {
        let mut rows = SparseRows { values: Some(Vec::new()), ..SparseRows::default() };
        for row in range.clone() {
            for (ix, &value) in self.rows[row].iter().enumerate().filter(|(_, value)| **value != 0.0) {
                rows.columns.push(ix as u32);
                rows.values.as_mut().unwrap().push(value);
            }
            rows.starts.push(rows.columns.len());
        }
        self.batch(range, Block::Sparse(rows))
    }

    fn batch(&self, range: std::ops::Range<usize>, block: Block) -> Batch {
        let weights = self.weights.as_ref().map(|weights| weights[range.clone()].to_vec());
        Batch { first_row: range.start as u64, n_rows: range.len(), block, weights }
    }

    fn moments(&self, options: PairOptions) -> PairMoments {
        let mut moments = PairMoments::with_options(Arc::clone(&self.schema), options).unwrap();
        moments.observe(&self.dense(0..self.rows.len())).unwrap();
        moments
    }

    fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    /// Weights and cells of the rows where both columns are present.
    fn complete(&self, i: usize, j: usize) -> Vec<(f64, f64, f64)> {
        let rows = self.rows.iter().enumerate().map(|(row, cells)| (self.weight(row), cells[i], cells[j]));
        rows.filter(|(_, x, y)| !x.is_nan() && !y.is_nan()).collect()
    }
}

fn close(left: f64, right: f64, tolerance: f64) -> bool {
    left == right || (left - right).abs() <= tolerance * (1.0 + left.abs().max(right.abs()))
}

fn assert_close(left: f64, right: f64, what: &str) {
    assert!(close(left, right, 1e-9), "{what}: {left} and {right}");
}

/// Compares everything that can be read with naive formulas.
fn check(moments: &PairMoments, plain: &Plain) {
    let p = plain.schema.columns().len();
    let total: f64 = (0..plain.rows.len()).map(|row| plain.weight(row)).sum();
    let squares: f64 = (0..plain.rows.len()).map(|row| plain.weight(row).powi(2)).sum();
    assert_eq!(moments.n_rows(), plain.rows.len() as u64);
    assert_close(moments.total_weight(), total, "total weight");
    assert_close(moments.effective_rows(), if squares > 0.0 { total * total / squares } else { 0.0 }, "effective rows");
    for (i, j) in (0..p).flat_map(|i| (0..p).map(move |j| (i, j))) {
        let (ci, cj) = (ColIx::new(i), ColIx::new(j));
        let rows = plain.complete(i, j);
        let n: f64 = rows.iter().map(|row| row.0).sum();
        assert_close(moments.pair_weight(ci, cj), n, "pair weight");
        let states = |column: usize| plain.schema.columns()[column].kind.n_states();
        // Two labels that are kept in sparse tables have no feature of their own.
        let scalar = |column: usize| match &plain.schema.columns()[column].kind {
            Kind::Categorical { labels } => labels.len() == 2 && moments.layout.columns[column].n_features == 2,
            _ => true,
        };
        if n <= 1e-9 {
            continue;
        }
        let mean = |f: &dyn Fn(&(f64, f64, f64)) -> f64| rows.iter().map(|row| row.0 * f(row)).sum::<f64>() / n;
        let (mx, my) = (mean(&|row| row.1), mean(&|row| row.2));
        if scalar(i) && scalar(j) {
            let covariance = mean(&|row| (row.1 - mx) * (row.2 - my));
            assert_close(moments.covariance(ci, cj).unwrap(), covariance, "covariance");
            if i == j {
                assert_close(moments.mean(ci).unwrap(), mx, "mean");
                assert_close(moments.variance(ci).unwrap(), covariance, "variance");
            }
            let binary = |column: usize| states(column) == Some(2);
            if binary(i) && binary(j) {
                let scale = (mean(&|row| (row.1 - mx).powi(2)) * mean(&|row| (row.2 - my).powi(2))).sqrt();
                if scale > 1e-6 {
                    assert_close(moments.correlation(ci, cj).unwrap(), covariance / scale, "correlation");
                }
            }
            if let Some(correlation) = moments.correlation(ci, cj) {
                let scale = (mean(&|row| (row.1 - mx).powi(2)) * mean(&|row| (row.2 - my).powi(2))).sqrt();
                assert!(scale < 1e-6 || close(correlation, covariance / scale, 1e-7));
            }
        } else {
            assert_eq!(moments.covariance(ci, cj), None);
        }
        if let (Some(d_i), Some(d_j)) = (states(i), states(j)) {
            let mut table = vec![0.0; d_i * d_j];
            rows.iter().for_each(|&(weight, x, y)| table[x as usize * d_j + y as usize] += weight);
            let ours = moments.table(ci, cj).unwrap();
            ours.iter().zip(&table).for_each(|(ours, naive)| assert_close(*ours, *naive, "table"));
            let sparse = moments.sparse_table(ci, cj).unwrap();
            assert!(sparse.is_sorted_by_key(|&(a, b, _)| (a, b)));
            let mut dense = vec![0.0; d_i * d_j];
            sparse.iter().for_each(|&(a, b, weight)| dense[a as usize * d_j + b as usize] = weight);
            dense.iter().zip(&table).for_each(|(ours, naive)| assert_close(*ours, *naive, "sparse table"));
            let margin = |a: usize| table[a * d_j..(a + 1) * d_j].iter().sum::<f64>() / n;
            let other = |b: usize| table.iter().skip(b).step_by(d_j).sum::<f64>() / n;
            let information = (0..d_i * d_j).filter(|&ix| table[ix] > 1e-9).map(|ix| {
                let joint = table[ix] / n;
                joint * (joint / (margin(ix / d_j) * other(ix % d_j))).ln()
            });
            assert_close(moments.mutual_information(ci, cj).unwrap(), information.sum(), "mutual information");
            if i == j {
                let weights = moments.level_weights(ci).unwrap();
                (0..d_i).for_each(|level| assert_close(weights[level], table[level * d_i + level], "level weights"));
            }
        } else {
            assert_eq!(moments.table(ci, cj), None);
            assert_eq!(moments.mutual_information(ci, cj), None);
        }
        let features = |column: usize, value: f64| -> Vec<f64> {
            let shift = moments.shift(ColIx::new(column));
            match &plain.schema.columns()[column].kind {
                Kind::Categorical { labels } => (0..labels.len()).map(|level| f64::from(level as f64 == value)).collect(),
                Kind::Binary { .. } => vec![value],
                _ => (1..=moments.degree() as i32).map(|power| (value - shift).powi(power)).collect(),
            }
        };
        let block = moments.cross(ci, cj);
        let d_j = moments.n_features(cj);
        for (ix, ours) in block.iter().enumerate() {
            let (a, b) = (ix / d_j, ix % d_j);
            let (ma, mb) = (mean(&|row| features(i, row.1)[a]), mean(&|row| features(j, row.2)[b]));
            let naive = mean(&|row| (features(i, row.1)[a] - ma) * (features(j, row.2)[b] - mb));
            let scale = mean(&|row| features(i, row.1)[a].powi(2)).max(1.0) * mean(&|row| features(j, row.2)[b].powi(2)).max(1.0);
            assert!((ours - naive).abs() <= 1e-11 * scale, "cross {i} {j}: {ours} and {naive}");
        }
    }
}

fn assert_same(left: &PairMoments, right: &PairMoments) {
    let p = left.schema().columns().len();
    assert_eq!(left.n_rows(), right.n_rows());
    for (i, j) in (0..p).flat_map(|i| (0..p).map(move |j| (ColIx::new(i), ColIx::new(j)))) {
        assert!(close(left.pair_weight(i, j), right.pair_weight(i, j), 1e-12));
        if let (Some(left), Some(right)) = (left.table(i, j), right.table(i, j)) {
            left.iter().zip(&right).for_each(|(left, right)| assert!(close(*left, *right, 1e-12)));
        }
        if let (Some(mean), Some(other)) = (left.mean(i), right.mean(i)) {
            assert!(close(mean, other, 1e-12));
        }
        if let (Some(one), Some(other)) = (left.covariance(i, j), right.covariance(i, j)) {
            let scale = (left.variance(i).unwrap() * left.variance(j).unwrap()).sqrt();
            assert!((one - other).abs() <= 1e-10 * (1.0 + scale), "{one} {other}");
        }
    }
}

#[test]
fn moments_equal_naive_formulas_on_random_mixed_tables() {
    for seed in 0..60 {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let n_rows = rng.random_range(1..80);
        let plain = Plain::random_mixed(rng, n_rows);
        check(&plain.moments(PairOptions::default()), &plain);
        check(&plain.moments(PairOptions::default().degree(2)), &plain);
        check(&plain.moments(PairOptions::default().wide_levels(2)), &plain);
    }
}

#[test]
fn sparse_rows_and_dense_columns_agree() {
    for seed in 0..40 {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let plain = Plain::random_mixed(rng, 50);
        for wide in [2, 1024] {
            for dense_first in [0, 20] {
                let options = PairOptions::default().degree(1 + seed as usize % 2).wide_levels(wide);
                let mut moments = PairMoments::with_options(Arc::clone(&plain.schema), options).unwrap();
                moments.observe(&plain.dense(0..dense_first)).unwrap();
                moments.observe(&plain.sparse(dense_first..50)).unwrap();
                if dense_first > 0 {
                    check(&moments, &plain);
                }
                assert_same(&moments, &plain.moments(options));
            }
        }
    }
}

#[test]
fn all_kernels_give_the_same() {
    for seed in 0..20 {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let kinds: Vec<Kind> = (0..19).map(|ix| if ix % 4 == 0 { Kind::numbered(3) } else { Kind::binary() }).collect();
        let n_rows = rng.random_range(1..3000);
        let mut plain = Plain::random(rng, &kinds, n_rows, 0.05, false);
        let run = |plain: &Plain, kernel| {
            let mut moments = PairMoments::new(Arc::clone(&plain.schema)).unwrap();
            moments.observe_with(&plain.dense(0..n_rows), Some(kernel)).unwrap();
            moments
        };
        let sparse = run(&plain, Kernel::Sparse);
        assert_eq!(sparse.to_bytes().unwrap(), run(&plain, Kernel::Bits).to_bytes().unwrap());
        assert_eq!(sparse.to_bytes().unwrap(), run(&plain, Kernel::Panels).to_bytes().unwrap());
        plain.weights = Some((0..n_rows).map(|_| rng.random_range(0.0..2.0)).collect());
        assert_same(&run(&plain, Kernel::Sparse), &run(&plain, Kernel::Panels));
        let numeric = Plain::random(rng, &[Kind::Continuous, Kind::Count, Kind::binary(), Kind::Continuous], n_rows, 0.1, true);
        assert_same(&run(&numeric, Kernel::Sparse), &run(&numeric, Kernel::Panels));
    }
}

#[test]
fn moments_of_any_split_merged_in_any_order_equal_the_whole() {
    for seed in 0..40 {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let n_rows = 60;
        let kinds: Vec<Kind> = (0..6)
            .map(|_| {
                if seed % 2 == 0 { [Kind::binary(), Kind::numbered(4)][rng.random_range(0..2)].clone() } else { random_kind(rng) }
            })
            .collect();
        let plain = Plain::random(rng, &kinds, n_rows, 0.1, seed % 4 == 3);
        for options in [PairOptions::default(), PairOptions::default().degree(2).wide_levels(3)] {
            let whole = plain.moments(options);
            let mut borders: Vec<usize> = (0..4).map(|_| rng.random_range(0..=n_rows)).chain([0, n_rows]).collect();
            borders.sort_unstable();
            let mut parts: Vec<PairMoments> = borders
                .windows(2)
                .map(|pair| {
                    let mut part = whole.empty();
                    let batch = if rng.random_bool(0.5) { plain.dense(pair[0]..pair[1]) } else { plain.sparse(pair[0]..pair[1]) };
                    part.observe(&batch).unwrap();
                    part
                })
                .collect();
            while parts.len() > 1 {
                let part = parts.swap_remove(rng.random_range(0..parts.len()));
                let into = rng.random_range(0..parts.len());
                let part = if rng.random_bool(0.5) { PairMoments::from_bytes(&part.to_bytes().unwrap()).unwrap() } else { part };
                parts[into].merge(part).unwrap();
            }
            assert_same(&parts[0], &whole);
            check(&parts[0], &plain);
            if seed % 2 == 0 {
                assert_eq!(parts[0].to_bytes().unwrap(), whole.to_bytes().unwrap(), "counts are exact");
            }
        }
    }
}

#[test]
fn bytes_do_not_depend_on_the_number_of_threads() {
    let rng = &mut ChaCha8Rng::seed_from_u64(7);
    let kinds: Vec<Kind> = (0..30).map(|_| random_kind(rng)).chain([Kind::numbered(2000), Kind::numbered(1500)]).collect();
    for plain in [Plain::random(rng, &kinds, 5000, 0.02, true), Plain::random(rng, &kinds[30..], 5000, 0.02, true)] {
        let batches = [plain.dense(0..2000), plain.sparse(2000..4000), plain.dense(4000..5000)];
        let data = Dataset::new(Arc::clone(&plain.schema), batches.to_vec());
        let run = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            let moments = PairMoments::new(Arc::clone(&plain.schema)).unwrap();
            pool.install(|| fold(&mut data.source(), moments, &Silent)).unwrap().to_bytes().unwrap()
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(5));
    }
}

#[test]
fn labels_are_aligned_by_name_when_sites_saw_different_ones() {
    let kind = |labels: &[&str]| Kind::Categorical { labels: labels.iter().map(|&label| label.to_owned()).collect() };
    let swapped = Kind::Binary { labels: ["1".to_owned(), "0".to_owned()] };
    let ours = schema_of(&[kind(&["a", "b", "c"]), Kind::binary(), Kind::Continuous]);
    let theirs = schema_of(&[kind(&["d", "c", "a"]), swapped, Kind::Continuous]);
    let union = schema_of(&[kind(&["a", "b", "c", "d"]), Kind::binary(), Kind::Continuous]);
    for (wide_ours, wide_theirs) in [(1024, 1024), (2, 2), (3, 3), (1024, 2), (2, 1024)] {
        let rng = &mut ChaCha8Rng::seed_from_u64(3);
        let mut first = Plain { rows: random_rows(rng, &ours, 40, 0.2, 0.7), schema: Arc::clone(&ours), weights: None };
        let second = Plain { rows: random_rows(rng, &theirs, 30, 0.2, 0.7), schema: Arc::clone(&theirs), weights: None };
        let mut moments = first.moments(PairOptions::default().wide_levels(wide_ours));
        moments.merge(second.moments(PairOptions::default().wide_levels(wide_theirs))).unwrap();
        let recode = |row: &Vec<f64>| {
            let code = if row[0].is_nan() { f64::NAN } else { [3.0, 2.0, 0.0][row[0] as usize] };
            vec![code, 1.0 - row[1], row[2]]
        };
        first.rows.extend(second.rows.iter().map(recode));
        first.schema = Arc::clone(&union);
        assert_eq!(*moments.schema(), union);
        check(&moments, &first);
        let again = PairMoments::from_bytes(&moments.to_bytes().unwrap()).unwrap();
        check(&again, &first);
    }
}

#[test]
fn moments_of_other_columns_are_refused_by_name() {
    let base = PairMoments::new(schema_of(&[Kind::binary(), Kind::Continuous])).unwrap();
    let refused = |kinds: &[Kind], word: &str| {
        let error = base.clone().merge(PairMoments::new(schema_of(kinds)).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Mismatch { .. }) && error.to_string().contains(word), "{error}");
    };
    refused(&[Kind::binary(), Kind::Count], "x1");
    refused(&[Kind::numbered(2), Kind::Continuous], "x0");
    refused(&[Kind::binary()], "columns");
    let labels = ["no".to_owned(), "yes".to_owned()];
    refused(&[Kind::Binary { labels }, Kind::Continuous], "x0");
}

#[test]
fn moments_that_do_not_fit_are_refused_before_they_are_allocated() {
    let schema = schema_of(&vec![Kind::numbered(1000); 1000]);
    let error = PairMoments::new(Arc::clone(&schema)).unwrap_err();
    assert!(error.to_string().contains("1.8 TiB"), "{error}");
    PairMoments::with_options(schema, PairOptions::default().wide_levels(999)).unwrap();
    let small = schema_of(&[Kind::binary(), Kind::numbered(2000)]);
    let mut moments = PairMoments::with_options(small, PairOptions::default().memory_limit(1000)).unwrap();
    let columns = vec![ColumnData::Codes8(vec![1; 200]), ColumnData::Codes((0..200).collect())];
    let batch = Batch { first_row: 0, n_rows: 200, block: Block::Dense(columns), weights: None };
    assert!(moments.observe(&batch).unwrap_err().to_string().contains("learn.memory"));
    assert_eq!(moments.n_rows(), 0);
}

#[test]
fn cells_that_cannot_be_used_are_refused_with_their_place() {
    let schema = schema_of(&[Kind::binary(), Kind::numbered(3), Kind::Continuous]);
    let columns = || vec![ColumnData::Codes8(vec![0, 1]), ColumnData::Codes8(vec![2, 0]), ColumnData::Reals(vec![0.5, 1.5])];
    let batch = |block: Block| Batch { first_row: 10, n_rows: 2, block, weights: None };
    let refused = |batch: Batch, word: &str| {
        let mut moments = PairMoments::new(Arc::clone(&schema)).unwrap();
        let before = moments.to_bytes().unwrap();
        let error = moments.observe(&batch).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
        assert_eq!(moments.to_bytes().unwrap(), before);
    };
    let with = |ix: usize, data: ColumnData| {
        let mut columns = columns();
        columns[ix] = data;
        batch(Block::Dense(columns))
    };
    refused(with(0, ColumnData::Codes8(vec![0, 2])), "row 12, column \"x0\": code 2");
    refused(with(1, ColumnData::Codes(vec![7, 2])), "row 11, column \"x1\": code 7");
    refused(with(2, ColumnData::Reals(vec![0.0, f64::INFINITY])), "row 12, column \"x2\"");
    refused(with(2, ColumnData::Codes8(vec![0, 0])), "storage");
    refused(with(2, ColumnData::Reals(vec![0.0])), "1 cell in a batch");
    refused(batch(Block::Dense(columns()[..2].to_vec())), "2 columns");
    refused(Batch { weights: Some(vec![1.0, -1.0]), ..batch(Block::Dense(columns())) }, "row 12: weight");
    refused(Batch { weights: Some(vec![1.0]), ..batch(Block::Dense(columns())) }, "weights");
    let sparse = |columns: Vec<u32>, values: Option<Vec<f64>>| {
        batch(Block::Sparse(SparseRows { starts: vec![0, columns.len(), columns.len()], columns, values }))
    };
    refused(sparse(vec![0, 0], None), "increase");
    refused(sparse(vec![3], None), "below 3");
    refused(sparse(vec![1], Some(vec![1.5])), "code 1.5");
    refused(sparse(vec![2], Some(vec![f64::NEG_INFINITY])), "x2");
    refused(sparse(vec![2], Some(vec![])), "incompatible");
    PairMoments::new(Arc::clone(&schema)).unwrap().observe(&sparse(vec![0, 1, 2], Some(vec![1.0, 2.0, 7.0]))).unwrap();
}

#[test]
fn changed_and_cut_bytes_are_noticed() {
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let kinds = [Kind::binary(), Kind::numbered(3), Kind::numbered(40), Kind::numbered(50), Kind::Continuous];
    let plain = Plain::random(rng, &kinds, 20, 0.1, false);
    let discrete = Plain::random(rng, &kinds[..4], 20, 0.1, false);
    for plain in [plain, discrete] {
        let bytes = plain.moments(PairOptions::default().wide_levels(30)).to_bytes().unwrap();
        assert_eq!(PairMoments::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
        for length in 0..bytes.len() {
            assert!(PairMoments::from_bytes(&bytes[..length]).is_err());
        }
        for _ in 0..2000 {
            let mut changed = bytes.clone();
            let at = rng.random_range(0..changed.len());
            changed[at] ^= rng.random_range(1..=255_u8);
            assert!(PairMoments::from_bytes(&changed).is_err(), "byte {at}");
        }
        assert!(PairMoments::from_bytes(&[bytes.as_slice(), &[0]].concat()).is_err());
        let mut future = bytes.clone();
        future[8..16].copy_from_slice(&[9, 0, 0, 0, 3, 0, 0, 0]);
        assert!(matches!(PairMoments::from_bytes(&future), Err(Error::Version { found: 9, .. })));
    }
}

#[test]
fn files_round_trip_by_their_ending() {
    let plain = Plain::random_mixed(&mut ChaCha8Rng::seed_from_u64(1), 100);
    let moments = plain.moments(PairOptions::default());
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.moments", "a.moments.gz", "a.moments.zst"] {
        let path = dir.path().join(name);
        moments.save(&path).unwrap();
        assert_eq!(PairMoments::load(&path).unwrap().to_bytes().unwrap(), moments.to_bytes().unwrap());
    }
    let path = dir.path().join("b.moments");
    std::fs::write(&path, b"LTMOMENT").unwrap();
    assert!(PairMoments::load(&path).unwrap_err().to_string().contains("b.moments"));
}

/// Makes batches on demand and remembers how many are alive.
struct Generated {
    schema: Arc<Schema>,
    left: usize,
    alive: Vec<std::sync::Weak<Batch>>,
    most_alive: Arc<std::sync::atomic::AtomicUsize>,
}

impl Generated {
    const BATCH_ROWS: usize = 100;
}

impl BatchSource for Generated {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let rng = &mut ChaCha8Rng::seed_from_u64(self.left as u64);
        let codes = |rng: &mut ChaCha8Rng| ColumnData::Codes8((0..Self::BATCH_ROWS).map(|_| rng.random_range(0..2)).collect());
        let columns = self.schema.columns().iter().map(|_| codes(rng)).collect();
        let batch = Arc::new(Batch { first_row: 0, n_rows: Self::BATCH_ROWS, block: Block::Dense(columns), weights: None });
        self.alive.retain(|batch| batch.strong_count() > 0);
        self.alive.push(Arc::downgrade(&batch));
        self.most_alive.fetch_max(self.alive.len(), std::sync::atomic::Ordering::Relaxed);
        Ok(Some(batch))
    }

    fn rewind(&mut self) -> Result<()> {
        unreachable!("one pass")
    }
}

fn generated(n_batches: usize) -> Generated {
    Generated { schema: schema_of(&vec![Kind::binary(); 10]), left: n_batches, alive: Vec::new(), most_alive: Arc::default() }
}

/// Counts rows in several lanes, and remembers their order.
#[derive(Debug, PartialEq)]
struct Lane(Vec<u64>);

impl Accumulator for Lane {
    type Output = Vec<u64>;

    const NAME: &'static str = "lane";
    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let Block::Dense(columns) = &batch.block else { panic!("dense") };
        self.0.push(
            (0..batch.n_rows).map(|row| columns[0].code(row).map_or(0, u64::from) << (row % 60)).fold(0, u64::wrapping_add),
        );
        Ok(())
    }
    fn merge(&mut self, other: Self) -> Result<()> {
        self.0.extend(other.0);
        Ok(())
    }
    fn empty(&self) -> Self {
        Self(Vec::new())
    }
    fn lanes(&self) -> usize {
        4
    }
    fn finish(self) -> Result<Vec<u64>> {
        Ok(self.0)
    }
    fn to_bytes(&self) -> Result<Vec<u8>> {
        unreachable!("not needed")
    }
    fn from_bytes(_: &[u8]) -> Result<Self> {
        unreachable!("not needed")
    }
}

#[test]
fn a_streamed_pass_holds_few_batches_and_equals_one_in_memory() {
    let mut source = generated(400);
    let most_alive = Arc::clone(&source.most_alive);
    let schema = Arc::clone(&source.schema);
    let streamed = fold(&mut source, PairMoments::new(Arc::clone(&schema)).unwrap(), &Silent).unwrap();
    assert!(most_alive.load(std::sync::atomic::Ordering::Relaxed) <= 5, "{most_alive:?} batches at once");
    let memory = Dataset::read(&mut generated(400)).unwrap();
    let whole = fold(&mut memory.source(), PairMoments::new(schema).unwrap(), &Silent).unwrap();
    assert_eq!(streamed.to_bytes().unwrap(), whole.to_bytes().unwrap());
    let mut source = generated(401);
    let most_alive = Arc::clone(&source.most_alive);
    let lanes = fold(&mut source, Lane(Vec::new()), &Silent).unwrap();
    assert!(most_alive.load(std::sync::atomic::Ordering::Relaxed) <= 10);
    assert_eq!(lanes.0.len(), 401);
    for n_threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        assert_eq!(pool.install(|| fold(&mut generated(401), Lane(Vec::new()), &Silent)).unwrap(), lanes);
    }
}

#[test]
fn a_pass_can_be_cancelled_and_tells_how_far_it_is() {
    #[derive(Default)]
    struct Stop(std::sync::atomic::AtomicU64);
    impl Observer for Stop {
        fn progress(&self, done: u64) {
            self.0.store(done, std::sync::atomic::Ordering::Relaxed);
        }
        fn cancelled(&self) -> bool {
            self.0.load(std::sync::atomic::Ordering::Relaxed) >= 1200
        }
    }
    let stop = Stop::default();
    let moments = PairMoments::new(schema_of(&vec![Kind::binary(); 10])).unwrap();
    assert!(fold(&mut generated(1000), moments, &stop).unwrap_err().is_cancelled());
    assert_eq!(stop.0.into_inner(), 1200);
    assert!(fold(&mut generated(1000), Lane(Vec::new()), &Stop::default()).unwrap_err().is_cancelled());
}

#[test]
fn columns_of_a_hundred_thousand_labels_take_little_memory() {
    let (d, n_rows) = (100_000, 50_000);
    let schema = schema_of(&vec![Kind::numbered(d); 9]);
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let columns = (0..9).map(|_| ColumnData::Codes((0..n_rows).map(|_| rng.random_range(0..d as u32)).collect())).collect();
    let data = Dataset::from_columns(Arc::clone(&schema), columns, None).unwrap();
    let moments = fold(&mut data.source(), PairMoments::new(schema).unwrap(), &Silent).unwrap();
    assert!(moments.wide.bytes() < 40 << 20);
    let table = moments.sparse_table(ColIx::new(7), ColIx::new(3)).unwrap();
    assert_eq!(table.iter().map(|entry| entry.2).sum::<f64>(), n_rows as f64);
}

#[test]
fn the_chow_liu_tree_of_twenty_newsgroups_has_the_published_likelihood() {
    let Some(path) = crate::test_data::data_file("news20_w100/news20_w100.csv.gz") else { return };
    let lines = std::io::BufRead::lines(crate::file::open(&path).unwrap()).map(|line| line.unwrap());
    let rows: Vec<Vec<f64>> = lines.skip(1).map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    let plain = Plain { schema: schema_of(&vec![Kind::binary(); rows[0].len()]), rows, weights: None };
    let mut moments = PairMoments::new(Arc::clone(&plain.schema)).unwrap();
    moments.observe(&plain.sparse(0..plain.rows.len())).unwrap();
    let p = plain.schema.columns().len();
    assert_eq!((moments.n_rows(), p), (16_242, 100));
    let information = |i: usize, j: usize| moments.mutual_information(ColIx::new(i), ColIx::new(j)).unwrap();
    let mut best: Vec<f64> = (0..p).map(|i| information(0, i)).collect();
    let mut outside: Vec<usize> = (1..p).collect();
    let mut sum = -(0..p).map(|i| information(i, i)).sum::<f64>();
    while let Some(at) = (0..outside.len()).max_by(|&a, &b| best[outside[a]].total_cmp(&best[outside[b]])) {
        let next = outside.swap_remove(at);
        sum += best[next];
        outside.iter().for_each(|&i| best[i] = best[i].max(information(next, i)));
    }
    // Choi, Tan, Anandkumar and Willsky (2011), section 7.3.
    assert!((sum * moments.total_weight() + 238_712.63).abs() < 0.01, "{}", sum * moments.total_weight());
}
