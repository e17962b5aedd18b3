//! What PostgreSQL 15 prints for the values at the edges, and what it never prints.

use super::*;

fn integer(text: &str) -> Option<i64> {
    parse_integer(text.as_bytes()).ok()
}

fn decimal(text: &str, precision: u8, scale: i8) -> Option<i128> {
    parse_decimal(text.as_bytes(), precision, scale).ok()
}

fn date(text: &str) -> Option<i32> {
    parse_date(text.as_bytes()).ok()
}

fn timestamp(text: &str) -> Option<i64> {
    parse_timestamp(text.as_bytes()).ok()
}

#[test]
fn integers_parse_to_their_very_ends() {
    assert_eq!(integer("0"), Some(0));
    assert_eq!(integer("-9223372036854775808"), Some(i64::MIN));
    assert_eq!(integer("9223372036854775807"), Some(i64::MAX));
    for bad in [
        "",
        "-",
        "9223372036854775808",
        "-9223372036854775809",
        "1.0",
        " 1",
        "+1",
    ] {
        assert_eq!(integer(bad), None, "{bad:?}");
    }
}

#[test]
fn decimals_keep_every_digit() {
    assert_eq!(decimal("123.45", 15, 2), Some(12_345));
    assert_eq!(decimal("-0.05", 15, 2), Some(-5));
    assert_eq!(decimal("7", 15, 2), Some(700));
    let most = "99999999999999999999999999999999999999";
    assert_eq!(decimal(most, 38, 0), Some(10_i128.pow(38) - 1));
    assert_eq!(
        decimal(&format!("-0.{most}"), 38, 38),
        Some(1 - 10_i128.pow(38))
    );
    let mixed = "12345678901234567890.123456789012345678";
    assert_eq!(
        decimal(mixed, 38, 18),
        Some(12_345_678_901_234_567_890_123_456_789_012_345_678)
    );
}

#[test]
fn decimals_that_do_not_fit_are_refused() {
    for bad in [
        "NaN",
        "Infinity",
        "-Infinity",
        "1.234",
        "",
        "-",
        ".5",
        "1.",
        "1e3",
        "1..2",
    ] {
        assert_eq!(decimal(bad, 15, 2), None, "{bad:?}");
    }
    assert_eq!(decimal("1000", 5, 2), None);
    assert_eq!(decimal("999.99", 5, 2), Some(99_999));
    assert_eq!(decimal(&"9".repeat(39), 38, 0), None);
    assert_eq!(decimal(&"9".repeat(400), 38, 0), None);
}

#[test]
fn dates_reach_from_julian_zero_to_the_last() {
    assert_eq!(date("1970-01-01"), Some(0));
    assert_eq!(date("2000-02-29"), Some(11_016));
    assert_eq!(date("1969-12-31"), Some(-1));
    // select date '4714-11-24 BC' - date '1970-01-01'  and  date '5874897-12-31' - …
    assert_eq!(date("4714-11-24 BC"), Some(-2_440_588));
    assert_eq!(date("0001-12-31 BC"), Some(-719_163));
    assert_eq!(date("0001-01-01"), Some(-719_162));
    assert_eq!(date("10000-01-01"), Some(2_932_897));
    assert_eq!(date("5874897-12-31"), Some(2_145_042_905));
    assert_eq!(date("infinity"), Some(i32::MAX));
    assert_eq!(date("-infinity"), Some(i32::MIN));
    for bad in [
        "",
        "1999-02-29",
        "1900-02-29",
        "2000-13-01",
        "2000-00-01",
        "2000-01-00",
        "99-01-01",
    ] {
        assert_eq!(date(bad), None, "{bad:?}");
    }
}

