//! Detection of dates and times in text columns.

/// Longest date.
const MAX_LENGTH: usize = 48;

/// Names of months in English, German, French, Italian, Spanish, Portuguese and Dutch, by their first letters.
const MONTHS: &str = " jan january januar januari janvier janv gennaio gen enero ene janeiro \
    feb february februar februari février fevrier févr fév febbraio febrero fevereiro fev \
    mar march märz mrz maart mrt mars marzo março marco apr april avril avr aprile abril abr \
    may mai mei mag maggio mayo maio jun june juni juin giugno giu junio junho jul july juli juillet juil luglio lug julio julho \
    aug august augustus août aout agosto ago sep sept september septembre settembre set septiembre setembro \
    oct october oktober okt octobre ottobre ott octubre outubro out nov november novembre noviembre novembro \
    dec december dezember dez décembre decembre déc dicembre dic diciembre dezembro ";

/// Names of days of the week.
const WEEKDAYS: &str = " mon monday tue tues tuesday wed wednesday thu thur thurs thursday fri friday sat saturday sun sunday \
    montag dienstag mittwoch donnerstag freitag samstag sonntag ";

/// Whether a text is a date, a month of a year, a time, a date with a time, or two dates: `2021-03-04`, `4.3.2021`, `3/4/21`, `04-Mar-2021`,
/// `March 4, 2021`, `Mar 2021`, `12:30:05`, `2021-03-04T12:30:05Z`, `3/4/2021 - 3/9/2021`.
pub(super) fn is_date(text: &[u8]) -> bool {
    if text.len() < 4 || text.len() > MAX_LENGTH || !text.iter().any(u8::is_ascii_digit) {
        return false;
    }
    let Ok(text) = std::str::from_utf8(text) else { return false };
    is_one_date(text)
        || text.match_indices(['-', '–']).any(|(at, dash)| {
            let (from, to) = (text[..at].trim(), text[at + dash.len()..].trim());
            from.len() >= 6 && to.len() >= 6 && is_one_date(from) && is_one_date(to)
        })
}

fn is_one_date(text: &str) -> bool {
    let (mut n_dates, mut n_months, mut n_times, mut n_days, mut n_years) = (0, 0, 0, 0, 0);
    let mut words = text.split([' ', ',']).filter(|word| !word.is_empty());
    for word in words.by_ref().take(8) {
        let bytes = word.as_bytes();
        let (day, time) = bytes
            .iter()
            .position(|it| matches!(it, b'T' | b't'))
            .map_or((bytes, None), |at| (&bytes[..at], Some(&bytes[at + 1..])));
        if is_day(bytes) || (is_day(day) && time.is_some_and(is_time)) {
            n_dates += 1;
        } else if is_time(bytes) {
            n_times += 1;
        } else if is_month_name(word.trim_end_matches('.')) {
            n_months += 1;
        } else if bytes.len() == 4 && field(bytes, 4).is_some() {
            n_years += 1;
        } else if is_day_of_month(word) {
            n_days += 1;
        } else if !(is_zone(word) || is_listed(WEEKDAYS, word.trim_end_matches('.'))) {
            return false;
        }
    }
    if words.next().is_some() || n_times > 1 {
        return false;
    }
    match (n_dates, n_months) {
        (1, 0) => n_days + n_years == 0,
        (0, 1) => n_days <= 1 && n_years <= 1 && n_days + n_years > 0,
        (0, 0) => n_times == 1 && n_days + n_years == 0,
        _ => false,
    }
}

