//! Scores of rows that nothing is wrong with.
//!
//! Most rows have no estimate below its noise (see `messages`), no unseen label and no message out of range. For them, only the
//! messages towards the roots are needed, and the bounds need neither square roots nor divisions: each edge has coordinates in
//! which the first number of a message is its mass, and the length of the others is the mass times the root of the shift. The
//! next message of a path overwrites the one before. Rows that do not clear a bound by more than rounding errors are left to
//! the messages.

use std::fmt::Debug;

use super::messages::{Codes, LEAST_ERRORS, RANGE, binary_exponent};
use super::plan::{Operator, Plan, Root, apply};

/// Bounds must be cleared by this factor.
const MARGIN: f64 = 1.0 + 1e-6;
/// Maximum number of numbers in the operators.
const MOST_NUMBERS: usize = 1 << 22;
/// Number of joints after which the scale of a message is checked.
const JOINTS: usize = 8;
/// The range of masses whose squares neither overflow nor lose digits, as bits.
const LEAST_MASS: u64 = (1023 - 500) << 52;
const MOST_MASS: u64 = (1023 + 500) << 52;

/// The estimates of some rows. Numbers of a root are those of all rows, then come those of the next root.
#[derive(Debug, Default)]
pub(super) struct Estimates {
    pub(super) values: Vec<f64>,
    /// Binary exponents by which the values are multiplied.
    pub(super) exponents: Vec<i32>,
    /// Rows that are left to the messages.
    pub(super) is_doubtful: Vec<bool>,
}

/// A plan compiled for rows in order.
pub(super) trait Quick: Debug + Send + Sync {
    /// Estimates some rows. Roots that are variables are left out.
    fn estimate(&self, codes: &Codes, n_rows: usize) -> Estimates;
}

/// Compiles a plan. `None` if a variable has several edges or messages are too large.
pub(super) fn quick(plan: &Plan) -> Option<Box<dyn Quick>> {
    match plan.up.iter().map(|&(edge, side)| plan.sizes[edge][side]).max().unwrap_or(1) {
        0..=2 => boxed::<2>(plan),
        3 => boxed::<3>(plan),
        4 => boxed::<4>(plan),
        5..=6 => boxed::<6>(plan),
        7..=8 => boxed::<8>(plan),
        _ => None,
    }
}

fn boxed<const K: usize>(plan: &Plan) -> Option<Box<dyn Quick>> {
    Some(Box::new(Program::<K>::new(plan)?))
}

/// A label of a leaf at a joint.
#[derive(Debug)]
struct Cell<const K: usize> {
    /// For each number of the incoming message, its part of the outgoing message.
    matrix: [[f64; K]; K],
    /// The minimum of the outgoing squared mass for each unit of the incoming squared length. Not a number for unseen labels.
    least: f64,
    /// The probability of the label.
    mass: f64,
}

type Tensor<const K: usize> = Box<[[[f64; K]; K]; K]>;

/// What happens to the messages in the slots.
#[derive(Debug)]
enum Op<const K: usize> {
    /// The messages of a leaf's labels; the last one is for missing cells.
    Leaf { variable: usize, messages: Vec<[f64; K]>, slot: usize },
    /// A joint with a leaf. The last cell is for missing cells.
    Step { variable: usize, cells: Vec<Cell<K>>, slot: usize },
    /// A joint of the messages in two slots; the result is in the first.
    Join { tensor: Tensor<K>, slots: [usize; 2] },
    /// Brings messages back into range.
    Rescale { root: usize, slot: usize },
    /// A root that is a joint.
    Root { root: usize, tensor: Tensor<K>, slots: [usize; 3] },
}

#[derive(Debug)]
struct Program<const K: usize> {
    ops: Vec<Op<K>>,
    n_slots: usize,
    n_roots: usize,
    /// The minimum squared ratio of a probability to that of its parts, for shifts of 1.
    least: f64,
}

