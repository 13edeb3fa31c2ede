//! Topics of a model of words: a table with the words, the share of documents and the coherence of each topic.
//!
//! What counts as a topic depends on the model: a hidden variable of a tree, a component of a mixture, a topic of a latent
//! Dirichlet allocation, or a node of a hierarchy of clusters. The words of a hidden variable are those that its states other
//! than the first make more probable, ranked by mutual information; the words of any other topic are those it has more often
//! than all documents, ranked by relevance.

use serde_json::{Value, json};

use super::groups::Groups;
use super::steps::{Steps, chain};
use crate::data::{Kind, Rows, Schema};
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::mixture::{own_words_of_star, own_words_of_topics, word_coherence};
use crate::model::{ClusterTree, Distribution, Emission, Family, LatentTree, Provenance, TopicModel};
use crate::observer::Observer;

/// Words with less information than this, in nats, are not considered.
const LITTLE: f64 = 1e-6;
/// Words with less than this share of the best word's information are not listed.
const MIN_TOLD: f64 = 0.1;

/// The provenance option that marks a model as learned from words.
pub const TOPICS_OPTION: &str = "topics";

/// A topic.
#[derive(Debug, Clone, PartialEq)]
pub struct Topic {
    /// Its name: the label of a hidden variable, the number of a component from 0, or the path of a cluster.
    pub name: String,
    /// Its words, most relevant first.
    pub words: Vec<String>,
    /// Share of documents that contain it; for `lda`, its share of all words.
    pub share: f64,
    /// Mean NPMI of pairs of its words, if measured; see [`WordCoherence`](crate::mixture::WordCoherence).
    pub npmi: Option<f64>,
    /// C_V coherence of its words, if measured.
    pub c_v: Option<f64>,
    /// The name of its parent topic.
    pub parent: Option<String>,
    /// Its hidden node, in a tree.
    pub node: Option<NodeIx>,
}

/// All topics of a model.
///
/// # Example
/// ```
/// use latentree::data::{Dataset, ReadOptions, TextOptions, open_texts};
/// use latentree::mixture::{MixtureFamily, MixtureOptions, NumberOfComponents, fit_mixture};
/// use latentree::report::TopicTable;
/// use latentree::Silent;
/// let texts = ["red apple pie", "apple pie red", "fast car road", "road car fast"].map(str::to_owned).to_vec();
/// let rows = Dataset::read(&mut open_texts(texts, None, &ReadOptions::default().text(TextOptions::default()))?)?;
/// let options = MixtureOptions::new(NumberOfComponents::Fixed(2)).family(MixtureFamily::SingleTopic).em(true);
/// let fit = fit_mixture(&rows, &options, &Silent)?;
/// let table = TopicTable::of_star(fit.star().expect("it is a star"), 3)?.measured(&rows, &Silent)?;
/// assert!(table.topics().iter().all(|topic| topic.npmi == Some(1.0)));
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TopicTable {
    topics: Vec<Topic>,
}

impl TopicTable {
    /// The components of a star over counts or word presence, with `n_words` words each.
    ///
    /// # Errors
    /// Fails if the model is not a star.
    pub fn of_star(model: &LatentTree, n_words: usize) -> Result<Self> {
        let root = model.rooted().roots[0];
        let Distribution::Discrete(prior) = model.distribution(root) else {
            return Err(Error::model(model.tree().name(root), "is no component of a mixture"));
        };
        let words = own_words_of_star(model, n_words)?;
        let topics = words.into_iter().zip(prior.values()).enumerate();
        Ok(Self { topics: topics.map(|(ix, (words, &share))| Topic::new(ix.to_string(), words, share)).collect() })
    }

    /// The topics of a latent Dirichlet allocation.
    #[must_use]
    pub fn of_topics(model: &TopicModel, n_words: usize) -> Self {
        let total: f64 = model.alpha().iter().sum();
        let topics = own_words_of_topics(model, n_words).into_iter().zip(model.alpha()).enumerate();
        Self { topics: topics.map(|(ix, (words, alpha))| Topic::new(ix.to_string(), words, alpha / total)).collect() }
    }

