//! The papers' experiments, made again on the simulated host: published numbers beside ours.
//!
//! A paper is one folder: its published numbers as data (a CSV file with their sources), its
//! testbed, its workloads, and a [`Paper`] named `PAPER`; one line in `papers!` below registers it.
//! `foresee paper NUMBER` prints what it reports, and draws its plots.
//!
//! # How an experiment is made
//! ```
//! use foresee_papers::{Effort, Published, Report, map};
//!
//! // What was published, and where.
//! let published = Published::parse("experiment,cell,value,unit,source\nSquares,of 3,9.1,m,Table 7\n")?;
//! let mut report = Report::new(published);
//!
//! // Cells that do not depend on each other run in parallel; results come in the order of the cells.
//! let cells = [2.0, 3.0];
//! for (side, area) in cells.iter().zip(map(&cells, &|_done, _of| {}, |side| side * side)) {
//!     report.row("Squares", format!("of {side}"), area, "m");
//! }
//! assert_eq!((report.rows[0].published, report.rows[1].published), (None, Some(9.1)));
//! # Ok::<(), String>(())
//! ```

#![forbid(unsafe_code)]

pub mod html;
mod published;
mod random;
mod report;

pub use foresee_sim::cells::{Progress, map};
pub use published::Published;
pub use random::Random;
pub use report::{Report, Row};

/// Declares the papers: one line each.
macro_rules! papers {
    ($($module:ident)*) => {
        $(mod $module;)*
        /// Every paper there is.
        pub static REGISTRY: &[&Paper] = &[$(&$module::PAPER),*];
    };
}

papers! {
    p000
    p001
    p002
    p003
    p004
}

/// How much of a paper is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A part that shows its findings, in less than a minute.
    Quick,
    /// All of it.
    Full,
}

/// A paper, and how its experiments are made.
pub struct Paper {
    /// By which it is cited throughout the code: 1 for 001.
    pub number: u16,
    /// Authors, title, place.
    pub title: &'static str,
    /// Makes the experiments.
    pub run: fn(Effort, &Progress) -> Result<Report, String>,
}
