//! `lru-s`: `lru-sp` without placeholders (002 section 6, *unprotected*): it shows what they are
//! for. A program that keeps the wrong pages gets others' pages for those it misses.
//!
//! ```text
//! victim(b):     as in lru-sp, where no block ever leaves a placeholder
//! ```

use super::Spec;
use super::two_level::{Revocation, Rules, TwoLevel};

pub(super) static SPEC: Spec = Spec {
    name: "lru-s",
    summary: "lru-sp without placeholders: for comparison; foolish programs take others' memory",
    source: "Cao, Felten, Li: LRU-S (002 section 6)",
    unlike_a_part: None,
    parameters: &[],
    build: |_| Box::new(TwoLevel::new(Rules { swaps: true, placeholders: false }, Revocation::NEVER, None)),
};
