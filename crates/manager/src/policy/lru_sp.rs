//! `lru-sp`: whose page goes is decided by LRU with swapping and placeholders, which of its pages
//! by the program (002 section 2).
//!
//! ```text
//! reference(b):  if b is here: move b to the MRU end; what named it as a placeholder ends
//!                else: if memory is full: give up victim(b)
//!                      fetch b; put it at the MRU end
//!
//! victim(b):     candidate = the page that b's placeholder names (its manager was wrong: count it), else the page at the LRU end
//!                if candidate's program manages its pages: chosen = the page it gives up first, by its advice
//!                if chosen is another:  candidate and chosen change places                               (swapping)
//!                                       chosen's block leaves a placeholder that names the candidate     (placeholders)
//!                chosen goes
//! ```
//!
//! Three criteria (section 2), each a property test in tests/advice.rs, for the same references in
//! the same order: who does not advise misses no more than under LRU, be the others smart or
//! foolish; who advises well misses no more either, and beside a foolish program at most one block
//! a page more than beside an oblivious one.
//!
//! # Where this differs from the paper
//! - A placeholder names a place in the list, not a page (two_level/placeholders.rs says why).
//! - Revocation, which the paper was adding: `revoke_share` and `revoke_after`. `revoke_share=1` in
//!   the paper's runs. The counts are halved as they grow, so that a good beginning does not pay
//!   for a bad end.
//! - `silent`: the pages of programs that do not advise may be another policy's, which chooses among
//!   them as a manager among its own, and pays for it as one (two_level/mod.rs).
//! - What nobody waited for (the file system's readahead) is the first reader's that references it.

use super::two_level::{Revocation, Rules, TwoLevel};
use super::{Domain, Parameter, Spec};

pub(super) static SPEC: Spec = Spec {
    name: "lru-sp",
    summary: "LRU between programs, each program's advice among its own pages; swapping and placeholders",
    source: "Cao, Felten, Li: LRU-SP (002 sections 2 to 4)",
    unlike_a_part: None,
    parameters: &[
        Parameter {
            name: "revoke_share",
            help: "a program loses control when more than this share of its overrulings proved wrong; 1: never, as in the paper's \
                   runs",
            domain: Domain::Number { default: 0.25, min: 0.0, max: 1.0 },
        },
        Parameter {
            name: "revoke_after",
            help: "overrulings before a program can lose control: one wrong one of three says little",
            domain: Domain::Whole { default: 20.0, min: 0.0, max: 1e6 },
        },
        Parameter {
            name: "silent",
            help: "the policy that chooses among the pages of all programs that do not advise; lru: the page at the LRU end goes, as in \
                   the paper. silent.NAME=VALUE sets a parameter of its own",
            domain: Domain::Policy { default: "lru" },
        },
    ],
    build: |values| {
        let revocation = Revocation { share: values.get("revoke_share"), after: values.get("revoke_after") as u64 };
        let rules = Rules { swaps: true, placeholders: true };
        Box::new(TwoLevel::new(rules, revocation, values.policy_but("silent", "lru")))
    },
};
