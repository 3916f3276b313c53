//! Mutations of kept inputs, and what a reader takes of memory for them.
//!
//! A target under `tests/targets` reads what is in its folder of `corpus`, as it is and mutated. It
//! must neither panic, nor go on for ever, nor take more memory than its input warrants; what it
//! makes of the input is its own affair. An input that once did harm is kept in the corpus.
//!
//! Mutations are drawn by proptest, so that a failing one is shrunk, and a seed gives the same ones
//! again. There is no feedback from coverage, which on stable Rust nothing gives; that mutations
//! know of numbers, lines and pieces of other inputs stands in for it.

mod corpus;
mod memory;
mod mutation;

pub use corpus::Corpus;
pub use memory::{Counting, peak_bytes};
pub use mutation::{Mutant, mutants};
