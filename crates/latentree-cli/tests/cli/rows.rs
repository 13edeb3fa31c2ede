//! What names a row, and columns that are passed through.

use crate::harness::Folder;

/// A folder with a model of four columns and rows with an id, a note and a site around them.
fn with_patients() -> Folder {
    let folder = Folder::new();
    let mut model = "((a,b),(c,d));".to_owned();
    model.push('\n');
    folder.write("t.nwk", model.as_bytes());
    folder.succeed("simulate --tree t.nwk --family categorical --separation 0.8 --model m.json --data plain.csv --rows 50");
    let plain = folder.text("plain.csv");
    let mut lines = plain.lines();
    assert_eq!(lines.next(), Some("a,b,c,d"));
    let mut wide = "site,a,patient,b,c,d,note\n".to_owned();
    for (row, line) in lines.enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        let note = ["\"well, yes\"", "NA", ""][row % 3];
        // Every fifth row lacks b.
        let b = if row % 5 == 0 { "" } else { cells[1] };
        wide += &format!("s{},{},P{:03},{b},{},{},{note}\n", row % 2, cells[0], 100 - row, cells[2], cells[3]);
    }
    folder.write("patients.csv", wide.as_bytes());
    folder
}

fn column(text: &str, name: &str) -> Vec<String> {
    let mut lines = text.lines();
    let place = lines.next().unwrap().split(',').position(|it| it == name).unwrap_or_else(|| panic!("no {name} in {text}"));
    lines.map(|line| line.split(',').nth(place).unwrap_or_default().to_owned()).collect()
}

#[test]
fn infer_and_score_name_rows_by_their_id_and_pass_other_columns_through() {
    let folder = with_patients();
    let data = folder.text("patients.csv");
    folder.succeed("infer m.json patients.csv -o by_number.csv");
    let by_number = folder.text("by_number.csv");
    assert!(by_number.starts_with("row,h1=0,"), "{by_number}");
    for arguments in ["infer m.json patients.csv -o", "infer m.json patients.csv --map -o", "score m.json patients.csv --per-row"]
    {
        folder.succeed(&format!("{arguments} out.csv --id patient"));
        let out = folder.text("out.csv");
        assert!(out.starts_with("patient,"), "{arguments}: {out}");
        assert_eq!(column(&out, "patient"), column(&data, "patient"), "{arguments}");
        folder.succeed(&format!("{arguments} kept.csv --id patient --keep"));
        let kept = folder.text("kept.csv");
        assert!(kept.starts_with("patient,site,note,"), "{arguments}: {kept}");
        assert_eq!(column(&kept, "site"), column(&data, "site"), "{arguments}");
        assert!(kept.contains("\"well, yes\"") && kept.contains(",NA,"), "{arguments}: {kept}");
        folder.succeed(&format!("{arguments} numbered.csv --keep"));
        assert!(folder.text("numbered.csv").starts_with("row,site,patient,note,"), "{arguments}");
    }
    // What is said of a row does not depend on how it is called.
    folder.succeed("infer m.json patients.csv --id patient -o by_id.csv");
    assert_eq!(column(&by_number, "h1=0"), column(&folder.text("by_id.csv"), "h1=0"));
}

#[test]
fn an_id_that_is_a_variable_of_the_model_is_said_to_count() {
    let folder = with_patients();
    for arguments in ["infer m.json patients.csv -o out.csv", "score m.json patients.csv"] {
        let says = |id: &str| folder.run(&format!("{arguments} --id {id}")).stderr.contains("counts as evidence");
        assert!(says("a") && !says("patient"), "{arguments}");
    }
}

