//! Where everything of a plot stands.
//!
//! ```text
//! title
//! ■ first  ■ second            legend, as many lines as it takes; none for one series without a name
//! y
//!  │ ┈┈┈┈┈┈┈┈┈┈
//!  │ ┈┈┈┈┈┈┈┈┈┈               the field
//!  └──────────
//!        x
//! ```

use crate::axis::{Axis, Tick, short};
use crate::canvas::{Anchor, Canvas, Place, Rectangle, Style, fitted, width_of};
use crate::colour::{self, AXIS, Colour, GRID, LABEL, TEXT};
use crate::plot::{Plot, Series, Shape};

/// Of every plot.
pub(crate) const WIDTH: f32 = 900.0;
const FIELD_HEIGHT: f32 = 330.0;
/// The name of the y axis, and labels as wide as 900,000.
const LEFT: f32 = 94.0;
const RIGHT: f32 = 24.0;
const TITLE_HEIGHT: f32 = 34.0;
const LEGEND_LINE_HEIGHT: f32 = 22.0;
const BOTTOM: f32 = 60.0;
const LABEL_SIZE: f32 = 13.0;
/// What all bars at one x take of the way to the next.
const BARS_WIDTH: f64 = 0.8;

/// Points of a line that have dots as well.
const DOTS_MAX: usize = 24;

const PLAIN: Style = Style { size: LABEL_SIZE, bold: false, anchor: Anchor::Start, upwards: false, colour: LABEL };

/// A legend's entry: the series' number, its name, and where it stands.
type Entry = (usize, String, Place);

/// How high a plot is.
pub(crate) fn height(plot: &Plot) -> f32 {
    TITLE_HEIGHT + legend(plot).1 + FIELD_HEIGHT + BOTTOM
}

/// The legend's entries, and how high it is.
fn legend(plot: &Plot) -> (Vec<Entry>, f32) {
    let names = plot.names();
    if names.iter().all(|name| name.is_empty()) {
        return (Vec::new(), 8.0);
    }
    let (mut x, mut y) = (LEFT, TITLE_HEIGHT + 12.0);
    let mut entries = Vec::new();
    for (nth, name) in names.into_iter().enumerate() {
        let name = fitted(name, LABEL_SIZE, WIDTH / 2.0);
        let width = width_of(&name, LABEL_SIZE) + 40.0;
        if x > LEFT && x + width > WIDTH {
            (x, y) = (LEFT, y + LEGEND_LINE_HEIGHT);
        }
        entries.push((nth, name, (x, y)));
        x += width;
    }
    (entries, y - TITLE_HEIGHT - 12.0 + LEGEND_LINE_HEIGHT + 8.0)
}

/// Draws a plot.
pub(crate) fn draw(plot: &Plot, canvas: &mut dyn Canvas) {
    let title = Style { size: 17.0, bold: true, colour: TEXT, ..PLAIN };
    canvas.text((LEFT, 22.0), title, &fitted(&plot.title, 17.0, WIDTH - LEFT));
    let (entries, legend_height) = legend(plot);
    for (nth, name, (x, y)) in entries {
        let mark = Rectangle { x, y: y - 10.0, width: 11.0, height: 11.0 };
        canvas.rectangles(&[mark], colour::of_series(nth));
        canvas.text((x + 17.0, y), Style { colour: TEXT, ..PLAIN }, &name);
    }
    let top = TITLE_HEIGHT + legend_height;
    let field = Rectangle { x: LEFT, y: top, width: WIDTH - LEFT - RIGHT, height: FIELD_HEIGHT };
    Field::new(plot, field).draw(canvas);
}

/// The part of a plot between its axes.
struct Field<'a> {
    plot: &'a Plot,
    field: Rectangle,
    x: Axis,
    y: Axis,
    /// Areas as they are stacked: for each series, its lower and its upper edge.
    stacked: Vec<Vec<(f64, f64)>>,
}

