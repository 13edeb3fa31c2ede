//! Claims and clinical data sets: roll-ups, descriptions, filters, MEDS and OMOP folders, reference hierarchies, linkages.

use latentree::data::{ResultWriter, Value};

use crate::harness::Folder;

/// 400 patients with two groups of codes: those of a group come together.
fn claims() -> Folder {
    let folder = Folder::new();
    let mut events = "patient,icd,day\n".to_owned();
    for patient in 0..400_u32 {
        // SplitMix64.
        let hash = |salt: u32| {
            let mut z = (u64::from(patient) << 32 | u64::from(salt)).wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) % 100
        };
        let mut has_any = false;
        for (group, codes) in [["250.01", "250.4", "272", "278"], ["401", "402.1", "402.9", "428"]].iter().enumerate() {
            let is_ill = hash(group as u32) < 40;
            for (ix, code) in codes.iter().enumerate() {
                if hash(100 * group as u32 + ix as u32 + 7) < if is_ill { 75 } else { 8 } {
                    events += &format!("{patient},{code},20{:02}-03-04\n", 10 + patient % 10);
                    has_any = true;
                }
            }
        }
        if !has_any {
            events += &format!("{patient},,\n");
        }
    }
    folder.write("claims.csv", events.as_bytes());
    folder.write("map.csv", b"item,group\n250.01,250\n250.4,250\n402.1,402\n402.9,402\n402.9,499\n999,999\n");
    folder.write(
        "names.csv",
        b"code,name\n250,Diabetes mellitus\n272,\"Lipids, disorders of\"\n401,Hypertension\n402,Hypertension\n",
    );
    folder.write("groups.csv", b"child,parent\n250,endocrine\n272,endocrine\n278,endocrine\n401,heart\n402,heart\n428,heart\n");
    folder
}

const ROLLED: &str = "claims.csv --events patient,icd --rollup map.csv --descriptions names.csv:code,name";

