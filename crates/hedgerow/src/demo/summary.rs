//! What the run came to, in a few lines.

use std::time::Duration;

use super::figures::{Component, Figures};
use super::numerals::{amount, grouped, short_time, size};

/// How long the run took, to two different ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// Until all orders were visible.
    pub(super) visible: Duration,
    /// Until everything was durable and merged.
    pub(super) settled: Duration,
}

/// The summary. `changes` is the number of row changes of this run.
pub(super) fn summary(figures: &Figures, changes: u64, times: Times) -> String {
    let a_second = |count: u64| {
        let seconds = times.visible.as_secs_f64().max(1e-9);
        grouped((count as f64 / seconds).round() as u64)
    };
    let size = &figures.size;
    let ratio = size.raw as f64 / size.disk.max(1) as f64;
    let lines = [
        format!(
            "ran       {} orders in {}, {} of them rolled back",
            grouped(figures.tried),
            short_time(times.visible),
            grouped(figures.rolled_back)
        ),
        format!(
            "rates     {} orders a second, {} row changes a second",
            a_second(figures.tried),
            a_second(changes)
        ),
        format!("fresh     {}", freshness(figures)),
        format!(
            "holds     {} orders, {} rows in five tables",
            grouped(figures.orders_held),
            grouped(figures.rows_held)
        ),
        format!("raw       {} bytes", grouped(size.raw)),
        format!(
            "on disk   {} bytes, {ratio:.1} times smaller",
            grouped(size.disk)
        ),
        format!(
            "settled   durable and merged after {}: {}",
            short_time(times.settled),
            components(figures)
        ),
        format!("primary   {}", primary(figures)),
        format!("look-ups  {}", lookups(figures)),
        format!("audit     {}", audit(figures)),
    ];
    lines.map(|line| format!("  {line}\n")).concat()
}

fn primary(figures: &Figures) -> String {
    let primary = &figures.primary;
    let rows = primary.rows_in_memory + primary.rows_evicted;
    let mut text = format!(
        "{} of {} rows on disk with {} of memory, {} came back",
        grouped(primary.rows_evicted as u64),
        grouped(rows as u64),
        size(primary.memory_max),
        grouped(primary.rows_returned),
    );
    if let Some([median, slow]) = primary.latency {
        let judgement = match primary.wrong {
            0 => "all right".to_owned(),
            wrong => format!("{} WRONG", grouped(wrong)),
        };
        text.push_str(&format!(
            "; {} answers, half within {}, 99 % within {}, {judgement}",
            grouped(primary.right + primary.wrong),
            short_time(median),
            short_time(slow)
        ));
    }
    if primary.is_full {
        text.push_str("; FULL: the keys of all rows take its memory");
    }
    text
}

fn components(figures: &Figures) -> String {
    let runs = |component: &Component| {
        let plural = if component.runs == 1 { "run" } else { "runs" };
        format!("{} {} {plural}", component.name, component.runs)
    };
    let parts: Vec<_> = figures
        .components
        .iter()
        .filter(|c| c.runs > 0)
        .map(runs)
        .collect();
    parts.join(", ")
}

fn freshness(figures: &Figures) -> String {
    match figures.freshness {
        Some([median, slow]) => format!(
            "half visible within {}, 99 % within {}",
            short_time(median),
            short_time(slow)
        ),
        None => "not measured".to_owned(),
    }
}

fn lookups(figures: &Figures) -> String {
    let lookups = &figures.lookups;
    let judgement = match lookups.wrong {
        0 => "all right".to_owned(),
        wrong => format!("{} WRONG", grouped(wrong)),
    };
    let asked = grouped(lookups.right + lookups.wrong);
    match lookups.latency {
        Some([median, slow]) => {
            format!(
                "{asked}, half within {}, 99 % within {}, {judgement}",
                short_time(median),
                short_time(slow)
            )
        }
        None => "none".to_owned(),
    }
}

fn audit(figures: &Figures) -> String {
    let audit = &figures.audit;
    match &audit.failure {
        Some(failure) => format!("FAILED: {failure}"),
        None => format!(
            "lines = orders = balances = revenues = {}, asked {} times",
            amount(audit.amount),
            grouped(audit.agreed)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::{Audit, Lookups, Sizes};
    use super::*;

    #[test]
    fn a_summary_tells_rates_sizes_and_failures() {
        let mut figures = Figures {
            tried: 2_000,
            orders_held: 1_980,
            rolled_back: 20,
            rows_held: 39_911,
            size: Sizes {
                raw: 4_000_000,
                disk: 400_000,
                memory: 0,
                memory_max: 1,
            },
            lookups: Lookups {
                right: 5,
                latency: Some([Duration::from_millis(1); 2]),
                ..Lookups::default()
            },
            audit: Audit {
                agreed: 3,
                amount: 12_345,
                ..Audit::default()
            },
            ..Figures::default()
        };
        let times = Times {
            visible: Duration::from_millis(500),
            settled: Duration::from_secs(2),
        };
        let text = summary(&figures, 30_000, times);
        for part in [
            "2,000 orders in 500 ms, 20 of them rolled back",
            "4,000 orders a second, 60,000 row changes a second",
            "1,980 orders, 39,911 rows",
            "4,000,000 bytes",
            "400,000 bytes, 10.0 times smaller",
            "5, half within 1.0 ms",
            "all right",
            "= 123.45, asked 3 times",
        ] {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
        figures.audit.failure = Some("at 0/1 a sum differs".to_owned());
        figures.lookups.wrong = 1;
        let text = summary(&figures, 30_000, times);
        assert!(text.contains("FAILED: at 0/1") && text.contains("1 WRONG"));
    }
}
