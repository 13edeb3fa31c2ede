//! Speed of learning from end to end on public data, where they are at hand (`LATENTREE_DATA`, or `shared/data` beside the
//! repository).
//!
//! 1. 20 newsgroups (16,242 × 100): the tree of `clnj` and EM to a relative gain of 1e-7;
//! 2. KOS bag of words as presence (3,430 × 6,906): the tree of `clnj` and 50 passes of EM.
//!
//! `cargo bench -p latentree --bench learn`
#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use latentree::data::{CachedRows, KindOverride, ReadOptions, open};
use latentree::learn::{EmStart, Learning, ParameterMethod, Source};
use latentree::structure::{Contraction, LearnerName};
use latentree::{MemoryBudget, Silent};

fn run(name: &str, path: &Path, options: &ReadOptions, learning: &Learning) {
    if !path.exists() {
        println!("{name}: skipped, no {}", path.display());
        return;
    }
    let begun = Instant::now();
    let reader = open(path, options).expect("the file can be read");
    let learned = learning
        .run(Source::Rows(&CachedRows::new(reader, MemoryBudget::of_machine())), &Silent)
        .expect("a model can be learned");
    println!(
        "{name}: {:.2} s, {} hidden, {:?} passes, log-likelihood {:.1}",
        begun.elapsed().as_secs_f64(),
        learned.tree().n_hidden(),
        learned.em_iterations,
        learned.log_likelihood.unwrap_or(f64::NAN)
    );
    for stage in &learned.stages {
        println!("  {:7.2} s  {}", stage.seconds, stage.name);
    }
}

fn main() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let data = std::env::var_os("LATENTREE_DATA").map_or_else(|| root.join("../../../shared/data"), PathBuf::from);
    let joined = Learning::new().structure(LearnerName::ChowLiuNeighborJoining).contraction(Contraction::Off);
    let newsgroups = data.join("news20_w100/news20_w100.csv.gz");
    run("20 newsgroups, clnj and EM to 1e-7", &newsgroups, &ReadOptions::default(), &joined);
    let presence = ReadOptions::default().kind("*", KindOverride::parse("binary").expect("a kind"));
    let bag = joined.parameters(ParameterMethod::Em).start(Some(EmStart::Random)).restarts(1).em_iterations(Some(50));
    run("KOS, clnj and 50 passes", &data.join("bow/docword.kos.txt.gz"), &presence, &bag);
}
