//! Makes the clinic example: 5,000 made-up patients and 40 diagnoses, from a hand-written model of comorbidity.
//!
//! Twelve hidden conditions in two levels: three broad ones (cardiometabolic, ageing, mind) and nine under them, each with four
//! or five diagnoses. No number comes from real patients; they only have the right order of size.
//!
//! `cargo run --release --example clinic -- examples` writes `clinic.truth.json` and `clinic.csv`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use latentree::data::{BatchSource, Kind, Schema, TableWriter};
use latentree::inference::Inference;
use latentree::model::{Distribution, Domain, LatentTree, Provenance, Table};
use latentree::tree::Tree;

const PATIENTS: u64 = 5_000;
const MISSING: f64 = 0.03;
const SEED: u64 = 1;

/// A hidden condition: its name, its states, its parent, and a row of probabilities per state of the parent.
struct Condition {
    name: &'static str,
    states: &'static [&'static str],
    parent: Option<&'static str>,
    given: &'static [&'static [f64]],
}

const ABSENT_PRESENT: &[&str] = &["absent", "present"];
const NONE_MILD_SEVERE: &[&str] = &["none", "mild", "severe"];

const CONDITIONS: &[Condition] = &[
    Condition { name: "ageing", states: NONE_MILD_SEVERE, parent: None, given: &[&[0.45, 0.33, 0.22]] },
    Condition {
        name: "cardiometabolic",
        states: NONE_MILD_SEVERE,
        parent: Some("ageing"),
        given: &[&[0.80, 0.16, 0.04], &[0.30, 0.52, 0.18], &[0.10, 0.35, 0.55]],
    },
    Condition {
        name: "mind",
        states: ABSENT_PRESENT,
        parent: Some("ageing"),
        given: &[&[0.62, 0.38], &[0.76, 0.24], &[0.88, 0.12]],
    },
    Condition {
        name: "metabolic",
        states: ABSENT_PRESENT,
        parent: Some("cardiometabolic"),
        given: &[&[0.95, 0.05], &[0.50, 0.50], &[0.15, 0.85]],
    },
    Condition {
        name: "heart",
        states: NONE_MILD_SEVERE,
        parent: Some("cardiometabolic"),
        given: &[&[0.93, 0.06, 0.01], &[0.45, 0.45, 0.10], &[0.12, 0.38, 0.50]],
    },
    Condition {
        name: "kidney",
        states: ABSENT_PRESENT,
        parent: Some("cardiometabolic"),
        given: &[&[0.98, 0.02], &[0.85, 0.15], &[0.38, 0.62]],
    },
    Condition {
        name: "lungs",
        states: ABSENT_PRESENT,
        parent: Some("ageing"),
        given: &[&[0.94, 0.06], &[0.70, 0.30], &[0.42, 0.58]],
    },
    Condition {
        name: "joints",
        states: ABSENT_PRESENT,
        parent: Some("ageing"),
        given: &[&[0.95, 0.05], &[0.45, 0.55], &[0.15, 0.85]],
    },
    Condition {
        name: "brain",
        states: ABSENT_PRESENT,
        parent: Some("ageing"),
        given: &[&[0.99, 0.01], &[0.93, 0.07], &[0.50, 0.50]],
    },
    Condition { name: "mood", states: ABSENT_PRESENT, parent: Some("mind"), given: &[&[0.92, 0.08], &[0.20, 0.80]] },
    Condition { name: "addiction", states: ABSENT_PRESENT, parent: Some("mind"), given: &[&[0.97, 0.03], &[0.60, 0.40]] },
    Condition { name: "pain", states: ABSENT_PRESENT, parent: Some("mind"), given: &[&[0.90, 0.10], &[0.35, 0.65]] },
];

