//! Choosing models: validation rows, criteria, candidates, checkpoints, and what is said about a model.

use serde_json::{Value, json};

use crate::harness::Folder;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

/// A folder with discrete rows to learn from and others of the same model to validate on.
fn rows(hidden_states: usize) -> Folder {
    let folder = Folder::new();
    folder.succeed(&format!(
        "simulate --shape double-star --observed 10 --family categorical --hidden-states {hidden_states} --separation 0.7 --model truth.json --data d.csv --rows 1500"
    ));
    folder.succeed("sample truth.json --rows 800 --seed 9 -o v.csv");
    folder
}

#[test]
fn validation_rows_stop_em_and_their_score_is_told() {
    let folder = rows(2);
    let json = folder.json("learn d.csv --structure clnj --parameters em --hidden-states 4 --validation v.csv -o m.json");
    assert_eq!(json["validation_rows"], 800);
    let score = folder.json("score m.json v.csv");
    assert!((number(&score["mean_log_likelihood"]) - number(&json["validation_mean_log_likelihood"])).abs() < 1e-9);
    let json = folder.json("learn d.csv --structure clnj --parameters em --validation 0.2 -o f.json");
    let drawn = number(&json["validation_rows"]);
    assert!((200.0..400.0).contains(&drawn) && number(&json["rows"]) + drawn == 1500.0, "{json}");
}

#[test]
fn the_best_candidate_on_validation_rows_is_chosen_the_same_at_any_number_of_threads() {
    let folder = rows(3);
    let json = folder.json("learn d.csv --select validation --validation v.csv -o m.json --threads 1");
    let candidates = json["candidates"].as_array().expect("candidates");
    assert!(candidates.len() >= 4, "{json}");
    let best = candidates.iter().map(|it| number(&it["validation"])).fold(f64::NEG_INFINITY, f64::max);
    assert!((best - number(&json["validation_mean_log_likelihood"])).abs() < 1e-9, "{json}");
    assert_eq!((&json["select"], &json["structure"]), (&json!("validation"), &json!("search")));
    folder.succeed("learn d.csv --select validation --validation v.csv -o two.json --threads 3");
    assert_eq!(folder.text("m.json"), folder.text("two.json"));
    // A tree and a number of states that are asked for are kept.
    let json = folder.json("learn d.csv --structure hclt --hidden-states 3 --select validation --validation v.csv -o k.json");
    assert_eq!(json["structure"], "hclt");
    assert!(json["candidates"].as_array().is_some_and(|all| all.iter().all(|it| it["hidden_states"] == 3)), "{json}");
}

#[test]
fn a_search_by_bic_is_no_worse_than_the_truth_or_the_default_and_the_same_at_any_number_of_threads() {
    let folder = rows(3);
    let plain = folder.json("learn d.csv -o plain.json");
    let truth = folder.json("score truth.json d.csv");
    let json = folder.json("learn d.csv --select bic --restarts 2 -o m.json --threads 1");
    assert!(number(&json["bic"]) >= number(&plain["bic"]).max(number(&truth["bic"])) - 10.0, "{json} {plain} {truth}");
    folder.succeed("learn d.csv --select bic --restarts 2 -o two.json --threads 2");
    assert_eq!(folder.text("m.json"), folder.text("two.json"));
    // Numbers of states alone, on a tree that is kept; auto without validation rows is BIC.
    let kept = folder.json("learn d.csv --structure clnj --hidden-states auto -o k.json");
    assert_eq!((&kept["select"], &kept["structure"]), (&json!("bic"), &json!("clnj")));
    let two = folder.json("learn d.csv --structure clnj -o c.json");
    assert!(number(&kept["bic"]) >= number(&two["bic"]) - 1.0, "{kept} {two}");
}

