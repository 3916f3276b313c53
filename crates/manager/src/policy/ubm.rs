//! `ubm`: each file's pattern decides in which partition its pages are (004 section 3.2); the cache
//! is that of `pcc`.
//!
//! # What an independent reading may differ by
//! 004 describes UBM in a page, and leaves open what matters on traces of several files. Each of
//! these is a parameter, or a line of `partitioned/files.rs`; the points of hits are those at 5, 20
//! and 50 % of the blocks of a recording, of ours less the other reading:
//!
//! ```text
//! a loop that is over   ours gives its pages up after 3 of its periods; read by the letter it keeps them
//!                       (overdue=1e9):   gcc +10 +23 +1   tpc-h +2 +2 +2   glimpse 0 0 0    gli -3 -2 0
//! a run's first blocks  ours has them in `other` until there are `threshold` of them; who puts a run
//!                       as a whole where its last block belongs is near threshold=1:
//!                                        gcc +2 +3 +13    tpc-h 0 0 0      glimpse -1 -3 -5   gli -3 -6 -3
//! what files read twice in a row are    read once here; where one counts two references, each second
//!                       one is a step aside, which ends a loop
//! ```

use super::partitioned::{Files, Loops, OTHER, OVERDUE, Partitioned};
use super::{Domain, Parameter, SEQUENCES, Spec};

pub(super) static SPEC: Spec = Spec {
    name: "ubm",
    summary: "as pcc, but file by file: blocks in a row are sequential, and looping once they are read again",
    source: "Kim et al., UBM (OSDI 2000), as 004 sections 3.2 and 5.3 describe it",
    unlike_a_part: Some(SEQUENCES),
    parameters: &[
        Parameter {
            name: "threshold",
            help: "blocks in a row that are a sequence; 3 was best in 004 section 5.3.3",
            domain: Domain::Whole { default: 3.0, min: 1.0, max: 1e9 },
        },
        OVERDUE,
        OTHER,
    ],
    build: |values| {
        let files = Files::new(values.get("threshold") as u64);
        let loops = Loops { overdue: values.get(OVERDUE.name), alike: false, onward: false, follow: false };
        Box::new(Partitioned::new(files, loops, values))
    },
};
