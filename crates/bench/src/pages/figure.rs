//! Size against decode speed, one mark for each format and data set, as SVG.
//!
//! Across: encoded size in per cent of the uncompressed bytes, logarithmic, smaller is left. Up:
//! decode speed in GB/s, logarithmic. A colour is a format, a shape a data set. Best is the upper
//! left corner.

use super::measured::DataSetFigures;
use crate::chart::axis::{Axis, label};
use crate::chart::svg::{Place, Svg};
use crate::results::median;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 600.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 250.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;

/// Of the formats, ours first.
const COLOURS: [&str; 6] = [
    "#1b7837", "#92c5de", "#4393c3", "#053061", "#f4a582", "#b2182b",
];

/// A format on a data set.
#[derive(Clone, Copy, Debug)]
struct Mark {
    size_percent: f64,
    decode: f64,
}

fn marks(data: &DataSetFigures) -> Vec<Mark> {
    let mark = |format| Mark {
        size_percent: 100.0 / data.ratio(format),
        decode: median(&format.decode),
    };
    data.formats.iter().map(mark).collect()
}

/// Draws the figure.
pub fn size_against_speed(data_sets: &[&DataSetFigures]) -> String {
    let all: Vec<Mark> = data_sets.iter().flat_map(|data| marks(data)).collect();
    let size = all.iter().map(|mark| mark.size_percent);
    let copies = data_sets.iter().map(|data| median(&data.copy));
    let speed = all.iter().map(|mark| mark.decode).chain(copies.clone());
    let across = Axis::logarithmic(size, LEFT, WIDTH - RIGHT);
    let up = Axis::logarithmic(speed, HEIGHT - BOTTOM, TOP);

    let mut svg = Svg::new(WIDTH, HEIGHT);
    let title = "Size against decode speed into Arrow, one core";
    svg.text((LEFT, 24.0), "start", title);
    draw_axes(&mut svg, across, up);
    let copy = median(&copies.collect::<Vec<_>>());
    draw_copy(&mut svg, up.place(copy), copy);
    for (shape, data) in data_sets.iter().enumerate() {
        draw_data_set(&mut svg, &marks(data), shape, across, up);
    }
    draw_legend(&mut svg, data_sets);
    svg.finish()
}

fn draw_axes(svg: &mut Svg, across: Axis, up: Axis) {
    const GRID: &str = "stroke=\"#e0e0e0\"";
    for tick in across.ticks() {
        let x = across.place(tick);
        svg.line((x, up.from), (x, up.to), GRID);
        svg.text((x, up.from + 18.0), "middle", &format!("{}%", label(tick)));
    }
    for tick in up.ticks() {
        let y = up.place(tick);
        svg.line((across.from, y), (across.to, y), GRID);
        svg.text((across.from - 8.0, y + 4.0), "end", &label(tick));
    }
    let below = (across.middle(), up.from + 42.0);
    svg.text(below, "middle", "encoded size / uncompressed bytes");
    svg.text((across.from, up.to - 8.0), "end", "GB/s");
}

fn draw_copy(svg: &mut Svg, y: f64, speed: f64) {
    let end = WIDTH - RIGHT;
    let style = "stroke=\"black\" stroke-dasharray=\"6 4\"";
    svg.line((LEFT, y), (end, y), style);
    let text = format!("memory copy, {speed:.1} GB/s");
    svg.text((end - 4.0, y - 6.0), "end", &text);
}

/// Ours last, so that nothing covers it.
fn draw_data_set(svg: &mut Svg, marks: &[Mark], shape: usize, across: Axis, up: Axis) {
    for (mark, colour) in marks.iter().zip(COLOURS).rev() {
        let place = (across.place(mark.size_percent), up.place(mark.decode));
        draw_mark(svg, place, shape, colour);
    }
}

/// A circle, a triangle and so on to a hexagon, then stars.
fn draw_mark(svg: &mut Svg, place: Place, shape: usize, colour: &str) {
    const RADIUS: f64 = 7.0;
    let style = format!("fill=\"{colour}\" stroke=\"white\"");
    if shape == 0 {
        svg.circle(place, RADIUS, &style);
        return;
    }
    let star = shape > 4;
    let corners = if star { 2 * (shape - 1) } else { shape + 2 };
    let corner = |number: usize| {
        let angle = std::f64::consts::TAU * number as f64 / corners as f64;
        let radius = if star && number % 2 == 1 {
            RADIUS / 2.0
        } else {
            RADIUS
        };
        (
            place.0 + radius * angle.sin(),
            place.1 - radius * angle.cos(),
        )
    };
    svg.polygon((0..corners).map(corner), &style);
}

fn draw_legend(svg: &mut Svg, data_sets: &[&DataSetFigures]) {
    const LINE: f64 = 22.0;
    let x = WIDTH - RIGHT + 30.0;
    let mut y = TOP + 10.0;
    let formats = data_sets.first().map_or(&[][..], |data| &data.formats);
    for (format, colour) in formats.iter().zip(COLOURS) {
        svg.square((x - 6.0, y - 10.0), 12.0, &format!("fill=\"{colour}\""));
        svg.text((x + 16.0, y), "start", &format.name);
        y += LINE;
    }
    y += LINE / 2.0;
    for (shape, data) in data_sets.iter().enumerate() {
        draw_mark(svg, (x, y - 4.0), shape, "#666666");
        svg.text((x + 16.0, y), "start", data.name);
        y += LINE;
    }
}
