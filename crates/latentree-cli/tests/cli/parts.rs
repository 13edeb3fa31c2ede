//! Data in parts: a directory or a pattern in place of a file.

use serde_json::Value;

use crate::harness::{Folder, Outcome};

/// Puts the rows of the clinic example into three parts of different lengths.
fn cut_clinic(folder: &Folder, into: &str) {
    let text = folder.text("clinic.csv");
    let (header, rows) = text.split_once('\n').expect("a header");
    let rows: Vec<&str> = rows.lines().collect();
    std::fs::create_dir_all(folder.path(into)).unwrap();
    for (name, rows) in [("part-0", &rows[..1111]), ("part-1", &rows[1111..1112]), ("part-2", &rows[1112..])] {
        folder.write(&format!("{into}/{name}.csv"), format!("{header}\n{}\n", rows.join("\n")).as_bytes());
    }
    folder.write(&format!("{into}/_SUCCESS"), b"");
}

/// A model file without the digest of the data and the checksum over it, and that digest.
fn without_digest(folder: &Folder, name: &str) -> (String, String) {
    let mut model: Value = serde_json::from_slice(&folder.read(name)).unwrap();
    let digest = model["provenance"]["data_digest"].take();
    model["checksum"].take();
    (model.to_string(), digest.as_str().expect("a digest").to_owned())
}

fn refused(folder: &Folder, arguments: &str, said: &[&str]) {
    let Outcome { code, stderr, .. } = folder.run(arguments);
    assert_eq!(code, Some(2), "{arguments}: {stderr}");
    said.iter().for_each(|said| assert!(stderr.contains(said), "{arguments}: {stderr}"));
}

#[test]
fn a_table_in_parts_gives_the_model_of_the_table_in_one_file() {
    let folder = Folder::with_clinic();
    cut_clinic(&folder, "parts");
    let learn = |data: &str, model: &str| {
        folder.json(&format!("learn {data} --structure clnj --em-iterations 5 -o {model}"));
        without_digest(&folder, model)
    };
    let (whole, digest) = learn("clinic.csv", "whole.json");
    let (of_folder, of_folder_digest) = learn("parts", "folder.json");
    let (of_pattern, of_pattern_digest) = learn("parts/part-*.csv", "pattern.json");
    assert!(whole == of_folder && whole == of_pattern);
    assert!(digest != of_folder_digest && of_folder_digest == of_pattern_digest);
    assert_eq!(folder.json("describe parts/")["digest"], of_folder_digest.as_str());
    // The same with a model at hand, row by row, in another format.
    folder.succeed("infer clinic.truth.json clinic.csv --map -o whole.csv");
    folder.succeed("infer clinic.truth.json parts --map -o cut.csv");
    assert!(folder.read("whole.csv") == folder.read("cut.csv"));
    assert_eq!(folder.json("score clinic.truth.json clinic.csv"), folder.json("score clinic.truth.json parts/*"));
}

#[test]
fn parquet_parts_give_the_model_of_one_parquet_file() {
    let folder = Folder::with_clinic();
    cut_clinic(&folder, "parts");
    std::fs::create_dir(folder.path("cut")).unwrap();
    // Missing cells are filled row by row, whatever else is in the file.
    folder.succeed("infer clinic.truth.json clinic.csv --impute -o whole.parquet");
    for part in 0..3 {
        folder.succeed(&format!("infer clinic.truth.json parts/part-{part}.csv --impute -o cut/part-{part}.parquet"));
    }
    for (data, model) in [("whole.parquet", "whole.json"), ("cut", "cut.json"), ("c*/**/*.parquet", "pattern.json")] {
        folder.succeed(&format!("learn {data} --structure clnj --em-iterations 3 -o {model}"));
    }
    let (whole, _) = without_digest(&folder, "whole.json");
    assert!(whole == without_digest(&folder, "cut.json").0 && whole == without_digest(&folder, "pattern.json").0);
}

