//! A run: files of one directory, read one after the other in one of its orders.

use std::collections::VecDeque;
use std::ffi::OsStr;

use super::names::{Kind, Names, Order};
use super::{AHEAD_MAX, HOLES_MAX, NEIGHBOURS_MIN};

/// What a visit means for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// It goes on.
    InOrder,
    /// It neither goes on nor ends: a file read again, or one of another kind.
    Aside,
    /// The order does not hold.
    OutOfOrder,
}

/// A run, as places in its order:
///
/// ```text
///   start           next          told
///     | read (holes) | told (out)  |
/// ```
pub struct Run {
    order: Order,
    /// What is passed over is of another kind, if one is given.
    kind: Option<Kind>,
    start: usize,
    next: usize,
    told: usize,
    out: usize,
    read: usize,
    /// Passed over so far.
    holes: Vec<usize>,
}

impl Run {
    /// The run that the last visits are, if they are neighbours in one of the orders: among all files, or those of one kind.
    pub fn find(names: &Names, recent: &VecDeque<Box<OsStr>>) -> Option<Run> {
        if recent.len() < NEIGHBOURS_MIN {
            return None;
        }
        let kind = Some(Kind::of(&recent[0])).filter(|kind| recent.iter().all(|name| kind.has(name)));
        [None, kind].into_iter().find_map(|kind| {
            let are_in = |order: &Order| names.are_neighbours(*order, kind.as_ref(), recent.iter().map(|it| &**it));
            let order = Order::ALL.into_iter().find(are_in)?;
            let (start, end) = (names.find(order, recent.front()?)?, names.find(order, recent.back()?)?);
            let read = recent.len();
            Some(Run { order, kind, start, next: end + 1, told: end + 1, out: 0, read, holes: Vec::new() })
        })
    }

    /// A file was read.
    pub fn visit(&mut self, names: &Names, name: &OsStr) -> Visit {
        let place = match names.find(self.order, name) {
            Some(place) if self.kind.as_ref().is_none_or(|kind| kind.has(name)) => place,
            _ => return Visit::Aside,
        };
        if place < self.next {
            let hole = self.holes.iter().position(|&hole| hole == place);
            return match hole.map(|hole| self.holes.swap_remove(hole)) {
                Some(_) => self.goes_on(),
                None if place >= self.start => Visit::Aside,
                None => Visit::OutOfOrder,
            };
        }
        while let Some((at, _)) = names.next(self.order, self.next, self.kind.as_ref())
            && at <= place
        {
            self.next = at + 1;
            self.out = self.out.saturating_sub(1);
            if at < place {
                self.holes.push(at);
                if self.holes.len() > HOLES_MAX {
                    return Visit::OutOfOrder;
                }
            }
        }
        self.told = self.told.max(self.next);
        self.goes_on()
    }

    fn goes_on(&mut self) -> Visit {
        self.read += 1;
        Visit::InOrder
    }

    /// The next file to be told of, as far ahead as the run may look by now.
    pub fn tell<'a>(&mut self, names: &'a Names) -> Option<&'a OsStr> {
        if self.out >= (2 * self.read).min(AHEAD_MAX) {
            return None;
        }
        let (at, name) = names.next(self.order, self.told, self.kind.as_ref())?;
        self.told = at + 1;
        self.out += 1;
        Some(name)
    }

    /// Whether it told of files that were not read.
    pub fn has_unread(&self) -> bool {
        self.out > 0 || !self.holes.is_empty()
    }

    /// What it told was withdrawn.
    pub fn withdrawn(&mut self) {
        (self.told, self.out) = (self.next, 0);
    }
}
