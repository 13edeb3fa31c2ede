//! Ruffini (2019), §3.4: the Divina Commedia and the State of the Union addresses, from text to topics. And coherence of
//! topics, ours beside those that other programs wrote (`experiments/texts/peers.py`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use latentree::clusters::{ClusterOptions, Extent, SplitMethod, fit_clusters};
use latentree::data::{Block, CachedRows, KindOverride, ReadOptions, Reader, Rows, TextOptions, open};
use latentree::learn::{LearnOptions, Learning, Source};
use latentree::mixture::{
    Agreement, MixtureFamily, MixtureModel, MixtureOptions, NumberOfComponents, fit_mixture, word_coherence,
};
use latentree::report::TopicTable;
use latentree::{Error, MemoryBudget, Result, Silent};

use crate::record::{Results, processor_seconds};

/// Words of a topic that are shown.
const WORDS: usize = 10;

/// Share of the best word's information from which a tree lists a word; "cut" lists of others have the same rule.
const CUT: f64 = 0.1;

/// Seeds.
#[derive(Debug, Clone, Args)]
pub(crate) struct TextArgs {
    /// Number of seeds
    #[arg(long, value_name = "N", default_value_t = 3)]
    seeds: u64,
}

/// Which bag of words, and the topics of others.
#[derive(Debug, Clone, Args)]
pub(crate) struct CoherenceArgs {
    /// Sets: kos, nips_f21, 20news_w1000.train
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "kos,nips_f21,20news_w1000.train")]
    sets: Vec<String>,
    /// Number of topics
    #[arg(long, value_name = "K", default_value_t = 50)]
    topics: usize,
    /// A folder with files SET/NAME.topics.txt, a line of words a topic
    #[arg(long, value_name = "DIR")]
    peers: Option<PathBuf>,
}

fn read(path: &Path, text: TextOptions) -> Result<CachedRows<Reader>> {
    let memory = MemoryBudget::of_machine();
    let options = ReadOptions::default().text(text).kind("*", KindOverride::Count).keep_bytes(memory.for_rows());
    Ok(CachedRows::new(open(path, &options)?, memory))
}

/// Numbers for labels.
fn numbered(labels: impl Iterator<Item = String>) -> Vec<usize> {
    let mut known = BTreeMap::new();
    labels
        .map(|label| {
            let next = known.len();
            *known.entry(label).or_insert(next)
        })
        .collect()
}

/// Documents whose topic is that of their class, under the best pairing of topics and classes.
fn matched(labels: &[usize], truth: &[usize], k: usize) -> usize {
    let mut table = vec![vec![0_usize; k]; k];
    labels.iter().zip(truth).for_each(|(&label, &class)| table[label][class] += 1);
    fn best(table: &[Vec<usize>], row: usize, taken: &mut Vec<bool>) -> usize {
        if row == table.len() {
            return 0;
        }
        let mut most = 0;
        for column in 0..taken.len() {
            if !taken[column] {
                taken[column] = true;
                most = most.max(table[row][column] + best(table, row + 1, taken));
                taken[column] = false;
            }
        }
        most
    }
    best(&table, 0, &mut vec![false; k])
}

fn show(title: &str, topics: &TopicTable) {
    crate::note(title);
    for topic in topics.topics() {
        crate::note(&format!(
            "  {:>5.1}%  NPMI {:>5.2}  {}",
            100.0 * topic.share,
            topic.npmi.unwrap_or(0.0),
            topic.words.join(" ")
        ));
    }
}