    /// The clusters of a hierarchy of documents, parents before children.
    #[must_use]
    pub fn of_clusters(model: &ClusterTree, n_words: usize) -> Self {
        let nodes = model.nodes();
        let all = nodes[0].size.max(1) as f64;
        let topic = |ix: usize| {
            let node = &nodes[ix];
            let words = node.relevant.iter().take(n_words).cloned().collect();
            let parent = node.parent.map(|parent| nodes[parent].name.clone());
            Topic { parent, ..Topic::new(node.name.clone(), words, node.size as f64 / all) }
        };
        Self { topics: (1..nodes.len().max(2)).filter(|&ix| ix < nodes.len()).map(topic).collect() }
    }

    /// The topics of a tree over word presence: the `n_topics` hidden variables that together have the most information about
    /// all words or, if no number is given, its groups of words, each with its parent.
    ///
    /// # Errors
    /// [`Error::Query`] if the tree has no hidden states.
    pub fn of_tree(model: &LatentTree, n_topics: Option<usize>, n_words: usize) -> Result<Self> {
        if model.family() != Family::Discrete || model.hidden().next().is_none() {
            return Err(Error::query(
                "topics are hidden variables with states, and the model has none; learn one with hidden variables, or a mixture",
            ));
        }
        let steps = Steps::new(model);
        let groups = Groups::of(model);
        let topic = |node: NodeIx| {
            let words = positive_words(model, &steps, node, n_words);
            let share = 1.0 - steps.marginals[node.get()].first().copied().unwrap_or(1.0);
            let name = groups.label(node).unwrap_or_else(|| model.tree().name(node)).to_owned();
            Topic { node: Some(node), ..Topic::new(name, words, share) }
        };
        let mut topics: Vec<Topic> = match n_topics {
            Some(n_topics) => super::groups::covering(model, n_topics).into_iter().map(topic).collect(),
            None => {
                let all = groups.all();
                let made = all.iter().filter_map(|group| {
                    let parent = group.parent.and_then(|parent| all[parent].node.map(|_| all[parent].label.clone()));
                    Some(Topic { parent, ..topic(group.node?) })
                });
                made.collect()
            }
        };
        topics.retain(|topic| !topic.words.is_empty());
        Ok(Self { topics })
    }

    /// Fails if no column can be a word.
    ///
    /// # Errors
    /// [`Error::Query`] that names the models that have words.
    pub fn check_words(schema: &Schema) -> Result<()> {
        if schema.columns().iter().any(|column| matches!(column.kind, Kind::Binary { .. } | Kind::Count)) {
            return Ok(());
        }
        Err(Error::query(
            "the model has no words: topics need columns of counts, or of 0 and 1; learn a tree, a mixture or a hierarchy from \
             such columns, or use `latentree topics` for text",
        ))
    }

    /// The topics of any model of columns: a tree, or a star with a topic for each state of its only hidden variable.
    ///
    /// # Errors
    /// The same as for [`check_words`](Self::check_words), [`of_tree`](Self::of_tree) and [`of_star`](Self::of_star).
    pub fn of_model(model: &LatentTree, n_topics: Option<usize>, n_words: usize) -> Result<Self> {
        Self::check_words(model.schema())?;
        let is_counts = |node: NodeIx| matches!(model.distribution(node), Distribution::Emission(Emission::Poisson { .. }));
        let mut hidden = model.hidden();
        match (hidden.next(), hidden.next()) {
            (Some(root), None) if model.rooted().roots[0] == root && model.tree().node_ixs().any(is_counts) => {
                Self::of_star(model, n_words)
            }
            _ => Self::of_tree(model, n_topics, n_words),
        }
    }

    /// Adds the coherence, based on the documents that contain two words of a topic.
    ///
    /// # Errors
    /// Any error from reading the rows.
    pub fn measured(mut self, rows: &dyn Rows, observer: &dyn Observer) -> Result<Self> {
        let schema = std::sync::Arc::clone(rows.schema());
        let column = |word: &String| find_word(&schema, word);
        let words = self.topics.iter().map(|topic| topic.words.iter().filter_map(column).collect()).collect();
        for (topic, measure) in self.topics.iter_mut().zip(word_coherence(rows, words, observer)?) {
            (topic.npmi, topic.c_v) = (measure.npmi, measure.c_v);
        }
        Ok(self)
    }

