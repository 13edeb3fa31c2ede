//! Columns that are nearly numbers.

use super::cell::number;
use super::told::told;
use super::written_number;
use crate::error::Shortened;

/// Says why a column is not one of numbers, if most of its cells are numbers, or are with their signs of currency or percent.
pub(super) fn nearly_numbers(labels: &[(String, u64)], name: &str) -> Option<String> {
    let is_number = |text: &str| number(text.as_bytes()).is_some() || written_number::written(text.as_bytes()).is_some();
    let cells = |is: &dyn Fn(&str) -> bool| labels.iter().filter(|(label, _)| is(label)).map(|it| it.1).sum::<u64>();
    let all = cells(&|_| true);
    let plain = cells(&is_number);
    let is_sign = |c: char| matches!(c, '$' | '€' | '£' | '¥' | '%' | '<' | '>' | '~' | '≤' | '≥' | ' ');
    let with_sign = |text: &str| text.contains(is_sign) && is_number(text.trim_matches(is_sign));
    let example = |is: &dyn Fn(&str) -> bool| labels.iter().map(|it| it.0.as_str()).find(|label| is(label)).map(str::to_owned);
    if 2 * (plain + cells(&with_sign)) > all && cells(&with_sign) > 0 {
        let text = example(&with_sign)?;
        return Some(format!("it has numbers with symbols, such as {:?}; write plain numbers", Shortened(&text)));
    }
    if 2 * plain > all {
        let text = example(&|text| !is_number(text))?;
        let share = 100.0 * plain as f64 / all as f64;
        return Some(format!(
            "{share:.0}% of its cells are numbers, but others are not, such as {:?}; write missing values as empty fields, or say which kind it is ({})",
            Shortened(&text),
            told(name, "KIND")
        ));
    }
    None
}
