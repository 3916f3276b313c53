//! `alloc-lru`: `lru-sp` with neither swapping nor placeholders (002 section 6): it shows what
//! swapping is for. The oldest page stays the oldest when its program gives up another, so a
//! program that knows better than LRU gives up a page each time.
//!
//! ```text
//! victim(b):     candidate = the page at the LRU end; its program chooses; the list stays as it is
//! ```

use super::Spec;
use super::two_level::{Revocation, Rules, TwoLevel};

pub(super) static SPEC: Spec = Spec {
    name: "alloc-lru",
    summary: "lru-sp without swapping and placeholders: for comparison; smart programs lose their memory",
    source: "Cao, Felten, Li: ALLOC-LRU (002 section 6)",
    unlike_a_part: None,
    parameters: &[],
    build: |_| Box::new(TwoLevel::new(Rules { swaps: false, placeholders: false }, Revocation::NEVER, None)),
};
