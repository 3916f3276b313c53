//! Processes that do not tell of themselves, seen from outside: static programs, those with rights
//! of their own, and whatever was executed past libc.
//!
//! | what | where |
//! | --- | --- |
//! | which processes of the run they are | `members` |
//! | in which order files are opened and read: the kernel tells of directories that are watched | `told`, `notices`, `places` |
//! | what they have open, where they stand in it, and what they have mapped: `/proc`, now and then | `looked`, `open_files`, `memory` |
//! | whether they wait | `waits` |
//! | what a name leads to, without waiting for a file system | `at_hand` |
//!
//! The program never waits for any of this. Nothing is looked at until the ring tells that
//! something will not tell of itself, and again once nothing of that kind is left. Of a file no
//! larger than 256 KiB one read is taken to be of all of it; of a larger one, what lies between two
//! positions of its descriptor was read, and what was read elsewhere is not known until the run's
//! record asks what is in memory.

mod at_hand;
mod looked;
mod members;
mod memory;
mod notices;
mod open_files;
mod places;
mod told;
mod waits;

use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use foresee_manager::FileId;

use super::looks::Looks;
use super::ring::{Processes, Seen, Touch, Touched};
use super::{Sighting, Source};
use crate::host::blocks;
use crate::names::Names;
use at_hand::{Found, Kind};
use members::Members;
use notices::Notice;
use open_files::WHOLE_BYTES_MAX;
pub(crate) use open_files::queue_of;
use places::Places;
use waits::Waits;

/// For so long after it was told that something will not tell of itself, it is looked for.
const AWAKE: Duration = Duration::from_millis(500);
/// Processes looked at in one look: the others are in the next.
const PROCESSES_AT_ONCE: usize = 64;
/// What is seen and not taken: no more is looked for meanwhile.
const SEEN_MAX: usize = 4096;

/// The processes, and what is known of them.
pub struct Outside {
    begun: Instant,
    members: Members,
    /// None while nobody is looked at, and where the kernel tells nobody.
    places: Option<Places>,
    notices: Vec<Option<Notice>>,
    looks: Looks,
    awake_until: Option<Instant>,
    seen: VecDeque<Sighting>,
    waits: Waits,
    /// Nothing was told of for some time.
    has_rested: bool,
    /// Times that the kernel's queue was full.
    lost: u64,
}

impl Outside {
    /// Nobody yet. Times are since `begun`.
    pub fn new(begun: Instant) -> Self {
        Outside {
            begun,
            members: Members::default(),
            places: None,
            notices: Vec::new(),
            looks: Looks::new(),
            awake_until: None,
            seen: VecDeque::new(),
            waits: Waits::default(),
            has_rested: false,
            lost: 0,
        }
    }

    /// Those that descend from this process are the run's.
    pub fn follow(&mut self, root: u32) {
        self.members.follow(root);
    }

    /// The process that all descend from executes this, which does not tell of itself. It may be
    /// gone already; that it may not be looked at is another thing.
    pub fn find_root(&mut self, name: &[u8], processes: &mut Processes) {
        self.members.find_root(name, processes);
    }

    /// The files of this directory may be read.
    pub fn expect(&mut self, directory: &Path) {
        if let Some(places) = &mut self.places {
            places.want(directory);
        }
    }

    /// What to poll, if there is something to look at.
    pub fn fd(&self) -> Option<RawFd> {
        self.places.as_ref().map(Places::fd)
    }

    /// Something will be executed that does not tell of itself.
    pub fn wake(&mut self) {
        self.awake_until = Some(Instant::now() + AWAKE);
        if !self.has_rested {
            self.places = self.places.take().or_else(|| Places::new().ok());
        }
        self.looks.hurry();
    }

    /// Whether there is something to look at.
    pub fn is_awake(&self) -> bool {
        self.awake_until.is_some()
    }

    /// How long nothing needs to be looked at; None if there is nothing to look at.
    pub fn due_in(&self) -> Option<Duration> {
        self.is_awake().then(|| self.looks.due_in())
    }

    /// Whether some of what was read was not asked about.
    pub fn has_rested(&self) -> bool {
        self.has_rested
    }

    /// So much has been brought ahead by now: who does not wait may owe it to that.
    pub fn was_brought(&mut self, brought: u64) {
        self.waits.was_brought(brought);
    }

    /// Whoever waits for a device again is watched again; what nobody waits for need not be.
    fn rest_or_rise(&mut self) {
        if self.waits.are_rare() && self.places.is_some() {
            (self.places, self.has_rested) = (None, true);
        } else if self.places.is_none() && self.has_rested && self.members.has_waited() {
            self.places = Places::new().ok();
            self.members.all.values_mut().for_each(|member| member.is_new = true);
        }
    }

    /// How often more was done than the kernel's queue holds.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Takes in what was told since, and looks for more if it is time to.
    pub fn look(&mut self, processes: &mut Processes, names: &mut Names) {
        // What was seen before is to be taken first.
        if !self.is_awake() || self.seen.len() >= SEEN_MAX {
            return;
        }
        self.waits.look_anew();
        self.take_notices(processes, names);
        if self.looks.due_in().is_zero() {
            self.look_around(processes, names);
        }
    }

    /// The same, whether it is time to or not.
    pub fn look_now(&mut self, processes: &mut Processes, names: &mut Names) {
        if self.is_awake() {
            self.take_notices(processes, names);
            self.look_around(processes, names);
        }
    }

    fn look_around(&mut self, processes: &mut Processes, names: &mut Names) {
        self.looks.begin();
        let seen = self.seen.len();
        if self.members.look(processes) {
            self.awake_until = Some(Instant::now() + AWAKE);
        } else if self.awake_until.is_some_and(|until| until < Instant::now()) {
            (self.awake_until, self.places) = (None, None);
            return;
        }
        self.rest_or_rise();
        for process in self.members.next(PROCESSES_AT_ONCE) {
            self.look_at(process, names);
        }
        if let Some(places) = &mut self.places {
            places.follow();
        }
        self.looks.end(self.seen.len() > seen);
    }

    /// Tells that a file was opened, or found open. Returns it.
    fn open(&mut self, process: u32, path: &Path, found: Found, named: bool, names: &mut Names) -> Option<FileId> {
        let Kind::Regular(size) = found.kind else { return None };
        let file = names.of_path(path)?;
        self.push(process, Seen::Opened { file, identity: found.identity, size, named, ticks: None });
        Some(file)
    }

    /// Tells that a file was read, of which not more is known: a small one was read whole.
    fn touch_beginning(&mut self, process: u32, file: FileId, found: Found, by: Touch) {
        let Kind::Regular(size) = found.kind else { return };
        let is_small = size <= WHOLE_BYTES_MAX;
        let Some((first, count)) = blocks(0, size) else { return };
        let waited = self.waits.was_read(file, &mut self.members);
        let count = if is_small { count } else { 0 };
        self.push(process, Seen::Touched(Touched { file, first, count, waited, by }));
    }

    fn push(&mut self, process: u32, seen: Seen) {
        let (ordinal, program) =
            self.members.all.get(&process).map_or_else(Default::default, |it| (it.ordinal, it.program));
        let time = self.begun.elapsed();
        self.seen.push_back(Sighting { process, ordinal, program, thread: process, time, seen });
    }
}

impl Source for Outside {
    fn next(&mut self, _: &mut Names, room: &mut usize) -> Option<Sighting> {
        let sighting = if *room > 0 { self.seen.pop_front()? } else { return None };
        *room -= 1;
        Some(sighting)
    }
}