#[test]
fn candidates_are_listed_and_a_person_takes_some_of_them() {
    let folder = rows(2);
    let all = folder.json("learn d.csv --candidates");
    let list = all["candidates"].as_array().expect("candidates");
    assert!(!list.is_empty());
    assert!(folder.succeed("learn d.csv --candidates --structure clrg").contains("BIC gain"));
    let gaining = list.iter().filter(|it| number(&it["bic_gain"]) > 0.0).count();
    let by_rule = folder.json("learn d.csv --structure reg-clnj -o r.json");
    assert_eq!(by_rule["structure"], "reg-clnj");
    assert_eq!(number(&by_rule["hidden"]) > 0.0, gaining > 0, "{by_rule} {all}");
    let with_hidden = |it: &&Value| it["hidden"].as_array().is_some_and(|hidden| !hidden.is_empty());
    if let Some(first) = list.iter().find(with_hidden).and_then(|it| it["leader"].as_str()) {
        let one = folder.json(&format!("learn d.csv --structure reg-clnj --accept {first} -o one.json"));
        assert!(number(&one["hidden"]) >= 1.0, "{one}");
    }
    let chosen = folder.json("learn d.csv --structure reg-clrg -o g.json");
    assert!(
        number(&chosen["bic"]) >= number(&folder.json("learn d.csv --structure chow-liu -o cl.json")["bic"]) - 20.0,
        "{chosen}"
    );
}

#[test]
fn a_run_that_goes_on_from_a_checkpoint_has_the_bytes_of_one_never_interrupted() {
    let folder = rows(3);
    for how in [
        "em --start lcm",
        "em --start random --restarts 3",
        "moments+em --validation v.csv",
        "auto --select bic --restarts 2",
        "em --select validation --validation 0.2 --seed 7",
    ] {
        let learn =
            |rest: &str| format!("learn d.csv --structure clnj --hidden-states 3 --parameters {how} --em-iterations 45 {rest}");
        folder.succeed(&learn("-o plain.json"));
        let directory = how.split_whitespace().last().expect("a word");
        let directory = format!("state-{directory}");
        folder.succeed(&learn(&format!("-o first.json --checkpoint {directory}")));
        folder.succeed(&learn(&format!("-o second.json --checkpoint {directory} --threads 1")));
        assert_eq!(folder.text("plain.json"), folder.text("first.json"), "{how}");
        assert_eq!(folder.text("plain.json"), folder.text("second.json"), "{how}");
    }
    let other = folder.run("learn d.csv --structure clnj --hidden-states 2 --parameters em --checkpoint state-lcm -o o.json");
    assert!(other.code == Some(2) && other.stderr.contains("another run"), "{other:?}");
}

#[test]
fn a_model_is_described_with_its_fit_its_hidden_variables_and_what_it_does_not_explain() {
    let folder = rows(2);
    folder.succeed("learn d.csv --structure chow-liu -o m.json");
    folder.succeed("learn d.csv --structure clnj -o h.json");
    let alone = folder.json("describe h.json");
    assert!(alone["fit"].is_null() && number(&alone["free_parameters"]) > 0.0, "{alone}");
    let json = folder.json("describe h.json d.csv");
    let score = folder.json("score h.json d.csv");
    assert_eq!(json["fit"]["log_likelihood"], score["log_likelihood"]);
    assert!((number(&json["fit"]["aic"]) - number(&score["log_likelihood"]) + number(&score["free_parameters"])).abs() < 1e-6);
    let hidden = json["hidden_variables"].as_array().expect("hidden variables");
    assert_eq!(Value::from(hidden.len()), json["hidden"]);
    for variable in hidden {
        assert!((0.0..=std::f64::consts::LN_2 + 1e-12).contains(&number(&variable["entropy"])));
        let sum: f64 = variable["probabilities"].as_array().expect("probabilities").iter().map(number).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        assert!(!variable["profile"].as_array().expect("a profile").is_empty());
    }
    // The hidden tree leaves less unexplained than the Chow–Liu tree.
    let worst = |model: &str| number(&folder.json(&format!("describe {model} d.csv"))["unexplained_pairs"][0]["nats"]);
    assert!(worst("h.json") < worst("m.json"), "{} {}", worst("h.json"), worst("m.json"));
    let human = folder.succeed("describe h.json d.csv");
    assert!(
        human.contains("pairs that a table of the two alone would fit better")
            && human.contains("entropy")
            && human.contains("AIC"),
        "{human}"
    );
}

