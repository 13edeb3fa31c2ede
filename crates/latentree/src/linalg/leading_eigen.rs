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
        let products = |block: &[f64], width: usize| {
            let mut out = vec![0.0; n * width];
            out.par_chunks_mut(width).zip(cells.par_chunks(n)).for_each(|(out, row)| {
                for (cell, vectors) in row.iter().zip(block.chunks_exact(width)) {
                    out.iter_mut().zip(vectors).for_each(|(out, x)| *out += cell * x);
                }
            });
            Ok::<_, ()>(out)
        };
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
