//! Reads objects of an S3 server through mountpoint's prefetcher, without its mount, for
//! `bench/serving`.
//!
//! Where the server is and with what keys is the environment's. The seconds that it took are
//! printed.

#[path = "../../../serving/src/read.rs"]
mod read;

use std::collections::HashMap;
use std::env;
use std::time::Instant;

use anyhow::Result;
use foresee_bench_mountpoint::Client;
use futures::executor::block_on;
use mountpoint_s3_client::types::HeadObjectParams;
use mountpoint_s3_client::{ObjectClient, S3CrtClient};
use mountpoint_s3_fs::memory::MINIMUM_MEM_LIMIT;
use mountpoint_s3_fs::object::ObjectId;
use mountpoint_s3_fs::prefetch::{PrefetchGetObject, Prefetcher, PrefetcherConfig};
use read::{BUCKET, Read};

/// An open object and its length.
struct File {
    bytes: PrefetchGetObject<S3CrtClient>,
    length: u64,
}

async fn open(s3: &S3CrtClient, prefetcher: &Prefetcher<S3CrtClient>, key: &str) -> Result<File> {
    let head = s3.head_object(BUCKET, key, &HeadObjectParams::new()).await?;
    let object = ObjectId::new(key.to_owned(), head.etag);
    Ok(File { bytes: prefetcher.prefetch(BUCKET.to_owned(), object, head.size), length: head.size })
}

async fn read_all(reads: &[Read]) -> Result<()> {
    let Client { s3, runtime, pool } =
        Client::new(&env::var("AWS_ENDPOINT_URL")?, &env::var("AWS_REGION")?, MINIMUM_MEM_LIMIT)?;
    let prefetcher = Prefetcher::default_builder(s3.clone()).build(runtime, pool, PrefetcherConfig::default());
    let mut files = HashMap::new();
    for read in reads {
        // Many small objects are not held open.
        let mut file = match files.remove(&read.key) {
            Some(file) => file,
            None => open(&s3, &prefetcher, &read.key).await?,
        };
        let length = if read.length == 0 { file.length } else { read.length };
        read.check(&file.bytes.read(read.offset, length as usize).await?.into_bytes()?);
        if read.length != 0 {
            files.insert(&read.key, file);
        }
    }
    Ok(())
}

fn main() -> Result<()> {
    let reads = read::all();
    let begun = Instant::now();
    block_on(read_all(&reads))?;
    println!("{}", begun.elapsed().as_secs_f64());
    Ok(())
}
