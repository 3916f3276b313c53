//! What is under way on one connection: pieces that arrive in their order, each at its time.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Instant;

#[derive(Default)]
pub struct Delay {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<(Instant, Vec<u8>)>,
    bytes: usize,
    /// No more comes, or nobody takes it.
    ended: bool,
}

impl Delay {
    /// Puts a piece on its way as soon as it and what is under way fit into the window. False if
    /// nobody takes it any more.
    pub fn put(&self, arrives: Instant, piece: Vec<u8>, window: usize) -> bool {
        let full = |state: &mut State| state.bytes + piece.len() > window && !state.ended;
        let mut state = self.changed.wait_while(self.lock(), full).expect("no thread panics with it");
        state.bytes += piece.len();
        state.pieces.push_back((arrives, piece));
        self.changed.notify_all();
        !state.ended
    }

    /// The next piece, once it has arrived; none at the end.
    pub fn take(&self) -> Option<Vec<u8>> {
        let empty = |state: &mut State| state.pieces.is_empty() && !state.ended;
        let mut state = self.changed.wait_while(self.lock(), empty).expect("no thread panics with it");
        let (arrives, piece) = state.pieces.pop_front()?;
        drop(state);
        thread::sleep(arrives.saturating_duration_since(Instant::now()));
        self.lock().bytes -= piece.len();
        self.changed.notify_all();
        Some(piece)
    }

    pub fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics with it")
    }
}
