//! How much of the memory is really left to us. The kernel also keeps what we know nothing of, and
//! what it needs more room for it takes by its own rules, from what was brought and not read yet as
//! well. What it took shows when a program waited for what we believed here: then we reckon with
//! less, and with more again while it takes nothing.
//!
//! Waiting alone proves nothing: a program that came while its block was on its way is told of when
//! the block is here.

/// Reads of what we believe here, after which the share is settled.
const READS: u32 = 64;
/// Of these, so many may wait: some come while what they read is on its way.
const WAITED_MAX: u32 = READS / 16;
/// What is left of the share when the kernel took what was missed, and what it wins back while the
/// kernel takes nothing.
const SHRINK: f64 = 15.0 / 16.0;
const GROWTH: f64 = 1.0 / 64.0;
/// Less is not believed: where reads wait in spite of so little, memory is not the reason.
const SHARE_MIN: f64 = 1.0 / 8.0;

/// The share of the memory to reckon with.
pub struct Share {
    share: f64,
    reads: u32,
    waited: u32,
    /// How often the kernel had made room when this was settled last, if we looked then.
    reclaims: Option<u64>,
}

impl Default for Share {
    fn default() -> Self {
        Share { share: 1.0, reads: 0, waited: 0, reclaims: None }
    }
}

impl Share {
    /// A program read what we believed here, and waited for it or not. Returns whether it is time
    /// to settle.
    pub fn read(&mut self, waited: bool) -> bool {
        self.reads += 1;
        self.waited += u32::from(waited);
        self.reads >= READS
    }

    /// Settles the share; `reclaims` counts how often the kernel made room. Returns whether it is
    /// another one now.
    pub fn settle(&mut self, reclaims: impl FnOnce() -> u64) -> bool {
        let waited = self.waited > WAITED_MAX;
        (self.reads, self.waited) = (0, 0);
        if !waited && self.share == 1.0 {
            self.reclaims = None;
            return false;
        }
        let reclaims = reclaims();
        let Some(before) = self.reclaims.replace(reclaims) else { return false };
        let made_room = reclaims > before;
        let before = self.share;
        match (made_room, waited) {
            (true, true) => self.share = (self.share * SHRINK).max(SHARE_MIN),
            (false, _) => self.share = (self.share + GROWTH).min(1.0),
            (true, false) => {}
        }
        self.share != before
    }

    /// This share of so many bytes.
    pub fn of(&self, bytes: u64) -> u64 {
        (bytes as f64 * self.share) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shrinks_when_the_kernel_took_what_was_missed_and_grows_when_it_took_nothing() {
        let mut share = Share::default();
        let mut settle = |waited, reclaims| {
            let due = (0..READS).filter(|&read| share.read(read < waited)).count();
            assert_eq!(due, 1);
            share.settle(|| reclaims)
        };
        assert!(!settle(0, 1), "all of it is the most");
        assert!(!settle(WAITED_MAX, 2), "a few come too early");
        assert!(!settle(READS, 1_000_000), "what it took before says nothing");
        assert!(!settle(READS, 1_000_000), "it took nothing");
        assert!(settle(WAITED_MAX + 1, 1_000_001));
        assert!(!settle(0, 1_000_002), "it took what nobody missed");
        assert!(settle(READS, 1_000_002), "it took nothing more");
        for reclaims in 1_000_003..1_000_100 {
            settle(READS, reclaims);
        }
        assert_eq!(share.of(1 << 20), 1 << 17);
    }
}
