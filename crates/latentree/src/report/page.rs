//! The page: a model or tree as one self-contained, interactive HTML file.
//!
//! The front end is in `web/` (TypeScript, built into `page/template.html`, which is checked in next to this file so that a
//! build needs no other tools); this module computes its content. Nothing is loaded from elsewhere: the file works from disk
//! and offline.

mod content;
pub(super) mod embed;
mod labels;
pub(super) mod payload;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use self::content::Facts;
use self::labels::Labels;
use self::payload::{
    Details, Export, Fit, GROUP_LABEL, GroupEntry, Misfit, MisfitTable, Payload, Row, Rows, Side, cut, finite, short,
};
use self::rows::DataView;
use super::Groups;
use super::misfits::{Misfits, worst};
use super::steps::Steps;
use super::topics::{Topic, TopicTable, is_of_words};
use crate::data::BatchSource;
use crate::error::{Error, Place, Result};
use crate::format::{Format, ModelFile, View, render};
use crate::index::{ColIx, NodeIx};
use crate::inference::Score;
use crate::model::{Family, LatentTree};
use crate::observer::Observer;
use crate::tree::Rooted;

/// Total length of names above which they are shortened, to keep a page readable.
const MAX_NAME_BYTES: usize = 4 << 20;
/// Maximum number of characters of a shortened name.
const CUT_NAME: usize = 120;
/// Approximate total number of typical rows; each state has 3 to 10.
const ALL_ROWS: usize = 60_000;
/// Maximum size of the exports in the page.
const MAX_EXPORT_BYTES: usize = 4 << 20;
/// Number of badly explained pairs to list.
const SHOWN_MISFITS: usize = 60;
/// Number of words per topic.
const TOPIC_WORDS: usize = 10;
/// Exports larger than this are not compressed at all.
const MAX_RAW_BYTES: usize = 100 << 20;

/// What a page shows besides the model and the data.
///
/// # Example
/// ```
/// use latentree::report::{PageOptions, page};
/// use latentree::tree::Tree;
/// let mut tree = Tree::new();
/// let (h, a) = (tree.add_hidden("h1")?, tree.add_observed("a")?);
/// tree.connect(h, a, Some(0.5))?;
/// let html = page(&tree, None, &PageOptions::new("A small tree"), &latentree::Silent)?;
/// assert!(html.starts_with("<!doctype html>") && html.contains("<title>A small tree"));
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct PageOptions {
    title: String,
    data_name: Option<String>,
    stages: Vec<(String, f64)>,
    score: Option<Score>,
}

impl PageOptions {
    /// Options for a page with this title.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn shown_data_name(&self) -> Option<&str> {
        self.data_name.as_deref()
    }

    /// Sets the name of the data, such as their file name.
    #[must_use]
    pub fn data_name(mut self, name: impl Into<String>) -> Self {
        self.data_name = Some(name.into());
        self
    }

    /// Adds a stage of learning and its duration in seconds.
    #[must_use]
    pub fn stage(mut self, name: impl Into<String>, seconds: f64) -> Self {
        self.stages.push((name.into(), seconds));
        self
    }

    /// Sets the fit, if it is known and no data are given; with data, it is computed.
    #[must_use]
    pub fn score(mut self, score: Score) -> Self {
        self.score = Some(score);
        self
    }
}

/// The page of a model or tree, as HTML. Data must have the model's schema; they are read twice.
///
/// With data, the page also shows the fit, the most typical rows of each hidden state, and the pairs of variables that the
/// model explains worst.
///
/// # Errors
/// [`Error::Data`] for data without a model's tables, or for a tree without nodes; [`Error::Mismatch`] for data with another
/// schema; any error from the source; and [`Error::Cancelled`].
///
/// # Complexity
/// Without data, about linear in the tree; with data, the cost of the posteriors of all rows and of counting pairs of at most
/// 3,000 features.
pub fn page<'a>(
    what: impl Into<View<'a>>,
    data: Option<&dyn crate::data::Rows>,
    options: &PageOptions,
    observer: &dyn Observer,
) -> Result<String> {
    let view = what.into();
    let topics = topics(view, data, observer)?;
    let mut source = data.map(crate::data::Rows::open).transpose()?;
    let (payload, details) =
        payload(view, source.as_deref_mut().map(|it| it as &mut dyn BatchSource), &topics, options, observer)?;
    const PLAIN: &str = "lists, numbers and texts are JSON";
    let tree = serde_json::to_string(&payload).expect(PLAIN);
    let details = serde_json::to_string(&details).expect(PLAIN);
    let exports = serde_json::to_string(&exports(view)).expect(PLAIN);
    Ok(embed::fill(&embed::TREE, &payload.title, &[&tree, &details, &exports]))
}

