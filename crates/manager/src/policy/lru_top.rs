//! `lru-top`: detection and readahead as `sarc`, one list for all: what is read or brought goes to
//! its MRU end (003 section III-A).
//!
//! One list in the order of time is two such lists, by class, of which the older end goes.

use super::sequential::lists::Lists;
use super::sequential::{self, Replacement, Sequential};
use super::{Context, SEQUENCES, Spec};
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "lru-top",
    summary: "finds sequential reads and reads ahead; sequential and random data in one LRU list",
    source: "003 section III-A",
    unlike_a_part: Some(SEQUENCES),
    parameters: sequential::parameters![],
    build: |values| Box::new(Sequential::new(values, Top)),
};

struct Top;

impl Replacement for Top {
    fn candidate(&self, lists: &Lists, context: &Context<'_>) -> Option<Page> {
        lists.older_to_go(context.table)
    }
}