/// The cantiche as topics of their cantos.
pub(crate) fn divina(args: &TextArgs, data: &Path) -> Result<Results> {
    let header =
        ["vocabulary", "words", "model", "seed", "cantos in the topic of their cantica", "wanted", "log-likelihood", "CPU s"];
    let mut results = Results::new("Ruffini 2019, §3.4: 100 cantos of the Divina Commedia, 3 topics", &header);
    let path = data.join("text/divina_commedia_petrocchi_style.txt.gz");
    let split = Some("^(Inferno|Purgatorio|Paradiso) · Canto".to_owned());
    for (name, stop) in [("all", "none"), ("without stop words", "it")] {
        let text = TextOptions { split: split.clone(), stop: stop.parse()?, coverage: Some(0.7), ..TextOptions::default() };
        let rows = read(&path, text)?;
        let names = rows.of_source(|reader| reader.documents());
        let cantica = |row: usize| names.name(row).split(' ').next().unwrap_or_default().to_owned();
        let truth = numbered((0..names.len()).map(cantica));
        for (family, em) in [(MixtureFamily::SingleTopic, false), (MixtureFamily::SingleTopic, true), (MixtureFamily::Lda, false)]
        {
            for seed in 0..if em { args.seeds } else { 1 } {
                let begun = processor_seconds();
                let options = MixtureOptions::new(NumberOfComponents::Fixed(3)).family(family).em(em).seed(seed);
                let fit = fit_mixture(&rows, &options, &Silent)?;
                let seconds = processor_seconds() - begun;
                let topics = match &fit.model {
                    MixtureModel::Topics(model) => TopicTable::of_topics(model, WORDS),
                    _ => TopicTable::of_star(fit.star().expect("it is a star"), WORDS)?,
                };
                if seed == 0 {
                    show(&format!("{name}, {family}, em {em}"), &topics.measured(&rows, &Silent)?);
                }
                results.row([
                    name.to_owned(),
                    rows.schema().columns().len().to_string(),
                    format!("{family}{}", if em { ", EM" } else { "" }),
                    seed.to_string(),
                    matched(&fit.labels, &truth, 3).to_string(),
                    if em { "70" } else { "" }.to_owned(),
                    format!("{:.0}", fit.log_likelihood),
                    format!("{seconds:.2}"),
                ]);
            }
        }
    }
    Ok(results)
}

/// Presidents as topics of their addresses.
pub(crate) fn union(args: &TextArgs, data: &Path) -> Result<Results> {
    let header =
        ["topics", "words", "seed", "adjusted mutual information with presidents", "wanted", "coherence", "NPMI", "CPU s"];
    let mut results =
        Results::new("Ruffini 2019, §3.4: 65 State of the Union addresses, single-topic by moments, moves and EM", &header);
    let text = TextOptions { split: Some("^##### ".to_owned()), stop: "en".parse()?, ..TextOptions::default() };
    let rows = read(&data.join("text/state_union_all.txt.gz"), text)?;
    let names = rows.of_source(|reader| reader.documents());
    let president = |row: usize| {
        let name = names.name(row);
        let name = name.rsplit('-').next().unwrap_or_default().trim_end_matches(".txt");
        name.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_owned()
    };
    let truth = numbered((0..names.len()).map(president));
    for k in [2, 4, 6, 8, 12, 16, 18, 32] {
        for seed in 0..if k == 12 { args.seeds } else { 1 } {
            let begun = processor_seconds();
            let options =
                MixtureOptions::new(NumberOfComponents::Fixed(k)).family(MixtureFamily::SingleTopic).em(true).seed(seed);
            let fit = fit_mixture(&rows, &options, &Silent)?;
            let seconds = processor_seconds() - begun;
            let topics = TopicTable::of_star(fit.star().expect("it is a star"), WORDS)?.measured(&rows, &Silent)?;
            if k == 18 {
                show("18 topics", &topics);
            }
            let coherence = fit.coherence.unwrap_or_default();
            results.row([
                k.to_string(),
                rows.schema().columns().len().to_string(),
                seed.to_string(),
                format!("{:.3}", Agreement::of(&fit.labels, &truth)?.adjusted_mutual_information),
                if k == 12 { "0.45" } else { "" }.to_owned(),
                format!("{:.1}", coherence.iter().sum::<f64>() / coherence.len().max(1) as f64),
                format!("{:.3}", topics.npmi().unwrap_or(0.0)),
                format!("{seconds:.2}"),
            ]);
        }
    }
    Ok(results)
}

