//! Runs that do not depend on each other, in parallel on all processors.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

/// Is told, from any thread, how much of how much is done.
pub type Progress<'a> = dyn Fn(u64, u64) + Sync + 'a;

/// What `run` makes of each cell, in their order. `run` must not depend on the order in which it is
/// called.
pub fn map<C: Sync, R: Send + Sync>(cells: &[C], progress: &Progress<'_>, run: impl Fn(&C) -> R + Sync) -> Vec<R> {
    let results: Vec<OnceLock<R>> = cells.iter().map(|_| OnceLock::new()).collect();
    let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
    let work = || {
        while let Some((cell, result)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            cells.get(at).zip(results.get(at))
        } {
            result.get_or_init(|| run(cell));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, cells.len() as u64);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(cells.len());
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    results.into_iter().filter_map(OnceLock::into_inner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_cells() {
        let cells: Vec<u64> = (0..100).collect();
        let most = AtomicU64::new(0);
        let progress = |done: u64, of: u64| {
            most.fetch_max(done * 1000 + of, Ordering::Relaxed);
        };
        let squares = map(&cells, &progress, |it| it * it);
        assert_eq!(squares, cells.iter().map(|it| it * it).collect::<Vec<_>>());
        assert_eq!(most.into_inner(), 100_100);
        assert_eq!(map(&[], &|_, _| {}, |it: &u8| *it), []);
    }
}
