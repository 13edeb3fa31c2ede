//! Parts of a table: a directory or a pattern read as one.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::data::{BatchSource, PartFiles, UnseenPolicy};

/// A folder with these files in it; a name may have folders.
struct Folder {
    dir: TempDir,
}

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self { dir: tempfile::tempdir().unwrap() };
        files.iter().for_each(|(name, text)| folder.write(name, text));
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn open(&self, name: &str, options: &ReadOptions) -> Result<Reader> {
        open(&self.path(name), options)
    }

    fn read(&self, name: &str, options: &ReadOptions) -> Result<Dataset> {
        Dataset::read(&mut self.open(name, options)?)
    }

    /// The message of reading it all.
    fn message(&self, name: &str, options: &ReadOptions) -> String {
        self.read(name, options).expect_err("it should not be read").to_string()
    }

    /// The files that a path stands for, below the folder.
    fn found(&self, name: &str) -> Vec<String> {
        let parts = PartFiles::find(&self.path(name)).unwrap().expect("it is a directory or a pattern");
        let below = parts.files().iter().map(|path| path.strip_prefix(self.dir.path()).unwrap().to_str().unwrap().to_owned());
        below.collect()
    }
}

fn plain() -> ReadOptions {
    ReadOptions::default()
}

#[test]
fn parts_are_sorted_and_what_is_no_part_is_left_out() {
    let folder = Folder::new(&[
        ("d/b.csv", "x\n1\n"),
        ("d/a/z.csv", "x\n1\n"),
        ("d/a.csv", "x\n1\n"),
        ("d/c.tsv.gz", ""),
        ("d/_SUCCESS", ""),
        ("d/_metadata", ""),
        ("d/.hidden.csv", ""),
        ("d/.a.csv.crc", ""),
        ("d/b.csv.crc", ""),
        ("d/_delta_log/0.csv", ""),
        ("d/.git/x.csv", ""),
        ("d/_k=1/x.csv", "x\n1\n"),
    ]);
    assert_eq!(folder.found("d"), ["d/_k=1/x.csv", "d/a.csv", "d/a/z.csv", "d/b.csv", "d/c.tsv.gz"]);
    assert_eq!(folder.found("d/*.csv"), ["d/a.csv", "d/b.csv"]);
    assert_eq!(folder.found("d/[!b].csv"), ["d/a.csv"]);
    assert_eq!(folder.found("**/?.csv"), ["d/_k=1/x.csv", "d/a.csv", "d/a/z.csv", "d/b.csv"]);
    assert_eq!(folder.found("*/a*"), ["d/a.csv", "d/a/z.csv"], "a folder that matches is looked through");
    assert_eq!(folder.found("d/_delta*/*"), ["d/_delta_log/0.csv"], "a pattern that asks for it");
    assert_eq!(folder.found("d/**"), folder.found("d"));
    assert_eq!(folder.found("**/**/b.csv"), ["d/b.csv"]);
    folder.write("d/[!b].csv", "x\n2\n");
    assert!(PartFiles::find(&folder.path("d/[!b].csv")).unwrap().is_none(), "a file of this very name");
    assert!(PartFiles::find(Path::new("-")).unwrap().is_none());
    assert!(PartFiles::find(&folder.path("none.csv")).unwrap().is_none());
}

#[cfg(unix)]
#[test]
fn links_are_followed_but_not_in_circles() {
    let folder = Folder::new(&[("d/a.csv", "x\n1\n"), ("e/b.csv", "x\n1\n")]);
    std::os::unix::fs::symlink("../e", folder.path("d/e")).unwrap();
    std::os::unix::fs::symlink("../d", folder.path("d/d")).unwrap();
    assert_eq!(folder.found("d"), ["d/a.csv", "d/e/b.csv"]);
    assert_eq!(folder.found("d/**/*.csv"), ["d/a.csv", "d/e/b.csv"]);
    std::os::unix::fs::symlink("nowhere", folder.path("d/c.csv")).unwrap();
    let message = folder.message("d", &plain());
    assert!(message.contains("cannot read") && message.contains("c.csv"), "{message}");
}

