//! The least that polls futures: one thread, which parks.

use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake};

/// Says which future is to be polled.
struct Waker {
    number: usize,
    sender: mpsc::Sender<usize>,
}

impl Wake for Waker {
    fn wake(self: Arc<Self>) {
        // Whoever is not there any more needs no waking.
        let _ = self.sender.send(self.number);
    }
}

/// What futures come to that are polled side by side, each when it was woken.
pub fn all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let (sender, woken) = mpsc::channel();
    let mut futures: Vec<_> = futures.into_iter().map(|it| Some(Box::pin(it))).collect();
    let mut outputs: Vec<_> = futures.iter().map(|_| None).collect();
    (0..futures.len()).for_each(|number| sender.send(number).unwrap());
    while outputs.iter().any(Option::is_none) {
        let number = woken.recv().unwrap();
        let waker = Arc::new(Waker { number, sender: sender.clone() }).into();
        if let Some(future) = &mut futures[number]
            && let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker))
        {
            outputs[number] = Some(output);
            futures[number] = None;
        }
    }
    outputs.into_iter().flatten().collect()
}

/// What a future comes to.
pub fn one<F: Future>(future: F) -> F::Output {
    all([future]).remove(0)
}

/// Counts how often somebody was woken.
#[derive(Default)]
pub struct Woken(pub AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Polls once.
pub fn poll<F: Future>(future: Pin<&mut F>, woken: &Arc<Woken>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(&Arc::clone(woken).into()))
}
