//! Topics of a model of words: a table with the words, the share of documents and the coherence of each topic.
//!
//! What counts as a topic depends on the model: a hidden variable of a tree, a component of a mixture, a topic of a latent
//! Dirichlet allocation, or a node of a hierarchy of clusters. A hidden variable's topic is in the documents of the states in which
//! the words of its group are more probable; its words are those that these states make more probable, ranked by mutual
//! information. The words of any other topic are those it has more often than all documents, ranked by relevance.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Value, json};

use super::groups::{Group, Groups, SEPARATOR};
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
    /// Share of documents that contain it; for `lda`, the mean of its shares in the documents, or its expected share where there are
    /// no documents.
    pub share: f64,
    /// Mean NPMI of pairs of its words, if measured; see [`WordCoherence`](crate::mixture::WordCoherence).
    pub npmi: Option<f64>,
    /// C_V coherence of its words, if measured.
    pub c_v: Option<f64>,
    /// The name of its parent topic.
    pub parent: Option<String>,
    /// Its hidden node, in a tree.
    pub node: Option<NodeIx>,
    /// The name of this node, as in the columns that `infer` writes.
    pub node_name: Option<String>,
    /// The states of this node in which a document contains the topic.
    pub states: Vec<usize>,
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
        let topic = |(ix, (words, &share)): (usize, (Vec<String>, &f64))| Topic {
            node: Some(root),
            states: vec![ix],
            node_name: Some(model.tree().name(root).to_owned()),
            ..Topic::new(ix.to_string(), words, share)
        };
        Ok(Self { topics: topics.map(topic).collect() })
    }

    /// The topics of a latent Dirichlet allocation.
    #[must_use]
    pub fn of_topics(model: &TopicModel, n_words: usize) -> Self {
        let total: f64 = model.alpha().iter().sum();
        let topics = own_words_of_topics(model, n_words).into_iter().zip(model.alpha()).enumerate();
        Self { topics: topics.map(|(ix, (words, alpha))| Topic::new(ix.to_string(), words, alpha / total)).collect() }
    }

    /// The clusters of a hierarchy of documents, each followed by those inside it.
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
        Self { topics: depth_first((1..nodes.len()).map(topic).collect()) }
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
        let all = groups.all();
        let topic = |node: NodeIx| {
            let group = all.iter().find(|group| group.node == Some(node));
            let (states, words) = present_words(model, &steps, node, group, n_words);
            let share = states.iter().map(|&state| steps.marginals[node.get()][state]).sum::<f64>().clamp(0.0, 1.0);
            let node_name = Some(model.tree().name(node).to_owned());
            Topic { node: Some(node), node_name, states, ..Topic::new(String::new(), words, share) }
        };
        let mut topics: Vec<Topic> = match n_topics {
            Some(n_topics) => super::groups::covering(model, n_topics).into_iter().map(topic).collect(),
            None => all.iter().filter_map(|group| group.node).map(topic).collect(),
        };
        topics.retain(|topic| !topic.words.is_empty());
        let same = merge_equal(&mut topics, |topic| {
            let group = all.iter().find(|group| group.node == topic.node);
            group.map_or(0, |group| group.variables.len())
        });
        let label = |node: NodeIx| groups.label(node).unwrap_or_else(|| model.tree().name(node));
        let is_about = |topic: &Topic| {
            let group = all.iter().find(|group| group.node == topic.node);
            topic.states.first().is_some_and(|state| group.map_or(*state > 0, |group| group.about.contains(state)))
        };
        name(&mut topics, &label, &is_about);
        if n_topics.is_none() {
            let names: HashMap<NodeIx, String> = topics.iter().filter_map(|it| Some((it.node?, it.name.clone()))).collect();
            for topic in &mut topics {
                let parent = all.iter().find(|group| group.node == topic.node).and_then(|group| group.parent);
                let parent = parent.and_then(|parent| all[parent].node);
                let parent = parent.map(|node| same.get(&node).copied().unwrap_or(node)).filter(|&node| topic.node != Some(node));
                topic.parent = parent.map(|node| names.get(&node).cloned().unwrap_or_else(|| label(node).to_owned()));
            }
        }
        without_cycles(&mut topics);
        Ok(Self { topics: depth_first(topics) })
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

    /// The same topics with these shares of documents, in their order.
    #[must_use]
    pub fn with_shares(mut self, shares: &[f64]) -> Self {
        self.topics.iter_mut().zip(shares).for_each(|(topic, &share)| topic.share = share);
        self
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

    /// Whether no other topic is inside this one, by its index.
    #[must_use]
    pub fn is_leaf(&self, ix: usize) -> bool {
        self.topics.iter().all(|topic| topic.parent.as_ref() != Some(&self.topics[ix].name))
    }

    /// Number of topics that this one is inside of, by its index.
    #[must_use]
    pub fn depth(&self, ix: usize) -> usize {
        let parent = |topic: &Topic| self.topics.iter().find(|it| topic.parent.as_ref() == Some(&it.name));
        std::iter::successors(parent(&self.topics[ix]), |topic| parent(topic)).take(self.topics.len()).count()
    }

    /// Share of distinct words among the words of all topics: 1 if no word is in two topics.
    #[must_use]
    pub fn diversity(&self) -> f64 {
        let n_words: usize = self.topics.iter().map(|topic| topic.words.len()).sum();
        let different: BTreeSet<&String> = self.topics.iter().flat_map(|topic| &topic.words).collect();
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

    /// As JSON: a list of `{name, node, states, words, share, npmi, c_v, parent}`. `node` is the name of the hidden variable, and
    /// `states` are the states in which a document has the topic; `null` and empty for models without hidden variables.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let topic = |it: &Topic| json!({"name": it.name, "node": it.node_name, "states": it.states, "words": it.words, "share": it.share, "npmi": it.npmi, "c_v": it.c_v, "parent": it.parent});
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
        Self { name, words, share, npmi: None, c_v: None, parent: None, node: None, node_name: None, states: Vec::new() }
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

/// Keeps one of the topics with the same words, the one with the most variables in its group, and returns which node stands for
/// those left out.
fn merge_equal(topics: &mut Vec<Topic>, n_own: impl Fn(&Topic) -> usize) -> HashMap<NodeIx, NodeIx> {
    let words = |topic: &Topic| topic.words.iter().cloned().collect::<BTreeSet<String>>();
    let mut kept: HashMap<BTreeSet<String>, usize> = HashMap::new();
    for (ix, topic) in topics.iter().enumerate() {
        let best = kept.entry(words(topic)).or_insert(ix);
        if n_own(topic) > n_own(&topics[*best]) {
            *best = ix;
        }
    }
    let stands: Vec<usize> = topics.iter().map(|topic| kept[&words(topic)]).collect();
    let node = |ix: usize| topics[ix].node;
    let same = (0..topics.len()).filter(|&ix| stands[ix] != ix).filter_map(|ix| node(ix).zip(node(stands[ix]))).collect();
    let mut ix = 0;
    topics.retain(|_| {
        ix += 1;
        stands[ix - 1] == ix - 1
    });
    same
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

fn find_word(schema: &Schema, word: &str) -> Option<u32> {
    schema.find_column(word).map(|column| column.get() as u32)
}

/// Takes its parent from a topic that would be inside itself, as the parent of one with the same words.
fn without_cycles(topics: &mut [Topic]) {
    for ix in 0..topics.len() {
        let above = |topic: &Topic| topics.iter().find(|it| topic.parent.as_ref() == Some(&it.name));
        let mut around = std::iter::successors(above(&topics[ix]), |topic| above(topic)).take(topics.len());
        if around.any(|topic| topic.name == topics[ix].name) {
            topics[ix].parent = None;
        }
    }
}

/// The same topics, each followed by those inside it.
fn depth_first(topics: Vec<Topic>) -> Vec<Topic> {
    let places: HashMap<&str, usize> = topics.iter().enumerate().map(|(ix, topic)| (topic.name.as_str(), ix)).collect();
    let mut inside = vec![Vec::new(); topics.len()];
    let mut open = Vec::new();
    for (ix, topic) in topics.iter().enumerate().rev() {
        match topic.parent.as_deref().and_then(|parent| places.get(parent)).filter(|&&parent| parent != ix) {
            Some(&parent) => inside[parent].push(ix),
            None => open.push(ix),
        }
    }
    let mut order = Vec::with_capacity(topics.len());
    while let Some(ix) = open.pop() {
        order.push(ix);
        open.append(&mut inside[ix]);
    }
    let mut topics: Vec<Option<Topic>> = topics.into_iter().map(Some).collect();
    order.into_iter().filter_map(|ix| topics[ix].take()).collect()
}

/// Names topics of a tree by the labels of their nodes. A label of the other documents, which lack the words, is replaced by the
/// first words.
fn name<'a>(topics: &mut [Topic], label: &dyn Fn(NodeIx) -> &'a str, is_labelled: &dyn Fn(&Topic) -> bool) {
    let mut taken = HashSet::new();
    let (labelled, others): (Vec<&mut Topic>, Vec<&mut Topic>) = topics.iter_mut().partition(|topic| is_labelled(topic));
    for topic in labelled {
        topic.name = topic.node.map_or_else(String::new, |node| label(node).to_owned());
        taken.insert(topic.name.clone());
    }
    for topic in others {
        let names = (topic.words.len().min(2)..=topic.words.len()).map(|n| topic.words[..n].join(SEPARATOR));
        let last = topic.node.map(|node| label(node).to_owned());
        topic.name = names.chain(last).find(|name| !taken.contains(name)).unwrap_or_default();
        taken.insert(topic.name.clone());
    }
}

/// The states of a hidden node in which the words of its group are more probable, and the words that these states make more
/// probable, ranked by mutual information.
fn present_words(
    model: &LatentTree,
    steps: &Steps,
    origin: NodeIx,
    group: Option<&Group>,
    most: usize,
) -> (Vec<usize>, Vec<String>) {
    let prior = &steps.marginals[origin.get()];
    let n_states = prior.len();
    let about = group.map_or(1.min(n_states)..n_states, |group| group.about.clone());
    let inside: f64 = about.clone().map(|state| prior[state]).sum();
    let mut identity = vec![0.0; n_states * n_states];
    (0..n_states).for_each(|state| identity[state * (n_states + 1)] = 1.0);
    // Information about the presence of words, and whether the states make it more probable.
    let mut found: Vec<(f64, usize, bool)> = Vec::new();
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
                let joint = |state: usize| prior[state] * beyond[2 * state + 1];
                let (within, all) = (about.clone().map(joint).sum::<f64>(), (0..n_states).map(joint).sum::<f64>());
                found.push((nats, step.to, within > all * inside));
            }
            stack.push((step.to, node, beyond));
        }
    }
    let own: HashSet<usize> = group.iter().flat_map(|group| &group.variables).map(|it| it.0.get()).collect();
    let rise = |is_counted: &dyn Fn(usize) -> bool| -> f64 {
        found.iter().filter(|it| is_counted(it.1)).map(|it| if it.2 { it.0 } else { -it.0 }).sum()
    };
    let of_own = rise(&|node| own.contains(&node));
    let is_inside = if of_own == 0.0 { rise(&|_| true) >= 0.0 } else { of_own > 0.0 };
    let states = (0..n_states).filter(|state| about.contains(state) == is_inside).collect();
    found.retain(|it| it.2 == is_inside);
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let least = found.first().map_or(0.0, |best| MIN_TOLD * best.0);
    let found = found.into_iter().filter(|it| it.0 >= least);
    (states, found.take(most).map(|it| model.tree().name(NodeIx::new(it.1)).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::Kind;
    use crate::model::{Domain, Table};
    use crate::tree::Tree;

    /// Four words below one variable, present with these probabilities in its two states.
    fn words(prior: [f64; 2], present: [f64; 2]) -> LatentTree {
        let mut tree = Tree::new();
        let hidden = tree.add_hidden("h1").unwrap();
        let mut schema = Schema::builder();
        let discrete = |values: Vec<f64>| Distribution::Discrete(Table::new(2, values));
        let mut leaves = Vec::new();
        for word in ["goal", "team", "match", "coach"] {
            let leaf = tree.add_observed(word).unwrap();
            tree.connect(hidden, leaf, None).unwrap();
            schema = schema.scalar(word, Kind::Binary { labels: ["0".to_owned(), "1".to_owned()] });
            leaves.push(leaf);
        }
        let builder =
            LatentTree::builder(Arc::new(schema.build().unwrap()), tree).root(hidden).hidden(hidden, Domain::numbered(2));
        let builder = builder.distribution(hidden, discrete(prior.to_vec()));
        let table = present.iter().flat_map(|&it| [1.0 - it, it]).collect::<Vec<_>>();
        leaves.into_iter().fold(builder, |builder, leaf| builder.distribution(leaf, discrete(table.clone()))).build().unwrap()
    }

    #[test]
    fn a_topic_is_the_state_in_which_its_words_are_present_whatever_its_number() {
        let [up, down] = [words([0.7, 0.3], [0.1, 0.8]), words([0.3, 0.7], [0.8, 0.1])];
        for n_topics in [None, Some(1)] {
            let [up, down] = [&up, &down].map(|model| TopicTable::of_tree(model, n_topics, 4).unwrap().topics()[0].clone());
            assert_eq!((&up.states, &down.states), (&vec![1], &vec![0]));
            assert!((up.share - 0.3).abs() < 1e-12 && (down.share - 0.3).abs() < 1e-12, "{up:?} {down:?}");
            assert_eq!((up.words.len(), down.words.len()), (4, 4));
            assert!(!down.name.contains("no "), "{down:?}");
        }
    }

    #[test]
    fn topics_are_listed_depth_first() {
        let topic = |name: &str, parent: Option<&str>| Topic {
            parent: parent.map(str::to_owned),
            ..Topic::new(name.to_owned(), vec!["word".to_owned()], 0.5)
        };
        let listed =
            vec![topic("1.1", Some("1")), topic("1.2", Some("1")), topic("1.2.1", Some("1.2")), topic("1.1.1", Some("1.1"))];
        let table = TopicTable { topics: depth_first(listed) };
        let names: Vec<&str> = table.topics().iter().map(|topic| topic.name.as_str()).collect();
        assert_eq!(names, ["1.1", "1.1.1", "1.2", "1.2.1"]);
        assert_eq!(
            (0..4).map(|ix| (table.depth(ix), table.is_leaf(ix))).collect::<Vec<_>>(),
            [(0, false), (1, true), (0, false), (1, true)]
        );
    }
}
