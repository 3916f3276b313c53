//! How many frames may hold what waits to be written to the second tier, after memory has given it
//! up.
//!
//! Some frames are there for that alone. What reading ahead gives up comes in bursts, though, of more
//! blocks than those, and what finds no frame is lost to the disk. So more may be held, a part of the
//! memory, while what is read ahead waits for them: it is ahead. Whoever waits for a frame himself has
//! it at once ([`super::second::Second::give_way`]). What was held up so may come late all the same,
//! or nobody comes for it: then half as many are held, and one more for each block that the disk
//! spared a store. So a disk that takes what it is given slowly, or gives nothing back, holds up a
//! few requests and then none.

/// Frames that the manager does not know of: enough that the disk is kept busy.
const SPARE_MAX: usize = 64;
/// And of the memory no more than one in so many.
const SPARE_PART: usize = 16;
/// Of the memory, what may be held at most.
const HELD_PART: usize = 4;

/// So many frames are there for what is written alone, where there are so many in all.
pub fn spare(frames: usize) -> usize {
    (frames / SPARE_PART).clamp(1, SPARE_MAX)
}

/// The frames that are held, and how many may be.
pub struct Holding {
    held: usize,
    spare: usize,
    most: usize,
    may: usize,
    /// How often that was halved.
    halved: u32,
}

/// What was read ahead was held up, while the frames that may be held had been halved so often.
#[derive(Clone, Copy)]
pub struct HeldUp(u32);

impl Holding {
    /// Of so many frames, of which some are there for this alone.
    pub fn new(frames: usize, spare: usize) -> Self {
        let most = (frames / HELD_PART).max(spare);
        Holding { held: 0, spare, most, may: most, halved: 0 }
    }

    /// Frames held.
    pub fn held(&self) -> usize {
        self.held
    }

    /// How many there are for this alone.
    pub fn spare(&self) -> usize {
        self.spare
    }

    /// If more are held than there are for it alone, others may have to wait for them.
    pub fn holds_up(&self) -> Option<HeldUp> {
        (self.held > self.spare).then_some(HeldUp(self.halved))
    }

    /// Whether one more may be held; then it is.
    pub fn hold(&mut self) -> bool {
        let may = self.held < self.may;
        self.held += usize::from(may);
        may
    }

    /// So many may be held at once.
    #[cfg(test)]
    pub fn may(&self) -> usize {
        self.may
    }

    /// So many are not held any more.
    pub fn let_go(&mut self, frames: usize) {
        self.held -= frames;
    }

    /// The disk gave so many blocks that a store would have been asked for.
    pub fn spared(&mut self, blocks: usize) {
        self.may = (self.may + blocks).min(self.most);
    }

    /// A reader waited for what was read ahead, and that had waited for a frame, or it waited too
    /// long itself. What was held up at the same time counts once.
    pub fn was_late(&mut self, held_up: HeldUp) {
        if held_up.0 == self.halved {
            self.halved += 1;
            self.may = (self.may / 2).max(self.spare);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_late_has_less_held_and_what_was_of_use_more() {
        let mut holding = Holding::new(64, spare(64));
        let held = |holding: &mut Holding| (0..100).filter(|_| holding.hold()).count();
        assert_eq!((held(&mut holding), holding.held()), (16, 16));
        let held_up = holding.holds_up().unwrap();
        holding.let_go(12);
        assert!(holding.holds_up().is_none());
        (0..5).for_each(|_| holding.was_late(held_up));
        assert_eq!(held(&mut holding), 4, "half, as all of that was held up at once");
        (0..5).for_each(|_| holding.was_late(holding.holds_up().unwrap()));
        holding.let_go(8);
        assert_eq!(held(&mut holding), 4, "those that are there for it");
        holding.spared(3);
        assert_eq!(held(&mut holding), 3);
        holding.spared(1000);
        assert_eq!(held(&mut holding), 9);
    }

    #[test]
    fn small_memories_have_a_frame_for_it_too() {
        assert_eq!((spare(8), spare(100), spare(10_000)), (1, 6, 64));
        assert!(Holding::new(1, 1).hold());
    }
}
