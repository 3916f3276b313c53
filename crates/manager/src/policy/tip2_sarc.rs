//! `tip2-sarc`: `tip2` for programs that say nothing as well: runs are found and read ahead as
//! under `sarc`, and their pages have an estimator of their own beside the LRU queue's and those of
//! hints (`estimators/runs`).

use super::estimators::desk::{T_DISK, T_DRIVER, T_HIT};
use super::estimators::hints::BURST_MARGIN;
use super::estimators::queue::{MAJORANT, SEGMENT};
use super::estimators::runs::Runs;
use super::sequential::{self, BOTTOM_SHARE, detect::Rules};
use super::tip2::Tip2;
use super::{SEQUENCES, Spec};

pub(super) static SPEC: Spec = Spec {
    name: "tip2-sarc",
    summary: "tip2; finds sequential reads and reads ahead, and gives them memory by what a page more is worth",
    source: "000 sections 4 and 5; 003 sections II and III",
    unlike_a_part: Some(SEQUENCES),
    parameters: sequential::parameters![T_HIT, T_DRIVER, T_DISK, BURST_MARGIN, MAJORANT, SEGMENT,],
    build: |values| Box::new(Tip2::new(values, Some(Runs::new(Rules::fixed(values))), values.get(BOTTOM_SHARE.name))),
};
