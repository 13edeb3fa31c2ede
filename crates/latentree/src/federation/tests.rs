//! Complete runs through files: sites, coordinator, masks and noise.

use std::path::{Path, PathBuf};

use super::masks::SecretKey;
use super::*;
use crate::data::{Dataset, RemoteRows, SelectedRows};
use crate::error::Result;
use crate::format::ModelFile;
use crate::inference::Inference;
use crate::learn::{LearnOptions, Learning, Source};
use crate::model::LatentTree;
use crate::observer::Silent;
use crate::passes;
use crate::simulate::{ParameterFamily, Shape, Simulation};

fn model(states: usize) -> LatentTree {
    let family = ParameterFamily::Categorical { states, hidden_states: 2, separation: 0.7 };
    Simulation::new(Shape::Complete { degree: 4 }, 12).family(family).seed(3).model().unwrap()
}

/// Rows of three sites of unequal size; the last site never has the last two labels of the first column.
fn sites(states: usize) -> (Dataset, Vec<(&'static str, Dataset)>) {
    let data = Inference::new(&model(states)).sample(3000, 5).unwrap();
    let part = |site: u64| {
        let lacks =
            |row: u64| states > 3 && data.batches()[row as usize / 4096].number(row as usize % 4096, crate::ColIx::new(0)) > 1.0;
        let of = |row: u64| if row.is_multiple_of(10) && !lacks(row) { 2 } else { u64::from(row % 10 > 6) };
        let mut source = data.source();
        Dataset::read(&mut SelectedRows::new(&mut source, move |row| of(row) == site)).unwrap()
    };
    let parts = vec![("north", part(0)), ("south", part(1)), ("west", part(2))];
    (data, parts)
}

fn options(data: &Dataset, settings: &[(&str, &str)]) -> RunOptions {
    let mut learn = LearnOptions::default();
    settings.iter().for_each(|(path, value)| learn.set(path, (*value).into()).unwrap());
    RunOptions { schema: Some(data.schema().clone()), learn, ..RunOptions::default() }
}

/// Answers a pass as a site, and returns the path of the part.
fn part(folder: &Path, pass: &Path, site: &Site<'_>, data: &Dataset) -> Result<PathBuf> {
    let answer = answer(&PassFile::read(pass)?, data, site)?;
    let path = folder.join(format!("{}.part", site.name));
    std::fs::write(&path, &answer.part).unwrap();
    Ok(path)
}

fn named(name: &str) -> Site<'static> {
    Site { name: name.to_owned(), ..Site::default() }
}

/// Completes a run, reopening it for each step.
fn finished(folder: &Path, run: RunOptions, parts: &[(&str, Dataset)], keys: &[SecretKey]) -> (Vec<u8>, Status) {
    let directory = folder.join("run");
    let (_, mut step) = Federation::start(&directory, run, &Silent).unwrap();
    loop {
        match step {
            Step::Round(pass) => {
                let answered = parts.iter().enumerate().map(|(ix, (name, data))| {
                    let site = Site { key: keys.get(ix), ..named(name) };
                    part(folder, &pass, &site, data).unwrap()
                });
                let answered: Vec<PathBuf> = answered.collect();
                step = Federation::open(&directory).unwrap().next(&answered, &[], &Silent).unwrap();
            }
            Step::Finished(path, _) => {
                return (std::fs::read(path).unwrap(), Federation::open(&directory).unwrap().status());
            }
            Step::Waiting(missing) => panic!("{missing:?}"),
        }
    }
}

#[test]
fn three_sites_give_the_bytes_that_their_parts_give_on_one_machine() {
    for (states, settings) in
        [(2, vec![]), (5, vec![]), (2, vec![("parameters.method", "moments+em"), ("structure.learner", "clnj")])]
    {
        let (data, parts) = sites(states);
        let folder = tempfile::tempdir().unwrap();
        let mut run = options(&data, &settings);
        if !settings.is_empty() {
            run.learn.set("em.iterations", 3.into()).unwrap();
        }
        let (bytes, status) = finished(folder.path(), run.clone(), &parts, &[]);
        assert!(status.rounds.iter().all(|round| round.is_complete && round.answered.len() == 3));
        let answer = |pass: &[u8]| {
            let pieces = parts.iter().map(|(_, part)| passes::observe(pass, &mut part.source()));
            passes::merge(&pieces.collect::<Result<Vec<_>>>()?)
        };
        let rows = RemoteRows::new(data.schema().clone(), None, answer);
        run.learn.set("selection.criterion", "none".into()).unwrap();
        if settings.is_empty() {
            run.learn.set("parameters.method", "moments".into()).unwrap();
        }
        let learned = Learning::with_options(run.learn).run(Source::Rows(&rows), &Silent).unwrap();
        let path = folder.path().join("here.json");
        learned.file.write(&path).unwrap();
        assert_eq!(bytes, std::fs::read(path).unwrap());
        if let Some(expected) = status.expected_rounds {
            assert_eq!(status.rounds.len() as u32, expected);
        }
    }
}

