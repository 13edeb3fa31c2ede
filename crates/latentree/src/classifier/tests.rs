use std::sync::Arc;

use super::{Classifier, best};
use crate::Silent;
use crate::data::{Batch, Block, ColumnData, Dataset, Kind, MISSING_CODE8, Schema};
use crate::format::ModelFile;
use crate::inference::Inference;
use crate::learn::{Learning, ParameterMethod};
use crate::simulate::{ParameterFamily, Shape, Simulation};
use crate::structure::LearnerName;

/// Rows of three models with the number of the model as a column, which is missing in some rows.
fn rows(n: usize) -> (Dataset, Vec<crate::LatentTree>) {
    let family = ParameterFamily::Categorical { states: 4, hidden_states: 2, separation: 0.6 };
    let models: Vec<_> = (0..3).map(|seed| Simulation::new(Shape::Star, 6).family(family).seed(seed).model().unwrap()).collect();
    let mut schema = Schema::builder();
    for ix in 0..6 {
        schema = schema.scalar(format!("x{}", ix + 1), Kind::numbered(4));
    }
    let labels = ["a", "b", "c", "never"].map(str::to_owned).to_vec();
    let schema = Arc::new(schema.scalar("class", Kind::Categorical { labels }).build().unwrap());
    let mut batches = Vec::new();
    for (class, model) in models.iter().enumerate() {
        let drawn = Inference::new(model).sample(n as u64, 9).unwrap();
        let Block::Dense(columns) = &drawn.batches()[0].block else { panic!("rows are dense") };
        let mut columns = columns.clone();
        columns.push(ColumnData::Codes8((0..n).map(|row| if row % 50 == 0 { MISSING_CODE8 } else { class as u8 }).collect()));
        batches.push(Batch { first_row: 0, n_rows: n, block: Block::Dense(columns), weights: None });
    }
    (Dataset::new(schema, batches), models)
}

#[test]
fn labels_are_found_about_as_well_as_by_the_true_models() {
    let (rows, truth) = rows(1000);
    let true_models = truth.into_iter().map(ModelFile::from).collect();
    let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    let exact = Classifier::new("class".to_owned(), names.clone(), vec![1.0 / 3.0; 3], true_models).unwrap();
    let by_truth = exact.evaluate(&rows, None).unwrap();
    for method in [ParameterMethod::Spectral, ParameterMethod::Hierarchical, ParameterMethod::MomentsAndEm] {
        let learning = Learning::new().structure(LearnerName::Chain).parameters(method).hidden_states(Some(2));
        let learned = Classifier::learn(&rows, "class", &learning, &Silent).unwrap();
        assert_eq!((learned.classifier.labels(), learned.dropped), (names.as_slice(), 60));
        assert_eq!(learned.rows, [980; 3]);
        let results = learned.classifier.evaluate(&rows, None).unwrap();
        assert_eq!(results.rows(), 2940);
        assert!(results.accuracy() > by_truth.accuracy() - 0.03, "{method:?}: {} {}", results.accuracy(), by_truth.accuracy());
        let text = learned.classifier.to_json_string().unwrap();
        assert_eq!(Classifier::read_from(text.as_bytes()).unwrap(), learned.classifier);
        assert!(Classifier::read_from(text.replacen("\"priors\":[0.3", "\"priors\":[0.4", 1).as_bytes()).is_err());
        // A prior on a single label selects that label.
        let classifying = learned.classifier.classifying(Some(&[0.0, 1.0, 0.0])).unwrap();
        let chances = classifying.probabilities(&super::without_column(&rows.batches()[0], crate::ColIx::new(6))).unwrap();
        assert!(chances.chunks(3).all(|row| best(row) == 1 && (row[1] - 1.0).abs() < 1e-12));
    }
}

#[test]
fn folds_hold_every_row_once_and_have_about_the_accuracy_of_new_rows() {
    let (rows, truth) = rows(300);
    let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    let exact =
        Classifier::new("class".to_owned(), names, vec![1.0 / 3.0; 3], truth.into_iter().map(ModelFile::from).collect()).unwrap();
    let by_truth = exact.evaluate(&rows, None).unwrap().accuracy();
    let learning = Learning::new().structure(LearnerName::Chain).parameters(ParameterMethod::Spectral).hidden_states(Some(2));
    let folds = Classifier::cross_validate(&rows, "class", 5, &learning, &Silent).unwrap();
    assert_eq!(folds.iter().map(|fold| fold.results.rows()).sum::<u64>(), 882);
    let mean = folds.iter().map(|fold| fold.results.accuracy()).sum::<f64>() / 5.0;
    // For 882 rows, three standard errors are 0.05.
    assert!(mean > by_truth - 0.1 && mean < by_truth + 0.05, "{mean} {by_truth}");
    assert!(
        Classifier::cross_validate(&rows, "class", 400, &learning, &Silent).unwrap_err().to_string().contains("fewer than 400")
    );
    assert!(Classifier::cross_validate(&rows, "x9", 5, &learning, &Silent).unwrap_err().to_string().contains("x9"));
}

#[test]
fn warnings_name_the_label_whose_model_they_are_about() {
    struct Heard(std::sync::Mutex<Vec<String>>);
    impl crate::Observer for Heard {
        fn warn(&self, message: &str) {
            self.0.lock().unwrap().push(message.to_owned());
        }
    }
    let (rows, _) = rows(200);
    // Columns with four labels do not have nine dimensions.
    let learning = Learning::new().structure(LearnerName::Chain).parameters(ParameterMethod::Spectral).hidden_states(Some(9));
    let heard = Heard(std::sync::Mutex::new(Vec::new()));
    Classifier::learn(&rows, "class", &learning, &heard).unwrap();
    let heard = heard.0.into_inner().unwrap();
    for label in ["a", "b", "c"] {
        let begin = format!("label {label:?}: ");
        assert!(heard.iter().any(|it| it.starts_with(&begin) && it.contains("fewer dimensions")), "{heard:?}");
    }
    assert!(heard.iter().all(|it| it.starts_with("label ")), "{heard:?}");
}
