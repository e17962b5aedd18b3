//! All rates as SVG: a line for each kind of look-ups and scans, a dot for each side.
//!
//! A panel is a disk profile. Across: keys or rows a second, logarithmic.

use super::figures::{look_ups_name, scans_name};
use super::run::Run;
use super::side::Side;
use crate::chart::axis::{Axis, label};
use crate::chart::svg::Svg;
use crate::limits::disk::DiskProfile;
use crate::results::median;

const LEFT: f64 = 190.0;
const PANEL_WIDTH: f64 = 620.0;
const WIDTH: f64 = LEFT + PANEL_WIDTH + 30.0;
const TOP: f64 = 50.0;
const LINE_HEIGHT: f64 = 22.0;
const BOTTOM: f64 = 80.0;

/// What is measured, and the median rate a second.
type Rate = (String, f64);

/// Draws the figure.
pub fn draw(runs: &[Run]) -> String {
    let profiles = [DiskProfile::Native, DiskProfile::Cloud];
    let panels: Vec<Vec<&Run>> = profiles
        .map(|profile| runs.iter().filter(|run| run.profile == profile).collect())
        .into_iter()
        .filter(|panel: &Vec<&Run>| !panel.is_empty())
        .collect();
    let heights: Vec<f64> = panels.iter().map(|panel| height(panel)).collect();
    let mut svg = Svg::new(WIDTH, heights.iter().sum());
    let mut top = 0.0;
    for (panel, height) in panels.iter().zip(heights) {
        draw_panel(&mut svg, top, panel);
        top += height;
    }
    svg.finish()
}

/// The kinds that any side of a panel has, in order.
fn kinds(panel: &[&Run]) -> Vec<String> {
    let longest = panel.iter().map(|run| rates(run)).max_by_key(Vec::len);
    let rates = longest.unwrap_or_default();
    rates.into_iter().map(|(kind, _)| kind).collect()
}

fn height(panel: &[&Run]) -> f64 {
    TOP + LINE_HEIGHT * kinds(panel).len() as f64 + BOTTOM
}

fn rates(run: &Run) -> Vec<Rate> {
    let report = &run.report;
    let look_ups = report.look_ups.iter();
    let look_ups = look_ups.map(|l| (look_ups_name(l), median(&l.rates)));
    let scans = [(false, &report.scans), (true, &report.fresh_scans)];
    let scans = scans.into_iter().flat_map(|(fresh, scans)| {
        let rate = move |scans: &contender::Scans| {
            (scans_name(scans.wanted, fresh), median(&scans.rates()))
        };
        scans.iter().map(rate)
    });
    look_ups.chain(scans).collect()
}

fn draw_panel(svg: &mut Svg, top: f64, panel: &[&Run]) {
    let all: Vec<(Side, Vec<Rate>)> = panel.iter().map(|run| (run.side, rates(run))).collect();
    let values = all.iter().flat_map(|(_, rates)| rates);
    let values = values.map(|(_, rate)| *rate);
    let across = Axis::logarithmic(values, LEFT, LEFT + PANEL_WIDTH);
    let kinds = kinds(panel);
    let bottom = top + TOP + LINE_HEIGHT * kinds.len() as f64;
    let title = format!("Disk profile {}: keys or rows a second", panel[0].profile);
    svg.text((LEFT, top + 24.0), "start", &title);
    draw_powers(svg, across, top + TOP - 10.0, bottom);
    for (kind, line) in kinds.iter().zip(0..) {
        let y = top + TOP + LINE_HEIGHT * f64::from(line);
        svg.text((LEFT - 10.0, y + 4.0), "end", kind);
        svg.line((across.from, y), (across.to, y), "stroke=\"#e0e0e0\"");
        for (side, rates) in &all {
            let of_kind = rates.iter().find(|(of, _)| of == kind);
            if let Some((_, rate)) = of_kind {
                let style = format!("fill=\"{}\"", colour(*side));
                svg.circle((across.place(*rate), y), 5.0, &style);
            }
        }
    }
    let sides = all.iter().map(|(side, _)| *side);
    draw_legend(svg, bottom + 45.0, sides);
}

/// Grid lines at powers of ten.
fn draw_powers(svg: &mut Svg, across: Axis, top: f64, bottom: f64) {
    // Of every power of ten there are three ticks, the first one its own.
    for tick in across.ticks().into_iter().step_by(3) {
        let x = across.place(tick);
        svg.line((x, top), (x, bottom), "stroke=\"#e0e0e0\"");
        svg.text((x, bottom + 16.0), "middle", &label(tick));
    }
}

fn draw_legend(svg: &mut Svg, y: f64, sides: impl Iterator<Item = Side>) {
    const COLUMN: f64 = 150.0;
    for (side, column) in sides.zip(0..) {
        let x = 40.0 + COLUMN * f64::from(column);
        let style = format!("fill=\"{}\"", colour(side));
        svg.circle((x, y - 4.0), 5.0, &style);
        svg.text((x + 12.0, y), "start", &side.to_string());
    }
}

fn colour(side: Side) -> &'static str {
    match side {
        Side::Hedgerow => "#1b7837",
        Side::HedgerowOneRun => "#7fbf7b",
        Side::Parquet => "#b2182b",
        Side::RocksdbZstd => "#053061",
        Side::RocksdbLz4 => "#92c5de",
    }
}