impl<'a> Field<'a> {
    fn new(plot: &'a Plot, field: Rectangle) -> Self {
        let stacked = stack(plot);
        let xs = || plot.series.iter().flat_map(|series| &series.points).map(|it| it.0);
        let (low, high) = (xs().fold(f64::INFINITY, f64::min), xs().fold(f64::NEG_INFINITY, f64::max));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let half = |width: f64| (low - width / 2.0, high + width / 2.0);
        let (low, high) = plot.series.iter().fold((low, high), |(from, to), series| match series.shape {
            Shape::Bars => half(1.0),
            Shape::Cells { width, .. } => half(width),
            Shape::Line | Shape::Points | Shape::Area => (from, to),
        });
        let ys = plot.series.iter().zip(&stacked).flat_map(|(series, stacked)| match series.shape {
            Shape::Area => stacked.iter().map(|it| it.1).collect::<Vec<_>>(),
            Shape::Cells { height, .. } => series.points.iter().map(|it| it.1 + height / 2.0).collect(),
            Shape::Line | Shape::Points | Shape::Bars => series.points.iter().map(|it| it.1).collect(),
        });
        let y = Axis::from_zero(ys.fold(0.0, f64::max));
        Field { plot, field, x: Axis::new(plot.x_scale, low, high), y, stacked }
    }

    fn at(&self, x: f64, y: f64) -> Place {
        let Rectangle { x: left, y: top, width, height } = self.field;
        (left + width * self.x.place(x) as f32, top + height * (1.0 - self.y.place(y) as f32))
    }

    fn draw(&self, canvas: &mut dyn Canvas) {
        let Rectangle { x: left, y: top, width, height } = self.field;
        let (right, bottom) = (left + width, top + height);
        for Tick { value, label } in self.y.ticks(6.0) {
            let (_, y) = self.at(0.0, value);
            canvas.line(&[(left, y), (right, y)], 1.0, false, GRID);
            canvas.text((left - 8.0, y + 4.5), Style { anchor: Anchor::End, ..PLAIN }, &label);
        }
        self.draw_series(canvas);
        canvas.line(&[(left, bottom), (right, bottom)], 1.0, false, AXIS);
        let middle = Style { anchor: Anchor::Middle, ..PLAIN };
        for Tick { value, label } in self.x_ticks() {
            let (x, _) = self.at(value, 0.0);
            canvas.line(&[(x, bottom), (x, bottom + 5.0)], 1.0, false, AXIS);
            canvas.text((x, bottom + 20.0), middle, &label);
        }
        canvas.text((left + width / 2.0, bottom + 44.0), middle, &self.plot.x);
        let y = fitted(&self.plot.y, LABEL_SIZE, height);
        canvas.text((18.0, top + height / 2.0), Style { upwards: true, ..middle }, &y);
    }

    fn x_ticks(&self) -> Vec<Tick> {
        let categories = &self.plot.categories;
        if categories.is_empty() {
            let whole = self.plot.series.iter().flat_map(|series| &series.points).all(|it| it.0.fract() == 0.0);
            let ticks = self.x.ticks(8.0).into_iter();
            return ticks.filter(|tick| !whole || (tick.value - tick.value.round()).abs() < 1e-6).collect();
        }
        let room = self.field.width / categories.len() as f32 - 6.0;
        let label = |name: &String| fitted(name, LABEL_SIZE, room);
        categories.iter().enumerate().map(|(at, name)| Tick { value: at as f64, label: label(name) }).collect()
    }