/// The topics of a model of words, with their coherence if there are data.
fn topics(view: View<'_>, data: Option<&dyn crate::data::Rows>, observer: &dyn Observer) -> Result<Vec<Topic>> {
    let Some(model) = view.model().filter(|model| is_of_words(model.provenance())) else { return Ok(Vec::new()) };
    // A tree without hidden states has no topics.
    let Ok(table) = TopicTable::of_tree(model, None, TOPIC_WORDS) else { return Ok(Vec::new()) };
    let table = match data {
        Some(rows) => table.measured(rows, observer)?,
        None => table,
    };
    Ok(table.topics().to_vec())
}

fn payload(
    view: View<'_>,
    data: Option<&mut dyn BatchSource>,
    topics: &[Topic],
    options: &PageOptions,
    observer: &dyn Observer,
) -> Result<(Payload, Details)> {
    let tree = view.tree();
    if tree.n_nodes() == 0 {
        return Err(Error::data(Place::default(), "the tree has no nodes, so there is nothing to show"));
    }
    // The tree is drawn from its centre: the model's root only matters for its tables.
    let parents = Rooted::with_roots(tree, &[]).expect("no roots cannot clash").parent;
    let steps = view.model().filter(|model| model.family() == Family::Discrete).map(Steps::new);
    observer.stage("profiles", None);
    let facts = Facts::new(view, steps.as_ref(), &parents);
    if observer.cancelled() {
        return Err(Error::Cancelled);
    }
    let data = match (view.model(), data) {
        (Some(model), Some(source)) => {
            let n_states: usize = model.hidden().map(|node| model.n_states(node).unwrap_or(2)).sum();
            let per_state = (ALL_ROWS / n_states.max(1)).clamp(3, 10);
            Some((model, rows::read(model, source, per_state, &facts.columns, observer)?))
        }
        (None, Some(_)) => {
            return Err(Error::data(
                Place::default(),
                "a tree without tables has no probabilities for rows of data; pass the tree alone, or learn its parameters first, \
                 with this tree as `learn.tree`",
            ));
        }
        (_, None) => None,
    };
    let misfits = data.as_ref().and_then(|(model, data)| {
        let found = worst(model, steps.as_ref(), data.moments.as_ref()?, &data.pair_columns, SHOWN_MISFITS);
        Some(misfits(model, &facts, found))
    });
    let rows = data.as_ref().map(|(_, data)| typical_rows(data, &facts.shown_states)).unwrap_or_default();
    let labels = match view.model() {
        Some(model) => Labels::new(model, &facts.profiles, &facts.shown_states, &facts.members, &rows),
        None => Labels::none(tree.n_nodes()),
    };
    let n_name_bytes: usize = tree.nodes().iter().map(|node| node.name.len()).sum();
    let name = |name: &str| if n_name_bytes > MAX_NAME_BYTES { cut(name, CUT_NAME) } else { name.to_owned() };
    let link = |node: NodeIx| {
        let parent = parents[node.get()]?;
        tree.links(node).iter().find(|link| link.to == parent)
    };
    let groups = view.model().map(Groups::of);
    let label = |node: NodeIx| Some(cut(groups.as_ref()?.label(node)?, GROUP_LABEL));
    let payload = Payload {
        format: 1,
        title: cut(&options.title, 200),
        family: match view.model().map(LatentTree::family) {
            None => "tree",
            Some(Family::Discrete) => "discrete",
            Some(Family::Gaussian) => "gaussian",
        },
        data_name: options.data_name.as_deref().map(|name| cut(name, 200)),
        names: tree.nodes().iter().map(|node| name(&node.name)).collect(),
        observed: tree.nodes().iter().map(|node| u8::from(node.observed)).collect(),
        parents: parents.iter().map(|parent| parent.map_or(-1, |parent| parent.get() as i64)).collect(),
        kinds: tree.node_ixs().map(|node| view.kind(node).unwrap_or("")).collect(),
        lengths: tree.node_ixs().map(|node| link(node)?.length.and_then(finite)).collect(),
        supports: tree.node_ixs().map(|node| link(node)?.shown_support().and_then(finite)).collect(),
        information: facts.information,
        strengths: facts.strengths,
        topics: facts.topics,
        label_sets: labels.sets,
        labels: labels.of_node,
        marginals: facts.marginals,
        shown_states: facts.shown_states,
        members: labels.members,
        node_labels: tree.node_ixs().map(label).collect(),
        groups: groups
            .as_ref()
            .map(|groups| groups.all().iter().map(|group| GroupEntry::new(group, topics)).collect())
            .unwrap_or_default(),
        fit: fit(view, options, data.as_ref().map(|(_, data)| &data.score)),
        misfits,
    };
    Ok((payload, Details { profiles: facts.profiles, rows }))
}

