//! Whether a device is so quick that the readers' own system keeps up with it: by its own readahead
//! it streams 200 MB/s and more.
//!
//! What a request takes says so, even beside others, if it is little; if it is much, only of a lone
//! one: another may have waited for those beside it, or for the reader's own. How much is little
//! goes by how far the readers' system reads ahead, its window: with 128 KiB it must ask each 0.64
//! ms to have those 200 MB/s, with 8 MiB each 40 ms.

/// What a request may take for each block of the window, and for each block it brings. Our disk
/// takes 0.3 ms for 64 blocks, and the host's wake-up as much again; the disks and networks that
/// programs stall on take some milliseconds.
const NS_PER_WINDOW_BLOCK: u64 = 20_000;
const NS_PER_BLOCK: u64 = 1_250;
/// The kernel's window, where nobody says another.
const WINDOW_BLOCKS: u64 = 32;
/// So many quick requests, and no slow one among them, say that a device is quick. A single one may
/// have been in some cache in part, or on its way for the reader.
const QUICK_IN_A_ROW: u32 = 4;
/// What takes so many times as much as a quick one, beside others, ends their row: on a network
/// some of many are quick, which were in memory in part.
const MUCH: u64 = 2;
/// So many slow ones, or so many that said neither, say that it is not.
const SLOW: u32 = 2;
const UNDECIDED: u32 = 8;

/// What one device's requests said.
#[derive(Debug, Clone)]
pub(crate) struct Quick {
    window_blocks: u64,
    /// Since the last slow one.
    quick: u32,
    slow: u32,
    requests: u32,
}

impl Default for Quick {
    fn default() -> Self {
        Quick { window_blocks: WINDOW_BLOCKS, quick: 0, slow: 0, requests: 0 }
    }
}

impl Quick {
    /// The readers' own system reads so far ahead.
    pub fn set_window(&mut self, blocks: u64) {
        self.window_blocks = blocks;
    }

    /// Whether it is so, as far as is known.
    pub fn is_so(&self) -> bool {
        self.quick >= QUICK_IN_A_ROW
    }

    /// Whether that is not known yet.
    pub fn is_undecided(&self) -> bool {
        !self.is_so() && self.slow < SLOW && self.requests < UNDECIDED
    }

    /// A request that no cache answered took so long and brought so many blocks; `alone` says that
    /// no other was out when it was sent.
    pub fn finished(&mut self, took_ns: u64, blocks: u64, alone: bool) {
        self.requests = self.requests.saturating_add(1);
        let a_block_ns = NS_PER_BLOCK.saturating_mul(self.window_blocks.max(WINDOW_BLOCKS)) / WINDOW_BLOCKS;
        let window_ns = NS_PER_WINDOW_BLOCK.saturating_mul(self.window_blocks);
        let little_ns = window_ns.saturating_add(a_block_ns.saturating_mul(blocks));
        if took_ns < little_ns {
            self.quick = self.quick.saturating_add(1);
        } else if alone {
            (self.quick, self.slow) = (0, self.slow.saturating_add(1));
        } else if took_ns / MUCH >= little_ns {
            self.quick = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn after(window_blocks: u64, took_ns: &[u64], alone: bool) -> Quick {
        let mut quick = Quick::default();
        quick.set_window(window_blocks);
        took_ns.iter().for_each(|&it| quick.finished(it, 1, alone));
        quick
    }

    #[test]
    fn a_few_requests_decide() {
        assert!(after(32, &[MS / 2; 3], true).is_undecided());
        assert!(after(32, &[MS / 2; 4], true).is_so());
        assert!(after(32, &[MS / 2; 4], false).is_so(), "what is quick beside others is quick");
        let slow = after(32, &[5 * MS; 2], true);
        assert!(!slow.is_so() && !slow.is_undecided());
        let not_alone = after(32, &[5 * MS; 7], false);
        assert!(!not_alone.is_so() && not_alone.is_undecided(), "they may have waited for each other");
        assert!(!after(32, &[5 * MS; 8], false).is_undecided(), "but that is not waited for for ever");
        let some_in_memory: Vec<u64> = (0..100).map(|request| if request % 4 == 0 { 5 * MS } else { MS / 5 }).collect();
        assert!(!after(32, &some_in_memory, false).is_so());
    }

    #[test]
    fn what_is_quick_goes_by_how_far_its_readers_read_ahead_by_themselves() {
        assert!(after(2048, &[20 * MS; 4], true).is_so());
        assert!(after(u64::MAX, &[20 * MS; 4], true).is_so());
        assert!(!after(0, &[MS / 10; 4], true).is_so(), "they do not");
    }
}
