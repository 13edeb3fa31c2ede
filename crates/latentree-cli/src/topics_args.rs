//! Arguments of `topics`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::data_args::DataArgs;

/// Models of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TopicModelName {
    /// A tree of hidden variables over the words that documents have: topics, and topics of topics
    Tree,
    /// Every document has one topic
    SingleTopic,
    /// Documents mix topics (latent Dirichlet allocation)
    Lda,
    /// Documents are split in two, and each side again
    Hierarchy,
}

impl TopicModelName {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::SingleTopic => "single-topic",
            Self::Lda => "lda",
            Self::Hierarchy => "hierarchy",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct TopicsArgs {
    /// Text files and folders of them, a table with --column, or a matrix of word counts (docword.*, .mtx, .svm)
    #[arg(value_name = "TEXT", required = true)]
    pub(crate) data: Vec<PathBuf>,
    /// Model of the words
    #[arg(long, value_enum, default_value = "tree")]
    pub(crate) model: TopicModelName,
    /// Number of topics, 1 to 1000; of a hierarchy, its leaves, at least 2 [default: 10; of a tree, its groups of words, broad and fine]
    #[arg(short = 'k', long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) topics: Option<u16>,
    /// Number of words to list for each topic
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=20))]
    pub(crate) words: u8,
    /// Sum of the Dirichlet parameters of lda, or auto for the one of a grid that fits the moments best [default: 0.2]
    #[arg(long, value_name = "A|auto", allow_negative_numbers = true)]
    pub(crate) alpha: Option<String>,
    /// Learner of the tree; see learn [default: levels]
    #[arg(long, value_name = "NAME")]
    pub(crate) structure: Option<String>,
    /// Write the topic of every document, and its share of each topic, as CSV. The topic is the one with the largest share; of equal ones, the
    /// last. With --model tree, it is empty if no topic has a probability of at least 0.5
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) documents: Option<PathBuf>,
    /// With --column, a column of dates: print the topics' shares over time
    #[arg(long, value_name = "COLUMN")]
    pub(crate) dates: Option<String>,
    /// Output model (.json)
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
}
