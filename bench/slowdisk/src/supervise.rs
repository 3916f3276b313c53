//! One run: make the device, run the command on it, undo everything.

use crate::device::Device;
use crate::model::{Kind, Settings};
use crate::plan::Plan;
use crate::server::Server;
use crate::signals::{self, Interrupted};
use crate::undo::undo;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// What to run, and on what.
pub struct Run {
    pub plan: Plan,
    pub settings: Settings,
    pub read_ahead_kb: u64,
    pub setup: Vec<String>,
    pub command: Vec<OsString>,
    pub quiet: bool,
}

/// How long a command may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);

enum End {
    Failed(String),
    Interrupted(i32),
}

impl From<String> for End {
    fn from(why: String) -> Self {
        End::Failed(why)
    }
}

impl From<Interrupted> for End {
    fn from(Interrupted(signal): Interrupted) -> Self {
        End::Interrupted(signal)
    }
}

impl Run {
    /// Does it all; the status to exit with.
    pub fn execute(&self) -> i32 {
        signals::block();
        let mut waiting = self.settings.clone();
        waiting.kind = Kind::Off;
        let (server, started) = Server::start(&self.plan, &waiting);
        let end = started.map_err(End::from).and_then(|()| self.on_device(&server));
        let problems = undo(&self.plan, server.pid);
        server.join();
        for problem in &problems {
            eprintln!("slowdisk: {problem}");
        }
        match end {
            Ok(status) => match status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) {
                0 if !problems.is_empty() => 2,
                code => code,
            },
            Err(End::Interrupted(signal)) => 128 + signal,
            Err(End::Failed(why)) => {
                eprintln!("slowdisk: {why}");
                2
            }
        }
    }

    fn on_device(&self, server: &Server) -> Result<ExitStatus, End> {
        let device = Device::attach(&self.plan)?;
        device.tune(self.read_ahead_kb)?;
        signals::check()?;
        if self.plan.format {
            device.format()?;
        }
        signals::check()?;
        device.mount(&self.plan.mount_dir)?;
        for script in &self.setup {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(script);
            let status = self.supervise(shell, &device, server)?;
            if !status.success() {
                return Err(format!("--setup '{script}': {status}").into());
            }
        }
        device.remount_cold(&self.plan.mount_dir)?;
        let control = self.plan.control();
        fs::write(&control, format!("{}\nreset\n", self.settings.line()))
            .map_err(|e| format!("{}: {e}", control.display()))?;
        if !self.quiet {
            self.announce(&device);
        }
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        self.supervise(command, &device, server)
    }

    fn announce(&self, device: &Device) {
        eprintln!("slowdisk: {} on {}: {}", device.path.display(), self.plan.mount_dir.display(), self.settings.line());
        eprintln!(
            "slowdisk: scheduler {}, read_ahead_kb {}, nr_requests {}, max_sectors_kb {}",
            device.scheduler(),
            device.attribute("queue/read_ahead_kb"),
            device.attribute("queue/nr_requests"),
            device.attribute("queue/max_sectors_kb"),
        );
    }

    /// Runs a command to its end, passing on what ends this process.
    fn supervise(&self, mut command: Command, device: &Device, server: &Server) -> Result<ExitStatus, End> {
        command
            .env("SLOWDISK_MOUNT", &self.plan.mount_dir)
            .env("SLOWDISK_DEVICE", &device.path)
            .env("SLOWDISK_CONTROL", self.plan.control());
        signals::die_with_parent(&mut command);
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().map_err(|e| format!("{name}: {e}"))?;
        loop {
            if let Some(signal) = signals::wait(Duration::from_secs(1))
                && signal.ends()
            {
                if !signal.from_terminal {
                    send(&child, signal.number);
                }
                end(&mut child)?;
                return Err(End::Interrupted(signal.number));
            }
            if let Some(status) = child.try_wait().map_err(|e| format!("{name}: {e}"))? {
                return Ok(status);
            }
            if server.has_ended() {
                send(&child, libc::SIGTERM);
                end(&mut child)?;
                return Err(End::Failed("the server died; the device is gone".into()));
            }
        }
    }
}

fn send(child: &Child, signal: i32) {
    // SAFETY: takes no pointers; the child is not yet waited for, so the number is its own.
    unsafe { libc::kill(child.id() as i32, signal) };
}

/// Waits for a command that was asked to end, but not for ever.
fn end(child: &mut Child) -> Result<(), String> {
    let asked = Instant::now();
    while child.try_wait().map_err(|e| e.to_string())?.is_none() {
        if asked.elapsed() > GRACE {
            send(child, libc::SIGKILL);
        }
        if asked.elapsed() > 2 * GRACE {
            // It waits for the device; undoing the run will end that.
            return Ok(());
        }
        signals::wait(Duration::from_millis(100));
    }
    Ok(())
}
