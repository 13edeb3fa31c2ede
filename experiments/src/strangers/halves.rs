//! A table's default tree with its support and bootstrap, and the trees of random halves of its rows: how many splits they share.
//!
//! With `--drawn`, two halves of the same size are also drawn from the learned model, and their trees are compared with each
//! other and with the model's: what halves share if the tree is exactly true.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use latentree::format::ModelFile;
use latentree::tree::Tree;
use latentree::{Error, NodeIx, Result};
use serde_json::Value;

use super::program::Program;
use super::table::{Table, folds};
use super::tables::TABLES;
use crate::record::Results;
use crate::side::{Parting, partings};

/// Which table, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct HalvesArgs {
    /// Tables
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "diabetes130")]
    tables: Vec<String>,
    /// Seeds of the partitions
    #[arg(long, value_name = "N,M", value_delimiter = ',', default_value = "1")]
    partitions: Vec<u64>,
    /// Replicates of the bootstrap of all rows; 0 leaves all rows out unless `--drawn`
    #[arg(long, value_name = "N", default_value_t = 100)]
    bootstrap: usize,
    /// Compares halves of rows that are drawn from the model of all rows, too
    #[arg(long)]
    drawn: bool,
    /// The command-line program [default: latentree beside this one]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Most seconds of one call of the program
    #[arg(long, value_name = "SECONDS", default_value_t = 3600.0)]
    limit: f64,
}

/// Bootstrap shares from which a split counts as found again.
const FOUND: f64 = 0.7;

const NAMES: [&str; 2] = ["A", "B"];
/// The model of all rows.
const WHOLE: &str = "all.json";

/// A learned tree and what the program said of it.
struct Learned {
    tree: Tree,
    json: Value,
    cpu_seconds: Option<f64>,
}

fn learned(program: &Program, folder: &Path, data: &[String], options: &[String], name: &str) -> Result<Learned> {
    let output = ["-o", name].map(str::to_owned);
    let called = program.call(folder, &[&["learn".to_owned()], data, &output, options].concat())?;
    let json = called.json.map_err(|problem| Error::option("--program", problem))?;
    let tree = match ModelFile::read(folder.join(name))? {
        ModelFile::LatentTree(model) => model.tree().clone(),
        _ => return Err(Error::option("--program", "the model is not a latent tree")),
    };
    Ok(Learned { tree, json, cpu_seconds: called.cpu_seconds })
}

/// The tree as nested lists: hidden nodes with their variables, the support of the edge above them in front.
fn outline(tree: &Tree) -> String {
    fn below(tree: &Tree, node: NodeIx, above: Option<NodeIx>, depth: usize, text: &mut String, seen: &mut [bool]) {
        seen[node.get()] = true;
        let near = |link: &&latentree::tree::Link| Some(link.to) != above;
        let is_inner = |node: NodeIx| tree.degree(node) > 1;
        let leaves: Vec<&str> =
            tree.links(node).iter().filter(near).filter(|it| !is_inner(it.to)).map(|it| tree.name(it.to)).collect();
        let edge = tree
            .edges()
            .find(|edge| above.is_some_and(|above| [edge.a, edge.b] == [above, node] || [edge.b, edge.a] == [above, node]));
        let number = |value: Option<f64>| value.map_or(String::new(), |it| format!(" {it:.2}"));
        let sure = edge.map_or(String::new(), |edge| number(edge.support) + &number(edge.bootstrap));
        let _ = writeln!(text, "{}{}{sure}: {}", "  ".repeat(depth), tree.name(node), leaves.join(", "));
        for leaf in tree.links(node).iter().filter(|it| !is_inner(it.to)) {
            seen[leaf.to.get()] = true;
        }
        for link in tree.links(node).iter().filter(near).filter(|it| is_inner(it.to)) {
            below(tree, link.to, Some(node), depth + 1, text, seen);
        }
    }
    let (mut text, mut seen) = (String::new(), vec![false; tree.n_nodes()]);
    let mut nodes: Vec<NodeIx> = tree.node_ixs().filter(|&node| tree.degree(node) > 1).collect();
    nodes.sort_by_key(|&node| std::cmp::Reverse(tree.degree(node)));
    for node in nodes {
        if !seen[node.get()] {
            below(tree, node, None, 0, &mut text, &mut seen);
        }
    }
    text
}

/// "part of whole, percent".
fn share(part: usize, whole: usize) -> String {
    format!("{part} of {whole}, {:.0}%", 100.0 * part as f64 / whole.max(1) as f64)
}