#[test]
fn rows_that_are_all_the_same_and_hidden_states_that_die_are_told_and_kept() {
    let folder = Folder::new();
    folder.write("same.csv", format!("a,b,c,d\n{}", "1,0,1,0\n".repeat(60)).as_bytes());
    for options in ["", "--structure hclt", "--structure clnj --parameters em", "--validation 0.2 --parameters em"] {
        let outcome = folder.run(&format!("learn same.csv --kind *=categorical -o m.json {options}"));
        assert!(matches!(outcome.code, Some(0 | 2)), "{options}: {outcome:?}");
    }
    for select in ["--select bic", "--select validation --validation 0.2"] {
        let outcome = folder.run(&format!("learn same.csv --kind *=categorical -o m.json {select}"));
        assert!(matches!(outcome.code, Some(0 | 2)), "{select}: {outcome:?}");
    }
    // Two kinds of rows leave most of six states without rows.
    folder.write("two.csv", format!("a,b,c\n{}{}", "1,1,1\n".repeat(40), "0,0,0\n".repeat(40)).as_bytes());
    folder.write("star.nwk", b"(a,b,c)h1;");
    let json = folder.json("learn two.csv --tree star.nwk --hidden-states 6 --parameters em --em-smoothing 0 -o m.json");
    let says = |it: &Value| it.as_str().is_some_and(|it| it.contains("hardly any row"));
    let states = json["hidden_variables"][0]["states"].as_array().map(Vec::len);
    assert_eq!(states, Some(6), "{json}");
    assert!(
        json["warnings"].as_array().is_some_and(|all| all.iter().any(says)) || number(&json["log_likelihood"]) < 0.0,
        "{json}"
    );
}

#[test]
fn a_run_is_repeated_from_its_model() {
    let folder = rows(3);
    let options = "--structure clrg --hidden-states 3 --em-smoothing 0.5 --contract 0.85 --seed 5 --kind x1=categorical";
    folder.succeed(&format!("learn d.csv {options} --em-iterations 7 -o first.json"));
    folder.succeed("learn --from first.json d.csv -o second.json");
    assert_eq!(folder.text("first.json"), folder.text("second.json"));
    // What is given overrides it.
    folder.succeed(&format!("learn d.csv {options} --em-iterations 9 -o nine.json"));
    folder.succeed("learn --from first.json d.csv --em-iterations 9 -o again.json");
    assert_eq!(folder.text("nine.json"), folder.text("again.json"));
    // A given tree is the model's.
    folder.succeed("export first.json --format newick -o t.nwk");
    folder.succeed("learn d.csv --tree t.nwk --em-iterations 5 -o given.json");
    folder.succeed("learn --from given.json d.csv -o given2.json");
    assert_eq!(folder.text("given.json"), folder.text("given2.json"));
    folder.succeed("learn --from given.json d.csv --structure nj -o nj.json");
    assert!(folder.text("nj.json").contains("\"structure\": \"nj\"") || folder.text("nj.json").contains("\"structure\":\"nj\""));
    assert_eq!(folder.run("learn d.csv --tree t.nwk --structure nj -o o.json").code, Some(2));
    // Rows to validate on are not in the model.
    folder.succeed("learn d.csv --validation v.csv -o held.json");
    let refused = folder.run("learn --from held.json d.csv -o o.json");
    assert!(refused.code == Some(2) && refused.stderr.contains("--validation"), "{refused:?}");
    folder.succeed("learn --from held.json d.csv --validation v.csv -o held2.json");
    assert_eq!(folder.text("held.json"), folder.text("held2.json"));
    // Models of others do not say how they were learned, and unknown options fail here only.
    let text = folder.text("first.json").replacen("\"em\":{", "\"em\":{\"speed\":3,", 1);
    let text: String = text.lines().filter(|line| !line.contains("\"checksum\"")).map(|line| format!("{line}\n")).collect();
    assert!(text.contains("\"speed\""));
    folder.write("odd.json", text.as_bytes());
    folder.succeed("score odd.json d.csv");
    let refused = folder.run("learn --from odd.json d.csv -o o.json");
    assert!(refused.code == Some(2) && refused.stderr.contains("--from") && refused.stderr.contains("speed"), "{refused:?}");
}

