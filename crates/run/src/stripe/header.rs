//! What a member says of itself, in its first [`HEADER_BYTES`]: lines of text, and zeros behind
//! them.

use std::fmt;

/// Reads that go past the page cache begin and end at multiples of this on every disk we know of.
pub const ALIGN_BYTES: u64 = 4096;
/// Room of the header: as much as keeps the units behind it aligned.
pub const HEADER_BYTES: u64 = ALIGN_BYTES;
/// Members of a set. More disks than this have a controller of their own, and each member may have
/// its threads.
pub const MEMBERS_MAX: usize = 64;

const KIND: &str = "foresee stripe ";
const VERSION: u32 = 1;
const DAMAGED: &str = "has a damaged header; copy it again from where it came";

/// A member's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// The same in all members of a set, and in no others.
    pub set: u128,
    /// Which one this is, from 0; people count from 1.
    pub member: u16,
    pub members: u16,
    pub unit_bytes: u64,
    /// Bytes of the whole file.
    pub size: u64,
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { set, member, members, unit_bytes, size } = self;
        let number = member + 1;
        writeln!(f, "{KIND}{VERSION}\nset {set:032x}\nmember {number} of {members}\nunit {unit_bytes}\nsize {size}")
    }
}

impl Header {
    /// As it stands in the file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.to_string().into_bytes();
        bytes.resize(HEADER_BYTES as usize, 0);
        bytes
    }

    /// Reads it back; says what is wrong with what is no header.
    pub fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let text = bytes.split(|&byte| byte == 0).next().and_then(|text| str::from_utf8(text).ok()).unwrap_or("");
        let mut lines = text.lines();
        let version = lines.next().and_then(|line| line.strip_prefix(KIND));
        let version = version
            .ok_or("is no member of a striped file: it does not begin as 'foresee stripe split' writes them")?
            .parse::<u32>();
        match version {
            Ok(VERSION) => {}
            Ok(other) if other > VERSION => return Err("was written by a newer foresee"),
            _ => return Err(DAMAGED),
        }
        let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let mut header = || {
            let set = u128::from_str_radix(value("set")?, 16).ok()?;
            let (number, members) = value("member")?.split_once(" of ")?;
            let (number, members): (u16, u16) = (number.parse().ok()?, members.parse().ok()?);
            let (unit_bytes, size) = (value("unit")?.parse().ok()?, value("size")?.parse().ok()?);
            let header = Header { set, member: number.checked_sub(1)?, members, unit_bytes, size };
            (number <= members && usize::from(members) <= MEMBERS_MAX && header.check().is_ok()).then_some(header)
        };
        header().ok_or(DAMAGED)
    }

    /// Whether a file may be dealt out like this.
    pub fn check(&self) -> Result<(), String> {
        let unit = self.unit_bytes;
        if unit == 0 || !unit.is_multiple_of(ALIGN_BYTES) || unit > i64::MAX as u64 {
            return Err(format!("a unit of {unit} bytes: must be a multiple of {ALIGN_BYTES}, as in 64K"));
        }
        if self.size > i64::MAX as u64 - HEADER_BYTES - ALIGN_BYTES {
            return Err(format!("a size of {} bytes: is more than files can have", self.size));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header { set: 0xfe, member: 1, members: 3, unit_bytes: 65_536, size: 1_000_000 };

    #[test]
    fn what_is_written_is_read_back() {
        let bytes = HEADER.bytes();
        assert_eq!(bytes.len() as u64, HEADER_BYTES);
        assert_eq!(Header::parse(&bytes), Ok(HEADER));
        assert!(HEADER.to_string().contains("\nmember 2 of 3\n"));
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let with = |from: &str, to: &str| Header::parse(HEADER.to_string().replace(from, to).as_bytes()).unwrap_err();
        assert!(with("stripe 1", "stripe 2").contains("newer"));
        assert!(with("foresee", "forsee").contains("no member"));
        for (from, to) in [
            ("stripe 1", "stripe 0"),
            ("stripe 1", "stripe l"),
            ("2 of 3", "0 of 3"),
            ("2 of 3", "4 of 3"),
            ("2 of 3", "2 of 65"),
            ("unit 65536", "unit 0"),
            ("unit 65536", "unit 65537"),
            ("size 1000000", "size 9223372036854775807"),
            ("size 1000000", "size -1"),
            ("set ", "sett "),
        ] {
            assert!(with(from, to).contains("damaged"), "{to}");
        }
        assert!(Header::parse(&[]).is_err() && Header::parse(&[0xff; 4096]).is_err());
    }
}
