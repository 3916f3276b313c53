//! Which reads programs are to tell: those that keep finding what they read in memory need not tell
//! each.

use foldhash::HashMap;
use foresee_ring::Attention;

use super::Supervisor;

/// Reads of one descriptor that all found their blocks here, after which it is only sampled.
const QUIET_AFTER: u32 = 1024;
/// Descriptors whose habits are known at one time.
const HABITS_MAX: usize = 65_536;

/// Of each use of a descriptor, by slot, descriptor and generation: how often it found what it
/// read.
#[derive(Default)]
pub(super) struct Habits {
    of: HashMap<(u32, i32, u32), Habit>,
    /// See [`Supervisor::begin_choosing`].
    chooses: bool,
}

impl Habits {
    /// A slot is given back.
    pub fn forget(&mut self, slot: u32) {
        self.of.retain(|key, _| key.0 != slot);
    }
}

struct Habit {
    hits: u32,
    wish: Attention,
}

impl Default for Habit {
    fn default() -> Self {
        Habit { hits: 0, wish: Attention::Every }
    }
}

impl Supervisor<'_> {
    /// Programs that read what is here anyway need not tell each time: that is what a warm read
    /// would pay for.
    pub(super) fn notice_habit(&mut self, (slot, fd, generation): (Option<u32>, i32, u32), hit: bool) {
        let Some(slot) = slot else { return };
        // Where all reads are told, or tell which page goes next, none is left out.
        if self.trace.is_some() || self.driver.manager().takes_advice() {
            return;
        }
        let chooses = self.begin_choosing();
        if self.habits.of.len() >= HABITS_MAX {
            self.habits.of.clear();
        }
        let habit = self.habits.of.entry((slot, fd, generation)).or_default();
        habit.hits = if hit { habit.hits + 1 } else { 0 };
        let wish = match habit.wish {
            Attention::Every if habit.hits >= QUIET_AFTER && !chooses => Attention::Sampled,
            Attention::Sampled if !hit => Attention::Located,
            // Its position is known again by now.
            Attention::Located => Attention::Every,
            same => same,
        };
        if wish != habit.wish {
            habit.wish = wish;
            if let Some(process) = self.ring.region.process(slot) {
                process.set_attention(fd, generation, wish);
            }
        }
    }

    /// Whether which page goes is decided by how all of them are read, and some have gone. From the
    /// first that goes on, no read is left out: a loop whose hits are not told looks as if it
    /// were over.
    fn begin_choosing(&mut self) -> bool {
        if !self.habits.chooses
            && self.driver.manager().uses_sites()
            && self.driver.manager().statistics().evictions > 0
        {
            self.habits.chooses = true;
            for (&(slot, fd, generation), habit) in
                self.habits.of.iter_mut().filter(|(_, it)| it.wish == Attention::Sampled)
            {
                habit.wish = Attention::Located;
                if let Some(process) = self.ring.region.process(slot) {
                    process.set_attention(fd, generation, habit.wish);
                }
            }
        }
        self.habits.chooses
    }
}
