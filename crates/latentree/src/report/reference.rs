//! Compares a tree with a manually created hierarchy of its variables: chapters of diagnoses, phecodes, concepts.
//!
//! The hierarchy is rooted, and all variables are its leaves. Measures that need a distance use that of the model:
//! `√(2 (1 − ρ))` of each pair ([`LatentTree::implied_distances`](crate::model::LatentTree::implied_distances)) if all
//! variables are categorical, and path lengths otherwise. A tree without tables, such as a dendrogram, has only path lengths.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::data::{read_columns, table_columns};
use crate::error::{Error, Place, Result, Shortened};
use crate::format::View;
use crate::tree::{Edge, Node, Split, Tree};
use crate::{NodeIx, counted};

/// Number of triples and quartets to sample if there are more.
const SAMPLED: usize = 200_000;
/// The distance between variables in different trees of a forest, in edges.
const FAR: u32 = 1 << 20;

/// A hierarchy: the parent of each item and of each group.
#[derive(Debug, Clone, Default)]
pub struct Hierarchy {
    parent_of: BTreeMap<String, String>,
    /// Items and groups that are given several parents.
    several: BTreeSet<String>,
    /// Items whose only group has their own name; nothing is above them.
    alone: BTreeSet<String>,
}

impl Hierarchy {
    /// Builds a hierarchy from pairs of a child and its parent; if a child has several parents, the first one counts. A child
    /// that is its own parent is an item, and that says nothing of what is above it: code 496 in a group 496.
    ///
    /// # Errors
    /// [`Error::Tree`] if an item is its own ancestor.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let mut hierarchy = Self::default();
        for (child, parent) in pairs {
            if child.is_empty() || parent.is_empty() {
                continue;
            }
            if child == parent {
                hierarchy.alone.insert(child);
                continue;
            }
            match hierarchy.parent_of.get(&child) {
                Some(first) if *first != parent => drop(hierarchy.several.insert(child)),
                Some(_) => {}
                None => drop(hierarchy.parent_of.insert(child, parent)),
            }
        }
        hierarchy.alone.retain(|item| !hierarchy.parent_of.contains_key(item));
        let mut is_sound: HashSet<&str> = HashSet::new();
        for start in hierarchy.parent_of.keys() {
            let mut above: HashSet<&str> = HashSet::new();
            let mut at = start.as_str();
            while !is_sound.contains(at) {
                if !above.insert(at) {
                    return Err(Error::tree(format!("{at:?} is its own ancestor in the reference hierarchy")));
                }
                let Some(parent) = hierarchy.parent_of.get(at) else { break };
                at = parent;
            }
            is_sound.extend(above);
        }
        Ok(hierarchy)
    }

    /// Reads a table of items, with columns from the item to its highest group, such as `code`, `chapter`. Unless they are
    /// named, columns called `child` and `parent`, `code` and `parent_codes` (MEDS) or `item` and `group` are used, or the
    /// only two.
    ///
    /// # Errors
    /// Fails if the file cannot be read, lacks a column, or has an item that is its own ancestor.
    pub fn read(path: &Path, columns: Option<&[String]>) -> Result<Self> {
        let names = table_columns(path)?;
        let usual = [["child", "parent"], ["code", "parent_codes"], ["item", "group"]];
        let has = |name: &str| names.iter().any(|it| it.eq_ignore_ascii_case(name));
        let wanted: Vec<String> = match columns {
            Some(columns) => columns.to_vec(),
            None => match usual.iter().find(|pair| pair.iter().all(|name| has(name))) {
                Some(pair) => pair.iter().map(|&name| name.to_owned()).collect(),
                None if names.len() == 2 => names.clone(),
                None => {
                    let problem = format!(
                        "it has the columns {}; name those from the item to its highest group, as in {}:{}",
                        names.join(", "),
                        path.display(),
                        names.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(",")
                    );
                    return Err(Error::data(Place::file(path), problem));
                }
            },
        };
        if let Some(absent) = wanted.iter().find(|name| !has(name)) {
            let problem = format!("it has no column {absent:?}; it has {}", names.join(", "));
            return Err(Error::data(Place::file(path), problem));
        }
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let mut pairs = Vec::new();
        for row in read_columns(path, &wanted)? {
            let way: Vec<Vec<String>> = row.iter().map(|cell| listed(cell)).filter(|cell| !cell.is_empty()).collect();
            if row.first().is_some_and(|item| !item.is_empty()) {
                let steps = way.windows(2).flat_map(|step| step[1].iter().map(|parent| (step[0][0].clone(), parent.clone())));
                pairs.extend(steps);
            }
        }
        Self::new(pairs).map_err(|error| error.in_file(path))
    }

    /// Moves each item below its longest proper prefix that is also an item: 250.11 below 250.1, and 250.1 below 250. Items are
    /// those listed, and those of the data (`more`) that have a listed prefix.
    #[must_use]
    pub fn with_prefixes<'a>(mut self, more: impl IntoIterator<Item = &'a str>) -> Self {
        let listed: Vec<String> = self.parent_of.keys().chain(&self.alone).cloned().collect();
        let mut more: Vec<String> = more.into_iter().filter(|item| !self.knows(item)).map(str::to_owned).collect();
        // Prefixes come before the items that they begin.
        more.sort_by_key(String::len);
        for item in more.iter().chain(&listed) {
            let ends = item.char_indices().map(|(at, _)| at).rev().filter(|&at| at > 0);
            let mut prefixes = ends.map(|at| item[..at].trim_end_matches('.'));
            // An item is not moved below its own descendant.
            let is_above = |prefix: &&str| self.knows(prefix) && self.above(prefix).all(|it| it != item);
            if let Some(prefix) = prefixes.find(is_above) {
                self.parent_of.insert(item.clone(), prefix.to_owned());
                self.several.remove(item);
                self.alone.remove(item);
            }
        }
        self
    }

    fn knows(&self, item: &str) -> bool {
        self.parent_of.contains_key(item) || self.alone.contains(item)
    }

    /// Some of the items, to show what they look like.
    fn examples(&self) -> String {
        let shown: Vec<String> =
            self.parent_of.keys().chain(&self.alone).take(3).map(|it| format!("{:?}", Shortened(it))).collect();
        shown.join(", ")
    }

    /// The ancestors of an item, nearest first.
    fn above<'a>(&'a self, item: &str) -> impl Iterator<Item = &'a str> {
        let next = |name: &str| self.parent_of.get(name).map(String::as_str);
        std::iter::successors(next(item), move |name| self.parent_of.get(*name).map(String::as_str))
    }
}

