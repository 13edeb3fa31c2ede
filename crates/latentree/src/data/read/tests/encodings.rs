//! Text that is not UTF-8.

use super::*;

const TEXT: &str = "größe,name\n1,é\n2,“ü”\n1,é\n";

fn utf16(text: &str, mark: bool, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let mark = mark.then_some(0xfeff);
    mark.into_iter().chain(text.encode_utf16()).flat_map(to_bytes).collect()
}

fn windows(text: &str) -> Vec<u8> {
    let byte = |letter: char| match letter {
        '“' => 0x93,
        '”' => 0x94,
        letter => u8::try_from(u32::from(letter)).unwrap(),
    };
    text.chars().map(byte).collect()
}

#[test]
fn a_named_encoding_is_read_as_its_utf8() {
    let expected = Fixture::new("t.csv", TEXT).read(&ReadOptions::default()).unwrap();
    for (name, bytes) in [
        ("utf-8", TEXT.as_bytes().to_vec()),
        ("utf-16", utf16(TEXT, true, u16::to_le_bytes)),
        ("UTF-16", utf16(TEXT, true, u16::to_be_bytes)),
        ("utf-16le", utf16(TEXT, false, u16::to_le_bytes)),
        ("utf-16be", utf16(TEXT, false, u16::to_be_bytes)),
        ("windows-1252", windows(TEXT)),
        ("Latin-1", windows(TEXT)),
        ("cp1252", windows(TEXT)),
    ] {
        let options = ReadOptions::default().encoding(name.parse().unwrap());
        let dataset = Fixture::new("t.csv.gz", gzip(&bytes)).read(&options).unwrap();
        assert_eq!(dataset.schema(), expected.schema(), "{name}");
        assert_eq!(numbers(&dataset), numbers(&expected), "{name}");
    }
}

#[test]
fn another_encoding_is_named_in_the_error() {
    for (bytes, parts) in [
        (utf16(TEXT, true, u16::to_le_bytes), ["UTF-16", "`read.encoding` utf-16"]),
        (utf16(TEXT, true, u16::to_be_bytes), ["UTF-16", "`read.encoding` utf-16"]),
        (utf16(TEXT, false, u16::to_le_bytes), ["UTF-16", "`read.encoding` utf-16le"]),
        (utf16(TEXT, false, u16::to_be_bytes), ["UTF-16", "`read.encoding` utf-16be"]),
        (windows("größe,b\n1,2\n"), ["column 1", "`read.encoding` latin-1"]),
        (windows("a,b\n1,größe\n"), ["\"b\"", "`read.encoding` latin-1"]),
        (windows("a,b\n1,“x”\n"), ["\"b\"", "`read.encoding` windows-1252"]),
        (b"a,b\n1,\xc1\xe5\xeb\xfb\xe9\n".to_vec(), ["\"b\"", "windows-1251"]),
    ] {
        let message = Fixture::new("t.csv", &bytes).error(&ReadOptions::default()).to_string();
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
}

#[test]
fn an_encoding_that_does_not_fit_is_an_error() {
    let wrong = ReadOptions::default().encoding("utf-16".parse().unwrap());
    let odd = [utf16(TEXT, true, u16::to_le_bytes), vec![0, 0xd8, b'a', 0]].concat();
    assert!(Fixture::new("t.csv", odd).error(&wrong).to_string().contains("is not UTF-16LE"), "lone surrogate");
    let utf8 = ReadOptions::default().encoding("utf-8".parse().unwrap());
    assert!(Fixture::new("t.csv", windows(TEXT)).error(&utf8).to_string().contains("not UTF-8"));
    let message = Fixture::new("t.parquet", "PAR1").error(&utf8).to_string();
    assert!(message.contains("read.encoding") && message.contains("not a text file"), "{message}");
    let message = "klingon".parse::<crate::data::TextEncoding>().unwrap_err().to_string();
    assert!(message.contains("read.encoding") && message.contains("utf-16"), "{message}");
}
