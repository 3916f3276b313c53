//! What values are made of: how far down a recency queue hits fall, what was there lately, who
//! refers how often, what each request costs.
//!
//! A value is a time saved per page of memory and reference (000 section 4.5): nanoseconds, in
//! floating point, for it is only ever compared. The sums are made of additions and multiplications
//! in a fixed order, so that the same events give the same values to the last bit (I8).

pub mod agenda;
pub mod cost;
pub mod debt;
pub mod ghosts;
pub mod pace;
pub mod rates;
pub mod recency;
pub mod sketch;
