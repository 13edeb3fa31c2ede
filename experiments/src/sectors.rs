//! S&P 500 weekly returns: do neighbours on the learned tree share a sector?

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use latentree::data::{BatchSource, ColumnData, Dataset, Kind, ReadOptions, Schema, open};
use latentree::moments::{BlockMoments, fold};
use latentree::structure::{LearnerName, StructureInput, StructureOptions, learn_structure};
use latentree::tree::Tree;
use latentree::{ColIx, Error, Result, Silent};

use crate::record::Results;

/// Weekly log returns of all stocks.
fn returns(path: &Path) -> Result<Dataset> {
    let prices = Dataset::read(&mut open(path, &ReadOptions::default())?)?;
    let mut schema = Schema::builder();
    let mut columns = Vec::new();
    for (ix, column) in prices.schema().columns().iter().enumerate().filter(|(_, column)| column.kind.n_states().is_none()) {
        let cells = prices.batches().iter().flat_map(|batch| (0..batch.n_rows).map(move |row| batch.number(row, ColIx::new(ix))));
        let logarithms: Vec<f64> = cells.map(f64::ln).collect();
        columns.push(ColumnData::Reals(logarithms.windows(2).map(|pair| pair[1] - pair[0]).collect()));
        schema = schema.scalar(&column.name, Kind::Continuous);
    }
    Dataset::from_columns(Arc::new(schema.build()?), columns, None)
}

fn sectors(path: &Path) -> Result<HashMap<String, String>> {
    let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
    let pairs = text.lines().skip(1).filter_map(|line| line.split_once(','));
    Ok(pairs
        .map(|(ticker, sector)| (ticker.to_owned(), sector.trim().to_owned()))
        .filter(|(_, sector)| !sector.is_empty())
        .collect())
}

/// How often stocks share a sector.
pub(crate) struct Sharing {
    pub(crate) learner: LearnerName,
    pub(crate) hidden: usize,
    pub(crate) stocks: usize,
    /// Share of stocks whose nearest other stock on the tree is in their sector.
    pub(crate) neighbours: f64,
    /// Share of all pairs that are in one sector.
    pub(crate) pairs: f64,
    pub(crate) seconds: f64,
}

fn sharing(tree: &Tree, sectors: &HashMap<String, String>) -> Result<(usize, f64, f64)> {
    let paths = tree.path_lengths()?;
    let known: Vec<(usize, &String)> =
        paths.nodes().iter().enumerate().filter_map(|(row, &node)| Some((row, sectors.get(tree.name(node))?))).collect();
    let (mut same, mut pairs, mut shared) = (0, 0, 0);
    for &(row, sector) in &known {
        let others = || known.iter().filter(|other| other.0 != row);
        pairs += others().count();
        shared += others().filter(|other| other.1 == sector).count();
        let distance = |other: &(usize, &String)| paths.get(row, other.0).unwrap_or(f64::INFINITY);
        let nearest = others().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        same += usize::from(nearest.is_some_and(|nearest| nearest.1 == sector));
    }
    Ok((known.len(), same as f64 / known.len() as f64, shared as f64 / pairs as f64))
}

pub(crate) fn shares(data: &Path, learners: &[LearnerName]) -> Result<Vec<Sharing>> {
    let folder = data.join("stocks");
    let returns = returns(&folder.join("frapo_SP500_weekly.csv.gz"))?;
    let sectors = sectors(&folder.join("frapo_SP500_sectors.csv"))?;
    let mut source = returns.source();
    let empty = BlockMoments::new(Arc::clone(source.schema()), 2)?;
    let blocks = fold(&mut source, empty, &Silent)?;
    let (whole, halves) = (blocks.whole()?, blocks.halves()?);
    let input = StructureInput::Moments { whole: &whole, halves: Some(&halves) };
    learners
        .iter()
        .map(|&learner| {
            let start = Instant::now();
            let learned = learn_structure(input, &StructureOptions::new().learner(learner), &Silent)?;
            let seconds = start.elapsed().as_secs_f64();
            let (stocks, neighbours, pairs) = sharing(&learned.tree, &sectors)?;
            Ok(Sharing { learner: learned.learner, hidden: learned.tree.n_hidden(), stocks, neighbours, pairs, seconds })
        })
        .collect()
}

pub(crate) fn run(data: &Path) -> Result<Results> {
    let title = "S&P 500 weekly log returns 2003–2008: stocks whose nearest other stock on the tree is of their sector";
    let header = ["learner", "stocks with a sector", "hidden nodes", "neighbours", "random pairs", "ratio", "seconds"];
    let mut results = Results::new(title, &header);
    let learners = ["auto", "chow-liu", "nj", "snj", "rg", "clrg", "plrg"]
        .map(|name| name.parse::<LearnerName>())
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    for found in shares(data, &learners)? {
        results.row([
            found.learner.to_string(),
            found.stocks.to_string(),
            found.hidden.to_string(),
            format!("{:.3}", found.neighbours),
            format!("{:.3}", found.pairs),
            format!("{:.2}", found.neighbours / found.pairs),
            format!("{:.2}", found.seconds),
        ]);
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use latentree::structure::LearnerName;

    #[test]
    fn neighbours_share_a_sector_three_times_as_often_as_random_pairs() {
        let Some(data) = crate::data_folder_for_tests("stocks") else { return };
        for found in super::shares(&data, &[LearnerName::Auto]).unwrap() {
            assert!(found.stocks > 300 && found.neighbours >= 3.0 * found.pairs, "{} for {}", found.neighbours, found.pairs);
        }
    }
}
