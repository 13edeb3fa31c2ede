//! The estimator of Mossel and Roch (2006) for trees whose hidden nodes have as many states as the leaves have labels, here two.
//!
//! The eigenvectors of `E[x_a x_bᵀ ⟨u, x_c⟩] E[x_a x_bᵀ]⁻¹` are the columns of `P(x_a | h)` where h lies between a, b and c.
//! All other tables follow from pairs.

use latentree::data::Dataset;
use latentree::model::{Distribution, Domain, LatentTree, Table};
use latentree::{ColIx, Error, NodeIx, Result};

type Two = [[f64; 2]; 2];

fn times(a: Two, b: Two) -> Two {
    [0, 1].map(|i| [0, 1].map(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j]))
}

fn transposed(a: Two) -> Two {
    [[a[0][0], a[1][0]], [a[0][1], a[1][1]]]
}

fn inverse(a: Two) -> Two {
    let mut det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
    if det.abs() < 1e-12 {
        det = 1e-12;
    }
    [[a[1][1] / det, -a[0][1] / det], [-a[1][0] / det, a[0][0] / det]]
}

/// The eigenvectors as columns that sum to 1.
fn eigenvectors(a: Two) -> Two {
    let (half, det) = ((a[0][0] + a[1][1]) / 2.0, a[0][0] * a[1][1] - a[0][1] * a[1][0]);
    let root = (half * half - det).max(0.0).sqrt();
    let column = |value: f64| {
        // The row of A − λ with the larger numbers is orthogonal to the vector.
        let rows = [[a[0][0] - value, a[0][1]], [a[1][0], a[1][1] - value]];
        let length = |row: &[f64; 2]| row[0].abs() + row[1].abs();
        let row = if length(&rows[0]) >= length(&rows[1]) { rows[0] } else { rows[1] };
        let (x, y) = (-row[1], row[0]);
        let sum = if (x + y).abs() < 1e-12 { 1e-12 } else { x + y };
        [x / sum, y / sum]
    };
    transposed([column(half + root), column(half - root)])
}

/// Proportions that are not negative, as a distribution.
fn distribution(values: [f64; 2]) -> [f64; 2] {
    let values = values.map(|value| value.max(1e-6));
    let sum = values[0] + values[1];
    values.map(|value| value / sum)
}

struct Rows(Vec<Vec<u8>>);

impl Rows {
    /// The table of two columns, of the rows that have a label of a third if one is given.
    fn pair(&self, a: usize, b: usize, third: Option<(usize, u8)>) -> Two {
        let mut out = [[0.0; 2]; 2];
        let n = self.0[a].len();
        for row in (0..n).filter(|&row| third.is_none_or(|(c, label)| self.0[c][row] == label)) {
            out[usize::from(self.0[a][row])][usize::from(self.0[b][row])] += 1.0 / n as f64;
        }
        out
    }
}

/// A model of a tree with binary nodes.
pub(crate) fn learn(truth: &LatentTree, rows: &Dataset) -> Result<LatentTree> {
    let (tree, schema) = (truth.tree(), truth.schema());
    if schema.columns().iter().any(|column| column.kind.n_states() != Some(2)) {
        return Err(Error::option("--trees", "mossel-roch is for two labels and two states"));
    }
    let column = |ix: usize| {
        let batches = rows.batches().iter();
        batches.flat_map(move |batch| (0..batch.n_rows).map(move |row| batch.number(row, ColIx::new(ix)) as u8)).collect()
    };
    let rows = Rows((0..schema.columns().len()).map(column).collect());
    let variable = |node: NodeIx| schema.find_variable(tree.name(node)).map(|it| it.get()).unwrap_or(0);
    // The nearest leaf behind each neighbour.
    let leaf_behind = |node: NodeIx, next: NodeIx| {
        let mut queue = std::collections::VecDeque::from([(next, node)]);
        while let Some((at, before)) = queue.pop_front() {
            if tree.is_observed(at) {
                return variable(at);
            }
            queue.extend(tree.links(at).iter().filter(|link| link.to != before).map(|link| (link.to, at)));
        }
        0
    };
    // For each hidden node a leaf and its table given the node.
    let views: Vec<Option<(usize, Two)>> = tree
        .node_ixs()
        .map(|node| {
            (!tree.is_observed(node)).then(|| {
                let leaves: Vec<usize> = tree.links(node).iter().map(|link| leaf_behind(node, link.to)).collect();
                let (a, b, c) = (leaves[0], leaves[1], leaves[2]);
                let whole = inverse(rows.pair(a, b, None));
                (a, eigenvectors(times(rows.pair(a, b, Some((c, 0))), whole)))
            })
        })
        .collect();
    let root = truth.rooted().order[0];
    let mut builder = LatentTree::builder(std::sync::Arc::clone(schema), tree.clone()).root(root);
    for node in tree.node_ixs() {
        if !tree.is_observed(node) {
            builder = builder.hidden(node, Domain::numbered(2));
        }
        let values: Vec<f64> = match truth.parent(node) {
            None => {
                let (a, table) = views[node.get()].ok_or_else(|| Error::option("--trees", "the root is observed"))?;
                let shares = rows.pair(a, a, None);
                let inverse = inverse(table);
                distribution([0, 1].map(|h| inverse[h][0] * shares[0][0] + inverse[h][1] * shares[1][1])).to_vec()
            }
            Some(parent) => {
                let (a, table) = views[parent.get()].ok_or_else(|| Error::option("--trees", "an inner node is observed"))?;
                // P(parent, child) from a leaf of each; a leaf on the child's own side would not be independent of it given the
                // parent.
                let (a, table) = other_view(&rows, &leaf_behind, tree, parent, node, (a, table));
                let joint = match views[node.get()] {
                    None => times(inverse(table), rows.pair(a, variable(node), None)),
                    Some((b, own)) => {
                        let b = if leaf_behind(node, parent) == b { None } else { Some((b, own)) };
                        let (b, own) = b.unwrap_or_else(|| {
                            let next = tree.links(node).iter().find(|link| link.to != parent).map_or(parent, |link| link.to);
                            other_leaf(&rows, leaf_behind(node, next), views[node.get()].unwrap_or((a, table)))
                        });
                        times(times(inverse(table), rows.pair(a, b, None)), inverse(transposed(own)))
                    }
                };
                joint.into_iter().flat_map(distribution).collect()
            }
        };
        builder = builder.distribution(node, Distribution::Discrete(Table::new(2, values)));
    }
    builder.build()
}

/// A view of the parent by a leaf that is not on the child's side.
fn other_view(
    rows: &Rows,
    leaf_behind: &dyn Fn(NodeIx, NodeIx) -> usize,
    tree: &latentree::tree::Tree,
    parent: NodeIx,
    child: NodeIx,
    view: (usize, Two),
) -> (usize, Two) {
    if leaf_behind(parent, child) != view.0 {
        return view;
    }
    let next = tree.links(parent).iter().find(|link| link.to != child).map_or(child, |link| link.to);
    other_leaf(rows, leaf_behind(parent, next), view)
}

/// The table of another leaf given the same node: `P(node, leaf) = O⁻¹ E[x_a x_leafᵀ]`.
fn other_leaf(rows: &Rows, leaf: usize, (a, table): (usize, Two)) -> (usize, Two) {
    let joint = times(inverse(table), rows.pair(a, leaf, None));
    (leaf, transposed(joint.map(distribution)))
}
