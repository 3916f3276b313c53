//! What a picture is made of. Lengths are in pixels, from the upper left corner.

use crate::colour::Colour;

/// A place.
pub(crate) type Place = (f32, f32);

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rectangle {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) width: f32,
    pub(crate) height: f32,
}

/// Where a text stands from its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Style {
    pub(crate) size: f32,
    pub(crate) bold: bool,
    pub(crate) anchor: Anchor,
    /// Whether it runs upwards.
    pub(crate) upwards: bool,
    pub(crate) colour: Colour,
}

/// What can be drawn on.
pub(crate) trait Canvas {
    /// Rectangles of one colour, together.
    fn rectangles(&mut self, rectangles: &[Rectangle], colour: Colour);

    /// A polygon.
    fn polygon(&mut self, corners: &[Place], colour: Colour);

    /// Lines from place to place.
    fn line(&mut self, places: &[Place], width: f32, dashed: bool, colour: Colour);

    /// A dot. `tip` is what it says when it is pointed at, where that can be done.
    fn dot(&mut self, at: Place, radius: f32, colour: Colour, tip: &str);

    /// A text. Its place is on its base line.
    fn text(&mut self, at: Place, style: Style, text: &str);
}

/// About how wide a text is: fonts differ, and a page is drawn with whatever its reader has.
pub(crate) fn width_of(text: &str, size: f32) -> f32 {
    let width = |it: char| match it {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' => 0.32,
        'f' | 'r' | 't' | '(' | ')' | '/' | '-' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.92,
        it if it.is_ascii_uppercase() => 0.7,
        _ => 0.6,
    };
    text.chars().map(width).sum::<f32>() * size
}

/// The text, shortened in its middle to be no wider than this.
pub(crate) fn fitted(text: &str, size: f32, width: f32) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut kept = characters.len();
    loop {
        let shown = match kept {
            _ if kept == characters.len() => text.to_owned(),
            _ => {
                let head: String = characters[..kept / 2].iter().collect();
                let tail: String = characters[characters.len() - (kept - kept / 2)..].iter().collect();
                format!("{head}…{tail}")
            }
        };
        if kept <= 2 || width_of(&shown, size) <= width {
            return shown;
        }
        kept -= 1;
    }
}
