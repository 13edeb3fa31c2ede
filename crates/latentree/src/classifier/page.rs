//! The page of a classifier: the labels assigned to rows, and the tree of each label.

use std::fmt::Write as _;

use super::{Classifier, Results};
use crate::report::{document, escaped, table, tree_text};

/// The page of a classifier as HTML, with a confusion matrix if there are results.
#[must_use]
pub fn classifier_page(classifier: &Classifier, results: Option<&Results>, title: &str) -> String {
    let mut body = String::new();
    let labels = classifier.labels();
    _ = writeln!(body, "<p>Labels of {}, by a model of each and Bayes' rule.</p>", escaped(classifier.target()));
    if let Some(results) = results.filter(|it| it.rows() > 0) {
        body.push_str("<h2>Confusion matrix</h2>\n");
        _ = writeln!(
            body,
            "<p>{:.2}% of {} rows have their true label. Rows: the true label; columns: the label that was found.</p>",
            100.0 * results.accuracy(),
            results.rows()
        );
        let header: Vec<&str> = std::iter::once("").chain(labels.iter().map(String::as_str)).chain(["found, %"]).collect();
        let row = |(ix, counts): (usize, &Vec<u64>)| {
            let share = 100.0 * counts[ix] as f64 / counts.iter().sum::<u64>().max(1) as f64;
            let counts = counts.iter().map(u64::to_string);
            std::iter::once(labels[ix].clone()).chain(counts).chain([format!("{share:.1}")]).collect::<Vec<String>>()
        };
        body.push_str(&table(&header, &results.confusion.iter().enumerate().map(row).collect::<Vec<_>>()));
    }
    body.push_str("<h2>Labels</h2>\n");
    let row = |((label, prior), model): ((&String, &f64), &crate::format::ModelFile)| {
        let tree = model.tree();
        vec![label.clone(), format!("{prior:.4}"), tree.n_observed().to_string(), tree.n_hidden().to_string()]
    };
    let rows: Vec<_> = labels.iter().zip(classifier.priors()).zip(classifier.models()).map(row).collect();
    body.push_str(&table(&["label", "prior", "columns", "hidden nodes"], &rows));
    for (label, model) in labels.iter().zip(classifier.models()) {
        _ = writeln!(body, "<h2>Tree of {}</h2>", escaped(label));
        body.push_str(&tree_text(model.tree()));
    }
    document(title, &body)
}
