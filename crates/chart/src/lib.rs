//! Charts as data, drawn alike as SVG, in a page that needs no other file, and as PNG.
//!
//! A [`Plot`] says what is shown; `layout.rs` decides where it stands; `canvas.rs` names the few
//! things a picture is made of, which `svg.rs` writes and `png.rs` paints.
//!
//! # One example
//! ```
//! use foresee_chart::{Page, Plot, Shape};
//!
//! let mut plot = Plot::new("Squares", "side (m)", "area (m²)");
//! plot.add("of whole sides", Shape::Line, vec![(1.0, 1.0), (2.0, 4.0), (3.0, 9.0)], Vec::new());
//! let mut page = Page::new("A page");
//! page.text("Areas grow faster than sides.");
//! page.plot(plot);
//! assert!(page.html().contains("<svg") && page.html().contains("of whole sides"));
//! ```

#![forbid(unsafe_code)]

mod axis;
mod canvas;
mod colour;
mod layout;
mod page;
mod plot;
mod png;
mod svg;

pub use page::Page;
pub use plot::{Plot, Scale, Series, Shape};
