//! `learn DATA --candidates`: lists the candidates of regularised Chow–Liu grouping.

use latentree::selection::Candidates;
use serde_json::{Value, json};

use crate::printer::{Printer, in_full, shown, table};

/// Lists every inner node of the Chow–Liu tree with its subtree and what it gains.
pub(crate) fn show(candidates: &Candidates, printer: &Printer) -> std::io::Result<()> {
    let list: Vec<Value> = candidates
        .list
        .iter()
        .map(|scored| {
            let subtree = &scored.candidate.subtree;
            let names = |observed: bool| -> Vec<&str> {
                let nodes = subtree.node_ixs().filter(|&node| subtree.is_observed(node) == observed);
                nodes.map(|node| subtree.name(node)).collect()
            };
            json!({
                "leader": scored.candidate.leader,
                "variables": names(true),
                "hidden": names(false),
                "edges": subtree.edges().map(|edge| [subtree.name(edge.a), subtree.name(edge.b)]).collect::<Vec<_>>(),
                "log_likelihood_gain": scored.log_likelihood_gain,
                "parameters": scored.parameters,
                "bic_gain": scored.bic_gain,
            })
        })
        .collect();
    let rows = candidates.list.iter().map(|scored| {
        let subtree = &scored.candidate.subtree;
        let neighbours: Vec<String> = subtree
            .node_ixs()
            .filter(|&node| subtree.is_observed(node) && subtree.name(node) != scored.candidate.leader)
            .map(|node| shown(subtree.name(node)))
            .collect();
        let list = if neighbours.len() > 6 { format!("{}, …", neighbours[..6].join(", ")) } else { neighbours.join(", ") };
        vec![
            shown(&scored.candidate.leader),
            list,
            subtree.n_hidden().to_string(),
            in_full(scored.log_likelihood_gain),
            scored.parameters.to_string(),
            in_full(scored.bic_gain),
        ]
    });
    let rows = rows.collect();
    printer.result(&json!({"candidates": list}), |out| {
        let header = ["inner node", "neighbours", "hidden", "log-likelihood", "parameters", "BIC gain"];
        writeln!(out, "{}", table(&header, rows, 2))?;
        writeln!(out, "\n--structure reg-clnj accepts those that gain; --accept NAME,NAME accepts the ones you name")
    })
}
