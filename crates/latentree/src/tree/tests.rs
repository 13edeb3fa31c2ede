use std::collections::{BTreeMap, BTreeSet};

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::simulate::Shape;

pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A random minimal tree with random lengths.
fn random_tree(rng: &mut ChaCha8Rng, n_observed: usize) -> Tree {
    let max_degree = [Some(3), Some(5), None][rng.random_range(0..3)];
    let share = [0.0, 0.2, 0.6, 1.0][rng.random_range(0..4)];
    let tree = Shape::Random { max_degree }.tree(n_observed, share, rng).unwrap();
    let lengths: BTreeMap<_, f64> = tree.edges().map(|edge| ((edge.a, edge.b), rng.random_range(0.01..2.0))).collect();
    tree.with_lengths(|edge| Some(lengths[&(edge.a, edge.b)]))
}

/// A random forest that may have hidden leaves, hidden nodes of degree 2 and hidden trees, with some lengths and supports.
pub(crate) fn random_forest(rng: &mut ChaCha8Rng, n_nodes: usize) -> Tree {
    let share = rng.random_range(0.0..1.0);
    let mut nodes = Vec::new();
    let mut edges = Vec::new();
    for ix in 0..n_nodes {
        let observed = rng.random_bool(share);
        nodes.push(Node { name: format!("{}{ix}", if observed { "x" } else { "h" }), observed });
        if ix > 0 && rng.random_bool(0.9) {
            let mut edge = Edge::new(NodeIx::new(rng.random_range(0..ix)), NodeIx::new(ix));
            edge.length = rng.random_bool(0.8).then(|| rng.random_range(-0.1..3.0));
            edge.support = rng.random_bool(0.3).then(|| rng.random_range(0.0..1.0));
            edge.bootstrap = rng.random_bool(0.3).then(|| rng.random_range(0.0..1.0));
            edges.push(edge);
        }
    }
    Tree::from_parts(nodes, &edges).unwrap()
}

/// The same tree with nodes and edges in another order and other names for hidden nodes; the second part maps old to new.
fn shuffled(tree: &Tree, rng: &mut ChaCha8Rng) -> (Tree, Vec<NodeIx>) {
    let mut order: Vec<NodeIx> = tree.node_ixs().collect();
    order.shuffle(rng);
    let mut new_ix = vec![NodeIx::new(0); order.len()];
    let mut nodes = Vec::new();
    for (ix, &old) in order.iter().enumerate() {
        new_ix[old.get()] = NodeIx::new(ix);
        let Node { name, observed } = tree.node(old).clone();
        nodes.push(Node { name: if observed { name } else { format!("other{ix}") }, observed });
    }
    let mut edges: Vec<Edge> =
        tree.edges().map(|edge| Edge { a: new_ix[edge.b.get()], b: new_ix[edge.a.get()], ..edge }).collect();
    edges.shuffle(rng);
    (Tree::from_parts(nodes, &edges).unwrap(), new_ix)
}

type NamedEdges = BTreeMap<(String, String), [Option<u64>; 3]>;

/// Everything about a tree but the order of nodes and edges, lengths by their bits.
pub(crate) fn content(tree: &Tree) -> (BTreeMap<String, bool>, NamedEdges) {
    let nodes = tree.nodes().iter().map(|node| (node.name.clone(), node.observed)).collect();
    let edges = tree.edges().map(|edge| {
        let mut ends = [tree.name(edge.a).to_owned(), tree.name(edge.b).to_owned()];
        ends.sort();
        let [a, b] = ends;
        ((a, b), [edge.length, edge.support, edge.bootstrap].map(|value| value.map(f64::to_bits)))
    });
    (nodes, edges.collect())
}

type Sides = BTreeSet<BTreeSet<String>>;

