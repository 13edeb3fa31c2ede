//! Globs: `*`, `?` and `[…]` within a name, `**` for any number of directories.

/// One step of a pattern.
enum Token {
    /// Any letters, or none.
    Any,
    /// One letter, whatever it is.
    One,
    Letter(char),
    /// One letter within these ranges, or outside of them.
    Class(Vec<(char, char)>, bool),
}

/// Whether a name is a pattern rather than the name of one file.
pub(super) fn is_pattern(name: &str) -> bool {
    tokens(name).iter().any(|token| !matches!(token, Token::Letter(_)))
}

/// Whether a name matches a pattern as a whole.
pub(in super::super) fn matches(pattern: &str, name: &str) -> bool {
    let tokens = tokens(pattern);
    let letters: Vec<char> = name.chars().collect();
    let (mut at, mut from) = (0, 0);
    // Where to go on if what follows the last `*` does not fit: that `*` takes one letter more.
    let mut retry: Option<(usize, usize)> = None;
    while from < letters.len() || at < tokens.len() {
        let fits = match (tokens.get(at), letters.get(from)) {
            (Some(Token::Any), _) => {
                retry = Some((at, from + 1));
                at += 1;
                continue;
            }
            (Some(Token::One), Some(_)) => true,
            (Some(Token::Letter(letter)), Some(found)) => letter == found,
            (Some(Token::Class(ranges, within)), Some(found)) => {
                ranges.iter().any(|(first, last)| (first..=last).contains(&found)) == *within
            }
            _ => false,
        };
        match retry {
            _ if fits => (at, from) = (at + 1, from + 1),
            Some((star, next)) if next <= letters.len() => (at, from) = (star, next),
            _ => return false,
        }
    }
    true
}

/// Whether the names of a path match the patterns of its parts, `**` being any number of folders.
pub(super) fn matches_all(patterns: &[String], names: &[String]) -> bool {
    match (patterns.split_first(), names.split_first()) {
        (None, None) => true,
        (Some((any, after)), _) if any == "**" => {
            matches_all(after, names) || names.split_first().is_some_and(|(_, rest)| matches_all(patterns, rest))
        }
        (Some((pattern, after)), Some((name, rest))) => {
            is_visible(name, Some(pattern)) && matches(pattern, name) && matches_all(after, rest)
        }
        _ => false,
    }
}

/// Whether a file or folder is read: not what is hidden, nor what Spark and others put beside their parts (`_SUCCESS`,
/// `_delta_log`, checksums). A pattern that begins with the same letter asks for it.
pub(super) fn is_visible(name: &str, pattern: Option<&str>) -> bool {
    let is_asked = |letter: char| pattern.is_some_and(|pattern| pattern.starts_with(letter));
    match name.chars().next() {
        Some('.') => is_asked('.'),
        // `_year=2024` is a folder of a column.
        Some('_') if !name.contains('=') => is_asked('_'),
        _ => !name.ends_with(".crc"),
    }
}

fn tokens(pattern: &str) -> Vec<Token> {
    let letters: Vec<char> = pattern.chars().collect();
    let mut tokens = Vec::with_capacity(letters.len());
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        at += 1;
        tokens.push(match letter {
            '*' => Token::Any,
            '?' => Token::One,
            '[' => match class(&letters[at..]) {
                Some((class, length)) => {
                    at += length;
                    class
                }
                None => Token::Letter('['),
            },
            letter => Token::Letter(letter),
        });
    }
    tokens
}

/// The class after an opening bracket, with the number of its letters; `None` if no bracket closes it.
fn class(letters: &[char]) -> Option<(Token, usize)> {
    let is_negated = matches!(letters.first(), Some('!' | '^'));
    let start = usize::from(is_negated);
    // A bracket that comes first is one of the letters.
    let end = start + 1 + letters.get(start + 1..)?.iter().position(|&letter| letter == ']')?;
    let mut ranges = Vec::new();
    let mut rest = &letters[start..end];
    while let Some((&first, after)) = rest.split_first() {
        let (last, after) = match after {
            ['-', last, after @ ..] => (*last, after),
            _ => (first, after),
        };
        ranges.push((first, last));
        rest = after;
    }
    Some((Token::Class(ranges, !is_negated), end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, name) in [
            ("*.csv", "a.csv"),
            ("*.csv", ".csv"),
            ("a*b*c", "a-b-b-c"),
            ("part-?.csv", "part-é.csv"),
            ("part-[0-9].csv", "part-7.csv"),
            ("[!a]", "b"),
            ("[^a-c]", "d"),
            ("[]x]", "]"),
            ("[*]", "*"),
            ("a[b", "a[b"),
            ("[a-]", "-"),
            ("**", "anything"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("*.csv", "a.tsv"), ("?", ""), ("?", "ab"), ("[!a]", "a"), ("[*]", "x"), ("a*b", "a"), ("", "a"), ("A", "a")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
        assert!(is_pattern("a*") && is_pattern("[ab]") && !is_pattern("a[b") && !is_pattern("year=2024"));
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        assert!(!matches(&format!("{}b", "a*".repeat(40)), &"a".repeat(3000)));
    }

    #[test]
    fn two_stars_are_any_folders() {
        let path = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
        for name in ["a.csv", "x/a.csv", "x/y/a.csv"] {
            assert!(matches_all(&path("**/*.csv"), &path(name)), "{name}");
        }
        assert!(!matches_all(&path("**/*.csv"), &path("x/.a.csv")));
        assert!(!matches_all(&path("*/*.csv"), &path("a.csv")));
        assert!(matches_all(&path("year=*/_a*"), &path("year=1/_a.csv")));
    }
}
