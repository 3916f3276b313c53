//! Hosts: they carry out what the manager decides, and report what became of it.

mod doorbell;
mod memory;
mod mounts;
mod open;
mod pagecache;
mod place;
mod residency;
mod scratch;
mod share;
mod uring;
mod workers;

pub use memory::Memory;
pub use mounts::MountAccount;
pub use open::{Descriptor, open_to_read};
pub use pagecache::{Files, PageCache, Report};
pub use residency::{BLOCK_BYTES, blocks, drop_pages, resident_runs};
pub use share::Share;
pub use workers::{Listed, Purpose};
