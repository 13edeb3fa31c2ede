//! Embeds data into a template to produce the page's file, safely for any content.
//!
//! Data are JSON in a `<script type="application/json">`, which a browser reads as text up to `</script`. In JSON, `<`, `>`,
//! `&`, U+2028 and U+2029 occur only in strings and may be written as `\u003c` and so on, so nothing in the data can end the
//! element, start a comment or be interpreted as markup. Exports are gzip in base64, decompressed by the browser on demand.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

/// A built front end: markup, style and script, with placeholders for the title and the data.
pub(in super::super) struct Template {
    html: &'static str,
    /// Placeholders of the data, in this order.
    places: &'static [&'static str],
}

/// Placeholder of the title.
const TITLE: &str = "__LATENTREE_TITLE__";

/// The page of a tree: the data for the first view, then the data loaded later.
pub(in super::super) const TREE: Template = Template {
    html: include_str!("template.html"),
    places: &["__LATENTREE_TREE__", "__LATENTREE_DETAILS__", "__LATENTREE_EXPORTS__"],
};

/// The page of groups of rows.
pub(in super::super) const CLUSTERS: Template =
    Template { html: include_str!("clusters.html"), places: &["__LATENTREE_CLUSTERS__"] };

/// Fills a template with a title and JSON for each placeholder.
pub(in super::super) fn fill(template: &Template, title: &str, data: &[&str]) -> String {
    const PLACED: &str = "the template has a place for everything";
    let length: usize = data.iter().map(|json| json.len()).sum();
    let mut out = String::with_capacity(template.html.len() + length + length / 16);
    let (before, mut rest) = template.html.split_once(TITLE).expect(PLACED);
    out.push_str(before);
    out.push_str(&escape_text(title));
    for (place, json) in template.places.iter().zip(data) {
        let (before, after) = rest.split_once(place).expect(PLACED);
        out.push_str(before);
        escape_json(json, &mut out);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Escapes JSON so that it keeps its meaning and contains nothing that a browser interprets as markup.
fn escape_json(json: &str, out: &mut String) {
    let mut clean = 0;
    for (at, c) in json.char_indices() {
        let escape = match c {
            '<' => "\\u003c",
            '>' => "\\u003e",
            '&' => "\\u0026",
            '\u{2028}' => "\\u2028",
            '\u{2029}' => "\\u2029",
            _ => continue,
        };
        out.push_str(&json[clean..at]);
        out.push_str(escape);
        clean = at + c.len_utf8();
    }
    out.push_str(&json[clean..]);
}

/// Escapes text for HTML, on one line.
fn escape_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Compresses text with gzip and encodes it in base64.
pub(super) fn packed(text: &str) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    let written = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    base64(&written.expect("a vector takes all bytes"))
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let six = (word >> (18 - 6 * digit)) & 63;
            out.push(if digit <= chunk.len() { char::from(DIGITS[six as usize]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_data_is_markup_and_the_json_means_the_same() {
        let names = [
            "</script><script>alert(1)</script>",
            "<!--",
            "]]>",
            "a\u{2028}b\u{2029}c",
            "&lt;",
            "\"'\\",
            "\u{0}\u{7f}",
            "שלום 🌳",
        ];
        let json = serde_json::to_string(&names).unwrap();
        let mut escaped = String::new();
        escape_json(&json, &mut escaped);
        assert!(!escaped.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
        assert_eq!(serde_json::from_str::<Vec<String>>(&escaped).unwrap(), names);
        for template in [TREE, CLUSTERS] {
            let data = vec![json.as_str(); template.places.len()];
            let page = fill(&template, "</title><script>", &data);
            assert_eq!(page.matches("</script").count(), template.html.matches("</script").count());
            assert_eq!(page.matches("<!--").count(), template.html.matches("<!--").count());
            assert_eq!(page.matches("</title").count(), 1);
            assert_eq!(page.matches(&escaped).count(), data.len());
        }
    }

    #[test]
    fn the_template_has_each_place_once_and_asks_for_nothing_outside() {
        for template in [TREE, CLUSTERS] {
            for place in template.places.iter().chain([&TITLE]) {
                assert_eq!(template.html.matches(place).count(), 1, "{place}");
            }
            for outside in [" src=", " href=\"http", "@import", "url(http", "//cdn"] {
                assert!(!template.html.contains(outside), "{outside}");
            }
        }
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        // Section 10 of the RFC.
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, expected) in cases {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }
}
