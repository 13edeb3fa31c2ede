//! Command-line arguments.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::data_args::DataArgs;
use crate::federate_args::FederateArgs;
use crate::learn_options::LearnOptionArgs;
use crate::mixture_args::{ClusterArgs, MixtureArgs};
use crate::topics_args::TopicsArgs;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold());

/// latentree finds the hidden tree behind a table.
#[derive(Debug, Parser)]
#[command(
    name = "latentree",
    version,
    styles = STYLES,
    about = "Finds the hidden tree behind a table, and answers questions about it exactly",
    after_help = "Data files: .csv .tsv .parquet .arrow/.feather, docword.*.txt (UCI bag of words), .mtx, .svm/.libsvm; .gz and .zst may \
                  follow any of them; - is standard input.\n\
                  A directory, or a glob in quotes (* ? [...] and ** for any directories), is read as one table of CSV, TSV, Parquet or Arrow \
                  parts, in the order of their paths. Columns are matched by name; a column that a part lacks is missing in its rows. Directories \
                  such as year=2024 add columns. Names that begin with . or _ are skipped; any other file in a directory is an error.\n\
                  Example: latentree describe examples/clinic.csv"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every verb.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Print exactly one JSON object on standard output
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only results and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Random seed; the same seed and data give the same bytes [default: 0]
    #[arg(long, global = true, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Number of threads, 1 to 1024 [default: all cores]; results do not depend on it
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

/// Numbers of rows that can be drawn.
fn drawn_rows() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(..=latentree::limits::MAX_DRAWN_ROWS)
}

/// The formats of `export`.
fn export_formats() -> clap::builder::PossibleValuesParser {
    latentree::format::Format::ALL.map(latentree::format::Format::name).into_iter().chain(["topics"]).into()
}

