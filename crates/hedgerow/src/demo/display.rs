//! The live display: figures as a picture, redrawn in place, or as plain lines.
//!
//! On a terminal the picture is drawn over the last one with a single write, so that it does
//! not flicker. Anywhere else (a pipe, a log, a window too small) there is one line a while.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use super::figures::{Audit, Component, Figures, Lookups, Primary, Sizes};
use super::meter::RATE_SAMPLES;
use super::numerals::{amount, clock_time, grouped, short_time, size};
use super::paint::{Line, Paint, bar, sparkline};

const BAR_WIDTH: usize = 32;
/// Runs are shown one by one up to this many.
const RUNS_SHOWN: usize = 24;
/// A picture is at most this high; a lower window gets plain lines.
const PICTURE_LINES: u16 = 20;
/// The time between two plain lines.
const PLAIN_INTERVAL: Duration = Duration::from_secs(1);

const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// The terminal shows what lies between these at once, if it can.
const BEGIN_FRAME: &str = "\x1b[?2026h";
const END_FRAME: &str = "\x1b[?2026l";

/// Shows figures on standard output.
pub(super) struct Display {
    kind: Kind,
}

enum Kind {
    /// Pictures; lines drawn last.
    Picture { drawn: usize, colours: bool },
    /// Lines; when the last one was printed.
    Plain { last: Option<Duration> },
}

impl Display {
    /// The display that fits standard output.
    pub(super) fn new() -> Self {
        let fits =
            io::stdout().is_terminal() && window().is_some_and(|(_, lines)| lines > PICTURE_LINES);
        let kind = if fits {
            let colours = std::env::var_os("NO_COLOR").is_none();
            Kind::Picture { drawn: 0, colours }
        } else {
            Kind::Plain { last: None }
        };
        Self { kind }
    }

    /// Shows how things were at the end.
    pub(super) fn show_last(&mut self, figures: &Figures) -> io::Result<()> {
        if let Kind::Plain { last } = &mut self.kind {
            *last = None;
        }
        self.show(figures)
    }

    /// Shows how things are now.
    pub(super) fn show(&mut self, figures: &Figures) -> io::Result<()> {
        let mut out = io::stdout().lock();
        match &mut self.kind {
            Kind::Picture { drawn, colours } => {
                let columns = window().map_or(80, |(columns, _)| columns);
                let lines = picture(figures);
                let frame = frame(&lines, *drawn, usize::from(columns), *colours);
                out.write_all(frame.as_bytes())?;
                *drawn = lines.len();
            }
            // Nothing to tell yet.
            Kind::Plain { .. } if figures.rows_held == 0 => return Ok(()),
            Kind::Plain { last } => {
                if last.is_some_and(|last| figures.elapsed < last + PLAIN_INTERVAL) {
                    return Ok(());
                }
                *last = Some(figures.elapsed);
                writeln!(out, "{}", plain(figures))?;
            }
        }
        out.flush()
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Kind::Picture { drawn: 1.., .. } = self.kind {
            // Nothing can be done about a terminal that has gone away.
            _ = write!(io::stdout(), "{SHOW_CURSOR}");
        }
    }
}

/// Columns and lines of the window.
fn window() -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some((size.ws_col, size.ws_row))
}

/// The bytes that draw `lines` over a picture of `drawn` lines.
fn frame(lines: &[Line], drawn: usize, columns: usize, colours: bool) -> String {
    const CLEAR_LINE: &str = "\x1b[K";
    const CLEAR_BELOW: &str = "\x1b[J";
    let mut out = format!("{BEGIN_FRAME}{HIDE_CURSOR}");
    if drawn > 0 {
        out.push_str(&format!("\x1b[{drawn}F"));
    }
    for line in lines {
        line.render(columns, colours, &mut out);
        out.push_str(CLEAR_LINE);
        out.push('\n');
    }
    out.push_str(CLEAR_BELOW);
    out.push_str(END_FRAME);
    out
}

/// The whole picture.
fn picture(figures: &Figures) -> Vec<Line> {
    let mut lines = vec![Line::new(), headline(figures), Line::new()];
    lines.push(
        rate_line("orders", figures.orders_rate, &figures.orders_history).plain(format!(
            "{} held, {} rolled back",
            grouped(figures.orders_held),
            grouped(figures.rolled_back)
        )),
    );
    lines.push(
        rate_line("changes", figures.changes_rate, &figures.changes_history)
            .plain(format!("{} rows held", grouped(figures.rows_held))),
    );
    lines.push(primary_line(&figures.primary));
    lines.push(lookup_line(&figures.lookups));
    lines.push(audit_line(&figures.audit));
    lines.push(Line::new());
    lines.extend(size_lines(&figures.size));
    lines.push(Line::new());
    lines.extend(component_lines(&figures.components, &figures.size));
    lines.push(merge_line(figures));
    lines.push(Line::new());
    lines
}