#[test]
fn times_include_midnight_at_the_end() {
    let time = |text: &str| parse_time(text.as_bytes()).ok();
    assert_eq!(time("00:00:00"), Some(0));
    assert_eq!(time("24:00:00"), Some(DAY_US));
    assert_eq!(time("23:59:59.999999"), Some(DAY_US - 1));
    assert_eq!(time("12:34:56.7"), Some(45_296_700_000));
    for bad in [
        "24:00:00.000001",
        "1:00:00",
        "12:60:00",
        "12:00",
        "12:00:00.",
        "12:00:00.1234567",
    ] {
        assert_eq!(time(bad), None, "{bad:?}");
    }
}

#[test]
fn timestamps_have_eras_offsets_and_infinities() {
    assert_eq!(timestamp("1970-01-01 00:00:00"), Some(0));
    assert_eq!(
        timestamp("2024-02-29 12:00:00.5+00"),
        Some(1_709_208_000_500_000)
    );
    assert_eq!(
        timestamp("2024-02-29 12:00:00+05:30"),
        timestamp("2024-02-29 06:30:00+00")
    );
    assert_eq!(
        timestamp("2024-02-29 12:00:00-00:00:30"),
        timestamp("2024-02-29 12:00:30")
    );
    // select extract(epoch from timestamp '4714-11-24 00:00:00 BC')
    assert_eq!(
        timestamp("4714-11-24 00:00:00 BC"),
        Some(-210_866_803_200_000_000)
    );
    assert_eq!(
        timestamp("4714-11-24 00:00:00+00 BC"),
        Some(-210_866_803_200_000_000)
    );
    assert_eq!(timestamp("infinity"), Some(i64::MAX));
    assert_eq!(timestamp("-infinity"), Some(i64::MIN));
    // PostgreSQL's last instant is beyond 64 bits of microseconds since 1970.
    assert_eq!(timestamp("294276-12-31 23:59:59.999999"), None);
    assert!(timestamp("294246-12-31 23:59:59.999999").is_some());
    for bad in [
        "",
        "2024-02-29",
        "2024-02-29T00:00:00",
        "2024-02-29 00:00:00+",
        "2024-02-29 00:00:00 AD",
    ] {
        assert_eq!(timestamp(bad), None, "{bad:?}");
    }
}

#[test]
fn floats_know_nan_and_the_infinities() {
    let float = |text: &str| parse_float::<f64>(text.as_bytes()).ok();
    assert_eq!(float("0.1"), Some(0.1));
    assert_eq!(float("1e-324"), Some(0.0));
    assert_eq!(float("1.7976931348623157e+308"), Some(f64::MAX));
    assert_eq!(float("-Infinity"), Some(f64::NEG_INFINITY));
    assert!(float("NaN").is_some_and(f64::is_nan));
    assert_eq!(float("-0").map(f64::to_bits), Some((-0.0_f64).to_bits()));
    assert_eq!(float("x"), None);
}

#[test]
fn bytea_is_hexadecimal() {
    let bytea = |text: &str| parse_bytea(text.as_bytes()).ok();
    assert_eq!(bytea("\\x"), Some(vec![]));
    assert_eq!(bytea("\\x00ff0A"), Some(vec![0, 255, 10]));
    for bad in ["", "00", "\\x0", "\\x0g"] {
        assert_eq!(bytea(bad), None, "{bad:?}");
    }
}

#[test]
fn an_error_names_column_type_and_value() {
    let parser = CellParser {
        column: "price".into(),
        column_type: ColumnType::Decimal {
            precision: 5,
            scale: 2,
        },
        trim_blanks: false,
    };
    let mut builder = ColumnBuilder::new(parser.column_type);
    let error = parser.append(b"NaN", &mut builder).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "column \"price\" has the value \"NaN\", which cannot be stored as numeric(5,2)"
    );
    assert!(builder.is_empty());
}

#[test]
fn blank_padding_is_cut_where_it_means_nothing() {
    assert_eq!(trim_blanks(b"ab  "), b"ab");
    assert_eq!(trim_blanks(b" ab"), b" ab");
    assert_eq!(trim_blanks(b"   "), b"");
}
