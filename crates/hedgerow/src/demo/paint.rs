//! Lines of coloured text, cut to a width.

/// How a piece of a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// As the terminal has it.
    Plain,
    /// Less important.
    Dim,
    /// A figure to look at.
    Bold,
    /// Young leaves: memory, the newest.
    Leaf,
    /// Old leaves: disk.
    Hedge,
    /// Wood: raw bytes.
    Wood,
    /// Something is wrong.
    Alarm,
}

const RESET: &str = "\x1b[0m";

impl Paint {
    fn escape(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => "\x1b[2m",
            Self::Bold => "\x1b[1m",
            Self::Leaf => "\x1b[38;5;113m",
            Self::Hedge => "\x1b[38;5;29m",
            Self::Wood => "\x1b[38;5;137m",
            Self::Alarm => "\x1b[1;31m",
        }
    }
}

/// A line of pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Line(Vec<(Paint, String)>);

impl Line {
    /// An empty line.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds a piece.
    pub(super) fn with(mut self, paint: Paint, text: impl Into<String>) -> Self {
        self.0.push((paint, text.into()));
        self
    }

    /// Adds a plain piece.
    pub(super) fn plain(self, text: impl Into<String>) -> Self {
        self.with(Paint::Plain, text)
    }

    /// Adds a dim piece.
    pub(super) fn dim(self, text: impl Into<String>) -> Self {
        self.with(Paint::Dim, text)
    }

    /// Appends the line to `out`, at most `width` characters of it. Every character here is
    /// one column wide.
    pub(super) fn render(&self, width: usize, colours: bool, out: &mut String) {
        let mut left = width;
        for (paint, text) in &self.0 {
            let shown: String = text.chars().take(left).collect();
            left -= shown.chars().count();
            if colours && *paint != Paint::Plain {
                out.push_str(paint.escape());
                out.push_str(&shown);
                out.push_str(RESET);
            } else {
                out.push_str(&shown);
            }
        }
    }
}

/// A bar of at most `width` characters for a share of 0 to 1, exact to an eighth.
pub(super) fn bar(share: f64, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

/// A picture of how figures went, oldest first, each as high as its share of the largest.
pub(super) fn sparkline(figures: impl Iterator<Item = f64> + Clone) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let largest = figures.clone().fold(0.0, f64::max);
    let height = |figure: f64| {
        let share = if largest > 0.0 { figure / largest } else { 0.0 };
        HEIGHTS[(share * (HEIGHTS.len() - 1) as f64).round() as usize]
    };
    figures.map(height).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_by_characters_and_always_reset() {
        let line = Line::new()
            .plain("größe ")
            .with(Paint::Bold, "12345")
            .dim("tail");
        let mut plain = String::new();
        line.render(9, false, &mut plain);
        assert_eq!(plain, "größe 123");
        let mut coloured = String::new();
        line.render(9, true, &mut coloured);
        assert_eq!(coloured.matches(RESET).count(), 2);
        assert!(coloured.contains("\x1b[1m123\x1b[0m"));
    }

    #[test]
    fn bars_fill_and_never_overflow() {
        assert_eq!(bar(0.0, 10), "");
        assert_eq!(bar(0.5, 10), "█████");
        assert_eq!(bar(0.0625, 10), "▋");
        assert_eq!(bar(7.0, 4), "████");
        assert_eq!(sparkline([0.0, 5.0, 10.0].into_iter()), "▁▅█");
        assert_eq!(sparkline([0.0].into_iter()), "▁");
    }
}
