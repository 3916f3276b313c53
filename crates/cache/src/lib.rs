//! A cache with a memory of its own, which is told, or finds out, what will be read next.
//!
//! ```
//! # fn main() -> Result<(), foresee::Error> {
//! # let directory = std::env::temp_dir().join(format!("foresee-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory).unwrap();
//! # let path = directory.join("table").to_str().unwrap().to_owned();
//! # std::fs::write(&path, vec![7; 100_000]).unwrap();
//! let cache = foresee::Cache::builder().memory(64 << 20).open()?;
//! let file = cache.open(&path)?;
//!
//! // What will be read, in this order: it is read ahead as far as that pays.
//! let mut plan = cache.plan();
//! for row in [70_000, 3_000, 41_000] {
//!     plan.range(&file, row..row + 100)?;
//! }
//! let mut bytes = [0; 100];
//! for row in [70_000, 3_000, 41_000] {
//!     assert_eq!(file.read_at(&mut bytes, row)?, 100);
//! }
//!
//! // Without a copy: up to the end of the block that it lies in.
//! assert_eq!(file.view(41_000, 100)?[0], 7);
//! # drop((plan, file, cache));
//! # std::fs::remove_dir_all(&directory).unwrap();
//! # Ok(())
//! # }
//! ```
//!
//! # What holds, whatever is read by how many threads
//! - **Memory**: the cache takes no more than [`Builder::memory`] says, what is on its way and what
//!   is known of it included. On top come what plans have unread, some 240 bytes a range, a million
//!   at most; the names of what was opened, some 300 bytes for each version of each object that is
//!   open, planned or here, and for 16,384 others (with a log, for all); the stacks of its threads
//!   and what their allocator keeps, 1 to 2 MB, and some 100 KB for each thread that reads: what is
//!   known is noted by whichever thread reads, and glibc's allocator has an arena for each, with gaps
//!   of its own (`MALLOC_ARENA_MAX=1` about halves it); and with object stores, their connections and 8
//!   MiB at most, all together, for the first bytes of small objects. glibc's allocator also keeps
//!   most of the memory that large plans have taken, for later ones: 70 to 105 MB once a plan of a
//!   million ranges is gone. `malloc_trim(0)` gives it back.
//! - **Bytes**: what is read of a [`File`] is of the version that it had when it was opened. If its
//!   store has another by now, what is in memory can still be read, and the rest is an error; to
//!   open it again is to have the new one. A version is looked at after each request. Of a local
//!   file, to change what its inode says is to make another: `chmod`, a hard link, a rename or an
//!   unlink, too, though no byte changed. Who writes to a file can set its old time again (`cp -p`,
//!   `rsync -t`, `tar`), and then nothing else of it tells.
//! - **Errors** reach who reads the blocks that could not be read, and nobody else. Of a request
//!   for several blocks that failed, those that somebody waits for are asked for once more, one by
//!   one, unless the store has asked again by itself, as object stores do
//!   ([`Store::is_persistent`](foresee_store::Store::is_persistent)); nothing else is tried again.
//! - **A plan never changes bytes**: it says what is read ahead and what is kept, and a wrong one
//!   costs time.
//! - **Disk**, if it has one ([`Builder::disk`]): no more bytes than it was given; what lies there
//!   is checked when it is read, and what is damaged comes from its store. It is never waited for
//!   to take something, and a disk that fails, is full or slower than the store is left alone, and
//!   tried now and then. No more is written than it holds, than was read from it, and an eighth of
//!   what stores brought.
//! - **Forks**: a child has none of the cache's threads and would wait for them for ever; it opens
//!   a cache of its own. Where a process goes without dropping a cache with a disk, its children
//!   keep that until they end or become other programs.
//!
//! # What it costs
//! Blocks of 16 KiB by default ([`Builder::block_bytes`]), and some 650 bytes beside each, most of
//! them what the policy knows of it. A read of what is in memory is a look into a table and a copy,
//! without a lock that readers share; a view is the same without the copy. What is missed waits for
//! one request to its store, together with all its neighbours that the same read wants. Threads:
//! for each store that looks names up, and for each of its places (buckets, file systems) that is
//! read, up to one for each request that it serves side by side, and up to 16 for generators,
//! started as they are needed. A miss is read by the thread that misses, where one more request may
//! be out. Up to 512 objects stay open that nobody has open any more, so that what is left of them
//! can be read again, and with them what they hold (one that holds a [`File`] of the same cache
//! keeps the cache; one that reads it waits for memory, and for ever where all of that is kept for
//! what such objects are to bring: a cache of its own is better). Of local files each is a
//! descriptor, given back when an object cannot be opened as the system has no more.
//!
//! # Without a thread for each wait
//! [`Cache::open_async`], [`File::read_at_async`], [`File::view_async`] and what else waits for a
//! store ([`Cache::list_async`], `folder_async`, `version_async`, `remove_async`, `rename_async`) are
//! futures, of no executor in particular. Thousands may wait at once: each takes the bytes that it
//! is to bring, and no thread. What writes has none: [`Cache::create`] begins what takes many calls,
//! each of which may wait, and belongs on a thread; nor has [`Cache::open_listed`], which asks object
//! stores nothing. Names are looked up by as many threads as the store serves requests at once
//! ([`foresee_store::Store::depth`]), for all of these and for plans: as many long lists hold the
//! others up.
//!
//! # Stores
//! A path, or `file://` and a path, is a file of this machine's, read past the system's page cache where its file system can.
//!
//! With the features `s3`, `gcs`, `azure` and `http`, `s3://bucket/key`, `gs://bucket/key`,
//! `az://container/key` and `http(s)://host/path` are opened just so. Credentials and endpoints are
//! the environment's, as the crate [`foresee-object`](https://docs.rs/foresee-object) has it. They
//! are not on unless said: what they need takes minutes to compile.
//!
//! Other addresses are those of stores that the builder was given ([`Builder::store`]), and so are
//! these where the builder was given another store for them; [`foresee_store::Store`] is what they
//! implement.

mod builder;
mod cache;
mod error;
mod file;
mod log;
mod plan;
mod pool;
mod reader;
mod statistics;
mod stores;
mod table;
mod tier;
mod view;

pub use builder::Builder;
pub use cache::Cache;
pub use error::Error;
pub use file::File;
pub use foresee_manager::{LevelOrder, Outcomes, Refusal};
pub use foresee_store as store;
pub use plan::Plan;
pub use statistics::{DiskStatistics, Statistics};
pub use view::View;