#[test]
fn tables_without_a_tree_in_them_give_a_model_and_a_note() {
    let folder = Folder::new();
    // Rows of three independent coins, by the bits of a counter: every combination is as frequent as every other.
    let coins = |row: usize| [row & 1, (row >> 1) & 1, (row >> 2) & 1];
    let table = |cells: &dyn Fn(usize) -> Vec<String>| {
        let rows: Vec<String> = (0..160).map(|row| cells(row).join(",")).collect();
        let header: Vec<String> = (1..=cells(0).len()).map(|ix| format!("c{ix}")).collect();
        format!("{}\n{}\n", header.join(","), rows.join("\n"))
    };
    folder.write("independent.csv", table(&|row| coins(row).map(|it| it.to_string()).to_vec()).as_bytes());
    folder.write("alike.csv", table(&|row| vec![coins(row)[0].to_string(); 4]).as_bytes());
    folder.write("constant.csv", table(&|_| ["1", "x", "5", "2.5"].map(str::to_owned).to_vec()).as_bytes());
    folder.write("two.csv", table(&|row| coins(row)[..2].iter().map(usize::to_string).collect()).as_bytes());
    folder.write("row.csv", b"a,b,c,d\n1,0,1,0\n");
    let says = |json: &Value, part: &str| {
        let has =
            json["warnings"].as_array().is_some_and(|all| all.iter().any(|it| it.as_str().is_some_and(|it| it.contains(part))));
        assert!(has, "{part:?}: {json}");
    };
    let json = folder.json("learn independent.csv -o m.json");
    assert_eq!((&json["hidden"], &json["trees"]), (&json!(0), &json!(3)), "{json}");
    says(&json, "3 separate trees");
    // The log-likelihood of a fair coin in four equal columns, less 0.1 nats for each of six table rows: what a pseudo-count of 0.1 costs.
    let json = folder.json("learn alike.csv -o m.json");
    assert!((number(&json["log_likelihood"]) + 160.0 * std::f64::consts::LN_2).abs() < 0.65, "{json}");
    assert_eq!(json["trees"], json!(1), "{json}");
    says(&json, "columns with the same content in every row");
    let json = folder.json("learn constant.csv -o m.json");
    assert_eq!(json["hidden"], 0);
    says(&json, "4 columns have the same value in all rows");
    let json = folder.json("learn two.csv -o m.json");
    assert_eq!(json["hidden"], 0);
    says(&json, "hidden variables need three variables or more, and there are only 2");
    let json = folder.json("learn row.csv -o m.json");
    assert_eq!(json["rows"], 1);
    says(&json, "there is only 1 row");
    folder.succeed("score m.json row.csv");
}

#[test]
fn what_prevents_a_search_is_told() {
    let folder = rows(2);
    folder.succeed("moments d.csv -o d.moments");
    folder.succeed("distances d.csv -o distances.csv");
    for learn in ["learn d.moments", "learn --distances distances.csv", "learn d.csv --parameters moments"] {
        let json = folder.json(&format!("{learn} -o m.json"));
        let told = json["warnings"].to_string();
        assert!(told.contains("no search was done"), "{learn}: {told}");
    }
    for learn in ["learn d.moments --structure nj", "learn d.csv --parameters moments --effort quick", "learn d.csv"] {
        let json = folder.json(&format!("{learn} -o m.json"));
        assert!(!json["warnings"].to_string().contains("no search"), "{learn}: {json}");
    }
}

#[test]
fn a_repeated_run_forgets_what_is_reset_and_asks_for_files_that_are_gone() {
    let folder = rows(2);
    folder.succeed("learn d.csv --structure clnj --hidden-states 3 --kind x1=categorical --em-iterations 7 -o first.json");
    folder.succeed("learn d.csv --structure clnj --em-iterations 7 -o plain.json");
    folder.succeed("learn --from first.json --reset hidden-states,kind d.csv -o again.json");
    assert_eq!(folder.text("again.json"), folder.text("plain.json"));
    let refused = folder.run("learn --from first.json --reset colour d.csv -o m.json");
    assert!(refused.code == Some(2) && refused.stderr.contains("\"colour\""), "{refused:?}");
    let refused = folder.run("learn d.csv --reset structure -o m.json");
    assert!(refused.code == Some(2) && refused.stderr.contains("--from"), "{refused:?}");
    folder.write("groups.csv", b"item,group\nx1,g\nx2,g\n");
    folder.succeed("learn d.csv --structure clnj --group groups.csv -o grouped.json");
    std::fs::remove_file(folder.path("groups.csv")).expect("it can be removed");
    let refused = folder.run("learn --from grouped.json d.csv -o m.json");
    for part in ["--from", "--group groups.csv", "does not exist", "--reset group"] {
        assert!(refused.code == Some(2) && refused.stderr.contains(part), "{part}: {refused:?}");
    }
    folder.succeed("learn --from grouped.json --reset group d.csv -o m.json");
}
