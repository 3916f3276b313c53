//! Parts of the device that cannot be read.

use crate::model::Request;

/// The unit of block devices' addresses, whatever their own.
pub const SECTOR_BYTES: u64 = 512;

/// Ranges kept at most: each is looked at by every read.
const RANGES_MAX: usize = 1024;

/// The ranges in force, in the order they came.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct Bad {
    ranges: Vec<Range>,
}

#[derive(Clone, Debug, PartialEq)]
struct Range {
    first: u64,
    end: u64,
    /// Reads that still fail; None: all.
    left: Option<u64>,
}

impl Bad {
    /// Takes what follows `bad` in a line: `first=SECTOR count=N [times=K]` or `clear`.
    pub fn apply(&mut self, words: &str) -> Result<(), String> {
        if words == "clear" {
            self.ranges.clear();
            return Ok(());
        }
        let (mut first, mut count, mut times) = (None, None, 0);
        for word in words.split_whitespace() {
            let (name, value) =
                word.split_once('=').ok_or_else(|| format!("`{word}` is no setting: write name=value"))?;
            let number = value.parse::<u64>().map_err(|_| format!("{word}: `{value}` is no whole number"))?;
            match name {
                "first" => first = Some(number),
                "count" => count = Some(number).filter(|&count| count > 0),
                "times" => times = number,
                _ => return Err(format!("{word}: bad knows first, count and times, or clear alone")),
            }
        }
        let (Some(first), Some(count)) = (first, count) else {
            return Err("bad needs first=SECTOR and count=N, N at least 1, or clear alone".into());
        };
        let end = first.checked_add(count).filter(|end| end.checked_mul(SECTOR_BYTES).is_some());
        let end = end.ok_or_else(|| format!("first={first}: beyond any device"))?;
        if self.ranges.len() == RANGES_MAX {
            return Err(format!("there are {RANGES_MAX} bad ranges already: write bad clear"));
        }
        self.ranges.push(Range { first, end, left: (times > 0).then_some(times) });
        Ok(())
    }

    /// Whether this read fails; if so it counts as one of its range's times.
    pub fn fails(&mut self, request: &Request) -> bool {
        let end = request.offset + request.len;
        let touched = |range: &&mut Range| {
            range.left != Some(0) && range.first * SECTOR_BYTES < end && request.offset < range.end * SECTOR_BYTES
        };
        match self.ranges.iter_mut().find(touched) {
            None => false,
            Some(range) => {
                range.left = range.left.map(|left| left - 1);
                true
            }
        }
    }

    /// The ranges that still fail, as lines that [`Bad::apply`] takes, after `bad`.
    pub fn lines(&self) -> String {
        let show = |range: &Range| {
            let Range { first, end, left } = range;
            format!("bad first={first} count={} times={}\n", end - first, left.unwrap_or(0))
        };
        self.ranges.iter().filter(|range| range.left != Some(0)).map(show).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(first: u64, count: u64) -> Request {
        Request { id: 0, offset: first * SECTOR_BYTES, len: count * SECTOR_BYTES }
    }

    #[test]
    fn only_reads_that_touch_a_range_fail() {
        let mut bad = Bad::default();
        bad.apply("first=100 count=8").unwrap();
        for (first, count, fails) in [(92, 8, false), (92, 9, true), (107, 1, true), (108, 8, false), (0, 1000, true)] {
            assert_eq!(bad.fails(&read(first, count)), fails, "{first}+{count}");
        }
        assert_eq!(bad.lines(), "bad first=100 count=8 times=0\n");
        bad.apply("clear").unwrap();
        assert!(!bad.fails(&read(100, 8)));
        assert_eq!(bad, Bad::default());
    }

    #[test]
    fn times_are_counted_down() {
        let mut bad = Bad::default();
        bad.apply("first=0 count=1 times=2").unwrap();
        bad.apply("first=0 count=1 times=1").unwrap();
        assert!(!bad.fails(&read(1, 1)));
        let fails: Vec<bool> = (0..4).map(|_| bad.fails(&read(0, 1))).collect();
        assert_eq!(fails, [true, true, true, false]);
        assert_eq!(bad.lines(), "");
    }

    #[test]
    fn errors_name_the_value_and_change_nothing() {
        let mut bad = Bad::default();
        for (words, named) in [
            ("", "first=SECTOR"),
            ("first=1", "count=N"),
            ("first=1 count=0", "at least 1"),
            ("first=x count=1", "first=x"),
            ("first=1 count=1 sometimes", "sometimes"),
            ("first=1 count=1 rate=3", "rate=3"),
            ("clear first=1", "clear"),
            ("first=18446744073709551615 count=1", "beyond"),
            ("first=36028797018963967 count=2", "beyond"),
        ] {
            let error = bad.apply(words).unwrap_err();
            assert!(error.contains(named), "{words}: {error}");
        }
        assert_eq!(bad, Bad::default());
    }
}
