//! Hosts: they carry out what the manager decides, and report what became of it.

mod doorbell;
mod drops;
mod leases;
mod memory;
mod mounts;
mod open;
mod pagecache;
mod pieces;
mod residency;
mod scratch;
mod share;
mod stretches;
mod unlooked;
mod untouched;
mod uring;
mod warm;
mod window;
mod workers;

pub use memory::Memory;
pub use mounts::MountAccount;
pub use open::{Descriptor, open_to_read, reopen};
pub(crate) use pagecache::HEAD_START;
pub use pagecache::{Files, PageCache, Report};
pub use residency::{BLOCK_BYTES, blocks, drop_pages, resident_runs};
pub use share::Share;
pub use workers::{Listed, Purpose};
