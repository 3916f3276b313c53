//! Colours, on white paper and on a dark page.

use std::fmt::Write;

/// A colour, and how much of it covers what is below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Colour {
    /// What the style of a page calls it, which says what it is there.
    pub(crate) name: &'static str,
    /// Red, green and blue on white, and where a page is dark.
    pub(crate) light: [u8; 3],
    pub(crate) dark: [u8; 3],
    pub(crate) opacity: f32,
}

impl Colour {
    const fn new(name: &'static str, light: [u8; 3], dark: [u8; 3]) -> Self {
        Colour { name, light, dark, opacity: 1.0 }
    }

    pub(crate) const fn mix(self, opacity: f32) -> Self {
        Colour { opacity, ..self }
    }
}

pub(crate) const TEXT: Colour = Colour::new("text", [34, 34, 34], [224, 224, 224]);
pub(crate) const LABEL: Colour = Colour::new("label", [85, 85, 85], [176, 176, 176]);
pub(crate) const GRID: Colour = Colour::new("grid", [229, 229, 229], [56, 58, 60]);
pub(crate) const AXIS: Colour = Colour::new("axis", [150, 150, 150], [130, 130, 130]);
pub(crate) const PAPER: Colour = Colour::new("paper", [255, 255, 255], [24, 26, 27]);

/// Paul Tol's bright scheme, which the colour-blind can tell apart as well; its yellow darker, to
/// be seen on white, and what is dark in it lighter on a dark page. Grey is the last, for what is
/// left over.
const SERIES: [Colour; 7] = [
    Colour::new("blue", [68, 119, 170], [102, 160, 220]),
    Colour::new("red", [238, 102, 119], [238, 102, 119]),
    Colour::new("green", [34, 136, 51], [80, 180, 100]),
    Colour::new("yellow", [204, 160, 20], [221, 190, 80]),
    Colour::new("cyan", [102, 204, 238], [102, 204, 238]),
    Colour::new("purple", [170, 51, 119], [214, 110, 170]),
    Colour::new("grey", [150, 150, 150], [150, 150, 150]),
];

/// The colour of the n-th series.
pub(crate) fn of_series(nth: usize) -> Colour {
    SERIES[nth % SERIES.len()]
}

/// The style that says what all of them are, as the reader's system prefers it.
pub(crate) fn style() -> String {
    let all = || [TEXT, LABEL, GRID, AXIS, PAPER].into_iter().chain(SERIES);
    let variables = |of: fn(Colour) -> [u8; 3]| {
        all().fold(String::new(), |mut style, colour| {
            let [red, green, blue] = of(colour);
            // Writing to a string does not fail.
            let _ = write!(style, "--{}: #{red:02x}{green:02x}{blue:02x}; ", colour.name);
            style
        })
    };
    let (light, dark) = (variables(|it| it.light), variables(|it| it.dark));
    format!(":root {{ {light}}} @media (prefers-color-scheme: dark) {{ :root {{ {dark}}} }}")
}
