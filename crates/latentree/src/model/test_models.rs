//! Random models of every family, with hostile names, for tests of readers and writers.

use std::sync::Arc;

use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

use super::{Distribution, Domain, Emission, LatentTree, Provenance, Table};
use crate::data::{Column, Kind, Schema};
use crate::index::NodeIx;
use crate::tree::{Edge, Node, Tree};

/// What the leaves of a random model are.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Family {
    Discrete,
    Mixed,
    Gaussian,
}

pub(crate) fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Texts that have broken some writer of some format; unique for each number.
pub(crate) fn hostile(number: usize) -> String {
    match number % 22 {
        0 => format!("\"quoted\" {number}"),
        1 => format!("two\nlines\r\n{number}"),
        2 => format!("🌳 {number}"),
        3 => format!("<script>alert('{number}')</script>"),
        4 => format!("{}{number}", "long".repeat(2500)),
        5 => format!("back\\slash\\{number}\\"),
        6 => format!("\u{0}\u{1}\u{7f}\u{ffff} {number}"),
        7 => format!("  blanks  {number}  "),
        8 => format!("{{;|}}[,]({number})"),
        9 => format!("// comment {number}"),
        10 => format!("/* {number} */ &amp; %20 %"),
        11 => number.to_string(),
        12 => format!("{number}.5e3"),
        13 if number < 22 => "table".to_owned(),
        14 if number < 22 => "default".to_owned(),
        15 => format!("Ünïcödé_{number}"),
        16 => format!("\u{202e}right to left {number}"),
        17 => format!("]]>{number}<!-- -->"),
        18 => format!("-{number}"),
        19 => format!("x{number}?"),
        20 => format!("x{number}!"),
        _ => format!("plain_{number}"),
    }
}

fn name(random: &mut ChaCha8Rng, number: usize) -> String {
    if random.random_bool(0.5) { hostile(number) } else { format!("v{number}") }
}

fn labels(random: &mut ChaCha8Rng, n_states: usize) -> Vec<String> {
    let offset: usize = random.random_range(0..22);
    match random.random_range(0..3) {
        0 => (0..n_states).map(|state| state.to_string()).collect(),
        1 if n_states > 1 => {
            (0..n_states).map(|state| if state == 0 { String::new() } else { hostile(offset + state) }).collect()
        }
        _ => (0..n_states).map(|state| hostile(offset + state)).collect(),
    }
}

fn table(random: &mut ChaCha8Rng, n_rows: usize, n_states: usize) -> Table {
    let mut values = Vec::new();
    for _ in 0..n_rows {
        let weights: Vec<f64> =
            (0..n_states).map(|_| if random.random_bool(0.1) { 1e-30 } else { random.random_range(0.0..1.0) }).collect();
        let sum: f64 = weights.iter().sum();
        values.extend(weights.iter().map(|weight| weight / sum));
    }
    Table::new(n_states, values)
}

fn emission(random: &mut ChaCha8Rng, kind: &Kind, n_rows: usize) -> Emission {
    match kind {
        Kind::Continuous => Emission::Gaussian {
            means: (0..n_rows).map(|_| random.random_range(-1e3..1e3)).collect(),
            variances: (0..n_rows).map(|_| 10_f64.powf(random.random_range(-300.0..300.0))).collect(),
        },
        Kind::Count => Emission::Poisson { rates: (0..n_rows).map(|_| random.random_range(0.0..50.0)).collect() },
        _ => Emission::Categorical(table(random, n_rows, kind.n_states().unwrap())),
    }
}

fn discrete_kind(random: &mut ChaCha8Rng) -> Kind {
    let n_states = random.random_range(1..=5);
    let labels = labels(random, n_states);
    match <[String; 2]>::try_from(labels) {
        Ok(labels) if random.random_bool(0.5) => Kind::Binary { labels },
        Ok(labels) => Kind::Categorical { labels: labels.to_vec() },
        Err(labels) => Kind::Categorical { labels },
    }
}

fn number_kind(random: &mut ChaCha8Rng) -> Kind {
    if random.random_bool(0.5) { Kind::Continuous } else { Kind::Count }
}