/// All splits by taking each edge away and walking both sides.
fn brute_force_splits(tree: &Tree) -> BTreeSet<Sides> {
    let mut splits = BTreeSet::new();
    for edge in tree.edges() {
        let mut cut = tree.clone();
        cut.disconnect(edge.a, edge.b);
        let sides: Vec<BTreeSet<String>> = [edge.a, edge.b]
            .iter()
            .map(|&end| {
                let reached = cut.node_ixs().filter(|&node| cut.is_observed(node) && cut.path(end, node).is_some());
                reached.map(|node| cut.name(node).to_owned()).collect()
            })
            .collect();
        if sides.iter().all(|side| !side.is_empty()) {
            splits.insert(sides.into_iter().collect());
        }
    }
    splits
}

#[test]
fn robinson_foulds_equals_counting_all_splits() {
    let mut rng = rng(1);
    for round in 0..300 {
        let (a, b) = if round % 3 == 0 {
            let a = random_forest(&mut rng, 1 + round % 14);
            let mut b = shuffled(&a, &mut rng).0;
            let first = b.edges().next();
            if let Some(edge) = first {
                b.disconnect(edge.a, edge.b);
            }
            (a, b)
        } else {
            (random_tree(&mut rng, 1 + round % 12), random_tree(&mut rng, 1 + round % 12))
        };
        let (in_a, in_b) = (brute_force_splits(&a), brute_force_splits(&b));
        let found = robinson_foulds(&a, &b).unwrap();
        assert_eq!(a.splits().len(), in_a.len());
        assert_eq!(found.only_left, in_a.difference(&in_b).count());
        assert_eq!(found.only_right, in_b.difference(&in_a).count());
        assert_eq!(found.distance, found.only_left + found.only_right);
        let shared_trivial = in_a.intersection(&in_b).filter(|split| split.iter().any(|side| side.len() == 1)).count();
        let both = in_a.len() + in_b.len() - 2 * shared_trivial;
        assert_eq!(found.normalized, if both == 0 { 0.0 } else { found.distance as f64 / both as f64 });
    }
}

#[test]
fn robinson_foulds_is_a_metric_on_minimal_trees() {
    let mut rng = rng(2);
    for round in 0..300 {
        let size = 2 + round % 6;
        let trees: Vec<Tree> = (0..3).map(|_| random_tree(&mut rng, size)).collect();
        let distance = |i: usize, j: usize| robinson_foulds(&trees[i], &trees[j]).unwrap().distance;
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            assert_eq!(distance(i, j), distance(j, i));
            assert_eq!(distance(i, j) == 0, same_structure(&trees[i], &trees[j]));
        }
        assert!(distance(0, 2) <= distance(0, 1) + distance(1, 2));
        assert_eq!(robinson_foulds(&trees[0], &shuffled(&trees[0], &mut rng).0).unwrap().distance, 0);
    }
}

#[test]
fn published_examples_have_their_distances() {
    let read = |text| Tree::from_newick(text, &Observed::InnerNamed).unwrap();
    // Two binary trees on five leaves with no inner split in common are 4 apart, the largest distance 2(n − 3).
    let found = robinson_foulds(&read("((a,b),c,(d,e));"), &read("((a,c),d,(b,e));")).unwrap();
    assert_eq!((found.distance, found.only_left, found.only_right), (4, 2, 2));
    assert_eq!(found.normalized, 1.0);
    // A resolved tree and the star differ by its inner splits; all five trivial ones are shared and leave nothing else to share.
    let found = robinson_foulds(&read("((a,b),c,(d,e));"), &read("(a,b,c,d,e);")).unwrap();
    assert_eq!((found.distance, found.normalized), (2, 1.0));
    // An observed inner node lacks its trivial split, and only that: contracting the pendant edge of c.
    let found = robinson_foulds(&read("((a,b),c,(d,e));"), &read("((a,b),(d,e))c;")).unwrap();
    assert_eq!((found.only_left, found.only_right), (1, 0));
    // Two inner splits of each are shared; the trivial split of c counts, since only one tree has it.
    assert_eq!(found.normalized, 1.0 / 5.0);
    // Two stars share all they have: 0/0 is 0.
    let found = robinson_foulds(&read("(a,b,c);"), &read("(c,b,a);")).unwrap();
    assert_eq!((found.distance, found.normalized), (0, 0.0));
}