/// The whole number that a field of one to `longest` digits is.
fn field(digits: &[u8], longest: usize) -> Option<u32> {
    let is_field = (1..=longest).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_field.then(|| digits.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0')))
}

/// A day with its month and year, or a month of a year.
fn is_day(text: &[u8]) -> bool {
    let Some(&separator) = text.iter().find(|byte| matches!(byte, b'-' | b'/' | b'.')) else { return false };
    let mut parts = text.split(|&byte| byte == separator);
    let (Some(first), Some(middle)) = (parts.next(), parts.next()) else { return false };
    let last = parts.next();
    if parts.next().is_some() {
        return false;
    }
    let is_day = |part: &[u8]| field(part, 2).is_some_and(|day| (1..=31).contains(&day));
    let is_name = |part: &[u8]| std::str::from_utf8(part).is_ok_and(is_month_name);
    let is_month = |part: &[u8]| is_name(part) || field(part, 2).is_some_and(|month| (1..=12).contains(&month));
    let is_long_year = |part: &[u8]| part.len() == 4 && field(part, 4).is_some();
    let is_year = |part: &[u8]| is_long_year(part) || (part.len() == 2 && field(part, 2).is_some());
    match last {
        // `3.2021` is a number.
        None if separator == b'.' => false,
        None => {
            (is_month(first) && is_long_year(middle))
                || (is_long_year(first) && is_month(middle))
                || (is_name(first) && is_year(middle))
        }
        Some(last) => {
            (is_long_year(first) && is_month(middle) && is_day(last))
                || (is_day(first) && is_month(middle) && is_year(last))
                || (is_month(first) && is_day(middle) && is_year(last))
        }
    }
}

/// `4`, `4.`, `4th`.
fn is_day_of_month(word: &str) -> bool {
    let digits = word.trim_end_matches(|c: char| c == '.' || c.is_ascii_lowercase());
    let ending = &word[digits.len()..];
    matches!(ending, "" | "." | "st" | "nd" | "rd" | "th")
        && field(digits.as_bytes(), 2).is_some_and(|day| (1..=31).contains(&day))
}

fn is_month_name(word: &str) -> bool {
    word.len() >= 3 && is_listed(MONTHS, word)
}

/// Whether a list, whose words stand between blanks, has a word in any case.
fn is_listed(list: &str, word: &str) -> bool {
    word.chars().all(char::is_alphabetic) && list.contains(&format!(" {} ", word.to_lowercase()))
}

/// A zone after a time, or which half of the day it is.
fn is_zone(word: &str) -> bool {
    let is_offset = |rest: &str| rest.len() >= 2 && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    matches!(
        word,
        "AM" | "PM"
            | "am"
            | "pm"
            | "a.m."
            | "p.m."
            | "UTC"
            | "GMT"
            | "Z"
            | "CET"
            | "CEST"
            | "EST"
            | "EDT"
            | "PST"
            | "PDT"
            | "Uhr"
    ) || word.strip_prefix(['+', '-']).is_some_and(is_offset)
}

/// Hours and minutes, possibly with seconds, a fraction and a zone.
fn is_time(text: &[u8]) -> bool {
    let mut fields = text.splitn(3, |&byte| byte == b':');
    let hour = fields.next().and_then(|hour| field(hour, 2)).is_some_and(|hour| hour <= 24);
    let Some(minute) = fields.next() else { return false };
    let seconds = fields.next();
    let (minute, zone) = minute.split_at(minute.len().min(2));
    let minute = minute.len() == 2 && field(minute, 2).is_some_and(|minute| minute < 60);
    let is_tail = |tail: &[u8]| tail.iter().all(|byte| byte.is_ascii_digit() || b".,:+-ZzAPMapm ".contains(byte));
    let seconds = seconds.is_none_or(|seconds| seconds.len() >= 2 && field(&seconds[..2], 2).is_some() && is_tail(&seconds[2..]));
    hour && minute && seconds && is_tail(zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_known_and_codes_are_not() {
        for text in [
            "2021-03-04",
            "2021/3/4",
            "4.3.2021",
            "03/04/21",
            "31/12/1999",
            "04-Mar-2021",
            "2021-03-04T12:30:05Z",
            "2021-03-04T12:30:05+01:00",
            "2021-03-04 12:30",
            "12:30",
            "12:30:05.250",
            "3/4/2021 9:05 PM",
            "March 4, 2021",
            "4 March 2021",
            "4. März 2021",
            "Sept. 4th 2021",
            "Mar 2018",
            "Mar-2018",
            "2021-03",
            "03/2021",
            "Sun Feb 28 16:47:13 +0000 2016",
            "Mon, 04 Mar 2021 10:00:00 GMT",
            "3/4/2021 - 3/9/2021",
            "10/16/2009-10/20/2009",
        ] {
            assert!(is_date(text.as_bytes()), "{text}");
        }
        for text in [
            "1.2",
            "1-2-3-4",
            "250.00",
            "V27",
            "99/99/9999",
            "2021",
            "abc",
            "1:2",
            "10-20-30-40",
            "1,5",
            "A-B-C",
            "12/30",
            "3.2021",
            "march",
            "12 5",
            "2020 2021",
            "4 + 5",
            "May",
            "12-13",
            "may contain 3 nuts",
            "40-49",
            "Mar",
            "555-1234",
        ] {
            assert!(!is_date(text.as_bytes()), "{text}");
        }
    }
}
