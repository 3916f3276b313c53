//! Objects over HTTP and S3, as a cache reads them from a server that misbehaves.

#[path = "../../../cache/tests/common/bytes.rs"]
mod bytes;
mod faults;
#[path = "../../../cache/tests/common/random.rs"]
mod random;
mod reads;
