//! The library, in 128 MiB.

use std::collections::HashMap;
use std::time::Duration;

use foresee::{Cache, File};

use crate::read::{BUCKET, Read};

const MEMORY: usize = 128 << 20;
/// What a plan looks up ahead is opened as it was then.
const MAX_AGE: Duration = Duration::from_secs(10);

fn cache(policy: Option<&str>) -> Cache {
    let builder = Cache::builder().memory(MEMORY).max_age(MAX_AGE);
    policy.iter().fold(builder, |builder, policy| builder.policy(policy)).open().expect("a cache")
}

fn address(read: &Read) -> String {
    format!("s3://{BUCKET}/{}", read.key)
}

/// Nothing is said ahead.
pub fn untold(reads: &[Read], policy: Option<&str>) {
    read_all(&cache(policy), &mut HashMap::new(), reads);
}

/// All of it is said ahead: whole objects by their names, and of the rest ranges.
pub fn told(reads: &[Read], policy: Option<&str>) {
    let (cache, mut files) = (cache(policy), HashMap::new());
    let mut plan = cache.plan();
    for read in reads {
        if read.length == 0 {
            plan.address(&address(read)).expect("a store");
        } else {
            let file: &File = files.entry(read.key.clone()).or_insert_with(|| open(&cache, read));
            plan.range(file, read.offset..read.offset + read.length).expect("a file of this cache");
        }
    }
    read_all(&cache, &mut files, reads);
}

fn open(cache: &Cache, read: &Read) -> File {
    cache.open(&address(read)).expect("an object")
}

fn read_all(cache: &Cache, files: &mut HashMap<String, File>, reads: &[Read]) {
    let mut buffer = Vec::new();
    for read in reads {
        // Many small objects are not held open.
        let small = (read.length == 0).then(|| open(cache, read));
        let file = small.as_ref().unwrap_or_else(|| files.entry(read.key.clone()).or_insert_with(|| open(cache, read)));
        let length = if read.length == 0 { file.len() } else { read.length };
        buffer.resize(length as usize, 0);
        assert_eq!(file.read_at(&mut buffer, read.offset).expect("bytes") as u64, length);
        read.check(&buffer);
    }
}
