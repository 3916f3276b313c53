//! Threads one after the other: who begins when another has ended is taken to have waited for it,
//! as what a shell runs does.
//!
//! Each thread as a loop of its own would let the commands of a script run all at once, and the
//! script take as long as the longest of them. So threads are linked: each follows the one that
//! ended last before it began.
//!
//! ```text
//! thread 1 |--------|
//! thread 2             |-----|          follows 1
//! thread 3        |-------|             follows nobody: 1 had not ended
//! thread 4                     |---|    follows 2, which ended last
//! ```

use std::collections::{BTreeSet, HashMap};

use foresee_manager::ReaderId;

use crate::load::Trace;

/// The threads of a trace, linked.
pub struct Chains {
    /// The chain of each lane.
    of_lane: Vec<usize>,
    /// The reader that each chain is: one for all chains that have threads of a process in common.
    readers: Vec<ReaderId>,
}

impl Chains {
    /// Links them; without times each thread is a chain of its own.
    pub fn of(trace: &Trace) -> Self {
        let of_lane = if trace.knows_times() { linked(trace) } else { (0..trace.lanes.len()).collect() };
        let chains = of_lane.iter().max().map_or(0, |last| last + 1);
        let mut readers: Vec<ReaderId> = (0..chains as u32).map(ReaderId).collect();
        let mut chain_of = HashMap::new();
        for (lane, &chain) in trace.lanes.iter().zip(&of_lane) {
            let (one, other) = (readers[*chain_of.entry(lane.reader).or_insert(chain)], readers[chain]);
            if one != other {
                readers.iter_mut().filter(|reader| **reader == other).for_each(|reader| *reader = one);
            }
        }
        Chains { of_lane, readers }
    }

    /// Which chain a lane is on.
    pub fn chain(&self, lane: usize) -> usize {
        self.of_lane[lane]
    }

    /// The reader of each chain.
    pub fn readers(&self) -> &[ReaderId] {
        &self.readers
    }
}

/// The chain of each lane, chains numbered as they begin.
fn linked(trace: &Trace) -> Vec<usize> {
    let mut spans = vec![(u64::MAX, 0); trace.lanes.len()];
    for entry in (0..trace.len()).map(|at| trace.entry(at)) {
        let (begin, end) = &mut spans[entry.lane];
        *begin = entry.time_ns.min(*begin);
        *end = entry.time_ns.saturating_add(entry.took_ns).max(*end);
    }
    let mut lanes: Vec<usize> = (0..spans.len()).collect();
    lanes.sort_by_key(|&lane| spans[lane]);
    let mut of_lane = vec![0; spans.len()];
    // Chains that have ended, by when, and which.
    let mut ended: BTreeSet<(u64, usize)> = BTreeSet::new();
    let mut chains = 0;
    for lane in lanes {
        let (begin, end) = spans[lane];
        let before = ended.range(..=(begin, usize::MAX)).next_back().copied();
        let chain = match before {
            Some(key) => {
                ended.remove(&key);
                key.1
            }
            None => {
                chains += 1;
                chains - 1
            }
        };
        of_lane[lane] = chain;
        ended.insert((end, chain));
    }
    of_lane
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::error::{At, Error};
    use crate::trace::{Reader, Request, Span};

    struct Requests(std::vec::IntoIter<Request>);

    impl Reader for Requests {
        fn next(&mut self) -> Result<Option<Request>, Error> {
            Ok(self.0.next())
        }

        fn at(&self) -> At {
            At::File
        }

        fn names(&self) -> &[String] {
            &[]
        }
    }

    /// Of requests: process, thread, begin, end.
    fn chains(requests: &[(i32, i32, u64, u64)]) -> (Vec<usize>, Vec<u32>) {
        let span = Span::Range { offset: 0, length: 1 };
        let request = |&(process, thread, time_ns, end): &(i32, i32, u64, u64)| Request {
            process,
            thread,
            time_ns,
            took_ns: end - time_ns,
            span,
            ..Request::default()
        };
        let requests: Vec<Request> = requests.iter().map(request).collect();
        let trace = Trace::read(Path::new("t"), Requests(requests.into_iter()), 4096).unwrap();
        let chains = Chains::of(&trace);
        let of_lane = (0..trace.lanes.len()).map(|lane| chains.chain(lane)).collect();
        (of_lane, chains.readers().iter().map(|reader| reader.0).collect())
    }

    #[test]
    fn who_begins_when_another_has_ended_follows_it() {
        assert_eq!(chains(&[(1, 1, 0, 10), (2, 2, 10, 20), (3, 3, 30, 40)]), (vec![0, 0, 0], vec![0]));
        // The example above.
        let example = [(1, 1, 0, 10), (3, 3, 8, 15), (2, 2, 12, 20), (4, 4, 22, 25)];
        assert_eq!(chains(&example), (vec![0, 1, 0, 0], vec![0, 1]));
        // Two at once all along.
        let pairs = [(1, 1, 0, 9), (2, 2, 0, 10), (3, 3, 11, 20), (4, 4, 11, 21)];
        assert_eq!(chains(&pairs), (vec![0, 1, 1, 0], vec![0, 1]));
    }

    #[test]
    fn threads_of_a_process_are_one_reader_wherever_they_are() {
        let threads = [(1, 1, 0, 10), (2, 2, 11, 30), (2, 3, 12, 20)];
        assert_eq!(chains(&threads), (vec![0, 0, 1], vec![0, 0]));
    }

    #[test]
    fn without_times_nobody_follows() {
        assert_eq!(chains(&[(1, 1, 0, 0), (2, 2, 0, 0)]), (vec![0, 1], vec![0, 1]));
    }
}
