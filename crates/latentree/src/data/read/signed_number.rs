//! Numbers with a symbol that says their unit: `45%`, `$12.50`, `2.453,50 €`.

use serde::{Deserialize, Serialize};

/// Symbols, with a bit for each.
const SYMBOLS: [(&str, u8); 6] = [("%", 1), ("$", 2), ("€", 4), ("£", 8), ("¥", 16), ("₹", 32)];
const PERCENT: u8 = 1;

/// A number without its symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unsigned<'a> {
    /// What may be a number.
    pub(super) text: &'a [u8],
    /// Whether a minus sign stood before the symbol.
    pub(super) is_negative: bool,
    /// The symbol's bit.
    symbol: u8,
}

impl Unsigned<'_> {
    /// The number with the sign that stood before the symbol.
    pub(super) fn signed(self, value: f64) -> f64 {
        if self.is_negative { -value } else { value }
    }
}

/// Takes one symbol off a text: a percent sign after it, a currency sign before or after it.
pub(super) fn unsigned(text: &[u8]) -> Option<Unsigned<'_>> {
    // Most texts begin and end with letters or digits.
    let is_plain = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    if is_plain(text.first()) && is_plain(text.last()) {
        return None;
    }
    // Accountants write negative amounts in brackets. Shares in brackets are not negative.
    if let Some(inner) = text.strip_prefix(b"(").and_then(|it| it.strip_suffix(b")")).filter(|it| !it.starts_with(b"(")) {
        let amount = unsigned(inner).filter(|it| !it.is_negative && it.symbol != PERCENT);
        return amount.map(|it| Unsigned { is_negative: true, ..it });
    }
    let found = SYMBOLS.iter().find_map(|&(sign, symbol)| {
        if let Some(before) = text.strip_suffix(sign.as_bytes()) {
            return Some(Unsigned { text: trim_end(before), is_negative: false, symbol });
        }
        if symbol == PERCENT {
            return None;
        }
        let after_minus = text.strip_prefix(b"-");
        let after = after_minus.unwrap_or(text).strip_prefix(sign.as_bytes())?;
        Some(Unsigned { text: trim_start(after), is_negative: after_minus.is_some(), symbol })
    })?;
    found.text.last().is_some_and(u8::is_ascii_digit).then_some(found)
}

const BLANKS: [&str; 2] = ["\u{a0}", "\u{202f}"];

fn trim_end(text: &[u8]) -> &[u8] {
    let text = BLANKS.iter().find_map(|blank| text.strip_suffix(blank.as_bytes())).unwrap_or(text);
    text.trim_ascii_end()
}

fn trim_start(text: &[u8]) -> &[u8] {
    let text = BLANKS.iter().find_map(|blank| text.strip_prefix(blank.as_bytes())).unwrap_or(text);
    text.trim_ascii_start()
}

/// The symbols that the numbers of a column have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Symbols {
    seen: u8,
    /// Numbers without a symbol were seen, other than 0.
    any_plain: bool,
}

impl Symbols {
    pub(super) fn observe(&mut self, number: Unsigned<'_>) {
        self.seen |= number.symbol;
    }

    pub(super) fn observe_plain(&mut self, value: f64) {
        self.any_plain |= value != 0.0;
    }

    #[cfg(feature = "columnar")]
    pub(super) fn merge(&mut self, other: Self) {
        self.seen |= other.seen;
        self.any_plain |= other.any_plain;
    }

    /// Whether any number has a symbol.
    pub(super) fn any(self) -> bool {
        self.seen != 0
    }

    /// Whether all numbers have the same unit; `any_plain` says whether there are more without a symbol.
    pub(super) fn agree(self, any_plain: bool) -> bool {
        // 0.12 and 12% may be the same.
        self.seen.count_ones() <= 1 && !(self.seen == PERCENT && (self.any_plain || any_plain))
    }

    /// The first symbol that was seen.
    pub(super) fn name(self) -> &'static str {
        SYMBOLS.iter().find(|it| self.seen & it.1 != 0).map_or("", |it| it.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_symbol_is_taken_off_a_number() {
        for (text, number, is_negative) in [
            ("45%", "45", false),
            ("-4.5 %", "-4.5", false),
            ("$12.50", "12.50", false),
            ("-$12", "12", true),
            ("$ -3", "-3", false),
            ("2.453,50 €", "2.453,50", false),
            ("7\u{a0}€", "7", false),
            ("£1,000", "1,000", false),
            ("($1,200.50)", "1,200.50", true),
            ("(3 €)", "3", true),
        ] {
            let found = unsigned(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((found.text, found.is_negative), (number.as_bytes(), is_negative), "{text}");
        }
        for text in ["45", "%45", "45%%", "<5", "", "%", "$", "$%5", "(5%)", "(-$5)", "((5 €))", "(5)", "abc", "5 a"] {
            let is_number = unsigned(text.as_bytes()).is_some_and(|it| it.text.iter().all(u8::is_ascii_digit));
            assert!(!is_number, "{text}");
        }
    }
}