fn row(table: &Table, rows: &str, learned: &Learned) -> Vec<String> {
    let (splits, json) = (partings(&learned.tree), &learned.json);
    let tested: Vec<&Parting<'_>> = splits.iter().filter(|it| it.support.is_some()).collect();
    let resampled: Vec<f64> = splits.iter().filter_map(|it| it.bootstrap).collect();
    let number = |value: &Value| value.as_f64().map_or("–".to_owned(), |it| format!("{it:.1}"));
    let of = |name: &str| json["splits"][name].as_u64().map_or("–".to_owned(), |it| it.to_string());
    let found = resampled.iter().filter(|it| **it >= FOUND).count();
    vec![
        table.name.to_owned(),
        rows.to_owned(),
        number(&json["bic"]),
        format!("{} + {}", tested.len(), splits.len() - tested.len()),
        of("strong"),
        of("weak"),
        of("removed"),
        if resampled.is_empty() { "–".to_owned() } else { share(found, resampled.len()) },
        "–".to_owned(),
        "–".to_owned(),
        "–".to_owned(),
        learned.cpu_seconds.map_or("–".to_owned(), |it| format!("{it:.0}")),
    ]
}

/// The row of a tree, with the share of its splits that the others have as well.
fn compared(table: &Table, rows: &str, learned: &Learned, others: &[Parting<'_>]) -> Vec<String> {
    let (mine, mut cells) = (partings(&learned.tree), row(table, rows, learned));
    let count = |is: &dyn Fn(&Parting<'_>) -> bool| share(mine.iter().filter(|it| is(it)).count(), mine.len());
    cells[8] = count(&|split| others.iter().any(|other| split.is_same(other)));
    cells[9] = count(&|split| split.is_shared(others));
    let sum: f64 = mine.iter().map(|split| split.transfer_support(others)).sum();
    cells[10] = format!("{:.2}", sum / mine.len().max(1) as f64);
    cells
}

/// Compares the trees of two halves with each other.
fn compare(table: &Table, rows: &str, halves: &[Learned; 2], add: &mut impl FnMut(Vec<String>)) {
    for own in 0..2 {
        crate::note(&outline(&halves[own].tree));
        let others = partings(&halves[1 - own].tree);
        add(compared(table, &format!("{} {rows}", NAMES[own]), &halves[own], &others));
    }
}

/// Draws rows from the model of all rows.
fn drawn(program: &Program, folder: &Path, n_rows: usize, seed: u64) -> Result<String> {
    let (name, numbers) = ("drawn.csv".to_owned(), [n_rows.to_string(), seed.to_string()]);
    let arguments = ["sample", WHOLE, "--rows", &numbers[0], "--seed", &numbers[1], "-o", &name].map(str::to_owned);
    program.call(folder, &arguments)?.json.map_err(|problem| Error::option("--program", problem))?;
    Ok(name)
}

pub(crate) fn run(args: &HalvesArgs, data: &Path) -> Result<Results> {
    let program = Program::new(args.program.as_deref(), args.limit)?;
    let header = [
        "table",
        "rows",
        "BIC",
        "splits, tested + at observed nodes",
        "strong",
        "weak",
        "removed",
        "bootstrap ≥ 70%",
        "shared exactly",
        "shared, common variables",
        "mean transfer support",
        "CPU s",
    ];
    let mut results = Results::new("Default trees of all rows and of random halves of them", &header);
    let folder = std::env::temp_dir().join(format!("latentree-halves-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
    for name in &args.tables {
        let named = TABLES.iter().find(|it| it.name == name);
        let table = named.ok_or_else(|| Error::option("--tables", format!("{name:?} is not there")))?.table(data)?;
        let mut add = |cells: Vec<String>| {
            crate::note(&cells.join(" | "));
            results.row(cells);
        };
        if args.bootstrap > 0 || args.drawn {
            let options = ["--bootstrap".to_owned(), args.bootstrap.to_string()];
            let options = if args.bootstrap > 0 { &options[..] } else { &[] };
            let whole = learned(&program, &folder, &table.write(&folder, "all", |_| true)?, options, WHOLE)?;
            crate::note(&outline(&whole.tree));
            add(row(&table, "all", &whole));
            for &partition in args.partitions.iter().filter(|_| args.drawn) {
                let half = |half: u64| {
                    let data = drawn(&program, &folder, table.n_rows() / 2, 2 * partition + half)?;
                    learned(&program, &folder, &[data], &[], "half.json")
                };
                let (halves, truth) = ([half(0)?, half(1)?], partings(&whole.tree));
                compare(&table, &format!("drawn half of partition {partition}"), &halves, &mut add);
                for (own, half) in halves.iter().enumerate() {
                    let rows = format!("drawn half {} of partition {partition}, to the model", NAMES[own]);
                    add(compared(&table, &rows, half, &truth));
                }
            }
        }
        for &partition in &args.partitions {
            let half_of_row = folds(table.n_rows(), 2, partition);
            let half = |half: usize| {
                let part = table.write(&folder, "half", |row| half_of_row[row] == half)?;
                learned(&program, &folder, &part, &[], "half.json")
            };
            compare(&table, &format!("half of partition {partition}"), &[half(0)?, half(1)?], &mut add);
        }
    }
    std::fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
    Ok(results)
}