/// The coordinates of an edge's messages.
struct Basis {
    /// The coordinates as functions of the numbers of the message.
    to: Vec<Vec<f64>>,
    /// The message of each unit vector of coordinates.
    from: Vec<Vec<f64>>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Basis {
    fn new(mass: &[f64], nothing: &[f64]) -> Option<Self> {
        let is_one = (dot(mass, nothing) - 1.0).abs() < 1e-9;
        let norm = dot(mass, mass).sqrt();
        if !is_one || !norm.is_finite() {
            return None;
        }
        // An orthonormal basis of the messages without mass.
        let mut axes: Vec<Vec<f64>> = vec![mass.iter().map(|it| it / norm).collect()];
        let largest = (0..mass.len()).fold(0, |top, ix| if mass[ix].abs() > mass[top].abs() { ix } else { top });
        for ix in (0..mass.len()).filter(|&ix| ix != largest) {
            let mut own = vec![0.0; mass.len()];
            own[ix] = 1.0;
            for _ in 0..2 {
                for axis in &axes {
                    let along = dot(&own, axis);
                    own.iter_mut().zip(axis).for_each(|(own, axis)| *own -= along * axis);
                }
            }
            let norm = dot(&own, &own).sqrt();
            own.iter_mut().for_each(|own| *own /= norm);
            axes.push(own);
        }
        let mut to = vec![mass.to_vec()];
        for axis in &axes[1..] {
            let along = dot(axis, nothing);
            to.push(axis.iter().zip(mass).map(|(axis, mass)| axis - along * mass).collect());
        }
        axes[0] = nothing.to_vec();
        Some(Self { to, from: axes })
    }

    fn coordinates<const K: usize>(&self, message: &[f64]) -> [f64; K] {
        let mut own = [0.0; K];
        own.iter_mut().zip(&self.to).for_each(|(own, to)| *own = dot(to, message));
        own
    }
}

/// A leaf's message to a joint.
struct Leaf<'p> {
    variable: usize,
    /// The message of each label, then of a missing cell.
    messages: Vec<&'p [f64]>,
    /// Their shifts; not a number for unseen labels.
    shifts: Vec<f64>,
}

struct Compiler<'p, const K: usize> {
    plan: &'p Plan,
    ops: Vec<Op<K>>,
    n_numbers: usize,
    /// The slot of the message of each edge, the root of its tree, and the number of joints since its scale was checked.
    slots: Vec<Option<(usize, usize, usize)>>,
    free: Vec<usize>,
    n_slots: usize,
}

