//! What carries orders out.

use foresee_manager::{Event, Order, Time};

/// Has the bytes and the devices, and carries out what the manager decides.
///
/// What became of an order comes back as an event, which whoever runs the host tells the driver:
///
/// | order | events, exactly one of them |
/// | --- | --- |
/// | `Lookup` | `FileKnown`, or `FileMissing`; none if a reader opened the file meanwhile, and it is known from there |
/// | `Fetch` | `FetchDone` when all its blocks are here, or `FetchFailed` |
/// | `Drop` | none; a later `Fetch` of these blocks is carried out after it |
///
/// An order is begun in [`Host::carry_out`] or later, never finished there: its event is told after
/// the event that led to it.
pub trait Host {
    /// The time of what happens now. It never goes back.
    fn now(&self) -> Time;

    /// What the manager must hear before anything else, if there is something: `Caution` and
    /// `ReadaheadWindow` of a device, ahead of the first `FileKnown` of a file on it.
    fn news(&mut self) -> Option<Event> {
        None
    }

    /// Begins to carry an order out, or notes it. Waits for nothing.
    fn carry_out(&mut self, order: Order);
}