#[test]
fn trees_over_other_variables_are_refused_by_name() {
    let read = |text| Tree::from_newick(text, &Observed::LeavesOnly).unwrap();
    let message = robinson_foulds(&read("(a,b,c);"), &read("(a,b,d1,d2,d3,d4,d5,d6);")).unwrap_err().to_string();
    for part in ["\"c\"", "\"d5\"", "1 more"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("d6"));
    assert!(structure_error(&read("(a,b);"), &read("(a,c);")).is_err());
}

#[test]
fn splits_lead_to_their_edges_and_sides() {
    let mut rng = rng(3);
    for round in 0..100 {
        let tree = random_tree(&mut rng, 2 + round % 15);
        let splits = tree.splits();
        assert_eq!(splits.len(), tree.n_edges());
        let other = shuffled(&tree, &mut rng).0;
        let other_splits = other.splits();
        for edge in tree.edges() {
            let split = splits.of_edge(edge.a, edge.b).unwrap();
            assert_eq!(splits.of_edge(edge.b, edge.a), Some(split));
            let found: Vec<_> = splits.edges(split).collect();
            assert!(found == [(edge.a, edge.b)] || found == [(edge.b, edge.a)]);
            let (a, b) = other_splits.edges(split).next().unwrap();
            let names = |tree: &Tree, edge: &Edge| -> Vec<String> {
                tree.side(edge).iter().map(|&node| tree.name(node).to_owned()).collect()
            };
            let side = names(&tree, &edge);
            assert_eq!(side, names(&other, &Edge::new(a, b)));
            assert!(!side.is_empty() && 2 * side.len() <= tree.n_observed());
            let sides = Sides::from([
                side.iter().cloned().collect(),
                tree.nodes().iter().filter(|it| it.observed && !side.contains(&it.name)).map(|it| it.name.clone()).collect(),
            ]);
            assert!(brute_force_splits(&tree).contains(&sides));
        }
        assert!(splits.iter().all(|split| other_splits.contains(split)));
    }
}

#[test]
fn contracting_moves_by_the_number_of_contracted_edges() {
    let mut rng = rng(4);
    for round in 0..200 {
        let tree = random_tree(&mut rng, 2 + round % 20);
        let chosen: BTreeSet<_> = tree.edges().filter(|_| rng.random_bool(0.3)).map(|edge| (edge.a, edge.b)).collect();
        let contracted = tree.contract(|edge| chosen.contains(&(edge.a, edge.b)));
        assert!(contracted.is_minimal());
        let n_contracted = tree.n_edges() - contracted.n_edges();
        assert_eq!(robinson_foulds(&tree, &contracted).unwrap().distance, n_contracted);
        // An edge that stays though it was chosen is one between observed nodes, after the shorter ones were contracted.
        let n_stayed = chosen.len() - n_contracted;
        assert_eq!(
            contracted
                .edges()
                .filter(|edge| {
                    let was_chosen = |it: &Edge| chosen.contains(&(it.a, it.b)) && it.length == edge.length;
                    contracted.is_observed(edge.a) && contracted.is_observed(edge.b) && tree.edges().any(|it| was_chosen(&it))
                })
                .count(),
            n_stayed
        );
        let lengths = |tree: &Tree| -> BTreeSet<u64> { tree.edges().map(|edge| edge.length.unwrap().to_bits()).collect() };
        assert!(lengths(&contracted).is_subset(&lengths(&tree)));
    }
}

#[test]
fn a_hidden_node_goes_to_the_nearer_of_two_observed_ones() {
    let tree = Tree::from_newick("(a:0.2,b:0.1,c:5)h[&hidden];", &Observed::LeavesOnly).unwrap();
    let contracted = tree.contract(|edge| edge.length < Some(1.0));
    let [a, b, c] = ["a", "b", "c"].map(|name| contracted.find(name).unwrap());
    assert_eq!(contracted.n_nodes(), 3);
    assert!(contracted.path(a, c).unwrap() == [a, b, c]);
}