#[test]
fn folders_and_missing_columns_are_told() {
    let folder = Folder::new();
    for (name, text) in [
        ("d/year=2023/a.csv", "x,y\n0,a\n1,b\n"),
        ("d/year=2024/a.csv", "y,x\nc,1\na,0\n"),
        ("d/year=2024/b.csv", "x,z\n1,1\n0,0\n"),
    ] {
        std::fs::create_dir_all(folder.path(name).parent().unwrap()).unwrap();
        folder.write(name, text.as_bytes());
    }
    let described = folder.json("describe d");
    assert_eq!(described["rows"], 6);
    let names: Vec<&str> = described["variables"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["x", "y", "z", "year"]);
    assert_eq!(described["variables"][1]["states"], serde_json::json!(["a", "b", "c"]));
    let warnings = described["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let warning = warnings[0].as_str().unwrap();
    for said in ["2 columns are not in every part", "\"y\" (not in 1 of 3: d/year=2024/b.csv)", "\"z\" (not in 2 of 3: such as"] {
        assert!(warning.contains(said), "{warning}");
    }
    let outcome = folder.run("describe d");
    assert_eq!(outcome.stderr.matches("not in every part").count(), 1, "{}", outcome.stderr);
}

#[test]
fn ids_and_kept_columns_of_parts_stand_beside_their_results() {
    let folder = Folder::with_clinic();
    cut_clinic(&folder, "parts");
    let with_names = |name: &str, first: usize| {
        let text = folder.text(name);
        let mut rows = text.lines().enumerate().map(|(row, line)| match row {
            0 => format!("{line},patient,ward\n"),
            row => format!("{line},p{},w\n", first + row),
        });
        folder.write(name, rows.by_ref().collect::<String>().as_bytes());
    };
    for (name, first) in [("parts/part-0.csv", 0), ("parts/part-1.csv", 1111), ("parts/part-2.csv", 1112), ("clinic.csv", 0)] {
        with_names(name, first);
    }
    for data in ["clinic.csv", "parts"] {
        folder.succeed(&format!("score clinic.truth.json {data} --id patient --keep --per-row {data}.out.csv"));
    }
    let scores = folder.text("parts.out.csv");
    assert!(scores.starts_with("patient,ward,log_likelihood\np1,w,") && scores.contains("\np5000,w,"));
    assert!(scores == folder.text("clinic.csv.out.csv"));
}

#[test]
fn parts_that_cannot_be_read_are_named() {
    let folder = Folder::with_clinic();
    cut_clinic(&folder, "parts");
    std::fs::create_dir(folder.path("empty")).unwrap();
    refused(&folder, "learn empty -o m.json", &["empty: the directory holds no data files"]);
    refused(&folder, "describe parts/*.parquet", &["parts/*.parquet: no file matches"]);
    folder.write("parts/part-1.csv", b"diabetes\n0\n1,2\n");
    refused(&folder, "learn parts -o m.json", &["parts/part-1.csv, line 3, row 2"]);
    folder.write("parts/part-1.csv", b"PAR1\0\0\0");
    refused(&folder, "learn parts -o m.json", &["parts/part-1.csv", "Parquet"]);
    folder.write("parts/part-1.csv.gz", b"\x1f\x8b\x08\0\0\0");
    std::fs::remove_file(folder.path("parts/part-1.csv")).unwrap();
    refused(&folder, "learn parts -o m.json", &["cannot read parts/part-1.csv.gz", "truncated"]);
    folder.write("parts/notes.md", b"");
    refused(&folder, "learn parts -o m.json", &["1 file has no table extension", "\"notes.md\"", "'parts/**/*.csv'"]);
    assert!(!folder.path("m.json").exists());
}

#[cfg(unix)]
#[test]
fn a_part_that_leads_nowhere_is_named() {
    let folder = Folder::with_clinic();
    cut_clinic(&folder, "parts");
    std::os::unix::fs::symlink("gone.csv", folder.path("parts/part-3.csv")).unwrap();
    refused(&folder, "learn parts -o m.json", &["cannot read parts/part-3.csv", "No such file"]);
}

#[test]
fn no_output_is_written_over_a_part_or_among_them() {
    let folder = Folder::with_clinic();
    cut_clinic(&folder, "parts");
    let before = folder.content();
    let overwritten = ["parts/part-1.csv", "read as DATA and would be overwritten"];
    refused(&folder, "infer clinic.truth.json parts -o parts/part-1.csv", &overwritten);
    refused(&folder, "infer clinic.truth.json parts/*-0.csv -o parts/part-0.csv", &["would be overwritten"]);
    refused(&folder, "infer clinic.truth.json parts -o parts/out.csv", &["parts/out.csv would become a part of parts"]);
    refused(&folder, "learn parts -o parts/m.json", &["become a part"]);
    refused(&folder, "learn clinic.csv --validation parts -o parts/m.json", &["read as --validation"]);
    assert!(folder.content() == before);
    folder.succeed("infer clinic.truth.json parts/*.csv --map -o parts/out.parquet");
    folder.succeed("learn parts/*.csv --structure chow-liu -o parts/m.json");
}

#[test]
fn a_file_whose_name_looks_like_a_pattern_is_a_file() {
    let folder = Folder::new();
    folder.write("a[1].csv", b"x\n0\n1\n");
    folder.write("a1.csv", b"x\n0\n1\n1\n");
    assert_eq!(folder.json("describe a[1].csv")["rows"], 2);
    assert_eq!(folder.json("describe a[12].csv")["rows"], 3);
}

#[test]
fn a_folder_that_covers_a_column_and_a_checkpoint_among_the_data_are_told() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("data/x=7")).unwrap();
    folder.write("data/x=7/a.csv", format!("x,y,z\n{}", "1,0,1\n2,1,0\n3,1,1\n".repeat(20)).as_bytes());
    let outcome = folder.run("describe data");
    assert!(outcome.code == Some(0) && outcome.stderr.contains("column \"x\" comes from directory names"), "{outcome:?}");
    for directory in ["data", "data/x=7/ck"] {
        let refused = folder.run(&format!("learn data --checkpoint {directory} -o m.json"));
        assert!(refused.code == Some(2) && refused.stderr.contains("--checkpoint"), "{refused:?}");
    }
}
