//! Memory, disk and lag of slices over time as SVG.
//!
//! Across: hours of all slices, one after the other. Up, a panel each: MiB resident, MiB on disk, and the lag in
//! milliseconds, logarithmic. A grey line is where a slice begins, a red stroke a start of hedgerow after a kill.

use testbed::soak::Moment;

use super::{Slice, disk_mib, resident_mib};
use crate::chart::axis::{Axis, draw_grid};
use crate::chart::svg::{Place, Svg};

const LEFT: f64 = 60.0;
const PANEL_WIDTH: f64 = 860.0;
const PANEL_HEIGHT: f64 = 180.0;
const WIDTH: f64 = LEFT + PANEL_WIDTH + 30.0;
const TOP: f64 = 60.0;
const HEIGHT: f64 = TOP + PANEL_HEIGHT + 30.0;

/// A figure of a moment, if there was one.
type Figure = fn(&Moment) -> Option<f64>;

/// What the panels show.
const PANELS: [(&str, Figure); 3] = [
    ("resident memory, MiB", |moment| Some(resident_mib(moment))),
    ("data directory, MiB", |moment| Some(disk_mib(moment))),
    // A lag of less than the clock tells is as good as a millisecond.
    ("lag, ms", |moment| moment.lag_ms.map(|lag| lag.max(1.0))),
];
/// The panel with a logarithmic axis.
const LAG: usize = 2;

/// Draws the figure.
pub fn draw(slices: &[Slice]) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT * PANELS.len() as f64);
    let hours = slices.iter().map(Slice::seconds).sum::<f64>() / 3_600.0;
    let across = Axis::linear(hours.max(f64::EPSILON), LEFT, LEFT + PANEL_WIDTH);
    for (panel, (title, figure)) in PANELS.into_iter().enumerate() {
        let top = HEIGHT * panel as f64 + TOP;
        let figures = slices.iter().flat_map(|slice| &slice.moments);
        let figures = figures.filter_map(figure);
        let up = if panel == LAG {
            Axis::logarithmic(figures, top + PANEL_HEIGHT, top)
        } else {
            let largest = figures.fold(1.0, f64::max);
            Axis::linear(largest * 1.1, top + PANEL_HEIGHT, top)
        };
        svg.text((LEFT, top - 36.0), "start", &format!("{title}, over hours"));
        draw_grid(&mut svg, across, up);
        let mut hours_before = 0.0;
        for slice in slices {
            draw_slice(&mut svg, hours_before, across, up, slice, figure);
            hours_before += slice.seconds() / 3_600.0;
        }
    }
    svg.finish()
}

fn draw_slice(
    svg: &mut Svg,
    hours_before: f64,
    across: Axis,
    up: Axis,
    slice: &Slice,
    figure: Figure,
) {
    let x = |moment: &Moment| across.place(hours_before + moment.seconds / 3_600.0);
    let begin = across.place(hours_before);
    svg.line((begin, up.from), (begin, up.to), "stroke=\"#666666\"");
    svg.text((begin + 4.0, up.to - 12.0), "start", &slice.name);
    for pair in slice.moments.windows(2) {
        if pair[0].starts != pair[1].starts {
            let x = x(&pair[1]);
            svg.line((x, up.to), (x, up.to + 6.0), "stroke=\"#b2182b\"");
        }
    }
    // A curve for each stretch with an answer.
    for stretch in slice.moments.split(|moment| figure(moment).is_none()) {
        let places = stretch.iter().filter_map(|moment| {
            figure(moment).map(|value| -> Place { (x(moment), up.place(value)) })
        });
        if !stretch.is_empty() {
            svg.curve(places, "stroke=\"#1b7837\" stroke-width=\"1.2\"");
        }
    }
}
