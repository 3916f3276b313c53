//! What goes wrong.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use foresee_manager::{Block, Refusal};

use crate::builder::BLOCK_BYTES_RANGE;
use crate::stores::feature_of;

/// Why something was not done. Each error reaches who asked, and nobody else; one that many waited
/// for is cloned.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The store has it differently, or not at all.
    Store {
        /// The address of what was opened or read.
        name: Arc<str>,
        /// What the store says. [`foresee_store::Error::Changed`]: open it again to read what is
        /// there now.
        error: foresee_store::Error,
    },
    /// No store was given for what an address begins with.
    NoStore(String),
    /// A policy that there is not.
    Policy(String),
    /// So little memory that there is nothing to decide.
    LittleMemory {
        /// Bytes that were given.
        bytes: usize,
        /// Bytes that as many blocks of this size take as there must be, with what is known of them, and of a disk's.
        bytes_min: usize,
        /// How many blocks there must be: with a disk one more, for what is written to it.
        blocks_min: usize,
        /// Whether there is a disk ([`crate::Builder::disk`]).
        has_disk: bool,
    },
    /// The file of the second tier ([`crate::Builder::disk`]) cannot be had.
    Disk {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: Arc<io::Error>,
    },
    /// Blocks are of a power of two of bytes, from 4 KiB to 1 MiB.
    BlockBytes(usize),
    /// The system has no memory or threads, or does not let a log be written.
    System(Arc<io::Error>),
    /// More versions of objects than can be told apart at a time, or in all where a log is kept:
    /// 16,777,215.
    TooManyFiles,
    /// An object longer than 2^40 blocks.
    TooLarge {
        /// The address of what was opened.
        name: Arc<str>,
        /// Its length in bytes.
        size: u64,
        /// Bytes of a block.
        block_bytes: usize,
    },
    /// A file, or a reader for it, of another cache than this.
    OtherCache {
        /// The address of the file.
        name: Arc<str>,
    },
    /// Views hold as much of the memory as they may: give some back.
    TooManyViews,
    /// Advice that was not taken.
    Refused(Refusal),
}

/// What a query and a fragment begin with.
const QUERY: [char; 2] = ['?', '#'];

impl Error {
    /// What a store says of what has this address.
    pub(crate) fn of_store(address: &str, error: foresee_store::Error) -> Self {
        Error::Store { name: shown(address).into(), error }
    }

    /// What has this address was opened by another cache.
    #[cold]
    pub(crate) fn other_cache(address: &str) -> Self {
        Error::OtherCache { name: shown(address).into() }
    }
}

/// An address without the name and the password that may stand before its host, and without its
/// query, which may be a signature: errors are kept and shown to others.
fn shown(address: &str) -> String {
    let Some((scheme @ ("http" | "https"), rest)) = address.split_once("://") else { return address.to_owned() };
    let without_query = |part: &str| match part.find(QUERY) {
        Some(end) => format!("{}?...", &part[..end]),
        None => part.to_owned(),
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A password may have in it what ends a host or a path elsewhere.
    let shown = match rest.rsplit_once('@').filter(|_| host.contains([':', '@'])) {
        Some((user, _)) if user.contains(QUERY) => "...".to_owned(),
        Some((_, rest)) => format!("...@{}", without_query(rest)),
        None => without_query(rest),
    };
    format!("{scheme}://{shown}")
}

/// Bytes of the smallest blocks that hold an object of this length, if there may be such blocks.
fn block_bytes_for(size: u64) -> Option<u64> {
    let bytes = size.div_ceil(Block::INDEX_LIMIT).next_power_of_two();
    (bytes <= *BLOCK_BYTES_RANGE.end() as u64).then_some(bytes)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Store { name, error } => write!(f, "{name}: {error}"),
            Error::NoStore(scheme) => {
                write!(f, "no store was given to Builder::store for '{scheme}://'")?;
                match feature_of(scheme) {
                    Some(feature) => write!(f, ", and this was built without the feature '{feature}'"),
                    None => Ok(()),
                }
            }
            Error::Policy(why) => f.write_str(why),
            Error::LittleMemory { bytes, bytes_min, blocks_min, has_disk } => {
                let (those, or_less) = match has_disk {
                    true => ("them and of those on the disk", ", or a smaller disk"),
                    false => ("them", ""),
                };
                write!(f, "a memory of {bytes} bytes holds fewer than {blocks_min} blocks, beside what is to be ")?;
                write!(f, "known of {those}: give {bytes_min} or more{or_less}")
            }
            Error::Disk { path, error } => {
                write!(f, "{} cannot be the cache's disk: {error}", path.display())
            }
            Error::BlockBytes(bytes) => write!(f, "blocks of {bytes} bytes: a power of two from 4096 to 1048576"),
            Error::System(error) => error.fmt(f),
            Error::TooManyFiles => f.write_str(
                "more versions of objects than one cache can tell apart (16,777,215): close some files, or keep no log",
            ),
            Error::TooLarge { name, size, block_bytes } => {
                write!(f, "{name}: {size} bytes are more than 2^40 blocks of {block_bytes}, the most of one object")?;
                match block_bytes_for(*size) {
                    Some(bytes) => write!(f, ": give blocks of {bytes} or more (block_bytes)"),
                    None => Ok(()),
                }
            }
            Error::OtherCache { name } => {
                write!(f, "{name}: another cache opened it: open it by the cache whose plan or reader this is")
            }
            Error::TooManyViews => f.write_str("views hold half of the memory, as much as they may: drop some"),
            Error::Refused(Refusal::Policy) => {
                f.write_str("the advice was not taken: this policy takes none, as 'lru-sp' does (Builder::policy)")
            }
            Error::Refused(why) => write!(f, "the advice was not taken: {why}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Store { error, .. } => Some(error),
            Error::System(error) | Error::Disk { error, .. } => Some(&**error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::System(Arc::new(error))
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Store { error: foresee_store::Error::NotFound, .. } => io::ErrorKind::NotFound,
            Error::Store { error: foresee_store::Error::Io(error), .. } | Error::Disk { error, .. } => error.kind(),
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_an_error_does_not_learn_a_password() {
        for (address, expected) in [
            ("http://me:mine@h/a", "http://...@h/a"),
            ("https://me:mi@ne@h:80", "https://...@h:80"),
            ("http://me:mi/ne@h/a", "http://...@h/a"),
            ("http://me:mi?ne@h/a", "http://..."),
            ("http://me:m@i?ne@h/a", "http://..."),
            ("http://me:mine@h/a?signature", "http://...@h/a?..."),
            ("http://h/a?signature=mine@", "http://h/a?..."),
            ("http://h:80/a?signature=mine@", "http://..."),
            ("http://h:80/a#mine@", "http://..."),
            ("https://h/a#token", "https://h/a?..."),
            ("http://h/me:mine@h", "http://h/me:mine@h"),
            ("s3://b/a?b#c", "s3://b/a?b#c"),
            ("s3://b@c/a", "s3://b@c/a"),
            ("/a@b", "/a@b"),
        ] {
            let error = Error::of_store(address, foresee_store::Error::NotFound);
            assert_eq!(error.to_string(), format!("{expected}: there is no such object"));
            assert!(!format!("{error:?}").contains("mine@") || address == expected);
        }
    }
}
