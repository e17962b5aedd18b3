//! A session's settings (`SET`, `SHOW`, `RESET`).
//!
//! PostgreSQL's settings fall in three groups here: fixed ones, which say how Hedgerow is;
//! those whose values are checked because they would change answers; and those that are kept
//! and shown but mean nothing here (`work_mem`). Others do not exist, except names with a dot.
//!
//! `SET` inside a transaction is undone when it is rolled back; `SET LOCAL` when it ends.

use std::collections::BTreeMap;
use std::time::Duration;

use types::CommitPosition;

use crate::error::{SqlError, code};

/// PostgreSQL's version whose behaviour is followed; clients choose their catalog queries by it.
pub const SERVER_VERSION: &str = concat!("15.0 (Hedgerow ", env!("CARGO_PKG_VERSION"), ")");

/// How a setting's new value is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// Not to be changed.
    Fixed,
    /// Anything goes.
    Free,
    /// Only these, in any case.
    OneOf(&'static [&'static str]),
    /// Only values that begin so, in any case.
    Starts(&'static str),
    /// A time, in milliseconds where no unit is given.
    Milliseconds,
    /// A position of the source, or nothing.
    Position,
    /// Only UTC: values with a time zone are compared and shown in it.
    Utc,
}

struct Setting {
    /// As PostgreSQL spells it.
    name: &'static str,
    default: &'static str,
    check: Check,
    /// The client is told of every change.
    reported: bool,
}

const fn setting(name: &'static str, default: &'static str, check: Check) -> Setting {
    Setting {
        name,
        default,
        check,
        reported: false,
    }
}

const fn reported(name: &'static str, default: &'static str, check: Check) -> Setting {
    Setting {
        name,
        default,
        check,
        reported: true,
    }
}

const UTF8: Check = Check::OneOf(&["utf8", "utf-8", "unicode"]);
const ON: Check = Check::OneOf(&["on", "true", "yes", "1"]);

/// The position that a statement waits for before it reads.
const WAIT_FOR: &str = "hedgerow.wait_for";

