//! What threads do for the pool: opening objects, and bringing their bytes into frames.

use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foresee_manager::{FetchId, FileId, ReaderId};
use foresee_store::{Error, Store, Version};

use super::memory::Memory;
use super::objects::Origin;
use super::opened::{Opened, caught};
use super::second::{Keep, Look, Looked, Recall};
use crate::tier::Entry;

/// Asks a store, and gives what hands the answer over: that wakes a program, which is not to be done
/// with a lock held.
pub type Asking = Box<dyn FnOnce() -> HandOver + Send>;
/// See [`Asking`].
pub type HandOver = Box<dyn FnOnce() + Send>;

/// Something to do.
pub enum Task {
    /// Look a name up.
    Open(FileId, Arc<dyn Store>, Arc<str>),
    /// Ask a store something, for a future.
    Ask(Asking),
    /// Fill frames.
    Fetch(Fetch),
    /// Fill frames from the second tier.
    Recall(Recall),
    /// Write frames to the second tier.
    Keep(Keep),
    /// Look at what another cache has put on the second tier.
    Look(Look),
    /// Ask what a reader will read next.
    Pull(ReaderId),
}

/// Frames to be filled.
pub struct Fetch {
    /// What it is known by.
    pub fetch: FetchId,
    /// Which of its blocks these are.
    pub part: Range<usize>,
    /// Where the bytes are.
    pub origin: Result<Origin, Error>,
    /// The first of them.
    pub offset: u64,
    /// Where they go: free frames of this memory, given to this fetch alone.
    pub frames: Vec<u32>,
    /// Whose frames they are.
    pub memory: Arc<Memory>,
}

/// What was done.
pub enum Done {
    /// A name was looked up.
    Opened(FileId, Result<Opened, Error>),
    /// A store was asked something for a future, which is to have it.
    Asked(HandOver),
    /// Some of a fetch's frames were filled, or not; how long that took.
    Fetched(FetchId, Range<usize>, Result<(), Error>, Duration),
    /// Frames were filled from the second tier, as far as these say; how long that took.
    Recalled(Recall, Vec<bool>, Duration),
    /// Frames were written to the second tier: the first of them, as many as there are entries.
    Kept(Keep, io::Result<Vec<Entry>>),
    /// Entries of the second tier were looked at, from this one on: what they say, and whether it
    /// is this cache's by now.
    Looked(u32, io::Result<Looked>),
    /// A reader is to be asked; by whoever knows it.
    Pull(ReaderId),
}

impl Task {
    /// Which fetch it does a part of, if of one.
    pub fn fetch(&self) -> Option<FetchId> {
        match self {
            Task::Fetch(Fetch { fetch, .. }) | Task::Recall(Recall { fetch, .. }) => Some(*fetch),
            _ => None,
        }
    }

    /// Does it, unless nobody wants it any more. A store that panics has failed.
    pub fn run(self) -> Done {
        match self {
            Task::Open(file, store, name) => Done::Opened(file, Opened::open(&*store, &name)),
            Task::Ask(ask) => Done::Asked(ask()),
            Task::Fetch(fetch) => {
                let begun = Instant::now();
                let result = caught(|| fetch.run());
                fetch.done(result, begun.elapsed())
            }
            Task::Recall(recall) => {
                let begun = Instant::now();
                let good = recall.run();
                Done::Recalled(recall, good, begun.elapsed())
            }
            Task::Keep(keep) => {
                let written = keep.run();
                Done::Kept(keep, written)
            }
            Task::Look(look) => Done::Looked(look.first, look.run()),
            Task::Pull(reader) => Done::Pull(reader),
        }
    }
}

impl Fetch {
    /// Bytes of the object that belong into its frames.
    pub fn wanted(&self) -> usize {
        let room = (self.frames.len() * self.memory.frame_bytes()) as u64;
        let size = self.origin.as_ref().map_or(0, |origin| origin.size);
        room.min(size.saturating_sub(self.offset)) as usize
    }

    /// Whether bytes of this version are what is wanted.
    pub fn is_of(&self, version: &Version) -> Result<(), Error> {
        let origin = self.origin.as_ref().map_err(Clone::clone)?;
        if *version == origin.version { Ok(()) } else { Err(Error::Changed) }
    }

    /// It is over, and what it held goes: an object that panics when it goes is no reason not to
    /// tell.
    pub fn done(self, result: Result<(), Error>, took: Duration) -> Done {
        let Fetch { fetch, part, origin, .. } = self;
        let _ = caught(|| {
            drop(origin);
            Ok(())
        });
        Done::Fetched(fetch, part, result, took)
    }

    fn run(&self) -> Result<(), Error> {
        let origin = self.origin.as_ref().map_err(Clone::clone)?;
        let object = match &origin.object {
            Some(object) => Arc::clone(object),
            None => {
                let Opened { object, size, version, .. } = Opened::open(&*origin.store, &origin.name)?;
                if (size, &version) != (origin.size, &origin.version) {
                    return Err(Error::Changed);
                }
                object
            }
        };
        // SAFETY: the frames are this fetch's until it is reported.
        let mut pieces = unsafe { self.memory.pieces(&self.frames) };
        let wanted = self.wanted();
        let (mut rest, mut came) = (&mut pieces[..], 0);
        while came < wanted {
            let (bytes, version) = object.read(self.offset + came as u64, rest)?;
            self.is_of(&version)?;
            if bytes == 0 {
                let (at, size) = (self.offset + came as u64, origin.size);
                let why = format!("it ended at byte {at}, though it was {size} bytes long when it was opened");
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why).into());
            }
            // What it says that it wrote may be wrong elsewhere as well: what stood there before is not
            // handed out.
            let room: usize = rest.iter().map(|piece| piece.len()).sum();
            if bytes > room {
                let why = format!("the store says that it read {bytes} bytes into room for {room}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, why).into());
            }
            IoSliceMut::advance_slices(&mut rest, bytes);
            came += bytes;
        }
        Ok(())
    }
}
