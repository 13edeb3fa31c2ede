//! Mistakes with text and `topics`.

use super::{Case, case};

const LATIN: &[u8] = b"un caf\xe9 noir\n";

fn text(name: &'static str, arguments: &str) -> Case {
    case(name, arguments)
        .file("poem.txt", "Canto I\nred wine and bread\nCanto II\nwhite wine and fish\n")
        .file("latin.txt", LATIN)
        .file("posts.csv", "id,day,text\n1,2020-01-01,red wine\n2,2020-01-02,red fish\n")
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        text("text in another encoding", "topics latin.txt -o m.json").says(["latin.txt", "byte 7", "--encoding latin-1"]),
        text("unknown encoding of text", "topics poem.txt --encoding klingon -o m.json").says(["--encoding", "latin-1"]),
        text("a split that never matches", "topics poem.txt --split ^Book -o m.json").says(["--split", "poem.txt", "Canto I"]),
        text("a split that is no expression", "topics poem.txt --split ( -o m.json").says(["--split", "regular expression"]),
        text("a split of a column", "topics posts.csv --column text --split x -o m.json").says(["--split"]),
        text("unknown column of texts", "topics posts.csv --column body -o m.json").says(["--column", "body"]),
        text("a table without its column", "topics posts.csv -o m.json").says(["--column", "posts.csv"]),
        text("a table described as text", "describe posts.csv --text").says(["--column", "posts.csv is a table"]),
        text("a table learned as text", "learn posts.csv --text -o m.json").says(["--column", "posts.csv is a table"]),
        text("a table scored as text", "score model.json posts.csv --text").says(["--column", "posts.csv is a table"]),
        text("a table inferred as text", "infer model.json posts.csv --text -o m.csv").says(["--column", "posts.csv is a table"]),
        text("unknown stop words", "topics poem.txt --stop xx -o m.json").says(["--stop", "en, it", "none"]),
        text("one document", "topics poem.txt -o m.json").says(["poem.txt", "--split"]),
        text("text of two bytes a letter", "topics w.txt -o m.json")
            .file("w.txt", "some words".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
            .says(["w.txt", "--encoding utf-16le"]),
        text("no such text", "topics none.txt -o m.json").says(["none.txt"]),
        text("a folder without text", "topics folder -o m.json").says(["folder"]),
        text("no words", "topics n.txt -o m.json").file("n.txt", "1 2 3\n").says(["n.txt", "no words"]),
        text("an empty file", "topics n.txt -o m.json").file("n.txt", "").says(["n.txt", "no words"]),
        text("a binary file", "topics n.bin -o m.json").file("n.bin", b"\0\x01\x02\0abc".to_vec()).says(["n.bin", "binary"]),
        text("words in too few documents", "topics poem.txt --split Canto --min-df 9 -o m.json").says(["--min-df", "is left"]),
        text("an odd share of documents", "topics poem.txt --max-df 1.5 -o m.json").says(["--max-df", "share"]),
        text("too much coverage", "topics poem.txt --coverage 7 -o m.json").says(["--coverage"]),
        text("unknown model of words", "topics poem.txt --model bert -o m.json").says(["--model", "single-topic"]),
        text("no topics", "topics poem.txt -k 0 -o m.json").says(["--topics"]),
        text("alpha of a tree", "topics poem.txt --alpha 1 -o m.json").says(["--alpha", "lda"]),
        text("learner of lda", "topics poem.txt --model lda --structure nj -o m.json").says(["--structure"]),
        text("dates of files", "topics poem.txt --dates day -o m.json").says(["--dates", "--column"]),
        text("dates that are none", "topics p.csv --column text --dates n --min-df 1 -o m.json")
            .file("p.csv", "n,text\nx1,red wine\nx2,red fish\nx3,white fish\n")
            .says(["--dates", "row 1", "\"x1\""]),
        text("words that never go together", "topics p.csv --column text --min-df 1 --stop none -o m.json")
            .file("p.csv", "n,text\n1,red\n2,blue\n3,green\n4,white\n")
            .says(["no words go together"]),
        text("unknown dates", "topics posts.csv --column text --dates when -o m.json").says(["--dates", "when"]),
        text("topics as newick", "topics poem.txt -o m.nwk").says(["-o", ".json"]),
        text("the model is the text", "topics poem.txt -o poem.txt").says(["poem.txt"]),
        text("options of text without it", "learn data.csv --stop en -o m.json").says(["--stop", "--text"]),
        text("events of text", "learn poem.txt --text --events a,b -o m.json").says(["--events"]),
        text("an id of files", "learn poem.txt --text --id a -o m.json").says(["--id"]),
    ]
}
