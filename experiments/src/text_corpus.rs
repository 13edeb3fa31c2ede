//! A corpus of the size of the New York Times collection of UCI: 300,000 documents over 102,660 words, with planted topics.
//!
//! The r-th word has a share of all occurrences in proportion to `(r + 35)^−1.1`, the Zipf–Mandelbrot law that fits NIPS and 20
//! newsgroups without stop words. Every word but the most frequent ones belongs to one of 200 topics, and every topic to one of
//! 20 areas. Half of the words of a document come from all words, half from one to three topics, which are of one area with
//! probability 0.7; a topic is drawn in proportion to the occurrences of its words, so that the law still holds. Lengths are
//! log-normal with a mean of 332 words. Documents are written as a bag of words of UCI that has only the most frequent words;
//! a word is called `w<rank>t<topic>`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use latentree::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::weighted::WeightedAliasIndex;
use rand_distr::{Distribution, LogNormal};
use rayon::prelude::*;

use crate::record::Results;

const TOPICS: usize = 200;
const AREAS: usize = 20;
/// The most frequent words, which belong to no topic.
const COMMON: usize = 50;
/// The law of Zipf and Mandelbrot.
const SHIFT: f64 = 35.0;
const EXPONENT: f64 = 1.1;
/// Mean length of a document, and standard deviation of its logarithm.
const LENGTH: f64 = 332.0;
const SPREAD: f64 = 0.6;
/// Documents that are drawn at once.
const BATCH: u64 = 4096;

/// How large the corpus is.
#[derive(Debug, Clone, Args)]
pub(crate) struct CorpusArgs {
    /// Folder for docword.sim_W.txt and vocab.sim_W.txt
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Number of documents
    #[arg(long, value_name = "N", default_value_t = 300_000)]
    documents: u64,
    /// Number of words in all
    #[arg(long, value_name = "N", default_value_t = 102_660)]
    words: usize,
    /// Numbers of the most frequent words to write, one corpus each
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "3000,10000")]
    kept: Vec<usize>,
    /// Seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

struct Law {
    /// Topic of every word; none for common words.
    topic_of: Vec<Option<usize>>,
    all: WeightedAliasIndex<f64>,
    topics: WeightedAliasIndex<f64>,
    /// Words of a topic, and how they are drawn.
    of_topic: Vec<(Vec<u32>, WeightedAliasIndex<f64>)>,
    /// Topics of an area, and how they are drawn.
    of_area: Vec<WeightedAliasIndex<f64>>,
}

impl Law {
    fn new(n_words: usize, rng: &mut ChaCha8Rng) -> Self {
        let shares: Vec<f64> = (1..=n_words).map(|rank| (rank as f64 + SHIFT).powf(-EXPONENT)).collect();
        let topic_of: Vec<Option<usize>> =
            (0..n_words).map(|word| (word >= COMMON).then(|| rng.random_range(0..TOPICS))).collect();
        let topics = &topic_of;
        let words_of = |topic: usize| (0..n_words as u32).filter(move |&word| topics[word as usize] == Some(topic));
        let of_topic: Vec<(Vec<u32>, WeightedAliasIndex<f64>)> = (0..TOPICS)
            .map(|topic| {
                let words: Vec<u32> = words_of(topic).collect();
                let weights = words.iter().map(|&word| shares[word as usize]).collect();
                (words, alias(weights))
            })
            .collect();
        let mass: Vec<f64> = (0..TOPICS).map(|topic| words_of(topic).map(|word| shares[word as usize]).sum()).collect();
        // Topics are numbered by area.
        let of_area = mass.chunks(TOPICS / AREAS).map(|part| alias(part.to_vec())).collect();
        Self { all: alias(shares), topics: alias(mass), of_topic, of_area, topic_of }
    }

    /// The words of a document, each as often as it occurs.
    fn document(&self, rng: &mut ChaCha8Rng, length: usize, words: &mut Vec<u32>) {
        let first = self.topics.sample(rng);
        let mut own = vec![first];
        for _ in 0..rng.random_range(0..3_u8) {
            own.push(if rng.random_bool(0.7) {
                let area = first / (TOPICS / AREAS);
                area * (TOPICS / AREAS) + self.of_area[area].sample(rng)
            } else {
                self.topics.sample(rng)
            });
        }
        words.clear();
        for _ in 0..length {
            words.push(if rng.random_bool(0.5) {
                self.all.sample(rng) as u32
            } else {
                let (of, law) = &self.of_topic[own[rng.random_range(0..own.len())]];
                of[law.sample(rng)]
            });
        }
        words.sort_unstable();
    }
}

