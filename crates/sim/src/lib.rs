//! The manager on a virtual clock, and the traces to run it on.
//!
//! There are two ways to run one:
//!
//! - **[`untimed`]**: a trace through a policy, nothing takes time. It answers what hits and what
//!   misses, at tens of millions of requests a second, for many policies and sizes at once.
//! - **[`host`]**: the simulated host. Readers think, read and wait; devices take their time;
//!   things go wrong as planned. It answers how long a program stalls. [`timed`] runs a trace on
//!   it.
//!
//! [`device`] holds the devices, among them models of the papers' disks, compared with measured
//! ones by [`device::validate`]. [`trace`] reads and writes the formats, [`load`] holds a trace in
//! memory, [`replay`] compares a log of any host with what the manager does today.
//!
//! # One example
//! ```
//! use foresee_manager::{Config, Source};
//! use foresee_sim::{host, load::Trace, timed, untimed};
//!
//! // Blocks 0 to 9, twice over, in a cache of 8: LRU never hits.
//! let trace = Trace::of_blocks((0..10).chain(0..10), 4096);
//! let cell = untimed::Cell::new("lru".parse()?, 8);
//! assert_eq!(untimed::sweep(&trace, &[cell], &|_, _| {})[0].misses, 20);
//!
//! // The same with a clock, on a store of 1 ms that takes any number of requests at once: 20 ms. Disclosed, and with half
//! // of the cache for what is not read yet: four blocks arrive at a time.
//! let config = |policy: &str| -> Result<Config, String> {
//!     Ok(Config::new(8, policy.parse()?))
//! };
//! let device = "servers=0,latency_us=1000".parse()?;
//! let told = |disclose| timed::Options { think: timed::Think::None, disclose, device, disks: 1, lookup_ns: 0 };
//! let lru = host::run(&timed::setup(&trace, &told(None), config("lru")?))?;
//! let tip1 = host::run(&timed::setup(&trace, &told(Some(timed::Disclosure::TOLD)), config("tip1:unread_share=0.5")?))?;
//! assert_eq!(lru.elapsed_ns, 20_000_000);
//! assert!(tip1.elapsed_ns <= 6_000_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod cells;
mod clock;
mod column;
pub mod device;
pub mod error;
pub mod explain;
pub mod faults;
pub mod host;
pub mod load;
pub mod replay;
mod sample;
pub mod size;
pub mod timed;
pub mod trace;
pub mod untimed;