/// The names in a cell: one, or several parents written as `[a, b]`.
fn listed(cell: &str) -> Vec<String> {
    let cell = cell.trim();
    let names = match cell.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => inner.split(',').map(|name| name.trim().to_owned()).collect(),
        None => vec![cell.to_owned()],
    };
    names.into_iter().filter(|name| !name.is_empty()).collect()
}

/// Agreement between a tree and a hierarchy.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// Number of variables present in both.
    pub n_variables: usize,
    /// Variables of the tree that are not in the hierarchy and are left out.
    pub unknown: Vec<String>,
    /// Variables, and groups above them, to which the hierarchy gives several parents, of which the first counts.
    pub several_parents: Vec<String>,
    /// Number of splits that only one of the two has; splits of a single variable from the rest do not count.
    pub robinson_foulds: usize,
    /// The same, divided by the total number of splits of both.
    pub robinson_foulds_normalized: f64,
    /// The same, divided by p²; Huang et al. 2020, Table 3, report values of this magnitude without stating their
    /// normalisation.
    pub robinson_foulds_huang: f64,
    /// Number of splits of the hierarchy.
    pub n_reference_splits: usize,
    /// Number of splits that both have.
    pub n_matched_splits: usize,
    /// Share of the triples resolved by the hierarchy in which the tree's distances join the same pair first.
    pub triplets: Option<f64>,
    /// Share of the quartets that the hierarchy resolves two and two that the tree resolves alike; an unresolved one counts a
    /// third.
    pub quartets: Option<f64>,
    /// Shares of these quartets that the tree resolves differently, and that it leaves unresolved; it resolves the others
    /// alike.
    pub quartets_otherwise: Option<[f64; 2]>,
    /// Number of groups of the hierarchy: the highest nodes that do not contain all variables.
    pub n_groups: usize,
    /// Share of variables whose nearest variable is in the same group, among those whose group has others.
    pub nearest_same_group: Option<f64>,
    /// The same for a randomly drawn variable.
    pub nearest_by_chance: Option<f64>,
    /// Area under the ROC curve of "same group" by distance: the probability that two variables of a group are closer than
    /// two of different groups.
    pub same_group_auc: Option<f64>,
}

