//! A page: headings, sentences, tables and plots, one below the other.

use std::fmt::Write;

use crate::colour;
use crate::layout::{self, WIDTH};
use crate::plot::Plot;
use crate::png::Painting;
use crate::svg::{Svg, escaped};

enum Part {
    Heading(String),
    Text(String),
    List(Vec<String>),
    Table(Vec<String>, Vec<Vec<String>>),
    Plot(Plot),
}

/// A page being made.
pub struct Page {
    title: String,
    parts: Vec<Part>,
}

/// What is wider than the reader's screen is moved by itself, so that its letters stay large enough
/// to be read.
const STYLE: &str = "body { font-family: system-ui, 'DejaVu Sans', sans-serif; color: var(--text); background: var(--paper); \
    max-width: 900px; margin: 2em auto; padding: 0 1em; line-height: 1.45; overflow-wrap: anywhere; } \
    .wide { overflow-x: auto; margin: 1.2em 0; } svg { display: block; max-width: 100%; min-width: 660px; height: auto; } \
    table { border-collapse: collapse; font-size: 90%; overflow-wrap: normal; } th, td { text-align: right; \
    padding: 0.2em 0.9em; border-bottom: 1px solid var(--grid); } \
    th:first-child, td:first-child { text-align: left; padding-left: 0; min-width: 9em; overflow-wrap: anywhere; }";

impl Page {
    /// An empty page of this title.
    pub fn new(title: impl Into<String>) -> Self {
        Page { title: title.into(), parts: Vec::new() }
    }

    /// A heading.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Heading(text.into()));
    }

    /// A paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Text(text.into()));
    }

    /// A list of sentences.
    pub fn list(&mut self, items: Vec<String>) {
        self.parts.push(Part::List(items));
    }

    /// A table: the names of its columns, and its rows.
    pub fn table(&mut self, columns: &[&str], rows: Vec<Vec<String>>) {
        self.parts.push(Part::Table(columns.iter().map(|&name| name.to_owned()).collect(), rows));
    }

    /// A plot.
    pub fn plot(&mut self, plot: Plot) {
        self.parts.push(Part::Plot(plot));
    }

    /// The page as HTML that needs no other file.
    pub fn html(&self) -> String {
        let title = escaped(&self.title);
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>{} {STYLE}</style>\n<h1>{title}</h1>\n",
            colour::style()
        );
        for part in &self.parts {
            // Writing to a string does not fail.
            let _ = match part {
                Part::Heading(text) => writeln!(html, "<h2>{}</h2>", escaped(text)),
                Part::Text(text) => writeln!(html, "<p>{}</p>", escaped(text)),
                Part::List(items) => {
                    let items: String = items.iter().map(|item| format!("<li>{}</li>\n", escaped(item))).collect();
                    writeln!(html, "<ul>\n{items}</ul>")
                }
                Part::Table(columns, rows) => {
                    let row = |cells: &[String], tag: &str| {
                        let cells: String =
                            cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
                        format!("<tr>{cells}</tr>\n")
                    };
                    let rows: String = rows.iter().map(|cells| row(cells, "td")).collect();
                    writeln!(html, "<div class=\"wide\"><table>\n{}{rows}</table></div>", row(columns, "th"))
                }
                Part::Plot(plot) => {
                    let mut svg = Svg::new(WIDTH, layout::height(plot));
                    layout::draw(plot, &mut svg);
                    writeln!(html, "<div class=\"wide\">{}</div>", svg.finish())
                }
            };
        }
        html.push_str("</html>\n");
        html
    }

    /// The plots alone, one below the other, as a picture of the format PNG, twice as fine as on a
    /// screen.
    ///
    /// # Errors
    /// If this machine has no font to write with, or the picture is too large.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        const GAP: f32 = 24.0;
        let plots = || {
            self.parts.iter().filter_map(|part| match part {
                Part::Plot(plot) => Some(plot),
                Part::Heading(_) | Part::Text(_) | Part::List(_) | Part::Table(..) => None,
            })
        };
        let height: f32 = plots().map(|plot| layout::height(plot) + GAP).sum::<f32>() + GAP;
        let mut painting = Painting::new(WIDTH + 2.0 * GAP, height)?;
        let mut top = GAP;
        for plot in plots() {
            painting.move_to(GAP, top);
            layout::draw(plot, &mut painting);
            top += layout::height(plot) + GAP;
        }
        painting.finish()
    }
}
