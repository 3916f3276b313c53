//! The atomics of the region: loom's under `cfg(loom)`, whose models (`models.rs`) try the orders
//! in which they can take effect.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64};