#[test]
fn the_minimal_tree_is_minimal_and_keeps_splits_and_distances() {
    let mut rng = rng(5);
    for round in 0..300 {
        let tree = random_forest(&mut rng, 1 + round % 25);
        let minimal = tree.minimal();
        assert!(minimal.is_minimal());
        assert_eq!(minimal.minimal(), minimal);
        assert_eq!(robinson_foulds(&tree, &minimal).unwrap().distance, 0);
        assert_eq!(tree.is_minimal(), tree.n_nodes() == minimal.n_nodes());
        let tree = tree.with_lengths(|edge| edge.length.or(Some(1.0)));
        let (before, after) = (tree.path_lengths().unwrap(), tree.minimal().path_lengths().unwrap());
        for row in 0..before.nodes().len() {
            for column in 0..before.nodes().len() {
                match (before.get(row, column), after.get(row, column)) {
                    (Some(a), Some(b)) => assert!((a - b).abs() < 1e-9),
                    (a, b) => assert_eq!(a, b),
                }
            }
        }
    }
}

#[test]
fn path_lengths_are_sums_along_paths() {
    let mut rng = rng(6);
    let tree = random_tree(&mut rng, 25);
    let lengths = tree.path_lengths().unwrap();
    for (row, &a) in lengths.nodes().iter().enumerate() {
        for (column, &b) in lengths.nodes().iter().enumerate() {
            let path = tree.path(a, b).unwrap();
            let step = |pair: &[NodeIx]| tree.links(pair[0]).iter().find(|link| link.to == pair[1]).unwrap().length.unwrap();
            let expected: f64 = path.windows(2).map(step).sum();
            assert!((lengths.get(row, column).unwrap() - expected).abs() < 1e-12);
        }
    }
    let mut unknown = Tree::new();
    let (a, b) = (unknown.add_observed("a").unwrap(), unknown.add_observed("b").unwrap());
    unknown.connect(a, b, None).unwrap();
    assert!(unknown.path_lengths().is_err());
}

fn assert_isomorphism(a: &Tree, b: &Tree, partner: &[Option<NodeIx>]) {
    let to = |node: NodeIx| partner[node.get()].unwrap();
    let mut seen = BTreeSet::new();
    for node in a.node_ixs() {
        assert!(seen.insert(to(node)));
        assert_eq!(a.is_observed(node), b.is_observed(to(node)));
        assert!(!a.is_observed(node) || a.name(node) == b.name(to(node)));
    }
    for edge in a.edges() {
        assert!(b.links(to(edge.a)).iter().any(|link| link.to == to(edge.b)));
    }
}

#[test]
fn shuffling_and_renaming_hidden_nodes_keeps_the_structure() {
    let mut rng = rng(7);
    for round in 0..400 {
        let tree = if round % 2 == 0 { random_forest(&mut rng, 1 + round % 30) } else { random_tree(&mut rng, 1 + round % 20) };
        let other = shuffled(&tree, &mut rng).0;
        assert!(same_structure(&tree, &other));
        assert_isomorphism(&tree, &other, &match_hidden(&tree, &other));
        if tree.is_minimal() {
            assert_eq!(content(&tree.relabel_hidden()), content(&other.relabel_hidden()));
        }
    }
}

/// Whether there is an isomorphism, by trying all ways to pair the hidden nodes.
fn isomorphic_by_search(a: &Tree, b: &Tree) -> bool {
    fn extend(a: &Tree, b: &Tree, partner: &mut Vec<NodeIx>) -> bool {
        let Some(node) = a.node_ixs().nth(partner.len()) else { return true };
        for other in b.node_ixs() {
            let fits = a.is_observed(node) == b.is_observed(other)
                && (!a.is_observed(node) || a.name(node) == b.name(other))
                && !partner.contains(&other)
                && a.node_ixs().take(partner.len()).all(|earlier| {
                    a.links(node).iter().any(|link| link.to == earlier)
                        == b.links(other).iter().any(|link| link.to == partner[earlier.get()])
                });
            if fits {
                partner.push(other);
                if extend(a, b, partner) {
                    return true;
                }
                partner.pop();
            }
        }
        false
    }
    a.n_nodes() == b.n_nodes() && extend(a, b, &mut Vec::new())
}

