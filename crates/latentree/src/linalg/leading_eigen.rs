//! The largest eigenvalues of a symmetric matrix that is known by its products with blocks of vectors.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use super::range_finder::orthonormalise;
use super::symmetric::symmetric_eigen;

/// Vectors besides those wanted.
const EXTRA: usize = 8;

/// Leading eigenvalues, falling, with their vectors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LeadingEigen {
    /// Eigenvalues.
    pub(crate) values: Vec<f64>,
    /// Unit vectors, the largest coordinate of each positive.
    pub(crate) vectors: Vec<Vec<f64>>,
}

impl LeadingEigen {
    /// Of a dense matrix, exact up to a few hundred rows and by subspace iteration to a relative change of 1e-8 above.
    pub(crate) fn of_dense(cells: &[f64], n: usize, wanted: usize, seed: u64) -> Option<Self> {
        const SMALL: usize = 300;
        if n <= SMALL || 2 * (wanted + EXTRA) >= n {
            let (values, vectors) = symmetric_eigen(cells, n)?;
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
            order.truncate(wanted);
            let vectors = order.iter().map(|&ix| signed(vectors[ix * n..(ix + 1) * n].to_vec())).collect();
            return Some(Self { values: order.iter().map(|&ix| values[ix]).collect(), vectors });
        }
        if cells.iter().any(|cell| !cell.is_finite()) {
            return None;
        }
        let products = |block: &[f64], width: usize| Ok::<_, ()>(products(cells, n, block, width));
        Self::by_products(n, wanted, seed, 60, 1e-8, products).ok().flatten()
    }

    /// By subspace iteration: `products(block, width)` is the matrix times `width` vectors, those of a row side by side. Ends when all wanted
    /// eigenvalues change by less than `tolerance` of the largest in a round, or after `rounds`.
    pub(crate) fn by_products<E>(
        n: usize,
        wanted: usize,
        seed: u64,
        rounds: usize,
        tolerance: f64,
        mut products: impl FnMut(&[f64], usize) -> Result<Vec<f64>, E>,
    ) -> Result<Option<Self>, E> {
        if n == 0 {
            return Ok(None);
        }
        let (wanted, width) = (wanted.min(n), (wanted + EXTRA).min(n));
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut basis: Vec<Vec<f64>> = (0..width).map(|_| (0..n).map(|_| StandardNormal.sample(&mut rng)).collect()).collect();
        orthonormalise(&mut basis);
        let mut before: Vec<f64> = Vec::new();
        for round in 0..rounds.max(1) {
            let block: Vec<f64> = (0..n).flat_map(|i| basis.iter().map(move |vector| vector[i])).collect();
            let image = products(&block, width)?;
            if image.iter().any(|cell| !cell.is_finite()) {
                return Ok(None);
            }
            let mut inner = vec![0.0; width * width];
            for (own, image) in block.chunks_exact(width).zip(image.chunks_exact(width)) {
                for (a, x) in own.iter().enumerate() {
                    inner[a * width..][..width].iter_mut().zip(image).for_each(|(out, y)| *out += x * y);
                }
            }
            let symmetric: Vec<f64> =
                (0..width * width).map(|at| 0.5 * (inner[at] + inner[at % width * width + at / width])).collect();
            let Some((values, vectors)) = symmetric_eigen(&symmetric, width) else { return Ok(None) };
            let mut order: Vec<usize> = (0..width).collect();
            order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
            let found: Vec<f64> = order.iter().take(wanted).map(|&ix| values[ix]).collect();
            let largest = found.first().map_or(0.0, |value| value.abs());
            let settled =
                before.len() == found.len() && found.iter().zip(&before).all(|(x, y)| (x - y).abs() <= tolerance * largest);
            if settled || round + 1 == rounds.max(1) {
                let combine = |ix: &usize| {
                    let factors = &vectors[ix * width..(ix + 1) * width];
                    signed(block.chunks_exact(width).map(|own| own.iter().zip(factors).map(|(x, y)| x * y).sum()).collect())
                };
                return Ok(Some(Self { values: found, vectors: order.iter().take(wanted).map(combine).collect() }));
            }
            before = found;
            for (a, vector) in basis.iter_mut().enumerate() {
                vector.iter_mut().enumerate().for_each(|(i, x)| *x = image[i * width + a]);
            }
            orthonormalise(&mut basis);
        }
        Ok(None)
    }
}

/// Rows and vectors of a tile, whose sums stay in registers.
const ROWS: usize = 4;
const PANEL: usize = 8;

