//! Text that is not UTF-8: decoding by name, and a guess of the encoding if none is given.

use std::io::{self, BufRead, BufReader, Read};
use std::str::FromStr;

use crate::error::{Error, Result, Shortened};

/// Bytes decoded at once.
const BLOCK: usize = 1 << 16;

/// The encoding of a text file, by the name that the WHATWG Encoding Standard or common usage gives it.
///
/// # Example
/// ```
/// use latentree::data::TextEncoding;
/// let encoding: TextEncoding = "latin-1".parse()?;
/// assert_eq!(encoding.name(), "windows-1252");
/// assert!("klingon".parse::<TextEncoding>().is_err());
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextEncoding(&'static encoding_rs::Encoding);

impl TextEncoding {
    /// The name in the standard; Latin-1 is `windows-1252`, which has the same letters and more.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The text as UTF-8. A byte order mark goes before the name.
    pub(super) fn decode(self, inner: Box<dyn BufRead + Send>) -> Box<dyn BufRead + Send> {
        let decoding = Decoding {
            inner,
            name: self.name(),
            decoder: self.0.new_decoder(),
            block: vec![0; BLOCK],
            start: 0,
            end: 0,
            is_done: false,
        };
        Box::new(BufReader::with_capacity(BLOCK, decoding))
    }
}

impl FromStr for TextEncoding {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let lower = name.trim().to_ascii_lowercase().replace('_', "-");
        let label = match lower.as_str() {
            "latin-1" | "latin1" | "ansi" | "windows1252" => "windows-1252",
            "utf-8-sig" => "utf-8",
            "utf16" | "utf-16-le" => "utf-16le",
            "utf-16-be" => "utf-16be",
            other => other,
        };
        let known = encoding_rs::Encoding::for_label(label.as_bytes());
        known.filter(|known| *known != encoding_rs::REPLACEMENT).map(Self).ok_or_else(|| {
            let problem = format!(
                "{:?} is not a known encoding; known are utf-8, utf-16, latin-1, windows-1252, iso-8859-2, windows-1251, shift_jis, \
                 gb18030 and others of the WHATWG Encoding Standard",
                Shortened(name)
            );
            Error::option("read.encoding", problem)
        })
    }
}

struct Decoding {
    inner: Box<dyn BufRead + Send>,
    name: &'static str,
    decoder: encoding_rs::Decoder,
    /// Decoded text, of which `start..end` has not been read.
    block: Vec<u8>,
    start: usize,
    end: usize,
    is_done: bool,
}

impl Decoding {
    fn fill(&mut self) -> io::Result<()> {
        while self.start == self.end && !self.is_done {
            let input = self.inner.fill_buf()?;
            let is_last = input.is_empty();
            let (result, n_read, n_written) = self.decoder.decode_to_utf8_without_replacement(input, &mut self.block, is_last);
            self.inner.consume(n_read);
            (self.start, self.end) = (0, n_written);
            match result {
                encoding_rs::DecoderResult::Malformed(..) => {
                    let problem = format!("its text is not {}; name another encoding (`read.encoding`)", self.name);
                    return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
                }
                encoding_rs::DecoderResult::InputEmpty => self.is_done = is_last,
                encoding_rs::DecoderResult::OutputFull => {}
            }
        }
        Ok(())
    }
}

impl Read for Decoding {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.fill()?;
        let n_bytes = buffer.len().min(self.end - self.start);
        buffer[..n_bytes].copy_from_slice(&self.block[self.start..self.start + n_bytes]);
        self.start += n_bytes;
        Ok(n_bytes)
    }
}

/// What bytes with zeros among them look like, if they look like text of two bytes a character.
pub(super) fn wide_text(first: &[u8]) -> Option<&'static str> {
    if matches!(first, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        return Some("utf-16");
    }
    let pairs = first.as_chunks::<2>().0;
    let zeros = |position: usize| pairs.iter().filter(|pair| pair[position] == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let (few, most) = (pairs.len() / 20, pairs.len() * 2 / 5);
    if pairs.len() < 4 {
        None
    } else if odd > most && even <= few {
        Some("utf-16le")
    } else if even > most && odd <= few {
        Some("utf-16be")
    } else {
        None
    }
}

/// The problem of a text that is not UTF-8, with the encoding that it seems to have.
pub(super) fn not_utf8(text: &[u8]) -> String {
    let text = &text[..text.len().min(1000)];
    let high = text.iter().filter(|byte| !byte.is_ascii()).count();
    let letters = text.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let neighbours = text.windows(2).filter(|pair| !pair[0].is_ascii() && !pair[1].is_ascii()).count();
    let shown = String::from_utf8_lossy(text);
    let shown = Shortened(&shown);
    // Western texts have single letters with accents among plain ones.
    if high > letters && neighbours > 0 {
        return format!(
            "{shown:?} is not UTF-8 text, nor does it look Western European; name its encoding, such as `read.encoding` windows-1251, \
             shift_jis or gb18030, or save the file as UTF-8"
        );
    }
    // The control characters of Latin-1 are letters and quotes in Windows-1252.
    let is_windows = text.iter().any(|byte| (0x80..0xa0).contains(byte));
    let (looks, name) = if is_windows { ("Windows-1252", "windows-1252") } else { ("Latin-1", "latin-1") };
    format!("{shown:?} is not UTF-8 text; it looks like {looks}: add `read.encoding` {name}, or save the file as UTF-8")
}