fn headline(figures: &Figures) -> Line {
    let line = Line::new()
        .with(Paint::Hedge, "  ♣♣♣ ")
        .with(Paint::Bold, clock_time(figures.elapsed));
    let line = match figures.freshness {
        Some([median, slow]) => line
            .dim("   fresh within ")
            .with(Paint::Bold, short_time(median))
            .dim(format!(" (p99 {})", short_time(slow))),
        None => line,
    };
    let line = line
        .dim("   at ")
        .plain(figures.visible.to_string())
        .dim("   durable ")
        .plain(figures.durable.to_string());
    let Some(goal) = figures.goal.filter(|&goal| goal > 0) else {
        return line;
    };
    let share = figures.tried as f64 / goal as f64;
    line.with(Paint::Leaf, format!("   {}", bar(share, 12)))
        .plain(format!(" {:.0} %", share * 100.0))
}

fn label(text: &str) -> Line {
    Line::new().dim(format!("  {text:<9}"))
}

fn rate_line(name: &str, rate: f64, history: &[f64]) -> Line {
    label(name)
        .with(Paint::Bold, format!("{:>9}", grouped(rate.round() as u64)))
        .dim(" /s  ")
        .with(
            Paint::Leaf,
            format!("{:<RATE_SAMPLES$}  ", sparkline(history.iter().copied())),
        )
}

/// The primary: its memory, and where its rows are.
fn primary_line(primary: &Primary) -> Line {
    let share = primary.memory as f64 / primary.memory_max.max(1) as f64;
    let line = label("primary")
        .with(Paint::Leaf, format!("{:<12}", bar(share, 12)))
        .plain(format!(" {}", size(primary.memory)))
        .dim(format!(
            "   {} rows in memory, {} on disk, {} came back",
            grouped(primary.rows_in_memory as u64),
            grouped(primary.rows_evicted as u64),
            grouped(primary.rows_returned)
        ));
    let line = match primary.wrong {
        0 => line,
        wrong => line.with(Paint::Alarm, format!("   {} WRONG", grouped(wrong))),
    };
    if primary.is_full {
        line.with(Paint::Alarm, "   full of keys: no more orders".to_owned())
    } else {
        line
    }
}

fn lookup_line(lookups: &Lookups) -> Line {
    let line = rate_line("look-ups", lookups.rate, &lookups.history);
    let line = match lookups.latency {
        Some([median, slow]) => line.plain(format!(
            "p50 {}, p99 {}, ",
            short_time(median),
            short_time(slow)
        )),
        None => line,
    };
    match lookups.wrong {
        0 => line.plain(format!("{} right", grouped(lookups.right))),
        wrong => line.with(Paint::Alarm, format!("{} WRONG", grouped(wrong))),
    }
}

fn audit_line(audit: &Audit) -> Line {
    let line = label("audit");
    if let Some(failure) = &audit.failure {
        return line.with(Paint::Alarm, failure.clone());
    }
    if audit.agreed == 0 {
        return line.dim("soon");
    }
    line.plain("lines = orders = balances = revenues = ")
        .with(Paint::Bold, amount(audit.amount))
        .dim(format!(
            "   {} times, {}",
            grouped(audit.agreed),
            short_time(audit.latency)
        ))
}

fn size_lines(size: &Sizes) -> [Line; 2] {
    let largest = size.raw.max(size.disk).max(1) as f64;
    let line = |name, paint, bytes: u64| {
        let bar = bar(bytes as f64 / largest, BAR_WIDTH);
        label(name)
            .with(paint, format!("{bar:<BAR_WIDTH$}"))
            .plain(format!("  {:>9}", self::size(bytes)))
    };
    let disk = line("on disk", Paint::Hedge, size.disk);
    let disk = match size.ratio() {
        Some(ratio) => disk.with(Paint::Bold, format!("   {ratio:.1} times smaller")),
        None => disk,
    };
    [line("raw", Paint::Wood, size.raw), disk]
}

