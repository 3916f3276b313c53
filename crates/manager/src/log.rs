//! The event log: what a manager was told and what it asked for, as text that a person can read and
//! a program can replay.
//!
//! The first line says how the manager was set up; then each event stands on a line of its own, and
//! below it, indented, the actions it led to. Replaying the events must give the same actions byte
//! for byte (I8).
//!
//! ```text
//! foresee-log 4 capacity=600 policy=lru outstanding_max=128 ... trust=earned:256
//! @0 file-known file=0 device=0 blocks=1409
//! @0 reference reader=1 site=0 file=0 first=17 count=1 demand=1
//!   fetch fetch=1 device=0 file=0 first=17 count=1 class=demand
//! @500000 fetch-done fetch=1
//!   wake waiter=1 outcome=ready
//! ```
//!
//! A line that begins with `#` is a remark, for people and for `foresee explain`: `# file=0
//! /data/t.db` says what a file is called ([`write_name`]).
//!
//! The manager does no I/O: lines are made and taken apart here, and written and read elsewhere.

use std::fmt;
use std::str::FromStr;

use crate::dispatch::DeviceLimits;
use crate::event::{Action, Event, Malformed, beginning, field};
use crate::hint::Trust;
use crate::ids::{FileId, Time};
use crate::layout::Stripe;
use crate::manager::Config;

const TITLE: &str = "foresee-log";
const VERSION: &str = "4";
/// What is wrong with a policy is said of no more letters: its message quotes as many.
const POLICY_BYTES_MAX: usize = 400;

/// The first line of a log: all a manager is made from.
#[derive(Debug, Clone)]
pub struct Header(pub Config);

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Config { capacity, policy, device, stripe, trust, explains: _ } = &self.0;
        let DeviceLimits { outstanding_max, cluster_blocks_max, sort_blocks, queued_blocks_max, quick_run_blocks_max } =
            device;
        write!(f, "{TITLE} {VERSION} capacity={capacity} policy={}", policy.as_str())?;
        write!(f, " outstanding_max={outstanding_max} cluster_blocks_max={cluster_blocks_max}")?;
        write!(f, " sort_blocks={sort_blocks} queued_blocks_max={queued_blocks_max}")?;
        write!(f, " quick_run_blocks_max={quick_run_blocks_max}")?;
        write!(f, " disks={} unit_blocks={} trust={trust}", stripe.disks, stripe.unit_blocks)
    }
}

impl FromStr for Header {
    type Err = Malformed;

    fn from_str(line: &str) -> Result<Self, Malformed> {
        let mut words = line.split_ascii_whitespace();
        if words.next() != Some(TITLE) {
            return Err(Malformed(format!("a log begins with '{TITLE} {VERSION}', this with '{}'", beginning(line))));
        }
        let version = words.next().unwrap_or("");
        if version != VERSION {
            return Err(Malformed(format!("a log of version '{}'; version {VERSION} can be read", beginning(version))));
        }
        let capacity = field(words.next(), "capacity")?;
        let choice: String = field(words.next(), "policy")?;
        let is_quotable = choice.len() <= POLICY_BYTES_MAX && !choice.contains(char::is_control);
        let policy = choice.parse().map_err(|error| match is_quotable {
            true => Malformed(error),
            false => Malformed::quoting(&choice, "is no policy"),
        })?;
        let device = DeviceLimits {
            outstanding_max: field(words.next(), "outstanding_max")?,
            cluster_blocks_max: field(words.next(), "cluster_blocks_max")?,
            sort_blocks: field(words.next(), "sort_blocks")?,
            queued_blocks_max: field(words.next(), "queued_blocks_max")?,
            quick_run_blocks_max: field(words.next(), "quick_run_blocks_max")?,
        };
        let stripe = Stripe { disks: field(words.next(), "disks")?, unit_blocks: field(words.next(), "unit_blocks")? };
        let trust = field(words.next(), "trust")?;
        Ok(Header(Config { device, stripe, trust, ..Config::new(capacity, policy) }))
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trust::Full => f.write_str("full"),
            Trust::Earned { initial_blocks } => write!(f, "earned:{initial_blocks}"),
        }
    }
}

impl FromStr for Trust {
    type Err = Malformed;

    fn from_str(word: &str) -> Result<Self, Malformed> {
        let earned = || word.strip_prefix("earned:")?.parse().ok();
        match word {
            "full" => Ok(Trust::Full),
            _ => earned()
                .map(|initial_blocks| Trust::Earned { initial_blocks })
                .ok_or_else(|| Malformed::quoting(word, "is no trust (full, earned:BLOCKS)")),
        }
    }
}

/// A line below the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLine {
    /// What happened, and when.
    Event(Time, Event),
    /// What the manager asked for because of the event above.
    Action(Action),
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogLine::Event(now, event) => write!(f, "@{now} {event}"),
            LogLine::Action(action) => write!(f, "  {action}"),
        }
    }
}

impl FromStr for LogLine {
    type Err = Malformed;

    fn from_str(line: &str) -> Result<Self, Malformed> {
        let Some(timed) = line.strip_prefix('@') else {
            return line.parse().map(LogLine::Action);
        };
        let (now, event) = timed.split_once(' ').unwrap_or((timed, ""));
        let now = now.parse().map_err(|_| Malformed::quoting(&format!("@{now}"), "is no time in nanoseconds"))?;
        event.parse().map(|event| LogLine::Event(now, event))
    }
}