/// All settings, by lower-case name.
const SETTINGS: &[Setting] = &[
    reported("application_name", "", Check::Free),
    setting("backslash_quote", "safe_encoding", Check::Free),
    setting("block_size", "8192", Check::Fixed),
    setting("bytea_output", "hex", Check::OneOf(&["hex"])),
    setting("check_function_bodies", "on", Check::Free),
    reported("client_encoding", "UTF8", UTF8),
    setting("client_min_messages", "notice", Check::Free),
    setting("cursor_tuple_fraction", "0.1", Check::Free),
    reported("DateStyle", "ISO, MDY", Check::Starts("iso")),
    setting("deadlock_timeout", "1s", Check::Free),
    setting("default_statistics_target", "100", Check::Free),
    setting("default_table_access_method", "heap", Check::Free),
    setting("default_tablespace", "", Check::Free),
    setting("default_transaction_deferrable", "off", Check::Free),
    setting(
        "default_transaction_isolation",
        "repeatable read",
        Check::Free,
    ),
    reported("default_transaction_read_only", "on", ON),
    setting("effective_cache_size", "4GB", Check::Free),
    setting("enable_hashjoin", "on", Check::Free),
    setting("enable_indexscan", "on", Check::Free),
    setting("enable_mergejoin", "on", Check::Free),
    setting("enable_nestloop", "on", Check::Free),
    setting("enable_seqscan", "on", Check::Free),
    setting("enable_sort", "on", Check::Free),
    setting("extra_float_digits", "1", Check::Free),
    setting("geqo", "on", Check::Free),
    setting(
        "idle_in_transaction_session_timeout",
        "0",
        Check::Milliseconds,
    ),
    setting("idle_session_timeout", "0", Check::Milliseconds),
    setting(WAIT_FOR, "", Check::Position),
    reported("in_hot_standby", "on", Check::Fixed),
    reported("integer_datetimes", "on", Check::Fixed),
    reported("IntervalStyle", "postgres", Check::OneOf(&["postgres"])),
    setting("jit", "off", Check::Free),
    setting("lc_collate", "C", Check::Fixed),
    setting("lc_ctype", "C", Check::Fixed),
    setting("lc_messages", "C", Check::Free),
    setting("lc_monetary", "C", Check::Free),
    setting("lc_numeric", "C", Check::Free),
    setting("lc_time", "C", Check::Free),
    setting("lock_timeout", "0", Check::Milliseconds),
    setting("log_min_duration_statement", "-1", Check::Free),
    setting("log_statement", "none", Check::Free),
    setting("maintenance_work_mem", "64MB", Check::Free),
    setting("max_connections", "100", Check::Fixed),
    setting("max_identifier_length", "63", Check::Fixed),
    setting("max_index_keys", "32", Check::Fixed),
    setting("max_parallel_workers_per_gather", "2", Check::Free),
    setting("plan_cache_mode", "auto", Check::Free),
    setting("quote_all_identifiers", "off", Check::Free),
    setting("random_page_cost", "4", Check::Free),
    setting("role", "none", Check::OneOf(&["none"])),
    setting("row_security", "on", Check::Free),
    setting("search_path", "\"$user\", public", Check::Free),
    reported("server_encoding", "UTF8", Check::Fixed),
    reported("server_version", SERVER_VERSION, Check::Fixed),
    setting("server_version_num", "150000", Check::Fixed),
    reported("session_authorization", "", Check::Fixed),
    setting("shared_buffers", "128MB", Check::Fixed),
    setting("ssl", "off", Check::Fixed),
    reported("standard_conforming_strings", "on", ON),
    setting("statement_timeout", "0", Check::Milliseconds),
    setting("synchronous_commit", "on", Check::Free),
    reported("TimeZone", "UTC", Check::Utc),
    setting("transaction_deferrable", "off", Check::Free),
    setting("transaction_isolation", "repeatable read", Check::Free),
    setting("transaction_read_only", "on", ON),
    setting("wal_level", "logical", Check::Fixed),
    setting("work_mem", "4MB", Check::Free),
    setting("xmloption", "content", Check::Free),
    reported("is_superuser", "off", Check::Fixed),
];

fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS
        .iter()
        .find(|setting| setting.name.eq_ignore_ascii_case(name))
}

/// The settings of one session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Values that differ from the defaults, by lower-case name.
    changed: BTreeMap<String, String>,
    /// What `RESET` goes back to, where that is not the built-in default.
    start: BTreeMap<String, String>,
}

impl Settings {
    /// The settings of a new session. A value from the client's startup packet that cannot be
    /// had is passed over (the client is told the values in force) unless it would make text
    /// unreadable.
    pub(crate) fn new(user: &str, wanted: &[(String, String)]) -> Result<Self, SqlError> {
        let mut settings = Self::default();
        settings
            .start
            .insert("session_authorization".to_owned(), user.to_owned());
        for (name, value) in wanted {
            match settings.check(name, value) {
                Ok(value) => {
                    settings.start.insert(name.to_ascii_lowercase(), value);
                }
                Err(error) if name.eq_ignore_ascii_case("client_encoding") => return Err(error),
                Err(_) => {}
            }
        }
        Ok(settings)
    }

