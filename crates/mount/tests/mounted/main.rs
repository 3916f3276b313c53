//! `foresee mount`, end to end: the same bytes as the original, or an error, for any program.

#[path = "../../../cache/tests/common/bytes.rs"]
mod bytes;
mod directory;
mod faults;
mod names;
mod operation;
mod place;
#[path = "../../../cli/tests/support/process.rs"]
#[allow(dead_code, reason = "a part is used")]
mod process;
mod programs;
#[path = "../../../cache/tests/common/random.rs"]
mod random;
#[path = "../../../object/tests/objects/server/mod.rs"]
#[allow(dead_code, reason = "a part is used")]
mod server;
mod writes;