#[test]
fn filled_tables_keep_all_columns_and_their_order() {
    let folder = with_patients();
    let data = folder.text("patients.csv");
    for options in ["", " --id patient", " --keep"] {
        let json = folder.json(&format!("infer m.json patients.csv --impute -o filled.csv{options}"));
        assert_eq!(json["columns"].as_array().unwrap().len(), 7);
        let filled = folder.text("filled.csv");
        assert_eq!(filled.lines().next(), Some("site,a,patient,b,c,d,note"), "{options}");
        for name in ["site", "a", "patient", "c", "d"] {
            assert_eq!(column(&filled, name), column(&data, name), "{name}{options}");
        }
        assert!(column(&filled, "b").iter().all(|cell| !cell.is_empty()), "{filled}");
        assert!(filled.contains("\"well, yes\"") && filled.lines().nth(2).unwrap().ends_with(",NA"), "{filled}");
    }
    // The same through Parquet, and back.
    folder.succeed("infer m.json patients.csv --impute -o filled.csv");
    folder.succeed("infer m.json patients.csv --impute -o filled.parquet");
    folder.succeed("infer m.json filled.parquet --impute -o again.csv");
    assert_eq!(folder.text("again.csv"), folder.text("filled.csv"));
}

#[test]
fn an_id_is_not_learned_from_and_an_id_that_is_a_variable_stays_evidence() {
    let folder = with_patients();
    folder.succeed("learn patients.csv --id patient --kind site=ignore --kind note=ignore --structure chow-liu -o learned.json");
    let names: Vec<String> =
        folder.json("describe learned.json")["edges"].as_array().unwrap().iter().map(ToString::to_string).collect();
    assert!(!names.iter().any(|edge| edge.contains("patient")), "{names:?}");
    folder.succeed("infer m.json patients.csv --id a -o by_a.csv");
    folder.succeed("infer m.json patients.csv -o by_number.csv");
    assert_eq!(column(&folder.text("by_a.csv"), "h1=0"), column(&folder.text("by_number.csv"), "h1=0"));
}

#[test]
fn events_keep_the_key_of_their_rows_in_and_out_of_order() {
    let folder = Folder::new();
    folder.write("t.nwk", b"((a,b),(c,d));");
    folder.succeed("simulate --tree t.nwk --family categorical --model m.json");
    let sorted = "pid,code\n003,a\n003,b\n007,c\n010,a\n010,d\n";
    let unsorted = "pid,code\n010,a\n003,a\n010,d\n007,c\n003,b\n";
    let rows = |events: &str| -> Vec<String> {
        folder.write("e.csv", events.as_bytes());
        folder.succeed("infer m.json e.csv --events pid,code -o out.csv");
        folder.succeed("score m.json e.csv --events pid,code --per-row scores.csv");
        let out = folder.text("out.csv");
        assert!(out.starts_with("pid,h1=0,") && folder.text("scores.csv").starts_with("pid,log_likelihood\n"), "{out}");
        let mut rows: Vec<String> = out.lines().skip(1).map(str::to_owned).collect();
        rows.sort();
        rows
    };
    let (sorted, unsorted) = (rows(sorted), rows(unsorted));
    assert_eq!(sorted, unsorted);
    assert_eq!(sorted.iter().map(|row| &row[..4]).collect::<Vec<_>>(), ["003,", "007,", "010,"]);
    folder.succeed("infer m.json e.csv --events pid,code --impute -o filled.csv");
    assert_eq!(folder.text("filled.csv"), "pid,a,b,c,d\n010,1,0,0,1\n003,1,1,0,0\n007,0,0,1,0\n");
}

#[test]
fn imputing_fills_missing_cells_and_leaves_all_others_as_they_are_written() {
    let folder = Folder::new();
    let mut text = "id,a,b,x\n".to_owned();
    for row in 0..200 {
        let word = ["red", "blue"][row % 2];
        text += &format!("p{row},{word},{word},{}.0\n", row % 2 * 4 + row % 3);
    }
    folder.write("d.csv", text.as_bytes());
    folder.succeed("learn d.csv --id id -o m.json");
    folder.write("new.csv", b"id,a,b,x\nq1,green,red,1.0\nq2,,blue,5.00\nq3,red,NA,\n");
    folder.succeed("infer m.json new.csv --impute -o out.csv");
    let out = folder.text("out.csv");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[1], "q1,green,red,1.0");
    assert_eq!(lines[2], "q2,blue,blue,5.00");
    assert!(lines[3].starts_with("q3,red,red,"), "{out}");
    assert!(!lines[3].ends_with(','), "{out}");
}
