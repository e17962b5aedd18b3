//! Size against decode speed, one mark for each format and data set, as SVG.
//!
//! Across: encoded size in per cent of the uncompressed bytes, logarithmic, smaller is left. Up:
//! decode speed in GB/s, logarithmic. A colour is a format, a shape a data set. Best is the upper
//! left corner.

use std::fmt::Write as _;

use super::measured::DataSetFigures;
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

/// A logarithmic axis.
#[derive(Clone, Copy, Debug)]
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// Whole powers of ten around the values.
    fn around(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min).log10().floor();
        let high = values.fold(f64::NEG_INFINITY, f64::max).log10().ceil();
        Self {
            low,
            high: high.max(low + 1.0),
            from,
            to,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let share = (value.log10() - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    /// 1, 2 and 5 of every power.
    fn ticks(&self) -> Vec<f64> {
        let powers = self.low as i32..self.high as i32;
        let mut ticks: Vec<f64> = powers
            .flat_map(|power| [1.0, 2.0, 5.0].map(|tick| tick * 10_f64.powi(power)))
            .collect();
        ticks.push(10_f64.powf(self.high));
        ticks
    }
}

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
    let across = Axis::around(size, LEFT, WIDTH - RIGHT);
    let up = Axis::around(speed, HEIGHT - BOTTOM, TOP);

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    text(
        &mut svg,
        LEFT,
        24.0,
        "start",
        "Size against decode speed into Arrow, one core",
    );
    draw_axes(&mut svg, across, up);
    let copy = median(&copies.collect::<Vec<_>>());
    draw_copy(&mut svg, up.place(copy), copy);
    for (shape, data) in data_sets.iter().enumerate() {
        draw_data_set(&mut svg, &marks(data), shape, across, up);
    }
    draw_legend(&mut svg, data_sets);
    svg.push_str("</svg>\n");
    svg
}

/// Writing to a string cannot fail.
macro_rules! put {
    ($svg:expr, $($arguments:tt)*) => {
        writeln!($svg, $($arguments)*).expect("a string takes all")
    };
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, content: &str) {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    put!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{content}</text>"
    );
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), style: &str) {
    put!(
        svg,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {style}/>",
        from.0,
        from.1,
        to.0,
        to.1
    );
}

fn draw_axes(svg: &mut String, across: Axis, up: Axis) {
    const GRID: &str = "stroke=\"#e0e0e0\"";
    for tick in across.ticks() {
        let x = across.place(tick);
        line(svg, (x, up.from), (x, up.to), GRID);
        text(
            svg,
            x,
            up.from + 18.0,
            "middle",
            &format!("{}%", label(tick)),
        );
    }
    for tick in up.ticks() {
        let y = up.place(tick);
        line(svg, (across.from, y), (across.to, y), GRID);
        text(svg, across.from - 8.0, y + 4.0, "end", &label(tick));
    }
    let middle = f64::midpoint(across.from, across.to);
    text(
        svg,
        middle,
        up.from + 42.0,
        "middle",
        "encoded size / uncompressed bytes",
    );
    text(svg, across.from, up.to - 8.0, "end", "GB/s");
}

/// As few digits as a tick needs.
fn label(tick: f64) -> String {
    let digits = (-tick.log10().floor()).max(0.0) as usize;
    format!("{tick:.digits$}")
}

fn draw_copy(svg: &mut String, y: f64, speed: f64) {
    let end = WIDTH - RIGHT;
    line(
        svg,
        (LEFT, y),
        (end, y),
        "stroke=\"black\" stroke-dasharray=\"6 4\"",
    );
    text(
        svg,
        end - 4.0,
        y - 6.0,
        "end",
        &format!("memory copy, {speed:.1} GB/s"),
    );
}

/// Ours last, so that nothing covers it.
fn draw_data_set(svg: &mut String, marks: &[Mark], shape: usize, across: Axis, up: Axis) {
    for (mark, colour) in marks.iter().zip(COLOURS).rev() {
        let place = (across.place(mark.size_percent), up.place(mark.decode));
        draw_mark(svg, place, shape, colour);
    }
}

/// A circle, a triangle and so on to a hexagon, then stars.
fn draw_mark(svg: &mut String, (x, y): (f64, f64), shape: usize, colour: &str) {
    const RADIUS: f64 = 7.0;
    let style = format!("fill=\"{colour}\" stroke=\"white\"");
    if shape == 0 {
        put!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\" {style}/>"
        );
        return;
    }
    let star = shape > 4;
    let corners = if star { 2 * (shape - 1) } else { shape + 2 };
    let points: Vec<String> = (0..corners)
        .map(|corner| {
            let angle = std::f64::consts::TAU * corner as f64 / corners as f64;
            let radius = if star && corner % 2 == 1 {
                RADIUS / 2.0
            } else {
                RADIUS
            };
            format!(
                "{:.1},{:.1}",
                x + radius * angle.sin(),
                y - radius * angle.cos()
            )
        })
        .collect();
    put!(svg, "<polygon points=\"{}\" {style}/>", points.join(" "));
}

fn draw_legend(svg: &mut String, data_sets: &[&DataSetFigures]) {
    const LINE: f64 = 22.0;
    let x = WIDTH - RIGHT + 30.0;
    let mut y = TOP + 10.0;
    let formats = data_sets.first().map_or(&[][..], |data| &data.formats);
    for (format, colour) in formats.iter().zip(COLOURS) {
        let corner = y - 10.0;
        put!(
            svg,
            "<rect x=\"{:.1}\" y=\"{corner:.1}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>",
            x - 6.0
        );
        text(svg, x + 16.0, y, "start", &format.name);
        y += LINE;
    }
    y += LINE / 2.0;
    for (shape, data) in data_sets.iter().enumerate() {
        draw_mark(svg, (x, y - 4.0), shape, "#666666");
        text(svg, x + 16.0, y, "start", data.name);
        y += LINE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_go_over_whole_powers_of_ten() {
        let axis = Axis::around([0.3, 40.0].into_iter(), 0.0, 300.0);
        assert!((axis.place(0.1)).abs() < 1e-9);
        assert!((axis.place(100.0) - 300.0).abs() < 1e-9);
        assert!((axis.place(1.0) - 100.0).abs() < 1e-9);
        assert_eq!(axis.ticks().len(), 10);
    }

    #[test]
    fn ticks_have_no_needless_digits() {
        assert_eq!(
            [0.05, 0.1, 2.0, 50.0].map(label),
            ["0.05", "0.1", "2", "50"]
        );
    }
}