#[test]
fn files_that_may_be_no_data_are_named_and_nothing_is_clear() {
    let folder = Folder::new(&[("d/a.csv", "x\n1\n"), ("d/s/README.md", "x"), ("d/b.csv.bz2", "x"), ("d/part-0", "x\n1\n")]);
    let message = folder.message("d", &plain());
    for said in ["3 files have no table extension", "\"b.csv.bz2\", \"part-0\", \"s/README.md\"", "d/**/*.csv'"] {
        assert!(message.contains(said), "{message}");
    }
    assert_eq!(folder.found("d/part-*"), ["d/part-0"], "a name without ending that is asked for");
    assert!(folder.message("d/*", &plain()).contains("no table extension"));
    std::fs::create_dir(folder.path("empty")).unwrap();
    assert!(folder.message("empty", &plain()).contains("the directory holds no data files"));
    assert!(folder.message("d/*.parquet", &plain()).contains("no file matches"));
    folder.write("sparse/a.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n");
    let message = folder.message("sparse", &plain());
    assert!(message.contains("a.mtx") && message.contains("a sparse file cannot be a part"), "{message}");
}

#[test]
fn an_output_is_known_to_become_a_part() {
    let folder = Folder::new(&[("d/a.csv", "x\n1\n"), ("e/a.csv", "x\n1\n")]);
    let takes = |data: &str, output: &str| PartFiles::find(&folder.path(data)).unwrap().unwrap().would_take(&folder.path(output));
    for (data, output) in
        [("d", "d/out.csv"), ("d", "d/m.json"), ("d/*.csv", "d/new.csv"), ("*", "d/out.csv"), ("**/*.csv", "d/out.csv")]
    {
        assert!(takes(data, output), "{data} {output}");
    }
    for (data, output) in
        [("d", "e/out.csv"), ("d", "d/_m.json"), ("d/*.csv", "d/m.json"), ("d/?.csv", "d/out.csv"), ("d", "no/x")]
    {
        assert!(!takes(data, output), "{data} {output}");
    }
}

#[test]
fn labels_and_columns_of_all_parts_are_joined() {
    let folder = Folder::new(&[
        ("d/1.csv", "color,size\nred,1.5\nblue,2\n"),
        ("d/2.tsv", "size\tcolor\n3\tgreen\n"),
        ("d/3.csv", "extra,color\n1,red\n0,\n"),
        ("d/4.csv", ""),
        ("d/5.csv", "color,size,extra\n"),
    ]);
    let mut reader = folder.open("d", &plain().batch_rows(2)).unwrap();
    let dataset = Dataset::read(&mut reader).unwrap();
    assert_eq!(column_names(&dataset), ["color", "size", "extra"]);
    assert_eq!(kind_names(&reader), ["categorical", "continuous", "binary"]);
    assert_eq!(texts(&dataset), [["red", "1.5", ""], ["blue", "2", ""], ["green", "3", ""], ["red", "", "1"], ["", "", "0"]]);
    let starts: Vec<(u64, usize)> = dataset.batches().iter().map(|batch| (batch.first_row, batch.n_rows)).collect();
    assert_eq!(starts, [(0, 2), (2, 2), (4, 1)], "batches go on over the ends of parts");
    let [empty, lacking] = reader.warnings() else { panic!("{:?}", reader.warnings()) };
    assert!(empty.contains("1 of 5 parts is empty") && empty.contains("4.csv"), "{empty}");
    assert!(lacking.contains("2 columns are not in every part") && lacking.contains("\"size\" (not in 1 of 4"), "{lacking}");
    assert!(lacking.contains("\"extra\" (not in 2 of 4: such as ") && lacking.contains("1.csv"), "{lacking}");
    reader.rewind().unwrap();
    assert_eq!(texts(&Dataset::read(&mut reader).unwrap()), texts(&dataset));
}

