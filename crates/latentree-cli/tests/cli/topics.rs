//! `topics` and text from end to end.

use crate::harness::Folder;

const WORDS: [&str; 2] = ["ball goal team coach match", "vote party law senate bill"];

/// A folder of letters on sport and politics, and the same as a table.
fn folder() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("letters")).unwrap();
    let mut table = String::from("post,day,text\n");
    for letter in 0..80_usize {
        let words: Vec<&str> = WORDS[letter % 2].split(' ').collect();
        let other: Vec<&str> = WORDS[(letter + 1) % 2].split(' ').collect();
        let mut text = vec!["the", "and", "of", "the"];
        text.extend((0..12).map(|ix| words[(letter * 7 + ix * ix + letter / 5) % 5]));
        text.push(other[letter % 5]);
        folder.write(&format!("letters/{letter:02}.txt"), text.join(" ").as_bytes());
        table.push_str(&format!("p{letter},{}-05-01,{}\n", 2000 + letter / 20, text.join(" ")));
    }
    folder.write("letters/photo.jpg", b"\xff\xd8\0\0\0\x10");
    folder.write("posts.csv", table.as_bytes());
    folder
}

#[test]
fn a_folder_of_letters_has_two_topics_by_every_model() {
    let folder = folder();
    for model in ["single-topic", "lda", "hierarchy", "tree"] {
        let k = if model == "tree" { "" } else { "-k 2" };
        let found = folder.json(&format!("topics letters --model {model} {k} --words 5 --documents d.csv -o m.json"));
        assert_eq!((found["documents"].as_u64(), found["words"].as_u64()), (Some(80), Some(10)), "{model}: {found}");
        let topics = found["topics"].as_array().unwrap();
        let is_pure = |topic: &serde_json::Value| {
            let words: Vec<&str> = topic["words"].as_array().unwrap().iter().filter_map(|it| it.as_str()).collect();
            words.len() == 5 && WORDS.iter().any(|own| words.iter().all(|word| own.split(' ').any(|it| it == *word)))
        };
        if model != "tree" {
            assert!(topics.len() == 2 && topics.iter().all(is_pure), "{model}: {found}");
            assert!(topics.iter().all(|topic| topic["npmi"].as_f64().is_some() && topic["c_v"].as_f64().is_some()));
            let documents = folder.text("d.csv");
            let topic = |line: &str| line.split(',').nth(1).unwrap().to_owned();
            let lines: Vec<&str> = documents.lines().skip(1).collect();
            assert!(lines[0].starts_with("00.txt,") && lines.len() == 80, "{documents}");
            assert!((0..80).all(|row| topic(lines[row]) == topic(lines[row % 2])), "{model}: {documents}");
        }
        let exported = folder.succeed("export m.json --format topics -o -");
        assert_eq!(exported.lines().count(), topics.len(), "{exported}");
        assert!(exported.lines().all(|line| !line.is_empty() && line.split(' ').all(|word| !word.is_empty())));
        let note = folder.run(&format!("topics letters --model {model} {k} -o m.json")).stderr;
        assert!(note.contains("photo.jpg") && !note.contains("hidden node") && !note.contains("warnings like these"), "{note}");
    }
}

#[test]
fn a_column_with_dates_gives_shares_over_time_and_ids() {
    let folder = folder();
    let found =
        folder.json("topics posts.csv --column text --id post --dates day --model single-topic -k 2 --documents d.csv -o m.json");
    let dates = found["dates"].as_array().unwrap();
    assert_eq!(dates.len(), 4);
    assert_eq!((dates[0]["date"].as_str(), dates[0]["documents"].as_u64()), (Some("2000-05-01"), Some(20)));
    assert!(dates.iter().all(|it| (it["shares"][0].as_f64().unwrap() - 0.5).abs() < 0.01));
    assert!(folder.text("d.csv").lines().nth(1).unwrap().starts_with("p0,2000-05-01,"));
}

