//! What tells one state of an object from another.

use std::fmt;
use std::sync::Arc;

/// Which bytes an object has: two reads of equal versions are of the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Version {
    /// What a file system says of a file: device, inode, size, and when its bytes and when its
    /// inode changed last, in nanoseconds.
    Stamp([u64; 5]),
    /// What an object store says: an entity tag, or a generation.
    Tag(Arc<str>),
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::Stamp([device, inode, size, changed, touched]) => {
                write!(f, "{device}:{inode}:{size}:{changed}:{touched}")
            }
            Version::Tag(tag) => f.write_str(tag),
        }
    }
}
