//! Messages of a block of rows.
//!
//! Numbers are signed and may be tiny: every message of a row has a power of two for its scale. Scaling by powers of two is exact, so the numbers of a row do
//! not depend on the other rows of its block.

use super::plan::{Operator, Plan, Root};

/// Exponents beyond which a message is scaled.
const RANGE: i32 = 64;

/// The label of a cell, or the number of labels where it is missing.
pub(super) type Codes = Vec<Vec<u32>>;

/// Messages of some rows, number by number.
pub(super) struct Messages {
    n_rows: usize,
    numbers: Vec<[Vec<f64>; 2]>,
    exponents: Vec<[Vec<i32>; 2]>,
    products: Vec<f64>,
}

/// `value · 2^exponent` of every row.
pub(super) struct Scaled {
    pub(super) values: Vec<f64>,
    pub(super) exponents: Vec<i32>,
}

impl Messages {
    pub(super) fn new(plan: &Plan) -> Self {
        let n_edges = plan.sizes.len();
        Self {
            n_rows: 0,
            numbers: vec![Default::default(); n_edges],
            exponents: vec![Default::default(); n_edges],
            products: Vec::new(),
        }
    }

    /// Sends all messages towards the roots.
    pub(super) fn up(&mut self, plan: &Plan, codes: &Codes, n_rows: usize) {
        self.n_rows = n_rows;
        for &(edge, side) in &plan.up {
            self.send(plan, codes, edge, side);
        }
    }

    /// Sends all messages away from the roots.
    pub(super) fn down(&mut self, plan: &Plan, codes: &Codes) {
        for &(edge, side) in plan.up.iter().rev() {
            self.send(plan, codes, edge, 1 - side);
        }
    }

    fn send(&mut self, plan: &Plan, codes: &Codes, edge: usize, side: usize) {
        let (n, size) = (self.n_rows, plan.sizes[edge][side]);
        let mut out = std::mem::take(&mut self.numbers[edge][side]);
        let mut exponents = std::mem::take(&mut self.exponents[edge][side]);
        out.clear();
        out.resize(n * size, 0.0);
        exponents.clear();
        exponents.resize(n, 0);
        match &plan.operators[edge][side] {
            Operator::Joint { from, sizes, tensor } => {
                let into = from.map(|from| plan.side_into(from, edge, side));
                let [a, b] = [0, 1].map(|ix| &self.numbers[from[ix]][into[ix]]);
                self.products.resize(n, 0.0);
                let mut coefficients = tensor.chunks_exact(size);
                for i in 0..sizes[0] {
                    for j in 0..sizes[1] {
                        let (a, b) = (&a[i * n..(i + 1) * n], &b[j * n..(j + 1) * n]);
                        self.products.iter_mut().zip(a).zip(b).for_each(|((product, a), b)| *product = a * b);
                        let coefficients = coefficients.next().expect("the tensor has a cell for all numbers");
                        for (out, &coefficient) in out.chunks_exact_mut(n).zip(coefficients) {
                            out.iter_mut().zip(&self.products).for_each(|(out, product)| *out += coefficient * product);
                        }
                    }
                }
                for ix in 0..2 {
                    let added = &self.exponents[from[ix]][into[ix]];
                    exponents.iter_mut().zip(added).for_each(|(own, added)| *own += added);
                }
                rescale(&mut out, &mut exponents);
            }
            Operator::Variable { variable, from, rows, all } if from.is_empty() => {
                for (row, &code) in codes[*variable].iter().enumerate() {
                    let numbers = rows.get(code as usize * size..(code as usize + 1) * size).unwrap_or(all);
                    numbers.iter().enumerate().for_each(|(ix, &number)| out[ix * n + row] = number);
                }
            }
            Operator::Variable { variable, from, rows, .. } => {
                let labels = self.labels(plan, codes, *variable, from, &mut exponents);
                for (label, weights) in rows.chunks_exact(size).zip(labels.chunks_exact(n)) {
                    for (out, &number) in out.chunks_exact_mut(n).zip(label) {
                        out.iter_mut().zip(weights).for_each(|(out, weight)| *out += number * weight);
                    }
                }
                rescale(&mut out, &mut exponents);
            }
        }
        self.numbers[edge][side] = out;
        self.exponents[edge][side] = exponents;
    }

