//! A drawing as SVG: texts, lines and shapes, in the order in which they are put.

use std::fmt::Write as _;

/// A place: to the right, and down.
pub type Place = (f64, f64);

/// A drawing.
#[derive(Debug)]
pub struct Svg(String);

/// Writing to a string cannot fail.
macro_rules! put {
    ($svg:expr, $($arguments:tt)*) => {
        writeln!($svg.0, $($arguments)*).expect("a string takes all")
    };
}

impl Svg {
    /// A white sheet.
    pub fn new(width: f64, height: f64) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        ))
    }

    /// The whole drawing.
    pub fn finish(self) -> String {
        self.0 + "</svg>\n"
    }

    /// A line of text; `anchor` is `start`, `middle` or `end`: what of it is at the place.
    pub fn text(&mut self, (x, y): Place, anchor: &str, content: &str) {
        let content = content.replace('&', "&amp;").replace('<', "&lt;");
        put!(
            self,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{content}</text>"
        );
    }

    /// A straight line. A style is any list of attributes.
    pub fn line(&mut self, from: Place, to: Place, style: &str) {
        put!(
            self,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {style}/>",
            from.0,
            from.1,
            to.0,
            to.1
        );
    }

    /// Lines from place to place, open at the end.
    pub fn curve(&mut self, places: impl Iterator<Item = Place>, style: &str) {
        let points = points(places);
        put!(
            self,
            "<polyline points=\"{points}\" fill=\"none\" {style}/>"
        );
    }

    /// A closed shape.
    pub fn polygon(&mut self, corners: impl Iterator<Item = Place>, style: &str) {
        let points = points(corners);
        put!(self, "<polygon points=\"{points}\" {style}/>");
    }

    /// A circle.
    pub fn circle(&mut self, (x, y): Place, radius: f64, style: &str) {
        put!(
            self,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" {style}/>"
        );
    }

    /// A square by its upper left corner.
    pub fn square(&mut self, (x, y): Place, side: f64, style: &str) {
        put!(
            self,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{side}\" height=\"{side}\" {style}/>"
        );
    }
}

fn points(places: impl Iterator<Item = Place>) -> String {
    let points: Vec<String> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    points.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_is_one_element_with_its_texts_escaped() {
        let mut svg = Svg::new(10.0, 20.0);
        svg.text((1.0, 2.0), "start", "a < b & c");
        svg.curve([(0.0, 1.0), (2.0, 3.0)].into_iter(), "stroke=\"red\"");
        let text = svg.finish();
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
        assert!(text.contains(">a &lt; b &amp; c</text>"));
        assert!(text.contains("points=\"0.0,1.0 2.0,3.0\""));
    }
}
