//! What columns mean: identifiers, dates, free text, numbers with symbols, and values that mean missing.

use super::*;
use crate::data::{Kind, KindOverride};

/// A table of one column of interest and a plain one.
fn table(name: &str, cells: &[String]) -> Fixture {
    let rows = (0..).zip(cells).map(|(row, cell): (usize, _)| format!("\"{cell}\",{}\n", ["a", "b"][row % 2]));
    Fixture::new("t.csv", format!("{name},plain\n{}", rows.collect::<String>()))
}

/// What becomes of a column, `None` if it is left out, and the notes about it.
fn read(name: &str, cells: &[String]) -> (Option<&'static str>, String) {
    let reader = table(name, cells).open(&ReadOptions::default()).unwrap();
    let column = reader.schema().columns().iter().find(|column| column.name == name);
    (column.map(|column| column.kind.name()), reader.warnings().join("\n"))
}

/// Shares between 0 and 1 that look random.
fn shares(n: u32) -> impl Iterator<Item = f64> {
    (1..=n).map(|ix| (f64::from(ix) * 0.618_033_988_749_895).fract())
}

#[test]
fn serial_numbers_with_gaps_in_any_order_are_left_out() {
    let kept: Vec<u32> = (0..1000).filter(|ix| ix % 5 != 2).collect();
    let shuffled: Vec<String> = (0..kept.len()).map(|ix| kept[ix * 7 % kept.len()].to_string()).collect();
    let (kind, notes) = read("Number", &shuffled);
    assert_eq!(kind, None, "{notes}");
    assert!(notes.contains("if it is a variable, say which kind (`read.kind` Number=KIND)"), "{notes}");
    let sorted: Vec<String> = (0..800_u32).map(|ix| (39 + 25 * ix + ix * ix % 19).to_string()).collect();
    assert_eq!(read("x", &sorted).0, None);
}

#[test]
fn codes_of_many_digits_are_left_out_in_text_and_as_numbers() {
    let card: Vec<String> = shares(300).map(|share| format!("4{:015}", (share * 1e15) as u64)).collect();
    let long: Vec<String> =
        shares(300).map(|share| format!("9{:011}{:011}", (share * 1e11) as u64, (share * 1e10) as u64)).collect();
    for cells in [card, long] {
        let (kind, notes) = read("x", &cells);
        assert_eq!(kind, None, "{notes}");
        assert!(notes.contains("looks like an identifier (whole numbers of up to"), "{notes}");
    }
    let large: Vec<String> = shares(300).map(|share| format!("{:e}", 1e20 * (0.5 + share))).collect();
    assert_eq!(read("x", &large).0, Some("continuous"), "not written as whole numbers");
}

#[test]
fn whole_measurements_that_hardly_repeat_are_kept() {
    let bell = |share: f64| (share / (1.0 - share)).ln() * 0.551;
    let steps: Vec<String> = shares(1500).map(|share| format!("{:.0}", 300_000.0 + 40_000.0 * bell(share))).collect();
    assert_eq!(read("steps", &steps), (Some("continuous"), String::new()));
    let income: Vec<String> = shares(800).map(|share| format!("{:.0}", (13.0 + bell(share)).exp())).collect();
    assert_eq!(read("income", &income), (Some("continuous"), String::new()));
}

#[test]
fn ids_that_repeat_stay_with_a_note() {
    let ids: Vec<String> = (0..300).map(|row| (10_000 + row / 3).to_string()).collect();
    for name in ["patient_id", "subjectId", "ssn"] {
        let (kind, notes) = read(name, &ids);
        assert_eq!(kind, Some("continuous"));
        assert!(notes.contains(&format!("(`read.kind` {name}=ignore) or name rows by it (`read.id` {name})")), "{notes}");
    }
    assert_eq!(read("height", &ids), (Some("continuous"), String::new()));
}