fn typical_rows(data: &DataView, shown_states: &BTreeMap<usize, Vec<usize>>) -> BTreeMap<usize, Rows> {
    let with_rows = data.rows.iter().enumerate().filter_map(|(node, rows)| Some((node, rows.as_ref()?)));
    let shown = with_rows.map(|(node, rows)| {
        let states = shown_states.get(&node).cloned().unwrap_or_else(|| (0..rows.typical.len()).collect());
        let row = |row: &rows::TypicalRow| {
            let cells = row.cells.iter().map(|&cell| finite(cell));
            Row(row.row + 1, short(row.value), cells.collect())
        };
        let typical = states.iter().map(|&state| rows.typical[state].iter().map(row).collect());
        let shares = states.iter().filter_map(|&state| rows.shares.get(state)).map(|&share| short(share));
        (node, Rows { shares: shares.collect(), typical: typical.collect() })
    });
    shown.collect()
}

fn misfits(model: &LatentTree, facts: &Facts, found: Misfits) -> MisfitTable {
    let side = |column: ColIx, label: Option<usize>| {
        let node = model.node_of(model.schema().variable_of(column));
        Side(node.get(), facts.members.binary_search(&column).ok(), label)
    };
    let worst = found.worst.iter().map(|it| Misfit {
        sides: [0, 1].map(|end| side(it.columns[end], it.labels[end])),
        is_correlation: it.is_correlation,
        observed: short(it.observed),
        expected: short(it.expected),
        z: short(it.z),
    });
    MisfitTable {
        pairs: found.pairs,
        beyond_four: found.beyond_four,
        columns: found.n_columns,
        all_columns: model.schema().columns().len(),
        worst: worst.collect(),
    }
}

fn fit(view: View<'_>, options: &PageOptions, computed: Option<&Score>) -> Fit {
    let score = computed.or(options.score.as_ref());
    let tree_provenance = match view.file {
        Some(ModelFile::Tree { provenance, .. }) => Some(provenance),
        Some(ModelFile::Spectral(model)) => Some(model.provenance()),
        _ => None,
    };
    let provenance = view.model().map(LatentTree::provenance).or(tree_provenance).cloned().unwrap_or_default();
    // Totals keep all digits, because differences between models are small in comparison.
    let whole = |value: f64| value.is_finite().then_some(value);
    Fit {
        parameters: view.model().map(LatentTree::n_free_parameters),
        rows: score.map(|score| score.rows),
        log_likelihood: score.and_then(|score| whole(score.log_likelihood)),
        mean_log_likelihood: score.and_then(|score| whole(score.mean_log_likelihood())),
        bic: score.and_then(|score| whole(score.bic())),
        impossible_rows: score.map(|score| score.impossible_rows),
        program: provenance.program.map(|text| cut(&text, 100)),
        seed: provenance.seed,
        learned_rows: provenance.rows,
        digest: provenance.data_digest.map(|text| cut(&text, 100)),
        options: provenance.options.iter().take(100).map(|(key, value)| (cut(key, 100), cut(value, 300))).collect(),
        stages: options.stages.iter().map(|(name, seconds)| (cut(name, 100), short(*seconds))).collect(),
    }
}

/// All export formats, compressed, as long as they fit in the page.
fn exports(view: View<'_>) -> Vec<Export> {
    let formats = [Format::Json, Format::Newick, Format::Text, Format::Dot, Format::GraphMl, Format::Bif, Format::XmlBif];
    let mut left = MAX_EXPORT_BYTES;
    let exports = formats.into_iter().map(|format| {
        let ending = format.ending();
        let none =
            |bytes: usize, problem: String| Export { format: format.name(), ending, bytes, packed: None, problem: Some(problem) };
        let text = match render(view, format) {
            Ok(text) => text,
            Err(error) => return none(0, cut(&error.to_string(), 300)),
        };
        let packed = (text.len() <= MAX_RAW_BYTES).then(|| embed::packed(&text)).filter(|packed| packed.len() <= left);
        let Some(packed) = packed else {
            return none(text.len(), format!("too large for a page; export the model as {format}"));
        };
        left -= packed.len();
        Export { format: format.name(), ending, bytes: text.len(), packed: Some(packed), problem: None }
    });
    exports.collect()
}
