//! The page of a spectral model: its tree, the dependence across its edges, and what it explains badly.

use std::fmt::Write as _;

use super::page::PageOptions;
use super::pair_misfits::spectral_pair_misfits;
use super::plain_page::{document, escaped, table, tree_text};
use crate::data::Rows;
use crate::error::Result;
use crate::moments::{PairMoments, fold};
use crate::observer::Observer;
use crate::spectral::{Evaluator, SpectralEdge, SpectralModel};

/// Maximum number of pairs to list.
const PAIRS: usize = 20;
/// Maximum number of variables whose pairs are compared with the data.
const MOST_VARIABLES: usize = 300;
/// Width of the plot of a spectrum.
const WIDTH: f64 = 160.0;

/// The page of a spectral model, as HTML: its tree and the edges with their spectra; with data, also the share of rows whose
/// estimate was not positive and the pairs of columns that the model explains worst.
///
/// # Errors
/// Any error from reading the rows; [`Error::Mismatch`](crate::Error::Mismatch) if they have another schema.
pub fn spectral_page(
    model: &SpectralModel,
    data: Option<&dyn Rows>,
    options: &PageOptions,
    observer: &dyn Observer,
) -> Result<String> {
    let tree = model.tree();
    let mut body = String::new();
    let method = model.method().name();
    _ = writeln!(
        body,
        "<p>A {method} model of {} columns. It answers about columns and has no hidden states.</p>",
        tree.n_observed()
    );
    if let Some(rows) = data {
        body.push_str(&fit(model, rows, options, observer)?);
    }
    body.push_str("<h2>Tree</h2>\n");
    body.push_str(&tree_text(tree));
    body.push_str(
        "<h2>Edges</h2>\n<p>Canonical correlations of the two sides of each edge. Those beyond the line, which correlations of \
         independent sides would reach, are there; the others may be chance. The weakest come first.</p>\n<table>\n\
         <tr><th>edge</th><th>dimensions</th><th>weakest kept</th><th>noise</th><th>spectrum</th></tr>\n",
    );
    let mut edges: Vec<(String, &SpectralEdge)> =
        model.edges().enumerate().filter(|(ix, _)| !model.is_pair(*ix)).map(|(_, it)| it).collect();
    let weakest = |edge: &SpectralEdge| edge.rank.checked_sub(2).and_then(|ix| edge.values.get(ix)).copied();
    edges.sort_by(|a, b| weakest(a.1).unwrap_or(0.0).total_cmp(&weakest(b.1).unwrap_or(0.0)));
    for (between, edge) in edges {
        let value = weakest(edge).map_or_else(|| "independent".to_owned(), |value| format!("{value:.3}"));
        _ = writeln!(
            body,
            "<tr><td>{}</td><td>{}</td><td>{value}</td><td>{:.3}</td><td>{}</td></tr>",
            escaped(&between),
            edge.rank,
            edge.noise,
            spectrum(edge)
        );
    }
    body.push_str("</table>\n");
    Ok(document(options.title(), &body))
}

/// Bars of the canonical correlations, filled if they are kept, and a line at the noise level.
fn spectrum(edge: &SpectralEdge) -> String {
    let (bar, n) = (6.0, edge.values.len().min(8));
    let height = bar * n.max(1) as f64;
    let mut out = format!("<svg width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"canonical correlations\">");
    for (ix, value) in edge.values.iter().take(n).enumerate() {
        let (y, width) = (bar * ix as f64, WIDTH * value.clamp(0.0, 1.0));
        let colour = if ix + 1 < edge.rank { "#3572b0" } else { "#bbb" };
        _ = write!(out, "<rect x=\"0\" y=\"{y:.0}\" width=\"{width:.1}\" height=\"5\" fill=\"{colour}\"/>");
    }
    let noise = WIDTH * edge.noise.clamp(0.0, 1.0);
    _ = write!(out, "<line x1=\"{noise:.1}\" x2=\"{noise:.1}\" y1=\"0\" y2=\"{height}\" stroke=\"#c33\"/></svg>");
    out
}

/// The fit of the model to the rows.
fn fit(model: &SpectralModel, rows: &dyn Rows, options: &PageOptions, observer: &dyn Observer) -> Result<String> {
    let score = Evaluator::new(model).score(&mut *rows.open()?, observer, |_, _| Ok(()))?;
    let mut out = String::from("<h2>Fit</h2>\n");
    let named = options.shown_data_name().map(|name| format!(" of {}", escaped(name))).unwrap_or_default();
    let share = 100.0 * score.clipped_rows as f64 / score.rows.max(1) as f64;
    _ = writeln!(
        out,
        "<p>{} rows{named}: log-likelihood {:.3} a row. In {} of them ({share:.2}%) an estimate was not positive or below its noise, and was raised.</p>",
        score.rows,
        score.mean_log_likelihood(),
        score.clipped_rows
    );
    let schema = model.schema();
    if schema.variables().len() > MOST_VARIABLES {
        _ = writeln!(out, "<p>Pairs are not compared with the data: there are more than {MOST_VARIABLES} columns.</p>");
        return Ok(out);
    }
    observer.stage("pairs", None);
    let moments = fold(&mut *rows.open()?, PairMoments::new(schema.clone())?, observer)?;
    let pairs = spectral_pair_misfits(model, &moments, PAIRS)?;
    let name = |variable: crate::VarIx| schema.variable(variable).name.clone();
    let row = |pair: &super::PairMisfit| {
        let numbers = [format!("{:.1}", pair.nats), format!("{:.4}", pair.information), format!("{:.4}", pair.model_information)];
        [name(pair.a), name(pair.b)].into_iter().chain(numbers).collect::<Vec<String>>()
    };
    out.push_str(
        "<h2>Badly explained pairs</h2>\n<p>By how many nats the log-likelihood of the two columns alone could rise.</p>\n",
    );
    let header = ["column", "column", "nats", "information in the data", "in the model"];
    out.push_str(&table(&header, &pairs.iter().map(row).collect::<Vec<_>>()));
    Ok(out)
}