#[test]
fn dates_are_left_out_even_if_they_repeat_and_a_few_are_labels() {
    let dates = |style: &dyn Fn(usize) -> String| -> Vec<String> { (0..400).map(|row| style(row * 7 % 25 + 1)).collect() };
    for cells in [
        dates(&|day| format!("2018-09-{day:02}")),
        dates(&|day| format!("{day}.9.2018")),
        dates(&|day| format!("{day}/09/2018 12:30")),
        dates(&|day| format!("9/{day}/2018")),
        dates(&|day| format!("2018/09/{day:02}")),
        dates(&|day| format!("September {day}, 2018")),
        dates(&|day| if day == 3 { "unknown".to_owned() } else { format!("{day} Sep 2018") }),
    ] {
        let (kind, notes) = read("when", &cells);
        assert_eq!(kind, None, "{notes}");
        assert!(notes.contains("holds dates or times"), "{notes}");
    }
    let few: Vec<String> = (0..400).map(|row| format!("{}-2018", ["Jan", "Feb", "Mar"][row % 3])).collect();
    let (kind, notes) = read("month", &few);
    assert_eq!(kind, Some("categorical"));
    assert!(notes.contains("a few dates or times") && notes.contains("`read.kind` month=ignore"), "{notes}");
    let told = table("when", &dates(&|day| format!("2018-09-{day:02}")))
        .open(&ReadOptions::default().kind("when", KindOverride::Categorical));
    assert_eq!(told.unwrap().schema().columns()[0].kind.n_states(), Some(25));
}

#[test]
fn free_text_and_names_draw_a_note() {
    let remarks: Vec<String> = (0..400)
        .map(|row| if row % 9 < 4 { format!("the patient came for the {row}th time and left") } else { String::new() })
        .collect();
    let (kind, notes) = read("remark", &remarks);
    assert_eq!(kind, None, "every text is another: {notes}");
    assert!(notes.contains("it looks like free text (180 different labels in 180 cells)"), "{notes}");
    let repeated: Vec<String> = (0..400).map(|row| format!("the patient came for the {}th time and left", row / 3)).collect();
    let (kind, notes) = read("remark", &repeated);
    assert_eq!(kind, Some("categorical"));
    assert!(notes.contains("looks like free text (134 different texts)") && notes.contains("`read.min_count` N"), "{notes}");
    let names: Vec<String> =
        (0..400).map(|row| if row % 2 == 0 { "ann".to_owned() } else { format!("name{}", row / 4) }).collect();
    let (_, notes) = read("name", &names);
    assert!(notes.contains("101 labels, most of which occur once or twice; leave it out (`read.kind` name=ignore)"), "{notes}");
}

#[test]
fn numbers_with_one_symbol_are_numbers() {
    let rates: Vec<String> = (0..200).map(|row| format!("{}%", row % 80)).collect();
    let (kind, notes) = read("rate", &rates);
    assert_eq!(kind, Some("continuous"));
    assert!(notes.contains("has numbers with %: \"0%\" is read as 0"), "{notes}");
    let dataset = table("rate", &rates).read(&ReadOptions::default()).unwrap();
    assert_eq!(numbers(&dataset)[7][0], 7.0);
    let prices: Vec<String> = (0..200).map(|row| format!("-€1.{:03},50", row * 5)).collect();
    let fixture = table("price", &prices);
    let dataset = fixture.read(&ReadOptions::default()).unwrap();
    assert_eq!(numbers(&dataset)[3][0], -1015.5);
    let few: Vec<String> = (0..200).map(|row| format!("{}%", [7, 19][row % 2])).collect();
    let dataset = table("tax", &few).read(&ReadOptions::default()).unwrap();
    assert_eq!(dataset.schema().columns()[0].kind, Kind::Categorical { labels: vec!["19%".into(), "7%".into()] });
    let shares: Vec<String> = (0..200).map(|row| if row % 2 == 0 { format!("{row}%") } else { format!("0.{row}") }).collect();
    assert_eq!(read("share", &shares).0, None, "12% and 0.12 may be the same");
}