fn alias(weights: Vec<f64>) -> WeightedAliasIndex<f64> {
    WeightedAliasIndex::new(weights).expect("weights are positive")
}

/// One output: the most frequent words.
struct Output {
    n_words: usize,
    path: PathBuf,
    file: BufWriter<File>,
    cells: u64,
}

impl Output {
    fn create(folder: &Path, n_words: usize, law: &Law, n_documents: u64) -> Result<Self> {
        let vocabulary = folder.join(format!("vocab.sim_{n_words}.txt"));
        let name = |word: usize| match law.topic_of[word] {
            Some(topic) => format!("w{:06}t{topic}\n", word + 1),
            None => format!("w{:06}\n", word + 1),
        };
        let names: String = (0..n_words).map(name).collect();
        std::fs::write(&vocabulary, names).map_err(Error::io("write", &vocabulary))?;
        let path = folder.join(format!("docword.sim_{n_words}.txt"));
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        let mut output = Self { n_words, file: BufWriter::new(file), path, cells: 0 };
        output.write(Self::header(n_documents, n_words, 0).as_bytes())?;
        Ok(output)
    }

    /// The three numbers; that of cells is known at the end only, so it has a fixed width.
    fn header(n_documents: u64, n_words: usize, cells: u64) -> String {
        format!("{n_documents}\n{n_words}\n{cells:012}\n")
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(Error::io("write", &self.path))
    }

    fn finish(mut self, n_documents: u64) -> Result<u64> {
        self.file.seek(SeekFrom::Start(0)).map_err(Error::io("write", &self.path))?;
        self.write(Self::header(n_documents, self.n_words, self.cells).as_bytes())?;
        self.file.flush().map_err(Error::io("write", &self.path))?;
        Ok(self.cells)
    }
}

/// Writes the corpora.
pub(crate) fn run(args: &CorpusArgs) -> Result<Results> {
    if args.words < COMMON + TOPICS || args.kept.iter().any(|&kept| kept > args.words || kept == 0) {
        return Err(Error::option("--words", format!("needs {} words or more, and no fewer than are kept", COMMON + TOPICS)));
    }
    std::fs::create_dir_all(&args.out).map_err(Error::io("create", &args.out))?;
    let law = Law::new(args.words, &mut ChaCha8Rng::seed_from_u64(args.seed));
    let lengths = LogNormal::new(LENGTH.ln() - 0.5 * SPREAD * SPREAD, SPREAD).expect("the spread is positive");
    let mut outputs: Vec<Output> =
        args.kept.iter().map(|&kept| Output::create(&args.out, kept, &law, args.documents)).collect::<Result<_>>()?;
    let mut tokens = 0_usize;
    for begin in (0..args.documents).step_by(BATCH as usize) {
        let drawn: Vec<(usize, Vec<(String, u64)>)> = (begin..args.documents.min(begin + BATCH))
            .into_par_iter()
            .map(|document| {
                let mut rng = ChaCha8Rng::seed_from_u64(args.seed ^ (document + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let length = (lengths.sample(&mut rng) as usize).max(1);
                let mut words = Vec::new();
                law.document(&mut rng, length, &mut words);
                let of = |kept: usize| {
                    let (mut lines, mut cells) = (String::new(), 0);
                    for run in words.chunk_by(|a, b| a == b).filter(|run| (run[0] as usize) < kept) {
                        let _ = writeln!(lines, "{} {} {}", document + 1, run[0] + 1, run.len());
                        cells += 1;
                    }
                    (lines, cells)
                };
                (length, args.kept.iter().map(|&kept| of(kept)).collect())
            })
            .collect();
        for (length, parts) in drawn {
            tokens += length;
            for (output, (lines, cells)) in outputs.iter_mut().zip(parts) {
                output.write(lines.as_bytes())?;
                output.cells += cells;
            }
        }
    }
    let mut results = Results::new("A simulated corpus", &["words kept", "documents", "words in all", "occurrences", "cells"]);
    for output in outputs {
        let kept = output.n_words;
        let cells = output.finish(args.documents)?;
        results.row([
            kept.to_string(),
            args.documents.to_string(),
            args.words.to_string(),
            tokens.to_string(),
            cells.to_string(),
        ]);
    }
    Ok(results)
}
