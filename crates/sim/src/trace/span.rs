//! What of a file a request speaks of, in bytes and in blocks.

use foresee_manager::{Block, FileId};

use super::Request;

/// What a request speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// A whole thing with a number, one block to a cache: a block of a block trace, an object of an
    /// object trace.
    Object {
        /// Any number: a place, or a hash.
        number: u64,
        /// Its size.
        bytes: u64,
    },
    /// A range of a file's bytes; it may touch several blocks.
    Range {
        /// The first byte.
        offset: u64,
        /// How many.
        length: u64,
    },
}

impl Default for Span {
    fn default() -> Self {
        Span::Range { offset: 0, length: 0 }
    }
}

impl Span {
    /// About how many blocks.
    pub(super) fn blocks(self, block_bytes: u64) -> u64 {
        match self {
            Span::Object { .. } => 1,
            Span::Range { length, .. } => 1 + length / block_bytes,
        }
    }

    /// How many bytes of a file; none of a thing that is one block whatever its size.
    pub(super) fn length(self) -> u64 {
        match self {
            Span::Object { .. } => 0,
            Span::Range { length, .. } => length,
        }
    }

    /// How many bytes were asked for.
    pub fn bytes(self) -> u64 {
        match self {
            Span::Object { bytes, .. } => bytes,
            Span::Range { length, .. } => length,
        }
    }
}

/// The blocks a range of bytes touches: the first, and how many.
///
/// # Errors
/// If it reaches beyond what a block's index can say.
pub(crate) fn blocks_of(offset: u64, length: u64, block_bytes: u64) -> Result<(u64, u64), String> {
    if length == 0 {
        return Ok((offset / block_bytes, 0));
    }
    let last = offset.checked_add(length - 1).map(|last| last / block_bytes);
    match last.filter(|&last| last < Block::INDEX_LIMIT) {
        Some(last) => Ok((offset / block_bytes, last - offset / block_bytes + 1)),
        None => Err(format!(
            "a read of {length} bytes from {offset} reaches beyond block 2^40 (blocks of {block_bytes} bytes); use larger \
             blocks or leave the request out"
        )),
    }
}

impl Request {
    /// The request as numbers of blocks, for formats that know nothing else: file 0's blocks by
    /// their place, another file's from file * 2^40 on.
    ///
    /// # Errors
    /// If a place or the file's number is too large for that.
    pub fn numbers(&self, block_bytes: u64) -> Result<impl Iterator<Item = u64> + use<>, String> {
        let (first, count) = match self.span {
            Span::Object { number, .. } => (number, 1),
            Span::Range { offset, length } => {
                if self.file >= FileId::LIMIT {
                    return Err(format!("file number {} is beyond {}; split the trace", self.file, FileId::LIMIT - 1));
                }
                let (first, count) = blocks_of(offset, length, block_bytes)?;
                (u64::from(self.file) * Block::INDEX_LIMIT + first, count)
            }
        };
        // Added to the first one by one: an object's number may be the last there is.
        Ok((0..count).map(move |nth| first + nth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_touches_the_blocks_it_overlaps() {
        assert_eq!(blocks_of(0, 1, 4096), Ok((0, 1)));
        assert_eq!(blocks_of(4095, 2, 4096), Ok((0, 2)));
        assert_eq!(blocks_of(4096, 4096, 4096), Ok((1, 1)));
        assert_eq!(blocks_of(5000, 0, 4096), Ok((1, 0)));
        assert!(blocks_of(u64::MAX, 2, 4096).is_err());
        assert!(blocks_of(1 << 52, 1, 4096).is_err());
    }
}
