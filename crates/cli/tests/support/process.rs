//! Processes: run to their end, waited for.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// No test takes so long but one that hangs: it is for the test to fail, not for a machine to be
/// fast.
pub const HANGS_AFTER: Duration = Duration::from_secs(60);

/// Whether this program is installed; says so if not.
pub fn have(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// How a command ended, and what it said.
#[derive(Clone, PartialEq, Eq)]
pub struct Ended {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// `status N` or `signal N`.
    pub how: String,
}

impl Ended {
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Asserts the status.
    #[track_caller]
    pub fn with(self, status: i32) -> Self {
        assert_eq!(self.how, format!("status {status}"), "{self:?}");
        self
    }
}

impl std::fmt::Debug for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1500)]).into_owned();
            if bytes.len() > 1500 { format!("{text}... ({} bytes)", bytes.len()) } else { text }
        };
        write!(f, "{}\n--- stdout\n{}\n--- stderr\n{}\n---", self.how, shown(&self.stdout), shown(&self.stderr))
    }
}

/// `status N` or `signal N`.
pub fn how(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("status {code}"),
        None => format!("signal {}", status.signal().unwrap()),
    }
}

/// Signals end the command unless it says otherwise, whatever the tests were started by: nohup, and
/// shells in their background, have some ignored by all that they start.
pub fn heed_signals(command: &mut Command) {
    // SAFETY: between fork and exec nothing is called but signal().
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
}

/// Runs a command to its end, and until nobody writes to its output any more, in a process group of
/// its own.
pub fn end(mut command: Command, stdin: &[u8]) -> Ended {
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let group = -(child.id() as i32);
    let (mut input, output, errors) =
        (child.stdin.take().unwrap(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (finished, watch) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // It may end without reading all.
            let _ = input.write_all(stdin);
        });
        let output = scope.spawn(move || read_all(output));
        let errors = scope.spawn(move || read_all(errors));
        let hung = scope.spawn(move || {
            let hung = watch.recv_timeout(HANGS_AFTER) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
            if hung {
                kill(group, libc::SIGKILL);
            }
            hung
        });
        let status = child.wait().unwrap();
        let (stdout, stderr) = (output.join().unwrap(), errors.join().unwrap());
        drop(finished);
        let ended = Ended { stdout, stderr, how: how(status) };
        assert!(!hung.join().unwrap(), "{command:?} hung: {ended:?}");
        ended
    })
}

fn read_all(mut pipe: impl Read) -> Vec<u8> {
    let mut all = Vec::new();
    pipe.read_to_end(&mut all).unwrap();
    all
}

/// Sends a signal; to a group if negative.
pub fn kill(pid: i32, signal: i32) {
    // SAFETY: takes no pointers. Who is gone already need not be told.
    unsafe { libc::kill(pid, signal) };
}

/// Waits for something that another process brings about.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < HANGS_AFTER, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
