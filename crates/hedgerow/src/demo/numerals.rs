//! Figures for people: grouped digits, sizes, times.

use std::time::Duration;

const THOUSAND: f64 = 1_000.0;

/// `1234567` as `1,234,567`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Cents as an amount: `123456` as `1,234.56`.
pub(super) fn amount(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.unsigned_abs();
    format!("{sign}{}.{:02}", grouped(cents / 100), cents % 100)
}

/// Bytes with a unit, decimal as disks are sold: `74.1 MB`.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / THOUSAND;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= THOUSAND;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A short time: `640 µs`, `2.1 ms`, `38 ms`, `2.4 s`.
pub(super) fn short_time(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    match us {
        _ if us < 999.5 => format!("{us:.0} µs"),
        _ if us < 9_950.0 => format!("{:.1} ms", us / 1e3),
        _ if us < 999_500.0 => format!("{:.0} ms", us / 1e3),
        _ => format!("{:.1} s", us / 1e6),
    }
}

/// A long time: `00:01:23`.
pub(super) fn clock_time(time: Duration) -> String {
    let seconds = time.as_secs();
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(amount(-123_456_705), "-1,234,567.05");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(999_949), "999.9 kB");
        assert_eq!(size(999_951), "1.0 MB");
        assert_eq!(size(74_100_000), "74.1 MB");
        assert_eq!(short_time(Duration::from_micros(640)), "640 µs");
        assert_eq!(short_time(Duration::from_micros(2_140)), "2.1 ms");
        assert_eq!(short_time(Duration::from_millis(38)), "38 ms");
        assert_eq!(short_time(Duration::from_millis(2_400)), "2.4 s");
        assert_eq!(clock_time(Duration::from_secs(3_723)), "01:02:03");
    }
}
