//! The plots of a paper as one HTML file that needs no other.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::plot::{Plot, Series, Shape};
use crate::{Paper, Report};

const SIZE: (u32, u32) = (760, 440);
/// Paul Tol's bright scheme, which the colour-blind can tell apart as well.
const COLOURS: [RGBColor; 7] = [
    RGBColor(68, 119, 170),
    RGBColor(238, 102, 119),
    RGBColor(34, 136, 51),
    RGBColor(204, 187, 68),
    RGBColor(102, 204, 238),
    RGBColor(170, 51, 119),
    RGBColor(120, 120, 120),
];
/// What all bars at one x take of the way to the next.
const BARS_WIDTH: f64 = 0.8;

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// The page.
///
/// # Errors
/// If a plot cannot be drawn.
pub fn page(paper: &Paper, report: &Report) -> Result<String, String> {
    let heading = format!("Paper {:03}", paper.number);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{heading}</title>\n\
         <style>body {{ font-family: sans-serif; max-width: 50em; margin: 2em auto; }}</style>\n\
         <h1>{heading}</h1>\n<p>{}</p>\n<p>Published numbers are pale and dashed, ours are solid.</p>\n",
        escaped(paper.title)
    );
    for plot in &report.plots {
        let mut svg = String::new();
        draw(plot, &mut svg).map_err(|error| format!("the plot '{}': {error}", plot.title))?;
        page.push_str(&svg);
        page.push_str(&legend(plot));
    }
    page.push_str("<h2>Assumed or fitted</h2>\n<ul>\n");
    for sentence in &report.assumed {
        page.push_str(&format!("<li>{}</li>\n", escaped(sentence)));
    }
    page.push_str("</ul>\n</html>\n");
    Ok(page)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The names of the series, in the order of their colours.
fn names(plot: &Plot) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for series in &plot.series {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    names
}

/// What the colours mean. It stands below the plot, where it hides nothing.
fn legend(plot: &Plot) -> String {
    let entry = |(name, RGBColor(r, g, b)): (&str, RGBColor)| {
        format!("<span style=\"color: rgb({r}, {g}, {b})\">&#9679;</span> {}", escaped(name))
    };
    let entries: Vec<String> = names(plot).into_iter().zip(COLOURS.into_iter().cycle()).map(entry).collect();
    format!("<p>{}</p>\n", entries.join(" &emsp; "))
}

fn draw(plot: &Plot, svg: &mut String) -> Drawn {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = axes(plot, &area)?;
    let names = names(plot);
    let bars = plot.series.iter().filter(|series| series.shape == Shape::Bars).count();
    let mut bar = 0;
    for series in &plot.series {
        let at = names.iter().position(|name| *name == series.name).unwrap_or(0);
        let colour = COLOURS[at % COLOURS.len()];
        match series.shape {
            Shape::Bars => {
                draw_bars(&mut chart, series, colour, (bar, bars))?;
                bar += 1;
            }
            Shape::Line | Shape::Points => draw_points(&mut chart, series, colour)?,
        }
    }
    area.present()?;
    Ok(())
}

