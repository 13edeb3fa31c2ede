//! Neighbour joining on real phylogenetic distances, against the trees that come with them.

use std::collections::BTreeMap;
use std::path::Path;

use latentree::distance::DistanceMatrix;
use latentree::structure::{LearnerName, StructureInput, StructureOptions, learn_structure};
use latentree::tree::{Observed, Tree};
use latentree::{Error, NodeIx, Result, Silent};

use crate::record::Results;

/// How two trees over the same leaves differ.
pub(crate) struct Difference {
    pub(crate) name: &'static str,
    pub(crate) leaves: usize,
    pub(crate) shared: usize,
    /// Splits of the published tree that the learned one lacks: length and smaller side.
    pub(crate) missing: Vec<(f64, String)>,
    /// The other way round.
    pub(crate) extra: Vec<(f64, String)>,
}

/// An edge of the published tree shorter than this share of its longest way says nothing about its split.
const MIN_SHARE: f64 = 1e-6;

fn read_newick(path: &Path) -> Result<Tree> {
    let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
    Ok(Tree::from_newick(&text, &Observed::LeavesOnly)?.minimal())
}

/// Gives the tips the matrix's names. The tips of a tree whose labels are other than the matrix's are told by their distances to
/// all others, which are the same in tree and matrix; tips with the same distances to all others are interchangeable.
fn with_names_of(mut tree: Tree, distances: &DistanceMatrix) -> Result<Tree> {
    if distances.names().iter().all(|name| tree.find(name).is_some()) {
        return Ok(tree);
    }
    let signature = |row: &mut dyn Iterator<Item = f64>| {
        let mut values: Vec<i64> = row.map(|value| (value * 1e6).round() as i64).collect();
        values.sort_unstable();
        values
    };
    let n = distances.len();
    let mut names: BTreeMap<Vec<i64>, Vec<usize>> = BTreeMap::new();
    for i in (0..n).rev() {
        names.entry(signature(&mut (0..n).map(|j| distances.raw(i, j)))).or_default().push(i);
    }
    let paths = tree.path_lengths()?;
    let tips: Vec<NodeIx> = paths.nodes().to_vec();
    let mut matched = Vec::with_capacity(tips.len());
    for row in 0..tips.len() {
        let of_tip = signature(&mut (0..tips.len()).map(|column| paths.get(row, column).unwrap_or(f64::NAN)));
        let found = names.get_mut(&of_tip).and_then(Vec::pop);
        matched.push(
            found.ok_or_else(|| Error::tree(format!("no row of the distances is that of tip {:?}", tree.name(tips[row]))))?,
        );
    }
    for (&tip, &variable) in tips.iter().zip(&matched) {
        tree.rename(tip, distances.names()[variable].clone())?;
    }
    Ok(tree)
}

fn only_in(tree: &Tree, other: &Tree) -> Vec<(f64, String)> {
    let (own, others) = (tree.splits(), other.splits());
    let lacking = tree.edges().filter(|edge| own.of_edge(edge.a, edge.b).is_some_and(|split| !others.contains(split)));
    let described = lacking.map(|edge| {
        let names: Vec<&str> = tree.side(&edge).iter().map(|&node| tree.name(node)).collect();
        (edge.length.unwrap_or(f64::NAN), names.join(", "))
    });
    described.collect()
}

fn compare(name: &'static str, distances: &Path, newick: &Path) -> Result<Difference> {
    let distances = DistanceMatrix::read(distances)?;
    let published = with_names_of(read_newick(newick)?, &distances)?;
    let options = StructureOptions::new().learner(LearnerName::NeighborJoining);
    let learned = learn_structure(StructureInput::Distances(&distances), &options, &Silent)?.tree;
    let (ours, theirs) = (learned.splits(), published.splits());
    let longest = distances.lower().iter().copied().fold(0.0, f64::max);
    let mut missing = only_in(&published, &learned);
    missing.retain(|(length, _)| *length > MIN_SHARE * longest);
    Ok(Difference {
        name,
        leaves: distances.len(),
        shared: theirs.iter().filter(|&split| ours.contains(split)).count(),
        missing,
        extra: only_in(&learned, &published),
    })
}

pub(crate) fn differences(data: &Path) -> Result<Vec<Difference>> {
    let folder = data.join("phylo");
    Ok(vec![
        compare("hiv1", &folder.join("hiv1.distances.csv"), &folder.join("hiv1.nwk"))?,
        compare("pythonidae", &folder.join("pythonidae.mle.pdm.csv"), &folder.join("pythonidae.mle.nwk"))?,
    ])
}

pub(crate) fn run(data: &Path) -> Result<Results> {
    let title = "Neighbour joining on published distances, against the published tree";
    let header = ["data", "leaves", "splits shared", "only in the published tree", "only in ours"];
    let mut results = Results::new(title, &header);
    let shown = |splits: &[(f64, String)]| {
        let parts: Vec<String> = splits.iter().map(|(length, side)| format!("{{{side}}} ({length:.4})")).collect();
        if parts.is_empty() { "none".to_owned() } else { parts.join("; ") }
    };
    for difference in differences(data)? {
        results.row([
            difference.name.to_owned(),
            difference.leaves.to_string(),
            difference.shared.to_string(),
            shown(&difference.missing),
            shown(&difference.extra),
        ]);
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    #[test]
    fn neighbour_joining_has_every_split_of_the_published_trees() {
        let Some(data) = crate::data_folder_for_tests("phylo") else { return };
        for difference in super::differences(&data).unwrap() {
            assert!(difference.missing.is_empty(), "{}: {:?}", difference.name, difference.missing);
            assert!(difference.shared >= difference.leaves, "{}", difference.name);
        }
    }
}
