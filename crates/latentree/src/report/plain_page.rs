//! Pages of tables and text without scripts, for models that have no hidden states to explore.

use std::fmt::Write as _;

use crate::tree::Tree;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse}th,td{padding:.2rem .7rem;text-align:right;\
border-bottom:1px solid #ddd}th:first-child,td:first-child{text-align:left}pre{overflow-x:auto;background:#f6f6f6;padding:.7rem}\
svg{vertical-align:middle}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#222}th,td{border-color:#444}}";

/// Escapes text for HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// A complete page; `body` is markup.
pub(crate) fn document(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
    )
}

/// A table; cells are plain text.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = String::from("<table>\n<tr>");
    header.iter().for_each(|cell| _ = write!(out, "<th>{}</th>", escaped(cell)));
    out.push_str("</tr>\n");
    for row in rows {
        out.push_str("<tr>");
        row.iter().for_each(|cell| _ = write!(out, "<td>{}</td>", escaped(cell)));
        out.push_str("</tr>\n");
    }
    out + "</table>\n"
}

/// A tree as indented text.
pub(crate) fn tree_text(tree: &Tree) -> String {
    format!("<pre>{}</pre>\n", escaped(&crate::format::to_text(tree)))
}
