//! `forestall`: fetches begin only when a stall could not be avoided otherwise, and then as `aggressive` does (Kimbrel et al. 1996).
//!
//! ```text
//! F = what a fetch takes, in references:  the device's time for a request / the reader's time from read to read, both measured
//! a stall is ahead on a device:  for some i, the i-th block missing there is used in less than i F references
//!
//! whenever the device takes a request, and a stall is ahead:   as aggressive
//! ```
//!
//! `aggressive` fetches early, and each page that goes early is one that a later choice would have spared. Whoever waits for the last
//! moment for each block by itself finds the device busy with others (fixed horizon). This looks at all that is missing: i
//! blocks take i times F, one after the other.
//!
//! Worked example: F = 10, blocks missing in 15, 25 and 28 references. None of the first two is late yet, but the third would be:
//! 28 < 3 * 10. So the fetch of the first begins now.
//!
//! # Where this differs from the paper
//! - F is what lone requests took; `margin` multiplies it. The paper overestimates F likewise where requests vary.
//! - A device may serve several requests at once (`servers`), which nothing tells: taken for one that serves one, it is asked earlier than
//!   it had to be, up to as early as by `aggressive`.
//! - It looks as many references ahead as there are pages, and 16,384 at least.
//! - Until both times are measured it is `aggressive`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::aggressive::Aggressive;
use super::{Access, Context, Domain, Parameter, Runs, Spec, Stretch};
use crate::estimate::pace::Pace;
use crate::event::Demand;
use crate::ids::{DeviceId, Page};

const MARGIN: Parameter = Parameter {
    name: "margin",
    help: "what a fetch is taken to take, by what it took: more where times vary",
    domain: Domain::Number { default: 1.0, min: 0.01, max: 1e6 },
};

const SERVERS: Parameter = Parameter {
    name: "servers",
    help: "requests that a device serves at once, so that i of them take ceil(i / servers) fetches' time; 1 as the paper's disks",
    domain: Domain::Number { default: 1.0, min: 1.0, max: 1e6 },
};

pub(super) static SPEC: Spec = Spec {
    name: "forestall",
    summary: "what is disclosed is fetched in order as late as no stall comes of it; the page used last goes",
    source: "Kimbrel, Tomkins, Patterson, Bershad, Cao, Felten, Gibson, Karlin, Li: A Trace-Driven Comparison of Algorithms for \
             Parallel Prefetching and Caching, OSDI 1996",
    unlike_a_part: None,
    parameters: &[MARGIN, SERVERS],
    build: |values| {
        Box::new(Aggressive::with(Patience {
            margin: values.get(MARGIN.name),
            servers: values.get(SERVERS.name).round(),
            readers: Vec::new(),
        }))
    },
};

/// So many references are looked ahead at least.
const AHEAD_MIN: u64 = 16_384;

/// What tells whether a stall is ahead.
pub(super) struct Patience {
    margin: f64,
    servers: f64,
    /// Those who read what each sequence disclosed.
    readers: Vec<Reader>,
}

/// Who reads what a sequence disclosed.
#[derive(Default)]
struct Reader {
    pace: Pace,
    /// Disclosed reads so far.
    reads: u64,
    /// Of each device on which no stall is ahead until so many: unless a page goes, or more is disclosed.
    safe: Mutex<BTreeMap<DeviceId, Safe>>,
}

#[derive(Clone, Copy)]
struct Safe {
    until_reads: u64,
    disclosures: u64,
}

impl Patience {
    fn reader(&mut self, sequence: u16) -> &mut Reader {
        let at = usize::from(sequence);
        if at >= self.readers.len() {
            self.readers.resize_with(at + 1, Reader::default);
        }
        &mut self.readers[at]
    }

    /// A disclosed read had to wait.
    pub fn stalled(&mut self, access: &Access) {
        if let Some(sequence) = access.hinted {
            let reader = self.reader(sequence);
            reader.reads += 1;
            reader.pace.stalled();
        }
    }

    /// A disclosed read found its block.
    pub fn hit(&mut self, access: &Access) {
        if let Some(sequence) = access.hinted {
            let reader = self.reader(sequence);
            reader.reads += 1;
            match access.demand {
                Demand::Timed { over, waited } => reader.pace.hit(over, waited),
                _ => reader.pace.hit(access.now, false),
            }
        }
    }

    /// A sequence is no more.
    pub fn forget(&mut self, sequence: u16) {
        *self.reader(sequence) = Reader::default();
    }

    /// One more block is missing.
    pub fn look_again(&mut self) {
        self.readers.iter_mut().for_each(|reader| reader.safe.get_mut().unwrap_or_else(PoisonError::into_inner).clear());
    }

    /// Whether a stall is ahead on a device for who reads a sequence.
    pub fn is_stall_ahead(&self, sequence: u16, device: DeviceId, context: &Context<'_>) -> bool {
        let Some(reader) = self.readers.get(usize::from(sequence)) else { return true };
        let (Some(between), Some(access)) = (reader.pace.between_ns(), context.access_ns(device)) else { return true };
        let disclosures = context.disclosures();
        let is_safe = |safe: &Safe| reader.reads < safe.until_reads && safe.disclosures == disclosures;
        let mut safe = reader.safe.lock().unwrap_or_else(PoisonError::into_inner);
        if safe.get(&device).is_some_and(is_safe) {
            return false;
        }
        let fetch = self.margin * access / between;
        let missing = context.missing(sequence, device, context.ledger().capacity.max(AHEAD_MIN));
        // So many references from now on, the next fetch may begin in time.
        let mut spare = u64::MAX;
        for (number, references) in missing.enumerate() {
            let left = references as f64 - ((number + 1) as f64 / self.servers).ceil() * fetch;
            // At the next reference it would be too late.
            if left < 1.0 {
                return true;
            }
            spare = spare.min(left as u64);
        }
        let until_reads = reader.reads.saturating_add(spare);
        safe.insert(device, Safe { until_reads, disclosures });
        false
    }
}

/// What will not come is missing again.
impl Runs for Patience {
    fn taken(&mut self, _: Page, _: &Context<'_>, _: Option<&Access>) {}

    fn awaited(&mut self, _: Page, _: &Context<'_>, _: &Access) {}

    fn lost(&mut self, _: Page, _: &Context<'_>) {
        self.look_again();
    }

    fn next_stretch(&mut self) -> Option<Stretch> {
        None
    }
}
