//! The words of a text: runs of letters and digits with at least one letter, in lower case.

/// Longest word in bytes; a longer run of letters is no word (encoded data, say) and is left out.
const LONGEST: usize = 120;

/// Finds words; keeps its buffer from text to text.
#[derive(Debug, Default)]
pub(super) struct Words {
    word: String,
}

impl Words {
    /// Hands on every word of a text, in order.
    pub(super) fn each(&mut self, text: &str, mut found: impl FnMut(&str)) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            // ASCII letters and digits, the usual case, byte by byte.
            self.word.clear();
            let (mut has_letter, mut length) = (false, 0);
            while at < bytes.len() {
                let byte = bytes[at];
                if byte.is_ascii() {
                    if !byte.is_ascii_alphanumeric() {
                        break;
                    }
                    has_letter |= byte.is_ascii_alphabetic();
                    if length < LONGEST {
                        self.word.push(char::from(byte.to_ascii_lowercase()));
                    }
                    length += 1;
                    at += 1;
                } else {
                    let letter = text[at..].chars().next().unwrap_or_default();
                    if !is_part(letter) {
                        break;
                    }
                    has_letter |= letter.is_alphabetic();
                    if length < LONGEST {
                        self.word.extend(letter.to_lowercase());
                    }
                    length += letter.len_utf8();
                    at += letter.len_utf8();
                }
            }
            if has_letter && length <= LONGEST {
                found(&self.word);
            }
            if at < bytes.len() {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
    }
}

/// Whether a character outside ASCII is part of a word: a letter, a digit, or an accent that is written as a character of its
/// own.
fn is_part(letter: char) -> bool {
    letter.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&letter)
}

#[cfg(test)]
mod tests {
    use super::Words;

    fn words(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        Words::default().each(text, |word| found.push(word.to_owned()));
        found
    }

    #[test]
    fn words_are_runs_of_letters_in_lower_case_and_numbers_are_none() {
        assert_eq!(words("Don’t panic: L'Acqua, 1984 & B2B!"), ["don", "t", "panic", "l", "acqua", "b2b"]);
        assert_eq!(
            words("ÇA été — ΣΊΣΥΦΟΣ Straße cafe\u{301}x 東京"),
            ["ça", "été", "σίσυφοσ", "straße", "cafe\u{301}x", "東京"]
        );
        assert!(words("").is_empty() && words(" .;,\u{2014} 12 3.5").is_empty());
        assert_eq!(words(&format!("a {} b", "x".repeat(500))), ["a", "b"]);
    }
}
