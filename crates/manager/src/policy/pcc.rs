//! `pcc`: each call site's pattern decides in which partition its pages are (004 section 4).
//!
//! ```text
//! reference(b, site c):  class = the class of c                               (partitioned/sites.rs)
//!                        if b is not here and memory is full: give up victim()
//!                        b is in the partition of its class
//! victim():              a sequential page, the misser's newest first; else from the partition that would lose less:
//!                            looping: 1 / longest period                      its newest page of the longest loop
//!                            other:   hits at the depth of its last page      whatever its policy gives up
//! ```
//!
//! The parameters' defaults are for machines of today. The paper's runs:
//! `by_hash=0,halve_at=0,irregular=1e9,follow=0,alike=0,onward=0,overdue=1e9`. A loop's pages go
//! onward from the last one that went; until a choice was pure, from the last that was chosen.

use super::partitioned::{Loops, OTHER, OVERDUE, Partitioned, Rules, Sites};
use super::{Domain, Parameter, Policy, SEQUENCES, Spec, Values};

pub(super) static SPEC: Spec = Spec {
    name: "pcc",
    summary: "what each call site read before tells which pages go: sequential ones, then by the gain of looping and other ones",
    source: "Gniady, Butt, Hu: Program-Counter-Based Pattern Classification (004)",
    unlike_a_part: Some(SEQUENCES),
    parameters: &[
        Parameter {
            name: "threshold",
            help: "blocks not read again that make a call site sequential; 100 as in the paper",
            domain: Domain::Whole { default: 100.0, min: 1.0, max: 1e9 },
        },
        Parameter {
            name: "sample",
            help: "one block in so many is followed; 20 as in the paper, 1: all",
            domain: Domain::Whole { default: 20.0, min: 1.0, max: 1e6 },
        },
        Parameter {
            name: "by_hash",
            help: "1: which blocks are followed depends on the block, so that a loop is seen in its second pass; 0: each of that \
                   number, as in the paper",
            domain: Domain::Whole { default: 1.0, min: 0.0, max: 1.0 },
        },
        Parameter {
            name: "halve_at",
            help: "blocks counted of a site when its counts are halved, so that it can change; 0: never, as in the paper",
            domain: Domain::Whole { default: 65_536.0, min: 0.0, max: 1e9 },
        },
        Parameter {
            name: "irregular",
            help: "a site whose blocks return further than this from its period, in periods, is no loop; 1e9: all are, as in the \
                   paper",
            domain: Domain::Number { default: 0.25, min: 0.0, max: 1e9 },
        },
        Parameter {
            name: "per_process",
            help: "1: a call site is learned for each process by itself; 0: once, as in the paper",
            domain: Domain::Whole { default: 0.0, min: 0.0, max: 1.0 },
        },
        Parameter {
            name: "follow",
            help: "1: what a site has read in sequence is looping as soon as the site is; 0: it stays sequential, as in the paper",
            domain: Domain::Whole { default: 1.0, min: 0.0, max: 1.0 },
        },
        Parameter {
            name: "alike",
            help: "1: loops with periods of the same power of two are of one length; 0: the longer period goes first, as in the paper",
            domain: Domain::Whole { default: 1.0, min: 0.0, max: 1.0 },
        },
        Parameter {
            name: "onward",
            help: "1: of a loop goes what follows the page that went last, in its file, so that what is missing is in fewer pieces; 0: \
                   its newest page, as in the paper",
            domain: Domain::Whole { default: 1.0, min: 0.0, max: 1.0 },
        },
        OVERDUE,
        OTHER,
    ],
    build: |values| Box::new(pcc(values)),
};

fn pcc(values: &Values) -> impl Policy + use<> {
    let never = |value: f64| if value == 0.0 { u64::MAX } else { value as u64 };
    let rules = Rules {
        threshold_blocks: values.get("threshold") as u64,
        sample: values.get("sample") as u64,
        by_hash: values.get("by_hash") >= 0.5,
        halve_at_blocks: never(values.get("halve_at")),
        irregular: values.get("irregular"),
        per_process: values.get("per_process") >= 0.5,
    };
    let loops = Loops {
        overdue: values.get(OVERDUE.name),
        alike: values.get("alike") >= 0.5,
        onward: values.get("onward") >= 0.5,
        follow: values.get("follow") >= 0.5,
    };
    Partitioned::new(Sites::new(rules), loops, values)
}
