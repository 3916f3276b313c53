//! Runs that would join, heard away from the thread that serves those that have: one that says
//! nothing, or says it slowly, makes nobody wait.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::Line;
use super::server::{Wishes, hear_wishes};

type Met = (Line, Wishes);

/// A thread for each run that has come and was not heard out.
pub struct Hearing {
    sender: Sender<Met>,
    heard: Receiver<Met>,
    /// Is readable once there is one to take.
    woken: UnixStream,
    wakes: UnixStream,
}

impl Hearing {
    /// Of nobody yet.
    pub fn new() -> io::Result<Self> {
        let (sender, heard) = channel();
        let (woken, wakes) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        Ok(Hearing { sender, heard, woken, wakes })
    }

    /// Hears who has come. Where no thread can be had, the connection ends, and who came tries
    /// again.
    pub fn begin(&self, stream: UnixStream) {
        let Ok(mut wakes) = self.wakes.try_clone() else { return };
        let sender = self.sender.clone();
        let hear = move || {
            if let Some(met) = Line::new(stream).and_then(hear_wishes)
                && sender.send(met).is_ok()
            {
                let _ = wakes.write_all(&[0]);
            }
        };
        let _ = thread::Builder::new().name("foresee-hear".into()).spawn(hear);
    }

    /// One that was heard out.
    pub fn next(&mut self) -> Option<Met> {
        // First: who is sent afterwards wakes us again.
        while self.woken.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
        self.heard.try_recv().ok()
    }

    /// What to wait for.
    pub fn fd(&self) -> RawFd {
        self.woken.as_raw_fd()
    }
}