#[test]
fn sites_agree_on_columns_and_reveal_their_names_only() {
    let (data, parts) = sites(5);
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let run = RunOptions { schema: None, ..options(&data, &[]) };
    let (mut federation, step) = Federation::start(&directory, run, &Silent).unwrap();
    let Step::Round(pass) = step else { panic!("a first round") };
    let file = PassFile::read(&pass).unwrap();
    assert_eq!(file.pass(), SCHEMA_PASS);
    let answered: Vec<PathBuf> = (parts.iter())
        .map(|(name, data)| {
            let answer = answer_schema(&file, data.schema(), &named(name)).unwrap();
            let path = folder.path().join(name);
            std::fs::write(&path, answer.part).unwrap();
            path
        })
        .collect();
    let Step::Round(pass) = federation.next(&answered, &[], &Silent).unwrap() else { panic!("a second round") };
    assert_eq!(PassFile::read(&pass).unwrap().schema(), Some(data.schema()));
}

#[test]
fn parts_that_do_not_belong_are_refused() {
    let (data, parts) = sites(2);
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let (mut run, step) = Federation::start(&directory, options(&data, &[]), &Silent).unwrap();
    let Step::Round(pass) = step else { panic!("a first round") };
    let path = part(folder.path(), &pass, &named("north"), &parts[0].1).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let mut says = |paths: &[&Path]| {
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
        run.next(&paths, &[], &Silent).unwrap_err().to_string()
    };
    let changed = folder.path().join("changed.part");
    for at in (0..bytes.len()).step_by(bytes.len() / 50 + 1) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        std::fs::write(&changed, bytes).unwrap();
        let message = says(&[&changed]);
        assert!(message.contains("not a valid federation part"), "{message}");
    }
    assert!(says(&[&path, &path]).contains("a site answers once"));
    assert!(says(&[&pass]).contains("it is a pass"));
    let other = folder.path().join("other");
    let (_, step) = Federation::start(&other, options(&data, &[]), &Silent).unwrap();
    let Step::Round(other_pass) = step else { panic!("a first round") };
    let stranger = part(folder.path(), &other_pass, &named("stranger"), &parts[0].1).unwrap();
    assert!(says(&[&stranger]).contains("another run"));
    // Once the round is complete, the same part is late.
    let all: Vec<PathBuf> = parts.iter().map(|(name, it)| part(folder.path(), &pass, &named(name), it).unwrap()).collect();
    let Step::Round(_) = run.next(&all, &[], &Silent).unwrap() else { panic!("a second round") };
    let message = run.next(&all[..1], &[], &Silent).unwrap_err().to_string();
    assert!(message.contains("round 1 is over") && message.contains("already"), "{message}");
    // A directory that is in use, and one that is not a run.
    assert!(Federation::open(&directory).unwrap_err().to_string().contains("another run is using it"));
    assert!(Federation::open(folder.path()).unwrap_err().to_string().contains("no run"));
}

