//! Reads objects of an S3 server by one of the contenders, and checks what came:
//! `foresee-bench-serving CONTENDER[@POLICY]`.
//!
//! Where the server is and with what keys is the environment's. The seconds that it took are
//! printed. `run.py` says which jobs there are.

mod foresee_reads;
mod object_store_reads;
mod read;

use std::time::Instant;

fn main() {
    let contender = std::env::args().nth(1).unwrap_or_default();
    let reads = read::all();
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
