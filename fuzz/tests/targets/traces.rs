//! Traces, in every format there is: each has a folder in the corpus, or the test fails.

use std::fs;

use foresee_fuzz::{Corpus, mutants};
use foresee_sim::trace::{Format, REGISTRY, Reader, open};
use proptest::test_runner::{TestError, TestRunner};

use super::{bounded, config, scratch};

/// Buffers of 256 KiB, and of Parquet's nine columns a page of 2 MiB each; a line of some ten bytes
/// may be a request that is held until all are sorted, or a name, and a byte of a page is 4 KiB.
const MEMORY: (u64, u64) = (24 << 20, 4 << 10);
/// Requests that a byte may be: what is packed, and runs of a column, are many for a few bytes.
const REQUESTS_A_BYTE: u64 = 4096;

fn folder(format: &Format) -> String {
    format!("traces/{}", format.name)
}

/// Whether it is a trace of this format; how many requests.
fn read(format: &'static Format, bytes: &[u8]) -> Option<u64> {
    let path = scratch(format.name);
    fs::write(&path, bytes).expect("a scratch file");
    let read = || {
        let mut reader = open(&path, Some(format), 4096).ok()?;
        let mut requests = 0;
        while reader.next().ok()?.is_some() {
            requests += 1;
            assert!(requests <= REQUESTS_A_BYTE * bytes.len() as u64, "{} goes on for ever", format.name);
        }
        Some(requests)
    };
    bounded(bytes, MEMORY, read)
}

#[test]
fn kept_traces_are_read() {
    for &format in REGISTRY {
        for (name, bytes) in Corpus::of(&folder(format)).inputs {
            let requests = read(format, &bytes);
            assert_eq!(
                requests.is_some_and(|requests| requests > 0),
                !name.starts_with("broken"),
                "{}: {name}",
                format.name
            );
        }
    }
}

#[test]
fn any_trace_is_read_or_refused() {
    for &format in REGISTRY {
        let other = |bytes: &[u8]| REGISTRY[bytes.len() % REGISTRY.len()];
        let outcome = TestRunner::new(config(150)).run(&mutants(&folder(format)), |mutant| {
            read(format, &mutant.bytes);
            read(other(&mutant.bytes), &mutant.bytes);
            Ok(())
        });
        if let Err(TestError::Fail(why, mutant)) = outcome {
            panic!("{}: {why}\n{mutant:?}", format.name);
        }
    }
}
