//! Arguments of `federate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::data_args::DataArgs;
use crate::learn_options::LearnOptionArgs;

/// What to do in a federation.
#[derive(Debug, Args)]
pub(crate) struct FederateArgs {
    #[command(subcommand)]
    pub(crate) action: FederateCommand,
}

/// The actions of coordinator and sites.
#[derive(Debug, Subcommand)]
pub(crate) enum FederateCommand {
    /// Coordinator: begin a run in a new directory and write its first pass
    #[command(
        after_help = "Sites answer RUN/round-1.pass. Without --schema, the first round asks which columns, kinds and labels there are, and \
                            nothing else.\n\
                            Examples:\n  latentree federate start RUN --schema schema.json --sites north,south,west\n  \
                            latentree federate start RUN --schema schema.json --structure clnj --parameters moments+em\n  \
                            latentree federate start RUN --schema schema.json --keys north.pub south.pub west.pub\n  \
                            latentree federate start RUN --schema schema.json --dp-rho 0.5 --max-items 12"
    )]
    Start(Box<StartArgs>),
    /// Site: run a pass over the site's own rows and write a part for the coordinator
    #[command(
        after_help = "Prints exactly what the part holds. Nothing else leaves the site. The site remembers its answers in --record, to notice \
                            other data and to keep account of its privacy budget.\n\
                            A policy is a JSON file: {\"least_rows\": 100, \"least_count\": 5, \"passes\": [\"pair-moments\"], \"rho\": 1.0, \
                            \"masked\": true, \"least_sites\": 3, \"peers\": {\"south\": \"PUBLIC KEY\"}}. Every field is optional.\n\
                            Example:\n  latentree federate answer round-1.pass north.csv --site north -o round-1.north.part"
    )]
    Answer(Box<AnswerArgs>),
    /// Coordinator: merge parts, and write the next pass or the model
    #[command(after_help = "Parts may come one by one. A command that was interrupted is repeated.\n\
                            Examples:\n  latentree federate next RUN round-1.*.part\n  latentree federate next RUN --without west")]
    Next(NextArgs),
    /// Coordinator: rounds so far, and which sites are awaited
    #[command(after_help = "Example:\n  latentree federate status RUN")]
    Status(StatusArgs),
    /// Site: make a key for masked parts; SITE.key stays secret, SITE.pub goes to the coordinator and the other sites
    #[command(after_help = "Example:\n  latentree federate keygen north")]
    Keygen(KeygenArgs),
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct StartArgs {
    /// Directory of the run: new, or empty
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Columns of all sites with kinds and labels: JSON, as describe --schema-out writes it. Without it, sites agree on
    /// columns in a first round
    #[arg(long, value_name = "SCHEMA.json")]
    pub(crate) schema: Option<PathBuf>,
    /// Names of the sites, comma-separated [default: the sites that answer the first round]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) sites: Vec<String>,
    /// Public keys of the sites: parts are masked, and only their sum can be read
    #[arg(long, value_name = "A.pub B.pub", num_args = 1..)]
    pub(crate) keys: Vec<PathBuf>,
    /// Add noise so that every answer of the run together has this ρ (zero-concentrated differential privacy)
    #[arg(long, value_name = "RHO")]
    pub(crate) dp_rho: Option<f64>,
    /// δ at which ε is shown
    #[arg(long, value_name = "DELTA", default_value_t = 1e-6, requires = "dp_rho")]
    pub(crate) dp_delta: f64,
    /// With --dp-rho, the most yes/no columns that may be 1 in a row; others are cut. Fewer need less noise [default: all]
    #[arg(long, value_name = "M", requires = "dp_rho")]
    pub(crate) max_items: Option<usize>,
    /// With --dp-rho, the range of a column of numbers, from knowledge and not from rows; repeat for each
    #[arg(long, value_name = "NAME=LOW,HIGH", requires = "dp_rho")]
    pub(crate) range: Vec<String>,
    /// Keep this tree (Newick, or a model or tree file) and learn only its parameters
    #[arg(long, value_name = "FILE")]
    pub(crate) tree: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: LearnOptionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The pass, from the coordinator
    #[arg(value_name = "PASS")]
    pub(crate) pass: PathBuf,
    /// The site's data: file, directory or glob of parts
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    /// Name of the site
    #[arg(long, value_name = "NAME")]
    pub(crate) site: String,
    /// Part to write
    #[arg(short, long, value_name = "FILE.part")]
    pub(crate) output: PathBuf,
    /// What the site allows: a JSON file
    #[arg(long, value_name = "FILE.json")]
    pub(crate) policy: Option<PathBuf>,
    /// The site's secret key, for a masked run
    #[arg(long, value_name = "SITE.key")]
    pub(crate) mask: Option<PathBuf>,
    /// File in which the site remembers its answers [default: SITE.record.json beside the part]
    #[arg(long, value_name = "FILE.json")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
}

#[derive(Debug, Args)]
pub(crate) struct NextArgs {
    /// Directory of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Parts of the open round
    #[arg(value_name = "PART")]
    pub(crate) parts: Vec<PathBuf>,
    /// Go on without these sites, comma-separated. A masked round is asked again of the others
    #[arg(long, value_name = "SITE", value_delimiter = ',')]
    pub(crate) without: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Directory of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct KeygenArgs {
    /// Name of the site
    #[arg(value_name = "SITE")]
    pub(crate) site: String,
    /// Directory for SITE.key and SITE.pub
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
}
