//! `tip2-sarc`: `tip2` for programs that say nothing as well: runs are found and read ahead as under `sarc`, and their pages have an
//! estimator of their own beside the LRU queue's and those of hints (`tip2/runs`).

use super::sequential::{self, detect::Rules};
use super::tip2::{self, Tip2, runs::Runs};
use super::{SEQUENCES, Spec};

pub(super) static SPEC: Spec = Spec {
    name: "tip2-sarc",
    summary: "tip2; finds sequential reads and reads ahead, and gives them memory by what a page more is worth",
    source: "000 sections 4 and 5; 003 sections II and III",
    unlike_a_part: Some(SEQUENCES),
    parameters: sequential::parameters![
        tip2::T_HIT,
        tip2::T_DRIVER,
        tip2::T_DISK,
        tip2::BURST_MARGIN,
        tip2::MAJORANT,
        tip2::SEGMENT,
    ],
    build: |values| Box::new(Tip2::new(values, Some(Runs::new(Rules::fixed(values), values)))),
};
