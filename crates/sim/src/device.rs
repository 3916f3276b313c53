//! A device of constant latency: k servers, each busy with one request at a time, and one link they all send over.
//!
//! ```text
//! request  --> FIFO queue --> [ server: latency ] --> [ link: bytes / bandwidth ] --> done
//! ```
//!
//! A server is busy from the request's start until its last byte is through the link. One server without bandwidth is the
//! papers' disk of constant access time; many servers behind one link are a network volume; no limit on either is a store
//! that scales without end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foresee_manager::Time;

/// What a device can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constant {
    /// Requests at once; 0: any number.
    pub servers: u32,
    /// From a request's start to its first byte.
    pub latency_ns: u64,
    /// Over the link, all servers together; 0: no limit.
    pub bytes_per_s: u64,
}

impl std::str::FromStr for Constant {
    type Err = String;

    /// From `servers=4,latency_us=500,mb_per_s=100`; what is left out is 1, 0 and no limit.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut constant = Constant { servers: 1, latency_ns: 0, bytes_per_s: 0 };
        for setting in text.split(',').filter(|setting| !setting.is_empty()) {
            let bad = || {
                format!(
                    "'{setting}' says nothing of a device; write servers=4,latency_us=500,mb_per_s=100 (0: no limit)"
                )
            };
            let (key, value) = setting.split_once('=').ok_or_else(bad)?;
            let value: u32 = value.parse().map_err(|_| bad())?;
            match key {
                "servers" => constant.servers = value,
                "latency_us" => constant.latency_ns = u64::from(value) * 1000,
                "mb_per_s" => constant.bytes_per_s = u64::from(value) * 1_000_000,
                _ => return Err(bad()),
            }
        }
        Ok(constant)
    }
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
}

/// A device at work.
pub(crate) struct Device {
    can: Constant,
    /// When each busy server is free again.
    servers: BinaryHeap<Reverse<Time>>,
    link_free: Time,
    pub(crate) report: DeviceReport,
}

impl Device {
    pub(crate) fn new(can: Constant) -> Self {
        Device { can, servers: BinaryHeap::new(), link_free: Time(0), report: DeviceReport::default() }
    }

    /// Takes a request; returns when it will be done. Latency being constant, requests reach the link in the order in
    /// which they came, and the answer never changes afterwards.
    pub(crate) fn submit(&mut self, now: Time, bytes: u64) -> Time {
        let mut start = now;
        if self.can.servers > 0
            && self.servers.len() >= self.can.servers as usize
            && let Some(Reverse(free)) = self.servers.pop()
        {
            start = now.max(free);
        }
        let sent = match self.can.bytes_per_s {
            0 => 0,
            per_s => (u128::from(bytes) * 1_000_000_000 / u128::from(per_s)) as u64,
        };
        let done = Time(self.link_free.0.max(start.0.saturating_add(self.can.latency_ns)).saturating_add(sent));
        if self.can.bytes_per_s > 0 {
            self.link_free = done;
        }
        if self.can.servers > 0 {
            self.servers.push(Reverse(done));
        }
        self.report.requests += 1;
        self.report.bytes += bytes;
        self.report.busy_ns += done.0 - start.0;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(text: &str, requests: &[(u64, u64)]) -> Vec<u64> {
        let mut device = Device::new(text.parse().unwrap());
        requests.iter().map(|&(now, bytes)| device.submit(Time(now), bytes).0).collect()
    }

    #[test]
    fn one_server_serves_one_after_the_other() {
        assert_eq!(done("latency_us=1", &[(0, 1), (0, 1), (5000, 1)]), [1000, 2000, 6000]);
    }

    #[test]
    fn servers_work_at_once_and_share_the_link() {
        assert_eq!(done("servers=2,latency_us=1", &[(0, 1), (0, 1), (0, 1)]), [1000, 1000, 2000]);
        // 1 MB/s is 1000 ns a byte.
        assert_eq!(done("servers=0,latency_us=1,mb_per_s=1", &[(0, 1), (0, 2), (9000, 1)]), [2000, 4000, 11_000]);
    }

    #[test]
    fn a_broken_description_says_so() {
        for text in ["servers", "servers=-1", "speed=9", "latency_us=0.5"] {
            assert!(text.parse::<Constant>().unwrap_err().contains(text), "{text}");
        }
    }
}