    /// The topics.
    #[must_use]
    pub fn topics(&self) -> &[Topic] {
        &self.topics
    }

    /// Share of distinct words among the words of all topics: 1 if no word is in two topics.
    #[must_use]
    pub fn diversity(&self) -> f64 {
        let n_words: usize = self.topics.iter().map(|topic| topic.words.len()).sum();
        let different: std::collections::BTreeSet<&String> = self.topics.iter().flat_map(|topic| &topic.words).collect();
        if n_words > 0 { different.len() as f64 / n_words as f64 } else { 1.0 }
    }

    /// Mean NPMI of the topics that have one.
    #[must_use]
    pub fn npmi(&self) -> Option<f64> {
        mean(self.topics.iter().filter_map(|topic| topic.npmi))
    }

    /// Mean C_V of the topics that have one.
    #[must_use]
    pub fn c_v(&self) -> Option<f64> {
        mean(self.topics.iter().filter_map(|topic| topic.c_v))
    }

    /// As JSON: a list of `{name, words, share, npmi, c_v, parent}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let topic = |it: &Topic| json!({"name": it.name, "words": it.words, "share": it.share, "npmi": it.npmi, "c_v": it.c_v, "parent": it.parent});
        self.topics.iter().map(topic).collect()
    }

    /// One topic per line, its words separated by spaces, as read by topic evaluation tools.
    #[must_use]
    pub fn to_lines(&self) -> String {
        self.topics.iter().map(|topic| topic.words.join(" ") + "\n").collect()
    }
}

impl Topic {
    fn new(name: String, words: Vec<String>, share: f64) -> Self {
        Self { name, words, share, npmi: None, c_v: None, parent: None, node: None }
    }
}

/// Returns whether a model is one of words: learned from text, as topics, or with a topic family.
pub(super) fn is_of_words(provenance: &Provenance) -> bool {
    let of_text = |read: &Value| read["text"] == true;
    let of_topics = |family: &String| ["single-topic", "lda"].contains(&family.as_str());
    provenance.options.contains_key(TOPICS_OPTION)
        || provenance.options.get("family").is_some_and(of_topics)
        || provenance.read.as_ref().is_some_and(of_text)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

fn find_word(schema: &Schema, word: &str) -> Option<u32> {
    schema.find_column(word).map(|column| column.get() as u32)
}

/// The words whose presence is more probable in the states of a hidden node other than the first, ranked by mutual
/// information.
fn positive_words(model: &LatentTree, steps: &Steps, origin: NodeIx, most: usize) -> Vec<String> {
    let prior = &steps.marginals[origin.get()];
    let n_states = prior.len();
    let inside: f64 = prior.iter().skip(1).sum();
    let mut identity = vec![0.0; n_states * n_states];
    (0..n_states).for_each(|state| identity[state * (n_states + 1)] = 1.0);
    let mut found: Vec<(f64, usize)> = Vec::new();
    let mut stack = vec![(origin.get(), usize::MAX, identity)];
    while let Some((node, from, given)) = stack.pop() {
        let width = steps.marginals[node].len();
        for step in steps.steps[node].iter().filter(|step| step.to != from) {
            let beyond = chain(&given, width, &step.table, step.n_states);
            let nats = crate::information::of_table(prior, &beyond, step.n_states);
            if nats < LITTLE {
                continue;
            }
            if model.tree().is_observed(NodeIx::new(step.to)) && step.n_states == 2 {
                let there = |state: usize| beyond[2 * state + 1];
                let within = (1..n_states).map(|state| prior[state] * there(state)).sum::<f64>() / inside.max(f64::MIN_POSITIVE);
                if within > there(0) {
                    found.push((nats, step.to));
                }
            }
            stack.push((step.to, node, beyond));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let least = found.first().map_or(0.0, |best| MIN_TOLD * best.0);
    let found = found.into_iter().filter(|it| it.0 >= least);
    found.take(most).map(|(_, node)| model.tree().name(NodeIx::new(node)).to_owned()).collect()
}
