//! The neighbourhood of one or two hidden nodes as a patch, and the way back into its net.

use std::ops::Range;

use super::{Column, Columns, Leaf, Messages, Net, Node, Patch, Source, times, turned};

/// A branch of a node of a local patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Branch {
    Variable(usize),
    Hidden(usize),
}

/// A patch around some hidden nodes of a net.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    pub(crate) patch: Patch,
    /// The node of the net for each node of the patch; `None` for a new one.
    pub(crate) nodes: Vec<Option<usize>>,
    /// Their branches, with the leaves of each.
    pub(crate) branches: Vec<(Branch, Range<usize>)>,
    /// Nodes of the net that the patch replaces and removes.
    pub(crate) removed: Vec<usize>,
    /// The variable that replaces its first node, if any.
    pub(crate) observes: Option<usize>,
}

/// A net and everything that local patches need from it.
pub(crate) struct Context<'a> {
    pub(crate) net: &'a Net,
    pub(crate) columns: &'a Columns,
    pub(crate) messages: &'a Messages,
    pub(crate) marginals: Vec<Vec<f64>>,
    pub(crate) children: Vec<Vec<usize>>,
    pub(crate) leaves: Vec<Vec<usize>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(net: &'a Net, columns: &'a Columns, messages: &'a Messages) -> Self {
        Self { net, columns, messages, marginals: net.marginals(), children: net.children(), leaves: net.leaves() }
    }

    /// Number of neighbours of a hidden node.
    pub(crate) fn degree(&self, hidden: usize) -> usize {
        self.children[hidden].len() + self.leaves[hidden].len() + usize::from(self.net.parent[hidden].is_some())
    }

    /// The neighbourhood of one hidden node.
    pub(crate) fn star(&self, hidden: usize) -> Local {
        let net = self.net;
        let mut local = Local {
            patch: Patch {
                nodes: vec![Node { n_states: net.states[hidden], parent: None, table: self.marginals[hidden].clone() }],
                leaves: Vec::new(),
                background: None,
            },
            nodes: vec![Some(hidden)],
            branches: Vec::new(),
            removed: Vec::new(),
            observes: None,
        };
        self.add_below(&mut local, 0, hidden);
        self.add_above(&mut local, 0, hidden);
        self.add_identity(&mut local, 0, hidden);
        local
    }

    /// A hidden node below its parent, which comes first; all other evidence at the parent is fixed.
    pub(crate) fn pair(&self, hidden: usize, parent: usize) -> Option<Local> {
        let net = self.net;
        let root = Node { n_states: net.states[parent], parent: None, table: self.marginals[parent].clone() };
        let below = Node { n_states: net.states[hidden], parent: Some(0), table: net.table[hidden].clone() };
        let rest = Leaf { at: 0, source: Source::Fixed(self.messages.down[hidden].clone()?), values: Vec::new() };
        let mut local = Local {
            patch: Patch { nodes: vec![root, below], leaves: vec![rest], background: None },
            nodes: vec![Some(parent), Some(hidden)],
            branches: Vec::new(),
            removed: Vec::new(),
            observes: None,
        };
        self.add_below(&mut local, 1, hidden);
        self.add_identity(&mut local, 1, hidden);
        Some(local)
    }

    /// A hidden node below its parent, which comes first, with all branches of both.
    pub(crate) fn edge(&self, hidden: usize, parent: usize) -> Local {
        let net = self.net;
        let mut local = self.star(parent);
        let at = local.branches.iter().position(|(branch, _)| *branch == Branch::Hidden(hidden)).expect("a child of its parent");
        let (_, gone) = local.branches.remove(at);
        local.patch.leaves.remove(gone.start);
        for (_, leaves) in local.branches.iter_mut().filter(|(_, leaves)| leaves.start > gone.start) {
            *leaves = leaves.start - 1..leaves.end - 1;
        }
        local.patch.nodes.push(Node { n_states: net.states[hidden], parent: Some(0), table: net.table[hidden].clone() });
        local.nodes.push(Some(hidden));
        self.add_below(&mut local, 1, hidden);
        self.add_identity(&mut local, 1, hidden);
        local
    }

    fn add_identity(&self, local: &mut Local, at: usize, node: usize) {
        if let Some(variable) = self.net.observed[node] {
            local.patch.leaves.push(super::identity(at, variable, self.columns));
        }
    }

    fn add_below(&self, local: &mut Local, at: usize, hidden: usize) {
        for &variable in &self.leaves[hidden] {
            let first = local.patch.leaves.len();
            for &column in &self.columns.of_variable[variable] {
                let values = self.net.values[column].clone();
                local.patch.leaves.push(Leaf { at, source: Source::Column(column), values });
            }
            local.branches.push((Branch::Variable(variable), first..local.patch.leaves.len()));
        }
        for &child in &self.children[hidden] {
            let first = local.patch.leaves.len();
            let source = Source::Soft(self.messages.up[child].clone());
            local.patch.leaves.push(Leaf { at, source, values: self.net.table[child].clone() });
            local.branches.push((Branch::Hidden(child), first..first + 1));
        }
    }

    fn add_above(&self, local: &mut Local, at: usize, hidden: usize) {
        if let (Some(parent), Some(down)) = (self.net.parent[hidden], &self.messages.down[hidden]) {
            let first = local.patch.leaves.len();
            let (_, values) = turned(&self.marginals[parent], &self.net.table[hidden], self.net.states[hidden]);
            local.patch.leaves.push(Leaf { at, source: Source::Soft(down.clone()), values });
            local.branches.push((Branch::Hidden(parent), first..first + 1));
        }
    }
}

