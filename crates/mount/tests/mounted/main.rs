//! `foresee mount`, end to end: the same bytes as the original, or an error, for any program.

mod account;
#[path = "../../../cache/tests/common/bytes.rs"]
mod bytes;
mod calls;
mod changed;
mod directory;
mod faults;
mod fstab;
mod hints;
mod limits;
mod model;
mod moves;
mod names;
mod operation;
mod orders;
mod place;
#[path = "../../../cli/tests/support/process.rs"]
mod process;
mod programs;
#[path = "../../../cache/tests/common/random.rs"]
mod random;
mod scale;
mod streams;
mod system_log;
mod trust;
mod writes;