impl<'p, const K: usize> Compiler<'p, K> {
    fn leaf(&self, edge: usize, side: usize) -> Option<Leaf<'p>> {
        let Operator::Variable { variable, from, rows, all, shifts } = &self.plan.operators[edge][side] else { return None };
        if !from.is_empty() {
            return None;
        }
        let marginal = &self.plan.marginals[*variable];
        let shifts = shifts.iter().zip(marginal).map(|(&shift, &p)| if p > 0.0 { shift } else { f64::NAN });
        Some(Leaf {
            variable: *variable,
            messages: rows.chunks_exact(all.len()).chain([&all[..]]).collect(),
            shifts: shifts.chain([0.0]).collect(),
        })
    }

    fn basis(&self, edge: usize, side: usize) -> Option<Basis> {
        Basis::new(&self.plan.mass[edge][side], &self.plan.nothing[edge][side])
    }

    fn count(&mut self, n: usize) -> Option<()> {
        self.n_numbers += n;
        (self.n_numbers <= MOST_NUMBERS).then_some(())
    }

    /// Takes the slot of a message that arrives at a joint.
    fn slot(&mut self, edge: usize, side: usize) -> Option<(usize, usize, usize)> {
        if let Some(leaf) = self.leaf(edge, side) {
            let basis = self.basis(edge, side)?;
            let of = |(message, shift): (&&[f64], &f64)| match shift.is_nan() {
                true => [f64::NAN; K],
                false => basis.coordinates(message),
            };
            let messages: Vec<[f64; K]> = leaf.messages.iter().zip(&leaf.shifts).map(of).collect();
            self.count(messages.len() * K)?;
            let slot = self.free.pop().unwrap_or_else(|| {
                self.n_slots += 1;
                self.n_slots - 1
            });
            self.ops.push(Op::Leaf { variable: leaf.variable, messages, slot });
            return Some((slot, self.plan.root_of[leaf.variable], 0));
        }
        self.slots[edge].take()
    }

    /// An operator on coordinates, given what it does to messages.
    fn tensor(&mut self, bases: [&Basis; 2], out: impl Fn(&[f64], &[f64]) -> [f64; K]) -> Option<Tensor<K>> {
        self.count(K * K * K)?;
        let mut tensor = Box::new([[[0.0; K]; K]; K]);
        for (cells, a) in tensor.iter_mut().zip(&bases[0].from) {
            for (cell, b) in cells.iter_mut().zip(&bases[1].from) {
                *cell = out(a, b);
            }
        }
        Some(tensor)
    }

    fn joint(&mut self, edge: usize, side: usize, from: [usize; 2], tensor: &[f64]) -> Option<()> {
        let plan = self.plan;
        let size = plan.sizes[edge][side];
        let into = from.map(|from| plan.side_into(from, edge, side));
        let own = self.basis(edge, side)?;
        let found = [1, 0].into_iter().find_map(|ix| Some((ix, self.leaf(from[ix], into[ix])?)));
        let (slot, root, n_joints) = if let Some((ix, leaf)) = found {
            let other = self.basis(from[1 - ix], into[1 - ix])?;
            let arriving = self.slot(from[1 - ix], into[1 - ix])?;
            self.count(leaf.messages.len() * (K * K + 2))?;
            let cell = |(message, &shift): (&&[f64], &f64)| {
                let mut matrix = [[0.0; K]; K];
                for (row, second) in matrix.iter_mut().zip(&other.from) {
                    let sides = if ix == 0 { [*message, second] } else { [&second[..], *message] };
                    *row = own.coordinates(&apply(tensor, sides[0], sides[1], size));
                }
                let mass = dot(&plan.mass[from[ix]][into[ix]], message);
                Cell { matrix, least: bound(plan) * shift * mass * mass, mass }
            };
            let cells = leaf.messages.iter().zip(&leaf.shifts).map(cell).collect();
            self.ops.push(Op::Step { variable: leaf.variable, cells, slot: arriving.0 });
            (arriving.0, arriving.1, arriving.2 + 1)
        } else {
            let bases = [self.basis(from[0], into[0])?, self.basis(from[1], into[1])?];
            let (a, b) = (self.slot(from[0], into[0])?, self.slot(from[1], into[1])?);
            let tensor = self.tensor([&bases[0], &bases[1]], |a, b| own.coordinates(&apply(tensor, a, b, size)))?;
            self.ops.push(Op::Join { tensor, slots: [a.0, b.0] });
            self.free.push(b.0);
            (a.0, a.1, JOINTS)
        };
        let is_due = n_joints >= JOINTS;
        if is_due {
            self.ops.push(Op::Rescale { root, slot });
        }
        self.slots[edge] = Some((slot, root, if is_due { 0 } else { n_joints }));
        Some(())
    }

    fn root(&mut self, root: usize, edges: &[usize; 3], sizes: &[usize; 3], tensor: &[f64]) -> Option<()> {
        let sides = edges.map(|edge| self.plan.side_into_root(edge, edges));
        let basis = |ix: usize| self.basis(edges[ix], sides[ix]);
        let bases = [basis(0)?, basis(1)?, basis(2)?];
        let slot = |own: &mut Self, ix: usize| Some(own.slot(edges[ix], sides[ix])?.0);
        let slots = [slot(self, 0)?, slot(self, 1)?, slot(self, 2)?];
        let tensor = self.tensor([&bases[0], &bases[1]], |a, b| {
            let third = apply(tensor, a, b, sizes[2]);
            let mut own = [0.0; K];
            own.iter_mut().zip(&bases[2].from).for_each(|(own, from)| *own = dot(&third, from));
            own
        })?;
        self.ops.push(Op::Root { root, tensor, slots });
        self.free.extend(slots);
        Some(())
    }
}

