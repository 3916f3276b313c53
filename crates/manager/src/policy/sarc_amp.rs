//! `sarc-amp`: `sarc`, but how far is read ahead and when is adapted stream by stream (AMP, Gill and Bathen, FAST 2007).
//!
//! The rules, and where what is known of a stream is kept, are in `sequential/amp`. A fixed degree is too much where a thousand
//! streams share the memory, and too little where a reader is quicker than its device.
//!
//! # Where this differs from AMP
//! - State is in every block of a stretch, not in its last one: whichever block is late or goes unread leads to the trigger.
//! - Until something is brought in vain, both degree and distance grow twofold, then by an eighth; in AMP by a track.
//! - A missed run takes from the blocks before it how many of its stretch lasted until they were read; AMP takes one off for each
//!   block that goes unread, and has forgotten the stream by then.

use super::sarc::{LARGE_RATIO, Sarc};
use super::sequential::amp::Amp;
use super::sequential::detect::Rules;
use super::sequential::{self, Sequential};
use super::{Domain, Parameter, Spec, Values};

pub(super) static SPEC: Spec = Spec {
    name: "sarc-amp",
    summary: "sarc; how far each run is read ahead, and when, follows from what became of it",
    source: "003 section III; Gill, Bathen: AMP (FAST 2007)",
    parameters: &[
        sequential::THRESHOLD,
        sequential::BOTTOM_SHARE,
        LARGE_RATIO,
        Parameter {
            name: "first_degree",
            help: "blocks read ahead of a run when it is found",
            domain: Domain::Number { default: 24.0, min: 1.0, max: 4096.0 },
        },
        Parameter {
            name: "degree_max",
            help: "blocks read ahead of a run at most, in one stretch; 2,048 of 4 KiB are 8 MiB",
            domain: Domain::Number { default: 2048.0, min: 1.0, max: 16384.0 },
        },
    ],
    build: |values| Box::new(Sequential::with(rules(values), values, Sarc::new(values))),
};

fn rules(values: &Values) -> Rules {
    let [first, most] = ["first_degree", "degree_max"].map(|name| values.get(name) as u16);
    Rules::adapted(values, Amp::new(first, most))
}
