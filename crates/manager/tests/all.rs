//! All of this crate's integration tests as one program, which is compiled and linked once, and
//! whose tests share the processors.

mod advice;
mod along;
mod beside_lru;
mod composed;
mod conformance;
mod cost;
mod counters;
mod dispatch;
mod experts;
mod far_reads;
mod forgotten;
mod governor;
mod hints;
mod messages;
mod model;
mod order;
mod overdue;
mod own_hints;
mod partitioned;
mod registry;
mod reuse;
mod runs;
mod sequential;
mod shaped;
mod support;
mod windows;
