//! Hierarchical tensor decomposition (Song, Ishteva, Parikh, Xing and Park, 2013).
//!
//! The joint table of all columns is split at one edge of the tree after another. Its unfolding P, with the patterns of one
//! side as rows and those of the other as columns, becomes `(P B) M (Aᵀ P)`, where B and A sum out all columns of a side
//! except one, its linker. `M` is not the inverse of `Aᵀ P B` but the matrix of rank k' that minimises `‖P − P B M Aᵀ P‖`
//! (equation 6), so that a k' below the true rank costs no more than Theorem 4 allows. The two factors are tables with fewer
//! columns and are split in turn.
//!
//! If there are few rows per pattern, one dimension is reserved for the constant: `M = 1 1ᵀ + M'`, and M' of rank k' − 1
//! minimises the same norm for `P − p qᵀ`, where p and q are the margins. All single marginals are then those of the rows;
//! otherwise the noise of each edge adds to their errors. Cells are divided by the square roots of their margins, which makes
//! singular values canonical correlations, and these are shrunk according to their noise as in
//! [`spectral`](super::spectral()).
//!
//! Only patterns that occur are considered. A row with a missing cell is left out of every split whose table includes that
//! column.

use std::collections::HashMap;
use std::sync::Arc;

use super::estimate::{Problem, SpectralFit, SpectralOptions, kept_share, pair_table, pseudo_inverse};
use super::linkers::{Linkers, Numbers, Rank};
use super::model::{Parts, SpectralEdge, SpectralMethod, SpectralModel};
use super::network::{End, Network};
use super::pair_tables::{PairPlan, PairTables};
use super::patterns::Patterns;
use crate::data::BatchSource;
use crate::error::{Error, Place, Result};
use crate::linalg::{Matrix, jacobi_svd, symmetric_eigen};
use crate::model::Provenance;
use crate::moments::{Accumulator as _, fold};
use crate::observer::Observer;
use crate::tree::Tree;

/// Number of candidate linkers compared on each side.
const CANDIDATES: usize = 8;
/// Eigenvalues of a Gram matrix (squared singular values) below this share of the largest count as zero.
const NEGLIGIBLE: f64 = 1e-13;
/// Singular values below this share of the largest count as zero.
const SINGULAR: f64 = 1e-9;
/// Number of rows per pattern above which the table is accurate enough that no dimension is reserved for the constant.
const ROWS_PER_PATTERN: f64 = 1e4;

/// Minimum weight of complete rows if other rows are incomplete.
const LEAST_COMPLETE: f64 = 10.0;

/// Estimates a spectral model of a tree by hierarchical tensor decomposition. Distinct rows are kept in memory.
///
/// # Errors
/// The same as for [`spectral`](super::spectral()), and [`Error::Data`] if hardly any row has all columns of a table to be split.
pub fn hierarchical(
    tree: &Tree,
    source: &mut dyn BatchSource,
    options: &SpectralOptions,
    observer: &dyn Observer,
) -> Result<SpectralFit> {
    let problem = Problem::new(tree, source.schema(), &options.linkers(Linkers::Single))?;
    let n = problem.labels.n_labels.len() as u64;
    if let Some(rows) = source.n_rows_hint() {
        options.memory.check(
            "the distinct rows",
            rows.saturating_mul(6 * n + 24),
            "use `parameters.method` spectral, or fewer rows",
        )?;
    }
    let pairs = (0..problem.labels.n_labels.len()).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
    let plan = PairPlan::new(problem.labels.clone(), pairs);
    options.memory.check("tables of all pairs of columns", plan.n_bytes(), "use `parameters.method` spectral")?;
    observer.stage("pairs", source.n_rows_hint());
    let pairs = fold(source, PairTables::new(Arc::new(plan)), observer)?;
    source.rewind()?;
    problem.check_seen(&pairs, pairs.weight)?;
    observer.stage("patterns", source.n_rows_hint());
    let patterns = fold(source, Patterns::new(problem.labels.clone()), observer)?.finish()?;
    source.rewind()?;
    observer.stage("decomposition", None);
    let rows = pairs.weight;
    decompose(&problem, &pairs, patterns, rows, options)
}