/// One line a component: its size (C0 against its budget, the others against the largest) and
/// its runs.
fn component_lines(components: &[Component], size: &Sizes) -> Vec<Line> {
    let on_disk = |c: &&Component| c.name != "C0";
    let largest = components
        .iter()
        .filter(on_disk)
        .map(|c| c.bytes)
        .max()
        .unwrap_or(0);
    let line = |component: &Component| {
        let (paint, full) = if component.name == "C0" {
            (Paint::Leaf, size.memory_max)
        } else {
            (Paint::Hedge, largest)
        };
        let bar = bar(component.bytes as f64 / full.max(1) as f64, BAR_WIDTH);
        label(&component.name)
            .with(paint, format!("{bar:<BAR_WIDTH$}"))
            .plain(format!("  {:>9}   ", self::size(component.bytes)))
            .with(paint, "▮".repeat(component.runs.min(RUNS_SHOWN)))
            .dim(format!(
                " {} {}",
                component.runs,
                if component.runs == 1 { "run" } else { "runs" }
            ))
    };
    components.iter().map(line).collect()
}

fn merge_line(figures: &Figures) -> Line {
    let merges = &figures.merges;
    label("merges")
        .with(Paint::Leaf, "⟳ ".repeat(merges.running.min(8) as usize))
        .plain(format!(
            "{} done, {} running",
            grouped(merges.done),
            merges.running
        ))
        .dim(format!(
            "   {} flushed, {} merged",
            size(merges.bytes_flushed),
            size(merges.bytes_merged)
        ))
}

/// The figures as one line.
fn plain(figures: &Figures) -> String {
    let mut line = format!(
        "{}  {} orders/s, {} changes/s, {} orders in {} rows, raw {}, on disk {}",
        clock_time(figures.elapsed),
        grouped(figures.orders_rate.round() as u64),
        grouped(figures.changes_rate.round() as u64),
        grouped(figures.orders_held),
        grouped(figures.rows_held),
        size(figures.size.raw),
        size(figures.size.disk),
    );
    line.push_str(&format!(
        ", primary {} with {} of {} rows on disk",
        size(figures.primary.memory),
        grouped(figures.primary.rows_evicted as u64),
        grouped((figures.primary.rows_in_memory + figures.primary.rows_evicted) as u64),
    ));
    for component in &figures.components {
        let (name, runs) = (&component.name, component.runs);
        line.push_str(&format!(
            ", {name} {} in {runs} runs",
            size(component.bytes)
        ));
    }
    if let Some([median, slow]) = figures.freshness {
        line.push_str(&format!(
            ", fresh within {} p99 {}",
            short_time(median),
            short_time(slow)
        ));
    }
    if let Some([median, slow]) = figures.lookups.latency {
        line.push_str(&format!(
            ", look-ups p50 {} p99 {}",
            short_time(median),
            short_time(slow)
        ));
    }
    if figures.lookups.wrong > 0 {
        line.push_str(&format!(
            ", {} LOOK-UPS WRONG",
            grouped(figures.lookups.wrong)
        ));
    }
    if let Some(failure) = &figures.audit.failure {
        line.push_str(&format!(", {failure}"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        Figures {
            goal: Some(1_000),
            tried: 420,
            orders_history: vec![1.0; RATE_SAMPLES],
            components: (0..4)
                .map(|level| Component {
                    name: format!("C{level}"),
                    runs: 100,
                    bytes: 1 << 30,
                })
                .collect(),
            ..Figures::default()
        }
    }

    #[test]
    fn a_picture_keeps_to_its_height_and_width() {
        let lines = picture(&figures());
        assert!(lines.len() <= usize::from(PICTURE_LINES));
        for line in &lines {
            let mut text = String::new();
            line.render(40, false, &mut text);
            assert!(text.chars().count() <= 40, "{text}");
        }
    }

    #[test]
    fn a_frame_is_drawn_over_the_one_before() {
        let lines = [Line::new().plain("a"), Line::new().plain("b")];
        assert!(!frame(&lines, 0, 80, false).contains("\x1b[2F"));
        assert!(frame(&lines, 2, 80, false).contains("\x1b[2F"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut figures = figures();
        figures.lookups.wrong = 3;
        figures.audit.failure = Some("the sums differ".to_owned());
        let line = plain(&figures);
        assert!(line.contains("3 LOOK-UPS WRONG") && line.contains("the sums differ"));
    }
}
