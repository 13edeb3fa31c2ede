use std::collections::HashSet;

use rand::RngExt;

use super::*;
use crate::error::Error;
use crate::tree::tests::{content, random_forest, rng};

fn read(text: &str) -> Result<Tree> {
    Tree::from_newick(text, &Observed::LeavesOnly)
}

#[test]
fn writing_and_reading_gives_the_same_tree_in_every_mode() {
    let mut rng = rng(21);
    let odd = ["it's", "a b", "(", "[x]", "95", "1e3", "a_b", "é;ü", "''", "line\nend", "\"q\"", "h1", "h2", "inf", "\u{feff}"];
    let all: HashSet<String> = odd.iter().map(|name| (*name).to_owned()).collect();
    for round in 0..400 {
        let mut tree = random_forest(&mut rng, 1 + round % 25);
        for name in odd {
            let node = NodeIx::new(rng.random_range(0..tree.n_nodes()));
            if tree.find(name).is_none() && rng.random_bool(0.3) {
                tree.rename(node, name).unwrap();
            }
        }
        let root = rng.random_bool(0.5).then(|| NodeIx::new(rng.random_range(0..tree.n_nodes())));
        let text = tree.to_newick(root);
        for observed in [Observed::LeavesOnly, Observed::InnerNamed, Observed::Names(&all)] {
            let back = Tree::from_newick(&text, &observed).unwrap();
            assert_eq!(content(&back), content(&tree), "{text}");
            // Read back, the first node of each tree is its root, so a connected tree is written alike.
            if tree.is_connected() {
                assert_eq!(back.to_newick(Some(NodeIx::new(0))), text);
            }
        }
    }
}

#[test]
fn numbers_round_trip_to_the_bit() {
    for length in [0.1, 1.0, -0.0, -3.5, 1e-300, f64::MIN_POSITIVE / 8.0, f64::MAX, 1.0 / 3.0, 123456789.125] {
        let mut tree = Tree::new();
        let (a, b) = (tree.add_observed("a").unwrap(), tree.add_observed("b").unwrap());
        tree.connect(a, b, Some(length)).unwrap();
        tree.set_edge(a, b, Some(length), Some(0.98));
        let text = tree.to_newick(None);
        assert!(text.len() < 60);
        assert_eq!(content(&read(&text).unwrap()), content(&tree));
        tree.set_edge(a, b, Some(f64::INFINITY), Some(f64::NAN));
        assert_eq!(read(&tree.to_newick(None)).unwrap().links(NodeIx::new(0))[0].length, None);
    }
}

#[test]
fn texts_of_other_programs_are_read() {
    let tree = read("[&R] (A_1:0.1, B:0.2 ,('C d':1e-2,D)95[&!color=red]:-0.3,(E,F)50);\n").unwrap();
    assert_eq!((tree.n_observed(), tree.n_hidden()), (6, 3));
    assert_eq!(
        tree.nodes().iter().map(|node| node.name.as_str()).collect::<Vec<_>>(),
        ["h1", "A_1", "B", "h2", "C d", "D", "h3", "E", "F"]
    );
    let above = |name: &str| tree.links(tree.find(name).unwrap())[0];
    assert_eq!((above("h2").support, above("h2").length), (Some(0.95), Some(-0.3)));
    assert_eq!(above("h3").support, Some(0.5));
    // Shares stay shares, and a number on the root has no edge to belong to.
    let tree = read("((a,b)0.7,c,d)1.0;").unwrap();
    assert_eq!(tree.links(tree.find("h2").unwrap())[0].support, Some(0.7));
    // Identifiers are no support.
    assert!(read("((a,b)9606,c,d)10090;").unwrap().find("9606").is_some());
}

#[test]
fn the_mode_tells_which_inner_nodes_are_observed() {
    let text = "((a,b)p,(c,d)7,(e,f)q[&hidden],(g,h1)[&hidden])r;";
    let observed = |mode: &Observed<'_>| -> Vec<String> {
        let tree = Tree::from_newick(text, mode).unwrap();
        tree.nodes().iter().filter(|node| node.observed && node.name.len() == 1).map(|node| node.name.clone()).collect()
    };
    assert_eq!(observed(&Observed::LeavesOnly), ["a", "b", "c", "d", "e", "f", "g"]);
    assert_eq!(observed(&Observed::InnerNamed), ["r", "p", "a", "b", "7", "c", "d", "e", "f", "g"]);
    let names = HashSet::from(["p".to_owned(), "q".to_owned()]);
    assert_eq!(observed(&Observed::Names(&names)), ["p", "a", "b", "c", "d", "e", "f", "g"]);
    let unnamed = Tree::from_newick(text, &Observed::Names(&names)).unwrap();
    assert_eq!(unnamed.n_hidden(), 4);
    assert!(unnamed.find("h2").is_some() && unnamed.find("h3").is_some());
}