#[test]
fn folders_give_columns_whose_kind_is_inferred() {
    let folder = Folder::new(&[
        ("d/year=2023/region=eu/a.csv", "x\n0\n1\n"),
        ("d/year=2024/region=us%20east/a.csv", "x,year\n1,1900\n"),
        ("d/year=2024/region=__HIVE_DEFAULT_PARTITION__/a.csv", "x\n0\n"),
    ]);
    let rows = [["0", "2023", "eu"], ["1", "2023", "eu"], ["0", "2024", ""], ["1", "2024", "us east"]];
    let mut reader = folder.open("d", &plain()).unwrap();
    let dataset = Dataset::read(&mut reader).unwrap();
    assert_eq!(column_names(&dataset), ["x", "year", "region"]);
    assert_eq!(texts(&dataset), rows);
    assert_eq!(kind_names(&reader), ["binary", "categorical", "categorical"]);
    assert!(
        reader.warnings().len() == 1 && reader.warnings()[0].contains("\"year\" comes from directory names"),
        "{:?}",
        reader.warnings()
    );
    assert_eq!(texts(&folder.read("d/year=*/*/a.csv", &plain()).unwrap()), rows);
    assert_eq!(column_names(&folder.read("d/year=2023", &plain()).unwrap()), ["x", "region"], "only folders below the path");
    let fitted = folder.read("d/*", &plain().schema(Arc::clone(dataset.schema()))).unwrap();
    assert_eq!(texts(&fitted), rows);
}

#[test]
fn errors_name_the_part_and_its_row() {
    let folder = Folder::new(&[("d/1.csv", "a,b\n1,2\n3,4\n"), ("d/2.csv", "a,b\n5,6\n7\n")]);
    let message = folder.message("d", &plain());
    assert!(message.contains("2.csv, line 3, row 2: ") && message.contains("1 fields where the header has 2"), "{message}");
    folder.write("d/2.csv", "a,b\n5,6\n7.5,inf\n");
    let message = folder.message("d", &plain());
    assert!(message.contains("2.csv, row 2, column \"b\"") && message.contains("infinite"), "{message}");
    folder.write("d/2.csv", "a\n5\n");
    let message = folder.message("d", &plain().weights("b"));
    assert!(message.contains("2.csv, row 1, column \"b\": the row has no weight"), "{message}");
    folder.write("d/2.csv", b"a,b\n1,\xff\xfe\n");
    assert!(folder.message("d", &plain()).contains("2.csv, line 2, row 1, column \"b\""));
    folder.write("d/2.csv", "a,a\n1,2\n");
    assert!(folder.message("d", &plain()).contains("2.csv, line 1, column \"a\""));
    folder.write("d/2.csv", "a,b\n1,2\n");
    let model = Arc::clone(folder.read("d", &plain().kind("a", crate::data::KindOverride::Categorical)).unwrap().schema());
    folder.write("d/2.csv", "b,a\n2,9\n");
    let message = folder.message("d", &plain().schema(Arc::clone(&model)).unseen(UnseenPolicy::Error));
    assert!(message.contains("2.csv, line 2, row 1, column \"a\""), "{message}");
    let mut reader = folder.open("d", &plain().schema(model)).unwrap();
    Dataset::read(&mut reader).unwrap();
    assert_eq!(reader.unseen().labels[0].cells, 1);
}

#[test]
fn parts_without_header_are_matched_by_position() {
    let folder = Folder::new(&[("d/k=a/1.csv", "0,5.5\n1,6\n"), ("d/k=b/2.csv", "1,7\n")]);
    let options = plain().header(false);
    let dataset = folder.read("d", &options).unwrap();
    assert_eq!(column_names(&dataset), ["x1", "x2", "k"]);
    assert_eq!(texts(&dataset)[2], ["1", "7", "b"]);
    folder.write("names.txt", "one\ntwo\n");
    assert_eq!(column_names(&folder.read("d", &options.clone().names(folder.path("names.txt"))).unwrap()), ["one", "two", "k"]);
    folder.write("d/k=b/2.csv", "1,7,8\n");
    let message = folder.message("d", &options);
    assert!(message.contains("2.csv: 3 columns where ") && message.contains("1.csv has 2"), "{message}");
    let message = folder.message("d", &plain().names(folder.path("names.txt")));
    assert!(message.contains("read.names") && message.contains("1.csv"), "{message}");
}

