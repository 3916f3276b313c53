//! A run: files of one directory, read one after the other in one of its orders.

use std::collections::VecDeque;
use std::ffi::OsStr;

use super::names::{Kind, Names, Order};
use super::{AHEAD_MAX, BETWEEN_SAMPLES_MAX, HOLES_MAX, NEIGHBOURS_MIN};

/// What a visit means for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// It goes on.
    InOrder,
    /// It neither goes on nor ends: a file read again, or one that was not there when the directory
    /// was listed.
    Aside,
    /// The order does not hold.
    OutOfOrder,
}

fn visits(recent: &VecDeque<(Box<OsStr>, bool)>) -> impl Iterator<Item = &OsStr> {
    recent.iter().map(|(name, _)| &**name)
}

/// How a run was read that came to the end of its directory: the next directory may be read alike.
#[derive(Debug, Clone)]
pub struct Habit {
    order: Order,
    kind: Option<Kind>,
    read: usize,
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
    /// Read in the directories before it.
    read_before: usize,
    /// Passed over so far.
    holes: Vec<usize>,
    /// Read between two samples, and not taken yet.
    unsampled: Vec<Box<OsStr>>,
}

impl Run {
    /// The run that the last visits are, if they are neighbours in one of the orders: among all
    /// files, or those of this kind. If they are samples, they need but be near.
    pub fn find(
        names: &Names,
        recent: &VecDeque<(Box<OsStr>, bool)>,
        kind: Option<Kind>,
        are_samples: bool,
    ) -> Option<Run> {
        if recent.len() < NEIGHBOURS_MIN {
            return None;
        }
        [None, kind].into_iter().find_map(|kind| {
            let are_in = |order: &Order| match are_samples {
                true => names.are_near(*order, BETWEEN_SAMPLES_MAX, visits(recent)),
                false => names.are_neighbours(*order, kind.as_ref(), visits(recent)),
            };
            let order = Order::ALL.into_iter().find(are_in)?;
            let (start, end) = (names.find(order, &recent.front()?.0)?, names.find(order, &recent.back()?.0)?);
            let habit = Habit { order, kind, read: 0 };
            Some(Run::new(habit, start, end + 1, recent.len()))
        })
    }

    /// The run that goes on in this directory as it did in the one before it, if the visits are the
    /// first files of it.
    pub fn go_on(habit: Habit, names: &Names, recent: &VecDeque<(Box<OsStr>, bool)>) -> Option<Run> {
        let (start, first) = names.next(habit.order, 0, habit.kind.as_ref())?;
        let begins = visits(recent).next() == Some(first);
        let are_neighbours = names.are_neighbours(habit.order, habit.kind.as_ref(), visits(recent));
        let end = names.find(habit.order, &recent.back()?.0)?;
        (begins && are_neighbours).then(|| Run::new(habit, start, end + 1, recent.len()))
    }

    fn new(Habit { order, kind, read: read_before }: Habit, start: usize, next: usize, read: usize) -> Self {
        Run {
            order,
            kind,
            start,
            next,
            told: next,
            out: 0,
            read,
            read_before,
            holes: Vec::new(),
            unsampled: Vec::new(),
        }
    }

    /// How it was read, if it has come to its directory's end.
    pub fn ended(&self, names: &Names) -> Option<Habit> {
        let is_over = names.next(self.order, self.next, self.kind.as_ref()).is_none();
        let habit = || Habit { order: self.order, kind: self.kind.clone(), read: self.read_before + self.read };
        is_over.then(habit)
    }

    /// Files of this directory that were read.
    pub fn read(&self) -> usize {
        self.read
    }

    /// A file was read; if it is a sample, those passed over as well.
    pub fn visit(&mut self, names: &Names, name: &OsStr, is_sample: bool) -> Visit {
        let Some(place) = names.find(self.order, name) else { return Visit::Aside };
        if self.kind.as_ref().is_some_and(|kind| !kind.has(name)) {
            return Visit::OutOfOrder;
        }
        if place < self.next {
            let hole = self.holes.iter().position(|&hole| hole == place);
            return match hole.map(|hole| self.holes.swap_remove(hole)) {
                Some(_) => self.goes_on(),
                None if place >= self.start => Visit::Aside,
                None => Visit::OutOfOrder,
            };
        }
        while let Some((at, passed)) = names.next(self.order, self.next, self.kind.as_ref())
            && at <= place
        {
            self.next = at + 1;
            self.out = self.out.saturating_sub(1);
            if at < place && is_sample {
                self.read += 1;
                self.unsampled.push(passed.into());
            } else if at < place {
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

    /// The next file to be told of, as far ahead as the run may look by now. Where the last one
    /// gave out, it stops until it has come as much further as makes a run.
    pub fn tell<'a>(&mut self, names: &'a Names, last_read: Option<usize>) -> Option<&'a OsStr> {
        let earned = (2 * (self.read_before + self.read)).min(AHEAD_MAX);
        let last_read = last_read.filter(|&last| self.read < last + NEIGHBOURS_MIN);
        let left = last_read.map_or(AHEAD_MAX, |last| last.saturating_sub(self.read));
        if self.out >= earned.min(left) {
            return None;
        }
        let (at, name) = names.next(self.order, self.told, self.kind.as_ref())?;
        self.told = at + 1;
        self.out += 1;
        Some(name)
    }

    /// The files that were read between two samples, since this was asked last.
    pub fn take_unsampled(&mut self) -> Vec<Box<OsStr>> {
        std::mem::take(&mut self.unsampled)
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