fn names(json: &serde_json::Value) -> Vec<String> {
    json["variables"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn codes_are_rolled_up_and_named_and_what_does_not_fit_is_listed() {
    let folder = claims();
    let outcome = folder.run(&format!("describe {ROLLED} --json"));
    let (notes, json) = (outcome.stderr.clone(), outcome.success("describe"));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    // Two codes of one description are told apart by their codes.
    let expected = ["Diabetes mellitus", "Lipids, disorders of", "278", "Hypertension (401)", "Hypertension (402)", "428"];
    assert_eq!((names(&json), json["rows"].as_u64()), (expected.map(str::to_owned).to_vec(), Some(400)));
    for part in [
        "4 items become 2 groups",
        "1 item is in several groups; it counts in the one listed first: \"402.9\"",
        "4 items have no group and stay as they are: \"272\", \"278\", \"401\", \"428\"",
        "2 items have no description: \"278\", \"428\"",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    let dropped = folder.json(&format!("describe {ROLLED} --unmapped drop"));
    assert_eq!(names(&dropped), ["Diabetes mellitus", "Hypertension"]);
}

#[test]
fn a_rolled_up_column_says_whether_any_member_is_there_in_tables_too() {
    let folder = Folder::new();
    folder.write("t.csv", b"a,b,c,n,m\n0,0,1,2,0\n1,0,0,0,3\n1,1,1,1,1\n0,,0,5,1\n1,,0,0,2\n0,0,1,4,4\n");
    folder.write("map.csv", b"item,group\na,any\nb,any\nn,sum\nm,sum\n");
    let json = folder.json("describe t.csv --rollup map.csv --kind sum=count");
    let of = |name: &str| json["variables"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap().clone();
    // Any of 1 and missing is 1; any of 0 and missing is missing.
    assert_eq!((of("any")["kind"].as_str(), of("any")["missing"].as_u64()), (Some("binary"), Some(1)));
    assert_eq!(of("sum")["kind"], "count");
    folder.write("text.csv", b"item,group\na,any\nlabel,any\n");
    folder.write("u.csv", b"a,label,c\n0,x,1\n1,y,0\n1,x,1\n");
    let outcome = folder.run("describe u.csv --rollup text.csv");
    assert!(outcome.code == Some(2) && outcome.stderr.contains("must hold 0 and 1, or counts"), "{}", outcome.stderr);
}

#[test]
fn a_model_of_described_codes_reads_codes_and_answers_to_both() {
    let folder = claims();
    folder.succeed(&format!("learn {ROLLED} --structure clnj -o model.json"));
    let by_name =
        folder.run_with(&["query", "model.json", "--given", "Diabetes mellitus=1", "--of", "Hypertension (401)", "--json"], b"");
    let by_code = folder.run_with(&["query", "model.json", "--given", "250=1", "--of", "401", "--json"], b"");
    assert_eq!(by_name.success("names"), by_code.success("codes"));
    // The same file scores with and without the file of descriptions.
    let score = |more: &str| folder.json(&format!("score model.json claims.csv --events patient,icd --rollup map.csv{more}"));
    let log_likelihood = score("")["log_likelihood"].as_f64().unwrap();
    assert_eq!(score(" --descriptions names.csv:code,name")["log_likelihood"].as_f64(), Some(log_likelihood));
    assert!(log_likelihood < 0.0 && score("")["rows"] == 400);
    folder.succeed("infer model.json claims.csv --events patient,icd --rollup map.csv -o posteriors.csv");
    assert!(folder.text("posteriors.csv").starts_with("patient,"));
    // Without the roll-up, codes of groups are unknown.
    let outcome = folder.run("score model.json claims.csv --events patient,icd");
    assert!(outcome.code == Some(0) && outcome.stderr.contains("--rollup map.csv"), "{}", outcome.stderr);
    folder.succeed("mixture claims.csv --events patient,icd -k 2 --labels labels.csv -o m.json");
    let ids = |name: &str| folder.text(name).lines().map(|line| line.split(',').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(ids("labels.csv"), ids("posteriors.csv"));
}

#[test]
fn filters_choose_items_and_rows_and_say_so() {
    let folder = claims();
    let read = |more: &str| {
        let outcome = folder.run(&format!("describe claims.csv --events patient,icd {more} --json"));
        let notes = outcome.stderr.clone();
        let json: serde_json::Value = serde_json::from_str(&outcome.success(more)).unwrap();
        (names(&json).len(), json["rows"].as_u64().unwrap(), notes)
    };
    // Filters of items and times leave rows of zeros.
    assert_eq!((read("").0, read("").1), (8, 400));
    assert_eq!((read("--codes 25*").0, read("--codes 25*").1), (2, 400));
    let (n_items, n_rows, notes) = read("--time day --since 2015 --until 2016-06");
    assert!(n_items == 8 && n_rows == 400);
    let all = folder.text("claims.csv");
    let events: Vec<&str> = all.lines().skip(1).collect();
    let outside =
        events.iter().filter(|line| !line.ends_with(",,") && !line.contains(",2015-") && !line.contains(",2016-")).count();
    let without = events.iter().filter(|line| line.ends_with(",,")).count();
    let told = format!(
        "{} of {} events are left out: {without} without a value in \"icd\", {outside} outside",
        outside + without,
        events.len()
    );
    assert!(notes.contains(&told), "{told}: {notes}");
    let (n_items, n_rows, notes) = read("--coverage 0.5 --min-items 2");
    assert!(n_items < 8 && n_rows < 400, "{n_items} {n_rows}");
    assert!(notes.contains("of 400 rows have at least 2 items") && notes.contains("make 50% of all occurrences"), "{notes}");
    // A patient has a code once.
    let count = |code: &str| folder.text("claims.csv").matches(&format!(",{code},")).count();
    let codes = ["250.01", "250.4", "272", "278", "401", "402.1", "402.9", "428"];
    let n_rare = codes.iter().filter(|code| count(code) * 100 <= 35 * 400).count();
    assert_eq!(((1..8).contains(&n_rare), read("--max-share 0.35").0), (true, n_rare));
    folder.write("ids.txt", b"3\n1\nnobody\n");
    let (_, n_rows, notes) = read("--subjects ids.txt");
    assert!(n_rows == 3 && notes.contains("1 of them has no event and is a row of zeros"), "{notes}");
    // One of a kind is told in the singular, and what leaves nothing out is not told.
    folder.write("one.txt", b"3\n");
    assert!(read("--subjects one.txt").2.contains("1 row listed is read"));
    let most = codes.iter().map(|code| count(code)).max().unwrap();
    assert!(read(&format!("--min-rows {most}")).2.contains("1 of 8 items is read"));
    assert_eq!((read("--min-items 0").1, read("--min-items 0").2.contains("at least 0")), (400, false));
}

#[test]
fn filters_of_items_cannot_make_items_of_a_model_absent() {
    let folder = claims();
    folder.succeed("learn claims.csv --events patient,icd --structure clnj -o model.json");
    folder.succeed("learn claims.csv --events patient,icd --rollup map.csv --structure clnj -o rolled.json");
    let score = |model: &str, more: &str| folder.run(&format!("score {model} claims.csv --events patient,icd {more} --json"));
    let whole = score("model.json", "").success("all");
    for more in ["--codes *", "--codes 2* --codes 4*"] {
        assert_eq!(score("model.json", more).success(more), whole);
    }
    let refused = score("model.json", "--codes 25*");
    let told = "25*: 6 of the model's 8 items do not match and would count as absent in every row: \"272\", \"278\", \"401\"";
    assert!(refused.code == Some(2) && refused.stderr.contains(told), "{}", refused.stderr);
    let refused = folder.run("infer model.json claims.csv --events patient,icd --codes [!4]* --codes 40* -o x.csv");
    let told = "1 of the model's 8 items does not match and would count as absent in every row: \"428\"";
    assert!(refused.code == Some(2) && refused.stderr.contains(told), "{}", refused.stderr);
    assert!(!folder.path("x.csv").exists());
    // Groups of a roll-up match by their codes.
    assert_eq!(score("rolled.json", "--rollup map.csv --codes 2* --codes 4*").code, Some(0));
    let refused = score("rolled.json", "--rollup map.csv --codes 2*");
    let told = "3 of the model's 6 items do not match and would count as absent in every row: \"401\", \"402\", \"428\"";
    assert!(refused.code == Some(2) && refused.stderr.contains(told), "{}", refused.stderr);
    // Filters by frequency choose nothing, and say so.
    let idle = score("model.json", "--min-rows 1000 --max-share 0.01 --coverage 0.1");
    let told = "--min-rows, --max-share and --coverage have no effect here: the model determines the columns";
    assert_eq!(idle.stderr.matches(told).count(), 1, "{}", idle.stderr);
    assert_eq!(idle.success("idle"), whole);
}

#[test]
fn a_period_without_events_gives_a_model_rows_of_zeros() {
    let folder = claims();
    folder.succeed("learn claims.csv --events patient,icd --structure clnj -o model.json");
    folder.succeed("learn claims.csv --events patient,icd --rollup map.csv --structure clnj -o rolled.json");
    let outcome = folder.run("infer model.json claims.csv --events patient,icd --time day --since 2035 -o x.csv");
    let told = "no event is from 2035 on; times in \"day\" are from 2010-03-04 to 2019-03-04; all rows are zeros";
    assert!(outcome.code == Some(0) && outcome.stderr.contains(told), "{}", outcome.stderr);
    let text = folder.text("x.csv");
    let posteriors: std::collections::BTreeSet<&str> = text.lines().skip(1).map(|line| line.split_once(',').unwrap().1).collect();
    assert_eq!((text.lines().count(), posteriors.len()), (401, 1));
    // The same as of patients without codes.
    folder.write("none.csv", b"patient,icd\n1,250.01\n2,\n");
    folder.succeed("infer model.json none.csv --events patient,icd -o none_out.csv");
    assert!(folder.text("none_out.csv").lines().nth(2).unwrap().ends_with(posteriors.first().unwrap()));
    for more in ["--codes *", "--subjects ids.txt"] {
        folder.write("ids.txt", b"1\n2\n");
        folder.succeed(&format!("score model.json claims.csv --events patient,icd --time day --since 2035 {more}"));
    }
    folder.succeed("score rolled.json claims.csv --events patient,icd --rollup map.csv --time day --since 2035");
}

#[test]
fn events_of_days_that_do_not_exist_have_no_time() {
    let folder = Folder::new();
    folder.write(
        "e.csv",
        b"p,c,day\n1,a,2018-02-28\n1,b,2018-02-31\n2,b,2018-03-01\n2,a,0000-00-00\n3,b,2018-02-10T25:00\n3,a,2018-02-11\n",
    );
    let outcome = folder.run("describe e.csv --events p,c --time day --since 2018 --until 2018-02");
    assert!(outcome.stderr.contains("4 of 6 events are left out: 3 without a time, 1 outside the period"), "{}", outcome.stderr);
}

#[test]
fn items_with_several_descriptions_are_told() {
    let folder = claims();
    folder.write("two.csv", b"code,text\n401,Hypertension\n401,High blood pressure\n428,Heart failure\n999,x\n999,y\n");
    let outcome = folder.run("describe claims.csv --events patient,icd --descriptions two.csv --json");
    let told = "two.csv: 1 item has several descriptions; the first is used: \"401\"";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    let json: serde_json::Value = serde_json::from_str(&outcome.success("describe")).unwrap();
    assert!(names(&json).contains(&"Hypertension".to_owned()), "{json}");
}

#[test]
fn mistakes_in_files_and_filters_of_codes_are_explained() {
    let folder = claims();
    folder.write("other.csv", b"item,group\nx,1\ny,2\n");
    folder.write("headed.csv", b"code,phecode\nx,1\ny,2\n");
    folder.write("three.csv", b"a,b,c\n1,2,3\n");
    folder.write("empty.txt", b"\n");
    folder.write("matrix.csv", b"a,b,c\n0,1,0\n1,1,0\n1,0,1\n");
    folder.write("circle.csv", b"child,parent\na,b\nb,a\n");
    folder.succeed("learn claims.csv --events patient,icd --rollup map.csv --structure clnj -o model.json");
    for (arguments, parts) in [
        (
            "describe claims.csv --events patient,icd --rollup map.csv:item,phecode",
            vec!["map.csv has no column \"phecode\"", "--rollup"],
        ),
        ("describe claims.csv --events patient,icd --rollup other.csv", vec!["none of its 2 items", "\"250.01\"", "ITEM,GROUP"]),
        ("describe claims.csv --events patient,icd --rollup three.csv", vec!["three.csv", "3 columns"]),
        (
            "describe claims.csv --events patient,icd --descriptions other.csv:item,group",
            vec!["none of its 2 items", "ITEM,TEXT"],
        ),
        ("describe claims.csv --events patient,icd --codes X*", vec!["--codes", "matches none of the 8 items"]),
        ("describe claims.csv --events patient,icd --rollup headed.csv", vec!["none of its 3 names in the first column"]),
        (
            "describe claims.csv --events patient,icd --time day --until 2015-02-29",
            vec!["--until", "no such time as \"2015-02-29\""],
        ),
        ("describe claims.csv --events patient,icd --time day --since 2015-02-01T25:00", vec!["--since", "no such time"]),
        ("describe claims.csv --events patient,icd --min-rows 1000", vec!["no item remains", "8 in fewer than 1000 rows"]),
        ("describe claims.csv --events patient,icd --min-items 9", vec!["--min-items", "no row has 9"]),
        ("describe claims.csv --events patient,icd --coverage 70", vec!["--coverage", "such as 0.9"]),
        ("describe claims.csv --events patient,icd --since 2015", vec!["--time"]),
        ("describe claims.csv --events patient,icd --time day --since 4.3.2015", vec!["--since", "2021-03-04"]),
        ("describe claims.csv --events patient,icd --time icd --since 2015", vec!["is not a time"]),
        ("describe claims.csv --events patient,icd --time when", vec!["--time", "when"]),
        (
            "describe claims.csv --events patient,icd --time day --since 2030 --until 2031",
            vec!["--since", "between 2030 and 2031", "from 2010-03-04 to 2019-03-04"],
        ),
        ("describe claims.csv --events patient,icd --subject-split train", vec!["--subject-split", "--meds"]),
        ("learn claims.csv --text --meds -o m.json", vec!["--meds"]),
        ("describe claims.csv --events patient,icd --subjects empty.txt", vec!["empty.txt"]),
        ("describe matrix.csv --coverage 0.9", vec!["--coverage", "table of columns"]),
        ("describe claims.csv --meds", vec!["--meds", "not a folder"]),
        ("compare model.json --reference groups.csv:child", vec!["--reference", "at least one group"]),
        (
            "compare model.json --reference other.csv",
            vec![
                "model.json and other.csv",
                "0 of 6 variables (\"250\"",
                "are items of the reference",
                "the reference has \"x\", \"y\"",
            ],
        ),
        ("compare model.json --reference three.csv", vec!["three.csv", "a, b, c"]),
        ("compare model.json --reference circle.csv", vec!["its own ancestor"]),
        ("compare model.json", vec!["ESTIMATE", "--reference"]),
        ("compare model.json model.json --reference groups.csv", vec!["cannot be used with", "--reference"]),
    ] {
        let outcome = folder.run(arguments);
        assert_eq!(outcome.code, Some(2), "{arguments}: {}", outcome.stderr);
        for part in parts {
            assert!(outcome.stderr.contains(part), "{arguments}: {part}: {}", outcome.stderr);
        }
    }
}

#[test]
fn a_hierarchy_agrees_with_the_tree_of_its_groups_and_unknown_variables_are_listed() {
    let folder = claims();
    folder.succeed(&format!("learn {ROLLED} -o model.json"));
    let found = folder.json("compare model.json --reference groups.csv");
    assert_eq!((found["variables"].as_u64(), found["groups"].as_u64()), (Some(6), Some(2)));
    for measure in ["nearest_same_group", "same_group_auc", "triplets"] {
        assert!(found[measure].as_f64().unwrap() > 0.9, "{found}");
    }
    folder.write("fewer.csv", b"child,parent\n250,endocrine\n272,endocrine\n401,heart\n402,heart\n");
    let outcome = folder.run("compare model.json --reference fewer.csv");
    assert!(outcome.stderr.contains("2 of 6 variables are not in fewer.csv"), "{}", outcome.stderr);
    assert!(outcome.success("compare").contains("nearest in its group"));
    folder.write(
        "several.csv",
        b"code,system\n250,endocrine\n250,heart\n272,endocrine\n278,endocrine\n401,heart\n401,401\n999,a\n999,b\n",
    );
    let outcome = folder.run("compare model.json --reference several.csv");
    let told = "several.csv: 1 item has several parents; the one listed first counts for it: 250\n";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
}

#[test]
fn codes_of_the_tree_are_placed_by_prefixes_of_the_reference() {
    let folder = claims();
    folder.succeed("learn claims.csv --events patient,icd --structure clnj -o model.json");
    folder.write("whole.csv", b"child,parent\n250,endocrine\n272,endocrine\n278,endocrine\n401,heart\n402,heart\n428,heart\n");
    let found = folder.json("compare model.json --reference whole.csv --prefixes");
    assert_eq!((found["variables"].as_u64(), found["groups"].as_u64()), (Some(8), Some(2)));
    assert_eq!(folder.json("compare model.json --reference whole.csv")["variables"], 4);
    // A code that is its own group is not unknown.
    folder.write("own.csv", b"code,phecode\n250.01,250\n250.4,250\n401,401\n402.1,402\n402.9,402\n");
    let found = folder.json("compare model.json --reference own.csv");
    assert_eq!((found["variables"].as_u64(), found["groups"].as_u64()), (Some(5), Some(3)));
}

#[test]
fn linkages_are_learners_and_their_dendrograms_are_exported() {
    let folder = claims();
    for name in ["average-linkage", "complete-linkage", "single-linkage"] {
        let learned = folder.json(&format!("learn {ROLLED} --structure {name} -o {name}.json"));
        assert_eq!(learned["hidden"], 4, "{learned}");
        folder.succeed(&format!("export {name}.json --format linkage -o {name}.csv"));
        let text = folder.text(&format!("{name}.csv"));
        let rows: Vec<Vec<f64>> = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.starts_with("left"))
            .map(|line| line.split(',').map(|field| field.parse().unwrap()).collect())
            .collect();
        assert!(rows.len() == 5 && rows.last().unwrap()[3] == 6.0, "{text}");
        assert!(rows.is_sorted_by(|a, b| a[2] <= b[2]), "{text}");
        assert!(text.starts_with("# 0 Diabetes mellitus\n"), "{text}");
    }
}

/// Writes a table of texts as Parquet.
fn parquet(folder: &Folder, path: &str, text: &str) {
    let path = folder.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut writer = ResultWriter::create(&path, &names).unwrap();
    for line in lines {
        let values: Vec<Value<'_>> = line.split(',').map(Value::Text).collect();
        writer.write_row(&values).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn a_meds_folder_is_read_with_descriptions_splits_and_times() {
    let folder = Folder::new();
    let mut shards = [String::from("subject_id,time,code,numeric_value\n"), String::from("subject_id,time,code,numeric_value\n")];
    let mut splits = "subject_id,split\n".to_owned();
    for subject in 0..90_u32 {
        // Ids of a shard increase, but not from shard to shard.
        let shard = &mut shards[(subject % 2) as usize];
        for (code, step) in
            [("ICD9CM//250", 2), ("ICD9CM//401", 3), ("ICD10CM//E11", 2), ("LAB//GLUCOSE", 1), ("ICD9CM//999", 45)]
        {
            if subject % step == 0 {
                *shard += &format!("{subject},20{:02}-01-01T00:00:00,{code},1.5\n", 10 + subject % 5);
            }
        }
        splits += &format!("{subject},{}\n", ["train", "tuning", "held_out"][(subject / 30) as usize]);
    }
    parquet(&folder, "meds/data/train/0.parquet", &shards[0]);
    parquet(&folder, "meds/data/train/1.parquet", &shards[1]);
    let without = folder.run("describe --meds meds --json");
    assert!(without.stderr.contains("codes.parquet is not there"), "{}", without.stderr);
    assert!(without.stderr.contains("3 vocabularies: ICD9CM//* (2)"), "{}", without.stderr);
    parquet(
        &folder,
        "meds/metadata/codes.parquet",
        "code,description,parent_codes\nICD9CM//250,Diabetes,X//D\nICD10CM//E11,Diabetes,X//D\nICD9CM//401,Hypertension,\n",
    );
    parquet(&folder, "meds/metadata/subject_splits.parquet", &splits);
    folder.write("meds/metadata/dataset.json", b"{}");
    let json = folder.json("describe --meds meds --codes ICD*");
    assert_eq!(json["rows"], 90);
    // In 2 of 90 rows, ICD9CM//999 is too rare; two codes have one description.
    assert_eq!(names(&json), ["Diabetes (ICD10CM//E11)", "Diabetes (ICD9CM//250)", "Hypertension"]);
    assert_eq!(folder.json("describe --meds meds --subject-split tuning --min-rows 1")["rows"], 30);
    folder.write("roll.csv", b"item,group\nX//D,diabetes\n");
    let rolled = folder.json("describe --meds meds --rollup roll.csv --unmapped drop");
    assert_eq!(names(&rolled), ["diabetes"]);
    let outcome = folder.run("describe --meds meds --subject-split test");
    assert!(outcome.code == Some(2) && outcome.stderr.contains("held_out (30)"), "{}", outcome.stderr);
    folder.succeed("learn --meds meds --codes ICD* --structure chow-liu -o model.json");
    folder.succeed("infer model.json --meds meds --impute -o states.csv");
    assert!(folder.text("states.csv").starts_with("subject_id"));
    folder.succeed("score model.json --meds meds --per-row scores.csv");
    assert!(folder.text("scores.csv").starts_with("subject_id,log_likelihood\n0,"), "{}", folder.text("scores.csv"));
    // The events of the other splits are counted.
    let outcome = folder.run("describe --meds meds --subject-split tuning --min-rows 1");
    assert!(outcome.stderr.contains("of subjects that are not in the split"), "{}", outcome.stderr);
    // A subject in two files is joined, and both files are named.
    parquet(&folder, "meds/data/train/2.parquet", "subject_id,time,code,numeric_value\n4,2012-01-01T00:00:00,ICD9CM//401,\n");
    let outcome = folder.run("describe --meds meds --json");
    assert!(outcome.stderr.contains("\"4\" in ") && outcome.stderr.contains("2.parquet"), "{}", outcome.stderr);
    let json: serde_json::Value = serde_json::from_str(&outcome.success("describe")).unwrap();
    assert_eq!(json["rows"], 90);
    std::fs::remove_dir_all(folder.path("meds/data")).unwrap();
    let outcome = folder.run("describe --meds meds");
    assert!(outcome.code == Some(2) && outcome.stderr.contains("no folder \"data\""), "{}", outcome.stderr);
}

#[test]
fn an_omop_folder_is_read_with_names_and_ancestors() {
    let folder = Folder::new();
    let mut events = "condition_occurrence_id,person_id,condition_concept_id,condition_start_date\n".to_owned();
    for person in 0..80_u32 {
        for (concept, step) in [(201_826, 2), (201_254, 3), (320_128, 2)] {
            if person % step == 0 {
                events += &format!("{},{person},{concept},2019-05-0{}\n", person * 10 + step, 1 + person % 9);
            }
        }
    }
    std::fs::create_dir(folder.path("omop")).unwrap();
    folder.write("omop/CONDITION_OCCURRENCE.csv", events.as_bytes());
    // Vocabulary files are separated by tabs, whatever their ending says.
    folder.write("omop/CONCEPT.csv", b"concept_id\tconcept_name\tdomain_id\n201826\tType 2 diabetes\tCondition\n201254\tType 1 diabetes\tCondition\n320128\tHypertension\tCondition\n");
    folder.write(
        "omop/CONCEPT_ANCESTOR.csv",
        b"ancestor_concept_id\tdescendant_concept_id\tmin_levels_of_separation\n201820\t201826\t1\n201820\t201254\t1\n1\t201826\t4\n",
    );
    let json = folder.json("describe --omop omop");
    assert_eq!(names(&json), ["Type 1 diabetes", "Type 2 diabetes", "Hypertension"]);
    folder.write("roll.csv", b"item,group\n201820,diabetes\n1,everything\n");
    let json = folder.json("describe --omop omop --rollup roll.csv");
    assert_eq!(names(&json), ["diabetes", "Hypertension"]);
    assert_eq!(folder.json("describe --omop omop --since 2019-05-05 --min-rows 1")["rows"], 53);
    // Columns in capitals, as many databases export them.
    let capitals = |text: &str| text.split_once('\n').map(|(head, rest)| format!("{}\n{rest}", head.to_uppercase())).unwrap();
    for name in ["omop/CONDITION_OCCURRENCE.csv", "omop/CONCEPT.csv", "omop/CONCEPT_ANCESTOR.csv"] {
        folder.write(name, capitals(&folder.text(name)).as_bytes());
    }
    assert_eq!(names(&folder.json("describe --omop omop --rollup roll.csv --since 2019")), names(&json));
    // Conditions without a standard concept are one column, which a note names.
    folder.write("omop/CONDITION_OCCURRENCE.csv", format!("{events}9001,3,0,2019-05-01\n9002,4,0,2019-05-01\n").as_bytes());
    let outcome = folder.run("describe --omop omop --min-rows 1");
    assert!(outcome.stderr.contains("concept 0 stands for") && outcome.stderr.contains("--codes '[1-9]*'"), "{}", outcome.stderr);
    let outcome = folder.run("describe --omop omop --min-rows 1 --codes [1-9]*");
    assert!(!outcome.stderr.contains("concept 0"), "{}", outcome.stderr);
    std::fs::remove_file(folder.path("omop/CONDITION_OCCURRENCE.csv")).unwrap();
    let outcome = folder.run("describe --omop omop");
    assert!(outcome.code == Some(2) && outcome.stderr.contains("condition_occurrence"), "{}", outcome.stderr);
}