/// Decomposes distinct rows. `rows` is the number of rows that determines the noise level.
pub(super) fn decompose(
    problem: &Problem,
    pairs: &PairTables,
    patterns: Patterns,
    rows: f64,
    options: &SpectralOptions,
) -> Result<SpectralFit> {
    let (columns, weights) = patterns.into_columns();
    let network = &problem.network;
    let mut splitter = Splitter {
        problem,
        network,
        numbers: Numbers::new(pairs, rows),
        columns,
        weights,
        rank: options.hidden_states.map_or(Rank::Auto, Rank::Fixed),
        rows,
        factors: vec![None; network.edges.len()],
        lowered: Vec::new(),
    };
    let marginals = splitter.numbers.shares().to_vec();
    let mut joints = vec![Vec::new(); network.joints.len()];
    let mut seen = vec![false; network.joints.len()];
    let mut fewest = rows;
    for joint in 0..network.joints.len() {
        if !seen[joint] {
            let piece = piece_around(network, joint);
            piece.iter().for_each(|&joint| seen[joint] = true);
            fewest = fewest.min(splitter.check_complete(&splitter.columns_of(&piece, &HashMap::new()), pairs.weight)?);
            splitter.split(piece, &HashMap::new(), &mut joints);
        }
    }
    let mut edges = Vec::with_capacity(network.edges.len());
    for (edge, ends) in network.edges.iter().enumerate() {
        edges.push(match (splitter.factors[edge].take(), ends) {
            (Some(factor), _) => {
                let k = factor.rank;
                SpectralEdge {
                    rank: k,
                    link: factor.link,
                    labels: factor.labels,
                    values: factor.values,
                    noise: factor.noise,
                    summaries: Default::default(),
                }
            }
            (None, [End::Variable(a), End::Variable(b)]) => SpectralEdge {
                rank: 1,
                link: Vec::new(),
                labels: pair_table(&pairs.table(*a, *b), &marginals[*a], &marginals[*b]),
                values: Vec::new(),
                noise: 0.0,
                summaries: Default::default(),
            },
            (None, _) => unreachable!("all edges of joints are split"),
        });
    }
    let mut warnings = super::estimate::lowered_warning(std::mem::take(&mut splitter.lowered));
    let weight = pairs.weight;
    if fewest < weight * (1.0 - 1e-9) {
        warnings.push(format!(
            "the hierarchical method uses complete rows only: {fewest} of {weight}, whose frequencies may differ from those of all \
             rows; `parameters.method` spectral and moments+em use all rows"
        ));
    }
    let parts = Parts { method: SpectralMethod::Hierarchical, weight, marginals, joints, edges };
    let model = SpectralModel::new(Arc::clone(&problem.schema), problem.tree.clone(), parts, Provenance::default())?;
    Ok(SpectralFit { model, warnings })
}

/// The result of splitting an edge.
#[derive(Clone)]
struct Factor {
    rank: usize,
    /// The linker of each side, and the factors of its labels in the table of the other side.
    linkers: [usize; 2],
    maps: [Matrix; 2],
    /// The matrix that joins the two factors.
    link: Vec<f64>,
    /// The label operator of an edge between a variable and a joint.
    labels: Vec<f64>,
    values: Vec<f64>,
    noise: f64,
}

struct Splitter<'a> {
    problem: &'a Problem,
    network: &'a Network,
    numbers: Numbers<'a>,
    columns: Vec<Vec<u16>>,
    weights: Vec<f64>,
    rank: Rank,
    rows: f64,
    factors: Vec<Option<Factor>>,
    lowered: Vec<String>,
}

