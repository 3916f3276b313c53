//! What a trace holds, in numbers.

use std::collections::HashSet;

use super::{Reader, Requests};
use crate::error::Error;

/// A trace's numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Info {
    /// The format it is in.
    pub format: &'static str,
    /// Requests.
    pub requests: u64,
    /// Those of them that wrote.
    pub writes: u64,
    /// Blocks asked for, each as often as it was asked for.
    pub references: u64,
    /// Different blocks: what a cache without limit would hold, and its misses.
    pub distinct_blocks: u64,
    /// The size of a block the numbers above were counted with.
    pub block_bytes: u64,
    /// Bytes asked for.
    pub bytes: u64,
    /// The share of references whose block was asked for before: the hit ratio of a cache without
    /// limit.
    pub reread_share: f64,
    /// Files; 1 where the format knows none.
    pub files: u64,
    /// Processes.
    pub processes: u64,
    /// Threads of all processes.
    pub threads: u64,
    /// Call sites; 0 where none is known.
    pub sites: u64,
    /// What requests took in all; 0 where no durations are known.
    pub took_ns: u64,
    /// From the first request's begin to the last one's end; 0 where the format knows no time.
    pub duration_ns: u64,
}

/// Counts what a trace holds.
///
/// # Errors
/// If it cannot be read, or a request lies beyond what can be counted.
pub fn info(mut reader: Requests, block_bytes: u64) -> Result<Info, Error> {
    let (mut requests, mut writes, mut references, mut bytes) = (0, 0, 0, 0_u64);
    let (mut begin, mut end) = (u64::MAX, 0);
    let (mut blocks, mut threads, mut sites) = (HashSet::new(), HashSet::new(), HashSet::new());
    let mut took_ns: u64 = 0;
    while let Some(request) = reader.next()? {
        let numbers = request.numbers(block_bytes).map_err(|what| Error::new(reader.path(), reader.at(), what))?;
        requests += 1;
        writes += u64::from(request.write);
        bytes = bytes.saturating_add(request.span.bytes());
        for number in numbers {
            references += 1;
            blocks.insert(number);
        }
        threads.insert((request.process, request.thread));
        sites.extend(Some(request.site).filter(|&site| site != 0));
        took_ns = took_ns.saturating_add(request.took_ns);
        begin = begin.min(request.time_ns);
        end = end.max(request.time_ns.saturating_add(request.took_ns));
    }
    let distinct_blocks = blocks.len() as u64;
    let processes: HashSet<i32> = threads.iter().map(|&(process, _)| process).collect();
    Ok(Info {
        format: reader.format().name,
        requests,
        writes,
        references,
        distinct_blocks,
        block_bytes,
        bytes,
        reread_share: if references == 0 { 0.0 } else { 1.0 - distinct_blocks as f64 / references as f64 },
        files: reader.names().len() as u64,
        processes: processes.len() as u64,
        threads: threads.len() as u64,
        sites: sites.len() as u64,
        took_ns,
        duration_ns: end.saturating_sub(begin),
    })
}
