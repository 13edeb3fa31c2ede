//! Detection of dates and times in text columns.

/// Whether a text is a date, a time, or a date with a time: `2021-03-04`, `4.3.2021`, `3/4/21`, `04-Mar-2021`, `12:30:05`,
/// `2021-03-04T12:30:05Z`.
pub(super) fn is_date(text: &[u8]) -> bool {
    const MAX_LENGTH: usize = 40;
    if text.len() < 4 || text.len() > MAX_LENGTH {
        return false;
    }
    let split = text.iter().position(|&byte| matches!(byte, b'T' | b't' | b' '));
    match split {
        Some(at) => is_day(&text[..at]) && is_time(text[at + 1..].trim_ascii()),
        None => is_day(text) || is_time(text),
    }
}

/// The whole number that a field of one to `longest` digits is.
fn field(digits: &[u8], longest: usize) -> Option<u32> {
    let is_field = (1..=longest).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_field.then(|| digits.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0')))
}

fn is_day(text: &[u8]) -> bool {
    let Some(&separator) = text.iter().find(|byte| matches!(byte, b'-' | b'/' | b'.')) else { return false };
    let parts: Vec<&[u8]> = text.split(|&byte| byte == separator).collect();
    let &[first, middle, last] = parts.as_slice() else { return false };
    let is_day = |part: &[u8]| field(part, 2).is_some_and(|day| (1..=31).contains(&day));
    let is_month = |part: &[u8]| is_month_name(part) || field(part, 2).is_some_and(|month| (1..=12).contains(&month));
    let is_long_year = |part: &[u8]| part.len() == 4 && field(part, 4).is_some();
    let is_year = |part: &[u8]| is_long_year(part) || (part.len() == 2 && field(part, 2).is_some());
    (is_long_year(first) && is_month(middle) && is_day(last))
        || (is_day(first) && is_month(middle) && is_year(last))
        || (is_month(first) && is_day(middle) && is_year(last))
}

fn is_month_name(part: &[u8]) -> bool {
    const MONTHS: &[u8] = b"janfebmaraprmayjunjulaugsepoctnovdec";
    part.len() == 3 && MONTHS.chunks(3).any(|month| month.eq_ignore_ascii_case(part))
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
            "2021-03-04 12:30",
            "12:30",
            "12:30:05.250",
            "3/4/2021 9:05 PM",
        ] {
            assert!(is_date(text.as_bytes()), "{text}");
        }
        for text in
            ["1.2", "1-2-3-4", "250.00", "V27", "99/99/9999", "2021", "abc", "1:2", "10-20-30-40", "1,5", "A-B-C", "12/30"]
        {
            assert!(!is_date(text.as_bytes()), "{text}");
        }
    }
}
