//! The Rust side of `scripts/check_pyagrum.py`: models for pyAgrum to read, and models of pyAgrum read by us.
//!
//! `write FOLDER` writes random discrete models as BIF and XMLBIF with our answers to some queries;
//! `read FILE` prints a model's tables as JSON.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use latentree::NodeIx;
use latentree::data::{Kind, Schema};
use latentree::format::{Format, ReadModelOptions, export, read_model};
use latentree::inference::{Evidence, Inference};
use latentree::model::{Distribution, Domain, LatentTree, Table};
use latentree::tree::{Edge, Node, Tree};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use serde_json::{Value, json};

const N_NODES: usize = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write", folder] => write(Path::new(folder)),
        ["read", file] => {
            println!("{}", read(Path::new(file))?);
            Ok(())
        }
        _ => Err("usage: pyagrum_fixture write FOLDER | read FILE".into()),
    }
}

fn write(folder: &Path) -> Result<(), Box<dyn Error>> {
    // pyAgrum reads BIF's numbers in single precision. Probabilities that are multiples of 1/64 survive that, so that the
    // answers can be compared to 1e-8 in both formats; the other model has all digits of a double.
    for (name, denominator, seed) in [("model", Some(64), 1), ("digits", None, 2)] {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let model = random_model(&mut random, denominator)?;
        export(&model, Format::Bif, folder.join(format!("{name}.bif")))?;
        export(&model, Format::XmlBif, folder.join(format!("{name}.bifxml")))?;
        let mut queries = Vec::new();
        for n_given in [0, 1, 3, 8, 15] {
            let mut evidence = vec![None; N_NODES];
            for _ in 0..n_given {
                let node = random.random_range(0..N_NODES);
                evidence[node] = Some(random.random_range(0..n_states(&model, node)));
            }
            queries.push(answer(&model, &evidence)?);
        }
        fs::write(folder.join(format!("{name}.answers.json")), json!({ "queries": queries }).to_string())?;
    }
    Ok(())
}

fn random_model(random: &mut ChaCha8Rng, denominator: Option<usize>) -> latentree::Result<LatentTree> {
    let names = (0..N_NODES).map(|ix| match ix {
        3 => "blank and \"quote\"".to_owned(),
        5 => "blank and 'quote'".to_owned(),
        7 => "<ünïcode & more>".to_owned(),
        9 => "table".to_owned(),
        _ => format!("v{ix}"),
    });
    let nodes: Vec<Node> = names.map(|name| Node { name, observed: random.random_bool(0.6) }).collect();
    let edges: Vec<Edge> = (1..N_NODES).map(|ix| Edge::new(NodeIx::new(random.random_range(0..ix)), NodeIx::new(ix))).collect();
    let tree = Tree::from_parts(nodes, &edges)?;
    let labels: Vec<Vec<String>> = (0..N_NODES)
        .map(|ix| {
            let n_states = random.random_range(2..=5);
            (0..n_states).map(|state| if ix % 3 == 0 { format!("{state}.5 %") } else { state.to_string() }).collect()
        })
        .collect();
    let mut schema = Schema::builder();
    for node in tree.node_ixs().filter(|&node| tree.is_observed(node)) {
        schema = schema.scalar(tree.name(node), Kind::Categorical { labels: labels[node.get()].clone() });
    }
    let root = NodeIx::new(random.random_range(0..N_NODES));
    let parent = latentree::tree::Rooted::new(&tree, root).parent;
    let mut builder = LatentTree::builder(Arc::new(schema.build()?), tree.clone()).root(root);
    for node in tree.node_ixs() {
        let n_states = labels[node.get()].len();
        let n_rows = parent[node.get()].map_or(1, |parent| labels[parent.get()].len());
        let values: Vec<f64> = (0..n_rows).flat_map(|_| row(random, n_states, denominator)).collect();
        builder = builder.distribution(node, Distribution::Discrete(Table::new(n_states, values)));
        if !tree.is_observed(node) {
            builder = builder.hidden(node, Domain::Discrete { labels: labels[node.get()].clone() });
        }
    }
    builder.build()
}

fn row(random: &mut ChaCha8Rng, n_states: usize, denominator: Option<usize>) -> Vec<f64> {
    if let Some(denominator) = denominator {
        let mut counts = vec![1; n_states];
        (0..denominator - n_states).for_each(|_| counts[random.random_range(0..n_states)] += 1);
        return counts.iter().map(|&count| f64::from(count) / denominator as f64).collect();
    }
    let weights: Vec<f64> = (0..n_states).map(|_| random.random_range(0.01..1.0)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

fn n_states(model: &LatentTree, node: usize) -> usize {
    model.n_states(NodeIx::new(node)).expect("the model is discrete")
}

/// Every node's distribution given the evidence, by the library's exact inference.
fn answer(model: &LatentTree, evidence: &[Option<usize>]) -> latentree::Result<Value> {
    let given: Vec<Value> =
        (0..N_NODES).filter_map(|node| evidence[node].map(|state| json!({ "node": node, "state": state }))).collect();
    let mut known = Evidence::none(model);
    for (node, state) in evidence.iter().enumerate() {
        if let Some(state) = state {
            known.set_node(model, NodeIx::new(node), *state as f64);
        }
    }
    let nodes: Vec<NodeIx> = model.tree().node_ixs().collect();
    let answer = Inference::new(model).query(&known, &nodes)?;
    let posteriors: Vec<Vec<f64>> = answer.marginals.into_iter().map(|it| it.1).collect();
    Ok(json!({ "evidence": given, "probability": answer.log_evidence.exp(), "posteriors": posteriors }))
}

fn read(file: &Path) -> Result<Value, Box<dyn Error>> {
    let model = read_model(file, &ReadModelOptions::default())?.into_latent_tree()?;
    let tree = model.tree();
    let nodes = tree.node_ixs().map(|node| {
        let Distribution::Discrete(table) = model.distribution(node) else { unreachable!("the model is discrete") };
        json!({
            "name": tree.name(node),
            "observed": tree.is_observed(node),
            "parent": model.parent(node).map(|parent| tree.name(parent)),
            "labels": model.domain(node).labels(),
            "table": table.rows().collect::<Vec<_>>(),
        })
    });
    Ok(Value::Array(nodes.collect()))
}
