//! The serving process. It is apart from the one that uses the device, so that no thread of it
//! can ever wait for itself, and it outlives that one to undo the run if that one is killed.

use crate::model::Settings;
use crate::plan::Plan;
use crate::serve::mount;
use crate::undo::SERVER_NAME;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// What the supervising process holds of the server.
pub struct Server {
    pub pid: i32,
    /// Never written to: its end of file, when this process is gone, is the message.
    _lifeline: PipeWriter,
}

impl Server {
    /// Forks, and returns once the slow file is there. Must be called before there are threads.
    /// On an error there may be something to undo.
    pub fn start(plan: &Plan, settings: &Settings) -> (Server, Result<(), String>) {
        let pipes = io::pipe().and_then(|lifeline| Ok((lifeline, io::pipe()?)));
        let ((lifeline, lifeline_end), (mut ready, ready_end)) = match pipes {
            Ok(pipes) => pipes,
            Err(error) => fail(&format!("no pipe to the server: {error}")),
        };
        // SAFETY: there are no other threads yet, so the child may do anything.
        match unsafe { libc::fork() } {
            -1 => fail(&format!("the server could not be forked: {}", io::Error::last_os_error())),
            0 => {
                drop((lifeline_end, ready));
                let status = child(plan, settings.clone(), lifeline, ready_end);
                std::process::exit(status)
            }
            pid => {
                drop(ready_end);
                let server = Server { pid, _lifeline: lifeline_end };
                let mut answer = String::new();
                let result = match ready.read_to_string(&mut answer) {
                    Ok(_) if answer == "ok" => Ok(()),
                    Ok(_) if answer.is_empty() => Err("the server died at its start".into()),
                    Ok(_) => Err(answer),
                    Err(error) => Err(format!("no word from the server: {error}")),
                };
                (server, result)
            }
        }
    }

    /// Whether it has ended by itself, which it should not before the slow file is unmounted.
    pub fn has_ended(&self) -> bool {
        wait(self.pid, libc::WNOHANG)
    }

    /// Lets it end, when everything is undone, and waits for that.
    pub fn join(self) {
        let pid = self.pid;
        drop(self);
        wait(pid, 0);
    }
}

fn wait(pid: i32, flags: i32) -> bool {
    // SAFETY: a null status is allowed.
    let result = unsafe { libc::waitpid(pid, std::ptr::null_mut(), flags) };
    // An error means that it was waited for before.
    result != 0
}

fn fail(why: &str) -> ! {
    eprintln!("slowdisk: {why}");
    std::process::exit(2)
}

fn child(plan: &Plan, settings: Settings, lifeline: PipeReader, ready: PipeWriter) -> i32 {
    // Out of the terminal's reach: its signals are for the command, and must not end the server.
    // SAFETY: neither call can harm; the string is NUL-terminated and static.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, SERVER_NAME.as_ptr());
    }
    keep_time_under_load();
    // A reader of our output waits for the command, not for us; and our place is nobody's mount.
    let _ = std::env::set_current_dir("/");
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let null = OwnedFd::from(null);
        for standard in [0, 1] {
            // SAFETY: both are open descriptors of this process, used by nothing else yet.
            unsafe { libc::dup2(null.as_raw_fd(), standard) };
        }
    }
    let session = plan.create().and_then(|()| mount(plan, settings));
    tell(ready, session.as_ref().map_or_else(String::as_str, |_| "ok"));
    // Not before: undoing must not cross the making.
    let work_dir = plan.work_dir.clone();
    let watcher = std::thread::Builder::new().name("slowdisk-watch".into()).spawn(move || watch(lifeline, &work_dir));
    let Ok(watcher) = watcher else { return 1 };
    if session.is_ok_and(|session| session.run().is_err()) {
        return 1;
    }
    // Unmounted, or never mounted; but the supervising process may be killed in the rest of its
    // undoing.
    i32::from(watcher.join().is_err())
}

/// A device is no slower for a busy processor. Where this is not allowed the server does without.
fn keep_time_under_load() {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the structure is a local that the call only reads. Threads to come inherit it.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &priority) };
}

fn tell(mut ready: PipeWriter, text: &str) {
    // If nobody listens the lifeline ends too.
    let _ = io::Write::write_all(&mut ready, text.as_bytes());
}

/// Waits until the supervising process is done or dead; if it left anything, has a new process undo
/// the run: this one must not touch what it serves.
fn watch(mut lifeline: PipeReader, work_dir: &std::path::Path) {
    if !matches!(lifeline.read(&mut [0]), Ok(0)) {
        return;
    }
    if !work_dir.exists() {
        std::process::exit(0);
    }
    let mut undo = Command::new("/proc/self/exe");
    undo.arg("undo").arg(work_dir).stdin(Stdio::null());
    // SAFETY: between fork and exec only a system call is made, on a local it reads.
    unsafe {
        undo.pre_exec(|| {
            // It has no time to keep.
            libc::sched_setscheduler(0, libc::SCHED_OTHER, &libc::sched_param { sched_priority: 0 });
            Ok(())
        });
    }
    if let Err(error) = undo.spawn().and_then(|mut child| child.wait()) {
        eprintln!("slowdisk: undo {}: {error}", work_dir.display());
    }
    // All that is left of a run killed in the very last step of its own undoing.
    let _ = std::fs::remove_dir(work_dir);
    std::process::exit(1);
}
