//! What requests cost, as measured, and who makes how many of the references: the currency of
//! `informed`'s estimators.

use super::desk::{DISK_NS_UNKNOWN, T_DRIVER};
use crate::estimate::rates::Rates;
use crate::hint::Accuracy;
use crate::ids::{DeviceId, Page};
use crate::policy::{Context, Values};

/// Whose references are counted, by number: what nobody disclosed, and from the next on the
/// sequences'.
const UNTOLD: usize = 0;

/// How often it is counted who reads, in as many references as there are pages: it costs a look at
/// each.
const COUNTED_TIMES: u64 = 64;

/// Prices, in nanoseconds.
pub struct Prices {
    driver_ns: f64,
    capacity: u64,
    rates: Rates,
    /// Who made some of the recent references, counted again after some of them.
    readers: f64,
    counted_in: u64,
    /// How much of what each sequence disclosed and was read goes on runs.
    in_runs: Vec<Accuracy>,
}

impl Prices {
    /// With this part of the processor.
    pub fn new(values: &Values) -> Self {
        Prices {
            driver_ns: values.get(T_DRIVER.name) * 1e3,
            capacity: 0,
            rates: Rates::over(1),
            readers: 1.0,
            counted_in: 0,
            in_runs: Vec::new(),
        }
    }

    /// A reference; shares are those of as many as there are pages.
    pub fn refer(&mut self, sequence: Option<u16>, capacity: u64) {
        if self.capacity != capacity {
            self.capacity = capacity;
            self.rates.spread_over(capacity);
        }
        self.rates.refer(sequence.map_or(UNTOLD, |sequence| UNTOLD + 1 + usize::from(sequence)));
        if self.counted_in == 0 {
            self.counted_in = capacity / COUNTED_TIMES;
            self.readers = self.rates.recent().max(1) as f64;
        } else {
            self.counted_in -= 1;
        }
    }

    /// What a sequence disclosed was read, and goes on a run or not.
    pub fn read(&mut self, sequence: u16, of_run: bool) {
        let at = usize::from(sequence);
        if at >= self.in_runs.len() {
            self.in_runs.resize(at + 1, Accuracy::expecting(0.0));
        }
        match of_run {
            true => self.in_runs[at].came_true(1, 1),
            false => self.in_runs[at].proved_wrong(1, 1),
        }
    }

    /// Whether it pays to fetch what this sequence disclosed before it is read: whether more
    /// waiting is saved, if it comes true in time and no run would have brought it, than the device is
    /// kept busy for it. None as long as it is not known how that serves requests.
    fn pays(&self, sequence: u16, device: DeviceId, context: &Context<'_>) -> Option<bool> {
        let in_runs = self.in_runs.get(usize::from(sequence)).map_or(0.0, Accuracy::confidence);
        let believed = context.confidence(sequence).min(context.usefulness(sequence, device));
        let saved_ns = believed * (1.0 - in_runs) * self.latency_ns(device, context);
        context.request_ns(device).map(|request_ns| saved_ns > request_ns)
    }

    /// Whether it is fetched. Where nothing is known, a few show it.
    pub fn is_fetched(&self, sequence: u16, device: DeviceId, context: &Context<'_>) -> bool {
        let pays = || self.pays(sequence, device, context).unwrap_or_else(|| context.tries_request(device));
        context.is_flawless(sequence, device) || pays()
    }

    /// The share of the references that read what this sequence disclosed, or would if nobody
    /// waited: who is without pages makes few, and shall not be given fewer for that. Who makes
    /// none is given none.
    pub fn share_of(&self, sequence: u16) -> f64 {
        let reader = UNTOLD + 1 + usize::from(sequence);
        let even = if self.rates.is_recent(reader) { 1.0 / self.readers } else { 0.0 };
        self.rates.share(reader).max(even)
    }

    /// Whether any of what this sequence disclosed was read.
    pub fn is_reading(&self, sequence: u16) -> bool {
        self.rates.is_known(UNTOLD + 1 + usize::from(sequence))
    }

    /// A sequence is no more.
    pub fn forget(&mut self, sequence: u16) {
        self.rates.forget(UNTOLD + 1 + usize::from(sequence));
        self.in_runs.get_mut(usize::from(sequence)).into_iter().for_each(|it| *it = Accuracy::expecting(0.0));
    }

    /// What a lone request takes. A device of which nothing was measured is taken to be as quick as the
    /// quickest: else its blocks are worth more than pages of others that are read sooner.
    pub fn latency_ns(&self, device: DeviceId, context: &Context<'_>) -> f64 {
        let measured = context.access_ns(device);
        measured.or_else(|| context.least_access_ns()).unwrap_or(DISK_NS_UNKNOWN)
    }

    /// From one block to the next, where the device has all it can do.
    pub fn each_ns(&self, device: DeviceId, context: &Context<'_>) -> f64 {
        let measured = context.blocks_a_ns(device).map(|rate| 1.0 / rate);
        measured.or_else(|| context.least_block_ns()).unwrap_or(DISK_NS_UNKNOWN)
    }

    /// What it takes of processor and device to fetch a block, though nobody waits.
    pub fn fetch_ns(&self, device: DeviceId, context: &Context<'_>) -> f64 {
        self.driver_ns + self.each_ns(device, context)
    }

    /// How long a request of its own keeps a device busy.
    pub fn request_ns(&self, device: DeviceId, context: &Context<'_>) -> f64 {
        context.request_ns(device).unwrap_or(0.0)
    }

    /// What it costs to miss a page's block.
    pub fn miss_ns(&self, page: Page, context: &Context<'_>) -> f64 {
        self.driver_ns + self.latency_ns(context.device_of(page), context)
    }
}
