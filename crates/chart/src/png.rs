//! Paints PNG. Letters are those of the first font found where systems keep theirs.

use std::path::{Path, PathBuf};

use ab_glyph::{Font, FontVec, Glyph, PxScale, ScaleFont, point};
use tiny_skia::{
    Color, FillRule, LineJoin, Paint, PathBuilder, Pixmap, PremultipliedColorU8, Stroke, StrokeDash, Transform,
};

use crate::canvas::{Anchor, Canvas, Place, Rectangle, Style};
use crate::colour::{Colour, PAPER};

/// Pixels painted for one of the layout's.
const FINENESS: f32 = 2.0;

/// Where fonts are kept, and which are looked for: plain and bold of families that most systems
/// have one of.
const FOLDERS: [&str; 4] =
    ["/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/texmf/fonts", "/System/Library/Fonts"];
const FAMILIES: [(&str, &str); 6] = [
    ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    ("LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf"),
    ("NotoSans-Regular.ttf", "NotoSans-Bold.ttf"),
    ("Arimo-Regular.ttf", "Arimo-Bold.ttf"),
    ("FreeSans.ttf", "FreeSansBold.ttf"),
    ("OpenSans-Regular.ttf", "OpenSans-Bold.ttf"),
];

/// A picture being painted.
pub(crate) struct Painting {
    pixels: Pixmap,
    plain: FontVec,
    bold: FontVec,
    origin: Place,
}

impl Painting {
    pub(crate) fn new(width: f32, height: f32) -> Result<Painting, String> {
        let (plain, bold) = fonts().ok_or_else(|| {
            let families: Vec<&str> = FAMILIES.iter().map(|(plain, _)| *plain).collect();
            format!("no font found below {}: none of {}; install DejaVu Sans", FOLDERS.join(", "), families.join(", "))
        })?;
        let too_large = || format!("a picture of {width} by {height} is too large");
        let mut pixels = Pixmap::new((width * FINENESS) as u32, (height * FINENESS) as u32).ok_or_else(too_large)?;
        pixels.fill(color(PAPER));
        Ok(Painting { pixels, plain, bold, origin: (0.0, 0.0) })
    }

    /// From here on, places count from this one.
    pub(crate) fn move_to(&mut self, x: f32, y: f32) {
        self.origin = (x, y);
    }

    pub(crate) fn finish(self) -> Result<Vec<u8>, String> {
        self.pixels.encode_png().map_err(|error| error.to_string())
    }

    fn transform(&self) -> Transform {
        let (x, y) = self.origin;
        Transform::from_scale(FINENESS, FINENESS).pre_translate(x, y)
    }

    fn fill(&mut self, path: PathBuilder, colour: Colour) {
        if let Some(path) = path.finish() {
            let (paint, transform) = (paint(colour), self.transform());
            self.pixels.fill_path(&path, &paint, FillRule::Winding, transform, None);
        }
    }
}

/// A plain font and a bold one.
fn fonts() -> Option<(FontVec, FontVec)> {
    let mut files = Vec::new();
    FOLDERS.iter().for_each(|folder| collect(Path::new(folder), 6, &mut files));
    let load = |name: &str| {
        let path = files.iter().find(|path| path.file_name().is_some_and(|it| it == name))?;
        FontVec::try_from_vec(std::fs::read(path).ok()?).ok()
    };
    FAMILIES.iter().find_map(|(plain, bold)| Some((load(plain)?, load(bold).or_else(|| load(plain))?)))
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && depth > 0 {
            collect(&path, depth - 1, files);
        } else {
            files.push(path);
        }
    }
}

fn color(Colour { light: [red, green, blue], opacity, .. }: Colour) -> Color {
    Color::from_rgba8(red, green, blue, (opacity * 255.0).round() as u8)
}

fn paint(colour: Colour) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color(color(colour));
    paint
}

fn outline(places: &[Place]) -> PathBuilder {
    let mut path = PathBuilder::new();
    for (at, &(x, y)) in places.iter().enumerate() {
        if at == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    path
}

impl Canvas for Painting {
    fn rectangles(&mut self, rectangles: &[Rectangle], colour: Colour) {
        let mut path = PathBuilder::new();
        for &Rectangle { x, y, width, height } in rectangles {
            if let Some(rectangle) = tiny_skia::Rect::from_xywh(x, y, width, height) {
                path.push_rect(rectangle);
            }
        }
        self.fill(path, colour);
    }

    fn polygon(&mut self, corners: &[Place], colour: Colour) {
        let mut path = outline(corners);
        path.close();
        self.fill(path, colour);
    }

    fn line(&mut self, places: &[Place], width: f32, dashed: bool, colour: Colour) {
        let dash = if dashed { StrokeDash::new(vec![5.0, 4.0], 0.0) } else { None };
        let stroke = Stroke { width, line_join: LineJoin::Round, dash, ..Stroke::default() };
        if let Some(path) = outline(places).finish() {
            let (paint, transform) = (paint(colour), self.transform());
            self.pixels.stroke_path(&path, &paint, &stroke, transform, None);
        }
    }

    fn dot(&mut self, (x, y): Place, radius: f32, colour: Colour, _: &str) {
        let mut path = PathBuilder::new();
        path.push_circle(x, y, radius);
        self.fill(path, colour);
    }

    fn text(&mut self, (x, y): Place, style: Style, text: &str) {
        let font = if style.bold { &self.bold } else { &self.plain };
        let scaled = font.as_scaled(PxScale::from(style.size * FINENESS * 1.16));
        let mut glyphs: Vec<Glyph> = Vec::new();
        let mut right = 0.0;
        for letter in text.chars() {
            let mut glyph = scaled.scaled_glyph(letter);
            if let Some(before) = glyphs.last() {
                right += scaled.kern(before.id, glyph.id);
            }
            glyph.position = point(right, 0.0);
            right += scaled.h_advance(glyph.id);
            glyphs.push(glyph);
        }
        let back = match style.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => right / 2.0,
            Anchor::End => right,
        };
        let (x, y) = ((x + self.origin.0) * FINENESS, (y + self.origin.1) * FINENESS);
        let width = self.pixels.width() as i32;
        let height = self.pixels.height() as i32;
        let pixels = self.pixels.pixels_mut();
        for outlined in glyphs.into_iter().filter_map(|glyph| font.outline_glyph(glyph)) {
            let bounds = outlined.px_bounds();
            outlined.draw(|column, row, coverage| {
                let (along, down) = (bounds.min.x + column as f32 - back, bounds.min.y + row as f32);
                let (x, y) = if style.upwards { (x + down, y - along) } else { (x + along, y + down) };
                let (x, y) = (x.round() as i32, y.round() as i32);
                if (0..width).contains(&x) && (0..height).contains(&y) {
                    let pixel = &mut pixels[(y * width + x) as usize];
                    *pixel = covered(*pixel, style.colour, coverage);
                }
            });
        }
    }
}

/// A pixel of the opaque picture, covered by a colour to some part.
fn covered(below: PremultipliedColorU8, colour: Colour, coverage: f32) -> PremultipliedColorU8 {
    let part = coverage.clamp(0.0, 1.0) * colour.opacity;
    let mix = |below: u8, above: u8| (f32::from(below) * (1.0 - part) + f32::from(above) * part).round() as u8;
    let [red, green, blue] = colour.light;
    let (red, green, blue) = (mix(below.red(), red), mix(below.green(), green), mix(below.blue(), blue));
    PremultipliedColorU8::from_rgba(red, green, blue, 255).unwrap_or(below)
}
