//! Random readers of objects that are replaced, over a server that is busy, late, cuts its answers
//! off and shortens them, by a seed: never a wrong byte, every error at its own reader, and all of
//! it comes to an end.

use std::env;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::bytes::{bytes, bytes_at};
use crate::random::Random;
use foresee::store::{Error as StoreError, Version};
use foresee::{Cache, Error};
use foresee_object::ObjectStore;
use foresee_object_server::{Faults, Server, Versions};

const BLOCK: u64 = 4096;
const NAMES: [&str; 3] = ["a", "b", "c"];

/// Generations are counted over all objects, so that each names its bytes.
fn generation(version: &Version) -> u64 {
    let digits: String = version.to_string().chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

fn run(seed: u64) {
    let mut random = Random(seed);
    let faults = Faults { seed, busy: 100, cut: 60, short: 60, late_us_max: 3000, ..Faults::default() };
    let versions = if seed.is_multiple_of(2) { Versions::Tags } else { Versions::IgnoredTags };
    let server = Server::new(versions, faults);
    let mut put = {
        let (server, mut generation) = (server.clone(), 1);
        move |name: &str, blocks: u64| {
            server.put(&format!("/b/{name}"), bytes(name, generation, blocks * BLOCK - 9));
            generation += 1;
        }
    };
    NAMES.iter().for_each(|name| put(name, 20 + random.below(60)));
    let store = ObjectStore::s3().set("access_key_id", "me").set("secret_access_key", "mine");
    let store = store.set("endpoint", &server.url()).deadline(Duration::from_secs(60));
    let cache =
        Cache::builder().memory(1 << 19).block_bytes(BLOCK as usize).store("s3", Arc::new(store)).open().unwrap();
    thread::scope(|scope| {
        for reader in 0..4 {
            let (cache, mut random) = (cache.reader(), Random(seed * 17 + reader));
            scope.spawn(move || {
                for _ in 0..6 {
                    let name = NAMES[random.below(3) as usize];
                    let file = cache.open(&format!("s3://b/{name}")).unwrap();
                    let generation = generation(file.version());
                    let mut plan = cache.plan();
                    if random.below(2) == 0 {
                        plan.file(&file).unwrap();
                    }
                    for _ in 0..12 {
                        let (offset, len) = (random.below(file.len()), 1 + random.below(6 * BLOCK));
                        let mut buffer = vec![0; len as usize];
                        match file.read_at(&mut buffer, offset) {
                            Ok(came) => {
                                assert_eq!(came as u64, len.min(file.len() - offset));
                                let expected = bytes_at(name, generation, offset, came);
                                assert!(buffer[..came] == expected, "seed {seed}: {name}, {came} at {offset}");
                            }
                            Err(Error::Store { error: StoreError::Changed, .. }) => break,
                            // A whole answer without a byte of what was asked for: that reader's, and passing.
                            Err(error) => assert!(error.to_string().contains("without bytes"), "seed {seed}: {error}"),
                        }
                    }
                }
            });
        }
        for _ in 0..6 {
            thread::sleep(Duration::from_millis(random.below(20)));
            put(NAMES[random.below(3) as usize], 20 + random.below(60));
        }
    });
}

#[test]
fn never_a_wrong_byte() {
    match env::var("FORESEE_SEED") {
        Ok(seed) => run(seed.parse().unwrap()),
        Err(_) => {
            let seeds = env::var("FORESEE_SEEDS").map_or(12, |it| it.parse().unwrap());
            (0..seeds).for_each(run);
        }
    }
}