/// A diagnosis: its name, its condition, and its probability in each state of the condition.
type Diagnosis = (&'static str, &'static str, &'static [f64]);

const DIAGNOSES: &[Diagnosis] = &[
    ("type_2_diabetes", "metabolic", &[0.02, 0.62]),
    ("obesity", "metabolic", &[0.10, 0.65]),
    ("dyslipidaemia", "metabolic", &[0.12, 0.72]),
    ("diabetic_retinopathy", "metabolic", &[0.002, 0.16]),
    ("diabetic_neuropathy", "metabolic", &[0.003, 0.22]),
    ("hypertension", "heart", &[0.14, 0.66, 0.86]),
    ("coronary_heart_disease", "heart", &[0.01, 0.18, 0.70]),
    ("heart_failure", "heart", &[0.003, 0.05, 0.62]),
    ("atrial_fibrillation", "heart", &[0.01, 0.10, 0.46]),
    ("heart_valve_disease", "heart", &[0.01, 0.06, 0.30]),
    ("chronic_kidney_disease", "kidney", &[0.01, 0.78]),
    ("anaemia", "kidney", &[0.06, 0.52]),
    ("gout", "kidney", &[0.02, 0.24]),
    ("electrolyte_disorder", "kidney", &[0.04, 0.48]),
    ("copd", "lungs", &[0.01, 0.60]),
    ("asthma", "lungs", &[0.06, 0.34]),
    ("pneumonia", "lungs", &[0.03, 0.32]),
    ("lung_cancer", "lungs", &[0.002, 0.08]),
    ("sleep_apnoea", "lungs", &[0.04, 0.26]),
    ("osteoarthritis", "joints", &[0.05, 0.68]),
    ("osteoporosis", "joints", &[0.02, 0.36]),
    ("hip_fracture", "joints", &[0.003, 0.12]),
    ("back_pain", "joints", &[0.18, 0.58]),
    ("dementia", "brain", &[0.004, 0.56]),
    ("parkinson_disease", "brain", &[0.003, 0.16]),
    ("stroke", "brain", &[0.015, 0.34]),
    ("delirium", "brain", &[0.005, 0.40]),
    ("depression", "mood", &[0.05, 0.68]),
    ("anxiety", "mood", &[0.07, 0.62]),
    ("insomnia", "mood", &[0.08, 0.46]),
    ("bipolar_disorder", "mood", &[0.003, 0.12]),
    ("ptsd", "mood", &[0.008, 0.20]),
    ("alcohol_use_disorder", "addiction", &[0.02, 0.58]),
    ("opioid_use_disorder", "addiction", &[0.004, 0.36]),
    ("liver_disease", "addiction", &[0.02, 0.34]),
    ("hepatitis_c", "addiction", &[0.004, 0.24]),
    ("irritable_bowel", "pain", &[0.03, 0.40]),
    ("reflux", "pain", &[0.12, 0.50]),
    ("migraine", "pain", &[0.05, 0.42]),
    ("fibromyalgia", "pain", &[0.006, 0.32]),
];

fn model() -> Result<LatentTree, latentree::Error> {
    let mut tree = Tree::new();
    let mut schema = Schema::builder();
    for (name, _, _) in DIAGNOSES {
        tree.add_observed(*name)?;
        schema = schema.scalar(*name, Kind::binary());
    }
    for condition in CONDITIONS {
        let node = tree.add_hidden(condition.name)?;
        if let Some(parent) = condition.parent.and_then(|parent| tree.find(parent)) {
            tree.connect(parent, node, None)?;
        }
    }
    for (name, condition, _) in DIAGNOSES {
        if let (Some(condition), Some(node)) = (tree.find(condition), tree.find(name)) {
            tree.connect(condition, node, None)?;
        }
    }
    let root = tree.find("ageing").ok_or_else(|| latentree::Error::tree("the root is missing"))?;
    let mut builder = LatentTree::builder(Arc::new(schema.build()?), tree.clone()).root(root);
    for condition in CONDITIONS {
        if let Some(node) = tree.find(condition.name) {
            let labels = condition.states.iter().map(|&state| state.to_owned()).collect();
            let table = Table::new(condition.states.len(), condition.given.concat());
            builder = builder.hidden(node, Domain::Discrete { labels }).distribution(node, Distribution::Discrete(table));
        }
    }
    for (name, _, chances) in DIAGNOSES {
        if let Some(node) = tree.find(name) {
            let rows = chances.iter().flat_map(|&chance| [1.0 - chance, chance]).collect();
            builder = builder.distribution(node, Distribution::Discrete(Table::new(2, rows)));
        }
    }
    let provenance = Provenance::by_this_program(SEED).option("example", "clinic, hand-written; no real patients");
    builder.provenance(provenance).build()
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(std::env::args().nth(1).ok_or("usage: clinic DIRECTORY")?);
    Ok(write(&directory)?)
}

/// Writes both files into a directory.
pub(crate) fn write(directory: &Path) -> Result<(), latentree::Error> {
    let model = model()?;
    model.write(directory.join("clinic.truth.json"))?;
    let inference = Inference::new(&model);
    let mut patients = inference.sampler(PATIENTS, SEED).missing(MISSING);
    let mut writer = TableWriter::create(&directory.join("clinic.csv"), patients.schema(), None)?;
    while let Some(batch) = patients.next_batch()? {
        writer.write_batch(&batch)?;
    }
    writer.finish()
}