/// The classes of 20 newsgroups as topics: one topic a document, by moments, moves and EM, and a hierarchy; CPU seconds after
/// reading, for ratios to `experiments/mixtures/peers.py`.
pub(crate) fn newsgroups(args: &TextArgs, data: &Path) -> Result<Results> {
    let header =
        ["model", "normalised mutual information", "adjusted Rand index", "log-likelihood", "CPU s after reading (median)"];
    let title = format!("20 newsgroups, 1,000 words, 20 classes, {} runs, one thread if RAYON_NUM_THREADS=1", args.seeds);
    let mut results = Results::new(title, &header);
    let memory = MemoryBudget::of_machine();
    let options = ReadOptions::default().kind("*", KindOverride::Count).keep_bytes(memory.for_rows());
    let rows = CachedRows::new(open(&data.join("bow/docword.20news_w1000.train.txt.gz"), &options)?, memory);
    read_all(&rows)?;
    let path = data.join("bow/20news_w1000.train.labels.txt");
    let labels = std::fs::read_to_string(&path).map_err(Error::io("read", &path))?;
    let truth = numbered(labels.split_whitespace().map(str::to_owned));
    type Found = (Vec<usize>, Option<f64>);
    let mixture = |em: bool| -> Result<Found> {
        let options = MixtureOptions::new(NumberOfComponents::Fixed(20)).family(MixtureFamily::SingleTopic).em(em);
        let fit = fit_mixture(&rows, &options, &Silent)?;
        Ok((fit.labels, Some(fit.log_likelihood)))
    };
    let hierarchy = |em: bool| -> Result<Found> {
        let mut options = ClusterOptions::new(Extent::Leaves(20)).em(em);
        options.family = Some(MixtureFamily::SingleTopic);
        Ok((fit_clusters(&rows, &options, &Silent)?.labels, None))
    };
    let ways: [(&str, &dyn Fn() -> Result<Found>); 4] = [
        ("mixture -k 20", &|| mixture(false)),
        ("mixture -k 20 --em", &|| mixture(true)),
        ("cluster --leaves 20", &|| hierarchy(false)),
        ("cluster --leaves 20 --em", &|| hierarchy(true)),
    ];
    for (name, way) in ways {
        let mut seconds = Vec::new();
        let mut found = None;
        for _ in 0..args.seeds.max(1) {
            let begun = processor_seconds();
            found = Some(way()?);
            seconds.push(processor_seconds() - begun);
        }
        seconds.sort_by(f64::total_cmp);
        let Some((labels, log_likelihood)) = found else { continue };
        let agreement = Agreement::of(&labels, &truth)?;
        results.row([
            name.to_owned(),
            format!("{:.3}", agreement.normalized_mutual_information),
            format!("{:.3}", agreement.adjusted_rand),
            log_likelihood.map_or("–".to_owned(), |it| format!("{it:.0}")),
            format!("{:.2}", seconds[seconds.len() / 2]),
        ]);
    }
    Ok(results)
}

/// NPMI, C_V and diversity of topics, ours and others'.
pub(crate) fn coherence(args: &CoherenceArgs, data: &Path) -> Result<Results> {
    let header = ["set", "program", "topics", "NPMI", "C_V", "diversity", "CPU s"];
    let mut results =
        Results::new("Coherence of topics: ten words by mutual information of their presence and the topic", &header);
    let row = |set: &str, program: &str, topics: &TopicTable, seconds: Option<f64>| {
        let number = |value: Option<f64>| value.map_or("–".to_owned(), |it| format!("{it:.3}"));
        [
            set.to_owned(),
            program.to_owned(),
            topics.topics().len().to_string(),
            number(topics.npmi()),
            number(topics.c_v()),
            format!("{:.2}", topics.diversity()),
            seconds.map_or("–".to_owned(), |it| format!("{it:.1}")),
        ]
    };
    for set in &args.sets {
        let memory = MemoryBudget::of_machine();
        let stem = set.split('.').next().unwrap_or(set);
        let path = data.join(format!("bow/docword.{set}.txt.gz"));
        let options = ReadOptions::default().names(data.join(format!("bow/vocab.{stem}.txt"))).keep_bytes(memory.for_rows());
        let presence = CachedRows::new(open(&path, &options.clone().kind("*", KindOverride::Binary))?, memory);
        // Rows are kept while they are read for the first time.
        read_all(&presence)?;
        let begun = processor_seconds();
        let mut learn = LearnOptions::default();
        learn.set("structure.learner", "levels".into())?;
        let learned = Learning::with_options(learn).run(Source::Rows(&presence), &Silent)?;
        let model = learned.file.into_latent_tree()?;
        let topics = TopicTable::of_tree(&model, Some(args.topics), WORDS)?;
        let seconds = processor_seconds() - begun;
        results.row(row(set, "latentree, tree, cut", &topics.measured(&presence, &Silent)?, Some(seconds)));
        let counts = CachedRows::new(open(&path, &options.kind("*", KindOverride::Count))?, memory);
        read_all(&counts)?;
        let begun = processor_seconds();
        let mut clusters = ClusterOptions::new(Extent::Leaves(args.topics)).em(true);
        clusters.method = SplitMethod::Model;
        clusters.family = Some(MixtureFamily::SingleTopic);
        let fit = fit_clusters(&counts, &clusters, &Silent)?;
        let seconds = processor_seconds() - begun;
        for (name, least) in [("latentree, hierarchy", 0.0), ("latentree, hierarchy, cut", CUT)] {
            let lines = by_information(&presence, &fit.labels, least)?;
            results.row(measured(set, name, &lines, &presence, Some(seconds))?);
        }
        let begun = processor_seconds();
        let options = MixtureOptions::new(NumberOfComponents::Fixed(args.topics)).family(MixtureFamily::SingleTopic).em(true);
        let fit = fit_mixture(&counts, &options, &Silent)?;
        let seconds = processor_seconds() - begun;
        for (name, least) in [("latentree, single-topic", 0.0), ("latentree, single-topic, cut", CUT)] {
            let lines = by_information(&presence, &fit.labels, least)?;
            results.row(measured(set, name, &lines, &presence, Some(seconds))?);
        }
        let folder = args.peers.as_ref().map(|peers| peers.join(stem));
        let files = folder.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
        files.sort();
        for file in files {
            let text = std::fs::read_to_string(&file).map_err(Error::io("read", &file))?;
            let lines: Vec<Vec<String>> = text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect();
            let name = file.file_name().map(|name| name.to_string_lossy().replace(".topics.txt", "")).unwrap_or_default();
            results.row(measured(set, &name, &lines, &presence, None)?);
        }
    }
    Ok(results)
}

