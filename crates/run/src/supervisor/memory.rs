//! How much memory there is for blocks.

use std::time::{Duration, Instant};

use foresee_manager::Event;

use super::{FIRST_RUN, Supervisor};
use crate::host::{BLOCK_BYTES, Memory, Share};

/// What is reckoned with where nothing can be found out.
const UNKNOWN_BYTES: u64 = 1 << 30;

/// While memory fills, it is looked at so often, but not again before this time: a look takes some
/// tenths of a millisecond.
const LOOKED_AT_TIMES: u64 = 64;
const LOOKED_AFTER: Duration = Duration::from_millis(5);

/// What our code takes of a control group's memory, and the part of the rest that our data may have:
/// with more, programs lack it, and the pages of our code are given up and read again and again.
const CODE_BYTES: u64 = 10 << 20;
const OWN_PART: u64 = 2;

/// What the manager reckons with.
pub(super) struct Reckoned {
    /// None if a fixed amount is to be reckoned with.
    memory: Option<Memory>,
    share: Share,
    pages: u64,
    /// How much had been brought when it was looked at last.
    brought_bytes: u64,
    looked: Instant,
    /// The most that we may have of a control group's memory, if it is limited, and if there is an end
    /// to it before the program's.
    own_max: Option<u64>,
    is_too_large: bool,
}

impl Reckoned {
    /// So many bytes, or what the system has.
    pub fn new(fixed_bytes: Option<u64>) -> Self {
        let memory = Memory::find();
        let bytes = fixed_bytes.or_else(|| memory.cache_bytes(0)).unwrap_or(UNKNOWN_BYTES);
        let memory = fixed_bytes.is_none().then_some(memory);
        Reckoned {
            memory,
            share: Share::default(),
            pages: (bytes / BLOCK_BYTES).max(1),
            brought_bytes: 0,
            looked: Instant::now(),
            own_max: None,
            is_too_large: false,
        }
    }

    /// In pages of one block.
    pub fn pages(&self) -> u64 {
        self.pages
    }
}

/// Bytes of this process in memory that are no file's: proc(5), statm, in pages.
fn own_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').skip(1).map(|it| it.parse::<u64>());
    let (resident, shared) = (pages.next()?.ok()?, pages.next()?.ok()?);
    // SAFETY: takes no pointers.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    Some(resident.saturating_sub(shared) * page_bytes)
}

impl Supervisor<'_> {
    /// Whether we take too much of a control group's memory: programs are better off without us then.
    pub fn is_too_large(&self) -> bool {
        self.reckoned.is_too_large
    }

    /// From now on is looked whether that is so. What a log or a trace would lack is not told in part:
    /// with one it never is.
    pub fn watch_own_memory(&mut self) {
        if self.log.is_none() && self.trace.is_none() {
            let limit = Memory::group_limit();
            self.reckoned.own_max = limit.map(|limit| limit.saturating_sub(CODE_BYTES) / OWN_PART);
        }
    }

    pub(super) fn look_at_own_memory(&mut self) {
        let Some(own_max) = self.reckoned.own_max else { return };
        let own = own_bytes().unwrap_or(0);
        if own > own_max {
            self.reckoned.is_too_large = true;
            self.reckoned.own_max = None;
            let had = format!("{own} bytes of its own, and its control group has room for {own_max}");
            self.warn(FIRST_RUN, format!("stopped before the program ended: foresee had {had}"));
        }
    }

    pub(super) fn look_at_memory(&mut self) {
        let held = self.driver.manager().pages_here() * BLOCK_BYTES;
        let Reckoned { memory, share, pages: before, brought_bytes, looked, .. } = &mut self.reckoned;
        (*brought_bytes, *looked) = (self.driver.host.bytes_fetched(), Instant::now());
        let Some(bytes) = memory.as_ref().and_then(|memory| memory.cache_bytes(held)) else { return };
        let pages = (share.of(bytes) / BLOCK_BYTES).max(1);
        if pages.abs_diff(*before) > *before / 64 {
            *before = pages;
            self.tell(Event::Capacity { pages });
        }
    }

    /// What is brought fast is looked at in time: programs that disclose much take memory for it.
    pub(super) fn follow_memory(&mut self) {
        let Reckoned { pages, brought_bytes, looked, .. } = self.reckoned;
        let is_much = self.driver.host.bytes_fetched() > brought_bytes + pages * BLOCK_BYTES / LOOKED_AT_TIMES;
        if is_much && looked.elapsed() >= LOOKED_AFTER {
            self.look_at_memory();
        }
    }

    /// A read of what we believe here waited or not: whether we believe too much.
    pub(super) fn notice_share(&mut self, waited: bool) {
        let Reckoned { memory, share, .. } = &mut self.reckoned;
        if share.read(waited) && share.settle(|| memory.as_ref().map_or(0, Memory::reclaims)) {
            self.look_at_memory();
        }
    }
}