#[test]
fn values_that_mean_missing_are_missing() {
    let text = "age,smokes,code,id\n31.5,yes,1,999\n999,unknown,2,7\n-99.0,no,999,8\n45,yes,1,9\n";
    let options = ReadOptions::default().na("*", "999").na("age", "-99").na("smokes", "unknown").id("id").carry_keys(true);
    let fixture = Fixture::new("t.csv", text);
    let dataset = fixture.read(&options).unwrap();
    let expected = [["31.5", "yes", "1"], ["", "", "2"], ["", "no", ""], ["45", "yes", "1"]];
    assert_eq!(texts(&dataset), expected);
    // With a model's schema, too, and where the look at the columns keeps the cells.
    assert_eq!(texts(&fixture.read(&options.clone().schema(dataset.schema().clone())).unwrap()), expected);
    assert_eq!(texts(&fixture.read(&options.clone().keep_bytes(1 << 20)).unwrap()), expected);
    let mut reader = fixture.open(&options).unwrap();
    reader.next_batch().unwrap();
    assert_eq!(reader.carried().cell(0, 0), Some("999"), "ids are never missing");
    let unknown = fixture.error(&ReadOptions::default().na("agee", "99")).to_string();
    assert!(unknown.contains("`read.na`") && unknown.contains("did you mean \"age\""), "{unknown}");
    let sparse = Fixture::new("t.svm", "1 1:1 2:3\n").error(&ReadOptions::default().na("*", "99")).to_string();
    assert!(sparse.contains("`read.na`: it names values of the columns of a table"), "{sparse}");
}

#[test]
fn members_of_groups_that_are_rolled_up_may_be_missing() {
    let fixture = Fixture::new("t.csv", "a,b,c\n1,-9,1\n0,0,0\n-9,0,1\n");
    let map = fixture.add("map.csv", "item,group\na,g\nb,g\n");
    let file = crate::data::ItemFile::new(map);
    let dataset = fixture.read(&ReadOptions::default().rollup(file).na("*", "-9")).unwrap();
    assert_eq!(texts(&dataset), [["1", "1"], ["0", "0"], ["", "1"]]);
}

#[test]
fn codes_for_missing_values_draw_a_note() {
    let ages: Vec<String> =
        (0..300).map(|row| if row % 40 == 0 { "99".to_owned() } else { (18 + row * 7 % 60).to_string() }).collect();
    let (_, notes) = read("age", &ages);
    assert_eq!(notes, "column \"age\" has values far from the others (99), which may mean missing; if so, add `read.na` age=99");
    let told = table("age", &ages).open(&ReadOptions::default().na("age", "99")).unwrap();
    assert!(told.warnings().is_empty(), "{:?}", told.warnings());
    let two = ages.iter().fold("a,b,x\n".to_owned(), |text, age| text + &format!("{age},{age},{}\n", age.len()));
    let reader = Fixture::new("t.csv", two).open(&ReadOptions::default()).unwrap();
    let expected = "columns \"a\", \"b\" have values far from the others (99), which may mean missing; if so, add `read.na` NAME=99 for each";
    assert_eq!(reader.warnings(), [expected]);
    let weights: Vec<String> =
        (0..3000).map(|row| if row % 40 == 0 { "-9".to_owned() } else { format!("{}.{}", 40 + row % 60, row) }).collect();
    assert!(read("weight", &weights).1.contains("(-9), which may mean missing"));
    let shares: Vec<String> = (0..300).map(|row| (row % 100).to_string()).collect();
    assert_eq!(read("share", &shares).1, "");
}

#[test]
fn times_of_tables_are_refused() {
    let mut options = ReadOptions::default();
    options.times.column = Some("plain".to_owned());
    let problem = table("x", &["1".to_owned(), "2".to_owned()]).error(&options).to_string();
    assert!(problem.contains("`read.time`: only events have times"), "{problem}");
}