    fn draw_series(&self, canvas: &mut dyn Canvas) {
        let names = self.plot.names();
        let bars = self.plot.series.iter().filter(|series| series.shape == Shape::Bars).count();
        let mut bar = 0;
        for (series, stacked) in self.plot.series.iter().zip(&self.stacked) {
            let nth = names.iter().position(|name| *name == series.name).unwrap_or(0);
            let colour = colour::of_series(nth);
            match series.shape {
                Shape::Bars => {
                    self.draw_bars(canvas, series, colour, (bar, bars));
                    bar += 1;
                }
                Shape::Line | Shape::Points => self.draw_points(canvas, series, colour),
                Shape::Area => {
                    let edge = |at: usize, upper: bool| {
                        let (low, high) = stacked[at];
                        self.at(series.points[at].0, if upper { high } else { low })
                    };
                    let there = (0..stacked.len()).map(|at| edge(at, true));
                    let back = (0..stacked.len()).rev().map(|at| edge(at, false));
                    canvas.polygon(&there.chain(back).collect::<Vec<_>>(), colour.mix(0.85));
                }
                Shape::Cells { width, height } => self.draw_cells(canvas, series, colour, (width, height)),
            }
        }
    }

    fn draw_points(&self, canvas: &mut dyn Canvas, series: &Series, colour: Colour) {
        let places: Vec<Place> = series.points.iter().map(|&(x, y)| self.at(x, y)).collect();
        let colour = if series.published { colour.mix(0.5) } else { colour };
        if series.shape == Shape::Line {
            canvas.line(&places, 2.0, series.published, colour);
        }
        // Dots that would touch each other say nothing more than the line.
        if series.shape == Shape::Points || places.len() <= DOTS_MAX {
            for (&at, &(x, y)) in places.iter().zip(&series.points) {
                let x = self.plot.categories.get(x as usize).cloned().unwrap_or_else(|| short(x));
                canvas.dot(at, 3.5, colour, &format!("{}: {x}, {}", series.name, short(y)));
            }
        }
    }

    fn draw_bars(&self, canvas: &mut dyn Canvas, series: &Series, colour: Colour, (nth, of): (usize, usize)) {
        let width = BARS_WIDTH / of as f64;
        let bar = |&(x, y): &(f64, f64)| {
            let from = x - BARS_WIDTH / 2.0 + width * nth as f64;
            self.between((from, y), (from + width, 0.0))
        };
        let bars: Vec<Rectangle> = series.points.iter().map(bar).collect();
        canvas.rectangles(&bars, colour.mix(if series.published { 0.4 } else { 1.0 }));
    }

    /// Cells beside each other become one rectangle.
    fn draw_cells(&self, canvas: &mut dyn Canvas, series: &Series, colour: Colour, (width, height): (f64, f64)) {
        let mut points = series.points.clone();
        points.sort_by(|one, other| one.1.total_cmp(&other.1).then(one.0.total_cmp(&other.0)));
        let mut runs: Vec<(f64, f64, f64)> = Vec::new();
        for (x, y) in points {
            match runs.last_mut() {
                Some((_, to, of)) if *of == y && x - *to < width * 1.01 => *to = x,
                _ => runs.push((x, x, y)),
            }
        }
        let cell = |&(from, to, y): &(f64, f64, f64)| {
            self.between((from - width / 2.0, y + height / 2.0), (to + width / 2.0, y - height / 2.0))
        };
        canvas.rectangles(&runs.iter().map(cell).collect::<Vec<_>>(), colour);
    }

    /// The rectangle between the upper left and the lower right corner.
    fn between(&self, upper_left: (f64, f64), lower_right: (f64, f64)) -> Rectangle {
        let ((x, y), (right, bottom)) = (self.at(upper_left.0, upper_left.1), self.at(lower_right.0, lower_right.1));
        Rectangle { x, y, width: right - x, height: bottom - y }
    }
}

/// The edges of areas; nothing for other shapes.
fn stack(plot: &Plot) -> Vec<Vec<(f64, f64)>> {
    let mut below: Vec<f64> = Vec::new();
    let edges = |series: &Series| {
        if series.shape != Shape::Area {
            return Vec::new();
        }
        below.resize(series.points.len(), 0.0);
        let edge = |(below, &(_, y)): (&mut f64, &(f64, f64))| {
            let low = *below;
            *below += y;
            (low, *below)
        };
        below.iter_mut().zip(&series.points).map(edge).collect()
    };
    plot.series.iter().map(edges).collect()
}
