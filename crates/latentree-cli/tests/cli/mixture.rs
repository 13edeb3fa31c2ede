//! `mixture` and `cluster` from end to end.

use crate::harness::Folder;

/// Documents of two topics in UCI's format: words 1 to 3 and words 4 to 6, with an empty document and one of two words.
fn documents() -> Vec<u8> {
    let mut cells = Vec::new();
    for document in 1..=60_u32 {
        let first = if document % 3 == 0 { 4 } else { 1 };
        match document {
            59 => {}
            60 => cells.push((60, 4, 2)),
            _ => (0..3).for_each(|word| cells.push((document, first + word, 1 + (document * 7 + word * 5) % 4))),
        }
        if document % 5 == 0 && document < 59 {
            cells.push((document, 7 - first, 1));
        }
    }
    cells.sort_unstable();
    let mut text = format!("60\n6\n{}\n", cells.len());
    cells.iter().for_each(|(document, word, count)| text.push_str(&format!("{document} {word} {count}\n")));
    text.into_bytes()
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("docword.a.txt", &documents());
    folder.write("vocab.txt", b"ball\ngoal\nteam\nvote\nparty\nlaw\n");
    let truth: String = (1..=60).map(|document| if document % 3 == 0 { "politics\n" } else { "sport\n" }).collect();
    folder.write("truth.txt", truth.as_bytes());
    folder
}

#[test]
fn a_damaged_digit_of_topics_or_clusters_is_noticed() {
    let folder = folder();
    folder.succeed("mixture docword.a.txt --names vocab.txt -k 2 --family lda -o lda.json");
    folder.succeed("cluster docword.a.txt --names vocab.txt --leaves 3 -o clusters.json");
    for model in ["lda.json", "clusters.json"] {
        let text = folder.text(model);
        assert!(text.contains("\"checksum\": \"fnv1a64:"), "{text}");
        let place = 1 + text.rfind(['3', '4', '5', '6']).unwrap();
        let damaged = format!("{}7{}", &text[..place - 1], &text[place..]);
        folder.write("damaged.json", damaged.as_bytes());
        let outcome = folder.run("infer damaged.json docword.a.txt --names vocab.txt -o out.csv");
        assert_eq!(outcome.code, Some(2), "{model}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("checksum"), "{model}: {}", outcome.stderr);
    }
}

#[test]
fn models_without_words_have_no_topics_and_unknown_numbers_are_told_of() {
    let folder = Folder::new();
    let row = |ix: usize| format!("{}.5,{},{}\n", 10 * (ix % 2) + ix % 3, 9 * (ix % 2) + ix % 4, ["no", "yes"][ix % 2]);
    folder.write("d.csv", format!("age,visits,ill\n{}", (0..60).map(row).collect::<String>()).as_bytes());
    folder.write(
        "n.csv",
        format!("a,b\n{}", (0..60).map(|ix| format!("{}.5,{}.25\n", ix % 7, ix % 5)).collect::<String>()).as_bytes(),
    );
    folder.succeed("mixture n.csv -k 2 -o n.json");
    let outcome = folder.run("export n.json --format topics -o t.txt");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("no words") && !folder.path("t.txt").exists(), "{}", outcome.stderr);
    folder.succeed("mixture d.csv --kind visits=count -k 2 --em -o m.json");
    let found = folder.json("query m.json --map");
    assert!(found["warnings"].to_string().contains("summed out"), "{found}");
    assert!(found["most_probable"]["visits"].is_number(), "{found}");
}

#[test]
fn topics_are_found_labelled_scored_and_asked() {
    let folder = folder();
    let found = folder.json(
        "mixture docword.a.txt --names vocab.txt -k 2 --family single-topic --em --truth truth.txt --stability 2 --labels labels.csv -o topics.json",
    );
    assert_eq!(found["rows"], 60);
    assert_eq!(found["sizes"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap()).sum::<u64>(), 60);
    // The empty document cannot be told.
    assert!(found["truth"]["adjusted_rand"].as_f64().unwrap() > 0.9, "{found}");
    assert!(found["stability"].as_f64().unwrap() > 0.8, "{found}");
    assert!(found["moment_error"].as_array().unwrap().len() == 2 && found["coherence"].as_array().unwrap().len() == 2);
    let warnings = found["warnings"].to_string();
    assert!(
        warnings.contains("2 of 60 documents have fewer than three words") && warnings.contains("1 document is empty"),
        "{warnings}"
    );
    let labels = folder.text("labels.csv");
    assert!(labels.starts_with("row,label\n1,") && labels.lines().count() == 61);
    let score = folder.json("score topics.json docword.a.txt --names vocab.txt");
    assert!((score["log_likelihood"].as_f64().unwrap() - found["log_likelihood"].as_f64().unwrap()).abs() < 1e-6);
    let given = |value: &serde_json::Value| value["log_likelihood_given_lengths"].as_f64().unwrap();
    assert!((given(&score) - given(&found)).abs() < 1e-6);
    let answer = folder.json("query topics.json --given vote=3,ball=0 --of h1");
    assert!(answer["marginals"]["h1"].as_object().unwrap().values().any(|it| it.as_f64().unwrap() > 0.9));
    folder.json("infer topics.json docword.a.txt --names vocab.txt -o posteriors.csv");
    assert!(folder.text("posteriors.csv").starts_with("row,h1=0,h1=1\n"));
    folder.succeed("report topics.json -o page.html");
    let again = folder.text("topics.json");
    folder.succeed("mixture docword.a.txt --names vocab.txt -k 2 --family single-topic --em -o topics2.json --threads 1");
    assert_eq!(again, folder.text("topics2.json"));
}