/// The joints that can be reached from this one without passing through a variable.
fn piece_around(network: &Network, joint: usize) -> Vec<usize> {
    let mut piece = vec![joint];
    let mut at = 0;
    while at < piece.len() {
        for edge in network.joints[piece[at]] {
            for end in network.edges[edge] {
                if let End::Joint(next) = end
                    && !piece.contains(&next)
                {
                    piece.push(next);
                }
            }
        }
        at += 1;
    }
    piece
}

impl Splitter<'_> {
    /// The variable that represents everything beyond an edge of a piece.
    fn column(&self, edge: usize, joint: usize, cut: &HashMap<usize, usize>) -> Option<usize> {
        let beyond = self.network.edges[edge][1 - self.network.side(edge, End::Joint(joint))];
        cut.get(&edge).copied().or(match beyond {
            End::Variable(variable) => Some(variable),
            End::Joint(_) => None,
        })
    }

    /// The columns of a part of a piece.
    fn columns_of(&self, part: &[usize], cut: &HashMap<usize, usize>) -> Vec<usize> {
        let ports = part.iter().flat_map(|&joint| self.network.joints[joint].map(|edge| (edge, joint)));
        ports.filter_map(|(edge, joint)| self.column(edge, joint, cut)).collect()
    }

    /// The joints that can be reached from one by inner edges without crossing the edge `without`, nearest first.
    fn reached(&self, from: usize, without: usize, inside: &impl Fn(usize) -> bool) -> Vec<usize> {
        let mut part = vec![from];
        let mut at = 0;
        while at < part.len() {
            for edge in self.network.joints[part[at]] {
                if edge == without || !inside(edge) {
                    continue;
                }
                let next = self.network.edges[edge][1 - self.network.side(edge, End::Joint(part[at]))];
                if let End::Joint(next) = next
                    && !part.contains(&next)
                {
                    part.push(next);
                }
            }
            at += 1;
        }
        part
    }

    /// Splits a piece until single joints are left; `cut` holds the linker beyond each edge that has already been cut.
    fn split(&mut self, piece: Vec<usize>, cut: &HashMap<usize, usize>, joints: &mut [Vec<f64>]) {
        if let [joint] = piece[..] {
            return self.finish(joint, cut, joints);
        }
        // The edge that splits the piece most evenly.
        let inside = |edge: usize| match self.network.edges[edge] {
            [End::Joint(a), End::Joint(b)] => piece.contains(&a) && piece.contains(&b) && !cut.contains_key(&edge),
            _ => false,
        };
        let mut best: Option<(usize, usize, Vec<usize>)> = None;
        for &joint in &piece {
            for edge in self.network.joints[joint] {
                let side = self.network.side(edge, End::Joint(joint));
                if side != 0 || !inside(edge) {
                    continue;
                }
                let part = self.reached(joint, edge, &inside);
                let smaller = part.len().min(piece.len() - part.len());
                if best.as_ref().is_none_or(|it| (smaller, std::cmp::Reverse(edge)) > (it.0, std::cmp::Reverse(it.1))) {
                    best = Some((smaller, edge, part));
                }
            }
        }
        let (_, edge, left) = best.expect("a piece of several joints has an edge");
        let End::Joint(beyond) = self.network.edges[edge][1] else { unreachable!("the edge is inside the piece") };
        let right = self.reached(beyond, edge, &inside);
        let sides = [self.columns_of(&left, cut), self.columns_of(&right, cut)];
        let factor = self.factor(edge, &sides);
        let linkers = factor.linkers;
        self.factors[edge] = Some(factor);
        for (side, part) in [left, right].into_iter().enumerate() {
            let mut cut = cut.clone();
            cut.insert(edge, linkers[1 - side]);
            self.split(part, &cut, joints);
        }
    }

    /// The final tables: those of the variables at a joint, and that of the joint itself.
    fn finish(&mut self, joint: usize, cut: &HashMap<usize, usize>, joints: &mut [Vec<f64>]) {
        let mut cut = cut.clone();
        for edge in self.network.joints[joint] {
            if cut.contains_key(&edge) {
                continue;
            }
            let side = self.network.side(edge, End::Joint(joint));
            let own = self.column(edge, joint, &cut).expect("an edge that is not cut ends at a variable");
            let others = self.network.joints[joint].into_iter().filter(|&it| it != edge);
            let others: Vec<usize> = others.filter_map(|edge| self.column(edge, joint, &cut)).collect();
            let sides = if side == 0 { [others, vec![own]] } else { [vec![own], others] };
            let mut factor = self.factor(edge, &sides);
            // The variable's own factor: its labels with the linker on the joint's side.
            let linker = factor.linkers[side];
            let (shape, cells) = self.table(&[own, linker]);
            factor.labels = Matrix::new(shape[0], shape[1], cells).times(&factor.maps[side]).cells().to_vec();
            cut.insert(edge, own);
            self.factors[edge] = Some(factor);
        }
        let edges = self.network.joints[joint];
        let linkers = edges.map(|edge| cut[&edge]);
        let (shape, mut cells) = self.table(&linkers);
        // Maps the labels of each linker to a summary, one port after another. The first axis varies slowest and becomes the
        // fastest.
        let mut sizes = shape;
        for edge in edges {
            let side = self.network.side(edge, End::Joint(joint));
            let map = &self.factors[edge].as_ref().expect("the edge is split").maps[1 - side];
            let rest = cells.len() / sizes[0];
            let mut next = vec![0.0; rest * map.n_cols()];
            for (label, row) in cells.chunks_exact(rest).enumerate() {
                for (at, &cell) in row.iter().enumerate().filter(|it| *it.1 != 0.0) {
                    let out = &mut next[at * map.n_cols()..(at + 1) * map.n_cols()];
                    out.iter_mut().zip(map.row(label)).for_each(|(out, it)| *out += cell * it);
                }
            }
            cells = next;
            sizes.rotate_left(1);
            sizes[2] = map.n_cols();
        }
        joints[joint] = cells;
    }

    /// The rows in which all of these columns are present, and their total weight.
    fn complete(&self, columns: &[usize]) -> (Vec<usize>, f64) {
        let n_labels = &self.problem.labels.n_labels;
        let is_complete = |row: &usize| columns.iter().all(|&it| usize::from(self.columns[it][*row]) < n_labels[it]);
        let rows: Vec<usize> = (0..self.weights.len()).filter(is_complete).collect();
        let total = rows.iter().map(|&row| self.weights[row]).sum();
        (rows, total)
    }

    /// The weight of the rows in which all columns of a piece are present. Fails if there are too few: all tables of the piece
    /// have some of these columns.
    fn check_complete(&self, columns: &[usize], weight: f64) -> Result<f64> {
        let total = self.complete(columns).1;
        if total > 0.0 && (total >= LEAST_COMPLETE || total >= weight * (1.0 - 1e-9)) {
            return Ok(total);
        }
        let names: Vec<&str> = columns.iter().take(5).map(|&it| self.problem.schema.variables()[it].name.as_str()).collect();
        let problem = format!(
            "{} of {weight} rows have a value in all of {} columns ({}{}), and the hierarchical method uses only these; use \
             `parameters.method` spectral or moments+em, or leave out columns with many missing cells",
            if total > 0.0 { format!("only {total}") } else { "none".to_owned() },
            columns.len(),
            names.join(", "),
            if columns.len() > 5 { ", …" } else { "" }
        );
        Err(Error::data(Place::default(), problem))
    }

    /// The joint table of two or three columns, the last one varying fastest, and its shape.
    fn table(&self, columns: &[usize]) -> ([usize; 3], Vec<f64>) {
        let (rows, total) = self.complete(columns);
        let mut shape = [1; 3];
        shape.iter_mut().zip(columns).for_each(|(size, &column)| *size = self.problem.labels.n_labels[column]);
        let mut cells = vec![0.0; shape.iter().product()];
        for row in rows {
            let at =
                columns.iter().zip(&shape).fold(0, |at, (&column, &size)| at * size + usize::from(self.columns[column][row]));
            cells[at] += self.weights[row] / total;
        }
        (shape, cells)
    }

    /// The index of each row's pattern in some columns, and the number of patterns.
    fn patterns(&self, columns: &[usize], rows: &[usize]) -> (Vec<u32>, usize) {
        let mut ids: HashMap<Vec<u16>, u32> = HashMap::new();
        let mut pattern = Vec::with_capacity(columns.len());
        let mut found = Vec::with_capacity(rows.len());
        for &row in rows {
            pattern.clear();
            pattern.extend(columns.iter().map(|&column| self.columns[column][row]));
            let next = ids.len() as u32;
            found.push(match ids.get(&pattern) {
                Some(&id) => id,
                None => {
                    ids.insert(pattern.clone(), next);
                    next
                }
            });
        }
        (found, ids.len())
    }

    /// The linkers and M of an edge whose sides are these columns.
    fn factor(&mut self, edge: usize, sides: &[Vec<usize>; 2]) -> Factor {
        let (rows, total) = self.complete(&sides.concat());
        let [left, right] = [0, 1].map(|side| &sides[side][..sides[side].len().min(CANDIDATES)]);
        let pairs = left.iter().flat_map(|&a| right.iter().map(move |&b| (a, b)));
        let linked = pairs.map(|(a, b)| ([a, b], self.numbers.linked(&[a], &[b], self.rank, self.rows)));
        let last = |it: &super::linkers::Linked| it.rank.checked_sub(2).map_or(0.0, |ix| it.spectrum.values[ix]);
        let (linkers, linked) = linked
            .reduce(|best, it| if (it.1.rank, last(&it.1)) > (best.1.rank, last(&best.1)) { it } else { best })
            .expect("both sides have columns");
        let n = linkers.map(|linker| self.problem.labels.n_labels[linker]);
        let of_side = [0, 1].map(|side| self.patterns(&sides[side], &rows));
        let n_patterns = of_side[0].1.max(of_side[1].1);
        let is_centred = n_patterns as f64 * ROWS_PER_PATTERN > self.rows;
        // P B (patterns of side 0 by labels of side 1's linker) and (Aᵀ P)ᵀ.
        let mut thin = [vec![0.0; of_side[0].1 * n[1]], vec![0.0; of_side[1].1 * n[0]]];
        for (at, &row) in rows.iter().enumerate() {
            let weight = self.weights[row] / total;
            for side in 0..2 {
                let label = usize::from(self.columns[linkers[1 - side]][row]);
                thin[side][of_side[side].0[at] as usize * n[1 - side] + label] += weight;
            }
        }
        let roots = [0, 1].map(|side| if is_centred { centre(&mut thin[side], n[1 - side]) } else { vec![1.0; of_side[side].1] });
        let mut core = Matrix::zeros(n[1], n[0]);
        for (at, &row) in rows.iter().enumerate() {
            let scale: f64 = (0..2).map(|side| roots[side][of_side[side].0[at] as usize]).product();
            let weight = self.weights[row] / total / scale;
            let [a, b] = [0, 1].map(|side| {
                let size = n[1 - side];
                &thin[side][of_side[side].0[at] as usize * size..][..size]
            });
            for (i, x) in a.iter().enumerate().filter(|it| *it.1 != 0.0) {
                core.row_mut(i).iter_mut().zip(b).for_each(|(cell, y)| *cell += weight * x * y);
            }
        }
        let whitening = [0, 1].map(|side| {
            let size = n[1 - side];
            let thin = &thin[side];
            let mut gram = vec![0.0; size * size];
            for row in thin.chunks_exact(size) {
                for (i, x) in row.iter().enumerate().filter(|it| *it.1 != 0.0) {
                    gram[i * size..(i + 1) * size].iter_mut().zip(row).for_each(|(cell, y)| *cell += x * y);
                }
            }
            orthonormal(&gram, size)
        });
        let inner = whitening[0].transposed_times(&core).times(&whitening[1]);
        let svd = jacobi_svd(inner.cells(), inner.n_rows(), inner.n_cols());
        // The singular value of the constant is 1.
        let largest = if is_centred { 1.0 } else { svd.values.first().copied().unwrap_or(0.0) };
        let there = svd.values.iter().take_while(|&&value| value > SINGULAR * largest && value > 0.0).count();
        let there = (there + usize::from(is_centred)).max(1);
        let rank = linked.rank.min(there);
        if let Rank::Fixed(k) = self.rank
            && rank < k
        {
            let values: Vec<String> = linked.spectrum.values.iter().take(k - 1).map(|value| format!("{value:.3}")).collect();
            let values = if values.is_empty() { "none".to_owned() } else { values.join(", ") };
            let names: Vec<&str> = self.problem.schema.variables().iter().map(|variable| variable.name.as_str()).collect();
            let edge = self.network.describe(edge, &self.problem.tree, &names);
            let noise = linked.spectrum.noise;
            self.lowered
                .push(format!("{edge}: {rank} instead of {k} dimensions; canonical correlations {values}, noise {noise:.3}"));
        }
        let n_found = rank - usize::from(is_centred);
        let sizes = n.map(|n| n.saturating_sub(1));
        let kept = |value: f64| if is_centred { kept_share(value, linked.spectrum.noise, sizes).sqrt() } else { 1.0 };
        let strengths: Vec<f64> = svd.values.iter().map(|&value| value * kept(value)).collect();
        let map = |whitening: &Matrix, vector: &dyn Fn(usize) -> Vec<f64>| {
            let vectors: Vec<Vec<f64>> = (0..n_found).map(vector).collect();
            Matrix::from_fn(whitening.n_rows(), n_found, |i, c| {
                let along: f64 = whitening.row(i).iter().zip(&vectors[c]).map(|(w, u)| w * u).sum();
                along * strengths.get(c).copied().unwrap_or(0.0).sqrt()
            })
        };
        let maps = [
            map(&whitening[0], &|c| if c < svd.values.len() { svd.left(c).to_vec() } else { vec![0.0; inner.n_rows()] }),
            map(&whitening[1], &|c| if c < svd.values.len() { svd.right(c).to_vec() } else { vec![0.0; inner.n_cols()] }),
        ];
        // The first one maps labels of side 1's linker, in the factor of side 0.
        let [of_one, of_zero] = maps;
        let (maps, link) = match is_centred {
            true => self.with_constant(linkers, [of_zero, of_one]),
            false => self.with_unit_moments(linkers, [of_zero, of_one]),
        };
        let values = linked.spectrum.values.iter().take(16).copied().collect();
        Factor { rank, linkers, maps, link, labels: Vec::new(), values, noise: linked.spectrum.noise }
    }
}

