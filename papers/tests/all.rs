//! All of this crate's integration tests as one program, which is compiled and linked once, and
//! whose tests share the processors.

mod p001;
mod p002;
mod p003;
mod p004;