#[test]
fn mixed_documents_have_shares_and_a_bound() {
    let folder = folder();
    let found = folder.json("mixture docword.a.txt --names vocab.txt -k 2 --family lda --alpha auto -o lda.json");
    assert!(found["alpha"].as_f64().unwrap() > 0.0);
    folder.json("infer lda.json docword.a.txt --names vocab.txt -o shares.csv");
    let shares = folder.text("shares.csv");
    assert!(shares.starts_with("row,topic=0,topic=1\n") && shares.lines().count() == 61);
    for line in shares.lines().skip(1) {
        let sum: f64 = line.split(',').skip(1).map(|share| share.parse::<f64>().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{line}");
    }
    let score = folder.json("score lda.json docword.a.txt --names vocab.txt");
    assert!((score["log_likelihood"].as_f64().unwrap() - found["log_likelihood"].as_f64().unwrap()).abs() < 1e-6);
    for arguments in ["query lda.json --of h1", "export lda.json --format bif -o lda.bif", "sample lda.json --rows 3 -o rows.csv"]
    {
        let outcome = folder.run(arguments);
        assert_eq!(outcome.code, Some(2), "{arguments}");
        assert!(outcome.stderr.contains("topics"), "{arguments}: {}", outcome.stderr);
    }
}

#[test]
fn tables_with_missing_cells_are_clustered_by_views_and_em() {
    let folder = Folder::with_clinic();
    let found = folder.json("mixture clinic.csv -k 3 -o classes.json");
    assert_eq!(found["method"], "multi-view");
    assert!(found["warnings"].to_string().contains("cells are missing"), "{found}");
    assert_eq!(found["weights"].as_array().unwrap().len(), 3);
    folder.json("score classes.json clinic.csv");
}

#[test]
fn hierarchies_are_made_applied_to_new_rows_and_exported() {
    let folder = folder();
    let found = folder.json(
        "cluster docword.a.txt --names vocab.txt --leaves 2 --method sidiwo --family single-topic --truth truth.txt --labels leaves.csv -o tree.json",
    );
    assert_eq!((found["rows"].as_u64(), found["leaves"].as_u64()), (Some(60), Some(2)));
    assert!(found["truth"]["adjusted_rand"].as_f64().unwrap() > 0.9, "{found}");
    let clusters = found["clusters"].as_array().unwrap();
    assert_eq!(clusters[0]["name"], "1");
    assert_eq!(
        clusters[0]["size"].as_u64().unwrap(),
        clusters[1]["size"].as_u64().unwrap() + clusters[2]["size"].as_u64().unwrap()
    );
    folder.json("infer tree.json docword.a.txt --names vocab.txt -o again.csv");
    assert_eq!(folder.text("again.csv").replace("cluster", "label"), folder.text("leaves.csv"));
    for (format, file) in [("newick", "t.nwk"), ("dot", "t.dot"), ("text", "t.txt"), ("json", "t.json")] {
        folder.succeed(&format!("export tree.json --format {format} -o {file}"));
        assert!(folder.text(file).contains("1.2"), "{format}");
    }
    for method in ["", "--em", "--method sidiwo --em"] {
        let found = folder.json(&format!("cluster docword.a.txt --names vocab.txt --depth 3 {method} -o deep.json"));
        assert!(found["leaves"].as_u64().unwrap() <= 4);
    }
    folder.json("cluster docword.a.txt --names vocab.txt --leaves auto --min-size 5 -o auto.json");
    for arguments in ["score tree.json docword.a.txt", "query tree.json --of h1", "export tree.json --format bif -o t.bif"] {
        let outcome = folder.run(arguments);
        assert_eq!(outcome.code, Some(2), "{arguments}");
        assert!(outcome.stderr.contains("hierarchy"), "{arguments}: {}", outcome.stderr);
    }
    folder.succeed("report tree.json -o t.html");
}

#[test]
fn mixtures_topics_and_hierarchies_have_pages_of_groups() {
    let folder = folder();
    folder.json("mixture docword.a.txt --names vocab.txt -k 2 --family single-topic -o star.json");
    folder.json("mixture docword.a.txt --names vocab.txt -k 2 --family lda -o topics.json");
    folder.json("cluster docword.a.txt --names vocab.txt --leaves 2 --family single-topic -o tree.json");
    for model in ["star", "topics", "tree"] {
        folder.json(&format!("report {model}.json docword.a.txt --names vocab.txt -o {model}.html"));
        let page = folder.read(&format!("{model}.html"));
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains("id=\"clusters-data\"") && page.contains("\"goal\""), "{model}");
        folder.json(&format!("report {model}.json -o alone.html"));
    }
}
