//! Runs under way, to be meddled with.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};

use super::process::{HANGS_AFTER, how, kill};

/// A run in a process group of its own, whose first line has come. What hangs is killed.
pub struct Under {
    child: Child,
    output: BufReader<ChildStdout>,
    /// What it said until now.
    pub said: String,
    _watch: Sender<()>,
}

impl Under {
    pub fn way(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
        let group = -(child.id() as i32);
        let (watch, watched) = channel::<()>();
        std::thread::spawn(move || {
            if watched.recv_timeout(HANGS_AFTER) == Err(RecvTimeoutError::Timeout) {
                eprintln!("killed because it hung");
                kill(group, libc::SIGKILL);
            }
        });
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut under = Under { child, output, said: String::new(), _watch: watch };
        under.read_line();
        under
    }

    /// Reads one more line.
    pub fn read_line(&mut self) {
        self.output.read_line(&mut self.said).unwrap();
    }

    /// The process, and its group.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits until all of its output has come and it has ended: the output from the first line on,
    /// and how it ended.
    pub fn finish(mut self) -> (String, String) {
        self.output.read_to_string(&mut self.said).unwrap();
        let how = how(self.child.wait().unwrap());
        (self.said, how)
    }

    /// Waits for its end only: others may still hold its output.
    pub fn wait(mut self) -> String {
        how(self.child.wait().unwrap())
    }
}
