//! How well a model stands beside the real device: a measured trace through it, and the distance
//! between the two distributions of response times.
//!
//! A trace's line is `R|W KIND LBN SECTORS RESPONSE_US THINK_US`. Each request is made alone, so
//! long after the end of the one before as the line before says. (The traces call that the time to
//! the next arrival. Counted from the arrival before it would have been, every second request would
//! have come while another was served, and writes just behind one another would not have taken the
//! whole number of turns that they did take from end to end.)
//!
//! The distance is the demerit figure of disk modelling (Ruemmler and Wilkes, 1994): the root mean
//! square of the horizontal distance between the two distributions. Worked example: measured 1, 2
//! and 9 ms, modelled 10, 1 and 2 ms; sorted, they differ by 0, 0 and 1 ms, which makes 0.58 ms.

use std::path::Path;

use foresee_manager::Time;

use super::{Choice, Request};
use crate::device::disk::SECTOR_BYTES;
use crate::error::{At, Error};
use crate::trace::Input;

/// One measured request.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Whether it wrote.
    pub write: bool,
    /// What the drive did, in the words of whoever measured it: `Hit`, `Miss`, ...
    pub kind: String,
    /// The first sector.
    pub sector: u64,
    /// How many.
    pub sectors: u64,
    /// From its arrival to its end.
    pub response_ns: u64,
    /// From its end to the arrival of the next.
    pub think_ns: u64,
}

impl std::str::FromStr for Measured {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let bad = || format!("'{line}' is no measured request; write R|W KIND LBN SECTORS RESPONSE_US THINK_US");
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [operation, kind, sector, sectors, response, think] = words[..] else { return Err(bad()) };
        let ns = |text: &str| {
            let us = text.parse::<f64>().ok().filter(|us| (0.0..1e12).contains(us)).ok_or_else(bad)?;
            Ok::<u64, String>((us * 1000.0) as u64)
        };
        Ok(Measured {
            write: match operation {
                "R" => false,
                "W" => true,
                _ => return Err(bad()),
            },
            kind: kind.to_owned(),
            sector: sector.parse().map_err(|_| bad())?,
            sectors: sectors.parse().map_err(|_| bad())?,
            response_ns: ns(response)?,
            think_ns: ns(think)?,
        })
    }
}

/// Reads a measured trace.
///
/// # Errors
/// If it cannot be read, or a line is no measured request.
pub fn load(path: &Path) -> Result<Vec<Measured>, Error> {
    let (mut input, mut text, mut requests) = (Input::open(path)?, Vec::new(), Vec::new());
    loop {
        let at = At::Line(requests.len() as u64 + 1);
        if input.line(&mut text, 1000, at)? == 0 {
            return Ok(requests);
        }
        let request = String::from_utf8_lossy(&text).trim_end().parse();
        requests.push(request.map_err(|what: String| Error::new(path, at, what))?);
    }
}

/// The model's response times to the same requests, in the same order.
///
/// # Errors
/// If a request lies beyond the device's end.
pub fn respond(choice: &Choice, requests: &[Measured]) -> Result<Vec<u64>, String> {
    let mut device = choice.build();
    let mut now = 0;
    let mut responses = Vec::new();
    for (ticket, measured) in (0_u64..).zip(requests) {
        let (place, bytes) = (measured.sector * SECTOR_BYTES, measured.sectors * SECTOR_BYTES);
        if place + bytes > device.bytes() {
            return Err(format!("sector {} is beyond the end of {choice}; is this its trace?", measured.sector));
        }
        device.submit(Time(now), Request { ticket, place, bytes, write: measured.write });
        let done = device.next_event().map_or(now, |time| time.0);
        device.advance(Time(done));
        responses.push(done - now);
        now = done + measured.think_ns;
    }
    Ok(responses)
}

/// The root mean square of the horizontal distance between two distributions of as many times.
pub fn demerit_ns(measured: &[u64], modelled: &[u64]) -> f64 {
    let sorted = |times: &[u64]| {
        let mut times = times.to_vec();
        times.sort_unstable();
        times
    };
    let squares = sorted(measured)
        .iter()
        .zip(sorted(modelled))
        .map(|(&one, other)| (one.abs_diff(other) as f64).powi(2))
        .sum::<f64>();
    (squares / measured.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_between_the_distributions() {
        assert_eq!(demerit_ns(&[1, 2, 9], &[10, 1, 2]), (1.0_f64 / 3.0).sqrt());
        assert_eq!(demerit_ns(&[], &[]), 0.0);
    }

    #[test]
    fn a_line_is_taken_apart_or_refused() {
        let measured: Measured = "W Doub  197410    31     28204.180     31220.570".parse().unwrap();
        assert_eq!((measured.write, measured.sector, measured.response_ns), (true, 197_410, 28_204_180));
        for line in ["", "R Hit 1 2 3", "X Hit 1 2 3 4", "R Hit 1 2 -3 4", "R Hit 1 2 3 4 5"] {
            assert!(line.parse::<Measured>().unwrap_err().contains(line), "{line}");
        }
    }

    #[test]
    fn requests_beyond_the_end_are_refused() {
        let line = "R Hit 99999999 1 1 1".parse().unwrap();
        assert!(respond(&"rz26".parse().unwrap(), &[line]).unwrap_err().contains("rz26"));
    }
}
