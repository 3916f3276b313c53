//! `forestall`: fetches begin only when a stall could not be avoided otherwise, and then as
//! `aggressive` does (Kimbrel et al. 1996).
//!
//! ```text
//! F = what a fetch takes, in references:  the device's time for a request / the reader's time from read to read, both measured
//! a stall is ahead on a device:  for some i, the i-th block missing there is used in less than i F references
//!
//! whenever the device takes a request, and a stall is ahead:   as aggressive
//! ```
//!
//! `aggressive` fetches early, and each page that goes early is one that a later choice would have
//! spared. Whoever waits for the last moment for each block by itself finds the device busy with
//! others (fixed horizon). This looks at all that is missing: i blocks take i times F, one after
//! the other.
//!
//! Worked example: F = 10, blocks missing in 15, 25 and 28 references. None of the first two is
//! late yet, but the third would be: 28 < 3 * 10. So the fetch of the first begins now.
//!
//! # Where this differs from the paper
//! - F is what lone requests took; `margin` multiplies it. The paper overestimates F likewise where
//!   requests vary.
//! - A device may serve several requests at once (`servers`), which nothing tells: taken for one
//!   that serves one, it is asked earlier than it had to be, up to as early as by `aggressive`.
//! - Once a stall is ahead, it is not looked for again until a tenth of the fetches up to the block
//!   that is late are asked for: where thousands are missing, to look each time would take longer
//!   than all else.
//! - It looks as many references ahead as there are pages, and 16,384 at least.
//! - Until both times are measured it is `aggressive`.

use super::aggressive::Aggressive;
use super::patience::{Arrivals, Patience};
use super::{Context, Domain, Parameter, Spec};
use crate::ids::DeviceId;

const MARGIN: Parameter = Parameter {
    name: "margin",
    help: "what a fetch is taken to take, by what it took: more where times vary",
    domain: Domain::Number { default: 1.0, min: 0.01, max: 1e6 },
};

const SERVERS: Parameter = Parameter {
    name: "servers",
    help: "requests that a device serves at once, so that i of them take ceil(i / servers) fetches' time; 1 as the paper's disks",
    domain: Domain::Whole { default: 1.0, min: 1.0, max: 1e6 },
};

pub(super) static SPEC: Spec = Spec {
    name: "forestall",
    summary: "what is disclosed is fetched in order as late as no stall comes of it; the page used last goes",
    source: "Kimbrel, Tomkins, Patterson, Bershad, Cao, Felten, Gibson, Karlin, Li: A Trace-Driven Comparison of Algorithms for \
             Parallel Prefetching and Caching, OSDI 1996",
    unlike_a_part: None,
    parameters: &[MARGIN, SERVERS],
    build: |values| {
        Box::new(Aggressive::with(Forestall {
            margin: values.get(MARGIN.name),
            servers: values.get(SERVERS.name).round(),
            patience: Patience::default(),
        }))
    },
};

/// What makes `forestall` of `aggressive`.
pub(super) struct Forestall {
    margin: f64,
    servers: f64,
    pub patience: Patience,
}

impl Forestall {
    /// Whether a stall is ahead on a device for who reads a sequence.
    pub fn is_stall_ahead(&self, sequence: u16, device: DeviceId, context: &Context<'_>) -> bool {
        let fetches = |access| Arrivals { first_ns: 0.0, each_ns: self.margin * access, at_once: self.servers };
        let between = self.patience.between_ns(sequence);
        self.patience.is_stall_ahead(sequence, device, between, context.access_ns(device).map(fetches), context)
    }
}