/// A model file.
#[derive(Debug, Clone, Args)]
pub(crate) struct ModelArgs {
    /// Model: latentree JSON, .bif or .xmlbif
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Hidden nodes of a BIF model, in addition to those that are not columns of the data
    #[arg(long = "hidden", visible_alias = "hidden-nodes", value_name = "A,B", value_delimiter = ',')]
    pub(crate) hidden: Vec<String>,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Summarise a table (rows, variables, kinds, missing cells, sparsity, weak pairs), or a model and its fit
    #[command(
        after_help = "Examples:\n  latentree describe examples/clinic.csv\n  latentree describe docword.kos.txt.gz --names vocab.kos.txt\n  \
                            latentree describe events.csv --events patient_id,icd9 --json\n  latentree describe model.json data.csv"
    )]
    Describe(DescribeArgs),
    /// Learn the hidden tree behind data, and all its probabilities
    #[command(
        after_help = "Learners: likelihood (several trees refined by likelihood), nj, snj, rg, clrg, clnj, clblind, plrg, chow-liu, reg-clrg and reg-clnj \
                      (only the hidden variables that raise BIC), hclt (a hidden variable per inner node of the Chow-Liu tree), average-linkage, complete-linkage and single-linkage (dendrograms); auto \
                      uses likelihood for up to 1000 variables, nj for a distance matrix, and clnj otherwise.\n\
                      Parameters: continuous columns give a Gaussian model and --distance symmetric a symmetric one, from the edge lengths; all \
                      others, and continuous columns with --hidden-states, give discrete hidden variables, fitted by moments and then EM.\n\
                      The extensions .nwk, .dot and .graphml write the tree in that format.\n\
                      Examples:\n  latentree learn examples/clinic.csv -o clinic.json\n  latentree learn data.csv -o model.json --bootstrap 100\n  \
                      latentree learn data.csv --tree tree.nwk --hidden-states 3 --parameters moments -o model.json\n  \
                      latentree learn examples/clinic.csv --structure clnj -o tree.nwk\n  \
                      latentree learn both.moments -o model.json --json\n  \
                      latentree learn 'visits/year=*/*.parquet' -o model.json\n  \
                      latentree learn data.csv --select bic -o model.json\n  \
                      latentree learn train.csv --select validation --validation valid.csv -o model.json\n  \
                      latentree learn data.csv --candidates && latentree learn data.csv --structure reg-clnj --accept v3,v7 -o model.json\n  \
                      latentree learn claims.csv --events patient,icd9 --rollup phecodes.csv:icd9,phecode --descriptions names.csv -o model.json\n  \
                      latentree learn --meds DIR --codes 'DIAGNOSIS//*' --since 2015 -o model.json\n  \
                      latentree learn --distances d.phy --structure nj -o tree.nwk"
    )]
    Learn(Box<LearnArgs>),
    /// Label rows with a classifier, which holds one model for each label
    #[command(
        after_help = "A classifier is learned with learn --target. Where the target is in DATA, accuracy and confusion matrix are printed.\n\
                            Examples:\n  latentree learn train.csv --target class --structure chain --parameters spectral --hidden-states auto -o classes.json\n  \
                            latentree classify classes.json test.csv -o labels.csv\n  \
                            latentree classify classes.json test.csv --prior uniform -o labels.csv --json"
    )]
    Classify(ClassifyArgs),
    /// Compute the log-likelihood of data under a model
    #[command(after_help = "Example:\n  latentree score examples/clinic.truth.json examples/clinic.csv --per-row scores.csv")]
    Score(ScoreArgs),
    /// Compute exact conditional distributions of any nodes given any evidence
    #[command(
        after_help = "Examples:\n  latentree query examples/clinic.truth.json --given obesity=1,copd=0 --of type_2_diabetes,metabolic\n  \
                            latentree query MODEL --given age=70 --map"
    )]
    Query(QueryArgs),
    /// Write posteriors of the hidden variables, most probable states, or filled cells for every row
    #[command(
        after_help = "Examples:\n  latentree infer MODEL data.csv -o posteriors.csv\n  latentree infer MODEL data.csv --map -o states.csv\n  \
                            latentree infer MODEL data.csv --impute -o filled.csv"
    )]
    Infer(InferArgs),
    /// Draw rows from a model
    #[command(after_help = "Example:\n  latentree sample MODEL --rows 1000 --hidden --given smoker=1 -o rows.csv")]
    Sample(SampleArgs),
    /// Create a known model of a chosen shape, and data from it
    #[command(
        after_help = "Examples:\n  latentree simulate --shape double-star --observed 80 --family gaussian --model m.json --data d.csv --rows 2000\n  \
                            latentree simulate --shape complete --degree 5 --observed 81 --family categorical --states 4 --hidden-states 3 --model m.json\n  \
                            latentree simulate --tree tree.nwk --family symmetric --model m.json --data d.csv --missing 0.1"
    )]
    Simulate(SimulateArgs),
    /// Compare two trees or models
    #[command(after_help = "Examples:\n  latentree compare examples/clinic.truth.json learned.json\n  \
                            latentree compare learned.json --reference pheinfo.csv:phecode,group --prefixes\n  \
                            latentree compare learned.json --reference parents.csv --json")]
    Compare(CompareArgs),
    /// Convert a model to another format
    #[command(after_help = "Example:\n  latentree export MODEL --format dot -o tree.dot && dot -Tsvg tree.dot -o tree.svg")]
    Export(ExportArgs),
    /// Cluster rows, or find topics, by moments: components in which columns are independent
    #[command(
        after_help = "The model is a star with the component as its hidden variable, so score, query, infer, sample and report work on it. An lda model \
                      holds topics: infer writes their shares in each document and score a bound of the likelihood.\n\
                      Examples:\n  latentree mixture examples/clinic.csv -k 4 --em -o classes.json --labels classes.csv\n  \
                      latentree mixture docword.kos.txt.gz --names vocab.kos.txt -k 20 --family single-topic --em -o topics.json\n  \
                      latentree mixture docword.kos.txt.gz -k 10 --family lda --alpha auto -o lda.json\n  \
                      latentree mixture data.csv -k auto --truth classes.csv --stability 5 -o model.json --json"
    )]
    Mixture(MixtureArgs),
    /// Cluster rows hierarchically by moments: all rows are split in two, and each side again
    #[command(after_help = "infer OUT.json NEW.csv assigns new rows; export OUT.json writes newick, dot, graphml or text.\n\
                      Examples:\n  latentree cluster patients.csv --depth 4 -o tree.json --labels leaves.csv\n  \
                      latentree cluster docword.nips.txt.gz --leaves 20 --method sidiwo --family single-topic --em -o tree.json")]
    Cluster(ClusterArgs),
    /// Find topics in text: files, a folder, pieces of a file, or a column of a table
    #[command(
        after_help = "Each topic is printed with its words, its share of documents and two measures of how well its words go together in the documents: NPMI \
                      (1 if always together, 0 if independent) and C_V. The model works in other commands: infer MODEL NEW --text gives the topics of \
                      new documents, report MODEL the page of a tree, export MODEL --format topics a line of words for each topic.\n\
                      Examples:\n  latentree topics letters/ -o topics.json\n  \
                      latentree topics letters/ --model single-topic -k 12 --documents by_topic.csv -o topics.json\n  \
                      latentree topics commedia.txt --split '^Canto' --stop it --coverage 0.7 --model lda -k 3 -o topics.json\n  \
                      latentree topics posts.csv --column text --dates posted --model hierarchy -k 8 -o topics.json\n  \
                      latentree topics docword.kos.txt.gz --names vocab.kos.txt -k 20 -o topics.json --json"
    )]
    Topics(Box<TopicsArgs>),
    /// One pass's mergeable statistics of pairs of columns; with --for, all that the tables of a tree need
    #[command(
        after_help = "Pairs give a tree, and parameters to continuous columns. The tables of labels need more, of a tree that is known: --for \
                            collects it. Parts that are to be merged need one plan: collect the largest for the tree, and the others for that file.\n\
                            Examples:\n  latentree moments january.csv -o january.moments\n  \
                            latentree moments january.csv --for tree.nwk -o january.moments\n  \
                            latentree moments february.csv --for january.moments -o february.moments\n  \
                            latentree merge january.moments february.moments -o both.moments\n  \
                            latentree learn both.moments -o model.json"
    )]
    Moments(MomentsArgs),
    /// Merge statistics of parts of the data into those of the whole
    #[command(after_help = "Example:\n  latentree merge january.moments february.moments -o both.moments")]
    Merge(MergeArgs),
    /// Learn across sites that exchange files and no rows
    #[command(
        after_help = "The coordinator starts a run and sends its pass file to the sites. Each site answers with a part file. The coordinator \
                            merges the parts into the next pass, until there is a model.\n\
                            Examples:\n  latentree describe north.csv --schema-out schema.json\n  \
                            latentree federate start RUN --schema schema.json --sites north,south\n  \
                            latentree federate answer RUN/round-1.pass north.csv --site north -o round-1.north.part\n  \
                            latentree federate next RUN round-1.*.part\n  \
                            latentree federate status RUN"
    )]
    Federate(FederateArgs),
    /// Estimate additive distances between all variables, as a square matrix
    #[command(after_help = "A pair without significant dependence has no distance: its field is empty (NA in PHYLIP).\n\
                            Examples:\n  latentree distances examples/clinic.csv -o clinic.distances.csv\n  \
                            latentree distances data.csv --distance canonical --hidden-states 3 -o d.phy --errors d.errors.csv\n  \
                            latentree distances both.moments --significance 4 -o d.csv.gz --json")]
    Distances(DistancesArgs),
    /// Write a self-contained interactive page
    #[command(
        after_help = "The page works offline and from disk. It shows the tree (zoom, collapse, search), the meaning of every hidden state and, \
                            with DATA, the fit, the rows of each state and the pairs that are poorly explained. The page of a mixture, of topics \
                            or of a hierarchy shows groups of rows: sizes, relevant and frequent features, and a picture of rows by group.\n\
                            Examples:\n  latentree report examples/clinic.truth.json examples/clinic.csv -o clinic.html\n  \
                            latentree report tree.nwk -o tree.html\n  \
                            latentree report classes.json examples/clinic.csv -o classes.html"
    )]
    Report(ReportArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  latentree completions bash > /etc/bash_completion.d/latentree")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages (one per command) to a directory
    #[command(after_help = "Example:\n  latentree man -o man1 && man -l man1/latentree.1")]
    Man {
        /// Directory
        #[arg(short, long, value_name = "DIR", default_value = ".")]
        output: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DescribeArgs {
    /// Data file, directory or glob of parts, or a model (.json, .bif, .xmlbif)
    #[arg(value_name = "DATA|MODEL")]
    pub(crate) data: PathBuf,
    /// With a model: data to measure its fit on
    #[arg(value_name = "DATA")]
    pub(crate) rows: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
    /// Number of variables to list, or of hidden variables, edges and pairs of a model (0: all)
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) top: usize,
    /// Also write the columns with their kinds and labels as JSON, for --schema and federate start
    #[arg(long, value_name = "FILE.json")]
    pub(crate) schema_out: Option<PathBuf>,
    /// Of a model, only this group of variables and the finer groups inside it, by the name or the label of its hidden variable
    #[arg(long, value_name = "NAME")]
    pub(crate) of: Option<String>,
    /// Memory that moments may take, such as 8G or 500M [default: three quarters of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
}

#[derive(Debug, Clone, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct LearnArgs {
    /// Data file, directory or glob of parts ('parts/*.csv', in quotes), or .moments
    #[arg(value_name = "DATA", conflicts_with = "distances")]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
    /// Learn the tree from this square distance matrix (CSV or PHYLIP) instead of data
    #[arg(long, value_name = "FILE")]
    pub(crate) distances: Option<PathBuf>,
    /// Repeat the run of this model, with its learning and reading options, except for those passed here
    #[arg(long, value_name = "MODEL", conflicts_with = "distances")]
    pub(crate) from: Option<PathBuf>,
    /// With --from, options that return to their defaults instead of being repeated: names without dashes, such as structure,kind;
    /// tree forgets a tree that was given
    #[arg(long, value_name = "OPTION,OPTION", value_delimiter = ',', requires = "from")]
    pub(crate) reset: Vec<String>,
    /// Output file: a model as JSON, or the tree in the format of the extension
    #[arg(short, long, value_name = "MODEL", required_unless_present = "candidates")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: LearnOptionArgs,
    /// Keep this tree (Newick, or a model or tree file) and learn only its parameters
    #[arg(long, value_name = "FILE", conflicts_with_all = ["distances", "bootstrap"])]
    pub(crate) tree: Option<PathBuf>,
    /// Learn a classifier: a model for each label of this column
    #[arg(long, value_name = "COLUMN")]
    pub(crate) target: Option<String>,
    /// With --target, also measure the accuracy by cross-validation with this many folds
    #[arg(long, value_name = "N", requires = "target")]
    pub(crate) folds: Option<usize>,
    /// Also write a report page (one self-contained HTML file)
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Print the subtrees that reg-clnj (or reg-clrg) chooses from, with their gains in BIC, and learn nothing
    #[arg(long, conflicts_with_all = ["distances", "tree"])]
    pub(crate) candidates: bool,
    /// Save EM fits, and the states of long ones, in this directory and continue from there: an interrupted run ends with the
    /// same bytes
    #[arg(long, value_name = "DIR")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Memory limit for moments and models, such as 8G or 500M; a run that would exceed it fails before work starts [default:
    /// three quarters of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ClassifyArgs {
    /// Classifier, from learn --target
    #[arg(value_name = "CLASSIFIER")]
    pub(crate) classifier: PathBuf,
    /// Data file, directory or glob of parts ('parts/*.csv', in quotes)
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
    /// Output file: row, label and the probability of each label
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Probabilities of the labels before a row is seen: train (their shares in the training rows), uniform, or a=0.2,b=0.8 [default: train]
    #[arg(long, value_name = "PRIOR")]
    pub(crate) prior: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Data file, directory or glob of parts ('parts/*.csv', in quotes)
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
    /// Write each row's log-likelihood as CSV: row,log_likelihood. The first column is the id of --id or of events, if there is
    /// one
    #[arg(long, value_name = "FILE")]
    pub(crate) per_row: Option<PathBuf>,
    /// With --per-row, also copy the columns that are not in the model
    #[arg(long, requires = "per_row")]
    pub(crate) keep: bool,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Evidence: name=value, comma-separated; may include hidden nodes. A known name may contain "," and "="; repeat the option for
    /// such names
    #[arg(long, value_name = "A=1,B=x")]
    pub(crate) given: Vec<String>,
    /// Nodes asked for, by name or label, comma-separated; repeat the option for names with commas [default: all hidden nodes; all
    /// columns of a model without hidden states]
    #[arg(long, value_name = "C,H3")]
    pub(crate) of: Vec<String>,
    /// Print the joint distribution of the nodes instead of one distribution per node
    #[arg(long, conflicts_with = "map")]
    pub(crate) joint: bool,
    /// Print the most probable joint assignment of all unknown nodes
    #[arg(long)]
    pub(crate) map: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InferArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Data file, directory or glob of parts ('parts/*.csv', in quotes)
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
    /// Output table. Its first column is the row number, or the id of --id or of events, if there is one
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Also copy the columns that are not in the model, after the id and before the results; --impute always does
    #[arg(long)]
    pub(crate) keep: bool,
    /// Write the most probable joint states instead of posteriors
    #[arg(long, conflicts_with = "impute")]
    pub(crate) map: bool,
    /// Write the data with missing cells filled instead of posteriors: all columns of a table in their order, including those not
    /// in the model
    #[arg(long)]
    pub(crate) impute: bool,
    /// Only these hidden nodes, by name or label, comma-separated [default: all]
    #[arg(long, value_name = "H1,H2", conflicts_with = "impute")]
    pub(crate) of: Vec<String>,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct SampleArgs {
    /// Model: latentree JSON, .bif or .xmlbif
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Hidden nodes of a BIF model
    #[arg(long = "hidden-nodes", value_name = "A,B", value_delimiter = ',')]
    pub(crate) hidden_nodes: Vec<String>,
    /// Number of rows, up to 10¹²
    #[arg(long, value_name = "N", value_parser = drawn_rows())]
    pub(crate) rows: u64,
    /// Output table
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Keep the hidden columns
    #[arg(long)]
    pub(crate) hidden: bool,
    /// Condition on this evidence: name=value, comma-separated
    #[arg(long, value_name = "A=1,B=x")]
    pub(crate) given: Vec<String>,
    /// Leave each observed cell missing with this probability
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0)]
    pub(crate) missing: f64,
}

