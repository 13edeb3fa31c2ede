use std::sync::Arc;

use serde_json::Value;

use super::*;
use crate::clusters::{ClusterOptions, Extent, fit_clusters};
use crate::data::{ColumnData, Dataset};
use crate::mixture::{MixtureFamily, MixtureModel, MixtureOptions, NumberOfComponents, fit_mixture};
use crate::observer::Silent;

/// Documents about two topics, with names that look like markup.
fn documents(n: usize) -> Dataset {
    let mut builder = Schema::builder();
    for ix in 0..6 {
        builder = builder.scalar(format!("<svg/onload=alert({ix})>"), Kind::Count);
    }
    let columns = (0..6).map(|ix| {
        let mut column = ColumnData::for_kind(&Kind::Count, n);
        (0..n).for_each(|row| column.push_number(if (row % 2 == 0) == (ix < 3) { 3.0 + (row * 7 % 5) as f64 } else { 0.0 }));
        column
    });
    Dataset::from_columns(Arc::new(builder.build().unwrap()), columns.collect(), None).unwrap()
}

fn payload_of(page: &str) -> Value {
    let json = page.split_once("id=\"clusters-data\">").unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(json).unwrap()
}

fn mixture(data: &Dataset, family: MixtureFamily) -> MixtureModel {
    fit_mixture(data, &MixtureOptions::new(NumberOfComponents::Fixed(2)).family(family), &Silent).unwrap().model
}

#[test]
fn sizes_add_up_frequencies_are_those_of_the_rows_and_names_are_no_markup() {
    let data = documents(300);
    let hierarchy = fit_clusters(&data, &ClusterOptions::new(Extent::Leaves(2)), &Silent).unwrap().model;
    let (star, topics) = (mixture(&data, MixtureFamily::SingleTopic), mixture(&data, MixtureFamily::Lda));
    let MixtureModel::Star(star) = &star else { panic!() };
    let MixtureModel::Topics(topics) = &topics else { panic!() };
    assert!(Grouping::of_mixture(star).is_some());
    for model in [Grouping::Star(star), Grouping::Topics(topics), Grouping::Clusters(&hierarchy)] {
        let page = cluster_page(model, Some(&data), &PageOptions::new("<b>title"), &Silent).unwrap();
        assert!(!page.contains("<svg/onload") && !page.contains("<b>title"));
        let payload = payload_of(&page);
        let groups = payload["groups"].as_array().unwrap();
        let leaves: Vec<&Value> = groups.iter().filter(|group| group["children"].is_null()).collect();
        assert_eq!(leaves.iter().map(|group| group["size"].as_u64().unwrap()).sum::<u64>(), 300);
        for leaf in leaves {
            // All rows of a group have the three words of its topic, and so do half of all rows.
            let frequent = leaf["frequent"].as_array().unwrap();
            assert_eq!(frequent.len(), 3);
            assert!(frequent.iter().all(|it| it[1] == 1.0 && it[2] == 0.5), "{frequent:?}");
        }
        let sample = &payload["sample"];
        assert_eq!(sample["rows"].as_array().unwrap().len(), 300);
        assert!(sample["cells"].as_array().unwrap().iter().all(|cells| cells.as_str().unwrap().matches('9').count() == 3));
        let has_shares = matches!(model, Grouping::Topics(_));
        assert_eq!(sample["shares"].as_array().unwrap().len(), if has_shares { 300 } else { 0 });
    }
}

#[test]
fn large_tables_are_sampled_and_models_alone_have_a_page() {
    let data = documents(4500);
    let star = mixture(&data, MixtureFamily::Poisson);
    let MixtureModel::Star(star) = &star else { panic!() };
    let sampled = payload_of(&cluster_page(Grouping::Star(star), Some(&data), &PageOptions::new("t"), &Silent).unwrap());
    assert_eq!(sampled["sample"]["rows"].as_array().unwrap().len(), 1500);
    assert_eq!(sampled["rows"], 4500);
    let alone = payload_of(&cluster_page(Grouping::Star(star), None, &PageOptions::new("t"), &Silent).unwrap());
    assert!(alone["sample"].is_null());
    // The largest rates are those of the component's own three words.
    assert!(alone["groups"].as_array().unwrap().iter().all(|group| group["frequent"][0][1].as_f64().unwrap() > 4.0));
}

#[test]
fn numbers_are_shown_by_their_means() {
    let mut builder = Schema::builder();
    for name in ["x", "y"] {
        builder = builder.scalar(name, Kind::Continuous);
    }
    let noise = |row: usize, k: usize| (row * k % 11) as f64 / 11.0;
    let x = (0..200).map(|row| if row < 100 { -5.0 } else { 5.0 } + noise(row, 7)).collect();
    let y = (0..200).map(|row| noise(row, 5)).collect();
    let columns = vec![ColumnData::Reals(x), ColumnData::Reals(y)];
    let data = Dataset::from_columns(Arc::new(builder.build().unwrap()), columns, None).unwrap();
    let model = fit_clusters(&data, &ClusterOptions::new(Extent::Leaves(2)), &Silent).unwrap().model;
    let payload = payload_of(&cluster_page(Grouping::Clusters(&model), Some(&data), &PageOptions::new("t"), &Silent).unwrap());
    let leaf = &payload["groups"].as_array().unwrap()[1];
    assert!((leaf["frequent"][0][1].as_f64().unwrap().abs() - 5.0).abs() < 1.0, "{leaf}");
    assert_eq!(payload["features"][0]["isNumber"], true);
}
