//! Costs, noise and clipped rows.

use std::sync::Arc;

use super::*;
use crate::data::{Batch, Block, ColumnData, SparseRows};
use crate::index::ColIx;
use crate::inference::Inference;
use crate::moments::fold;
use crate::observer::Silent;
use crate::simulate::{ParameterFamily, Shape, Simulation};

fn budget(rho: f64, max_items: Option<usize>) -> Privacy {
    Privacy { rho, delta: 1e-6, max_items, ranges: BTreeMap::new() }
}

/// P(N(0, 1) < x), by Simpson's rule.
fn normal(x: f64) -> f64 {
    let (low, n) = (-40.0_f64, 200_000);
    let h = (x - low) / f64::from(n);
    let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let weight = |ix: i32| if ix == 0 || ix == n { 1.0 } else { 2.0 + 2.0 * f64::from(ix % 2) };
    (0..=n).map(|ix| weight(ix) * density(low + h * f64::from(ix))).sum::<f64>() * h / 3.0
}

#[test]
fn epsilon_is_above_the_exact_gaussian_mechanism_and_below_the_simple_bound() {
    // Balle and Wang (2018): δ(ε) of the Gaussian mechanism with Δ/σ = μ, which is ρ = μ²/2 exactly.
    let exact = |rho: f64, delta: f64| {
        let mu = (2.0 * rho).sqrt();
        let at = |e: f64| normal(mu / 2.0 - e / mu) - e.exp() * normal(-mu / 2.0 - e / mu);
        let (mut low, mut high) = (0.0, 50.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if at(middle) > delta { low = middle } else { high = middle }
        }
        low
    };
    for (rho, delta) in [(0.1, 1e-6), (0.5, 1e-6), (0.5, 1e-3), (2.0, 1e-5)] {
        let ours = epsilon(rho, delta);
        let simple = rho + 2.0 * (rho * (1.0_f64 / delta).ln()).sqrt();
        let lower = exact(rho, delta);
        assert!(lower <= ours && ours <= simple, "{rho} {delta}: {lower} {ours} {simple}");
        assert!(ours - lower < 0.25 * ours, "{rho} {delta}: {lower} {ours}");
        // The minimum over a grid of α, directly from the formula.
        let by_grid = (1..400_000).map(|ix| 1.0 + f64::from(ix) * 1e-3).map(|alpha| {
            alpha * rho + ((1.0 / delta).ln() + (alpha - 1.0) * (1.0 - 1.0 / alpha).ln() - alpha.ln()) / (alpha - 1.0)
        });
        let by_grid = by_grid.fold(f64::INFINITY, f64::min);
        assert!((ours - by_grid).abs() < 1e-5, "{rho} {delta}: {ours} {by_grid}");
    }
    assert_eq!(epsilon(0.0, 1e-6), 0.0);
}

