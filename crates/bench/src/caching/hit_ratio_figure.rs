//! Hit ratios over time as SVG, with the merges drawn under them.
//!
//! A panel is a load, of the first seed. Across: seconds of writing. Up: the share of the reads that
//! needed no disk. Below, a line for each side: where it was merging.

use contender::caching::{CachingReport, Second};

use super::figures::{loads, sides};
use super::run::Run;
use super::side::Side;
use crate::chart::axis::{Axis, draw_grid};
use crate::chart::svg::{Place, Svg};

const LEFT: f64 = 60.0;
const PANEL_WIDTH: f64 = 760.0;
const PANEL_HEIGHT: f64 = 280.0;
const WIDTH: f64 = LEFT + PANEL_WIDTH + 150.0;
const TOP: f64 = 50.0;
const LINE_HEIGHT: f64 = 12.0;
const BOTTOM: f64 = 50.0;

/// Draws the figure.
pub fn draw(runs: &[Run]) -> String {
    let loads = loads(runs);
    let height = TOP + PANEL_HEIGHT + LINE_HEIGHT * sides(runs).len() as f64 + BOTTOM;
    let mut svg = Svg::new(WIDTH, height * loads.len() as f64);
    for (load, panel) in loads.into_iter().zip(0..) {
        let of_load = runs.iter().filter(|run| run.load == load && run.seed == 1);
        draw_panel(
            &mut svg,
            height * f64::from(panel) + TOP,
            &of_load.collect::<Vec<_>>(),
        );
    }
    svg.finish()
}

fn draw_panel(svg: &mut Svg, top: f64, runs: &[&Run]) {
    let Some(first) = runs.first() else {
        return;
    };
    let longest = runs.iter().map(|run| seconds(&run.report).len());
    let longest = longest.max().unwrap_or(0).max(1) as f64;
    let across = Axis::linear(longest, LEFT, LEFT + PANEL_WIDTH);
    let up = Axis::linear(100.0, top + PANEL_HEIGHT, top);
    let title = format!("{}: reads that needed no disk, %", first.load);
    svg.text((LEFT, top - 16.0), "start", &title);
    draw_grid(svg, across, up);
    for (run, line) in runs.iter().zip(0..) {
        let ratio = |second: &Second| 100.0 * second.hit_ratio().max(0.0);
        let points = seconds(&run.report).iter().map(ratio).zip(0..);
        let places =
            points.map(|(ratio, second)| (across.place(f64::from(second) + 0.5), up.place(ratio)));
        let style = format!("stroke=\"{}\" stroke-width=\"1.4\"", colour(run.side));
        svg.curve(places, &style);
        let y = top + PANEL_HEIGHT + 30.0 + LINE_HEIGHT * f64::from(line);
        draw_merges(svg, across, y, run);
    }
}

fn seconds(report: &CachingReport) -> &[Second] {
    &report.written.seconds
}

/// A side's name, and a stroke for each second in which it merged.
fn draw_merges(svg: &mut Svg, across: Axis, y: f64, run: &Run) {
    let place = |second: f64| -> Place { (across.place(second), y) };
    let style = format!("stroke=\"{}\" stroke-width=\"6\"", colour(run.side));
    for (second, start) in seconds(&run.report).iter().zip(0..) {
        if second.is_merging {
            let start = f64::from(start);
            svg.line(place(start), place(start + 1.0), &style);
        }
    }
    let name = (across.to + 10.0, y + 4.0);
    svg.text(name, "start", &run.side.to_string());
}

fn colour(side: Side) -> &'static str {
    match side {
        Side::Hedgerow => "#1b7837",
        Side::PlainLsm => "#999999",
        Side::DeadPagesErased => "#e08214",
        Side::EverythingWarmed => "#c51b7d",
        Side::OverlappingWarmed => "#8073ac",
        Side::ScanResistant => "#7fbf7b",
        Side::PlainLeveled => "#cccc00",
        Side::Lsbm => "#d73027",
        Side::LeveledWarmed => "#35978f",
        Side::SteppedMerge => "#8c510a",
        Side::KeyValueCache => "#fdb863",
        Side::RocksdbLru => "#053061",
        Side::RocksdbFlushWarmed => "#4393c3",
        Side::RocksdbEverythingWarmed => "#92c5de",
        Side::RocksdbClock => "#2166ac",
        Side::RocksdbRowCache => "#b2182b",
    }
}