impl Local {
    /// Merges the two nodes into one, with the states of the first.
    pub(crate) fn joined(&self, columns: &Columns) -> Self {
        let mut local = self.clone();
        let below = &self.patch.nodes[1];
        local.patch.nodes.truncate(1);
        local.nodes.truncate(1);
        local.removed = self.nodes[1].into_iter().collect();
        for leaf in local.patch.leaves.iter_mut().filter(|leaf| leaf.at == 1) {
            leaf.values = through_leaf(&below.table, &leaf.values, below.n_states, &leaf.source, columns);
            leaf.at = 0;
        }
        local
    }

    /// Returns whether a branch hangs on the second node.
    pub(crate) fn is_below(&self, branch: usize) -> bool {
        self.patch.leaves[self.branches[branch].1.start].at == 1
    }

    /// Moves one branch to the other of the two nodes.
    pub(crate) fn with_moved_branch(&self, branch: usize, columns: &Columns) -> Self {
        let mut local = self.clone();
        let [first, second] = [&self.patch.nodes[0], &self.patch.nodes[1]];
        let (to, of, table) = if self.is_below(branch) {
            (0, second.n_states, second.table.clone())
        } else {
            (1, first.n_states, turned(&first.table, &second.table, second.n_states).1)
        };
        for leaf in &mut local.patch.leaves[self.branches[branch].1.clone()] {
            leaf.values = through_leaf(&table, &leaf.values, of, &leaf.source, columns);
            leaf.at = to;
        }
        local
    }

    /// These two nodes in the arrangement of another patch around them: with the same branches moved, or merged into the same
    /// node.
    pub(crate) fn arranged_as(&self, other: &Self, columns: &Columns) -> Self {
        if other.nodes.len() == 1 {
            return if other.nodes[0] == self.nodes[0] { self.joined(columns) } else { self.turned().joined(columns) };
        }
        let moved = (0..self.branches.len()).filter(|&branch| self.is_below(branch) != other.is_below(branch));
        moved.fold(self.clone(), |local, branch| local.with_moved_branch(branch, columns))
    }

    /// The same two nodes with the second one as the root.
    pub(crate) fn turned(&self) -> Self {
        let mut local = self.clone();
        let [first, second] = [&self.patch.nodes[0], &self.patch.nodes[1]];
        let (own, table) = turned(&first.table, &second.table, second.n_states);
        local.patch.nodes = vec![
            Node { n_states: second.n_states, parent: None, table: own },
            Node { n_states: first.n_states, parent: Some(0), table },
        ];
        local.patch.leaves.iter_mut().for_each(|leaf| leaf.at = 1 - leaf.at);
        local.nodes.reverse();
        local
    }

    /// Puts the patch back into its net. Removed nodes stay, without neighbours, until the net is compacted.
    pub(crate) fn apply(&self, net: &mut Net) {
        let root = self.nodes[0].expect("the first node is one of the net's");
        net.reroot(root);
        let place: Vec<usize> = self
            .nodes
            .iter()
            .map(|node| {
                node.unwrap_or_else(|| {
                    net.states.push(0);
                    net.parent.push(None);
                    net.table.push(Vec::new());
                    net.observed.push(None);
                    net.states.len() - 1
                })
            })
            .collect();
        for (node, &at) in self.patch.nodes.iter().zip(&place) {
            net.states[at] = node.n_states;
            net.table[at].clone_from(&node.table);
            net.parent[at] = node.parent.map(|parent| place[parent]);
        }
        for (branch, leaves) in &self.branches {
            let own = &self.patch.leaves[leaves.clone()];
            let at = place[own[0].at];
            match branch {
                Branch::Variable(variable) => {
                    net.leaf_of[*variable] = at;
                    for leaf in own {
                        if let Source::Column(column) = leaf.source {
                            net.values[column].clone_from(&leaf.values);
                        }
                    }
                }
                Branch::Hidden(hidden) => {
                    net.parent[*hidden] = Some(at);
                    net.table[*hidden].clone_from(&own[0].values);
                }
            }
        }
        if let Some(variable) = self.observes {
            net.observed[root] = Some(variable);
            net.leaf_of[variable] = super::INNER;
        }
        for &gone in &self.removed {
            net.states[gone] = 0;
            net.parent[gone] = None;
        }
    }
}

