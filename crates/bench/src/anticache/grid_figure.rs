//! The grid as SVG: the paper's Figure 6.
//!
//! A row of panels is a mix on a disk profile, a column a size of the data. Across: the skew. Up: thousands of
//! transactions a second, logarithmic. Of memcached's shares each has its curve.

use super::grid::Mix;
use super::run::Run;
use super::sides::Side;
use crate::chart::axis::{Axis, label};
use crate::chart::svg::{Place, Svg};
use crate::limits::disk::DiskProfile;
use crate::results::median;

const PANEL_WIDTH: f64 = 220.0;
const PANEL_HEIGHT: f64 = 200.0;
const LEFT: f64 = 70.0;
const GAP: f64 = 60.0;
const TOP: f64 = 40.0;
const PITCH: f64 = TOP + PANEL_HEIGHT + 30.0;
const LEGEND: f64 = 40.0;

const GRID: &str = "stroke=\"#e0e0e0\"";

/// Draws the figure.
pub fn draw(runs: &[Run]) -> String {
    let mut sizes: Vec<u64> = runs.iter().map(|run| run.times).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut rows: Vec<(DiskProfile, Mix)> = Vec::new();
    for profile in [DiskProfile::Native, DiskProfile::Cloud] {
        rows.extend(Mix::ALL.map(|mix| (profile, mix)));
    }
    let is_in = |run: &Run, row: (DiskProfile, Mix)| (run.cell.profile, run.cell.mix) == row;
    rows.retain(|row| runs.iter().any(|run| is_in(run, *row)));
    let width = LEFT + sizes.len().max(3) as f64 * (PANEL_WIDTH + GAP);
    let mut svg = Svg::new(width, rows.len() as f64 * PITCH + LEGEND);
    for (row, number) in rows.iter().zip(0..) {
        let in_row: Vec<&Run> = runs.iter().filter(|run| is_in(run, *row)).collect();
        for (&times, column) in sizes.iter().zip(0..) {
            let x = LEFT + f64::from(column) * (PANEL_WIDTH + GAP);
            let y = f64::from(number) * PITCH + TOP;
            let title = format!("{}, {}, data {times} x memory", row.0, row.1);
            draw_panel(&mut svg, (x, y), &title, &in_row, times);
        }
    }
    draw_legend(&mut svg, rows.len() as f64 * PITCH + LEGEND / 2.0, runs);
    svg.finish()
}

/// All panels of a row have the same axes.
fn draw_panel(svg: &mut Svg, (x, y): Place, title: &str, row: &[&Run], times: u64) {
    let up = Axis::logarithmic(row.iter().map(|run| thousands(run)), y + PANEL_HEIGHT, y);
    // From 0.25 to 1.75, so that no curve begins at the edge.
    let across = |skew: f64| x + (skew - 0.25) / 1.5 * PANEL_WIDTH;
    svg.text((x, y - 12.0), "start", title);
    for tick in up.ticks() {
        svg.line((x, up.place(tick)), (x + PANEL_WIDTH, up.place(tick)), GRID);
        svg.text((x - 6.0, up.place(tick) + 4.0), "end", &label(tick));
    }
    for skew in [0.5, 0.75, 1.0, 1.25, 1.5] {
        svg.line((across(skew), y), (across(skew), y + PANEL_HEIGHT), GRID);
        svg.text(
            (across(skew), y + PANEL_HEIGHT + 15.0),
            "middle",
            &skew.to_string(),
        );
    }
    for side in sides(row.iter().copied()) {
        let own = row
            .iter()
            .filter(|run| (run.side, run.times) == (side, times));
        let mut places: Vec<Place> = own
            .map(|run| (across(run.cell.skew), up.place(thousands(run))))
            .collect();
        places.sort_by(|one, other| one.0.total_cmp(&other.0));
        let style = format!("stroke=\"{}\" stroke-width=\"1.5\"", colour(side));
        svg.curve(places.into_iter(), &style);
    }
}

fn thousands(run: &Run) -> f64 {
    // A logarithm wants something.
    (median(&run.report.rates) / 1e3).max(1e-3)
}

/// Who has runs, in the order of [`Side`].
fn sides<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<Side> {
    let mut sides: Vec<Side> = runs.map(|run| run.side).collect();
    sides.sort_by_key(|side| *side as u8);
    sides.dedup();
    sides
}

fn draw_legend(svg: &mut Svg, y: f64, runs: &[Run]) {
    const COLUMN: f64 = 150.0;
    for (side, column) in sides(runs.iter()).into_iter().zip(0..) {
        let x = LEFT + COLUMN * f64::from(column);
        svg.square((x, y - 10.0), 12.0, &format!("fill=\"{}\"", colour(side)));
        svg.text((x + 18.0, y), "start", &side.to_string());
    }
}

fn colour(side: Side) -> &'static str {
    match side {
        Side::Hedgerow => "#1b7837",
        Side::Innodb => "#b2182b",
        Side::InnodbMemcached25 => "#fdae61",
        Side::InnodbMemcached50 => "#f46d43",
        Side::InnodbMemcached75 => "#8c510a",
        Side::Rocksdb => "#4393c3",
    }
}