/// A matrix times some vectors, those of a row side by side. Every sum goes over the cells of a row in their order.
fn products(cells: &[f64], n: usize, block: &[f64], width: usize) -> Vec<f64> {
    let n_panels = width.div_ceil(PANEL);
    let mut panels = vec![[0.0; PANEL]; n_panels * n];
    for (i, own) in block.chunks_exact(width).enumerate() {
        own.iter().enumerate().for_each(|(a, &x)| panels[a / PANEL * n + i][a % PANEL] = x);
    }
    let mut out = vec![0.0; n * width];
    out.par_chunks_mut(ROWS * width).zip(cells.par_chunks(ROWS * n)).for_each(|(out, rows)| {
        // The last rows may be fewer; the first of them then stands for those that are not there.
        let row = |r: usize| if (r + 1) * n <= rows.len() { &rows[r * n..(r + 1) * n] } else { &rows[..n] };
        let rows: [&[f64]; ROWS] = std::array::from_fn(row);
        for (p, panel) in panels.chunks_exact(n).enumerate() {
            let sums = tile(rows, panel);
            for (out, sums) in out.chunks_exact_mut(width).zip(&sums) {
                out[p * PANEL..].iter_mut().zip(sums).for_each(|(out, sum)| *out = *sum);
            }
        }
    });
    out
}

fn tile(rows: [&[f64]; ROWS], panel: &[[f64; PANEL]]) -> [[f64; PANEL]; ROWS] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor was just asked and has AVX-512. The code is the same; without fused multiply-add the wider registers
        // do not change a single rounding.
        return unsafe { tile_avx512(rows, panel) };
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: as above.
        return unsafe { tile_avx2(rows, panel) };
    }
    tile_portable(rows, panel)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn tile_avx512(rows: [&[f64]; ROWS], panel: &[[f64; PANEL]]) -> [[f64; PANEL]; ROWS] {
    tile_portable(rows, panel)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn tile_avx2(rows: [&[f64]; ROWS], panel: &[[f64; PANEL]]) -> [[f64; PANEL]; ROWS] {
    tile_portable(rows, panel)
}

#[inline(always)]
fn tile_portable(rows: [&[f64]; ROWS], panel: &[[f64; PANEL]]) -> [[f64; PANEL]; ROWS] {
    let mut sums = [[0.0; PANEL]; ROWS];
    let rows = rows.map(|row| &row[..panel.len()]);
    for (j, x) in panel.iter().enumerate() {
        for r in 0..ROWS {
            let cell = rows[r][j];
            for a in 0..PANEL {
                sums[r][a] += cell * x[a];
            }
        }
    }
    sums
}

/// With the largest coordinate positive.
fn signed(mut vector: Vec<f64>) -> Vec<f64> {
    let largest = vector.iter().fold(0.0_f64, |best, &x| if x.abs() > best.abs() { x } else { best });
    if largest < 0.0 {
        vector.iter_mut().for_each(|x| *x = -*x);
    }
    vector
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;

    #[test]
    fn products_sum_in_the_order_of_the_cells() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (n, width) in [(1, 1), (5, 3), (8, 8), (30, 17)] {
            let cells: Vec<f64> = (0..n * n).map(|_| rng.random_range(-1.0..1.0)).collect();
            let block: Vec<f64> = (0..n * width).map(|_| rng.random_range(-1.0..1.0)).collect();
            let sum = |at: usize| (0..n).fold(0.0, |sum, j| sum + cells[at / width * n + j] * block[j * width + at % width]);
            assert_eq!(products(&cells, n, &block, width), (0..n * width).map(sum).collect::<Vec<f64>>());
        }
    }

    #[test]
    fn iterated_vectors_are_those_of_the_whole_decomposition() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let n = 320;
        let factors: Vec<Vec<f64>> = (0..4).map(|_| (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()).collect();
        let mut cells = vec![0.0; n * n];
        for (weight, factor) in [4.0, 3.0, 2.0, 1.0].iter().zip(&factors) {
            cells.iter_mut().enumerate().for_each(|(at, cell)| *cell += weight * factor[at / n] * factor[at % n]);
        }
        for i in 0..n {
            for j in 0..i {
                let noise = rng.random_range(-0.1..0.1);
                cells[i * n + j] += noise;
                cells[j * n + i] += noise;
            }
        }
        let found = LeadingEigen::of_dense(&cells, n, 4, 0).unwrap();
        let (values, _) = symmetric_eigen(&cells, n).unwrap();
        let mut sorted = values;
        sorted.sort_by(|a, b| b.total_cmp(a));
        for (ix, vector) in found.vectors.iter().enumerate() {
            assert!((found.values[ix] - sorted[ix]).abs() < 1e-6 * sorted[0]);
            let image = cells.chunks_exact(n).map(|row| row.iter().zip(vector).map(|(x, y)| x * y).sum::<f64>());
            let rest: f64 = image.zip(vector).map(|(x, y)| (x - found.values[ix] * y).powi(2)).sum();
            assert!(rest.sqrt() < 1e-4 * sorted[0], "{rest}");
        }
        assert!(LeadingEigen::of_dense(&[f64::NAN], 1, 1, 0).is_none());
    }
}
