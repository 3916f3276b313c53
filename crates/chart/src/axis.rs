//! An axis: the values it spans, and where its labels stand.

use crate::plot::Scale;

/// An axis from `low` to `high`, on `length` pixels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
}

/// A label and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

impl Axis {
    /// An axis over these values; where there is but one, there is room on both sides of it.
    pub(crate) fn new(scale: Scale, low: f64, high: f64) -> Axis {
        let (low, high) = match scale {
            Scale::Log => (low.max(f64::MIN_POSITIVE), high.max(f64::MIN_POSITIVE)),
            Scale::Linear => (low, high),
        };
        match scale {
            _ if low < high => Axis { scale, low, high },
            Scale::Log => Axis { scale, low: low / 2.0, high: low * 2.0 },
            Scale::Linear => Axis { scale, low: low - 0.5, high: low + 0.5 },
        }
    }

    /// An axis from 0 to a round number at or above `top`.
    pub(crate) fn from_zero(top: f64) -> Axis {
        let top = if top > 0.0 { top } else { 1.0 };
        let step = step(top, 6.0);
        Axis { scale: Scale::Linear, low: 0.0, high: (top / step - 1e-9).ceil() * step }
    }

    /// Where a value stands, from 0 to 1.
    pub(crate) fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    /// Labels at round values, some `wanted` of them.
    pub(crate) fn ticks(&self, wanted: f64) -> Vec<Tick> {
        let values: Vec<f64> = match self.scale {
            Scale::Linear => {
                let step = step(self.high - self.low, wanted);
                let first = (self.low / step - 1e-9).ceil() as i64;
                let last = (self.high / step + 1e-9).floor() as i64;
                (first..=last).map(|at| at as f64 * step).collect()
            }
            Scale::Log => {
                let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
                let factors: &[f64] =
                    if (self.high / self.low).log10() > wanted / 2.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
                let all = decades.flat_map(|decade| factors.iter().map(move |factor| factor * 10_f64.powi(decade)));
                all.filter(|value| (self.low * 0.999..=self.high * 1.001).contains(value)).collect()
            }
        };
        values.into_iter().map(|value| Tick { value, label: short(value) }).collect()
    }
}

/// 1, 2 or 5 times a power of ten, of which some `wanted` make the span.
fn step(span: f64, wanted: f64) -> f64 {
    let raw = span / wanted;
    let power = 10_f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= raw * 0.999).unwrap_or(10.0);
    factor * power
}

/// A number without more digits than it needs; from a million on by its letter.
pub(crate) fn short(number: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M")];
    let unit = units.into_iter().find(|(from, _)| number.abs() >= *from);
    let text = format!("{:.3}", unit.map_or(number, |(from, _)| number / from));
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let grouped = match whole.len() {
        // The sign is not a digit; labels are rarely below 0.
        4.. if number >= 1000.0 => format!("{},{}", &whole[..whole.len() - 3], &whole[whole.len() - 3..]),
        _ => whole.to_owned(),
    };
    let decimals = decimals.trim_end_matches('0');
    let point = if decimals.is_empty() { "" } else { "." };
    format!("{grouped}{point}{decimals}{}", unit.map_or("", |(_, letter)| letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, wanted: f64) -> Vec<String> {
        axis.ticks(wanted).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn labels_are_round_and_within() {
        assert_eq!(labels(&Axis::from_zero(93.0), 5.0), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(labels(&Axis::from_zero(0.0), 2.0), ["0", "0.5", "1"]);
        assert_eq!(labels(&Axis::new(Scale::Linear, 1.0, 4.0), 4.0), ["1", "2", "3", "4"]);
        assert_eq!(labels(&Axis::new(Scale::Log, 30.0, 4e5), 6.0), ["100", "1,000", "10,000", "100,000"]);
        assert_eq!(labels(&Axis::new(Scale::Log, 30.0, 400.0), 6.0), ["50", "100", "200"]);
        assert_eq!(Axis::new(Scale::Linear, 3.0, 3.0).place(3.0), 0.5);
        assert_eq!(Axis::new(Scale::Log, 10.0, 1000.0).place(100.0), 0.5);
    }

    #[test]
    fn numbers_have_the_digits_that_matter() {
        assert_eq!([0.0, 0.125, 1500.0, 20_000.5, 1.25e6].map(short), ["0", "0.125", "1,500", "20,000.5", "1.25M"]);
    }
}
