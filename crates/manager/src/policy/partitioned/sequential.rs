//! Pages read in sequence and not to be read again: a stack a reader.

use std::collections::BTreeMap;

use crate::ids::{Page, ReaderId};
use crate::policy::list::{Chain, Links, List};

/// The sequential partition.
#[derive(Default)]
pub(super) struct Sequential {
    all: List,
    /// Readers that have pages here, and theirs.
    own: BTreeMap<Option<ReaderId>, Chain>,
    links: Links,
    /// Whose each page is.
    reader: Vec<Option<ReaderId>>,
}

impl Sequential {
    pub fn len(&self) -> u64 {
        self.all.len()
    }

    pub fn push(&mut self, page: Page, reader: Option<ReaderId>) {
        if page as usize >= self.reader.len() {
            self.reader.resize(page as usize + 1, None);
        }
        self.reader[page as usize] = reader;
        self.all.push_newest(page);
        self.links.push_newest(self.own.entry(reader).or_default(), page);
    }

    pub fn remove(&mut self, page: Page) {
        let reader = self.reader[page as usize];
        self.all.remove(page);
        if let Some(chain) = self.own.get_mut(&reader) {
            self.links.remove(chain, page);
            if chain.is_empty() {
                self.own.remove(&reader);
            }
        }
    }

    /// The newest page of who needs one, else the newest.
    pub fn victim(&self, misser: Option<ReaderId>, can_go: impl Fn(Page) -> bool) -> Option<Page> {
        let own = self.own.get(&misser).and_then(|chain| self.links.newest_first(chain).find(|&page| can_go(page)));
        own.or_else(|| self.all.newest_first().find(|&page| can_go(page)))
    }
}