#[test]
fn same_structure_agrees_with_search_on_small_forests() {
    let mut rng = rng(8);
    let mut n_same = 0;
    for _ in 0..4000 {
        let size = rng.random_range(1..7);
        let mut forests = (0..2).map(|_| {
            let mut tree = random_forest(&mut rng, size);
            // Few observed names, so that equal forests come up often.
            let names: Vec<NodeIx> = tree.node_ixs().filter(|&node| tree.is_observed(node)).collect();
            for (number, node) in names.into_iter().enumerate() {
                tree.rename(node, format!("observed{number}")).unwrap();
            }
            tree
        });
        let (a, b) = (forests.next().unwrap(), forests.next().unwrap());
        drop(forests);
        let expected = isomorphic_by_search(&a, &b);
        n_same += usize::from(expected);
        assert_eq!(same_structure(&a, &b), expected, "{} and {}", a.to_newick(None), b.to_newick(None));
    }
    assert!(n_same > 100);
}

#[test]
fn hidden_nodes_are_matched_by_shared_splits() {
    let read = |text| Tree::from_newick(text, &Observed::LeavesOnly).unwrap();
    let a = read("((a,b)p,(c,d)q,(e,f)r)s;");
    let b = read("((a,b)P,((c,d)Q,e)R,f)S;");
    let partner = match_hidden(&a, &b);
    let of = |name: &str| partner[a.find(name).unwrap().get()].map(|node| b.name(node));
    assert_eq!((of("a"), of("p"), of("q")), (Some("a"), Some("P"), Some("Q")));
    let mut rng = rng(9);
    for round in 0..100 {
        let tree = random_tree(&mut rng, 4 + round % 10);
        let Some(edge) = tree.edges().find(|edge| !tree.is_observed(edge.a) && !tree.is_observed(edge.b)) else { continue };
        let contracted = tree.contract(|it| (it.a, it.b) == (edge.a, edge.b));
        for (node, partner) in tree.node_ixs().zip(match_hidden(&tree, &contracted)) {
            if node != edge.a && node != edge.b {
                assert_eq!(partner.map(|partner| contracted.name(partner)), Some(tree.name(node)));
            }
        }
    }
}

#[test]
fn relabelling_skips_observed_names_and_keeps_nodes() {
    let tree = Tree::from_newick("((b,h1)u,(c,a)v,d)w;", &Observed::LeavesOnly).unwrap();
    let relabelled = tree.relabel_hidden();
    let name = |old: &str| relabelled.name(tree.find(old).unwrap());
    assert_eq!((name("h1"), name("v"), name("w"), name("u")), ("h1", "h2", "h3", "h4"));
    assert_eq!(relabelled.find("h4"), tree.find("u"));
    assert_eq!(relabelled.find("w"), None);
}

/// Huang's measure as written: all pairs of groups.
fn structure_error_by_definition(truth: &Tree, estimate: &Tree) -> f64 {
    let groups = |tree: &Tree| -> Vec<BTreeSet<String>> {
        tree.groups().iter().map(|group| group.iter().map(|&node| tree.name(node).to_owned()).collect()).collect()
    };
    let (truth, estimate) = (groups(truth), groups(estimate));
    let least = |group: &BTreeSet<String>| truth.iter().map(|other| group.difference(other).count()).min().unwrap();
    let errors: Vec<f64> = estimate.iter().map(|group| least(group) as f64 / group.len() as f64).collect();
    if errors.is_empty() { 0.0 } else { errors.iter().sum::<f64>() / errors.len() as f64 }
}

#[test]
fn structure_error_follows_its_definition() {
    let mut rng = rng(10);
    for round in 0..400 {
        let size = 1 + round % 15;
        let (a, b) = (random_tree(&mut rng, size), random_tree(&mut rng, size));
        assert_eq!(structure_error(&a, &a).unwrap(), 0.0);
        let expected = structure_error_by_definition(&a, &b);
        assert!((structure_error(&a, &b).unwrap() - expected).abs() < 1e-12);
    }
    let read = |text| Tree::from_newick(text, &Observed::LeavesOnly).unwrap();
    // {a,b,c} and {d,e,f} recovered as {a,b,d} and {c,e,f}: one of three is wrong in each.
    assert!((structure_error(&read("((a,b,c),d,e,f);"), &read("((a,b,d),c,e,f);")).unwrap() - 1.0 / 3.0).abs() < 1e-12);
}

