//! Files that come next in the order of their directory, or some time in none.

use std::io;
use std::path::Path;

use foresee_manager::{Block, Demand, Event, FileId, Source, Want};

use super::{RUN, Supervisor};
use crate::hints::Listings;
use crate::host::{Listed, Purpose};

/// What is guessed of a file, in blocks: 256 KiB. In what lies beyond, the kernel's own readahead
/// has got going.
const BEGINNING_BLOCKS: u64 = 64;
const BEGINNING: Want = Want::Range { first: 0, count: BEGINNING_BLOCKS };

impl Supervisor<'_> {
    /// A program began to read this file, or opened it if it is empty. Where somebody else knew
    /// when that comes, there is nothing to guess.
    pub(super) fn notice_visit(&mut self, file: FileId, waited: bool) {
        self.guess_from(file, |listings, path| listings.visited(path, waited));
    }

    /// The same, if others may have been read before that were not seen.
    pub(super) fn notice_met(&mut self, file: FileId) {
        self.guess_from(file, Listings::met);
    }

    fn guess_from(&mut self, file: FileId, told: impl FnOnce(&mut Listings, &Path)) {
        if self.suspension.is_suspended() {
            return;
        }
        let Some(listings) = &mut self.listings else { return };
        let says_when = |source: Source| source.is_ordered() && source != Source::Listing;
        if !self.driver.manager().sources_of(file).any(says_when) {
            told(listings, self.names.path(file));
            self.follow_listings();
        }
    }

    /// A directory was listed for its order.
    pub(super) fn take_listing(&mut self, path: &Path, entries: io::Result<Vec<Listed>>) {
        if let Some(listings) = &mut self.listings {
            listings.listed(path, entries);
            self.follow_listings();
        }
    }

    fn follow_listings(&mut self) {
        for path in self.listings.as_mut().map(Listings::take_unsampled).unwrap_or_default() {
            let Some(file) = self.names.of_path(&path) else { continue };
            let manager = self.driver.manager();
            let here = (0..BEGINNING_BLOCKS).take_while(|&index| manager.is_present(Block { file, index })).count();
            if here > 0 {
                self.reference(RUN, file, (0, here as u64), 0, Demand::Observed);
            }
        }
        while let Some(source) = self.listings.as_mut().and_then(Listings::next_withdrawn) {
            self.tell(Event::Cancel { reader: RUN, source });
        }
        while let Some(directory) = self.listings.as_mut().and_then(Listings::next_listing) {
            self.driver.host.list(Purpose::Order, &directory);
        }
        while let Some((source, path)) = self.listings.as_mut().and_then(Listings::next_found) {
            let Some(file) = self.names.of_path(&path) else { return };
            self.tell(Event::Hint { reader: RUN, source, file, want: BEGINNING });
        }
    }
}