#[test]
fn late_sites_are_awaited_or_left_out() {
    let (data, parts) = sites(2);
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = parts.iter().map(|it| it.0.to_owned()).collect();
    let run = RunOptions { sites: names, ..options(&data, &[]) };
    let (mut run, step) = Federation::start(&folder.path().join("run"), run, &Silent).unwrap();
    let Step::Round(pass) = step else { panic!("a first round") };
    let of = |ix: usize| part(folder.path(), &pass, &named(parts[ix].0), &parts[ix].1).unwrap();
    let Step::Waiting(missing) = run.next(&[of(0)], &[], &Silent).unwrap() else { panic!("two are missing") };
    assert_eq!(missing, ["south", "west"]);
    assert_eq!(run.status().received, ["north"]);
    assert!(run.next(&[], &["east".to_owned()], &Silent).unwrap_err().to_string().contains("no part"));
    let all: Vec<String> = parts.iter().map(|it| it.0.to_owned()).collect();
    assert!(run.next(&[], &all, &Silent).unwrap_err().to_string().contains("no site would be left"));
    // The same command again, as after an interruption, says the same.
    for _ in 0..2 {
        let Step::Waiting(missing) = run.next(&[], &["west".to_owned()], &Silent).unwrap() else { panic!("one is missing") };
        assert_eq!(missing, ["south"]);
    }
    let Step::Round(_) = run.next(&[of(1)], &["west".to_owned()], &Silent).unwrap() else { panic!("the next round") };
    let status = run.status();
    assert_eq!(status.rounds[0].without, ["west"]);
    assert_eq!(status.sites, ["north", "south"]);
    assert_eq!(status.rounds[0].answered.len(), 2);
}

#[test]
fn sites_refuse_what_their_policy_does_not_allow() {
    let (data, parts) = sites(2);
    let folder = tempfile::tempdir().unwrap();
    let (_, step) = Federation::start(&folder.path().join("run"), options(&data, &[]), &Silent).unwrap();
    let Step::Round(pass) = step else { panic!("a first round") };
    let file = PassFile::read(&pass).unwrap();
    let site = |policy: Policy| Site { policy, ..named("north") };
    let says = |policy: Policy| answer(&file, &parts[0].1, &site(policy)).unwrap_err().to_string();
    assert!(says(Policy { least_rows: 5000, ..Policy::default() }).contains("at least 5000"));
    assert!(says(Policy { passes: Some(vec!["summary".to_owned()]), ..Policy::default() }).contains("not allowed"));
    assert!(says(Policy { rho: Some(1.0), ..Policy::default() }).contains("no noise"));
    assert!(says(Policy { masked: true, ..Policy::default() }).contains("masks"));
    assert!(says(Policy { least_sites: 2, ..Policy::default() }).contains("at least 2 sites"));
    let released = answer(&file, &parts[0].1, &site(Policy { least_count: 200, ..Policy::default() })).unwrap();
    assert!(released.suppressed > 0 && released.smallest_count >= Some(200));
    // The record detects other data.
    let record = folder.path().join("north.json");
    let remembering = Site { record: Some(&record), ..named("north") };
    let first = answer(&file, &parts[0].1, &remembering).unwrap();
    assert_eq!(answer(&file, &parts[0].1, &remembering).unwrap().part, first.part);
    let message = answer(&file, &parts[1].1, &remembering).unwrap_err().to_string();
    assert!(message.contains("other data"), "{message}");
    // The error for another version names both versions.
    let bytes = std::fs::read(&pass).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let at = text.find("\"version\":\"").unwrap();
    let mut other = bytes.clone();
    other[at + 11] = b'9';
    let rest = &other[other.iter().position(|&byte| byte == b'\n').unwrap() + 1..];
    let mut signed = format!("latentree pass 1 {}\n", envelope::digest(rest)).into_bytes();
    signed.extend_from_slice(rest);
    let message = PassFile::from_bytes(&signed).unwrap_err().to_string();
    assert!(message.contains("latentree 9") && message.contains(env!("CARGO_PKG_VERSION")), "{message}");
}

#[test]
fn what_needs_rows_in_one_place_is_refused_before_anything_is_written() {
    let (data, _) = sites(2);
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    for (path, value) in [
        ("selection.criterion", "bic"),
        ("parameters.hidden_states", "auto"),
        ("structure.learner", "reg-clnj"),
        ("structure.learner", "levels"),
    ] {
        let error = Federation::start(&directory, options(&data, &[(path, value)]), &Silent).unwrap_err();
        assert!(error.to_string().contains(path), "{error}");
        assert!(!directory.exists(), "{path}");
    }
    for name in ["a/b", "", "../x"] {
        let run = RunOptions { sites: vec![name.to_owned()], ..options(&data, &[]) };
        assert!(Federation::start(&directory, run, &Silent).is_err());
    }
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("mine"), "").unwrap();
    assert!(Federation::start(&directory, options(&data, &[]), &Silent).unwrap_err().to_string().contains("not empty"));
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
}