/// Shapes of simulated trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShapeName {
    /// One hidden node over all variables
    Star,
    /// Two hidden nodes, half of the variables each
    DoubleStar,
    /// A chain of hidden nodes, one variable each
    Hmm,
    /// Every hidden node has the same degree (--degree)
    Complete,
    /// A spine of hidden nodes with --degree neighbours each
    Caterpillar,
    /// A random minimal tree, hidden degrees up to --degree
    Random,
}

/// Families of simulated models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FamilyName {
    /// All nodes Gaussian
    Gaussian,
    /// All nodes categorical
    Categorical,
    /// Symmetric discrete: one flip probability per edge
    Symmetric,
    /// Categorical hidden nodes over binary, categorical, continuous, count and group leaves
    Mixed,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct SimulateArgs {
    /// Shape of the tree
    #[arg(long, value_enum, required_unless_present = "tree", conflicts_with = "tree")]
    pub(crate) shape: Option<ShapeName>,
    /// Keep this tree (Newick or JSON) instead of a shape
    #[arg(long, value_name = "FILE")]
    pub(crate) tree: Option<PathBuf>,
    /// Number of observed variables, up to 10000000
    #[arg(long, visible_alias = "variables", value_name = "P", default_value_t = 9)]
    pub(crate) observed: usize,
    /// Degree of hidden nodes, at least 3 (complete, caterpillar; maximum degree for random)
    #[arg(long, value_name = "D")]
    pub(crate) degree: Option<usize>,
    /// Family of the model
    #[arg(long, value_enum, default_value = "categorical")]
    pub(crate) family: FamilyName,
    /// Interval of edge correlations (gaussian, symmetric)
    #[arg(long, value_name = "LOW,HIGH", value_delimiter = ',', num_args = 1..=2)]
    pub(crate) correlation: Vec<f64>,
    /// States of observed variables, 2 to 1000 (categorical, symmetric, mixed)
    #[arg(long, value_name = "D", default_value_t = 2)]
    pub(crate) states: usize,
    /// States of hidden variables, 2 to 1000 (categorical, mixed)
    #[arg(long, value_name = "K", default_value_t = 2)]
    pub(crate) hidden_states: usize,
    /// Separation of states, from 0 (uninformative) to 1 (deterministic) (categorical, mixed)
    #[arg(long, value_name = "S", default_value_t = 0.6)]
    pub(crate) separation: f64,
    /// Fraction of inner nodes that are observed (random)
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0)]
    pub(crate) observed_inner: f64,
    /// Model file to write
    #[arg(long, value_name = "M")]
    pub(crate) model: Option<PathBuf>,
    /// Data file to write
    #[arg(long, value_name = "D")]
    pub(crate) data: Option<PathBuf>,
    /// Number of rows of data, up to 10¹²
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = drawn_rows())]
    pub(crate) rows: u64,
    /// Leave each cell missing with this probability
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0)]
    pub(crate) missing: f64,
    /// Keep the hidden columns in the data
    #[arg(long)]
    pub(crate) hidden: bool,
}

