//! `sarc-amp`: `sarc`, but how far is read ahead and when is adapted stream by stream (AMP, Gill
//! and Bathen, FAST 2007).
//!
//! The rules, and where what is known of a stream is kept, are in `sequential/amp`. A fixed degree
//! is too much where a thousand streams share the memory, and too little where a reader is quicker
//! than its device.
//!
//! # Where this differs from AMP
//! - State is in every block of a stretch, not in its last one: whichever block is late or goes
//!   unread leads to the trigger.
//! - Until something is brought in vain, both degree and distance grow twofold, then by an eighth;
//!   in AMP by a track.
//! - A missed run takes from the blocks before it how many of its stretch lasted until they were
//!   read; AMP takes one off for each block that goes unread, and has forgotten the stream by then.

use super::sarc::{LARGE_RATIO, Sarc};
use super::sequential::amp::{DEGREE_MAX, FIRST_DEGREE};
use super::sequential::detect::Rules;
use super::sequential::{self, Sequential};
use super::{SEQUENCES, Spec};

pub(super) static SPEC: Spec = Spec {
    name: "sarc-amp",
    summary: "sarc; how far each run is read ahead, and when, follows from what became of it",
    source: "003 section III; Gill, Bathen: AMP (FAST 2007)",
    unlike_a_part: Some(SEQUENCES),
    parameters: &[sequential::THRESHOLD, sequential::BOTTOM_SHARE, LARGE_RATIO, FIRST_DEGREE, DEGREE_MAX],
    build: |values| Box::new(Sequential::with(Rules::adapted(values), values, Sarc::new(values))),
};
