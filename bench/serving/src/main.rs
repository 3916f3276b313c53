//! Reads objects of an S3 server by one of the contenders, and checks what came: `foresee-bench-serving CONTENDER[@POLICY]`.
//!
//! The reads come on standard input, a line each: `key offset length`; of a length of 0 the whole object. Where the server is and with
//! what keys is the environment's. The seconds that it took are printed. `run.py` says which jobs there are.

mod foresee_reads;
mod object_store_reads;

use std::io::{self, BufRead};
use std::time::Instant;

pub const BUCKET: &str = "data";
const PAGE: u64 = 4096;

/// What is read.
#[derive(Clone)]
pub struct Read {
    pub key: String,
    pub offset: u64,
    /// 0: the whole object.
    pub length: u64,
}

impl Read {
    /// Whether the bytes are those that lie there: each page begins with its number.
    pub fn check(&self, bytes: &[u8]) {
        assert!(self.length == 0 || bytes.len() as u64 == self.length, "{}: {} bytes", self.key, bytes.len());
        for (page, bytes) in (self.offset / PAGE..).zip(bytes.chunks(PAGE as usize)) {
            let begin: Option<&[u8; 8]> = bytes.first_chunk();
            assert!(begin.is_none_or(|begin| u64::from_le_bytes(*begin) == page), "{}: page {page} is wrong", self.key);
        }
    }
}

fn reads() -> Vec<Read> {
    let parse = |line: String| {
        let mut words = line.split(' ');
        let mut next = || words.next().expect("key offset length").to_owned();
        let (key, offset, length) = (next(), next(), next());
        Read { key, offset: offset.parse().expect("an offset"), length: length.parse().expect("a length") }
    };
    io::stdin().lock().lines().map(|line| parse(line.expect("a line"))).collect()
}

fn main() {
    let contender = std::env::args().nth(1).unwrap_or_default();
    let reads = reads();
    let begun = Instant::now();
    let (name, policy) = match contender.split_once('@') {
        Some((name, policy)) => (name, Some(policy)),
        None => (contender.as_str(), None),
    };
    match name {
        "foresee" => foresee_reads::untold(&reads, policy),
        "foresee-told" => foresee_reads::told(&reads, policy),
        "object_store" => object_store_reads::one_by_one(&reads),
        "object_store-64" => object_store_reads::at_once(&reads),
        "object_store-stream" => object_store_reads::streamed(&reads),
        _ => panic!("no contender '{contender}'"),
    }
    println!("{}", begun.elapsed().as_secs_f64());
}
