//! Messages for a block of rows.
//!
//! Numbers are signed and may be tiny, so each message of a row carries a power of two as its scale. Scaling by powers of two
//! is exact, so the result for a row does not depend on the other rows of its block.
//!
//! Where a joint combines two sides, the ratio of their estimated joint probability to the product of both has a standard
//! error that follows from the norms of the two messages and the number of training rows. The estimate can be negative,
//! unlike a probability. An estimate below half its standard error is raised to that value, and what the two sides express
//! together beyond what each expresses alone is reduced in proportion, so that one contradiction caused by noise does not
//! spoil the rest of the row. Rows where this happens are counted.

use super::plan::{Operator, Plan, Root, apply};
use super::step::{Incoming, Measures, Outgoing};

/// Binary exponents beyond which a message is rescaled.
pub(super) const RANGE: i32 = 64;
/// Lower limit of an estimate, in standard errors.
pub(super) const LEAST_ERRORS: f64 = 0.5;

/// The label of each cell, or the number of labels if it is missing.
pub(super) type Codes = Vec<Vec<u32>>;

/// Messages of some rows, stored component by component.
pub(super) struct Messages {
    n_rows: usize,
    numbers: Vec<[Vec<f64>; 2]>,
    exponents: Vec<[Vec<i32>; 2]>,
    /// The mass of each message, at the same scale as its numbers.
    masses: Vec<[Vec<f64>; 2]>,
    /// For each message normalised to mass 1, the squared norm of its difference from the uninformative message.
    shifts: Vec<[Vec<f64>; 2]>,
    products: Vec<f64>,
    /// Rows of a message whose estimate is too small.
    low: Vec<usize>,
    /// Rows with an estimate that was raised.
    pub(super) clipped: Vec<bool>,
}

