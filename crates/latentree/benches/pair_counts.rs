//! Times of pair moments: sparse binary, dense binary and dense continuous data, beside scipy where it is installed.
//!
//! `cargo bench --bench pair_counts [-- sparse|binary|continuous]`; `LATENTREE_PYTHON` names the Python to ask for scipy (default
//! `python3`), and `LATENTREE_BENCH_SCALE` divides the numbers of rows (CI uses 100).
#![allow(missing_docs, clippy::print_stdout)]

use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use latentree::data::{Batch, Block, ColumnData, Dataset, Kind, Schema, SparseRows};
use latentree::moments::{Accumulator, PairMoments, fold};
use latentree::{ColIx, Silent};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const REPEATS: usize = 5;

fn schema(n_columns: usize, kind: &Kind) -> Arc<Schema> {
    let builder = (0..n_columns).fold(Schema::builder(), |builder, ix| builder.scalar(format!("x{ix}"), kind.clone()));
    Arc::new(builder.build().expect("names differ"))
}

/// Binary rows with about `ones` ones each, as sparse batches.
fn sparse(n_rows: usize, n_columns: usize, ones: usize) -> Dataset {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let mut batches = Vec::new();
    for start in (0..n_rows).step_by(Dataset::BATCH_ROWS) {
        let mut rows = SparseRows::default();
        for _ in start..n_rows.min(start + Dataset::BATCH_ROWS) {
            let mut row: Vec<u32> = (0..ones).map(|_| rng.random_range(0..n_columns as u32)).collect();
            row.sort_unstable();
            row.dedup();
            rows.columns.extend(row);
            rows.starts.push(rows.columns.len());
        }
        batches.push(Batch { first_row: 0, n_rows: rows.n_rows(), block: Block::Sparse(rows), weights: None });
    }
    Dataset::new(schema(n_columns, &Kind::binary()), batches)
}

fn dense_binary(n_rows: usize, n_columns: usize) -> Dataset {
    let rng = &mut ChaCha8Rng::seed_from_u64(2);
    let column = |rng: &mut ChaCha8Rng| ColumnData::Codes8((0..n_rows).map(|_| u8::from(rng.random_bool(0.4))).collect());
    let columns = (0..n_columns).map(|_| column(rng)).collect();
    Dataset::from_columns(schema(n_columns, &Kind::binary()), columns, None).expect("columns fit")
}

fn dense_continuous(n_rows: usize, n_columns: usize) -> Dataset {
    let rng = &mut ChaCha8Rng::seed_from_u64(3);
    let column = |rng: &mut ChaCha8Rng| ColumnData::Reals((0..n_rows).map(|_| rng.random_range(-1.0..3.0)).collect());
    let columns = (0..n_columns).map(|_| column(rng)).collect();
    Dataset::from_columns(schema(n_columns, &Kind::Continuous), columns, None).expect("columns fit")
}

/// Best of several passes.
fn time(name: &str, data: &Dataset) -> PairMoments {
    let mut best = f64::INFINITY;
    let mut result = None;
    for _ in 0..REPEATS {
        let begin = Instant::now();
        let empty = PairMoments::new(Arc::clone(data.schema())).expect("moments fit");
        result = Some(fold(&mut data.source(), empty, &Silent).expect("data fit"));
        best = best.min(begin.elapsed().as_secs_f64());
    }
    let result = result.expect("there was a pass");
    println!(
        "{name}: {} rows × {} columns: {best:.3} s, {} threads",
        data.n_rows(),
        data.schema().columns().len(),
        rayon::current_num_threads()
    );
    result
}

fn scipy(data: &Dataset) {
    let python = std::env::var("LATENTREE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if !Command::new(&python).args(["-c", "import scipy"]).output().is_ok_and(|output| output.status.success()) {
        println!("  scipy: skipped, {python} does not have it");
        return;
    }
    let (mut starts, mut indices) = (vec![0_u64], Vec::<u32>::new());
    for batch in data.batches() {
        for row in 0..batch.n_rows {
            match &batch.block {
                Block::Sparse(rows) => indices.extend(&rows.columns[rows.starts[row]..rows.starts[row + 1]]),
                Block::Dense(columns) => {
                    indices.extend((0..columns.len()).filter(|&ix| columns[ix].number(row) == 1.0).map(|ix| ix as u32));
                }
            }
            starts.push(indices.len() as u64);
        }
    }
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    let header = [data.n_rows(), data.schema().columns().len() as u64, indices.len() as u64];
    let mut bytes: Vec<u8> = header.iter().chain(&starts).flat_map(|number| number.to_le_bytes()).collect();
    bytes.extend(indices.iter().flat_map(|index| index.to_le_bytes()));
    file.write_all(&bytes).expect("room for the file");
    drop(bytes);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/scipy_pair_counts.py");
    let output = Command::new(python).arg(script).arg(file.path()).output().expect("Python starts");
    println!("  {}{}", String::from_utf8_lossy(&output.stdout).trim(), String::from_utf8_lossy(&output.stderr));
}

/// Sum over all cells of XᵀX, as the script prints it.
fn checksum(moments: &PairMoments) -> u64 {
    let p = moments.schema().columns().len();
    let both = |i, j| moments.table(ColIx::new(i), ColIx::new(j)).expect("binary")[3] as u64;
    (0..p).flat_map(|i| (0..p).map(move |j| (i, j))).map(|(i, j)| both(i, j)).sum()
}

fn main() {
    let scale: usize = std::env::var("LATENTREE_BENCH_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1).max(1);
    // The name of a bench after `--` runs it alone.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    if "sparse".contains(&wanted) {
        let data = sparse(300_000 / scale, 3_000, 70);
        let moments = time("sparse binary, 70 ones a row", &data);
        println!("  checksum {}", checksum(&moments));
        scipy(&data);
        let begin = Instant::now();
        let bytes = moments.to_bytes().expect("memory for bytes");
        let written = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        PairMoments::from_bytes(&bytes).expect("what was written is read");
        println!("  {} bytes written in {written:.3} s, read in {:.3} s", bytes.len(), begin.elapsed().as_secs_f64());
    }
    if "binary".contains(&wanted) {
        let data = dense_binary(100_000 / scale, 500);
        let moments = time("dense binary", &data);
        println!("  checksum {}", checksum(&moments));
        scipy(&data);
    }
    if "continuous".contains(&wanted) {
        time("dense continuous", &dense_continuous(100_000 / scale, 500));
    }
}
