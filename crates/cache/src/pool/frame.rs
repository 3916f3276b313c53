//! One frame's state: which block it holds, and who keeps it from being used for another.
//!
//! ```text
//! free --fill--> present --doom--> doomed --reclaim, once nobody has it pinned--> free
//! ```
//!
//! Only the driver's side makes these steps, under its lock. Readers pin and unpin at any time,
//! without it. Who looks at a frame pins it if it is what it looked for; and if it became another in
//! that moment, lets go of it again. So a frame of any state may have pins for a moment, and they
//! say nothing unless the frame was present, and held the right block, when it was pinned.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// What a frame is pinned for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pin {
    /// Its bytes are being copied: over in a moment.
    Copy,
    /// A view: for as long as its reader likes.
    View,
}

/// Views that there may be at once: all of them may be of one frame, and what is handed over pinned
/// and is not taken yet comes on top.
pub const VIEWS_MAX: usize = (1 << 24) - (1 << 16);

const VIEW: u64 = 1 << 24;
const VIEWS: u64 = ((1 << 24) - 1) * VIEW;
const PINS: u64 = VIEWS | (VIEW - 1);
/// When it was filled, or first read if it was brought ahead: an epoch, of which there are so many.
const EPOCH_SHIFT: u32 = 48;
const EPOCHS: u64 = 16;
const EPOCH: u64 = (EPOCHS - 1) << EPOCH_SHIFT;
/// It was read in a later epoch as well.
const AGAIN: u64 = 1 << 59;
const PRESENT: u64 = 1 << 60;
const DOOMED: u64 = 1 << 61;
/// Brought ahead, and not pinned since.
const UNREAD: u64 = 1 << 62;
/// The manager was told that there are views.
const TOLD: u64 = 1 << 63;

fn in_state(epoch: u64) -> u64 {
    (epoch % EPOCHS) << EPOCH_SHIFT
}

impl Pin {
    fn weight(self) -> u64 {
        match self {
            Pin::Copy => 1,
            Pin::View => VIEW,
        }
    }
}

/// A pin that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The frame was brought ahead, and this is its first reader.
    pub first: bool,
    /// It is a view, and the manager does not know of any.
    pub untold: bool,
}

/// What was read of it since it was filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uses {
    /// Anything.
    pub any: bool,
    /// Something, an epoch or more after the first time: not just the next part of the same
    /// reading.
    pub again: bool,
}

/// What letting go of a pin led to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LetGo {
    /// The frame is doomed and may be reclaimed.
    pub reclaim: bool,
    /// It was the frame's only view, and the manager knows of views.
    pub tell: bool,
}

impl LetGo {
    /// By the state after it, where the frame is doomed or the manager knows of views.
    #[cold]
    fn of(after: u64, pin: Pin) -> Self {
        let unviewed = pin == Pin::View && after & VIEWS == 0;
        LetGo { reclaim: after & (DOOMED | PINS) == DOOMED, tell: unviewed && after & TOLD != 0 }
    }
}

/// The state.
#[derive(Default)]
pub struct Frame {
    state: AtomicU64,
    key: AtomicU64,
}

impl Frame {
    /// Pins the frame in this epoch if it is present and holds the block of this key. If it ceased to
    /// just then, what letting go of it led to.
    #[inline]
    pub fn pin(&self, key: u64, pin: Pin, epoch: u64) -> Result<Taken, Option<LetGo>> {
        let is_it = |state| state & PRESENT != 0 && self.key.load(Relaxed) == key;
        // Not to be pinned for nothing, and not to be counted as viewed.
        if !is_it(self.state.load(Acquire)) {
            return Err(None);
        }
        let before = self.state.fetch_add(pin.weight(), Acquire);
        if !is_it(before) {
            return Err(Some(self.unpin(pin)));
        }
        let first = before & (UNREAD | EPOCH) != in_state(epoch)
            && before & (UNREAD | AGAIN) != AGAIN
            && self.note_read(before, epoch);
        Ok(Taken { first, untold: pin == Pin::View && before & TOLD == 0 })
    }

    /// It was only brought ahead before, or is read in another epoch, and that was not noted yet. Whether it
    /// was brought ahead, and nobody else was first.
    #[inline(never)]
    fn note_read(&self, before: u64, epoch: u64) -> bool {
        if before & UNREAD == 0 {
            self.state.fetch_or(AGAIN, Relaxed);
            return false;
        }
        let read = |state| (state & UNREAD != 0).then_some(state & !(UNREAD | EPOCH) | in_state(epoch));
        self.state.fetch_update(Relaxed, Relaxed, read).is_ok()
    }

    /// Lets go of a pin.
    #[inline]
    pub fn unpin(&self, pin: Pin) -> LetGo {
        let after = self.state.fetch_sub(pin.weight(), Release) - pin.weight();
        if after & (DOOMED | TOLD) == 0 {
            return LetGo::default();
        }
        LetGo::of(after, pin)
    }