#[test]
fn text_is_described_learned_and_scored_like_a_table() {
    let folder = folder();
    let described = folder.json("describe letters --text");
    assert_eq!((described["rows"].as_u64(), described["columns"].as_u64()), (Some(80), Some(10)));
    folder.succeed("learn letters --text --kind *=binary --structure clnj -o tree.json");
    folder.write("new.txt", b"A goal for the team");
    folder.succeed("infer tree.json new.txt --text -o states.csv");
    assert!(folder.text("states.csv").starts_with("document,"));
    assert!(folder.text("states.csv").lines().nth(1).unwrap().starts_with("new.txt,"));
    let scored = folder.json("score tree.json letters --text");
    assert_eq!(scored["rows"], 80);
    assert_eq!(scored["unseen"]["labels"].as_array().map(Vec::len), Some(0), "{scored}");
    for (arguments, part) in [
        ("score tree.json new.txt --text --unseen error", "1 word is unknown to the model: \"for\""),
        ("learn letters -o m.json", "add --text"),
    ] {
        folder.write("new.txt", b"goal for team");
        let outcome = folder.run(arguments);
        assert!(outcome.code == Some(2) && outcome.stderr.contains(part), "{arguments}: {}", outcome.stderr);
    }
    for (text, notes) in [
        (&b""[..], vec!["1 of 1 document has none of the words; it is a row of zeros"]),
        (b"nothing known", vec!["1 of 1 document has none of the words", "100% of the words"]),
    ] {
        folder.write("new.txt", text);
        let outcome = folder.run("infer tree.json new.txt --text -o states.csv");
        assert_eq!((outcome.code, folder.text("states.csv").lines().count()), (Some(0), 2), "{}", outcome.stderr);
        notes.iter().for_each(|note| assert!(outcome.stderr.contains(note), "{note}: {}", outcome.stderr));
    }
    let outcome = folder.run("score tree.json letters --text --min-df 3");
    assert!(outcome.stderr.contains("--min-df has no effect here: the model determines the columns"), "{}", outcome.stderr);
    // The same run again gives the same bytes, with any number of threads.
    folder.succeed("topics letters --model single-topic -k 2 --threads 1 -o a.json");
    folder.succeed("topics letters --model single-topic -k 2 --threads 3 -o b.json");
    assert_eq!(folder.read("a.json"), folder.read("b.json"));
}

#[test]
fn documents_of_the_same_name_are_told_apart() {
    let folder = folder();
    for (path, text) in [
        ("a/x.txt", "red wine bread"),
        ("b/x.txt", "red fish bread"),
        ("c.txt", "# I\nred wine wine bread\n# I\nfish fish bread\n# I\nred wine\n"),
    ] {
        std::fs::create_dir_all(folder.path(path).parent().unwrap()).unwrap();
        folder.write(path, text.as_bytes());
    }
    let labels = |data: &str| {
        let outcome = folder.run(&format!("mixture {data} -k 1 --labels l.csv -o m.json"));
        let note = outcome.stderr.clone();
        outcome.success(data);
        (folder.text("l.csv").lines().skip(1).map(|line| line.split(',').next().unwrap().to_owned()).collect::<Vec<_>>(), note)
    };
    let (names, note) = labels("c.txt --text --split ^# --min-df 1 --stop none");
    assert_eq!(names, ["# I", "# I (2)", "# I (3)"]);
    assert!(note.contains("3 documents share their names") && note.contains("\"# I (2)\""), "{note}");
    folder.succeed("topics a b letters --model lda -k 2 --documents d.csv -o m.json");
    let documents = folder.text("d.csv");
    assert!(
        documents.contains("\na/x.txt,") && documents.contains("\nb/x.txt,") && documents.contains("\n00.txt,"),
        "{documents}"
    );
}

#[test]
fn a_hierarchy_over_time_has_a_column_for_each_leaf_and_lists_children_below_their_parent() {
    let folder = folder();
    let command = "topics posts.csv --column text --dates day --model hierarchy -k 3 -o m.json";
    let found = folder.json(command);
    let names: Vec<&str> = found["topics"].as_array().unwrap().iter().map(|topic| topic["name"].as_str().unwrap()).collect();
    let is_leaf = |name: &&&str| !names.iter().any(|other| other.starts_with(&format!("{name}.")));
    let leaves: Vec<&str> = names.iter().filter(is_leaf).copied().collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!((&names, leaves.len()), (&sorted, 3));
    let printed = folder.succeed(command);
    assert!(printed.contains(&format!("3 topics in a hierarchy of {}", names.len())), "{printed}");
    let header = printed.lines().find(|line| line.starts_with("date")).unwrap();
    assert_eq!(header.split_whitespace().skip(2).collect::<Vec<_>>(), leaves, "{printed}");
}

