//! A cache's size as a user writes it: `1000` blocks, `64MiB`, or `10%` of the trace's different
//! blocks.

use crate::load::Trace;

/// Binary multiples, largest last; the unit may be written `M` or `MiB`.
const UNITS: [(&str, u64); 4] = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40)];

/// A cache's size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// A number of blocks.
    Blocks(u64),
    /// A number of bytes.
    Bytes(u64),
    /// A share of the trace's different blocks.
    Share(f64),
}

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad =
            || format!("'{text}' is no cache size: blocks as in 1000, bytes as in 64MiB or 64M, or a share as in 10%");
        if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.parse().map_err(|_| bad())?;
            return if percent > 0.0 && percent <= 1e6 { Ok(Size::Share(percent / 100.0)) } else { Err(bad()) };
        }
        let short = text.strip_suffix("iB").unwrap_or(text);
        for (unit, bytes) in UNITS {
            if let Some(number) = short.strip_suffix(unit) {
                let number: u64 = number.parse().map_err(|_| bad())?;
                return number.checked_mul(bytes).filter(|&bytes| bytes > 0).map(Size::Bytes).ok_or_else(bad);
            }
        }
        text.parse().ok().filter(|&blocks| blocks > 0).map(Size::Blocks).ok_or_else(bad)
    }
}

impl Size {
    /// The size in blocks of this trace, at least one.
    pub fn blocks(self, trace: &Trace) -> u64 {
        let blocks = match self {
            Size::Blocks(blocks) => blocks,
            Size::Bytes(bytes) => bytes / trace.block_bytes,
            Size::Share(share) => (trace.distinct_blocks() as f64 * share).round() as u64,
        };
        blocks.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_blocks_bytes_or_shares() {
        let trace = Trace::of_blocks(0..200, 4096);
        for (text, blocks) in [("1000", 1000), ("64MiB", 16384), ("64M", 16384), ("8K", 2), ("1K", 1), ("10%", 20)] {
            assert_eq!(text.parse::<Size>().map(|size| size.blocks(&trace)), Ok(blocks), "{text}");
        }
        for text in ["", "0", "-1", "64MB", "iB", "M", "0%", "-1%", "NaN%", "x", "99999999999T"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
