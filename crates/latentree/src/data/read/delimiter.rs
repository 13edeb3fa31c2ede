//! Detection of the field separator of a text table.

/// What may separate fields.
const CANDIDATES: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Chooses the delimiter by the first bytes of a file: the one that its ending asks for if every line has the same number of
/// it, else another of which that is true. `is_whole` says that the bytes are all of the file.
pub(super) fn choose(first: &[u8], is_whole: bool, by_ending: Option<u8>) -> u8 {
    let preferred = by_ending.unwrap_or(b',');
    let lines = lines(first, is_whole);
    let count = |line: &[u8], delimiter: u8| unquoted(line).filter(|&byte| byte == delimiter).count();
    let Some((&head, rest)) = lines.split_first() else { return preferred };
    let is_even = |delimiter: u8| {
        let n_head = count(head, delimiter);
        n_head > 0 && rest.iter().all(|line| count(line, delimiter) == n_head)
    };
    let even: Vec<u8> = CANDIDATES.into_iter().filter(|&delimiter| is_even(delimiter)).collect();
    // 1,5;2,5: commas between digits are decimal where semicolons separate.
    let decimal = |line: &[u8]| (0..line.len()).all(|at| line[at] != b',' || is_between_digits(line, at));
    if preferred == b',' && even.contains(&b';') && (!even.contains(&b',') || lines.iter().all(|line| decimal(line))) {
        return b';';
    }
    if even.contains(&preferred) {
        return preferred;
    }
    if let Some(&most) = even.iter().max_by_key(|&&delimiter| (count(head, delimiter), delimiter == b',')) {
        return most;
    }
    // Lines have different lengths; reading with the first line's delimiter will report the error.
    match by_ending {
        Some(b'\t') => b'\t',
        Some(_) if count(head, b',') > 0 => b',',
        _ if count(head, b'\t') > count(head, b',') => b'\t',
        _ if count(head, b',') == 0 && count(head, b';') > 0 => b';',
        _ => b',',
    }
}

fn is_between_digits(line: &[u8], at: usize) -> bool {
    let is_digit = |at: Option<usize>| at.and_then(|at| line.get(at)).is_some_and(u8::is_ascii_digit);
    is_digit(at.checked_sub(1)) && is_digit(at.checked_add(1))
}

/// What does not stand in quotes.
fn unquoted(line: &[u8]) -> impl Iterator<Item = u8> {
    line.split(|&byte| byte == b'"').step_by(2).flatten().copied()
}

/// The lines that are not blank, at most a hundred; quotes may go over several.
fn lines(first: &[u8], is_whole: bool) -> Vec<&[u8]> {
    const MAX_LINES: usize = 100;
    let mut lines = Vec::new();
    let (mut start, mut is_quoted) = (0, false);
    for (at, &byte) in first.iter().enumerate() {
        is_quoted ^= byte == b'"';
        if byte == b'\n' && !is_quoted {
            lines.push(&first[start..at]);
            start = at + 1;
        }
        if lines.len() == MAX_LINES {
            break;
        }
    }
    if lines.is_empty() || (is_whole && lines.len() < MAX_LINES) {
        lines.push(&first[start..]);
    }
    lines.retain(|line| !line.trim_ascii().is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_the_one_of_which_every_line_has_as_many() {
        for (text, by_ending, expected) in [
            ("a,b\n1,2\n", Some(b','), b','),
            ("a;b\n1,5;2,5\n", Some(b','), b';'),
            ("1,5;2,5\n2,5;3,0\n", Some(b','), b';'),
            ("a|b|c\n1|2|3\n", Some(b','), b'|'),
            ("a|b,c\n1,2\n", Some(b','), b','),
            ("x;y (a, b);z\n1;2;3\n", Some(b','), b';'),
            ("a;b,c\n1;2,x\n", Some(b','), b','),
            ("a\tb\n1\t2\n", Some(b','), b'\t'),
            ("a\tb\n1,5\t2,5\n", None, b'\t'),
            ("a,b\n1,2\n", Some(b'\t'), b','),
            ("\"a;b\",\"c\"\n\"1\n;\",2\n", None, b','),
            ("a,b\n1,2\n3\n", Some(b','), b','),
            ("a;b\n1;2\n3\n", Some(b','), b';'),
            ("a\n1\n", Some(b','), b','),
            ("", Some(b'\t'), b'\t'),
        ] {
            assert_eq!(choose(text.as_bytes(), true, by_ending), expected, "{text:?}");
        }
    }
}