#[derive(Debug, Args)]
#[command(
    group(clap::ArgGroup::new("other").args(["estimate", "reference"]).required(true)),
    // The generated text would put the group before TRUE.
    override_usage = "latentree compare [OPTIONS] <TRUE> <ESTIMATE|--reference <FILE[:ITEM,GROUP,...]>>"
)]
pub(crate) struct CompareArgs {
    /// The true tree or model: latentree JSON, .bif, .xmlbif or Newick (.nwk, .newick, .tree); the estimate with --reference
    #[arg(value_name = "TRUE")]
    pub(crate) truth: PathBuf,
    /// The estimate
    #[arg(value_name = "ESTIMATE")]
    pub(crate) estimate: Option<PathBuf>,
    /// Compare one tree or model with a hierarchy of its variables, such as chapters of codes: a CSV or Parquet file of child and
    /// parent, or with columns from the item to its highest group, named after a colon: icd9.csv:code,section,chapter. Of several
    /// parents of an item the first counts
    #[arg(long, value_name = "FILE[:ITEM,GROUP,...]")]
    pub(crate) reference: Option<String>,
    /// With --reference: items of the file, and of the tree, also belong to their longest prefix that is an item, as 250.11 to 250.1
    /// and that to 250
    #[arg(long, requires = "reference")]
    pub(crate) prefixes: bool,
    /// Hidden nodes of BIF models
    #[arg(long = "hidden", visible_alias = "hidden-nodes", value_name = "A,B", value_delimiter = ',')]
    pub(crate) hidden: Vec<String>,
    /// Number of splits to list for either tree (0: none)
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) splits: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Format [default: that of the output file's extension]. linkage is the matrix of SciPy's dendrogram and fcluster, in which
    /// separate trees are joined above all other heights; topics writes the words of each topic of a model of words, one topic per line
    #[arg(long, value_parser = export_formats())]
    pub(crate) format: Option<String>,
    /// Output file
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Data file, directory or glob of parts: adds the fit, typical rows and poorly explained pairs
    #[arg(value_name = "DATA")]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
    /// Output page
    #[arg(short, long, value_name = "OUT.html")]
    pub(crate) output: PathBuf,
    /// Title of the page [default: the model's file name]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct MomentsArgs {
    /// Data file, directory or glob of parts ('parts/*.csv', in quotes)
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
    /// Output file
    #[arg(short, long, value_name = "M.moments")]
    pub(crate) output: PathBuf,
    /// Collect what the tables of this tree need, too: a Newick, tree or model file, or a .moments file whose plan is used
    #[arg(long = "for", value_name = "TREE")]
    pub(crate) for_tree: Option<PathBuf>,
    /// States of the hidden variables of the tree, 2 to 1000 [default: 2]
    #[arg(long, value_name = "K", requires = "for_tree")]
    pub(crate) hidden_states: Option<usize>,
    /// Memory that moments may take, such as 8G or 500M [default: three quarters of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Moments files
    #[arg(value_name = "A B …", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Output file
    #[arg(short, long, value_name = "C.moments")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct DistancesArgs {
    /// Data file, directory or glob of parts ('parts/*.csv', in quotes), or .moments
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
    /// Output file: PHYLIP for .phy or .dist, otherwise CSV
    #[arg(short, long, value_name = "D.csv")]
    pub(crate) output: PathBuf,
    /// Distance estimator: auto, gaussian, logdet, multivariate, symmetric or canonical
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(crate) distance: String,
    /// Number of states of the hidden variables, 2 to 1000 [default: 2]
    #[arg(long, value_name = "K")]
    pub(crate) hidden_states: Option<usize>,
    /// Minimum distance of a correlation from zero, in standard errors, for its pair to have a distance; 0 gives every pair one
    #[arg(long, value_name = "Z", default_value_t = 2.0)]
    pub(crate) significance: f64,
    /// Pseudo-count added to each cell of label tables
    #[arg(long, value_name = "WEIGHT", default_value_t = 0.0)]
    pub(crate) smoothing: f64,
    /// Write the standard errors of the distances, in the same format
    #[arg(long, value_name = "FILE")]
    pub(crate) errors: Option<PathBuf>,
    /// Memory limit for moments, such as 8G or 500M [default: three quarters of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
}
