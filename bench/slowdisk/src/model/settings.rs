//! Which model is in force and with which parameters; read from the command line and from the
//! control file alike.

use super::{Disk, DiskParams, Model, Network, NetworkParams};
use crate::units::{duration, percent, rate, show_duration, size};

/// The models there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Latency per request, many requests at a time
    Network,
    /// One arm: seek, rotation, transfer, SCAN queue
    Disk,
    /// No delay
    Off,
}

/// The parameters of both models, so that switching back and forth keeps them.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub kind: Kind,
    pub network: NetworkParams,
    pub disk: DiskParams,
}

impl Settings {
    /// Takes a line such as `network latency=2ms jitter=10%`, `disk rpm=5400` or `off`. What is
    /// not named keeps its value; a line with an error changes nothing.
    pub fn apply(&mut self, line: &str) -> Result<(), String> {
        let mut next = self.clone();
        let mut words = line.split_whitespace();
        next.kind = match words.next() {
            Some("network") => Kind::Network,
            Some("disk") => Kind::Disk,
            Some("off") => Kind::Off,
            other => {
                return Err(format!("`{}` is no model: write network, disk, off, bad or reset", other.unwrap_or("")));
            }
        };
        for word in words {
            let (name, value) =
                word.split_once('=').ok_or_else(|| format!("`{word}` is no setting: write name=value"))?;
            next.set(name, value)?;
        }
        next.check()?;
        *self = next;
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let count = |text: &str| text.parse::<u64>().map_err(|_| format!("`{text}` is no whole number"));
        let result = match (self.kind, name) {
            (Kind::Network, "latency") => duration(value).map(|v| self.network.latency = v),
            (Kind::Network, "jitter") => percent(value).map(|v| self.network.jitter = v),
            (Kind::Network, "servers") => count(value).map(|v| self.network.servers = v as usize),
            (Kind::Network, "bandwidth") => rate(value).map(|v| self.network.bandwidth = v),
            (Kind::Network, "seed") => count(value).map(|v| self.network.seed = v),
            (Kind::Disk, "seek-min") => duration(value).map(|v| self.disk.seek_min = v),
            (Kind::Disk, "seek-max") => duration(value).map(|v| self.disk.seek_max = v),
            (Kind::Disk, "rpm") => count(value).map(|v| self.disk.rpm = v),
            (Kind::Disk, "bandwidth") => rate(value).map(|v| self.disk.bandwidth = v),
            (Kind::Disk, "buffer") => size(value).map(|v| self.disk.buffer = v),
            (Kind::Disk, "span") => size(value).map(|v| self.disk.span = v),
            (Kind::Network, _) => Err("network knows latency, jitter, servers, bandwidth and seed".into()),
            (Kind::Disk, _) => Err("disk knows seek-min, seek-max, rpm, bandwidth, buffer and span".into()),
            (Kind::Off, _) => Err("off takes no settings".into()),
        };
        result.map_err(|why| format!("{name}={value}: {why}"))
    }

    /// Refuses what would make a model divide by zero or run backwards.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=1_000_000).contains(&self.disk.rpm) {
            return Err(format!("rpm={}: must be between 1 and 1000000", self.disk.rpm));
        }
        if self.disk.bandwidth == 0 {
            return Err("bandwidth=0: a disk needs a rate, such as 150M".into());
        }
        if self.disk.seek_min > self.disk.seek_max {
            return Err(format!(
                "seek-min={}: must not exceed seek-max={}",
                show_duration(self.disk.seek_min),
                show_duration(self.disk.seek_max)
            ));
        }
        if self.network.servers > 1_000_000 {
            return Err(format!("servers={}: at most 1000000, or 0 for no limit", self.network.servers));
        }
        Ok(())
    }

    /// A fresh model for a device of this size; none when off.
    pub fn build(&self, device_size: u64) -> Option<Box<dyn Model>> {
        match self.kind {
            Kind::Network => Some(Box::new(Network::new(self.network.clone()))),
            Kind::Disk => Some(Box::new(Disk::new(self.disk.clone(), device_size))),
            Kind::Off => None,
        }
    }

    /// The line that [`Settings::apply`] takes for the model in force.
    pub fn line(&self) -> String {
        let (n, d) = (&self.network, &self.disk);
        match self.kind {
            Kind::Network => format!(
                "network latency={} jitter={}% servers={} bandwidth={} seed={}",
                show_duration(n.latency),
                n.jitter,
                n.servers,
                n.bandwidth,
                n.seed
            ),
            Kind::Disk => format!(
                "disk seek-min={} seek-max={} rpm={} bandwidth={} buffer={} span={}",
                show_duration(d.seek_min),
                show_duration(d.seek_max),
                d.rpm,
                d.bandwidth,
                d.buffer,
                d.span
            ),
            Kind::Off => "off".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings { kind: Kind::Off, network: NetworkParams::default(), disk: DiskParams::default() }
    }

    #[test]
    fn lines_change_only_what_they_name() {
        let mut now = settings();
        now.apply("network latency=2ms jitter=10%\n").unwrap();
        assert_eq!((now.kind, now.network.latency, now.network.jitter), (Kind::Network, 2_000_000, 10.0));
        now.apply("disk rpm=5400").unwrap();
        assert_eq!((now.kind, now.disk.rpm, now.disk.bandwidth), (Kind::Disk, 5400, 150_000_000));
        now.apply("network").unwrap();
        assert_eq!(now.network.latency, 2_000_000);
    }

    #[test]
    fn errors_name_the_value_and_change_nothing() {
        let mut now = settings();
        for (line, named) in [
            ("", "no model"),
            ("floppy", "floppy"),
            ("network latency", "latency"),
            ("network rpm=1", "rpm"),
            ("disk rpm=0", "rpm=0"),
            ("disk bandwidth=0", "bandwidth=0"),
            ("disk seek-min=20ms", "seek-min=20ms"),
            ("off latency=1ms", "latency"),
        ] {
            let error = now.apply(line).unwrap_err();
            assert!(error.contains(named), "{line}: {error}");
        }
        assert_eq!(now, settings());
    }

    #[test]
    fn the_printed_line_reads_back() {
        let mut now = settings();
        for line in ["network latency=123us jitter=2.5% servers=4 bandwidth=1M seed=9", "disk span=1T buffer=1M"] {
            now.apply(line).unwrap();
            let mut again = settings();
            again.apply(&now.line()).unwrap();
            assert_eq!(again.line(), now.line());
        }
    }
}