/// Documents of four topics with disjoint vocabularies, and a word that belongs to none.
fn disjoint() -> Folder {
    let folder = Folder::new();
    let topics = ["apple pear plum fruit juice", "car bus train road truck", "law court judge crime", "goal match team coach"];
    let mut table = String::from("text\n");
    for document in 0..200_usize {
        // About one word in ten is missing, in an order that has nothing to do with the topics.
        let words = topics[document % 4].split(' ').enumerate();
        let words = words.filter(|(at, _)| (document / 4 * 7 + at * 3) % 11 != document % 5).map(|it| it.1);
        table.push_str(&format!("{} extra{}\n", words.collect::<Vec<_>>().join(" "), document % 3));
    }
    table.push_str("nothing else\nelse nothing\n");
    folder.write("texts.csv", table.as_bytes());
    folder
}

#[test]
fn topics_of_disjoint_vocabularies_are_found_and_none_is_listed_twice() {
    let folder = disjoint();
    let found = folder.json("topics texts.csv --column text --stop none --documents d.csv -o m.json");
    let topics = found["topics"].as_array().unwrap();
    let mut sets: Vec<Vec<&str>> = topics
        .iter()
        .map(|topic| {
            let mut words: Vec<&str> = topic["words"].as_array().unwrap().iter().filter_map(|it| it.as_str()).collect();
            words.sort_unstable();
            words
        })
        .collect();
    for expected in [
        &["apple", "fruit", "juice", "pear", "plum"][..],
        &["bus", "car", "road", "train", "truck"],
        &["court", "crime", "judge", "law"],
        &["coach", "goal", "match", "team"],
    ] {
        assert!(sets.iter().any(|words| words == expected), "{expected:?}: {found}");
    }
    let n = sets.len();
    sets.sort();
    sets.dedup();
    assert_eq!(sets.len(), n, "{found}");
    let model: serde_json::Value = serde_json::from_slice(&folder.read("m.json")).unwrap();
    assert!(topics.iter().all(|topic| model["nodes"].to_string().contains(&topic["node"].to_string())), "{found}");
}

#[test]
fn a_document_without_a_topic_has_an_empty_cell_and_a_note_counts_them() {
    let folder = disjoint();
    let outcome = folder.run("topics texts.csv --column text --stop none --min-df 3 -k 2 --documents d.csv -o m.json");
    let documents = folder.text("d.csv");
    let without = documents.lines().skip(1).filter(|line| line.split(',').nth(1) == Some("")).count();
    for line in documents.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let is_any = cells[3..].iter().any(|cell| cell.parse::<f64>().unwrap() >= 0.5);
        assert_eq!(is_any, !cells[1].is_empty(), "{line}");
    }
    let note = format!("{without} of 202 documents have no topic with a probability of at least one half");
    assert!(without > 0 && outcome.stderr.contains(&note), "{without}: {}", outcome.stderr);
}

#[test]
fn shares_of_lda_are_the_means_of_the_documents() {
    let folder = folder();
    let found = folder.json("topics letters --model lda -k 2 --documents d.csv -o m.json");
    let documents = folder.text("d.csv");
    for topic in 0..2 {
        let cells = documents.lines().skip(1).map(|line| line.split(',').nth(3 + topic).unwrap().parse::<f64>().unwrap());
        let mean = cells.sum::<f64>() / 80.0;
        assert!((found["topics"][topic]["share"].as_f64().unwrap() - mean).abs() < 1e-6, "{found}");
    }
}

#[test]
fn topics_that_cannot_be_are_refused_by_name() {
    let folder = folder();
    for (arguments, parts) in [
        ("letters --model hierarchy -k 1", ["--topics", "-k 2"]),
        ("posts.csv --events post,text", ["--events", "not events"]),
        ("letters --structure chow-liu", ["--structure chow-liu has no hidden variables", "another learner"]),
    ] {
        let outcome = folder.run(&format!("topics {arguments} -o x.json"));
        assert!(outcome.code == Some(2) || outcome.code == Some(1), "{arguments}: {:?}", outcome.code);
        assert!(parts.iter().all(|part| outcome.stderr.contains(part)), "{arguments}: {}", outcome.stderr);
    }
}