impl Net {
    /// Deletes removed nodes.
    pub(crate) fn compact(&mut self) {
        let kept: Vec<usize> = (0..self.n_hidden()).filter(|&ix| self.states[ix] > 0).collect();
        let mut place = vec![super::ALONE; self.n_hidden()];
        kept.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        self.states = kept.iter().map(|&ix| self.states[ix]).collect();
        self.parent = kept.iter().map(|&ix| self.parent[ix].map(|parent| place[parent])).collect();
        self.table = kept.iter().map(|&ix| std::mem::take(&mut self.table[ix])).collect();
        self.observed = kept.iter().map(|&ix| self.observed[ix]).collect();
        let leaf_of = self.leaf_of.iter().map(|&at| if at >= super::INNER { at } else { place[at] });
        self.leaf_of = leaf_of.collect();
    }

    /// Removes hidden nodes with fewer than three neighbours, except for a node with just two variables. Branches of a
    /// removed node are attached to its neighbour, or two neighbours to each other; a node without hidden neighbours leaves
    /// its variable alone. An observed node whose only neighbour is another node becomes its leaf.
    pub(crate) fn prune(&mut self, columns: &Columns) {
        loop {
            let (children, leaves) = (self.children(), self.leaves());
            let n_near = |ix: usize| children[ix].len() + usize::from(self.parent[ix].is_some());
            let is_weak = |ix: usize| {
                let degree = n_near(ix) + leaves[ix].len();
                match self.observed[ix] {
                    Some(_) => degree == 0 || (degree == 1 && n_near(ix) == 1),
                    None => degree < 3 && (leaves[ix].len() < 2 || degree > leaves[ix].len()),
                }
            };
            let Some(weak) = (0..self.n_hidden()).find(|&ix| self.states[ix] > 0 && is_weak(ix)) else {
                break;
            };
            if let Some(variable) = self.observed[weak] {
                // The variable becomes a leaf, or stands alone.
                self.reroot(weak);
                let column = columns.of_variable[variable][0];
                match self.children()[weak].first().copied() {
                    None => {
                        self.leaf_of[variable] = super::ALONE;
                        self.values[column].clone_from(&self.table[weak]);
                    }
                    Some(heir) => {
                        let (own, values) = turned(&self.table[weak], &self.table[heir], self.states[heir]);
                        (self.table[heir], self.values[column]) = (own, values);
                        self.parent[heir] = None;
                        self.leaf_of[variable] = heir;
                    }
                }
                self.states[weak] = 0;
                self.parent[weak] = None;
                self.observed[weak] = None;
                continue;
            }
            self.reroot(weak);
            let (children, weight) = (self.children(), self.table[weak].clone());
            let k = self.states[weak];
            match (children[weak].first().copied(), children[weak].get(1).copied()) {
                (None, _) => {
                    // A single variable, or nothing.
                    for &variable in &leaves[weak] {
                        self.leaf_of[variable] = super::ALONE;
                        for &column in &columns.of_variable[variable] {
                            self.values[column] = through(&weight, &self.values[column], k, &columns.columns[column]);
                        }
                    }
                }
                (Some(heir), other) => {
                    let (own, above) = turned(&weight, &self.table[heir], self.states[heir]);
                    self.table[heir] = own;
                    self.parent[heir] = None;
                    if let Some(other) = other {
                        let n = self.states[other];
                        self.table[other] = above.chunks_exact(k).flat_map(|row| times(row, &self.table[other], n)).collect();
                        self.parent[other] = Some(heir);
                    }
                    for &variable in &leaves[weak] {
                        self.leaf_of[variable] = heir;
                        for &column in &columns.of_variable[variable] {
                            self.values[column] = through(&above, &self.values[column], k, &columns.columns[column]);
                        }
                    }
                }
            }
            self.states[weak] = 0;
            self.parent[weak] = None;
        }
        self.compact();
    }
}

/// The parameters of a column given the states of another node, which is linked to the column's own node by a table with
/// `n_states` columns.
fn through(table: &[f64], values: &[f64], n_states: usize, column: &Column) -> Vec<f64> {
    match column {
        Column::Numbers { is_count: false, .. } => table
            .chunks_exact(n_states)
            .flat_map(|row| {
                let mean: f64 = row.iter().zip(values.chunks_exact(2)).map(|(weight, own)| weight * own[0]).sum();
                let square: f64 =
                    row.iter().zip(values.chunks_exact(2)).map(|(weight, own)| weight * (own[0] * own[0] + own[1])).sum();
                [mean, (square - mean * mean).max(1e-12)]
            })
            .collect(),
        other => table.chunks_exact(n_states).flat_map(|row| times(row, values, other.width())).collect(),
    }
}

/// The parameters of a leaf given the states of another node, which is linked to the leaf's own node by a table with
/// `n_states` columns.
pub(crate) fn through_leaf(table: &[f64], values: &[f64], n_states: usize, source: &Source, columns: &Columns) -> Vec<f64> {
    match source {
        Source::Column(column) => through(table, values, n_states, &columns.columns[*column]),
        Source::Soft(soft) => table.chunks_exact(n_states).flat_map(|row| times(row, values, soft.n_states)).collect(),
        Source::Fixed(_) | Source::Identity(_) => Vec::new(),
    }
}
