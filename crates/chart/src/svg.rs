//! Writes SVG.

use std::fmt::Write;

use crate::canvas::{Anchor, Canvas, Place, Rectangle, Style};
use crate::colour::{self, Colour};

/// A picture being written. It has its colours with it, to be taken out of its page.
pub(crate) struct Svg {
    text: String,
}

impl Svg {
    pub(crate) fn new(width: f32, height: f32) -> Svg {
        let mut svg = Svg { text: String::new() };
        let (width, height) = (number(width), number(height));
        svg.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\">\n\
             <style>{} svg {{ background: var(--paper); }}</style>\n",
            colour::style()
        ));
        svg
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }

    fn put(&mut self, what: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.text.write_fmt(what);
    }
}

/// A tenth of a pixel is enough.
fn number(number: f32) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn paint(attribute: &str, colour: Colour) -> String {
    let Colour { name, opacity, .. } = colour;
    let opacity = if opacity < 1.0 { format!(" {attribute}-opacity=\"{opacity:.2}\"") } else { String::new() };
    format!("{attribute}=\"var(--{name})\"{opacity}")
}

/// A text without the letters that mean something to HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn places(places: &[Place]) -> String {
    places.iter().map(|(x, y)| format!("{},{}", number(*x), number(*y))).collect::<Vec<_>>().join(" ")
}

impl Canvas for Svg {
    fn rectangles(&mut self, rectangles: &[Rectangle], colour: Colour) {
        if rectangles.is_empty() {
            return;
        }
        self.text.push_str("<path d=\"");
        for Rectangle { x, y, width, height } in rectangles {
            let (x, y, width, height) = (number(*x), number(*y), number(*width), number(*height));
            self.put(format_args!("M{x},{y}h{width}v{height}h-{width}z"));
        }
        self.put(format_args!("\" {}/>\n", paint("fill", colour)));
    }

    fn polygon(&mut self, corners: &[Place], colour: Colour) {
        self.put(format_args!("<polygon points=\"{}\" {}/>\n", places(corners), paint("fill", colour)));
    }

    fn line(&mut self, line: &[Place], width: f32, dashed: bool, colour: Colour) {
        let dashes = if dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        self.put(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke-width=\"{}\" stroke-linejoin=\"round\" {}{dashes}/>\n",
            places(line),
            number(width),
            paint("stroke", colour)
        ));
    }

    fn dot(&mut self, (x, y): Place, radius: f32, colour: Colour, tip: &str) {
        let (x, y, radius) = (number(x), number(y), number(radius));
        self.put(format_args!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" {}><title>{}</title></circle>\n",
            paint("fill", colour),
            escaped(tip)
        ));
    }

    fn text(&mut self, (x, y): Place, style: Style, text: &str) {
        let Style { size, bold, anchor, upwards, colour } = style;
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y, size) = (number(x), number(y), number(size));
        let weight = if bold { " font-weight=\"bold\"" } else { "" };
        let turned = if upwards { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
        let (fill, text) = (paint("fill", colour), escaped(text));
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\"{weight}{turned} {fill}>{text}</text>\n"
        ));
    }
}