impl Splitter<'_> {
    /// Prepends the factors of the constant to those of M'.
    fn with_constant(&self, linkers: [usize; 2], maps: [Matrix; 2]) -> ([Matrix; 2], Vec<f64>) {
        let k = maps[0].n_cols() + 1;
        // Adding a constant to a factor does not change M', because the tables it multiplies have zero margins.
        let centred = [0, 1].map(|side| {
            let (map, shares) = (&maps[side], &self.numbers.shares()[linkers[side]]);
            let mean = |c: usize| shares.iter().enumerate().map(|(x, p)| p * map.row(x)[c]).sum::<f64>();
            let means: Vec<f64> = (0..k - 1).map(mean).collect();
            Matrix::from_fn(map.n_rows(), k - 1, |x, c| map.row(x)[c] - means[c])
        });
        let (scaled, inner) = match k {
            1 => (centred, Vec::new()),
            _ => self.with_unit_moments(linkers, centred),
        };
        let maps = scaled.map(|map| Matrix::from_fn(map.n_rows(), k, |x, c| if c == 0 { 1.0 } else { map.row(x)[c - 1] }));
        let cell = |row: usize, column: usize| match (row, column) {
            (0, 0) => 1.0,
            (0, _) | (_, 0) => 0.0,
            _ => inner[(row - 1) * (k - 1) + column - 1],
        };
        (maps, (0..k * k).map(|at| cell(at / k, at % k)).collect())
    }

    /// The same factors in coordinates with unit second moments, which determine the noise of messages, and the matrix that
    /// then joins them.
    fn with_unit_moments(&self, linkers: [usize; 2], maps: [Matrix; 2]) -> ([Matrix; 2], Vec<f64>) {
        let k = maps[0].n_cols();
        // The principal axes of the moments, and the square roots of their eigenvalues.
        let axes = [0, 1].map(|side| {
            let (map, shares) = (&maps[side], &self.numbers.shares()[linkers[side]]);
            let moment = |a: usize, b: usize| (0..map.n_rows()).map(|x| shares[x] * map.row(x)[a] * map.row(x)[b]).sum();
            let moments: Vec<f64> = (0..k * k).map(|at| moment(at / k, at % k)).collect();
            let (values, vectors) = symmetric_eigen(&moments, k).unwrap_or((vec![0.0; k], identity(k)));
            let largest = values.iter().copied().fold(0.0, f64::max);
            let root = |&value: &f64| if value > NEGLIGIBLE * largest { value.sqrt() } else { 1.0 };
            (values.iter().map(root).collect::<Vec<f64>>(), vectors)
        });
        let scaled = [0, 1].map(|side| {
            let (roots, vectors) = &axes[side];
            let along = Matrix::from_fn(k, k, |i, c| vectors[c * k + i] / roots[c]);
            maps[side].times(&along)
        });
        // The inverse of the joining matrix: their moments.
        let [(roots, vectors), (other_roots, other_vectors)] = &axes;
        let cell = |row: usize, column: usize| {
            let product: f64 = (0..k).map(|i| vectors[row * k + i] * other_vectors[column * k + i]).sum();
            product / (roots[row] * other_roots[column])
        };
        let moments: Vec<f64> = (0..k * k).map(|at| cell(at / k, at % k)).collect();
        (scaled, pseudo_inverse(&moments, k))
    }
}