fn read_all(rows: &dyn Rows) -> Result<()> {
    let mut source = rows.open()?;
    while source.next_batch()?.is_some() {}
    Ok(())
}

/// The words that documents of each group have more often than others, by mutual information of presence and group; groups without
/// documents are left out, and so are words with less than a share of the best word's information.
fn by_information(rows: &dyn Rows, groups: &[usize], least: f64) -> Result<Vec<Vec<String>>> {
    let (d, n) = (rows.schema().columns().len(), groups.len() as f64);
    let n_groups = groups.iter().max().map_or(0, |it| it + 1);
    let (mut both, mut sizes, mut frequencies) = (vec![0.0; n_groups * d], vec![0.0; n_groups], vec![0.0; d]);
    let mut source = rows.open()?;
    let mut number = 0;
    while let Some(batch) = source.next_batch()? {
        for row in 0..batch.n_rows {
            let group = groups[number];
            sizes[group] += 1.0;
            number += 1;
            let mut see = |word: usize| {
                both[group * d + word] += 1.0;
                frequencies[word] += 1.0;
            };
            match &batch.block {
                Block::Sparse(rows) => rows.row(row).filter(|cell| cell.1 > 0.0).for_each(|cell| see(cell.0)),
                Block::Dense(columns) => (0..columns.len()).filter(|&word| columns[word].number(row) > 0.0).for_each(&mut see),
            }
        }
    }
    let term = |joint: f64, a: f64, b: f64| if joint > 0.0 { joint / n * (joint * n / (a * b)).ln() } else { 0.0 };
    let lines = (0..n_groups).filter(|&group| sizes[group] > 0.0).map(|group| {
        let size = sizes[group];
        let mut found: Vec<(f64, usize)> = (0..d)
            .filter(|&word| both[group * d + word] * n > frequencies[word] * size)
            .map(|word| {
                let (both, frequency) = (both[group * d + word], frequencies[word]);
                let nats = term(both, frequency, size)
                    + term(frequency - both, frequency, n - size)
                    + term(size - both, n - frequency, size)
                    + term(n - frequency - size + both, n - frequency, n - size);
                (nats, word)
            })
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let told = found.iter().filter(|it| it.0 >= least * found[0].0).take(WORDS);
        told.map(|&(_, word)| rows.schema().columns()[word].name.clone()).collect()
    });
    Ok(lines.collect())
}

/// A row of the results for lines of words.
fn measured(set: &str, program: &str, lines: &[Vec<String>], rows: &dyn Rows, seconds: Option<f64>) -> Result<[String; 7]> {
    let schema = rows.schema();
    let columns =
        |line: &Vec<String>| line.iter().filter_map(|word| schema.find_column(word).map(|it| it.get() as u32)).collect();
    let found = word_coherence(rows, lines.iter().map(columns).collect(), &Silent)?;
    let mean = |values: Vec<f64>| format!("{:.3}", values.iter().sum::<f64>() / values.len().max(1) as f64);
    let all: Vec<&String> = lines.iter().flatten().collect();
    let different: std::collections::BTreeSet<&String> = all.iter().copied().collect();
    Ok([
        set.to_owned(),
        program.to_owned(),
        lines.len().to_string(),
        mean(found.iter().filter_map(|it| it.npmi).collect()),
        mean(found.iter().filter_map(|it| it.c_v).collect()),
        format!("{:.2}", different.len() as f64 / all.len().max(1) as f64),
        seconds.map_or("–".to_owned(), |it| format!("{it:.1}")),
    ])
}