/// The axes: y from 0, x as far as there are points.
fn axes<'a, 'b>(
    plot: &Plot,
    area: &'a DrawingArea<SVGBackend<'b>, Shift>,
) -> Result<Chart<'a, 'b>, Box<dyn std::error::Error>> {
    let points = || plot.series.iter().flat_map(|series| &series.points);
    let low = points().map(|it| it.0).reduce(f64::min).unwrap_or(0.0);
    let high = points().map(|it| it.0).reduce(f64::max).unwrap_or(0.0);
    let top = points().map(|it| it.1).fold(f64::MIN_POSITIVE, f64::max);
    let margin = if plot.categories.is_empty() && low < high { (high - low) * 0.03 } else { 0.5 };
    let (x, y) = (low - margin..high + margin, 0.0..top * 1.1);
    let mut chart = ChartBuilder::on(area)
        .caption(&plot.title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(x, y)?;
    let whole = points().all(|it| it.0.fract() == 0.0);
    let label = |x: &f64| match plot.categories.get(x.round() as usize) {
        _ if whole && (x - x.round()).abs() > 0.01 => String::new(),
        Some(name) => name.clone(),
        None => short(*x),
    };
    let labels = if plot.categories.is_empty() { 10 } else { 2 * plot.categories.len() + 1 };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .max_light_lines(0)
        .label_style(("sans-serif", 15))
        .axis_desc_style(("sans-serif", 17))
        .x_desc(&plot.x)
        .y_desc(&plot.y)
        .x_labels(labels)
        .x_label_formatter(&label)
        .y_label_formatter(&|y| short(*y))
        .draw()?;
    Ok(chart)
}

/// A number without more digits than it needs.
fn short(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn draw_points(chart: &mut Chart<'_, '_>, series: &Series, colour: RGBColor) -> Drawn {
    let points = || series.points.iter().copied();
    if series.shape == Shape::Line {
        match series.published {
            true => chart.draw_series(DashedLineSeries::new(points(), 5, 4, colour.mix(0.6).stroke_width(2)))?,
            false => chart.draw_series(LineSeries::new(points(), colour.stroke_width(2)))?,
        };
    }
    let style = if series.published { ShapeStyle::from(colour.mix(0.6)) } else { colour.filled() };
    let dot = |at| Circle::new(at, 4, style);
    chart.draw_series(points().map(dot))?;
    Ok(())
}

fn draw_bars(chart: &mut Chart<'_, '_>, series: &Series, colour: RGBColor, (nth, of): (usize, usize)) -> Drawn {
    let width = BARS_WIDTH / of as f64;
    let style = if series.published { colour.mix(0.4) } else { colour.mix(1.0) }.filled();
    let bar = |&(x, y): &(f64, f64)| {
        let left = x - BARS_WIDTH / 2.0 + width * nth as f64;
        Rectangle::new([(left, 0.0), (left + width, y)], style)
    };
    chart.draw_series(series.points.iter().map(bar))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(plots: Vec<Plot>) -> String {
        let paper = Paper { number: 7, title: "On <tags> & other things", run: |_, _| Err(String::new()) };
        let mut report = Report::default();
        report.assumed.push("a < b".into());
        report.plots = plots;
        page(&paper, &report).unwrap()
    }

    #[test]
    fn every_shape_is_drawn_and_published_ones_have_the_colour_of_ours() {
        let mut bars = Plot::new("Bars", "x", "y");
        bars.categories = vec!["first".into(), "second".into()];
        bars.add("a", Shape::Bars, vec![(0.0, 1.0), (1.0, 2.0)], vec![(0.0, 3.0)]);
        let mut lines = Plot::new("Lines", "x", "y");
        lines.add("a", Shape::Line, vec![(1.0, 1.0), (4.0, 2.0)], vec![(1.0, 1.5), (4.0, 2.5)]);
        lines.add("b", Shape::Points, vec![(2.5, 1.0)], vec![]);
        let page = page_of(vec![bars, lines]);
        assert_eq!(page.matches("<svg").count(), 2);
        assert!(page.contains("first") && page.contains("second"));
        // The background, and three bars of one colour.
        assert_eq!((page.matches("<rect").count(), page.matches("<circle").count()), (1 + 3 + 1, 5));
        assert_eq!(page.matches("&#9679;").count(), 3);
        assert!(page.contains("On &lt;tags&gt; &amp; other things") && page.contains("<li>a &lt; b</li>"));
    }

    #[test]
    fn a_plot_of_little_or_nothing_is_drawn_too() {
        let mut one = Plot::new("One", "x", "y");
        one.add("a", Shape::Line, vec![(3.0, 0.0)], vec![]);
        assert_eq!(page_of(vec![Plot::new("None", "x", "y"), one]).matches("<svg").count(), 2);
    }
}
