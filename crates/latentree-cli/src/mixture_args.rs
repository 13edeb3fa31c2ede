//! Arguments of `mixture` and `cluster`.

use std::path::PathBuf;

use clap::Args;

use crate::data_args::DataArgs;

#[derive(Debug, Args)]
pub(crate) struct MixtureArgs {
    /// Data file, directory or glob of parts ('parts/*.csv', in quotes)
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    /// Number of components, 1 to 1000, or auto to choose it by BIC
    #[arg(short = 'k', long, value_name = "K|auto", allow_negative_numbers = true)]
    pub(crate) components: String,
    /// Distribution of a component's rows: poisson, single-topic, lda, gaussian, bernoulli or categorical (any columns) [default: from the
    /// kinds of the columns]. A named family also sets the kinds of columns, unless --kind or --schema does
    #[arg(long, value_name = "FAMILY")]
    pub(crate) family: Option<String>,
    /// Method: sidiwo, asvtd, svtd, tpm, svd, als or multi-view [default: sidiwo; multi-view if cells are missing]
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// Refine the components by EM
    #[arg(long)]
    pub(crate) em: bool,
    /// Sum of the Dirichlet parameters of lda, or auto for the one of a grid that fits the moments best [default: 0.2]
    #[arg(long, value_name = "A|auto", allow_negative_numbers = true)]
    pub(crate) alpha: Option<String>,
    /// Write the component of every row as CSV: its number or id, and label
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// True labels, one per row: a column of their own, or the column "label" of a CSV file. Prints how well the components agree with them
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,
    /// Print the stability of the components: the mean agreement of N pairs of fits that share 80% of the rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) stability: Option<u16>,
    /// Output model
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    /// Data file, directory or glob of parts ('parts/*.csv', in quotes)
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    /// Number of levels, 1 to 32, all rows being the first: up to 2^(D-1) leaves
    #[arg(long, value_name = "D", required_unless_present = "leaves", conflicts_with = "leaves", allow_negative_numbers = true)]
    pub(crate) depth: Option<String>,
    /// Number of leaves, the split with the largest gain first, or auto to split as long as BIC rises
    #[arg(long, value_name = "K|auto", allow_negative_numbers = true)]
    pub(crate) leaves: Option<String>,
    /// Method: d-sidiwo (alignment with two directions) or sidiwo (the more probable of two centres) [default: d-sidiwo]
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// Distribution of a cluster's rows, for sidiwo, EM and the gain of a split: poisson, single-topic, gaussian, bernoulli or categorical
    /// [default: from the kinds of the columns]
    #[arg(long, value_name = "FAMILY")]
    pub(crate) family: Option<String>,
    /// Refine each split by EM
    #[arg(long)]
    pub(crate) em: bool,
    /// Rows that a cluster has at least
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) min_size: u32,
    /// Write the leaf of every row as CSV: its number or id, and label
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// True labels, one per row: a column of their own, or the column "label" of a CSV file. Prints how well the leaves agree with them
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,
    /// Print the stability of the leaves: the mean agreement of N pairs of hierarchies that share 80% of the rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) stability: Option<u16>,
    /// Output hierarchy (.json)
    #[arg(short, long, value_name = "OUT.json")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
}