/// The minimum squared ratio of a probability to that of its parts, for shifts of 1.
fn bound(plan: &Plan) -> f64 {
    LEAST_ERRORS * LEAST_ERRORS * plan.variance * MARGIN
}

impl<const K: usize> Program<K> {
    fn new(plan: &Plan) -> Option<Self> {
        let slots = vec![None; plan.sizes.len()];
        let mut compiler = Compiler::<K> { plan, ops: Vec::new(), n_numbers: 0, slots, free: Vec::new(), n_slots: 0 };
        for &(edge, side) in &plan.up {
            match &plan.operators[edge][side] {
                Operator::Joint { from, tensor, .. } => compiler.joint(edge, side, *from, tensor)?,
                Operator::Variable { from, .. } if from.is_empty() => {}
                Operator::Variable { .. } => return None,
            }
        }
        for (ix, root) in plan.roots.iter().enumerate() {
            match root {
                Root::Joint { edges, sizes, tensor } => compiler.root(ix, edges, sizes, tensor)?,
                Root::Variable(variable) if plan.edges_of[*variable].is_empty() => {}
                Root::Variable(_) => return None,
            }
        }
        let (ops, n_slots) = (compiler.ops, compiler.n_slots);
        Some(Self { ops, n_slots, n_roots: plan.roots.len(), least: bound(plan) })
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_avx2(&self, codes: &Codes, n_rows: usize) -> Estimates {
        self.run(codes, n_rows)
    }

    #[inline(always)]
    fn run(&self, codes: &Codes, n: usize) -> Estimates {
        let mut out =
            Estimates { values: vec![1.0; n * self.n_roots], exponents: vec![0; n * self.n_roots], is_doubtful: vec![false; n] };
        let mut slots = vec![vec![[0.0; K]; n]; self.n_slots];
        for op in &self.ops {
            match op {
                Op::Leaf { variable, messages, slot } => {
                    let (missing, known) = messages.split_last().expect("there is a message of missing cells");
                    for (message, &code) in slots[*slot].iter_mut().zip(&codes[*variable]) {
                        *message = *known.get(code as usize).unwrap_or(missing);
                    }
                }
                Op::Step { variable, cells, slot } => step(cells, &codes[*variable], &mut slots[*slot], &mut out.is_doubtful),
                Op::Join { tensor, slots: of } => {
                    let mut own = std::mem::take(&mut slots[of[0]]);
                    join(tensor, self.least, &mut own, &slots[of[1]], &mut out.is_doubtful);
                    slots[of[0]] = own;
                }
                Op::Rescale { root, slot } => {
                    for (message, own) in slots[*slot].iter_mut().zip(&mut out.exponents[root * n..][..n]) {
                        let exponent = binary_exponent(message[0]);
                        if exponent.abs() > RANGE {
                            let scale = f64::powi(2.0, -exponent);
                            message.iter_mut().for_each(|number| *number *= scale);
                            *own += exponent;
                        }
                    }
                }
                Op::Root { root, tensor, slots: of } => {
                    let values = &mut out.values[root * n..][..n];
                    let of = of.map(|slot| &slots[slot][..]);
                    meet(tensor, self.least, of, values, &mut out.is_doubtful);
                }
            }
        }
        out
    }
}

impl<const K: usize> Quick for Program<K> {
    fn estimate(&self, codes: &Codes, n_rows: usize) -> Estimates {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor was just asked and has AVX2. The code is the same; without fused multiply-add the wider
            // registers do not change a single rounding.
            return unsafe { self.run_avx2(codes, n_rows) };
        }
        self.run(codes, n_rows)
    }
}