    /// For each label of a variable the product of the messages from some of its edges, 0 for labels that a row does not have.
    fn labels(&self, plan: &Plan, codes: &Codes, variable: usize, from: &[usize], exponents: &mut [i32]) -> Vec<f64> {
        let (n, n_labels) = (self.n_rows, plan.marginals[variable].len());
        let mut out = vec![1.0; n * n_labels];
        for (row, &code) in codes[variable].iter().enumerate().filter(|(_, code)| (**code as usize) < n_labels) {
            (0..n_labels).filter(|&x| x != code as usize).for_each(|x| out[x * n + row] = 0.0);
        }
        for &edge in from {
            let side = plan.side_towards(edge, variable);
            out.iter_mut().zip(&self.numbers[edge][side]).for_each(|(out, message)| *out *= message);
            exponents.iter_mut().zip(&self.exponents[edge][side]).for_each(|(own, added)| *own += added);
            rescale(&mut out, exponents);
        }
        out
    }

    /// The estimate of a root's tree.
    pub(super) fn root(&self, plan: &Plan, codes: &Codes, root: usize) -> Scaled {
        let n = self.n_rows;
        let mut exponents = vec![0; n];
        match &plan.roots[root] {
            Root::Variable(variable) => {
                let labels = self.labels(plan, codes, *variable, &plan.edges_of[*variable], &mut exponents);
                let mut values = vec![0.0; n];
                for (label, p) in labels.chunks_exact(n.max(1)).zip(&plan.marginals[*variable]) {
                    values.iter_mut().zip(label).for_each(|(value, weight)| *value += p * weight);
                }
                Scaled { values, exponents }
            }
            Root::Joint { edges, sizes, tensor } => {
                let sides = edges.map(|edge| plan.side_into_root(edge, edges));
                let [a, b, c] = [0, 1, 2].map(|ix| &self.numbers[edges[ix]][sides[ix]]);
                let mut values = vec![0.0; n];
                for (cell, &coefficient) in tensor.iter().enumerate() {
                    let (i, j, l) = (cell / (sizes[1] * sizes[2]), cell / sizes[2] % sizes[1], cell % sizes[2]);
                    let (a, b, c) = (&a[i * n..][..n], &b[j * n..][..n], &c[l * n..][..n]);
                    let products = a.iter().zip(b).zip(c).map(|((a, b), c)| a * b * c);
                    values.iter_mut().zip(products).for_each(|(value, product)| *value += coefficient * product);
                }
                for (edge, side) in edges.iter().zip(sides) {
                    exponents.iter_mut().zip(&self.exponents[*edge][side]).for_each(|(own, added)| *own += added);
                }
                Scaled { values, exponents }
            }
        }
    }

    /// For each label of a variable a number proportional to its probability together with all that is known of the other variables, label by label;
    /// what is known of the variable itself is left aside.
    pub(super) fn belief(&self, plan: &Plan, variable: usize) -> Vec<f64> {
        let n = self.n_rows;
        let missing = vec![vec![u32::MAX; n]; plan.marginals.len()];
        let mut exponents = vec![0; n];
        let mut out = self.labels(plan, &missing, variable, &plan.edges_of[variable], &mut exponents);
        for (label, p) in out.chunks_exact_mut(n.max(1)).zip(&plan.marginals[variable]) {
            label.iter_mut().for_each(|value| *value *= p);
        }
        out
    }
}

/// Scales rows whose largest number is out of range.
fn rescale(numbers: &mut [f64], exponents: &mut [i32]) {
    let n = exponents.len();
    for row in 0..n {
        let largest = numbers[row..].iter().step_by(n).fold(0.0_f64, |largest, value| largest.max(value.abs()));
        let exponent = ((largest.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        if largest > 0.0 && exponent.abs() > RANGE && exponent <= 1000 {
            let scale = f64::powi(2.0, -exponent.max(-1000));
            numbers[row..].iter_mut().step_by(n).for_each(|value| *value *= scale);
            exponents[row] += exponent.max(-1000);
        }
    }
}
