//! How long a session may say nothing, from the text of its settings.

use std::time::Duration;

/// Milliseconds in each unit that PostgreSQL knows for times.
const UNITS: [(&str, u64); 6] = [
    ("ms", 1),
    ("min", 60_000),
    ("s", 1_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
    ("", 1),
];

/// Reads `500`, `10s`, `5 min`; `None` for no limit.
pub fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits_end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits_end);
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
    let milliseconds = digits.parse::<u64>().ok()?.checked_mul(*factor)?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_units() {
        assert_eq!(parse("500"), Some(Duration::from_millis(500)));
        assert_eq!(parse("10s"), Some(Duration::from_secs(10)));
        assert_eq!(parse("5 min"), Some(Duration::from_secs(300)));
        assert_eq!(parse("0"), None);
        assert_eq!(parse("soon"), None);
    }
}
