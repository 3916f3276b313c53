//! Plots as data: axes, and series of points beside what was published of them.

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// Points joined by lines.
    Line,
    /// Points alone.
    Points,
    /// Bars, those of all series side by side at each x.
    Bars,
    /// Areas, each on top of the one before. All of them have the same x.
    Area,
    /// A rectangle around each point, so wide and so high, in the units of the axes: for more
    /// points than can be seen apart.
    Cells {
        /// Along x.
        width: f64,
        /// Along y.
        height: f64,
    },
}

/// One series. Published and ours are two series of one name: they get one colour, and the
/// published one is drawn paler or dashed.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// As in the legend.
    pub name: String,
    /// Whether these are the paper's numbers.
    pub published: bool,
    /// How it is drawn.
    pub shape: Shape,
    /// (x, y), by x.
    pub points: Vec<(f64, f64)>,
}

/// How an axis is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By powers of ten; all values must be above 0.
    Log,
}

/// One plot. The y axis begins at 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// What x is, with its unit.
    pub x: String,
    /// What y is, with its unit.
    pub y: String,
    /// How x is divided.
    pub x_scale: Scale,
    /// Names of x = 0, 1, 2, ...; none: x is a number.
    pub categories: Vec<String>,
    /// The series, in the order of their colours: the first of a name counts. The seventh is grey.
    pub series: Vec<Series>,
}

impl Plot {
    /// Without series yet; x is a number.
    pub fn new(title: impl Into<String>, x: impl Into<String>, y: impl Into<String>) -> Self {
        let (title, x, y) = (title.into(), x.into(), y.into());
        Plot { title, x, y, x_scale: Scale::Linear, categories: Vec::new(), series: Vec::new() }
    }

    /// Adds a series of ours, and beside it what was published, where that is not empty.
    pub fn add(&mut self, name: impl Into<String>, shape: Shape, ours: Vec<(f64, f64)>, published: Vec<(f64, f64)>) {
        let name = name.into();
        if !published.is_empty() {
            self.series.push(Series { name: name.clone(), published: true, shape, points: published });
        }
        self.series.push(Series { name, published: false, shape, points: ours });
    }

    /// The names of the series, in the order of their colours.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in &self.series {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        names
    }
}