#[test]
fn a_row_with_too_many_items_keeps_the_same_few_wherever_it_is() {
    let schema = Schema::builder();
    let schema = (0..6).fold(schema, |schema, ix| schema.scalar(format!("x{ix}"), Kind::binary())).build().unwrap();
    let bounds = Bounds::new(&schema, &budget(1.0, Some(2)));
    let dense = |cells: [u8; 6]| Batch {
        first_row: 0,
        n_rows: 1,
        block: Block::Dense(cells.iter().map(|&cell| ColumnData::Codes8(vec![cell])).collect()),
        weights: None,
    };
    let sparse = Batch {
        first_row: 70,
        n_rows: 2,
        block: Block::Sparse(SparseRows { starts: vec![0, 0, 4], columns: vec![0, 2, 3, 5], values: None }),
        weights: None,
    };
    let mut values = [vec![0.0; 6], vec![0.0; 6]];
    assert!(bounds.cut_row(&schema, &dense([1, 0, 1, 1, 0, 1]), 0, &mut values[0]));
    assert!(bounds.cut_row(&schema, &sparse, 1, &mut values[1]));
    assert_eq!(values[0], values[1]);
    assert_eq!(values[0].iter().sum::<f64>(), 2.0);
    // Missing cells count as 0.
    assert!(!bounds.cut_row(&schema, &dense([1, 255, 0, 255, 0, 1]), 0, &mut values[0]));
    assert_eq!(values[0], [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

/// The largest change of the cells by one row, found by trying many rows.
#[test]
fn no_row_changes_the_counts_by_more_than_the_sensitivity() {
    let builder = (0..5).fold(Schema::builder(), |it, ix| it.scalar(format!("x{ix}"), Kind::binary()));
    let schema = Arc::new(builder.scalar("c", Kind::numbered(3)).scalar("z", Kind::Continuous).build().unwrap());
    let mut privacy = budget(0.3, Some(3));
    privacy.ranges.insert("z".to_owned(), (-2.0, 6.0));
    let empty = PrivatePairs::new(&schema, &privacy, 0.3).unwrap();
    assert!((empty.cost() - 0.3).abs() < 1e-12);
    let mut largest: f64 = 0.0;
    for pattern in 0..32_u8 {
        for (label, z) in [(0, -2.0), (2, 6.0), (1, 900.0), (255, f64::NAN), (0, 1.0)] {
            let mut columns: Vec<ColumnData> = (0..5).map(|ix| ColumnData::Codes8(vec![pattern >> ix & 1])).collect();
            columns.push(ColumnData::Codes8(vec![label]));
            columns.push(ColumnData::Reals(vec![z]));
            let mut one = empty.clone();
            one.observe(&Batch { first_row: 0, n_rows: 1, block: Block::Dense(columns), weights: None }).unwrap();
            let mut square = 0.0;
            let unit = 1024.0 * 1024.0;
            one.visit_sums(&mut |sums| {
                if let crate::moments::Sums::Noisy(cells) = sums {
                    square = cells.iter().map(|&cell| (cell as f64 / unit).powi(2)).sum();
                }
            })
            .unwrap();
            largest = largest.max(square);
        }
    }
    // d = 3 items and a label, c = 1: 1 + 5 + 6 + 4 + 1.
    assert_eq!(largest, 17.0);
}

#[cfg(feature = "dp")]
#[test]
fn noise_has_its_scale_and_is_never_the_same_twice() {
    let n = 10_000;
    for sigma in [0.7, 13.5, 40_000.0] {
        let (a, b) = (draws(sigma, n).unwrap(), draws(sigma, n).unwrap());
        assert_ne!(a, b);
        let mean = a.iter().sum::<i64>() as f64 / n as f64;
        let variance = a.iter().map(|&it| (it as f64 - mean).powi(2)).sum::<f64>() / n as f64;
        // Five standard errors of the mean and the variance; the discrete variance is below σ² by far less.
        assert!(mean.abs() < 5.0 * sigma / (n as f64).sqrt(), "{sigma}: {mean}");
        assert!((variance / sigma.powi(2) - 1.0).abs() < 5.0 * (2.0 / n as f64).sqrt() + 0.01, "{sigma}: {variance}");
        // The draws are uncorrelated.
        let product = a.iter().zip(&b).map(|(&a, &b)| a as f64 * b as f64).sum::<f64>() / n as f64;
        assert!(product.abs() < 5.0 * sigma.powi(2) / (n as f64).sqrt(), "{sigma}: {product}");
    }
}

#[test]
fn without_noise_the_moments_are_those_of_the_rows() {
    let family = ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.7 };
    let model = Simulation::new(Shape::Star, 5).family(family).model().unwrap();
    let data = Inference::new(&model).sample(3000, 0).unwrap();
    let pairs = PrivatePairs::new(data.schema(), &budget(1.0, None), 1.0).unwrap();
    let found = fold(&mut data.source(), pairs, &Silent).unwrap().moments().unwrap();
    let plain = fold(&mut data.source(), crate::moments::PairMoments::new(Arc::clone(data.schema())).unwrap(), &Silent).unwrap();
    for i in 0..5 {
        for j in 0..5 {
            let (a, b) = (ColIx::new(i), ColIx::new(j));
            assert_eq!(found.covariance(a, b), plain.covariance(a, b));
        }
    }
    assert!(!found.has_noise());
}

#[test]
fn settings_that_do_not_bound_rows_are_refused() {
    let schema = Schema::builder().scalar("a", Kind::binary()).scalar("z", Kind::Continuous).build().unwrap();
    let says = |privacy: &Privacy| privacy.check(&schema).unwrap_err().to_string();
    assert!(says(&budget(0.0, None)).contains("above 0"));
    assert!(says(&budget(1.0, Some(0))).contains("at least 1"));
    assert!(says(&budget(1.0, None)).contains("range of \"z\""));
    let with = |name: &str, range: (f64, f64)| Privacy { ranges: [(name.to_owned(), range)].into(), ..budget(1.0, None) };
    assert!(says(&with("z", (1.0, 1.0))).contains("not a range"));
    assert!(says(&with("y", (0.0, 1.0))).contains("no column"));
    assert!(with("z", (0.0, 1.0)).check(&schema).is_ok());
}
