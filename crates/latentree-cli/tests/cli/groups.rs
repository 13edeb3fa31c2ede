//! Columns joined by a file of groups.

use crate::harness::{Folder, gzip};

#[test]
fn the_columns_of_a_file_of_groups_can_be_named_and_what_does_not_fit_is_told() {
    let folder = Folder::new();
    let mut events = "patient,icd\n".to_owned();
    for patient in 0..60 {
        for (code, step) in [("401.1", 2), ("401.9", 3), ("41", 4), ("V10", 5), ("250", 2)] {
            if patient % step == 0 {
                events += &format!("{patient},{code}\n");
            }
        }
    }
    folder.write("events.csv", events.as_bytes());
    let map = "vocabulary_id,code,phecode\nICD9CM,401.1,401\nICD9CM,401.9,401\nICD9CM,250,250\nICD9CM,041,041\nICD9CM,001,008\nICD10CM,250,9\n";
    folder.write("map.csv.gz", &gzip(map.as_bytes()));
    let outcome = folder.run("describe events.csv --events patient,icd --group map.csv.gz:code,phecode --json");
    let (notes, json) = (outcome.stderr.clone(), outcome.success("describe"));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let variables: Vec<(&str, &str)> = json["variables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["name"].as_str().unwrap(), it["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(variables.len(), 4, "{variables:?}");
    assert!(variables.contains(&("401", "group")) && variables.contains(&("V10", "binary")), "{variables:?}");
    for part in [
        "2 of its 5 items are not in the data",
        "2 of the data's 5 columns have no group and stay single variables: \"41\", \"V10\"",
        "1 of them would be found with leading zeros, such as \"41\" as \"041\"",
        "1 of the data's columns are in several groups",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    // Three columns, of which none is called item or group.
    let outcome = folder.run("describe events.csv --events patient,icd --group map.csv.gz");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("map.csv.gz:vocabulary_id,code"), "{}", outcome.stderr);
    let outcome = folder.run("describe events.csv --events patient,icd --group map.csv.gz:code,phenotype");
    assert!(outcome.code == Some(2) && outcome.stderr.contains("\"phenotype\""), "{}", outcome.stderr);
}