/// Compares a tree or model with a hierarchy. `code_of` maps a variable to its name in the hierarchy.
///
/// # Errors
/// [`Error::Mismatch`] if fewer than three variables are in the hierarchy; [`Error::Tree`] if the tree has no lengths.
pub fn agreement<'a>(
    what: impl Into<View<'a>>,
    hierarchy: &Hierarchy,
    code_of: impl Fn(&str) -> String,
    seed: u64,
) -> Result<Agreement> {
    let view = what.into();
    let tree = view.with_lengths();
    let observed: Vec<NodeIx> = tree.node_ixs().filter(|&node| tree.is_observed(node)).collect();
    let codes: Vec<String> = observed.iter().map(|&node| code_of(tree.name(node))).collect();
    let known: Vec<usize> = (0..observed.len()).filter(|&ix| hierarchy.knows(&codes[ix])).collect();
    let unknown: Vec<String> = (0..observed.len()).filter(|ix| !known.contains(ix)).map(|ix| codes[ix].clone()).collect();
    if known.len() < 3 {
        let are = if known.len() == 1 { "is an item" } else { "are items" };
        let problem = format!(
            "{} of {} ({}, …) {are} of the reference, and three are needed; the reference has {}, …: are these the codes of the data?",
            known.len(),
            counted(observed.len(), "variable"),
            codes.iter().take(3).map(|code| format!("{:?}", Shortened(code))).collect::<Vec<_>>().join(", "),
            hierarchy.examples()
        );
        return Err(Error::Mismatch { left: "the tree".to_owned(), right: "the reference".to_owned(), problem });
    }
    let items: Vec<&str> = known.iter().map(|&ix| codes[ix].as_str()).collect();
    let with_above: BTreeSet<&str> = items.iter().flat_map(|item| std::iter::once(*item).chain(hierarchy.above(item))).collect();
    let several_parents = with_above.into_iter().filter(|name| hierarchy.several.contains(*name)).map(str::to_owned).collect();
    let reference = reference_tree(hierarchy, &items)?;
    let estimate = restricted(&tree, &known.iter().map(|&ix| observed[ix]).collect::<Vec<_>>(), &items)?;
    let (a, b) = (splits(&reference), splits(&estimate));
    let n_matched = a.iter().filter(|split| b.contains(split)).count();
    let distance = a.len() + b.len() - 2 * n_matched;
    let p = items.len();
    let distances = distances(&view, &tree, &known)?;
    let steps = [&reference, &estimate].map(|tree| edge_counts(tree, &items));
    let depths = common_depths(hierarchy, &items);
    let groups = groups(hierarchy, &items);
    let (nearest, by_chance) = nearest_same_group(&distances, &groups);
    let quartets = quartets(&steps[0], &steps[1], p, seed);
    Ok(Agreement {
        n_variables: p,
        unknown,
        several_parents,
        robinson_foulds: distance,
        robinson_foulds_normalized: if a.is_empty() && b.is_empty() { 0.0 } else { distance as f64 / (a.len() + b.len()) as f64 },
        robinson_foulds_huang: distance as f64 / (p * p) as f64,
        n_reference_splits: a.len(),
        n_matched_splits: n_matched,
        triplets: triplets(&depths, &distances, p, seed),
        quartets: quartets.map(|[alike, _, undivided]| alike + undivided / 3.0),
        quartets_otherwise: quartets.map(|[_, otherwise, undivided]| [otherwise, undivided]),
        n_groups: groups.iter().collect::<HashSet<_>>().len(),
        nearest_same_group: nearest,
        nearest_by_chance: by_chance,
        same_group_auc: same_group_auc(&distances, &groups),
    })
}

