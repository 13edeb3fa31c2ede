//! Joints with a leaf: the messages of the leaf's labels are built into the operator.
//!
//! At a joint with a leaf as one of its branches, the message of the third branch is that of the second times a matrix for
//! the leaf's label. On a chain this is the recursion of Hsu, Kakade and Zhang (2009): b₁ is the message of the first leaf,
//! the matrices are B_x, and the root takes the role of b_∞. A step needs k² products where the general operator needs k³,
//! goes over the rows once, and needs no messages from leaves.

use super::messages::{least_ratio, settled};

/// Matrices for the labels of a leaf.
#[derive(Debug)]
pub(super) struct Step {
    /// Which of the two incoming messages comes from the leaf.
    pub(super) leaf: usize,
    pub(super) variable: usize,
    /// A matrix for each label, then one for a missing cell; one row per incoming number.
    matrices: Vec<f64>,
    /// Mass and shift of the leaf's message, in the same order.
    masses: Vec<f64>,
    shifts: Vec<f64>,
    kernel: Kernel,
}

/// The incoming message that does not come from the leaf.
pub(super) struct Incoming<'a> {
    pub(super) numbers: &'a [f64],
    pub(super) exponents: &'a [i32],
    pub(super) masses: &'a [f64],
    pub(super) shifts: &'a [f64],
}

/// The outgoing message.
pub(super) struct Outgoing<'a> {
    pub(super) numbers: &'a mut [f64],
    pub(super) exponents: &'a mut [i32],
    pub(super) masses: &'a mut [f64],
    pub(super) shifts: &'a mut [f64],
}

/// The quantities used to measure messages on the outgoing edge.
#[derive(Clone, Copy)]
pub(super) struct Measures<'a> {
    pub(super) mass: &'a [f64],
    pub(super) nothing: &'a [f64],
    pub(super) variance: f64,
}

type Kernel = fn(&Step, &[u32], &Incoming<'_>, Measures<'_>, Outgoing<'_>, &mut Vec<usize>);

impl Step {
    /// Builds the matrices of a joint's operator for the messages of a leaf, the last one for a missing cell. `None` for
    /// sizes that have no kernel.
    pub(super) fn new(
        leaf: usize,
        variable: usize,
        tensor: &[f64],
        sizes: [usize; 2],
        size: usize,
        messages: &[(&[f64], f64, f64)],
    ) -> Option<Self> {
        let k = sizes[1 - leaf];
        let kernel = kernel(k, size)?;
        let mut matrices = Vec::with_capacity(messages.len() * k * size);
        for (message, _, _) in messages {
            for other in 0..k {
                let cell = |own: usize| if leaf == 0 { own * sizes[1] + other } else { other * sizes[1] + own };
                let sum = |out: usize| {
                    message.iter().enumerate().map(|(own, number)| number * tensor[cell(own) * size + out]).sum::<f64>()
                };
                matrices.extend((0..size).map(sum));
            }
        }
        let masses = messages.iter().map(|it| it.1).collect();
        let shifts = messages.iter().map(|it| it.2).collect();
        Some(Self { leaf, variable, matrices, masses, shifts, kernel })
    }

    /// The mass of the message of a label.
    pub(super) fn mass(&self, label: usize) -> f64 {
        self.masses[label.min(self.masses.len() - 1)]
    }

    /// The shift of the message of a label.
    pub(super) fn shift(&self, label: usize) -> f64 {
        self.shifts[label.min(self.shifts.len() - 1)]
    }

    /// Sends the messages of some rows. Rows whose estimate is too small are listed in `low` and left unfinished.
    pub(super) fn send(
        &self,
        codes: &[u32],
        incoming: &Incoming<'_>,
        measures: Measures<'_>,
        outgoing: Outgoing<'_>,
        low: &mut Vec<usize>,
    ) {
        (self.kernel)(self, codes, incoming, measures, outgoing, low);
    }
}

/// The kernel for the sizes of the incoming and outgoing messages.
fn kernel(k: usize, size: usize) -> Option<Kernel> {
    Some(match (k, size) {
        (2, 2) => send::<2, 2>,
        (2, 3) => send::<2, 3>,
        (2, 4) => send::<2, 4>,
        (3, 2) => send::<3, 2>,
        (3, 3) => send::<3, 3>,
        (3, 4) => send::<3, 4>,
        (4, 2) => send::<4, 2>,
        (4, 3) => send::<4, 3>,
        (4, 4) => send::<4, 4>,
        _ => return None,
    })
}

fn send<const K: usize, const S: usize>(
    step: &Step,
    codes: &[u32],
    incoming: &Incoming<'_>,
    measures: Measures<'_>,
    outgoing: Outgoing<'_>,
    low: &mut Vec<usize>,
) {
    let n = codes.len();
    let missing = step.masses.len() - 1;
    let mass: [f64; S] = std::array::from_fn(|i| measures.mass[i]);
    let nothing: [f64; S] = std::array::from_fn(|i| measures.nothing[i]);
    let from: [&[f64]; K] = std::array::from_fn(|j| &incoming.numbers[j * n..(j + 1) * n]);
    let (in_exponents, in_masses, in_shifts) = (&incoming.exponents[..n], &incoming.masses[..n], &incoming.shifts[..n]);
    let Outgoing { numbers, exponents, masses, shifts } = outgoing;
    let (exponents, masses, shifts) = (&mut exponents[..n], &mut masses[..n], &mut shifts[..n]);
    for (row, &code) in codes.iter().enumerate() {
        let label = (code as usize).min(missing);
        let matrix = &step.matrices[label * K * S..(label + 1) * K * S];
        let mut own = [0.0; S];
        for (from, cells) in from.iter().zip(matrix.chunks_exact(S)) {
            let number = from[row];
            own.iter_mut().zip(cells).for_each(|(own, cell)| *own += cell * number);
        }
        let mut total = mass.iter().zip(&own).map(|(weight, number)| weight * number).sum::<f64>();
        let apart = in_masses[row] * step.masses[label];
        let least = apart * least_ratio(in_shifts[row] * step.shifts[label], measures.variance);
        let mut exponent = in_exponents[row];
        let mut shift = 0.0;
        if total < least {
            low.push(row);
        } else {
            shift = settled(&mut own, &mut exponent, &mut total, &nothing);
        }
        own.iter().enumerate().for_each(|(i, &number)| numbers[i * n + row] = number);
        masses[row] = total;
        shifts[row] = shift;
        exponents[row] = exponent;
    }
}
