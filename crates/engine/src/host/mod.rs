//! Hosts: they carry out what the manager decides, and report what became of it.

mod doorbell;
mod memory;
mod pagecache;
mod residency;
mod scratch;
mod uring;
mod workers;

pub use memory::Memory;
pub use pagecache::{PageCache, Report};
pub use residency::{BLOCK_BYTES, drop_pages, resident_map, resident_pages};
pub use workers::Listed;