/// The hierarchy restricted to some items, as a tree with these as leaves.
fn reference_tree(hierarchy: &Hierarchy, items: &[&str]) -> Result<Tree> {
    let mut nodes: Vec<Node> = items.iter().map(|item| Node { name: (*item).to_owned(), observed: true }).collect();
    let mut place: HashMap<&str, usize> = HashMap::new();
    let mut edges = Vec::new();
    let inner = |name: &'_ str, nodes: &mut Vec<Node>| {
        nodes.push(Node { name: format!("\u{0}{name}"), observed: false });
        nodes.len() - 1
    };
    let is_item: HashSet<&str> = items.iter().copied().collect();
    let has_below: HashSet<&str> = items.iter().flat_map(|item| hierarchy.above(item)).collect();
    let root = inner("\u{0}", &mut nodes);
    for (leaf, item) in items.iter().enumerate() {
        // An item with others below it becomes a leaf at its own inner node.
        let own = Some(*item).filter(|item| is_item.contains(item) && has_below.contains(item));
        let mut below = leaf;
        let mut is_new = true;
        for name in own.into_iter().chain(hierarchy.above(item)) {
            let known = place.get(name).copied();
            let at = known.unwrap_or_else(|| inner(name, &mut nodes));
            edges.push(Edge::with_length(NodeIx::new(below), NodeIx::new(at), 1.0));
            if known.is_some() {
                is_new = false;
                break;
            }
            // The names live as long as the hierarchy, or the items.
            place.insert(name, at);
            below = at;
        }
        if is_new {
            edges.push(Edge::with_length(NodeIx::new(below), NodeIx::new(root), 1.0));
        }
    }
    Ok(Tree::from_parts(nodes, &edges)?.minimal())
}

/// The tree restricted to some observed nodes, named by their codes.
fn restricted(tree: &Tree, kept: &[NodeIx], items: &[&str]) -> Result<Tree> {
    let code: HashMap<NodeIx, &str> = kept.iter().copied().zip(items.iter().copied()).collect();
    let nodes = tree.node_ixs().map(|node| match code.get(&node) {
        Some(item) => Node { name: (*item).to_owned(), observed: true },
        None => Node { name: format!("\u{0}{}", node.get()), observed: false },
    });
    joined(&Tree::from_parts(nodes.collect(), &tree.edges().collect::<Vec<_>>())?.minimal())
}

/// Joins a forest into one tree: its trees meet at a hidden node, each attached at the middle of its longest path. Trees
/// without a dependence between them are as far apart as possible, like the highest groups of a hierarchy.
fn joined(forest: &Tree) -> Result<Tree> {
    if forest.is_connected() {
        return Ok(forest.clone());
    }
    let mut nodes = forest.nodes().to_vec();
    let mut edges: Vec<Edge> = forest.edges().collect();
    let add_hidden = |nodes: &mut Vec<Node>| {
        nodes.push(Node { name: format!("\u{0}\u{0}{}", nodes.len()), observed: false });
        NodeIx::new(nodes.len() - 1)
    };
    let hub = add_hidden(&mut nodes);
    let mut seen = vec![false; forest.n_nodes()];
    for start in forest.node_ixs() {
        if seen[start.get()] {
            continue;
        }
        // The last node visited in order of distance is a farthest one.
        let farthest = |from: NodeIx, seen: &mut Vec<bool>| {
            let mut queue = std::collections::VecDeque::from([(from, from)]);
            let mut last = from;
            while let Some((node, back)) = queue.pop_front() {
                seen[node.get()] = true;
                last = node;
                queue.extend(forest.links(node).iter().filter(|link| link.to != back).map(|link| (link.to, node)));
            }
            last
        };
        let end = farthest(start, &mut seen);
        let other = farthest(end, &mut seen);
        let path = forest.path(end, other).unwrap_or_else(|| vec![start]);
        let middle = path[path.len() / 2];
        let at = if path.len() % 2 == 1 {
            middle
        } else {
            let before = path[path.len() / 2 - 1];
            edges.retain(|edge| ![(edge.a, edge.b), (edge.b, edge.a)].contains(&(before, middle)));
            let between = add_hidden(&mut nodes);
            edges.extend([before, middle].map(|end| Edge::with_length(end, between, 1.0)));
            between
        };
        edges.push(Edge::with_length(at, hub, 1.0));
    }
    Ok(Tree::from_parts(nodes, &edges)?.minimal())
}

