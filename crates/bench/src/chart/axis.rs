//! An axis of a figure: where a value is, and which values are labelled.

use super::svg::Svg;

/// How values are spread.
#[derive(Clone, Copy, Debug)]
enum Scale {
    Linear,
    Logarithmic,
}

/// An axis between two places, in units of the drawing.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    scale: Scale,
    /// The values at both ends, or their powers of ten.
    low: f64,
    high: f64,
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
}

impl Axis {
    /// Whole powers of ten around positive values.
    pub fn logarithmic(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min).log10().floor();
        let high = values.fold(f64::NEG_INFINITY, f64::max).log10().ceil();
        Self {
            scale: Scale::Logarithmic,
            low,
            high: high.max(low + 1.0),
            from,
            to,
        }
    }

    /// From zero to the largest value, which is positive.
    pub fn linear(largest: f64, from: f64, to: f64) -> Self {
        Self {
            scale: Scale::Linear,
            low: 0.0,
            high: largest,
            from,
            to,
        }
    }

    /// Where a value is.
    pub fn place(&self, value: f64) -> f64 {
        let value = match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.log10(),
        };
        let share = (value - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    /// The values to label: 1, 2 and 5 of every power of ten, or up to ten even steps of such a
    /// size.
    pub fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = even_step(self.high / 10.0);
                let steps = (self.high / step).floor() as i32;
                (0..=steps).map(|tick| step * f64::from(tick)).collect()
            }
            Scale::Logarithmic => {
                let powers = self.low as i32..self.high as i32;
                let mut ticks: Vec<f64> = powers
                    .flat_map(|power| [1.0, 2.0, 5.0].map(|tick| tick * 10_f64.powi(power)))
                    .collect();
                ticks.push(10_f64.powf(self.high));
                ticks
            }
        }
    }

    /// Halfway.
    pub fn middle(&self) -> f64 {
        f64::midpoint(self.from, self.to)
    }
}

/// 1, 2 or 5 times a power of ten: the smallest that is no less.
fn even_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|tick| tick * power);
    let step = steps.into_iter().find(|step| *step >= least);
    step.unwrap_or(10.0 * power)
}

/// As few digits as a tick needs.
pub fn label(tick: f64) -> String {
    let digits = if tick == 0.0 {
        0
    } else {
        (-tick.log10().floor()).max(0.0) as usize
    };
    format!("{tick:.digits$}")
}

/// Draws a labelled line at each tick of both axes, which begin at the same corner.
pub fn draw_grid(svg: &mut Svg, across: Axis, up: Axis) {
    const GRID: &str = "stroke=\"#e0e0e0\"";
    for tick in across.ticks() {
        let x = across.place(tick);
        svg.line((x, up.from), (x, up.to), GRID);
        svg.text((x, up.from + 16.0), "middle", &label(tick));
    }
    for tick in up.ticks() {
        let y = up.place(tick);
        svg.line((across.from, y), (across.to, y), GRID);
        svg.text((across.from - 8.0, y + 4.0), "end", &label(tick));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithmic_axes_go_over_whole_powers_of_ten() {
        let axis = Axis::logarithmic([0.3, 40.0].into_iter(), 0.0, 300.0);
        assert!((axis.place(0.1)).abs() < 1e-9);
        assert!((axis.place(100.0) - 300.0).abs() < 1e-9);
        assert!((axis.place(1.0) - 100.0).abs() < 1e-9);
        assert_eq!(axis.ticks().len(), 10);
    }

    #[test]
    fn linear_axes_go_from_zero_in_even_steps() {
        let axis = Axis::linear(64.0, 100.0, 228.0);
        assert!((axis.place(32.0) - 164.0).abs() < 1e-9);
        assert_eq!(axis.ticks(), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        assert_eq!(Axis::linear(64.0, 0.0, 1.0).ticks().len(), 7);
    }

    #[test]
    fn ticks_have_no_needless_digits() {
        assert_eq!(
            [0.0, 0.05, 0.1, 2.0, 50.0].map(label),
            ["0", "0.05", "0.1", "2", "50"]
        );
    }
}