#[test]
fn a_rooted_binary_tree_keeps_its_root_until_minimised() {
    let tree = read("((a:1,b:1):0.25,(c:1,d:1):0.5);").unwrap();
    assert_eq!((tree.n_hidden(), tree.degree(NodeIx::new(0))), (3, 2));
    let minimal = tree.minimal();
    assert_eq!(minimal.n_hidden(), 2);
    assert!(minimal.edges().any(|edge| edge.length == Some(0.75)));
}

#[test]
fn mistakes_are_told_with_line_and_character() {
    for (text, line, character, part) in [
        ("", 1, 1, "no tree"),
        (" [only a comment] ", 1, 19, "no tree"),
        ("(a,b", 1, 1, "never closed"),
        ("((a,b);", 1, 1, "not closed before"),
        ("(a,b));", 1, 6, "without a '('"),
        ("(a,b)c", 1, 7, "without ';'"),
        ("(a,\nb)(c,d);", 2, 3, "second root"),
        ("(a,b),(c,d);", 1, 6, "two roots"),
        ("a,b;", 1, 2, "two roots"),
        ("(a,\n b,\n a);", 3, 2, "already appears in line 1"),
        ("(a,'b);", 1, 4, "quote"),
        ("(a,b[x);", 1, 5, "comment"),
        ("(a,b]);", 1, 5, "']'"),
        ("(a:x,b);", 1, 4, "length"),
        ("(a:,b);", 1, 3, "length"),
        ("(a:inf,b);", 1, 4, "not finite"),
        ("(a:1e999,b);", 1, 4, "not finite"),
        ("(a:1:2,b);", 1, 5, "second length"),
        ("(a,);", 1, 4, "no name"),
        ("(a,'');", 1, 4, "empty name"),
        (";", 1, 1, "empty tree"),
        ("(a b,c);", 1, 4, "in quotes"),
        ("(é b,c);", 1, 4, "in quotes"),
        ("(a,b[&support=much]);", 1, 5, "support"),
        ("#NEXUS\nbegin trees;", 1, 1, "NEXUS"),
    ] {
        let error = read(text).unwrap_err();
        let Error::Format { place, format: "Newick", problem } = &error else { panic!("{text:?}: {error}") };
        assert_eq!(place.line, Some(line), "{text:?}: {error}");
        assert!(problem.starts_with(&format!("character {character}: ")), "{text:?}: {error}");
        assert!(problem.contains(part), "{text:?}: {error}");
    }
}

#[test]
fn hostile_text_never_panics() {
    let valid = "[&U](a:0.1,'b ''c':2e-3[&support=0.5],((d,e)h3[&hidden]:1,é[&observed])0.9:-1)x;\n(f,[n[e]s]g)y[&observed];";
    assert!(read(valid).is_ok());
    for (end, _) in valid.char_indices() {
        let tree = read(&valid[..end]);
        assert!(tree.is_err() || valid[..end].trim_end().ends_with(';'), "{:?}", &valid[..end]);
    }
    let mut rng = rng(22);
    let alphabet: Vec<char> = "()[]:;,'&ab1.e-_ \n\0é=∞".chars().collect();
    for _ in 0..20_000 {
        let mut text: Vec<char> = valid.chars().collect();
        for _ in 0..rng.random_range(1..6) {
            let at = rng.random_range(0..text.len());
            match rng.random_range(0..3) {
                0 => text[at] = alphabet[rng.random_range(0..alphabet.len())],
                1 => text.insert(at, alphabet[rng.random_range(0..alphabet.len())]),
                _ => drop(text.remove(at)),
            }
        }
        let text: String = text.into_iter().collect();
        for observed in [Observed::LeavesOnly, Observed::InnerNamed] {
            if let Ok(tree) = Tree::from_newick(&text, &observed) {
                assert_eq!(content(&read(&tree.to_newick(None)).unwrap()), content(&tree), "{text:?}");
            }
        }
    }
}

#[test]
fn a_million_nested_parentheses_do_not_overflow() {
    const DEPTH: usize = 1_000_000;
    let text = format!("{}a{};", "(".repeat(DEPTH), ")".repeat(DEPTH));
    let tree = read(&text).unwrap();
    assert_eq!((tree.n_observed(), tree.n_hidden()), (1, DEPTH));
    assert!(read(&"(".repeat(DEPTH)).is_err());
    assert!(read(&"[".repeat(DEPTH)).is_err());
    assert!(read(&"(,".repeat(DEPTH)).is_err());
}