/// The splits with at least two variables on each side.
fn splits(tree: &Tree) -> HashSet<Split> {
    let all = tree.splits();
    let trivial: HashSet<Split> = all.trivial().collect();
    all.iter().filter(|split| !trivial.contains(split)).collect()
}

/// Distances between the known variables, row by row.
fn distances(view: &View<'_>, tree: &Tree, known: &[usize]) -> Result<Vec<f64>> {
    let p = known.len();
    let implied = view.model().and_then(|model| Some((model.implied_distances()?, model.tree().n_observed())));
    let mut all = vec![0.0; p * p];
    match implied {
        Some((implied, n)) => {
            for (i, &row) in known.iter().enumerate() {
                known.iter().enumerate().for_each(|(j, &column)| all[i * p + j] = implied[row * n + column]);
            }
        }
        None => {
            let paths = tree.path_lengths()?;
            for (i, &row) in known.iter().enumerate() {
                for (j, &column) in known.iter().enumerate() {
                    all[i * p + j] = paths.get(row, column).unwrap_or(f64::INFINITY);
                }
            }
        }
    }
    Ok(all)
}

/// Numbers of edges between all pairs of items.
fn edge_counts(tree: &Tree, items: &[&str]) -> Vec<u32> {
    let p = items.len();
    let mut place = vec![None; tree.n_nodes()];
    for (ix, item) in items.iter().enumerate() {
        if let Some(node) = tree.find(item) {
            place[node.get()] = Some(ix);
        }
    }
    let mut counts = vec![FAR; p * p];
    for (row, item) in items.iter().enumerate() {
        let Some(start) = tree.find(item) else { continue };
        let mut stack = vec![(start, start, 0)];
        while let Some((node, from, steps)) = stack.pop() {
            if let Some(column) = place[node.get()] {
                counts[row * p + column] = steps;
            }
            stack.extend(tree.links(node).iter().filter(|link| link.to != from).map(|link| (link.to, node, steps + 1)));
        }
    }
    counts
}

/// Depths of the lowest common ancestors of all pairs.
fn common_depths(hierarchy: &Hierarchy, items: &[&str]) -> Vec<u32> {
    let p = items.len();
    let ways: Vec<Vec<&str>> = items
        .iter()
        .map(|item| {
            let mut way: Vec<&str> = std::iter::once(*item).chain(hierarchy.above(item)).collect();
            way.reverse();
            way
        })
        .collect();
    let mut depths = vec![0; p * p];
    for i in 0..p {
        for j in 0..p {
            depths[i * p + j] = ways[i].iter().zip(&ways[j]).take_while(|(a, b)| a == b).count() as u32;
        }
    }
    depths
}

/// The group of each item: its highest ancestor that is not shared by all items, or the item itself.
fn groups<'a>(hierarchy: &'a Hierarchy, items: &[&'a str]) -> Vec<&'a str> {
    let mut n_below: HashMap<&str, usize> = HashMap::new();
    for item in items {
        std::iter::once(*item).chain(hierarchy.above(item)).for_each(|name| *n_below.entry(name).or_insert(0) += 1);
    }
    items
        .iter()
        .map(|item| {
            let way = std::iter::once(*item).chain(hierarchy.above(item));
            way.filter(|name| n_below[name] < items.len()).last().unwrap_or(item)
        })
        .collect()
}

/// Calls `see` with all subsets of `K` of `p` items, or with a sample of them.
fn sets<const K: usize>(p: usize, seed: u64, mut see: impl FnMut([usize; K])) {
    let n_sets = (0..K).fold(1.0_f64, |product, ix| product * (p as f64 - ix as f64) / (ix + 1) as f64);
    if n_sets > SAMPLED as f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..SAMPLED {
            let mut set = [0; K];
            let mut filled = 0;
            while filled < K {
                let item = rng.random_range(0..p);
                if !set[..filled].contains(&item) {
                    set[filled] = item;
                    filled += 1;
                }
            }
            see(set);
        }
        return;
    }
    let mut set: [usize; K] = std::array::from_fn(|ix| ix);
    if p < K {
        return;
    }
    loop {
        see(set);
        let Some(at) = (0..K).rev().find(|&at| set[at] < p - K + at) else { return };
        set[at] += 1;
        (at + 1..K).for_each(|next| set[next] = set[next - 1] + 1);
    }
}

