//! Tables and figures of the papers, ours beside theirs: one subcommand each.
//!
//! `cargo run --release -p latentree-experiments -- chow-liu` prints a table and, with `--record`, appends its rows to
//! `experiments/RESULTS.md` with the machine and the date.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an experiment prints its table")]

mod bootstrap;
mod choi_structure;
mod chow_liu;
mod density;
mod grouped_diagnoses;
mod huang_parameters;
mod huang_table;
mod missing_cells;
mod mixtures;
mod mossel_roch;
mod newsgroups_likelihood;
mod phylogeny;
mod record;
mod resume;
mod ruffini_decompositions;
mod sectors;
mod side;
mod soak;
mod sparse_vectors;
mod spectral_error;
mod spectral_rank;
mod spectral_speed;
mod splice;
mod stocks;
mod strangers;
mod support;
mod text_corpus;
mod texts;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tables and figures of the papers, ours beside theirs.
#[derive(Debug, Parser)]
#[command(name = "experiments", version)]
struct Cli {
    /// Append the rows to experiments/RESULTS.md with the machine and the date
    #[arg(long, global = true)]
    record: bool,
    /// Where the data are [default: $LATENTREE_DATA, or shared/data beside the repository]
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Debug, Clone, Subcommand)]
enum Experiment {
    /// Choi et al. 2011, Tables 4 and 5: the Chow–Liu tree of 20 newsgroups
    ChowLiu,
    /// Choi et al. 2011, §7.1: structure recovery on Gaussian double stars, HMMs and 5-complete trees
    ChoiStructure(choi_structure::ChoiArgs),
    /// Huang et al. 2020, §8: tables learned from samples, beside counting with the hidden states shown
    HuangParameters(huang_parameters::ParameterArgs),
    /// Huang et al. 2020, Table 2: many dimensions and many variables
    HuangTable(huang_table::TableArgs),
    /// False splits of the default learner with half of the cells missing, beside complete tables
    MissingCells(missing_cells::MissingArgs),
    /// Choi et al. 2011, Tables 4 and 5: likelihood and BIC of 20 newsgroups
    NewsgroupsLikelihood(newsgroups_likelihood::NewsgroupsArgs),
    /// Mean test log-likelihood of eight public density sets
    Density(density::DensityArgs),
    /// Huang et al. 2020, §8: diagnoses grouped into phecodes, by every learner
    GroupedDiagnoses(grouped_diagnoses::GroupedArgs),
    /// Ruffini 2019, Figure 2.1: error and time of tensor decompositions on Poisson naive Bayes models
    RuffiniDecompositions(ruffini_decompositions::RuffiniArgs),
    /// Ruffini 2019, Figures 3.1, 4.1 and 6.5 and Table 5.1: mixtures, topics and hierarchies by moments
    Mixtures(mixtures::MixtureArgs),
    /// Neighbour joining on the distances of HIV-1 and of pythons, against the trees that come with them
    Phylogeny,
    /// Random tables and options through every verb of the program, looking for crashes and contradictions
    Soak(soak::SoakArgs),
    /// Runs that are killed at random moments and started again, against runs that are not
    Resume(resume::ResumeArgs),
    /// S&P 500 weekly returns: how often neighbours on the learned tree share a sector
    Sectors,
    /// Parikh et al. 2011, Figure 2 and §7.2, Song et al. 2013, Figure 2: relative errors of joint probabilities
    SpectralError(spectral_error::ErrorArgs),
    /// Spectral models of few rows: what held-out rows gain by each number of dimensions
    SpectralRank(spectral_rank::RankArgs),
    /// Seconds of spectral learning and scoring beside EM
    SpectralSpeed(spectral_speed::SpeedArgs),
    /// Splice junctions: accuracy of chain models of each class by spectral methods, naive Bayes beside them
    Splice(splice::SpliceArgs),
    /// Song et al. 2013, Figure 3: the daily move of one of Q stocks from the others
    Stocks(stocks::StocksArgs),
    /// The bootstrap of searched models, which resamples log-likelihoods, beside searches of resampled rows
    Bootstrap(bootstrap::BootstrapArgs),
    /// Support of splits on simulated trees: in each tenth of it, the share of splits that are true
    Support(support::SupportArgs),
    /// The default beside every other learner on tables of all kinds: BIC, held-out rows, seconds, states, support
    Strangers(strangers::StrangersArgs),
    /// The default tree of a table with its bootstrap, and those of random halves of its rows: how many splits they share
    Halves(strangers::halves::HalvesArgs),
    /// Ruffini 2019, §3.4: cantos of the Divina Commedia in the topics of their cantiche
    Divina(texts::TextArgs),
    /// Ruffini 2019, §3.4: State of the Union addresses in topics, against their presidents
    Union(texts::TextArgs),
    /// NPMI, C_V and diversity of topics of KOS, NIPS and 20 newsgroups, ours beside those of other programs
    Coherence(texts::CoherenceArgs),
    /// 20 newsgroups (1,000 words) in 20 topics and in a hierarchy of 20 leaves, against their classes
    NewsgroupsTopics(texts::TextArgs),
    /// Writes a corpus of the size of the New York Times collection, with planted topics
    TextCorpus(text_corpus::CorpusArgs),
    /// The default on 1,000 words of NIPS and KOS beside HLTA: test documents, CPU seconds, NPMI and diversity of its groups
    Hlta(strangers::hlta::HltaArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let data = cli.data.clone().or_else(|| std::env::var_os("LATENTREE_DATA").map(PathBuf::from));
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let data = data.unwrap_or_else(|| root.join("../../shared/data"));
    let outcome = match cli.experiment {
        Experiment::ChowLiu => chow_liu::run(&data),
        Experiment::ChoiStructure(args) => choi_structure::run(&args),
        Experiment::HuangParameters(args) => huang_parameters::run(&args),
        Experiment::HuangTable(args) => huang_table::run(&args),
        Experiment::MissingCells(args) => missing_cells::run(&args),
        Experiment::NewsgroupsLikelihood(args) => newsgroups_likelihood::run(&args, &data),
        Experiment::Density(args) => density::run(&args, &data),
        Experiment::GroupedDiagnoses(args) => grouped_diagnoses::run(&args, &data),
        Experiment::RuffiniDecompositions(args) => ruffini_decompositions::run(&args),
        Experiment::Mixtures(args) => mixtures::run(&args),
        Experiment::Phylogeny => phylogeny::run(&data),
        Experiment::Sectors => sectors::run(&data),
        Experiment::Resume(args) => resume::run(&args),
        Experiment::Soak(args) => soak::run(&args),
        Experiment::SpectralError(args) => spectral_error::run(&args),
        Experiment::SpectralRank(args) => spectral_rank::run(&args, &data),
        Experiment::SpectralSpeed(args) => spectral_speed::run(&args),
        Experiment::Splice(args) => splice::run(&args, &data),
        Experiment::Stocks(args) => stocks::run(&args, &data),
        Experiment::Bootstrap(args) => bootstrap::run(&args),
        Experiment::Support(args) => support::run(&args),
        Experiment::Strangers(args) => strangers::run(&args, &data),
        Experiment::Halves(args) => strangers::halves::run(&args, &data),
        Experiment::Divina(args) => texts::divina(&args, &data),
        Experiment::Union(args) => texts::union(&args, &data),
        Experiment::Coherence(args) => texts::coherence(&args, &data),
        Experiment::NewsgroupsTopics(args) => texts::newsgroups(&args, &data),
        Experiment::TextCorpus(args) => text_corpus::run(&args),
        Experiment::Hlta(args) => strangers::hlta::run(&args, &data),
    };
    let table = match outcome {
        Ok(table) => table,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    println!("{}", table.markdown());
    if cli.record
        && let Err(error) = table.append(&root.join("RESULTS.md"))
    {
        eprintln!("error: {error}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

/// Says how far a long experiment is.
fn note(message: &str) {
    eprintln!("{message}");
}

/// The folder of real data if it has this part, else a line that says that the test is skipped.
#[cfg(test)]
fn data_folder_for_tests(part: &str) -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let data = std::env::var_os("LATENTREE_DATA").map_or_else(|| root.join("../../shared/data"), PathBuf::from);
    if data.join(part).is_dir() {
        return Some(data);
    }
    eprintln!("skipped: no {} (set LATENTREE_DATA)", data.join(part).display());
    None
}