#[test]
fn events_of_one_row_may_be_in_several_parts() {
    let parts = [("d/1.csv", "id,code\n1,A\n2,B\n"), ("d/2.csv", "code,id\nC,1\nB,3\n")];
    let folder = Folder::new(&parts);
    let options = plain().events("id", "code", None).carry_keys(true);
    let dataset = folder.read("d", &options).unwrap();
    assert_eq!(column_names(&dataset), ["A", "B", "C"]);
    assert_eq!(numbers(&dataset), [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]);
    folder.write("d/2.csv", "id\n3\n");
    let message = folder.message("d", &options);
    assert!(message.contains("2.csv: the part has no column \"code\", which `read.events` names"), "{message}");
    // Codes may come from folders.
    let folder = Folder::new(&[("d/code=A/1.csv", "id\n1\n2\n"), ("d/code=B/1.csv", "id\n2\n")]);
    assert_eq!(numbers(&folder.read("d", &options).unwrap()), [[1.0, 0.0], [1.0, 1.0]]);
}

#[test]
fn ids_rare_labels_and_encodings_apply_to_all_parts() {
    let folder = Folder::new(&[("d/1.csv", "id,x,w\na,u,1\nb,u,2\n"), ("d/2.csv", "w,x,id\n3,v,c\n4,u,d\n5,t,e\n")]);
    let mut reader = folder.open("d", &plain().id("id").weights("w").min_count(2)).unwrap();
    let batch = reader.next_batch().unwrap().unwrap();
    let ids: Vec<_> = (0..5).map(|row| reader.carried().cell(row, 0).unwrap().to_owned()).collect();
    assert_eq!(ids, ["a", "b", "c", "d", "e"]);
    assert_eq!(batch.weights.as_deref(), Some(&[1.0, 2.0, 3.0, 4.0, 5.0][..]));
    assert_eq!(reader.schema().columns()[0].kind.labels().unwrap(), ["u", crate::data::OTHER_LABEL]);
    folder.write("e/1.csv", b"x\nfa\xe7ade\n");
    folder.write("e/2.csv", b"x\n\xe9t\xe9\n");
    let dataset = folder.read("e", &plain().encoding("latin-1".parse().unwrap())).unwrap();
    assert_eq!(texts(&dataset), [["façade"], ["été"]]);
}

#[test]
fn the_digest_tells_contents_and_names() {
    let digest = |files: &[(&str, &str)], data: &str| {
        let folder = Folder::new(files);
        let mut reader = folder.open(data, &plain()).unwrap();
        Dataset::read(&mut reader).unwrap();
        reader.digest().unwrap()
    };
    let first = digest(&[("d/1.csv", "x\n1\n"), ("d/2.csv", "x\n0\n")], "d");
    assert!(first.starts_with("sha256:") && first.len() == 71);
    assert_eq!(first, digest(&[("e/1.csv", "x\n1\n"), ("e/2.csv", "x\n0\n"), ("e/_SUCCESS", "")], "e"), "not where they are");
    assert_eq!(first, digest(&[("e/1.csv", "x\n1\n"), ("e/2.csv", "x\n0\n")], "e/*.csv"));
    for other in [
        [("d/1.csv", "x\n1\n"), ("d/2.csv", "x\n1\n")],
        [("d/1.csv", "x\n1\n"), ("d/3.csv", "x\n0\n")],
        [("d/1.csv", "x\n0\n"), ("d/2.csv", "x\n1\n")],
    ] {
        assert_ne!(first, digest(&other, "d"), "{other:?}");
    }
    let folder = Folder::new(&[("d/1.csv", "x\n1\n"), ("d/2.csv", "x\n0\n")]);
    let reader = folder.open("d", &plain()).unwrap();
    assert_eq!(reader.reopen(&plain()).unwrap().digest(), reader.digest());
}

