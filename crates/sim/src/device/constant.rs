//! A device of constant latency: k servers, each busy with one request at a time, and one link they
//! all send over.
//!
//! ```text
//! request  --> FIFO queue --> [ server: latency ] --> [ link: bytes / bandwidth ] --> done
//! ```
//!
//! A server is busy from the request's start until its last byte is through the link. One server
//! without bandwidth is the papers' disk of constant access time; many servers behind one link are
//! a network volume; no limit on either is a store that scales without end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use foresee_manager::Time;

use super::{Device, DeviceReport, Request, Work};

/// What a device of constant latency can do.
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

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (latency_us, mb_per_s) = (self.latency_ns / 1000, self.bytes_per_s / 1_000_000);
        write!(f, "constant:servers={},latency_us={latency_us},mb_per_s={mb_per_s}", self.servers)
    }
}

impl Constant {
    /// Over the link, alone.
    fn link_ns(self, bytes: u64) -> u64 {
        match self.bytes_per_s {
            0 => 0,
            per_s => (u128::from(bytes) * 1_000_000_000 / u128::from(per_s)) as u64,
        }
    }

    /// Nothing is on the link before the first latency is over, and all blocks are on it one after
    /// the other; and each server has a latency and a block for each of its requests.
    pub(super) fn least_ns(self, work: &Work) -> u64 {
        let block_ns = self.link_ns(work.block_bytes);
        let turns = if self.servers == 0 { 1 } else { work.requests.div_ceil(u64::from(self.servers)) };
        let by_link = self.latency_ns.saturating_add(work.blocks.saturating_mul(block_ns));
        by_link.max(turns.saturating_mul(self.latency_ns.saturating_add(block_ns)))
    }
}

/// Such a device at work.
pub(super) struct Servers {
    can: Constant,
    /// When each busy server is free again.
    servers: BinaryHeap<Reverse<Time>>,
    link_free: Time,
    /// What is on its way: end, order of arrival, ticket.
    underway: BinaryHeap<Reverse<(Time, u64, u64)>>,
    report: DeviceReport,
}

impl Servers {
    pub(super) fn new(can: Constant) -> Self {
        Servers {
            can,
            servers: BinaryHeap::new(),
            link_free: Time(0),
            underway: BinaryHeap::new(),
            report: DeviceReport::default(),
        }
    }

    /// When a request that comes now will be done. Latency being constant, requests reach the link
    /// in the order in which they came, and the answer never changes afterwards.
    fn end_of(&mut self, now: Time, bytes: u64) -> Time {
        let mut start = now;
        if self.can.servers > 0
            && self.servers.len() >= self.can.servers as usize
            && let Some(Reverse(free)) = self.servers.pop()
        {
            start = now.max(free);
        }
        let sent = self.can.link_ns(bytes);
        let done = Time(self.link_free.0.max(start.0.saturating_add(self.can.latency_ns)).saturating_add(sent));
        if self.can.bytes_per_s > 0 {
            self.link_free = done;
        }
        if self.can.servers > 0 {
            self.servers.push(Reverse(done));
        }
        self.report.busy_ns += done.0 - start.0;
        done
    }
}

impl Device for Servers {
    fn submit(&mut self, now: Time, request: Request) {
        let done = self.end_of(now, request.bytes);
        self.underway.push(Reverse((done, self.report.requests, request.ticket)));
        self.report.requests += 1;
        self.report.bytes += request.bytes;
    }

    fn next_event(&self) -> Option<Time> {
        self.underway.peek().map(|&Reverse((done, ..))| done)
    }

    fn advance(&mut self, now: Time) -> Option<u64> {
        if self.next_event()? > now {
            return None;
        }
        self.underway.pop().map(|Reverse((.., ticket))| ticket)
    }

    fn report(&self) -> DeviceReport {
        self.report
    }

    fn bytes(&self) -> u64 {
        u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(text: &str, requests: &[(u64, u64)]) -> Vec<u64> {
        let mut device = Servers::new(text.parse().unwrap());
        requests.iter().map(|&(now, bytes)| device.end_of(Time(now), bytes).0).collect()
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
    fn what_is_done_is_handed_out_once_and_in_order() {
        let mut device = Servers::new("servers=2,latency_us=1".parse().unwrap());
        for ticket in [7, 8, 9] {
            device.submit(Time(0), Request { ticket, place: 0, bytes: 1, write: false });
        }
        assert_eq!((device.next_event(), device.advance(Time(999))), (Some(Time(1000)), None));
        assert_eq!([(); 3].map(|()| device.advance(Time(1000))), [Some(7), Some(8), None]);
        assert_eq!(
            (device.next_event(), device.advance(Time(2000)), device.next_event()),
            (Some(Time(2000)), Some(9), None)
        );
    }

    #[test]
    fn a_broken_description_says_so() {
        for text in ["servers", "servers=-1", "speed=9", "latency_us=0.5"] {
            assert!(text.parse::<Constant>().unwrap_err().contains(text), "{text}");
        }
    }
}
