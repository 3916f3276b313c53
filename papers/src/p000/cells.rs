//! The runs that the figures need. A run that two figures need is made once.

use super::machine::{Machine, Outcome};
use super::work::agrep::Search;
use super::work::postgres::Join;
use super::work::xds::Plane;
use super::work::{Load, agrep, cat, davidson, postgres, sphinx, xds};
use crate::{Progress, map};

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// `cat` of a large file.
    Cat,
    /// A search.
    Agrep(Search),
    /// A slice.
    Xds(Plane),
    /// A join.
    Postgres(Join),
    /// The recording.
    Sphinx,
    /// So many iterations.
    Davidson { passes: u64 },
    /// `cat` of 10 MB, so many times, beside Davidson.
    Contention { passes: u64, davidson_passes: u64 },
}

/// A run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// On what.
    pub machine: Machine,
    /// What.
    pub work: Work,
}

impl Cell {
    fn load(&self) -> Load {
        let hints = self.machine.system.takes_hints();
        match self.work {
            Work::Cat => cat::large(),
            Work::Agrep(search) => agrep::load(search, hints),
            Work::Xds(plane) => xds::load(plane, hints),
            Work::Postgres(join) => postgres::load(join),
            Work::Sphinx => sphinx::load(hints),
            Work::Davidson { passes } => davidson::load(passes, hints),
            Work::Contention { passes, davidson_passes } => cat::beside_davidson(passes, davidson_passes),
        }
    }

    /// Makes the run.
    ///
    /// # Errors
    /// If the load does not fit the machine.
    pub fn run(&self) -> Result<Outcome, String> {
        self.machine.run(self.load())
    }
}

/// The runs that were made.
pub struct Results(Vec<(Cell, Outcome)>);

impl Results {
    /// Makes these runs, each once.
    ///
    /// # Errors
    /// If a load does not fit its machine.
    pub fn of(wanted: Vec<Cell>, progress: &Progress<'_>) -> Result<Self, String> {
        let mut cells: Vec<Cell> = Vec::new();
        for cell in wanted {
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
        let outcomes: Result<Vec<Outcome>, String> = map(&cells, progress, Cell::run).into_iter().collect();
        Ok(Results(cells.into_iter().zip(outcomes?).collect()))
    }

    /// What came of a run.
    ///
    /// # Errors
    /// If nobody wanted it.
    pub fn get(&self, machine: Machine, work: Work) -> Result<&Outcome, String> {
        let cell = Cell { machine, work };
        let found = self.0.iter().find(|(made, _)| *made == cell).map(|(_, outcome)| outcome);
        found.ok_or_else(|| format!("{cell:?} was not run"))
    }

    /// Several runs on one machine, summed: elapsed and stall time, in seconds.
    ///
    /// # Errors
    /// If nobody wanted one of them.
    pub fn sum(&self, machine: Machine, works: &[Work]) -> Result<(f64, f64), String> {
        let mut sum = (0.0, 0.0);
        for work in works {
            let outcome = self.get(machine, *work)?;
            sum = (sum.0 + outcome.elapsed_s(), sum.1 + outcome.stall_s());
        }
        Ok(sum)
    }
}

/// By how many percent the second is less than the first.
pub fn less(before: f64, after: f64) -> f64 {
    100.0 * (1.0 - after / before)
}
