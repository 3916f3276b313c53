//! Fetches and their pieces: what a fetch passes over is not brought, so that what lies between is
//! asked for piece by piece. A disk's arm goes over the gaps between such requests in any case.

use std::ops::Range;

use foldhash::HashMap;
use foresee_manager::{Event, FetchId, FileId};

/// A fetch under way.
struct Fetch {
    file: FileId,
    /// Pieces that are not done.
    open: usize,
    /// Something of it is not here.
    brings: bool,
    has_failed: bool,
}

/// All fetches under way.
#[derive(Default)]
pub struct Fetches {
    /// What the next fetch passes over, in order.
    passed_over: Vec<Range<u64>>,
    under_way: HashMap<FetchId, Fetch>,
}

impl Fetches {
    /// The next fetch goes over these blocks, and does not bring them.
    pub fn pass_over(&mut self, blocks: Range<u64>) {
        self.passed_over.push(blocks);
    }

    /// A fetch begins: the pieces that it is asked for in. What is passed over and is here, and
    /// `stays`, parts none: there is nothing to bring.
    pub fn begin(
        &mut self,
        fetch: FetchId,
        file: FileId,
        blocks: Range<u64>,
        stays: impl Fn(&Range<u64>) -> bool,
    ) -> Vec<Range<u64>> {
        let (mut pieces, mut first) = (Vec::new(), blocks.start);
        for passed_over in self.passed_over.drain(..) {
            if !stays(&passed_over) {
                pieces.push(first..passed_over.start);
                first = passed_over.end;
            }
        }
        pieces.push(first..blocks.end);
        pieces.retain(|piece| !piece.is_empty());
        debug_assert!(!pieces.is_empty(), "{fetch} brings nothing");
        self.under_way.insert(fetch, Fetch { file, open: pieces.len(), brings: false, has_failed: false });
        pieces
    }

    /// Something of a fetch is brought. Returns whether that is the first of it.
    pub fn brings(&mut self, fetch: FetchId) -> bool {
        self.under_way.get_mut(&fetch).is_some_and(|it| !std::mem::replace(&mut it.brings, true))
    }

    /// One of its pieces is done: the file it is of, and what the manager hears if it was the last.
    pub fn piece_done(&mut self, fetch: FetchId, has_failed: bool) -> Option<(FileId, Option<Event>)> {
        let under_way = self.under_way.get_mut(&fetch)?;
        under_way.open -= 1;
        under_way.has_failed |= has_failed;
        let &mut Fetch { file, open, has_failed, .. } = under_way;
        if open > 0 {
            return Some((file, None));
        }
        self.under_way.remove(&fetch);
        Some((file, Some(if has_failed { Event::FetchFailed { fetch } } else { Event::FetchDone { fetch } })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FETCH: FetchId = FetchId(7);
    const FILE: FileId = FileId(3);

    #[test]
    fn what_is_passed_over_and_not_here_parts_a_fetch() {
        let mut fetches = Fetches::default();
        for blocks in [10..12, 15..20, 30..31] {
            fetches.pass_over(blocks);
        }
        let pieces = fetches.begin(FETCH, FILE, 8..40, |blocks| blocks.start == 15);
        assert_eq!(pieces, [8..10, 12..30, 31..40]);
        let whole = fetches.begin(FetchId(8), FILE, 8..40, |_| false);
        assert_eq!((whole.len(), whole[0].clone()), (1, 8..40), "that was the fetch before");
    }

    #[test]
    fn a_fetch_is_done_with_its_last_piece_and_fails_with_any() {
        let mut fetches = Fetches::default();
        for has_failed in [false, true] {
            fetches.pass_over(1..2);
            fetches.begin(FETCH, FILE, 0..3, |_| false);
            assert_eq!([(); 2].map(|()| fetches.brings(FETCH)), [true, false], "one fetch, however many pieces");
            assert_eq!(fetches.piece_done(FETCH, has_failed), Some((FILE, None)));
            let event =
                if has_failed { Event::FetchFailed { fetch: FETCH } } else { Event::FetchDone { fetch: FETCH } };
            assert_eq!(fetches.piece_done(FETCH, false), Some((FILE, Some(event))));
            assert_eq!(fetches.piece_done(FETCH, false), None, "there is no such fetch any more");
        }
    }
}