    /// A setting's value; `None` where there is no such setting.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let lower = name.to_ascii_lowercase();
        let own = self.changed.get(&lower).or_else(|| self.start.get(&lower));
        own.cloned()
            .or_else(|| find(name).map(|setting| setting.default.to_owned()))
    }

    /// The name that `SHOW` heads its column with.
    pub(crate) fn canonical_name(name: &str) -> String {
        find(name).map_or_else(
            || name.to_ascii_lowercase(),
            |setting| setting.name.to_owned(),
        )
    }

    /// Changes a setting. Gives what the client is to be told.
    pub(crate) fn set(
        &mut self,
        name: &str,
        value: &str,
    ) -> Result<Vec<(String, String)>, SqlError> {
        let value = self.check(name, value)?;
        self.changed
            .insert(name.to_ascii_lowercase(), value.clone());
        Ok(self.report(name, value))
    }

    /// Goes back to a setting's value at the start of the session.
    pub(crate) fn reset(&mut self, name: &str) -> Result<Vec<(String, String)>, SqlError> {
        self.changed.remove(&name.to_ascii_lowercase());
        let value = self.get(name).ok_or_else(|| unknown(name))?;
        Ok(self.report(name, value))
    }

    /// Goes back to all values at the start of the session.
    pub(crate) fn reset_all(&mut self) -> Vec<(String, String)> {
        let changed = std::mem::take(&mut self.changed);
        self.differences(&Self {
            changed,
            start: self.start.clone(),
        })
    }

    /// Takes a setting's value from `other`.
    pub(crate) fn restore(&mut self, name: &str, other: &Self) {
        let lower = name.to_ascii_lowercase();
        match other.changed.get(&lower) {
            Some(value) => self.changed.insert(lower, value.clone()),
            None => self.changed.remove(&lower),
        };
    }

    /// The reported settings whose values are not those of `other`.
    pub(crate) fn differences(&self, other: &Self) -> Vec<(String, String)> {
        let own = self.reported();
        let others = other.reported();
        own.into_iter()
            .filter(|setting| !others.contains(setting))
            .collect()
    }

    /// The settings that a client is told of.
    pub(crate) fn reported(&self) -> Vec<(String, String)> {
        SETTINGS
            .iter()
            .filter(|setting| setting.reported)
            .map(|setting| {
                (
                    setting.name.to_owned(),
                    self.get(setting.name).unwrap_or_default(),
                )
            })
            .collect()
    }

    /// All settings by name.
    pub(crate) fn all(&self) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = SETTINGS
            .iter()
            .map(|setting| {
                (
                    setting.name.to_owned(),
                    self.get(setting.name).unwrap_or_default(),
                )
            })
            .collect();
        let custom = self.changed.iter().filter(|(name, _)| find(name).is_none());
        all.extend(custom.map(|(name, value)| (name.clone(), value.clone())));
        all.sort_by_key(|(name, _)| name.to_ascii_lowercase());
        all
    }

    /// `statement_timeout`; `None` for no limit.
    pub(crate) fn statement_timeout(&self) -> Option<Duration> {
        let value = self.get("statement_timeout")?;
        milliseconds(&value)
            .filter(|&limit| limit > 0)
            .map(Duration::from_millis)
    }

    /// The position that has to be visible before a statement reads; `None` for any.
    pub(crate) fn wait_for(&self) -> Option<CommitPosition> {
        let value = self
            .changed
            .get(WAIT_FOR)
            .or_else(|| self.start.get(WAIT_FOR));
        value.and_then(|position| position.parse().ok())
    }

    /// The schemas in which a table without one is looked for.
    pub(crate) fn search_path(&self) -> Vec<String> {
        let user = self.get("session_authorization").unwrap_or_default();
        self.get("search_path")
            .unwrap_or_default()
            .split(',')
            .map(|schema| schema.trim().trim_matches('"'))
            .map(|schema| {
                if schema == "$user" {
                    user.clone()
                } else {
                    schema.to_owned()
                }
            })
            .filter(|schema| !schema.is_empty())
            .collect()
    }

    fn report(&self, name: &str, value: String) -> Vec<(String, String)> {
        let told = find(name).filter(|setting| setting.reported);
        told.map(|setting| (setting.name.to_owned(), value))
            .into_iter()
            .collect()
    }

    /// The value as it is kept, or why it cannot be had.
    fn check(&self, name: &str, value: &str) -> Result<String, SqlError> {
        let Some(setting) = find(name) else {
            return if name.contains('.') {
                Ok(value.to_owned())
            } else {
                Err(unknown(name))
            };
        };
        let lower = value.to_ascii_lowercase();
        let refused = || {
            SqlError::new(
                code::INVALID_PARAMETER_VALUE,
                format!(
                    "invalid value for parameter \"{}\": \"{value}\"",
                    setting.name
                ),
            )
        };
        match setting.check {
            Check::Free => Ok(value.to_owned()),
            Check::Fixed if self.get(name).as_deref() == Some(value) => Ok(value.to_owned()),
            Check::Fixed => Err(SqlError::new(
                "55P02",
                format!("parameter \"{}\" cannot be changed", setting.name),
            )),
            Check::OneOf(allowed) if allowed.contains(&lower.as_str()) => Ok(setting.default.to_owned()),
            Check::OneOf(allowed) => {
                Err(refused().with_hint(format!("Possible here: {}.", allowed.join(", "))))
            }
            Check::Starts(start) if lower.starts_with(start) => Ok(setting.default.to_owned()),
            Check::Starts(_) => Err(refused().with_hint(format!("Possible here: {}.", setting.default))),
            Check::Milliseconds => milliseconds(value).map(|_| value.to_owned()).ok_or_else(refused),
            Check::Position if value.is_empty() => Ok(String::new()),
            Check::Position => match value.parse::<CommitPosition>() {
                Ok(position) => Ok(position.to_string()),
                Err(error) => Err(refused().with_detail(error.to_string())),
            },
            Check::Utc if is_utc(&lower) => Ok("UTC".to_owned()),
            Check::Utc => Err(refused()
                .with_hint("Timestamps with time zone are compared and shown in UTC; convert with AT TIME ZONE.")),
        }
    }
}