fn triplets(depths: &[u32], distances: &[f64], p: usize, seed: u64) -> Option<f64> {
    let (mut n_sets, mut agree) = (0_u64, 0.0);
    sets::<3>(p, seed, |[a, b, c]| {
        let pairs = [(a, b), (a, c), (b, c)];
        let depth = pairs.map(|(i, j)| depths[i * p + j]);
        let Some(first) = (0..3).find(|&ix| (0..3).all(|other| other == ix || depth[other] < depth[ix])) else { return };
        n_sets += 1;
        let length = pairs.map(|(i, j)| distances[i * p + j]);
        let others = (0..3).filter(|&other| other != first).map(|other| length[other]).fold(f64::INFINITY, f64::min);
        agree += match length[first].total_cmp(&others) {
            std::cmp::Ordering::Less => 1.0,
            std::cmp::Ordering::Equal => 1.0 / 3.0,
            std::cmp::Ordering::Greater => 0.0,
        };
    });
    (n_sets > 0).then(|| agree / n_sets as f64)
}

/// Which pair of a quartet belongs together by the four-point condition; `None` if the tree does not resolve it.
fn division(steps: &[u32], p: usize, [a, b, c, d]: [usize; 4]) -> Option<usize> {
    let at = |i: usize, j: usize| steps[i * p + j];
    let sums = [at(a, b) + at(c, d), at(a, c) + at(b, d), at(a, d) + at(b, c)];
    (0..3).find(|&ix| (0..3).all(|other| other == ix || sums[other] > sums[ix]))
}

/// Among the quartets that the reference resolves, the shares that the estimate resolves alike, differently, and not at all.
fn quartets(reference: &[u32], estimate: &[u32], p: usize, seed: u64) -> Option<[f64; 3]> {
    let mut counts = [0_u64; 3];
    sets::<4>(p, seed, |set| {
        let Some(expected) = division(reference, p, set) else { return };
        let found = division(estimate, p, set);
        counts[found.map_or(2, |found| usize::from(found != expected))] += 1;
    });
    let n_sets: u64 = counts.iter().sum();
    (n_sets > 0).then(|| counts.map(|count| count as f64 / n_sets as f64))
}

/// The share of variables whose nearest variable is in their group, and the share expected by chance. Ties count
/// fractionally.
fn nearest_same_group(distances: &[f64], groups: &[&str]) -> (Option<f64>, Option<f64>) {
    let p = groups.len();
    let (mut n_variables, mut same, mut chance) = (0_u64, 0.0, 0.0);
    for row in 0..p {
        let n_others = (0..p).filter(|&other| other != row && groups[other] == groups[row]).count();
        if n_others == 0 {
            continue;
        }
        let others = || (0..p).filter(|&other| other != row);
        let nearest = others().map(|other| distances[row * p + other]).fold(f64::INFINITY, f64::min);
        let tied: Vec<usize> = others().filter(|&other| distances[row * p + other] <= nearest).collect();
        n_variables += 1;
        same += tied.iter().filter(|&&other| groups[other] == groups[row]).count() as f64 / tied.len().max(1) as f64;
        chance += n_others as f64 / (p - 1) as f64;
    }
    let share = |sum: f64| (n_variables > 0).then(|| sum / n_variables as f64);
    (share(same), share(chance))
}

