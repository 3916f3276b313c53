//! Devices: what a request costs, and when it is done.
//!
//! A device is driven by events. It takes a request, says when something will happen next, and
//! hands out what is done by then. The end of a request is not known when it comes: a drive that
//! sorts its queue may serve a later one first.
//!
//! ```text
//! submit(now, request)    a request comes
//! next_event() -> time    nothing is done before; asked again after each submit and advance
//! advance(now) -> ticket  what is done by now, one after the other
//! ```
//!
//! Worked example: one server of 1 ms takes two requests at 0 ms. `next_event` says 1 ms; `advance`
//! at 1 ms gives the first one's ticket, then none, and `next_event` says 2 ms.
//!
//! A kind of device is one file here; a disk is one entry in [`disk::REGISTRY`]. Users write
//! `servers=4,latency_us=500` or `constant:servers=4` for a [`Constant`], and `hp2247` or
//! `rz26:order=sstf` for a disk.

mod constant;
pub mod disk;
pub mod validate;

use std::fmt;
use std::str::FromStr;

use foresee_manager::Time;

pub use constant::Constant;
use disk::{Disk, DiskChoice};

/// What a device is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// By which the host knows it again.
    pub ticket: u64,
    /// Where on the device it begins, in bytes.
    pub place: u64,
    /// How long it is.
    pub bytes: u64,
    /// Whether it writes.
    pub write: bool,
}

/// What a device did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceReport {
    /// Requests.
    pub requests: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// From start to end of each request, summed.
    pub busy_ns: u64,
    /// Requests whose first bytes were in the device's own buffer.
    pub buffer_hits: u64,
    /// Requests for which the arm moved.
    pub seeks: u64,
    /// Cylinders the arm moved for them, summed.
    pub seek_cylinders: u64,
}

impl DeviceReport {
    /// How far the arm moved for a request, on average over all of them.
    pub fn mean_seek_cylinders(&self) -> f64 {
        self.seek_cylinders as f64 / self.requests.max(1) as f64
    }
}

/// A device at work.
pub trait Device {
    /// Takes a request. Times never go back, and the request lies within [`Device::bytes`].
    fn submit(&mut self, now: Time, request: Request);

    /// When something is done next, unless something comes before.
    fn next_event(&self) -> Option<Time>;

    /// The ticket of a request that is done by now, each once.
    fn advance(&mut self, now: Time) -> Option<u64>;

    /// What it did so far.
    fn report(&self) -> DeviceReport;

    /// How much it holds.
    fn bytes(&self) -> u64;
}

/// What a device is to deliver, from rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Blocks, each as often as it is fetched; at least one.
    pub blocks: u64,
    /// How many different ones.
    pub different: u64,
    /// In so many requests at least.
    pub requests: u64,
    /// The size of a block.
    pub block_bytes: u64,
}

/// A device as a user chose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Constant latency.
    Constant(Constant),
    /// A disk.
    Disk(DiskChoice),
}

impl Choice {
    /// Makes the device.
    pub fn build(&self) -> Box<dyn Device> {
        match *self {
            Choice::Constant(can) => Box::new(constant::Servers::new(can)),
            Choice::Disk(choice) => Box::new(Disk::new(choice)),
        }
    }

    /// No device of this kind delivers the work sooner, whatever it is asked for, and in whatever
    /// order.
    pub fn least_ns(&self, work: &Work) -> u64 {
        match self {
            Choice::Constant(can) => can.least_ns(work),
            Choice::Disk(choice) => choice.least_ns(work),
        }
    }
}

impl FromStr for Choice {
    type Err = String;

    /// From `NAME:setting,setting`, or the settings of a constant device alone.
    fn from_str(text: &str) -> Result<Self, String> {
        let is_bare = text.contains('=') && !text.contains(':');
        let (name, settings) = if is_bare { ("constant", text) } else { text.split_once(':').unwrap_or((text, "")) };
        check_settings(settings)?;
        if name == "constant" {
            return settings.parse().map(Choice::Constant);
        }
        let spec = disk::REGISTRY.iter().find(|spec| spec.name == name).ok_or_else(|| {
            let names = disk::names();
            format!("there is no device '{name}'; say servers=4,latency_us=500,mb_per_s=100, or one of: {names}")
        })?;
        DiskChoice::new(spec, settings).map(Choice::Disk)
    }
}

/// Refuses what says one thing twice.
fn check_settings(settings: &str) -> Result<(), String> {
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in settings.split(',').filter_map(|setting| setting.split_once('=')) {
        if keys.contains(&key) {
            return Err(format!("'{settings}' sets {key} twice; leave one of them out"));
        }
        keys.push(key);
    }
    Ok(())
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Constant(can) => can.fmt(f),
            Choice::Disk(choice) => choice.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_or_one_thing_twice_is_no_device() {
        let refused = |text: &str| text.parse::<Choice>().unwrap_err();
        assert!(refused("").starts_with("there is no device ''; say servers=4,"));
        for text in ["servers=1,servers=2", "constant:latency_us=1,servers=1,servers=1", "hp2247:order=sstf,order=fifo"]
        {
            assert!(refused(text).ends_with(" twice; leave one of them out"), "{text}: {}", refused(text));
        }
    }
}