fn unknown(name: &str) -> SqlError {
    SqlError::new(
        code::UNDEFINED_OBJECT,
        format!("unrecognized configuration parameter \"{name}\""),
    )
}

fn is_utc(lower: &str) -> bool {
    let names = [
        "utc",
        "gmt",
        "etc/utc",
        "etc/gmt",
        "zulu",
        "universal",
        "greenwich",
        "uct",
    ];
    let offset = lower.trim_start_matches(['+', '-']);
    names.contains(&lower)
        || (!offset.is_empty() && offset.bytes().all(|byte| matches!(byte, b'0' | b':')))
}

/// A time with PostgreSQL's units, milliseconds without one.
fn milliseconds(value: &str) -> Option<u64> {
    let value = value.trim();
    let digits = value
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(value.len());
    let number: u64 = value[..digits].parse().ok()?;
    let factor = match value[digits..].trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings::new("ann", &[("TimeZone".to_owned(), "Europe/Paris".to_owned())]).expect("starts")
    }

    #[test]
    fn a_change_of_a_reported_setting_is_told() {
        let mut settings = settings();
        let told = settings.set("application_name", "psql").expect("is free");
        assert_eq!(told, [("application_name".to_owned(), "psql".to_owned())]);
        assert!(settings.set("work_mem", "1GB").expect("is free").is_empty());
        assert_eq!(
            settings.reset_all(),
            [("application_name".to_owned(), String::new())]
        );
    }

    #[test]
    fn what_would_change_answers_is_refused() {
        let mut settings = settings();
        assert_eq!(settings.get("timezone").as_deref(), Some("UTC"));
        for (name, value) in [
            ("timezone", "Europe/Paris"),
            ("client_encoding", "latin1"),
            ("standard_conforming_strings", "off"),
            ("server_version", "9"),
            ("statement_timeout", "1 fortnight"),
            ("no_such_thing", "1"),
        ] {
            assert!(settings.set(name, value).is_err(), "{name}");
        }
        settings
            .set("datestyle", "ISO, YMD")
            .expect("prints the same");
        settings
            .set("my.own", "x")
            .expect("names with a dot are free");
    }

    #[test]
    fn times_have_units() {
        let mut settings = settings();
        assert_eq!(settings.statement_timeout(), None);
        settings.set("statement_timeout", "2s").expect("is a time");
        assert_eq!(settings.statement_timeout(), Some(Duration::from_secs(2)));
    }

    #[test]
    fn the_search_path_knows_the_user() {
        assert_eq!(settings().search_path(), ["ann", "public"]);
    }
}