/// A random tree or forest: names, edges in a random order, some lengths and supports.
pub(crate) fn random_tree(random: &mut ChaCha8Rng, n_nodes: usize) -> Tree {
    let mut nodes = (0..n_nodes).map(|ix| Node { name: name(random, ix), observed: random.random_bool(0.6) }).collect::<Vec<_>>();
    // A model without observed nodes is refused.
    if let (false, Some(first)) = (nodes.iter().any(|node| node.observed), nodes.first_mut()) {
        first.observed = true;
    }
    let mut edges = Vec::new();
    for ix in 1..n_nodes {
        if random.random_bool(0.9) {
            let other = NodeIx::new(random.random_range(0..ix));
            edges.push(Edge {
                a: other,
                b: NodeIx::new(ix),
                length: random.random_bool(0.7).then(|| random.random_range(-0.1..3.0)),
                support: random.random_bool(0.3).then(|| random.random_range(0.0..1.0)),
                bootstrap: random.random_bool(0.3).then(|| random.random_range(0.0..1.0)),
            });
        }
    }
    for ix in (1..edges.len()).rev() {
        edges.swap(ix, random.random_range(0..=ix));
    }
    Tree::from_parts(nodes, &edges).unwrap()
}

/// A random model of a family.
pub(crate) fn random_model(seed: u64, family: Family, n_nodes: usize) -> LatentTree {
    let mut random = generator(seed);
    let random = &mut random;
    let tree = random_tree(random, n_nodes);
    let root = NodeIx::new(random.random_range(0..n_nodes));
    let rooted = crate::tree::Rooted::new(&tree, root);
    let mut schema = Schema::builder();
    let mut hidden: Vec<Option<Domain>> = vec![None; n_nodes];
    let mut n_states = vec![0; n_nodes];
    let mut kinds: Vec<Option<Kind>> = vec![None; n_nodes];
    let mut groups: Vec<Vec<Column>> = vec![Vec::new(); n_nodes];
    // The schema is not in the order of the nodes, as a table's columns are not.
    let mut order: Vec<NodeIx> = tree.node_ixs().collect();
    for ix in (1..order.len()).rev() {
        order.swap(ix, random.random_range(0..=ix));
    }
    for &node in &order {
        let ix = node.get();
        let is_leaf = tree.degree(node) == usize::from(rooted.parent[ix].is_some());
        if family == Family::Gaussian {
            kinds[ix] = Some(Kind::Continuous);
            hidden[ix] = Some(Domain::Continuous);
            if tree.is_observed(node) {
                schema = schema.scalar(tree.name(node), Kind::Continuous);
            }
        } else if !tree.is_observed(node) {
            n_states[ix] = random.random_range(1..=5);
            hidden[ix] = Some(Domain::Discrete { labels: labels(random, n_states[ix]) });
        } else if is_leaf && family == Family::Mixed && random.random_bool(0.3) {
            let members = (0..random.random_range(1..4)).map(|member| Column {
                name: format!("{}/{member}", tree.name(node)),
                kind: if random.random_bool(0.5) { discrete_kind(random) } else { number_kind(random) },
            });
            groups[ix] = members.collect();
            schema = schema.group(tree.name(node), groups[ix].clone());
        } else {
            let is_number = is_leaf && family == Family::Mixed && random.random_bool(0.5);
            let kind = if is_number { number_kind(random) } else { discrete_kind(random) };
            n_states[ix] = kind.n_states().unwrap_or(0);
            schema = schema.scalar(tree.name(node), kind.clone());
            kinds[ix] = Some(kind);
        }
    }
    let mut builder = LatentTree::builder(Arc::new(schema.build().unwrap()), tree.clone())
        .roots(&rooted.roots)
        .provenance(Provenance::by_this_program(u64::MAX - seed).option("--tree", hostile(seed as usize)));
    for node in tree.node_ixs() {
        let ix = node.get();
        let n_rows = rooted.parent[ix].map_or(1, |parent| n_states[parent.get()]);
        let distribution = if family == Family::Gaussian {
            let coefficient = if rooted.parent[ix].is_some() { random.random_range(-2.0..2.0) } else { 0.0 };
            Distribution::LinearGaussian {
                mean: random.random_range(-5.0..5.0),
                coefficient,
                variance: random.random_range(1e-9..3.0),
            }
        } else if !groups[ix].is_empty() {
            Distribution::Emission(Emission::Group(
                groups[ix].iter().map(|member| emission(random, &member.kind, n_rows)).collect(),
            ))
        } else if let Some(kind @ (Kind::Continuous | Kind::Count)) = &kinds[ix] {
            Distribution::Emission(emission(random, kind, n_rows))
        } else {
            Distribution::Discrete(table(random, n_rows, n_states[ix]))
        };
        builder = builder.distribution(node, distribution);
        if !tree.is_observed(node) {
            builder = builder.hidden(node, hidden[ix].clone().unwrap());
        }
    }
    builder.build().unwrap()
}
