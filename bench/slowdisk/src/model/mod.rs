//! What makes the device slow. A model is told of requests and of the time, and says which
//! requests are complete by then; it does no I/O and owns no clock, so a test can drive it.

mod disk;
mod network;
mod settings;

pub use disk::{Disk, DiskParams};
pub use network::{Network, NetworkParams};
pub use settings::{Kind, Settings};

/// A point in time, or a span of it, in nanoseconds.
pub type Nanos = u64;

/// One read of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub id: u64,
    pub offset: u64,
    pub len: u64,
}

/// A completed request, and the moment it was due: the caller is always a little later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub id: u64,
    pub due: Nanos,
}

/// A device in virtual time. `now` must not be earlier than any completion already taken.
pub trait Model: Send {
    /// A request arrived at `now`.
    fn submit(&mut self, now: Nanos, request: Request);
    /// When [`Model::complete`] will next have something to say, if nothing else arrives.
    fn next_event(&self) -> Option<Nanos>;
    /// Appends every request complete by `now`, in the order of completion.
    fn complete(&mut self, now: Nanos, done: &mut Vec<Done>);
}