fn keys(parts: &[(&str, Dataset)]) -> Vec<SecretKey> {
    parts.iter().map(|(name, _)| SecretKey::generate(name).unwrap()).collect()
}

fn masked(data: &Dataset, parts: &[(&str, Dataset)], keys: &[SecretKey]) -> RunOptions {
    let keys = parts.iter().zip(keys).map(|((name, _), key)| ((*name).to_owned(), key.public())).collect();
    RunOptions { keys, ..options(data, &[("structure.learner", "clnj")]) }
}

#[test]
fn masked_parts_add_up_to_the_unmasked_sum_and_look_random() {
    let (data, parts) = sites(2);
    let folder = tempfile::tempdir().unwrap();
    let keys = keys(&parts);
    let (run, step) = Federation::start(&folder.path().join("run"), masked(&data, &parts, &keys), &Silent).unwrap();
    let Step::Round(pass) = step else { panic!("a first round") };
    let file = PassFile::read(&pass).unwrap();
    let contents: Vec<Vec<u8>> = (parts.iter().zip(&keys))
        .map(|((name, data), key)| {
            let answer = answer(&file, data, &Site { key: Some(key), ..named(name) }).unwrap();
            assert_eq!((answer.smallest_count, answer.masked), (None, true));
            envelope::read::<files::PartHeader>("part", &answer.part).unwrap().1.to_vec()
        })
        .collect();
    let sum = masks::unmasked(&file.wire, &contents.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    let plain: Vec<Vec<u8>> = parts.iter().map(|(_, data)| passes::observe(&file.wire, &mut data.source()).unwrap()).collect();
    let plain = passes::visit_sums(&passes::merge(&plain).unwrap(), true, &mut |_| {}).unwrap();
    assert!(sum == plain, "the sums are the same");
    // The bytes of each part are uniform: χ² with 255 degrees of freedom has mean 255 and standard deviation 22.6.
    for content in &contents {
        let mut counts = [0.0; 256];
        content.iter().for_each(|&byte| counts[usize::from(byte)] += 1.0);
        let expected = content.len() as f64 / 256.0;
        let chi_squared: f64 = counts.iter().map(|count: &f64| (count - expected).powi(2) / expected).sum();
        assert!((255.0 - 5.0 * 22.6..255.0 + 5.0 * 22.6).contains(&chi_squared), "{chi_squared}");
    }
    // The same round has the same masks; another attempt has different ones.
    drop(run);
}

#[test]
fn a_masked_run_finds_the_tree_and_a_failing_site_is_left_out_with_new_masks() {
    let (data, parts) = sites(2);
    let folder = tempfile::tempdir().unwrap();
    let keys = keys(&parts);
    let (bytes, status) = finished(folder.path(), masked(&data, &parts, &keys), &parts, &keys);
    assert!(status.rounds.iter().all(|round| round.answered.values().all(Option::is_none)));
    let folder = tempfile::tempdir().unwrap();
    let (plain, _) = finished(folder.path(), options(&data, &[("structure.learner", "clnj")]), &parts, &[]);
    let [a, b] = [bytes, plain].map(|bytes| {
        let path = folder.path().join("m.json");
        std::fs::write(&path, bytes).unwrap();
        let model = ModelFile::read(&path).unwrap().into_latent_tree().unwrap();
        let score = Inference::new(&model).score(&mut data.source(), &Silent, |_, _| Ok(())).unwrap();
        (model, score.log_likelihood)
    });
    assert!(crate::tree::same_structure(a.0.tree(), b.0.tree()));
    assert!((a.1 - b.1).abs() < 1e-5 * b.1.abs(), "{} {}", a.1, b.1);
    // The site "west" fails.
    let folder = tempfile::tempdir().unwrap();
    let (mut run, step) = Federation::start(&folder.path().join("run"), masked(&data, &parts, &keys), &Silent).unwrap();
    let Step::Round(pass) = step else { panic!("a first round") };
    let of = |ix: usize| part(folder.path(), &pass, &Site { key: Some(&keys[ix]), ..named(parts[ix].0) }, &parts[ix].1).unwrap();
    let first = [of(0), of(1)];
    let before = std::fs::read(&first[0]).unwrap();
    let Step::Waiting(missing) = run.next(&first, &[], &Silent).unwrap() else { panic!("west is missing") };
    assert_eq!(missing, ["west"]);
    let Step::Round(_) = run.next(&[], &missing, &Silent).unwrap() else { panic!("asked again") };
    // The same command again does not ask a third time, and a single site has nothing to hide behind.
    let Step::Waiting(_) = run.next(&[], &missing, &Silent).unwrap() else { panic!("two are missing") };
    let alone = run.next(&[], &["north".to_owned()], &Silent).unwrap_err().to_string();
    assert!(alone.contains("at least 2 sites"), "{alone}");
    assert!(run.next(&first, &[], &Silent).unwrap_err().to_string().contains("attempt 2"));
    let again = [of(0), of(1)];
    assert_ne!(std::fs::read(&again[0]).unwrap()[400..], before[400..]);
    let Step::Round(_) = run.next(&again, &[], &Silent).unwrap() else { panic!("the next round") };
    // The key of another site, and no key.
    let file = PassFile::read(&pass).unwrap();
    let wrong = Site { key: Some(&keys[1]), ..named("north") };
    assert!(answer(&file, &parts[0].1, &wrong).unwrap_err().to_string().contains("key"));
    assert!(answer(&file, &parts[0].1, &named("north")).unwrap_err().to_string().contains("masked"));
    let least = Site { key: Some(&keys[0]), policy: Policy { least_sites: 3, ..Policy::default() }, ..named("north") };
    assert!(answer(&file, &parts[0].1, &least).unwrap_err().to_string().contains("at least 3"));
}

#[cfg(feature = "dp")]
#[test]
fn a_private_run_spends_its_budget_once_and_finds_the_tree_of_many_rows() {
    use crate::privacy::Privacy;
    let truth = model(2);
    let data = Inference::new(&truth).sample(40_000, 5).unwrap();
    let parts = vec![("north", data.clone())];
    let folder = tempfile::tempdir().unwrap();
    let privacy = Privacy { rho: 1.0, delta: 1e-6, max_items: None, ranges: Default::default() };
    let run = RunOptions { privacy: Some(privacy), ..options(&data, &[]) };
    let (bytes, status) = finished(folder.path(), run.clone(), &parts, &[]);
    assert_eq!((status.rounds.len(), status.expected_rounds), (2, Some(2)));
    assert!((status.spent - 1.0).abs() < 1e-9);
    let path = folder.path().join("m.json");
    std::fs::write(&path, bytes).unwrap();
    let found = ModelFile::read(&path).unwrap().into_latent_tree().unwrap();
    assert!(crate::tree::same_structure(found.tree(), truth.tree()));
    let score = |model: &LatentTree| {
        Inference::new(model).score(&mut data.source(), &Silent, |_, _| Ok(())).unwrap().mean_log_likelihood()
    };
    let (of_truth, of_found) = (score(&truth), score(&found));
    assert!(of_found > of_truth - 0.02, "{of_truth} {of_found}");
    // The site's budget, and noise that is not drawn a second time.
    let folder = tempfile::tempdir().unwrap();
    let (_, step) = Federation::start(&folder.path().join("run"), run.clone(), &Silent).unwrap();
    let Step::Round(pass) = step else { panic!("a first round") };
    let file = PassFile::read(&pass).unwrap();
    let record = folder.path().join("north.json");
    let policy = Policy { rho: Some(0.9), ..Policy::default() };
    let site = Site { policy, record: Some(&record), ..named("north") };
    let first = answer(&file, &data, &site).unwrap();
    assert!((first.rho.unwrap() - 0.8).abs() < 1e-9 && first.clipped_rows == Some(0));
    let second = answer(&file, &data, &site).unwrap();
    assert_eq!((second.part == first.part, second.spent), (true, first.spent));
    let elsewhere = answer(&file, &data, &named("north")).unwrap();
    assert_ne!(elsewhere.part, first.part);
    let (_, step) = Federation::start(&folder.path().join("other"), run, &Silent).unwrap();
    let Step::Round(pass) = step else { panic!("a first round") };
    let message = answer(&PassFile::read(&pass).unwrap(), &data, &site).unwrap_err().to_string();
    assert!(message.contains("used up"), "{message}");
}
