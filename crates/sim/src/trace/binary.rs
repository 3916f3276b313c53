//! What the binary formats share: records of one length, little-endian.

use super::Input;
use crate::error::{At, Error};

/// The bytes of a file, and how many were read.
pub(super) struct Records {
    input: Input,
    offset: u64,
}

impl Records {
    pub(super) fn new(input: Input) -> Self {
        Records { input, offset: 0 }
    }

    /// Where the record of this length read last begins.
    pub(super) fn at(&self, length: usize) -> At {
        At::Byte(self.offset.saturating_sub(length as u64))
    }

    /// Fills `record` with the next bytes; false at the end of the file.
    #[inline]
    pub(super) fn next(&mut self, record: &mut [u8]) -> Result<bool, Error> {
        let at = At::Byte(self.offset);
        let read = self.input.record(record, at)?;
        if read > 0 && read < record.len() {
            let length = record.len();
            let what = format!(
                "a record of {length} bytes begins here, and only {read} are left; the file is cut short or is in \
                 another format"
            );
            return Err(Error::new(self.input.path(), at, what));
        }
        self.offset += read as u64;
        Ok(read > 0)
    }

    /// What is wrong with the record of this length read last.
    pub(super) fn broken(&self, length: usize, what: impl Into<String>) -> Error {
        Error::new(self.input.path(), self.at(length), what)
    }
}

/// `N` bytes of a record.
pub(super) fn part<const N: usize>(record: &[u8], from: usize) -> [u8; N] {
    std::array::from_fn(|at| record[from + at])
}