#[cfg(feature = "columnar")]
mod columnar {
    use arrow_array::{ArrayRef, Date32Array, Float64Array, Int64Array, NullArray, RecordBatch, StringArray};
    use arrow_ipc::writer::FileWriter;
    use parquet::arrow::ArrowWriter;

    use super::*;

    fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
        let batch =
            RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    fn arrow(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
        let batch =
            RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
        let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    fn texts_of(values: &[&str]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    #[test]
    fn formats_and_types_may_differ_between_parts() {
        let folder = Folder::new(&[("d/3.csv", "n,t\n9.5,c\n")]);
        let whole: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let day: ArrayRef = Arc::new(Date32Array::from(vec![1, 2]));
        folder.write("d/1.parquet", parquet(vec![("n", whole), ("t", Arc::new(NullArray::new(2))), ("day", day)]));
        let real: ArrayRef = Arc::new(Float64Array::from(vec![0.5]));
        folder.write("d/2.arrow", arrow(vec![("t", texts_of(&["b"])), ("n", real)]));
        let mut reader = folder.open("d", &plain()).unwrap();
        let dataset = Dataset::read(&mut reader).unwrap();
        assert_eq!(column_names(&dataset), ["n", "t"]);
        assert_eq!(texts(&dataset), [["1", ""], ["2", ""], ["0.5", "b"], ["9.5", "c"]]);
        let [day] = reader.warnings() else { panic!("{:?}", reader.warnings()) };
        assert!(day.contains("\"day\"") && day.contains("dates"), "{day}");
        assert!(reader.digest().is_some());
        // With a model's schema the empty column is missing, not an error.
        let fitted = folder.read("d/1*", &plain().schema(Arc::clone(dataset.schema()))).unwrap();
        assert_eq!(texts(&fitted), [["1", ""], ["2", ""]]);
    }

    #[test]
    fn a_part_without_any_wanted_column_still_has_its_rows() {
        for (name, bytes) in
            [("1.parquet", parquet(vec![("z", texts_of(&["p", "q"]))])), ("1.arrow", arrow(vec![("z", texts_of(&["p", "q"]))]))]
        {
            let folder = Folder::new(&[("d/k=2/2.csv", "a\n0\n1\n")]);
            folder.write(&format!("d/k=1/{name}"), bytes);
            let dataset = folder.read("d", &plain().kind("z", crate::data::KindOverride::Ignore)).unwrap();
            assert_eq!(texts(&dataset), [["", "1"], ["", "1"], ["0", "2"], ["1", "2"]], "{name}");
        }
    }

    #[test]
    fn a_damaged_part_and_parts_beside_text_without_header_are_named() {
        let folder = Folder::new(&[("d/1.csv", "x\n1\n")]);
        let bytes = parquet(vec![("x", texts_of(&["0", "1"]))]);
        folder.write("d/2.parquet", &bytes[..bytes.len() / 2]);
        let message = folder.message("d", &plain());
        assert!(message.contains("2.parquet") && message.contains("Parquet"), "{message}");
        folder.write("d/2.parquet", &bytes);
        assert_eq!(texts(&folder.read("d", &plain()).unwrap()), [["1"], ["0"], ["1"]]);
        let message = folder.message("d", &plain().header(false));
        assert!(message.contains("2.parquet: either this part or ") && message.contains("1.csv"), "{message}");
        let message = folder.message("d", &plain().encoding("latin-1".parse().unwrap()));
        assert!(message.contains("read.encoding") && message.contains("2.parquet"), "{message}");
        folder.write("d/2.parquet", "");
        assert!(folder.message("d", &plain()).contains("2.parquet"));
    }
}
