//! Throughput over time, as SVG: Rose's Figures 3 and 4.
//!
//! A row of panels is a disk profile. On the left the rate of each window of rows, on the right
//! that of all rows so far. Across: seconds, linear. Up: thousands of rows a second, logarithmic.

use super::run::Run;
use super::side::Side;
use crate::chart::axis::{Axis, draw_grid};
use crate::chart::svg::{Place, Svg};
use crate::limits::disk::DiskProfile;
use contender::{Report, WINDOW_ROWS};

const PANEL_WIDTH: f64 = 400.0;
const PANEL_HEIGHT: f64 = 260.0;
const LEFT: f64 = 70.0;
const GAP: f64 = 70.0;
const TOP: f64 = 60.0;
const BOTTOM: f64 = 60.0;
const WIDTH: f64 = LEFT + 2.0 * PANEL_WIDTH + GAP + 20.0;

/// Between one row of panels and the next.
const PITCH: f64 = TOP + PANEL_HEIGHT + BOTTOM;

/// A side's rates: seconds, and thousands of rows a second.
type Curve = Vec<(f64, f64)>;

/// Draws the figure.
pub fn draw(runs: &[Run]) -> String {
    let profiles = [DiskProfile::Native, DiskProfile::Cloud];
    let rows: Vec<Vec<&Run>> = profiles
        .map(|profile| runs.iter().filter(|run| run.profile == profile).collect())
        .into_iter()
        .filter(|row: &Vec<&Run>| !row.is_empty())
        .collect();
    let mut svg = Svg::new(WIDTH, PITCH * rows.len() as f64 + 20.0);
    for (row, top) in rows.iter().zip((0..).map(|row| f64::from(row) * PITCH)) {
        let profile = row[0].profile;
        let windows = format!("Disk profile {profile}: each {WINDOW_ROWS} rows");
        draw_panel(&mut svg, (LEFT, top + TOP), &windows, row, by_window);
        let right = (LEFT + PANEL_WIDTH + GAP, top + TOP);
        let so_far = format!("Disk profile {profile}: all rows so far");
        draw_panel(&mut svg, right, &so_far, row, so_far_curve);
        draw_legend(&mut svg, top + TOP + PANEL_HEIGHT + 50.0, row);
    }
    svg.finish()
}

fn by_window(report: &Report) -> Curve {
    let rate = |seconds: f64| WINDOW_ROWS as f64 / 1e3 / seconds;
    let rates = report.window_seconds().map(rate);
    report.window_ends.iter().copied().zip(rates).collect()
}

fn so_far_curve(report: &Report) -> Curve {
    let ends = report.window_ends.iter().enumerate();
    ends.map(|(index, &end)| (end, ((index + 1) * WINDOW_ROWS) as f64 / 1e3 / end))
        .collect()
}

fn draw_panel(
    svg: &mut Svg,
    (x, y): Place,
    title: &str,
    runs: &[&Run],
    curve: fn(&Report) -> Curve,
) {
    let curves: Vec<(Side, Curve)> = runs
        .iter()
        .map(|run| (run.side, curve(&run.report)))
        .collect();
    let points = || curves.iter().flat_map(|(_, curve)| curve);
    let longest = points().map(|point| point.0).fold(1.0, f64::max);
    let across = Axis::linear(longest, x, x + PANEL_WIDTH);
    let rates = points().map(|point| point.1);
    let up = Axis::logarithmic(rates, y + PANEL_HEIGHT, y);
    svg.text((x, y - 24.0), "start", title);
    draw_grid(svg, across, up);
    svg.text((across.to, up.from + 30.0), "end", "seconds");
    svg.text((across.from - 50.0, up.to - 10.0), "start", "1,000 rows/s");
    for (side, curve) in &curves {
        let places = curve
            .iter()
            .map(|&(seconds, rate)| (across.place(seconds), up.place(rate)));
        let style = format!("stroke=\"{}\" stroke-width=\"1.2\"", colour(*side));
        svg.curve(places, &style);
    }
}

fn draw_legend(svg: &mut Svg, y: f64, runs: &[&Run]) {
    const COLUMN: f64 = 150.0;
    for (run, column) in runs.iter().zip(0..) {
        let x = LEFT + COLUMN * f64::from(column);
        let style = format!("fill=\"{}\"", colour(run.side));
        svg.square((x, y - 10.0), 12.0, &style);
        svg.text((x + 18.0, y), "start", &run.side.to_string());
    }
}

fn colour(side: Side) -> &'static str {
    match side {
        Side::Hedgerow => "#1b7837",
        Side::Rose => "#e08214",
        Side::SteppedMerge => "#8073ac",
        Side::RocksdbZstd => "#053061",
        Side::RocksdbLz4 => "#92c5de",
        Side::RocksdbMixed => "#4393c3",
        Side::Innodb => "#b2182b",
    }
}