/// The probability that a pair from one group is closer than a pair from two groups; ties count half.
fn same_group_auc(distances: &[f64], groups: &[&str]) -> Option<f64> {
    let p = groups.len();
    let mut pairs: Vec<(f64, bool)> =
        (0..p).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| (distances[i * p + j], groups[i] == groups[j])).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n_same = pairs.iter().filter(|pair| pair.1).count() as f64;
    let n_other = pairs.len() as f64 - n_same;
    let (mut sum, mut before) = (0.0, 0.0);
    for tied in pairs.chunk_by(|a, b| a.0 == b.0) {
        let same = tied.iter().filter(|pair| pair.1).count() as f64;
        let other = tied.len() as f64 - same;
        sum += same * (n_other - before - other) + same * other / 2.0;
        before += other;
    }
    (n_same > 0.0 && n_other > 0.0).then(|| sum / (n_same * n_other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Observed;

    fn hierarchy(pairs: &[(&str, &str)]) -> Hierarchy {
        Hierarchy::new(pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))).unwrap()
    }

    fn two_groups() -> Hierarchy {
        hierarchy(&[("a", "A"), ("b", "A"), ("c", "A"), ("d", "B"), ("e", "B"), ("f", "B")])
    }

    #[test]
    fn the_hierarchy_itself_agrees_in_everything() {
        let tree = Tree::from_newick("((a:1,b:1,c:1):1,(d:1,e:1,f:1):1);", &Observed::LeavesOnly).unwrap().minimal();
        let found = agreement(&tree, &two_groups(), str::to_owned, 0).unwrap();
        assert_eq!((found.robinson_foulds, found.n_matched_splits, found.n_reference_splits, found.n_groups), (0, 1, 1, 2));
        for measure in [found.triplets, found.quartets, found.nearest_same_group, found.same_group_auc] {
            assert_eq!(measure, Some(1.0));
        }
        assert!(found.nearest_by_chance.is_some_and(|share| (share - 0.4).abs() < 1e-12));
    }

    #[test]
    fn prefixes_do_not_turn_a_hierarchy_into_a_circle() {
        let found = hierarchy(&[("1", "12"), ("12", "7"), ("13", "7")]).with_prefixes([]);
        assert_eq!(found.above("1").collect::<Vec<_>>(), ["12", "7"]);
        assert_eq!(found.above("13").collect::<Vec<_>>(), ["1", "12", "7"]);
    }

    #[test]
    fn items_of_the_data_are_placed_by_prefixes_that_the_hierarchy_has() {
        let found = hierarchy(&[("250", "endo"), ("401", "circ")]).with_prefixes(["250.11", "250.1", "E11", "401"]);
        assert_eq!(found.above("250.11").collect::<Vec<_>>(), ["250.1", "250", "endo"]);
        assert_eq!(found.above("401").collect::<Vec<_>>(), ["circ"]);
        assert!(!found.knows("E11"));
    }

    #[test]
    fn an_item_that_is_its_own_group_is_a_member_through_its_other_rows_or_alone() {
        let tree = Tree::from_newick("((486:1,496:1):1,(401:1,402:1):1);", &Observed::LeavesOnly).unwrap().minimal();
        let with = hierarchy(&[("496", "496"), ("496", "resp"), ("486", "resp"), ("401", "circ"), ("402", "circ")]);
        let found = agreement(&tree, &with, str::to_owned, 0).unwrap();
        assert_eq!((found.n_variables, found.n_groups, found.n_matched_splits), (4, 2, 1));
        assert_eq!(found.several_parents, Vec::<String>::new());
        let alone = hierarchy(&[("496", "496"), ("486", "480"), ("401", "circ"), ("402", "circ")]);
        let found = agreement(&tree, &alone, str::to_owned, 0).unwrap();
        assert_eq!((found.n_variables, found.n_groups), (4, 3));
    }

    #[test]
    fn parents_beyond_the_first_are_told_of_variables_and_their_groups() {
        let pairs = [("a", "A"), ("a", "B"), ("b", "A"), ("c", "B"), ("A", "x"), ("A", "y"), ("q", "A"), ("q", "B")];
        let tree = Tree::from_newick("(a:1,b:1,c:1);", &Observed::LeavesOnly).unwrap();
        assert_eq!(agreement(&tree, &hierarchy(&pairs), str::to_owned, 0).unwrap().several_parents, ["A", "a"]);
    }

    #[test]
    fn measures_of_a_wrong_tree_are_those_counted_by_hand() {
        // c and d are swapped.
        let tree = Tree::from_newick("((a:1,b:1,d:1):1,(c:1,e:1,f:1):1);", &Observed::LeavesOnly).unwrap().minimal();
        let found = agreement(&tree, &two_groups(), str::to_owned, 0).unwrap();
        assert_eq!((found.robinson_foulds, found.robinson_foulds_normalized), (2, 1.0));
        assert!((found.robinson_foulds_huang - 2.0 / 36.0).abs() < 1e-12);
        // Pairs at distance 2: ab, ad, bd, ce, cf, ef; the other nine are farther. Same group: ab, ac, bc, de, df, ef.
        // Of 6 · 9 comparisons, ab and ef win 5 and tie 4; ac, bc, de, df lose 4 and tie 5.
        let auc = (2.0 * (5.0 + 2.0) + 4.0 * 2.5) / 54.0;
        assert!((found.same_group_auc.unwrap() - auc).abs() < 1e-12, "{found:?}");
        // Nearest to a: b and d, tied; nearest to c: e and f, both wrong.
        assert!((found.nearest_same_group.unwrap() - 2.0 / 6.0).abs() < 1e-12);
        // Of nine quartets, ab|ef is resolved alike, ac|de, ac|df, bc|de and bc|df are resolved differently, and the other
        // four have three on one side.
        let [otherwise, undivided] = found.quartets_otherwise.unwrap();
        assert!((otherwise - 4.0 / 9.0).abs() < 1e-12 && (undivided - 4.0 / 9.0).abs() < 1e-12, "{found:?}");
        assert!((found.quartets.unwrap() - (1.0 + 4.0 / 3.0) / 9.0).abs() < 1e-12);
    }

    #[test]
    fn items_that_are_parents_of_others_are_leaves_too_and_unknown_ones_are_listed() {
        let codes = hierarchy(&[
            ("250", "endocrine"),
            ("250.1", "endocrine"),
            ("250.11", "endocrine"),
            ("401", "circulatory"),
            ("401.1", "circulatory"),
        ]);
        let codes = codes.with_prefixes([]);
        assert_eq!(codes.above("250.11").collect::<Vec<_>>(), ["250.1", "250", "endocrine"]);
        let tree =
            Tree::from_newick("(((250:1,250.1:1):1,250.11:1):1,(401:1,401.1:1):1,other:1);", &Observed::LeavesOnly).unwrap();
        let found = agreement(&tree, &codes, str::to_owned, 0).unwrap();
        assert_eq!((found.n_variables, found.unknown.as_slice(), found.n_groups), (5, ["other".to_owned()].as_slice(), 2));
        assert_eq!(found.nearest_same_group, Some(1.0));
        // The reference groups 250.1 with 250.11, the tree 250 with 250.1.
        assert_eq!((found.n_reference_splits, found.n_matched_splits), (2, 1));
    }

    #[test]
    fn trees_of_a_forest_are_the_highest_groups() {
        let tree = Tree::from_newick("((a:1,b:1,c:1):1,(d:1,e:1,f:1):1);", &Observed::LeavesOnly).unwrap().minimal();
        let cut = |edge: &Edge| !tree.is_observed(edge.a) && !tree.is_observed(edge.b);
        let edges: Vec<Edge> = tree.edges().filter(|edge| !cut(edge)).collect();
        let forest = Tree::from_parts(tree.nodes().to_vec(), &edges).unwrap();
        assert_eq!(forest.n_components(), 2);
        let found = agreement(&forest, &two_groups(), str::to_owned, 0).unwrap();
        assert_eq!((found.robinson_foulds, found.n_matched_splits), (0, 1));
        assert_eq!((found.quartets, found.same_group_auc), (Some(1.0), Some(1.0)));
    }

    #[test]
    fn circles_and_foreign_hierarchies_are_errors() {
        assert!(Hierarchy::new([("a", "b"), ("b", "a")].map(|(a, b)| (a.to_owned(), b.to_owned()))).is_err());
        let tree = Tree::from_newick("(x:1,y:1,z:1);", &Observed::LeavesOnly).unwrap();
        assert!(agreement(&tree, &two_groups(), str::to_owned, 0).is_err());
    }

    #[test]
    fn all_sets_are_seen_once() {
        let mut seen = HashSet::new();
        sets::<3>(7, 0, |set| assert!(seen.insert(set) && set.is_sorted()));
        assert_eq!(seen.len(), 35);
    }
}
