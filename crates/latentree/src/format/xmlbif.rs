//! XMLBIF 0.3, the interchange format of Bayesian networks in XML (Cozman 1998), as pyAgrum, pgmpy and Weka read and
//! write it.
//!
//! ```xml
//! <BIF VERSION="0.3"><NETWORK><NAME>latentree</NAME>
//! <VARIABLE TYPE="nature"><NAME>x</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME></VARIABLE>
//! <DEFINITION><FOR>x</FOR><GIVEN>h1</GIVEN><TABLE>0.9 0.1 0.2 0.8</TABLE></DEFINITION>
//! </NETWORK></BIF>
//! ```
//!
//! In a table the node's own states vary fastest. No document type and no comments in tables are written: pyAgrum's reader
//! stops at both.

use std::fmt::Write as _;

use super::ReadModelOptions;
use super::names::Notes;
use super::network::{Definition, Network, Values, Variable, Written, written};
use super::xml::{Bare, Event, XmlReader, escape, is_xml};
use crate::error::{Error, Place, Result, Shortened};
use crate::model::LatentTree;

const FORMAT: &str = "XMLBIF";

/// The model as XMLBIF 0.3.
///
/// Names and labels that readers of XML would not give back as they are (control characters, outer blanks) are replaced;
/// the originals are kept in properties from which [`read_model`](crate::format::read_model) restores them.
///
/// # Errors
/// [`Error::Data`] naming the first node that is not discrete.
pub fn to_xmlbif(model: &LatentTree) -> Result<String> {
    let nodes = written(model, FORMAT, is_plain, is_plain)?;
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<BIF VERSION=\"0.3\">\n<NETWORK>\n");
    out.push_str("<NAME>latentree</NAME>\n");
    write_nodes(&mut out, &nodes).expect("a string takes all");
    out.push_str("</NETWORK>\n</BIF>\n");
    Ok(out)
}

fn write_nodes(out: &mut String, nodes: &[Written<'_>]) -> std::fmt::Result {
    for node in nodes {
        writeln!(out, "<VARIABLE TYPE=\"nature\">\n  <NAME>{}</NAME>", escape(&node.name))?;
        for label in &node.labels {
            writeln!(out, "  <OUTCOME>{}</OUTCOME>", escape(label))?;
        }
        for note in node.notes.write() {
            writeln!(out, "  <PROPERTY>latentree = {}</PROPERTY>", escape(&note))?;
        }
        writeln!(out, "</VARIABLE>")?;
    }
    for node in nodes {
        writeln!(out, "<DEFINITION>\n  <FOR>{}</FOR>", escape(&node.name))?;
        if let Some(parent) = node.parent {
            writeln!(out, "  <GIVEN>{}</GIVEN>", escape(&nodes[parent.get()].name))?;
        }
        writeln!(out, "  <TABLE>")?;
        for row in node.table.rows() {
            write!(out, "   ")?;
            for value in row {
                write!(out, " {value:?}")?;
            }
            writeln!(out)?;
        }
        writeln!(out, "  </TABLE>\n</DEFINITION>")?;
    }
    Ok(())
}

/// Whether a reader gives the text back as it is: some join blanks, and all cut them off at the ends.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.trim() == text
        && !text.contains("  ")
        && text.chars().all(|c| c == ' ' || (is_xml(c) && !c.is_whitespace() && !c.is_control()))
}

/// Reads a latent tree from XMLBIF.
///
/// # Errors
/// As [`read_model`](crate::format::read_model).
pub(super) fn read_xmlbif(bytes: &[u8], options: &ReadModelOptions<'_>) -> Result<LatentTree> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() as u64;
        Error::format(Place::default().line(line), FORMAT, "not UTF-8 text")
    })?;
    let mut reader = XmlReader::new(text, FORMAT);
    let mut network = Network::default();
    let mut variable: Option<Variable> = None;
    let mut definition: Option<Partial> = None;
    let mut content = String::new();
    while let Some(event) = reader.next()? {
        match event {
            Event::Text(text) => content.push_str(&text),
            Event::Start(name) => {
                content.clear();
                let line = reader.line;
                match name {
                    "BIF" => {}
                    _ if reader.open()[0] != "BIF" => {
                        return Err(reader.fault(format!("the outermost element is <{}>, not <BIF>", Bare(reader.open()[0]))));
                    }
                    "VARIABLE" if variable.is_none() && definition.is_none() => {
                        variable = Some(Variable { name: String::new(), labels: Vec::new(), notes: Notes::default(), line });
                    }
                    "DEFINITION" | "PROBABILITY" if variable.is_none() && definition.is_none() => {
                        definition = Some(Partial { line, ..Partial::default() });
                    }
                    "VARIABLE" | "DEFINITION" | "PROBABILITY" => {
                        return Err(reader.fault(format!("<{name}> inside another definition")));
                    }
                    _ => {}
                }
            }
            Event::End(name) => {
                let text = content.trim();
                match (name, &mut variable, &mut definition) {
                    ("VARIABLE", Some(_), _) => {
                        let variable = variable.take().expect("just matched");
                        if variable.name.is_empty() {
                            return Err(reader.fault("a <VARIABLE> has no <NAME>"));
                        }
                        network.variables.push(variable);
                    }
                    ("NAME", Some(variable), _) => variable.name = text.to_owned(),
                    ("OUTCOME" | "VALUE", Some(variable), _) => variable.labels.push(text.to_owned()),
                    ("PROPERTY", Some(variable), _) => variable.notes.read(text),
                    ("DEFINITION" | "PROBABILITY", _, Some(_)) => {
                        let definition = definition.take().expect("just matched").finish();
                        network.definitions.push(definition.map_err(|problem| reader.fault(problem))?);
                    }
                    ("FOR", _, Some(definition)) => definition.of.push(text.to_owned()),
                    ("GIVEN", _, Some(definition)) => definition.parents.push(text.to_owned()),
                    ("TABLE", _, Some(definition)) => {
                        let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
                        for word in words {
                            let number = word.parse().ok().filter(|number: &f64| number.is_finite());
                            let number = number.ok_or_else(|| reader.fault(format!("{:?} is no number", Shortened(word))))?;
                            definition.numbers.push(number);
                        }
                    }
                    _ => {}
                }
                content.clear();
            }
        }
    }
    if network.variables.is_empty() {
        return Err(reader.fault("it declares no variables"));
    }
    network.into_model(FORMAT, options)
}

/// A definition of which some parts are read.
#[derive(Default)]
struct Partial {
    of: Vec<String>,
    parents: Vec<String>,
    numbers: Vec<f64>,
    line: u64,
}

impl Partial {
    fn finish(self) -> Result<Definition, String> {
        let [of] = <[String; 1]>::try_from(self.of)
            .map_err(|of| format!("a definition has {} <FOR> elements where one is expected", of.len()))?;
        let values = Values::Table { numbers: self.numbers, parent_fastest: false };
        Ok(Definition { of, parents: self.parents, values, line: self.line })
    }
}