/// `value · 2^exponent` for each row.
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
            masses: vec![Default::default(); n_edges],
            shifts: vec![Default::default(); n_edges],
            products: Vec::new(),
            low: Vec::new(),
            clipped: Vec::new(),
        }
    }

    /// Sends all messages towards the roots.
    pub(super) fn up(&mut self, plan: &Plan, codes: &Codes, n_rows: usize) {
        self.n_rows = n_rows;
        self.clipped.clear();
        self.clipped.resize(n_rows, false);
        for &(edge, side) in plan.up.iter().filter(|&&(edge, side)| !plan.is_skipped[edge][side]) {
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
        let mut masses = std::mem::take(&mut self.masses[edge][side]);
        let mut shifts = std::mem::take(&mut self.shifts[edge][side]);
        masses.clear();
        masses.resize(n, 0.0);
        shifts.clear();
        shifts.resize(n, 0.0);
        out.clear();
        out.resize(n * size, 0.0);
        exponents.clear();
        exponents.resize(n, 0);
        match &plan.operators[edge][side] {
            Operator::Joint { from, sizes, tensor, step } => {
                let into = from.map(|from| plan.side_into(from, edge, side));
                if let Some(step) = step {
                    let other = 1 - step.leaf;
                    let incoming = Incoming {
                        numbers: &self.numbers[from[other]][into[other]],
                        exponents: &self.exponents[from[other]][into[other]],
                        masses: &self.masses[from[other]][into[other]],
                        shifts: &self.shifts[from[other]][into[other]],
                    };
                    let (nothing, variance) = (&plan.nothing[edge][side], plan.variance);
                    let measures = Measures { mass: &plan.mass[edge][side], nothing, variance };
                    let outgoing =
                        Outgoing { numbers: &mut out, exponents: &mut exponents, masses: &mut masses, shifts: &mut shifts };
                    let mut low = std::mem::take(&mut self.low);
                    low.clear();
                    let labels = &codes[step.variable];
                    step.send(labels, &incoming, measures, outgoing, &mut low);
                    let Operator::Variable { rows, all, .. } = &plan.operators[from[step.leaf]][into[step.leaf]] else {
                        unreachable!("a step is for a leaf")
                    };
                    for &row in &low {
                        let label = labels[row] as usize;
                        let leaf = rows.chunks_exact(all.len()).nth(label).unwrap_or(all);
                        let second: Vec<f64> = (0..sizes[other]).map(|i| incoming.numbers[i * n + row]).collect();
                        let part = |ix: usize| match ix == step.leaf {
                            true => Part { numbers: leaf, mass: step.mass(label), nothing: &plan.nothing[from[ix]][into[ix]] },
                            false => {
                                Part { numbers: &second, mass: incoming.masses[row], nothing: &plan.nothing[from[ix]][into[ix]] }
                            }
                        };
                        let least = incoming.masses[row]
                            * step.mass(label)
                            * least_ratio(incoming.shifts[row] * step.shift(label), variance);
                        let mut own: Vec<f64> = (0..size).map(|i| out[i * n + row]).collect();
                        raise(&mut own, masses[row], least, tensor, [part(0), part(1)], nothing);
                        masses[row] = least;
                        shifts[row] = settled(&mut own, &mut exponents[row], &mut masses[row], nothing);
                        own.iter().enumerate().for_each(|(i, &number)| out[i * n + row] = number);
                        self.clipped[row] = true;
                    }
                    self.low = low;
                    let marginal = &plan.marginals[step.variable];
                    if marginal.iter().any(|&p| p <= 0.0) {
                        for (row, &code) in labels.iter().enumerate() {
                            self.clipped[row] |= marginal.get(code as usize).is_some_and(|&p| p <= 0.0);
                        }
                    }
                    self.numbers[edge][side] = out;
                    self.exponents[edge][side] = exponents;
                    self.masses[edge][side] = masses;
                    self.shifts[edge][side] = shifts;
                    return;
                }
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
                weigh(&mut masses, &out, &plan.mass[edge][side]);
                for row in 0..n {
                    let of = |ix: usize| (self.masses[from[ix]][into[ix]][row], self.shifts[from[ix]][into[ix]][row]);
                    let ((mass_a, shift_a), (mass_b, shift_b)) = (of(0), of(1));
                    let apart = mass_a * mass_b;
                    let least = apart * least_ratio(shift_a * shift_b, plan.variance);
                    if masses[row] < least {
                        let of = |numbers: &[f64], size: usize| (0..size).map(|i| numbers[i * n + row]).collect::<Vec<f64>>();
                        let (a, b, mut own) = (of(a, sizes[0]), of(b, sizes[1]), of(&out, size));
                        let [of_a, of_b] = [0, 1].map(|ix| &plan.nothing[from[ix]][into[ix]]);
                        let parts = [
                            Part { numbers: &a, mass: mass_a, nothing: of_a },
                            Part { numbers: &b, mass: mass_b, nothing: of_b },
                        ];
                        raise(&mut own, masses[row], least, tensor, parts, &plan.nothing[edge][side]);
                        own.iter().enumerate().for_each(|(i, &number)| out[i * n + row] = number);
                        masses[row] = least;
                        self.clipped[row] = true;
                    }
                }
                for ix in 0..2 {
                    let added = &self.exponents[from[ix]][into[ix]];
                    exponents.iter_mut().zip(added).for_each(|(own, added)| *own += added);
                }
                rescale(&mut out, &mut exponents, Some(&mut masses));
                measure(&mut shifts, &out, &masses, &plan.nothing[edge][side]);
            }
            Operator::Variable { variable, from, rows, all, shifts: of_labels } if from.is_empty() => {
                for (row, &code) in codes[*variable].iter().enumerate() {
                    let numbers = rows.get(code as usize * size..(code as usize + 1) * size).unwrap_or(all);
                    numbers.iter().enumerate().for_each(|(ix, &number)| out[ix * n + row] = number);
                    shifts[row] = of_labels.get(code as usize).copied().unwrap_or(0.0);
                    self.clipped[row] |= plan.marginals[*variable].get(code as usize).is_some_and(|&p| p <= 0.0);
                }
                weigh(&mut masses, &out, &plan.mass[edge][side]);
            }
            Operator::Variable { variable, from, rows, .. } => {
                let labels = self.labels(plan, codes, *variable, from, &mut exponents, true);
                for (label, weights) in rows.chunks_exact(size).zip(labels.chunks_exact(n)) {
                    for (out, &number) in out.chunks_exact_mut(n).zip(label) {
                        out.iter_mut().zip(weights).for_each(|(out, weight)| *out += number * weight);
                    }
                }
                rescale(&mut out, &mut exponents, None);
                weigh(&mut masses, &out, &plan.mass[edge][side]);
                measure(&mut shifts, &out, &masses, &plan.nothing[edge][side]);
            }
        }
        self.numbers[edge][side] = out;
        self.exponents[edge][side] = exponents;
        self.masses[edge][side] = masses;
        self.shifts[edge][side] = shifts;
    }

    /// For each label of a variable, the product of the messages from some of its edges; 0 for labels that a row does not
    /// have. With `raise`, numbers below half their standard error are raised to it.
    fn labels(
        &mut self,
        plan: &Plan,
        codes: &Codes,
        variable: usize,
        from: &[usize],
        exponents: &mut [i32],
        raise: bool,
    ) -> Vec<f64> {
        let (n, n_labels) = (self.n_rows, plan.marginals[variable].len());
        let mut out = vec![1.0; n * n_labels];
        for (row, &code) in codes[variable].iter().enumerate().filter(|(_, code)| (**code as usize) < n_labels) {
            (0..n_labels).filter(|&x| x != code as usize).for_each(|x| out[x * n + row] = 0.0);
        }
        for &edge in from {
            let side = plan.side_towards(edge, variable);
            let masses = &self.masses[edge][side];
            for (x, (out, message)) in out.chunks_exact_mut(n).zip(self.numbers[edge][side].chunks_exact(n)).enumerate() {
                let p = plan.marginals[variable][x];
                let ratio = if raise && p > 0.0 { least_ratio((1.0 - p) / p, plan.variance) } else { f64::NEG_INFINITY };
                for (row, (out, &message)) in out.iter_mut().zip(message).enumerate() {
                    let least = ratio * masses[row];
                    if message < least {
                        self.clipped[row] |= codes[variable][row] as usize == x;
                        *out *= least;
                    } else {
                        *out *= message;
                    }
                }
            }
            exponents.iter_mut().zip(&self.exponents[edge][side]).for_each(|(own, added)| *own += added);
            rescale(&mut out, exponents, None);
        }
        out
    }

    /// The estimate of the tree of a root.
    pub(super) fn root(&mut self, plan: &Plan, codes: &Codes, root: usize) -> Scaled {
        let n = self.n_rows;
        let mut exponents = vec![0; n];
        match &plan.roots[root] {
            Root::Variable(variable) => {
                let labels = self.labels(plan, codes, *variable, &plan.edges_of[*variable], &mut exponents, true);
                let mut values = vec![0.0; n];
                for (label, ln_p) in labels.chunks_exact(n.max(1)).zip(&plan.ln_floor[*variable]) {
                    let p = ln_p.exp();
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
                for row in 0..n {
                    let of = |ix: usize| (self.masses[edges[ix]][sides[ix]][row], self.shifts[edges[ix]][sides[ix]][row]);
                    let [(mass_a, a), (mass_b, b), (mass_c, c)] = [of(0), of(1), of(2)];
                    let apart = mass_a * mass_b * mass_c;
                    let least = apart * least_ratio(a * b + a * c + b * c + a * b * c, plan.variance);
                    if values[row] < least {
                        values[row] = least;
                        self.clipped[row] = true;
                    }
                }
                for (edge, side) in edges.iter().zip(sides) {
                    exponents.iter_mut().zip(&self.exponents[*edge][side]).for_each(|(own, added)| *own += added);
                }
                Scaled { values, exponents }
            }
        }
    }

    /// For each label of a variable, a number proportional to its joint probability with the evidence on all other variables,
    /// stored label by label. Evidence on the variable itself is ignored.
    pub(super) fn belief(&mut self, plan: &Plan, variable: usize) -> Vec<f64> {
        let n = self.n_rows;
        let missing = vec![vec![u32::MAX; n]; plan.marginals.len()];
        let mut exponents = vec![0; n];
        let mut out = self.labels(plan, &missing, variable, &plan.edges_of[variable], &mut exponents, false);
        for (label, p) in out.chunks_exact_mut(n.max(1)).zip(&plan.marginals[variable]) {
            label.iter_mut().for_each(|value| *value *= p);
        }
        out
    }
}

/// The minimum ratio of a probability to the product of the probabilities of its parts, given the variance of its estimate.
pub(super) fn least_ratio(square: f64, variance: f64) -> f64 {
    (LEAST_ERRORS * (square * variance).sqrt()).min(1.0)
}

/// One of two messages that a joint combines, and the uninformative message of its side.
struct Part<'a> {
    numbers: &'a [f64],
    mass: f64,
    nothing: &'a [f64],
}