    /// A free frame has been filled with the bytes of the block of this key, in this epoch.
    pub fn fill(&self, key: u64, unread: bool, epoch: u64) {
        self.key.store(key, Relaxed);
        self.state.fetch_or(in_state(epoch) | if unread { PRESENT | UNREAD } else { PRESENT }, Release);
    }

    /// What was read of it.
    pub fn uses(&self) -> Uses {
        let state = self.state.load(Relaxed);
        Uses { any: state & UNREAD == 0, again: state & AGAIN != 0 }
    }

    /// From now on nobody pins it any more. Returns whether views keep its bytes.
    pub fn doom(&self) -> bool {
        // Doomed first: a frame that is neither is a free one.
        self.state.fetch_or(DOOMED, Relaxed);
        self.state.fetch_and(!PRESENT, Relaxed) & VIEWS != 0
    }

    /// Makes a doomed frame free, unless somebody has it pinned: who lets go of it last is told to
    /// try again.
    pub fn reclaim(&self) -> bool {
        // Whatever else is noted: who had pinned it may have noted that after it was doomed.
        let free = |state| (state & (DOOMED | PINS) == DOOMED).then_some(0);
        self.state.fetch_update(Acquire, Relaxed, free).is_ok()
    }

    /// The key of the block it holds, if it is present.
    pub fn holds(&self) -> Option<u64> {
        (self.state.load(Acquire) & PRESENT != 0).then(|| self.key.load(Relaxed))
    }

    /// The key of the block it holds, if there are views of it: the manager is told so, and whoever
    /// gives back the last of them learns that it was.
    pub fn look_for_views(&self) -> Option<u64> {
        let viewed = |state| state & PRESENT != 0 && state & VIEWS != 0;
        let before = self.state.load(Relaxed);
        if viewed(before) && before & TOLD != 0 {
            // Whoever gives back the last one finds that it was told. Others may be pinning it just now.
            return Some(self.key.load(Relaxed));
        }
        let told = |state| Some(if viewed(state) { state | TOLD } else { state & !TOLD });
        let state = self.state.fetch_update(Acquire, Relaxed, told).unwrap_or_else(|state| state);
        viewed(state).then(|| self.key.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_block_it_holds_is_pinned() {
        let frame = Frame::default();
        assert!(frame.pin(7, Pin::Copy, 0).is_err());
        frame.fill(7, true, 0);
        assert!(frame.pin(8, Pin::Copy, 0).is_err());
        assert_eq!(frame.pin(7, Pin::Copy, 0), Ok(Taken { first: true, untold: false }));
        assert_eq!(frame.pin(7, Pin::View, 0), Ok(Taken { first: false, untold: true }));
        assert_eq!(frame.pin(7, Pin::View, 0), Ok(Taken { first: false, untold: true }));
        assert_eq!(frame.look_for_views(), Some(7));
        assert_eq!(frame.pin(7, Pin::View, 0), Ok(Taken { first: false, untold: false }));
        assert_eq!([0; 3].map(|_| frame.unpin(Pin::View).tell), [false, false, true]);
    }

    #[test]
    fn a_doomed_frame_is_free_when_its_last_pin_goes() {
        let frame = Frame::default();
        frame.fill(7, false, 0);
        frame.pin(7, Pin::View, 0).unwrap();
        frame.pin(7, Pin::Copy, 0).unwrap();
        assert!(frame.doom());
        assert!(!frame.reclaim());
        assert_eq!(frame.pin(7, Pin::Copy, 0), Err(None));
        assert_eq!(frame.unpin(Pin::View), LetGo { reclaim: false, tell: false });
        assert_eq!(frame.unpin(Pin::Copy), LetGo { reclaim: true, tell: false });
        assert!(frame.reclaim() && !frame.reclaim());
        assert_eq!(frame.pin(7, Pin::Copy, 0), Err(None));
    }

    #[test]
    fn what_a_reader_notes_of_a_doomed_frame_does_not_keep_it() {
        let frame = Frame::default();
        frame.fill(7, true, 0);
        frame.pin(7, Pin::Copy, 0).unwrap();
        frame.doom();
        // As by a reader that had pinned it before, and notes that it did.
        frame.state.fetch_or(AGAIN | UNREAD, Relaxed);
        assert!(frame.unpin(Pin::Copy).reclaim && frame.reclaim());
        assert_eq!(frame.state.load(Relaxed), 0);
    }

    #[test]
    fn reading_on_in_the_same_epoch_is_not_reading_again() {
        let frame = Frame::default();
        let read = |epoch| {
            frame.pin(7, Pin::Copy, epoch).unwrap();
            frame.unpin(Pin::Copy);
            frame.uses()
        };
        let (never, once, again) =
            (Uses { any: false, again: false }, Uses { any: true, again: false }, Uses { any: true, again: true });
        frame.fill(7, true, 3);
        assert_eq!(frame.uses(), never);
        assert_eq!((read(5), read(5), read(6), read(5)), (once, once, again, again));
        frame.doom();
        assert!(frame.reclaim());
        frame.fill(7, false, 20);
        assert_eq!((frame.uses(), read(20), read(21)), (once, once, again));
    }
}
