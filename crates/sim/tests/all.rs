//! All of this crate's integration tests as one program, which is compiled and linked once, and
//! whose tests share the processors.

mod arms;
mod at_once;
mod bound;
mod conformance;
mod devices;
mod files;
mod formats;
mod host;
mod informed;
mod known_answers;
mod lying;
mod machine;
mod outside;
mod patterns;
mod readers;
mod replay;
mod sampled;
mod schedules;
mod strided;
mod sums;
mod told;
mod trust;
mod validation;
mod wrong;
