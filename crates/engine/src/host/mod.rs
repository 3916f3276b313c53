//! Hosts: they carry out what the manager decides, and report what became of it.

mod doorbell;
mod memory;
mod pagecache;
mod place;
mod residency;
mod scratch;
mod share;
mod uring;
mod workers;

pub use memory::Memory;
pub use pagecache::{PageCache, Report};
pub use residency::{BLOCK_BYTES, blocks, drop_pages, resident_pages, resident_runs};
pub use share::Share;
pub use workers::{Listed, Purpose, open_to_read};