#[test]
fn json_round_trips_exactly_and_model_files_read_as_trees() {
    let mut rng = rng(11);
    for round in 0..200 {
        let tree = random_forest(&mut rng, 1 + round % 30);
        let back = Tree::from_json(&tree.to_json()).unwrap();
        assert_eq!(back.nodes(), tree.nodes());
        assert_eq!(content(&back), content(&tree));
        assert_eq!(back.to_json(), tree.to_json());
    }
    let text = r#"{"format":"latentree","version":1,"nodes":[{"name":"h1","observed":false,"kind":"categorical"},
        {"name":"x","observed":true}],"edges":[{"source":"x","target":"h1","distance":null}],"root":"h1"}"#;
    assert_eq!(Tree::from_json(text).unwrap().n_edges(), 1);
}

#[test]
fn json_that_is_no_tree_is_refused() {
    for text in [
        "",
        "[]",
        "{}",
        r#"{"nodes":[{"name":"a","observed":true}],"edges":[{"source":"a","target":"b"}]}"#,
        r#"{"nodes":[{"name":"a","observed":true}],"edges":[{"source":"a","target":"a"}]}"#,
        r#"{"nodes":[{"name":"a","observed":true},{"name":"a","observed":true}],"edges":[]}"#,
        r#"{"nodes":[{"name":"a","observed":true},{"name":"b","observed":true}],"edges":[{"source":"a","target":"b"},{"source":"b","target":"a"}]}"#,
        r#"{"nodes":[{"name":"a","observed":true},{"name":"b","observed":true}],"edges":[{"source":"a","target":"b","distance":1e999}]}"#,
    ] {
        assert!(Tree::from_json(text).is_err(), "{text}");
    }
    assert!(Tree::from_json(&"[".repeat(1_000_000)).is_err());
}

#[test]
fn a_path_and_a_star_of_200_000_nodes_pass_through_everything() {
    const N: usize = 200_000;
    let node = |ix: usize, hidden: bool| Node { name: format!("n{ix}"), observed: !hidden };
    for (is_star, hidden_every) in [(false, 2), (true, N), (false, N + 1)] {
        let nodes: Vec<Node> = (0..N).map(|ix| node(ix, ix % hidden_every == hidden_every / 2)).collect();
        let edge = |ix: usize| Edge::with_length(NodeIx::new(if is_star { 0 } else { ix - 1 }), NodeIx::new(ix), 0.5);
        let edges: Vec<Edge> = (1..N).map(edge).collect();
        let tree = Tree::from_parts(nodes, &edges).unwrap();
        let end = Some(NodeIx::new(N - 1));
        let back = Tree::from_newick(&tree.to_newick(end), &Observed::LeavesOnly).unwrap();
        assert!(same_structure(&tree, &back));
        assert_eq!(content(&back), content(&tree));
        assert_eq!(Tree::from_json(&tree.to_json()).unwrap().n_nodes(), N);
        assert_eq!(robinson_foulds(&tree, &back).unwrap().distance, 0);
        assert_eq!(structure_error(&tree, &back).unwrap(), 0.0);
        let minimal = tree.minimal();
        assert!(minimal.is_minimal());
        let contracted = tree.contract(|_| true);
        assert_eq!(contracted.n_observed(), tree.n_observed());
        assert_eq!(contracted.n_hidden(), 0);
        assert_eq!(match_hidden(&tree, &minimal).len(), N);
        assert!(match_hidden(&tree, &back).iter().all(Option::is_some));
        assert_eq!(tree.relabel_hidden().n_hidden(), tree.n_hidden());
        assert!(!tree.side(&edges[0]).is_empty());
    }
}
