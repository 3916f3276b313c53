//! What a policy may look at when it decides: the pages, what is disclosed of them, the devices,
//! the memory.

use super::Ledger;
use crate::dispatch::Dispatch;
use crate::files::{Files, Known};
use crate::hint::{Hints, Use};
use crate::ids::{Block, DeviceId, FileId, Page};
use crate::layout::{Home, is_just_behind};
use crate::table::Table;

/// What was known of what a sequence will read.
#[derive(Debug, Clone, Copy)]
pub(super) struct News {
    disclosed: u64,
    resolved: u64,
}

/// The manager's state, as a policy sees it.
pub struct Context<'a> {
    /// The pages.
    pub table: &'a Table,
    pub(crate) capacity: u64,
    pub(crate) hints: &'a Hints,
    pub(crate) files: &'a Files,
    pub(crate) dispatch: &'a Dispatch,
}

impl Context<'_> {
    /// The memory as it stands.
    pub fn ledger(&self) -> Ledger {
        Ledger::of(self.capacity, self.table)
    }

    /// The disclosed reads of a page's block that are still to come: the next one of each sequence.
    #[inline]
    pub fn uses(&self, page: Page) -> impl Iterator<Item = Use> + '_ {
        self.uses_of(self.table.block(page))
    }

    /// The same of a block.
    #[inline]
    pub(super) fn uses_of(&self, block: Block) -> impl Iterator<Item = Use> + '_ {
        self.hints.uses(block, self.files)
    }

    /// References until a disclosed read, of which the next one is number 1; None if it has been
    /// passed over.
    pub fn references_until(&self, next: Use) -> Option<u64> {
        Some(self.hints.until(next)? + 1)
    }

    /// How likely what this sequence discloses is to be read, from 0 to 1.
    pub fn confidence(&self, sequence: u16) -> f64 {
        self.hints.sequence(sequence).map_or(0.0, |it| it.window.confidence())
    }

    /// How likely what is fetched for it from a device is to be of use, from 0 to 1.
    pub(super) fn usefulness(&self, sequence: u16, device: DeviceId) -> f64 {
        self.hints.sequence(sequence).map_or(0.0, |it| it.usefulness(device))
    }

    /// Whether hardly anything that this sequence disclosed of a device was passed over, or left out.
    pub(super) fn is_flawless(&self, sequence: u16, device: DeviceId) -> bool {
        self.hints.sequence(sequence).is_some_and(|it| it.is_flawless(device))
    }

    /// The same as far as it is known by now, which may be of too little to say.
    pub(super) fn is_hardly_wrong(&self, sequence: u16) -> bool {
        self.hints.sequence(sequence).is_some_and(|it| it.window.is_hardly_wrong())
    }

    /// The device a page's block lies on; of an array, the first.
    pub fn device_of(&self, page: Page) -> DeviceId {
        self.device_of_block(self.table.block(page))
    }

    /// The same of a block.
    pub(super) fn device_of_block(&self, block: Block) -> DeviceId {
        match self.files.of(block.file) {
            Known::Here { home, .. } => home.device,
            _ => DeviceId(0),
        }
    }

    /// Where this block lies if it is the first of its file and an arm goes on at once into files just
    /// behind.
    pub(super) fn place_of_begin(&self, begin: Block) -> Option<Home> {
        match self.files.of(begin.file) {
            // Where a place is not known it is nought.
            Known::Here { home, .. } if begin.index == 0 && home.place > 0 => {
                self.dispatch.goes_on_into_files(home, begin).then_some(home)
            }
            _ => None,
        }
    }

    /// Whether reading goes on at once from that block into the file that begins here: it lies just behind.
    pub(super) fn goes_on_into(&self, begin: Home, from: Block) -> bool {
        match self.files.of(from.file) {
            Known::Here { home, .. } => {
                home.device == begin.device && home.place > 0 && is_just_behind(begin.place, home.place + from.index)
            }
            _ => false,
        }
    }

    /// How long a file is; nought where that is not known.
    pub(crate) fn blocks_of(&self, file: FileId) -> u64 {
        match self.files.of(file) {
            Known::Here { blocks, .. } => blocks,
            _ => 0,
        }
    }

    /// Whether runs that nobody disclosed may be read ahead in this file now.
    pub(crate) fn reads_runs(&self, file: FileId) -> bool {
        match self.files.of(file) {
            Known::Here { home, .. } => self.dispatch.reads_runs(home.device),
            _ => true,
        }
    }

    /// What a request to this device takes when it is alone there, in nanoseconds; None if none was
    /// measured yet.
    pub fn access_ns(&self, device: DeviceId) -> Option<f64> {
        self.dispatch.access_ns(device)
    }

    /// Blocks a nanosecond that this device, or the array that begins with it, delivers at best;
    /// None if that was not measured yet.
    pub(super) fn blocks_a_ns(&self, device: DeviceId) -> Option<f64> {
        self.dispatch.blocks_a_ns(device)
    }

    /// The least of [`Context::access_ns`] over all devices of which it was measured.
    pub(super) fn least_access_ns(&self) -> Option<f64> {
        self.dispatch.least_access_ns()
    }

    /// What a block takes at least where a device has all it can do, over all of which that was measured.
    pub(super) fn least_block_ns(&self) -> Option<f64> {
        self.dispatch.least_block_ns()
    }

    /// How long a request of its own keeps a device busy; None until that is known.
    pub(super) fn request_ns(&self, device: DeviceId) -> Option<f64> {
        self.dispatch.request_ns(device)
    }

    /// Whether one more request shows how this device serves several, which is not known yet.
    pub(super) fn tries_request(&self, device: DeviceId) -> bool {
        self.dispatch.tries_request(device)
    }

    /// Whether a request for one more block would only wait at this device, or at any disk of the
    /// array that begins with it.
    pub(super) fn is_pipe_full(&self, device: DeviceId) -> bool {
        self.dispatch.is_pipe_full(device)
    }

    /// Whether this device, or any of the array that begins with it, takes one more request for a
    /// block at once: none waits for its turn.
    pub(super) fn takes_request(&self, device: DeviceId) -> bool {
        self.dispatch.takes_request(device)
    }

    /// What is known of what will be read by a sequence: how much it disclosed so far, each pass of
    /// what is repeated counted when it begins, and how many names were resolved.
    pub(super) fn news(&self, sequence: u16) -> News {
        News {
            disclosed: self.hints.sequence(sequence).map_or(0, |it| it.end()),
            resolved: self.hints.names_resolved(),
        }
    }

    /// Whether nothing was disclosed since that is read within so many references.
    pub(super) fn is_no_news(&self, sequence: u16, before: News, references: u64) -> bool {
        let now = self.news(sequence);
        let is_far = || {
            let next = self.hints.sequence(sequence).and_then(|it| it.distance(before.disclosed, 0));
            next.is_some_and(|next| next >= references)
        };
        before.resolved == now.resolved && (before.disclosed == now.disclosed || is_far())
    }

    /// What a sequence disclosed lies nearer by no more blocks than this has grown.
    pub(super) fn gone_by(&self, sequence: u16) -> u64 {
        self.hints.sequence(sequence).map_or(0, |it| it.gone_by)
    }

    /// Blocks on this device that a sequence disclosed, that are missing and yet to be fetched, in
    /// the order of their reads, of what lies `behind` the foremost of its readers or of the rest:
    /// in how many references each is read, of which the next one is number 1, up to so many.
    pub(super) fn missing(
        &self,
        sequence: u16,
        device: DeviceId,
        references: u64,
        behind: bool,
    ) -> impl Iterator<Item = u64> + '_ {
        let on_device = move |block: &Block| match self.files.of(block.file) {
            Known::Here { home, .. } => home.device == device,
            _ => false,
        };
        let unissued = self.hints.unissued(sequence, behind, self.files);
        let near = unissued.take_while(move |&(until, _)| until <= references);
        let missing = near.filter(move |(_, block)| self.table.find(*block).is_none() && on_device(block));
        missing.map(|(until, _)| until)
    }
}
