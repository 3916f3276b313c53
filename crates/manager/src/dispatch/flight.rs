//! A fetch at a device: which blocks it goes over, and which of them it brings.

use std::ops::Range;

use super::OF_RUNS;
use super::pipe::Sent;
use crate::event::Class;
use crate::ids::{Block, DeviceId, Time};

/// A fetch at a device.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    pub device: DeviceId,
    /// Where its file begins.
    pub(super) place: u64,
    pub first: Block,
    pub count: u64,
    pub class: Class,
    /// Blocks that it brings though nobody asked for them: gaps that are read over.
    pub read_over: u64,
    /// Blocks that it goes over and does not bring: they have pages already, or there is none for
    /// them. In order, and apart.
    pub(super) passed_over: Vec<Range<u64>>,
    pub(super) rank: usize,
    /// When it was sent, how many others were out then, and what was known of the device.
    pub(super) since: Time,
    pub(super) beside: u32,
    pub(super) sent: Sent,
}

impl Flight {
    pub(super) fn new(device: DeviceId, place: u64, first: Block, count: u64, class: Class, rank: usize) -> Self {
        let (since, sent, passed_over) = (Time(0), Sent::default(), Vec::new());
        Flight { device, place, first, count, class, read_over: 0, passed_over, rank, since, beside: 0, sent }
    }

    /// Whether it is for a run that nobody disclosed.
    pub(super) fn is_of_run(&self) -> bool {
        self.class != Class::Demand && self.rank == OF_RUNS
    }

    /// The block behind it.
    pub fn end(&self) -> u64 {
        self.first.index + self.count
    }

    /// It goes over one more block, and does not bring it.
    pub(super) fn pass_over(&mut self) {
        let index = self.end();
        match self.passed_over.last_mut() {
            Some(last) if last.end == index => last.end += 1,
            _ => self.passed_over.push(index..index + 1),
        }
        self.count += 1;
    }

    /// What it goes over and does not bring.
    pub fn passed_over(&self) -> &[Range<u64>] {
        &self.passed_over
    }

    /// How many blocks it brings.
    pub fn brings(&self) -> u64 {
        self.count - self.passed_over.iter().map(|it| it.end - it.start).sum::<u64>()
    }

    /// The blocks that it brings.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + use<'_> {
        let mut passed_over = self.passed_over.iter().cloned().flatten().peekable();
        let brought = (self.first.index..self.end()).filter(move |index| passed_over.next_if_eq(index).is_none());
        brought.map(|index| Block { index, ..self.first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FileId;

    #[test]
    fn what_is_passed_over_is_not_brought() {
        let first = Block { file: FileId(0), index: 10 };
        let mut flight = Flight::new(DeviceId(0), 0, first, 2, Class::Hinted, 0);
        flight.pass_over();
        flight.pass_over();
        flight.count += 1;
        flight.pass_over();
        flight.count += 1;
        assert_eq!(flight.passed_over(), [12..14, 15..16]);
        assert_eq!(flight.blocks().map(|it| it.index).collect::<Vec<_>>(), [10, 11, 14, 16]);
        assert_eq!((flight.brings(), flight.end()), (4, 17));
    }
}
