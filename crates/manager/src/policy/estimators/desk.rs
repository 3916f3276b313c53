//! What the estimators of 000's currency have in common: what requests cost, whose pages are
//! referenced how often, and the two lists, LRU queue and runs, of which the older end goes while
//! either is too short to say what its pages are worth.

use super::runs::PAGES_MIN;
use crate::estimate::cost::Times;
use crate::estimate::rates::Rates;
use crate::ids::{DeviceId, Page};
use crate::policy::sequential::lists::{Class, Lists};
use crate::policy::{Context, Domain, Parameter, Values};

/// T_hit.
pub const T_HIT: Parameter = Parameter {
    name: "t_hit_us",
    help: "what it takes to read a block that is here; the horizon is T_disk / T_hit. 0.4 us is 4 KiB on a machine of \
           today, 243 us are 8 KB on the paper's",
    domain: Domain::Number { default: 0.4, min: 0.001, max: 1e6 },
};
/// T_driver.
pub const T_DRIVER: Parameter = Parameter {
    name: "t_driver_us",
    help: "the processor's part of a request: 580 us on the paper's machine; 15 us are assumed here",
    domain: Domain::Number { default: 15.0, min: 0.0, max: 1e6 },
};
/// T_disk.
pub const T_DISK: Parameter = Parameter {
    name: "t_disk_us",
    help: "the device's part of a request; 0: as measured, device by device (5 ms until there is a measurement)",
    domain: Domain::Number { default: 0.0, min: 0.0, max: 1e9 },
};

/// What a device's request takes where nothing was measured yet: a disk of today, or a network.
pub const DISK_NS_UNKNOWN: f64 = 5e6;
/// Whose references are counted, by number: the LRU queue's, those of runs, and from there on the
/// sequences' of hints.
pub const QUEUE: usize = 0;
/// See [`QUEUE`].
pub const RUNS: usize = 1;
/// See [`QUEUE`].
pub const HINTED: usize = 2;

/// The desk.
pub struct Desk {
    hit_ns: f64,
    driver_ns: f64,
    disk_ns: f64,
    /// The memory the estimates are made for.
    pub capacity: u64,
    /// Each estimator's share of the references.
    pub rates: Rates,
    /// The LRU queue (RANDOM), and the list of runs (SEQ).
    pub lists: Lists,
}

impl Desk {
    /// As the user chose it; `bottom_share` is that of the lists.
    pub fn new(values: &Values, bottom_share: f64) -> Self {
        let [hit_ns, driver_ns, disk_ns] = [T_HIT, T_DRIVER, T_DISK].map(|it| values.get(it.name) * 1e3);
        Desk { hit_ns, driver_ns, disk_ns, capacity: 0, rates: Rates::over(1), lists: Lists::new(bottom_share) }
    }

    /// Follows the memory; whether the estimates are to be made anew, for its size or thereabouts.
    pub fn fit(&mut self, capacity: u64) -> bool {
        if self.capacity * 3 / 4 <= capacity && capacity <= self.capacity * 5 / 4 && self.capacity > 0 {
            return false;
        }
        self.capacity = capacity;
        self.rates = Rates::over(capacity);
        true
    }

    /// What a device's requests take.
    pub fn times(&self, context: &Context<'_>, device: DeviceId) -> Times {
        let disk = match self.disk_ns {
            0.0 => context.access_ns(device).unwrap_or(DISK_NS_UNKNOWN),
            given => given,
        };
        Times { hit: self.hit_ns, driver: self.driver_ns, disk }
    }

    /// What it costs to miss a page's block.
    pub fn miss(&self, page: Page, context: &Context<'_>) -> f64 {
        self.times(context, context.device_of(page)).miss()
    }

    /// Of whose list a page goes if one that is not disclosed must, where a list shorter than its
    /// bottom says too little of itself; None where the values say it.
    pub fn older(&self, context: &Context<'_>) -> Option<Class> {
        let of_queue = self.lists.oldest(Class::Random)?;
        self.lists.oldest(Class::Sequential)?;
        if !self.lists.is_one_below(self.lists.bottom_pages(context.capacity).max(PAGES_MIN)) {
            return None;
        }
        let of_runs = self.lists.oldest_to_go(Class::Sequential, context.table)?;
        let runs_are_older = self.lists.age(of_runs) > self.lists.age(of_queue);
        Some(if runs_are_older { Class::Sequential } else { Class::Random })
    }
}
