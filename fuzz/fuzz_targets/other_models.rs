//! A file of topics or clusters from a stranger: an error, or a model that is the same after writing and reading, and that answers.
#![no_main]

use latentree::data::{Batch, Block, SparseRows};
use latentree::format::{OtherModel, clusters_to_text};
use latentree::Silent;
use latentree::report::{PageOptions, cluster_page};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(Some(model)) = OtherModel::read_from(bytes) else { return };
    let text = model.to_json_string().expect("what was read can be written");
    let again = OtherModel::read_from(text.as_bytes()).expect("what is written can be read").expect("it is of the same kind");
    assert_eq!(model, again);
    let rows = SparseRows { starts: vec![0, 0], columns: Vec::new(), values: None };
    let batch = Batch { first_row: 0, n_rows: 1, block: Block::Sparse(rows), weights: None };
    let page = cluster_page((&model).into(), None, &PageOptions::new("fuzz"), &Silent).expect("a model has a page");
    assert!(!page.contains("<svg/onload"));
    match model {
        OtherModel::Topics(topics) => {
            let sum: f64 = topics.shares(&batch, 0).iter().sum();
            assert!((sum - 1.0).abs() < 1e-6, "shares sum to {sum}");
        }
        OtherModel::Clusters(clusters) => {
            assert!(clusters.nodes()[clusters.assign(&batch)[0]].children.is_none());
            let _ = (clusters.tree(), clusters_to_text(&clusters));
        }
        _ => {}
    }
});
