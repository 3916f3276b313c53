//! The crate `object_store` by itself: no cache.

use std::future::Future;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::read::{BUCKET, Read};

const AT_ONCE: usize = 64;

fn run<F: Future<Output = ()>>(of: impl FnOnce(Arc<dyn ObjectStore>) -> F) {
    let store = AmazonS3Builder::from_env().with_bucket_name(BUCKET).with_allow_http(true).build().expect("a bucket");
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads").block_on(of(Arc::new(store)));
}

async fn read(store: &dyn ObjectStore, read: &Read) {
    let path = Path::from(read.key.as_str());
    let bytes = match read.length {
        0 => store.get(&path).await.expect("an object").bytes().await,
        length => store.get_range(&path, read.offset..read.offset + length).await,
    };
    read.check(&bytes.expect("bytes"));
}

/// One request after the other.
pub fn one_by_one(reads: &[Read]) {
    run(async |store| {
        for it in reads {
            read(&*store, it).await;
        }
    });
}

/// As who knows all reads can write it: 64 of them at once.
pub fn at_once(reads: &[Read]) {
    run(async |store| {
        stream::iter(reads).for_each_concurrent(AT_ONCE, |it| read(&*store, it)).await;
    });
}

/// Each run of reads that follow one another in an object as one request, whose bytes are checked
/// as they come.
pub fn streamed(reads: &[Read]) {
    run(async |store| {
        for run in reads.chunk_by(|one, next| one.key == next.key && one.offset + one.length == next.offset) {
            let [first, ..] = run else { continue };
            let whole = store.get(&Path::from(first.key.as_str())).await.expect("an object");
            let mut bytes = whole.into_stream().map_ok(|chunk| chunk.to_vec());
            let mut came = Vec::new();
            for it in run {
                while (came.len() as u64) < it.length {
                    came.extend(bytes.try_next().await.expect("bytes").expect("as many as there are"));
                }
                let rest = came.split_off(it.length as usize);
                it.check(&came);
                came = rest;
            }
        }
    });
}
