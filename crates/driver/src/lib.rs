//! One driver between sources and hosts.
//!
//! ```text
//! source --event--> Driver --order--> Host
//!    ^                |  \              |
//!    +-----reply------+   +--> tap      +--> what became of the orders: events again
//! ```
//!
//! A *source* sees what is read, asked and disclosed: the ring that programs post to, the readers
//! of a simulation. A [`Host`] has the bytes and the devices: the page cache, the virtual machine
//! of a simulation. The [`Driver`] owns the manager between them: it takes events from both, hands
//! *orders* to the host and *replies* back to the source, and says what an event came
//! to ([`foresee_manager::Counted`]). All that enters and leaves the manager passes its [`Tap`],
//! where it is logged ([`Log`]).
//!
//! What every host must do is said in [`Host`], and checked by the suite in `conformance` (a
//! feature of this crate), which all of them pass.

#![forbid(unsafe_code)]

#[cfg(feature = "conformance")]
pub mod conformance;
mod driver;
mod host;
mod log;

pub use driver::{Driver, Tap};
pub use host::Host;
pub use log::{Log, LogSink};
