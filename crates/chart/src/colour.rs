//! Colours.

/// A colour, and how much of it covers what is below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Colour {
    pub(crate) red: u8,
    pub(crate) green: u8,
    pub(crate) blue: u8,
    pub(crate) opacity: f32,
}

impl Colour {
    const fn new(red: u8, green: u8, blue: u8) -> Self {
        Colour { red, green, blue, opacity: 1.0 }
    }

    pub(crate) const fn mix(self, opacity: f32) -> Self {
        Colour { opacity, ..self }
    }
}

pub(crate) const TEXT: Colour = Colour::new(34, 34, 34);
pub(crate) const LABEL: Colour = Colour::new(85, 85, 85);
pub(crate) const GRID: Colour = Colour::new(229, 229, 229);
pub(crate) const AXIS: Colour = Colour::new(150, 150, 150);
pub(crate) const PAPER: Colour = Colour::new(255, 255, 255);

/// Paul Tol's bright scheme, which the colour-blind can tell apart as well; its yellow darker, to be seen on white. Grey is
/// the last, for what is left over.
const SERIES: [Colour; 7] = [
    Colour::new(68, 119, 170),
    Colour::new(238, 102, 119),
    Colour::new(34, 136, 51),
    Colour::new(204, 160, 20),
    Colour::new(102, 204, 238),
    Colour::new(170, 51, 119),
    Colour::new(150, 150, 150),
];

/// The colour of the n-th series.
pub(crate) fn of_series(nth: usize) -> Colour {
    SERIES[nth % SERIES.len()]
}
