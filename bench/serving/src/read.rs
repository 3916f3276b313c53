//! What is read, as `run.py` writes it on standard input: a line each, `key offset length`; of a
//! length of 0 the whole object.

use std::io::{self, BufRead};

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

/// All of it, in its order.
pub fn all() -> Vec<Read> {
    let parse = |line: String| {
        let mut words = line.split(' ');
        let mut next = || words.next().expect("key offset length").to_owned();
        let (key, offset, length) = (next(), next(), next());
        Read { key, offset: offset.parse().expect("an offset"), length: length.parse().expect("a length") }
    };
    io::stdin().lock().lines().map(|line| parse(line.expect("a line"))).collect()
}
