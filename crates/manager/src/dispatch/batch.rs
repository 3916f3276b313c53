//! Fetches in batches, where requests and not their bytes hold a device up: each of them had better
//! be long then (Kimbrel et al. 1996 fetch in batches as well, for the disk to sort them).
//!
//! ```text
//! requests wait for one another:  the last four that were out beside as many as the device was seen to serve in
//!                                 the time of one took more than 5/4 of what a lone one takes, and the device for
//!                                 the bytes that were out
//! a batch is due:                 a sixteenth of the blocks that were fetched ahead when one was sent last has come
//! ```
//!
//! An arm has an order of its own for what waits, so this is for devices to which what lies apart is as
//! near as the rest (`super::positioning`).
//!
//! A page comes free with each block that is read. Where all servers are busy, and those blocks were
//! requests of their own, each is the end of a request as well: the next one takes its server, for
//! the one block there is a page for, and so for ever. Before the next request of such a batch goes
//! out there are pages for as many blocks behind the first as are told one after the other.
//!
//! Worked example: 64 servers of 5 ms, each with a request for a block. They end within a quarter of
//! a millisecond. One by one that is 64 requests again; in batches of a sixteenth the first of them
//! bring four blocks each, and leave servers free for others.

/// See above. (With 4 in place of 8, some told programs take 2.7 times as long on such a device; with 32
/// in place of 16 as long in the mean, to a part in 500.)
const PART: u64 = 16;
/// What takes so many times as long as it should had to wait for other requests.
const WAITED_TIMES: f64 = 1.25;
/// So many in a row say so.
const IN_A_ROW: u32 = 4;

/// Of a device.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    /// Blocks fetched ahead that were on their way when one was sent last.
    after: u64,
    /// Of the requests that were out beside enough others, as many as had to wait without a break.
    waited: u32,
}

/// What a request shows that was out beside others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beside {
    /// How long it took, and how long it would have if only bytes were to be waited for.
    pub took_ns: u64,
    pub should_ns: f64,
    /// So many times as many were out as the device serves in the time of one.
    pub times: f64,
}

impl Batch {
    /// A request is sent ahead of its reader; so many blocks that are fetched ahead are on their way with it.
    pub fn sent(&mut self, ahead: u64) {
        self.after = ahead;
    }

    /// A request ended. In times that vary by chance a few are long, but hardly ever four in a row.
    pub fn finished(&mut self, beside: Beside) {
        let has_waited = beside.took_ns as f64 > WAITED_TIMES * beside.should_ns;
        if beside.times >= 1.0 {
            self.waited = if has_waited { self.waited.saturating_add(1) } else { 0 };
        }
    }

    /// Whether requests wait for one another.
    pub fn is_of_use(&self) -> bool {
        self.waited >= IN_A_ROW
    }

    /// Whether the next one is due, with so many blocks that are fetched ahead on their way.
    pub fn is_due(&self, ahead: u64) -> bool {
        ahead + self.after / PART <= self.after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beside(took_ns: u64, times: f64) -> Beside {
        Beside { took_ns, should_ns: 100.0, times }
    }

    #[test]
    fn four_that_waited_in_a_row_beside_enough_others_say_so() {
        let mut batch = Batch::default();
        (0..100).for_each(|_| batch.finished(beside(1000, 0.9)));
        (0..3).for_each(|_| batch.finished(beside(126, 1.0)));
        assert!(!batch.is_of_use());
        batch.finished(beside(125, 0.9));
        batch.finished(beside(126, 1.0));
        assert!(batch.is_of_use(), "one beside fewer says nothing");
        batch.finished(beside(125, 1.0));
        assert!(!batch.is_of_use());
    }

    #[test]
    fn a_batch_is_due_when_a_sixteenth_has_come() {
        let mut batch = Batch::default();
        assert!(batch.is_due(0));
        batch.sent(64);
        assert!(!batch.is_due(64) && !batch.is_due(61) && batch.is_due(60));
        batch.sent(15);
        assert!(batch.is_due(15), "of a few none is waited for");
    }
}