/// Appends an event and its actions to a log, a line each.
///
/// # Errors
/// If `log` refuses the text.
pub fn write_entry(log: &mut impl fmt::Write, now: Time, event: Event, actions: &[Action]) -> fmt::Result {
    writeln!(log, "{}", LogLine::Event(now, event))?;
    actions.iter().try_for_each(|&action| writeln!(log, "{}", LogLine::Action(action)))
}

/// Appends a remark: what a file is called.
///
/// # Errors
/// If `log` refuses the text.
pub fn write_name(log: &mut impl fmt::Write, file: FileId, name: &str) -> fmt::Result {
    match name.contains(char::is_control) {
        true => writeln!(log, "# file={file} {}", name.escape_debug()),
        false => writeln!(log, "# file={file} {name}"),
    }
}

/// The file that a line of a log names, if it is such a remark.
pub fn named_file(line: &str) -> Option<(FileId, &str)> {
    let (file, name) = line.strip_prefix("# file=")?.split_once(' ')?;
    Some((FileId(file.parse().ok()?), name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Demand, Order, Source, Want};

    #[test]
    fn files_are_named_in_remarks() {
        let mut log = String::new();
        write_name(&mut log, FileId(7), "/data/a b").unwrap();
        write_name(&mut log, FileId(8), "/two\nlines").unwrap();
        let named: Vec<_> = log.lines().map(named_file).collect();
        assert_eq!(named, [Some((FileId(7), "/data/a b")), Some((FileId(8), "/two\\nlines"))]);
        assert_eq!(named_file("# made by hand"), None);
    }

    const HEADER: &str = "foresee-log 4 capacity=600 policy=tip1:unread_share=0.25 outstanding_max=128 \
                          cluster_blocks_max=256 sort_blocks=2048 queued_blocks_max=4096 quick_run_blocks_max=256 \
                          disks=1 unit_blocks=16 trust=earned:256";

    #[test]
    fn a_header_read_and_written_is_the_same() {
        let header: Header = HEADER.parse().unwrap();
        assert_eq!(header.to_string(), HEADER);
        assert_eq!(header.0.capacity, 600);
        assert_eq!(header.0.trust, Trust::Earned { initial_blocks: 256 });
    }

    #[test]
    fn a_broken_header_says_what_is_broken() {
        for (from, to, what) in [
            ("foresee-log", "other-log", "a log begins with 'foresee-log 4'"),
            ("log 4", "log 2", "a log of version '2'"),
            ("capacity=600", "capacity=many", "'capacity=many' is not a value of the field 'capacity'"),
            ("tip1", "tip9", "there is no policy 'tip9'"),
            (" trust=earned:256", "", "the field 'trust' is missing"),
        ] {
            let error = HEADER.replace(from, to).parse::<Header>().unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn a_line_that_is_no_header_is_quoted_in_part() {
        for (text, quoted) in [("\0".repeat(65536), "\\0".repeat(40)), ("é".repeat(41), "é".repeat(40))] {
            let error = text.parse::<Header>().unwrap_err().to_string();
            assert!(error.ends_with(&format!("this with '{quoted}...'")), "{error}");
        }
        let error = "é".repeat(40).parse::<Header>().unwrap_err().to_string();
        assert!(error.ends_with("é'"), "{error}");
    }

    #[test]
    fn of_a_long_word_the_beginning_is_quoted() {
        let long = "\u{1b}é".repeat(20_000);
        let (before, _) = HEADER.split_once(" policy").unwrap();
        let (within, _) = HEADER.split_once("earned").unwrap();
        let headers = [
            format!("foresee-log {long}"),
            format!("foresee-log 4 {}", "x".repeat(60_000)),
            format!("{before} policy={long}"),
            format!("{within}{long}"),
        ];
        let lines = [
            format!("@{long}"),
            format!("@0 gone file={long}"),
            format!("@0 file-missing file=1 {long}"),
            format!("@0 hint reader=1 source={long}"),
            format!("  pull reader=1 source={long}"),
        ];
        let errors = headers.map(|it| it.parse::<Header>().unwrap_err());
        let errors = errors.into_iter().chain(lines.map(|it| it.parse::<LogLine>().unwrap_err()));
        for error in errors.map(|it| it.to_string()) {
            assert!(error.len() < 300 && error.contains("...'") && !error.contains('\u{1b}'), "{error}");
        }
        // Those that list all there are.
        for line in [format!("@0 {long}"), format!("  {long}")] {
            let error = line.parse::<LogLine>().unwrap_err().to_string();
            assert!(error.len() < 1000 && error.contains("...'") && !error.contains('\u{1b}'), "{error}");
        }
        for error in [long.parse::<Source>().unwrap_err(), long.parse::<Want>().unwrap_err()] {
            assert!(error.to_string().contains("...'"), "{error}");
        }
        for word in ["", "over@"] {
            let error = format!("{word}{long}").parse::<Demand>().unwrap_err().to_string();
            assert!(error.contains("...'"), "{error}");
        }
    }

    #[test]
    fn lines_read_and_written_are_the_same() {
        let mut log = String::new();
        let file = FileId(3);
        let known = Event::FileMissing { file };
        write_entry(
            &mut log,
            Time(17),
            known,
            &[Action::Order(Order::Lookup { file }), Action::Order(Order::Drop { file, first: 1, count: 2 })],
        )
        .unwrap();
        assert_eq!(log, "@17 file-missing file=3\n  lookup file=3\n  drop file=3 first=1 count=2\n");
        for line in log.lines() {
            assert_eq!(line.parse::<LogLine>().unwrap().to_string(), line);
        }
        assert!("@x file-missing file=3".parse::<LogLine>().is_err());
        assert!("@17".parse::<LogLine>().is_err());
        assert!("  dance file=3".parse::<LogLine>().is_err());
    }
}
