//! PHYLIP's distance matrices, square or lower triangular.

use std::io::{BufRead, Read, Write};
use std::path::Path;

use super::{Rows, number, text};
use crate::distance::DistanceMatrix;
use crate::error::{Error, Place, Result, Shortened};

const FORMAT: &str = "PHYLIP distance matrix";
/// Length of a name in the strict format.
const STRICT: usize = 10;

pub(super) fn read(mut input: Box<dyn BufRead + Send>, path: &Path) -> Result<DistanceMatrix> {
    let mut all = String::new();
    input.read_to_string(&mut all).map_err(|source| match source.kind() {
        std::io::ErrorKind::InvalidData => Error::format(Place::default(), FORMAT, "the text is not UTF-8"),
        _ => Error::Io { action: "read", path: path.to_path_buf(), source },
    })?;
    // A name ends at a blank, or after ten characters if that does not work out: only then can it hold blanks.
    parse(&all, false).or_else(|error| parse(&all, true).map_err(|_| error))
}

/// The name and the rest of a row's first line.
fn split_name(line: &str, strict: bool) -> (&str, &str) {
    if strict {
        let end = line.char_indices().nth(STRICT).map_or(line.len(), |(at, _)| at);
        (line[..end].trim(), &line[end..])
    } else {
        let line = line.trim_start();
        let end = line.find(char::is_whitespace).unwrap_or(line.len());
        (&line[..end], &line[end..])
    }
}

fn parse(all: &str, strict: bool) -> Result<DistanceMatrix> {
    let all = all.strip_prefix('\u{feff}').unwrap_or(all);
    let lines = all.lines().enumerate().map(|(ix, line)| (Place::default().line(ix as u64 + 1), line));
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let Some((place, count)) = lines.next() else {
        return Err(Error::format(
            Place::default(),
            FORMAT,
            "the file is empty; a first line with the number of variables is needed",
        ));
    };
    let Some(n) = count.split_whitespace().next().and_then(|word| word.parse::<usize>().ok()).filter(|n| *n > 0) else {
        let problem = format!("{:?} is not a number of variables", Shortened(count.trim()));
        return Err(Error::format(place, FORMAT, problem));
    };
    let mut rows = Rows::new(Vec::new());
    let mut shape = Shape::Square;
    // Names are known row by row; a square row's checks name the variables of earlier rows only.
    while let Some((place, line)) = lines.next() {
        let i = rows.names.len();
        if i == n {
            return Err(Error::format(place, FORMAT, format!("more than the {n} rows that the first line promises")));
        }
        let (name, rest) = split_name(line, strict);
        let mut values = Vec::new();
        push(&mut values, rest, &place)?;
        if i == 0 {
            shape = match values.len() {
                0 => Shape::Lower,
                1 if n > 1 => Shape::LowerWithDiagonal,
                _ => Shape::Square,
            };
        }
        let wanted = match shape {
            Shape::Square => n,
            Shape::Lower => i,
            Shape::LowerWithDiagonal => i + 1,
        };
        while values.len() < wanted {
            let Some((place, line)) = lines.next() else { break };
            push(&mut values, line, &place)?;
        }
        if values.len() != wanted {
            let problem = format!("the row of {:?} has {} distances where {wanted} are needed", Shortened(name), values.len());
            return Err(Error::format(place, FORMAT, problem));
        }
        rows.names.push(name.to_owned());
        match shape {
            Shape::Square => rows.push_square(&values, &place)?,
            Shape::Lower => rows.push_lower(i, &values, None, &place)?,
            Shape::LowerWithDiagonal => rows.push_lower(i, &values[..i], Some(values[i]), &place)?,
        }
    }
    if rows.names.len() != n {
        let problem = format!("{} rows where the first line promises {n}", rows.names.len());
        return Err(Error::format(Place::default(), FORMAT, problem));
    }
    rows.finish()
}

#[derive(Clone, Copy)]
enum Shape {
    Square,
    Lower,
    LowerWithDiagonal,
}

fn push(values: &mut Vec<f64>, text: &str, place: &Place) -> Result<()> {
    for word in text.split_whitespace() {
        let value = number(word).ok_or_else(|| {
            let problem = format!("{:?} is not a number", Shortened(word));
            Error::format(place.clone(), FORMAT, problem)
        })?;
        values.push(value);
    }
    Ok(())
}

pub(super) fn write(names: &[String], cell: impl Fn(usize, usize) -> f64, out: &mut dyn Write, path: &Path) -> Result<()> {
    let has_blank = |name: &String| name.chars().any(char::is_whitespace);
    let strict = names.iter().any(has_blank);
    let fits = |name: &String| {
        name.chars().count() <= STRICT && name.trim() == name && !name.chars().any(char::is_control) && !name.contains('\u{feff}')
    };
    if strict && let Some(bad) = names.iter().find(|name| !fits(name)) {
        let problem = format!(
            "the name {:?} cannot be written to a PHYLIP file, where names with blanks have at most {STRICT} characters; write CSV \
             instead (.csv)",
            Shortened(bad)
        );
        return Err(Error::data(Place::file(path), problem));
    }
    let fail = |source: std::io::Error| Error::Io { action: "write", path: path.to_path_buf(), source };
    writeln!(out, "{}", names.len()).map_err(fail)?;
    for (i, name) in names.iter().enumerate() {
        if strict {
            let blanks = STRICT - name.chars().count();
            write!(out, "{name}{:blanks$}", "").map_err(fail)?;
        } else {
            write!(out, "{name}").map_err(fail)?;
        }
        for j in 0..names.len() {
            let value = cell(i, j);
            if value.is_nan() { write!(out, " NA") } else { write!(out, " {}", text(value)) }.map_err(fail)?;
        }
        writeln!(out).map_err(fail)?;
    }
    Ok(())
}