/// Subtracts `p qᵀ` from a table with `size` cells per row, where p and q are its margins, and divides each row by the square
/// root of its margin. Returns the square roots.
fn centre(table: &mut [f64], size: usize) -> Vec<f64> {
    let mut margin = vec![0.0; size];
    table.chunks_exact(size).for_each(|row| margin.iter_mut().zip(row).for_each(|(sum, cell)| *sum += cell));
    let mut roots = Vec::with_capacity(table.len() / size);
    for row in table.chunks_exact_mut(size) {
        let p: f64 = row.iter().sum();
        let root = p.max(f64::MIN_POSITIVE).sqrt();
        row.iter_mut().zip(&margin).for_each(|(cell, q)| *cell = (*cell - p * q) / root);
        roots.push(root);
    }
    roots
}

fn identity(k: usize) -> Vec<f64> {
    (0..k * k).map(|at| f64::from(u8::from(at / k == at % k))).collect()
}

/// `W` with `Wᵀ G W = 1` on the subspace where a Gram matrix is not zero, as columns.
fn orthonormal(gram: &[f64], n: usize) -> Matrix {
    let Some((values, vectors)) = symmetric_eigen(gram, n) else { return Matrix::zeros(n, 0) };
    let largest = values.iter().copied().fold(0.0, f64::max);
    let kept: Vec<usize> = (0..n).filter(|&ix| values[ix] > NEGLIGIBLE * largest && values[ix] > 0.0).collect();
    Matrix::from_fn(n, kept.len(), |i, c| vectors[kept[c] * n + i] / values[kept[c]].sqrt())
}