/// Raises a message whose mass is too small: what its two parts express together, beyond each alone, shrinks in proportion.
fn raise(own: &mut [f64], mass: f64, least: f64, tensor: &[f64], parts: [Part<'_>; 2], nothing: &[f64]) {
    let size = own.len();
    let [a, b] = parts;
    let apart = a.mass * b.mass;
    let alone = [apply(tensor, a.numbers, b.nothing, size), apply(tensor, a.nothing, b.numbers, size)];
    let kept = (least - apart) / (mass - apart);
    for (i, own) in own.iter_mut().enumerate() {
        let sum = alone[0][i] * b.mass + alone[1][i] * a.mass - apart * nothing[i];
        *own = sum + kept * (*own - sum);
    }
}

/// Rescales the message of a row if it is out of range. Returns the squared norm of its difference, at mass 1, from the
/// uninformative message.
#[inline(always)]
pub(super) fn settled(own: &mut [f64], exponent: &mut i32, mass: &mut f64, nothing: &[f64]) -> f64 {
    let largest = own.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let binary = binary_exponent(largest);
    if largest > 0.0 && binary.abs() > RANGE && binary <= 1000 {
        let scale = f64::powi(2.0, -binary.max(-1000));
        own.iter_mut().for_each(|value| *value *= scale);
        *mass *= scale;
        *exponent += binary.max(-1000);
    }
    let inverse = 1.0 / *mass;
    own.iter().zip(nothing).map(|(own, nothing)| (own * inverse - nothing).powi(2)).sum()
}

/// The exponent of the power of two at or below a number.
#[inline(always)]
pub(super) fn binary_exponent(value: f64) -> i32 {
    ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// Computes the masses of messages.
fn weigh(masses: &mut [f64], numbers: &[f64], weights: &[f64]) {
    for (numbers, &weight) in numbers.chunks_exact(masses.len().max(1)).zip(weights) {
        masses.iter_mut().zip(numbers).for_each(|(mass, number)| *mass += weight * number);
    }
}

/// Computes, for messages normalised to mass 1, the squared norm of the difference from the uninformative message.
fn measure(shifts: &mut [f64], numbers: &[f64], masses: &[f64], nothing: &[f64]) {
    for (numbers, &nothing) in numbers.chunks_exact(masses.len().max(1)).zip(nothing) {
        for ((shift, number), mass) in shifts.iter_mut().zip(numbers).zip(masses) {
            *shift += (number / mass - nothing).powi(2);
        }
    }
}

/// Rescales rows whose largest number is out of range.
fn rescale(numbers: &mut [f64], exponents: &mut [i32], mut masses: Option<&mut Vec<f64>>) {
    let n = exponents.len();
    for row in 0..n {
        let largest = numbers[row..].iter().step_by(n).fold(0.0_f64, |largest, value| largest.max(value.abs()));
        let exponent = binary_exponent(largest);
        if largest > 0.0 && exponent.abs() > RANGE && exponent <= 1000 {
            let scale = f64::powi(2.0, -exponent.max(-1000));
            numbers[row..].iter_mut().step_by(n).for_each(|value| *value *= scale);
            if let Some(masses) = &mut masses {
                masses[row] *= scale;
            }
            exponents[row] += exponent.max(-1000);
        }
    }
}