/// Returns whether a mass is positive and its square is accurate.
#[inline(always)]
fn is_in_range(mass: f64) -> bool {
    mass.to_bits().wrapping_sub(LEAST_MASS) <= MOST_MASS - LEAST_MASS
}

/// The squared length of the numbers after the first.
#[inline(always)]
fn far<const K: usize>(message: &[f64; K]) -> f64 {
    message[1..].iter().fold(0.0, |sum, number| sum + number * number)
}

#[inline(always)]
fn step<const K: usize>(cells: &[Cell<K>], codes: &[u32], slot: &mut [[f64; K]], is_doubtful: &mut [bool]) {
    let (missing, known) = cells.split_last().expect("there is a cell of missing cells");
    for ((message, &code), doubt) in slot.iter_mut().zip(codes).zip(is_doubtful) {
        let cell = known.get(code as usize).unwrap_or(missing);
        let incoming = *message;
        let mut own = [0.0; K];
        for (number, row) in incoming.iter().zip(&cell.matrix) {
            own.iter_mut().zip(row).for_each(|(own, cell)| *own += cell * number);
        }
        *message = own;
        let mass = own[0];
        let is_sure = mass * mass >= cell.least * far(&incoming);
        if !(is_sure && is_in_range(mass)) {
            let is_usual = mass >= incoming[0] * cell.mass * MARGIN && !cell.least.is_nan();
            *doubt |= !(is_usual && is_in_range(mass));
        }
    }
}

/// The products of two messages' numbers through a tensor.
#[inline(always)]
fn through<const K: usize>(tensor: &[[[f64; K]; K]; K], a: &[f64; K], b: &[f64; K]) -> [f64; K] {
    let mut own = [0.0; K];
    for (a, cells) in a.iter().zip(tensor) {
        let mut inner = [0.0; K];
        for (b, cell) in b.iter().zip(cells) {
            inner.iter_mut().zip(cell).for_each(|(inner, cell)| *inner += cell * b);
        }
        own.iter_mut().zip(inner).for_each(|(own, inner)| *own += a * inner);
    }
    own
}

#[inline(always)]
fn join<const K: usize>(tensor: &Tensor<K>, least: f64, slot: &mut [[f64; K]], second: &[[f64; K]], is_doubtful: &mut [bool]) {
    for ((message, b), doubt) in slot.iter_mut().zip(second).zip(is_doubtful) {
        let a = *message;
        let own = through(tensor, &a, b);
        *message = own;
        let mass = own[0];
        let is_sure = mass * mass >= least * far(&a) * far(b) || mass >= a[0] * b[0] * MARGIN;
        *doubt |= !(is_sure && is_in_range(mass));
    }
}

#[inline(always)]
fn meet<const K: usize>(tensor: &Tensor<K>, least: f64, of: [&[[f64; K]]; 3], values: &mut [f64], is_doubtful: &mut [bool]) {
    for ((((a, b), c), value), doubt) in of[0].iter().zip(of[1]).zip(of[2]).zip(values).zip(is_doubtful) {
        let own = through(tensor, a, b);
        let mass = own.iter().zip(c).fold(0.0, |sum, (own, c)| sum + own * c);
        *value = mass;
        let [(far_a, a), (far_b, b), (far_c, c)] = [a, b, c].map(|it| (far(it), it[0]));
        let square = far_a * far_b * c * c + far_a * far_c * b * b + far_b * far_c * a * a + far_a * far_b * far_c;
        let is_sure = mass * mass >= least * square || mass >= a * b * c * MARGIN;
        *doubt |= !(is_sure && is_in_range(mass));
    }
}
