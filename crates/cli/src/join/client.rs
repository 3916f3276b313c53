//! A run that joins others.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use foresee_run::account::Ending;
use foresee_run::inherited;
use foresee_run::launch::{Streams, check_limits};
use foresee_run::run::{Failure, run_beside};
use serde_json::{Value, json};

use super::{Line, address};
use crate::output::Output;
use crate::report::write_json;
use crate::running::Running;
use crate::say::say;

/// How often a supervisor may end just as we find it.
const ATTEMPTS: usize = 10;

/// Runs the command under the supervisor of this name; returns, beside it, the exit status to end
/// with if the command's own is 0.
pub fn main(
    running: &Running,
    name: &str,
    streams: Streams,
    shown: bool,
    json: Option<&Output>,
) -> Result<Result<u8, Failure>, String> {
    // First: a supervisor that is started is one of the processes that there may be.
    if let Err(failure) = check_limits() {
        return Ok(Err(failure));
    }
    let wishes = json!({
        "policy": running.policy.as_ref().map(|it| it.as_str()),
        "memory": running.memory,
        "advice": running.advice.as_ref().map(|it| &it.text),
    });
    let (mut line, ring) = join(name, &wishes)?;
    let (ending, elapsed, start_up) = match run_beside(&running.command, ring.into(), streams) {
        Ok(ran) => ran,
        Err(failure) => return Ok(Err(failure)),
    };
    let (status, signal) = match ending {
        Ending::Status(status) => (Some(status), None),
        Ending::Signal(signal) => (None, Some(signal)),
    };
    let (elapsed, start_up) = (elapsed.as_secs_f64(), start_up.as_secs_f64());
    let ended = json!({ "elapsed_s": elapsed, "start_up_s": start_up, "status": status, "signal": signal });
    match line.say(&ended).and_then(|()| line.hear()) {
        Ok(told) => tell(&told, shown, json),
        Err(_) => say(format_args!("--join {name}: the supervisor is gone, and the account with it")),
    }
    Ok(Ok(0))
}

fn tell(told: &Value, shown: bool, json: Option<&Output>) {
    let texts = |key: &str| told[key].as_array().into_iter().flatten().filter_map(Value::as_str);
    let unwritten = json.and_then(|output| write_json(output, &told["account"]).err());
    for warning in texts("warnings").chain(unwritten.as_deref()) {
        say(warning);
    }
    if shown {
        texts("lines").for_each(say);
    }
}

/// Finds the supervisor of this name, or starts it, and says what this run wishes. Returns where
/// its programs are to post.
fn join(name: &str, wishes: &Value) -> Result<(Line, String), String> {
    let address = address(name)?;
    for _ in 0..ATTEMPTS {
        let Some(stream) = connect(&address, name)? else { continue };
        let Some(mut line) = Line::new(stream) else {
            return Err(format!("--join {name}: another user has taken this name; choose another"));
        };
        // Without an answer, it has just ended with its last run.
        let Ok(answer) = line.say(wishes).and_then(|()| line.hear()) else { continue };
        return match (answer["ring"].as_str(), answer["refused"].as_str()) {
            (Some(ring), _) => Ok((line, ring.to_owned())),
            (None, why) => Err(format!("--join {name}: {}", why.unwrap_or("the supervisor does not answer"))),
        };
    }
    Err(format!("--join {name}: the supervisor does not answer"))
}

/// A connection with the supervisor, which is started if there is none; None if another run was
/// faster to start it.
fn connect(address: &SocketAddr, name: &str) -> Result<Option<UnixStream>, String> {
    let cannot = |error: std::io::Error| format!("--join {name}: {error}");
    match UnixStream::connect_addr(address) {
        Ok(stream) => return Ok(Some(stream)),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
        Err(error) => return Err(cannot(error)),
    }
    match UnixListener::bind_addr(address) {
        Ok(listener) => start(listener).map_err(cannot)?,
        Err(error) if error.kind() == ErrorKind::AddrInUse => return Ok(None),
        Err(error) => return Err(cannot(error)),
    }
    UnixStream::connect_addr(address).map(Some).map_err(cannot)
}

/// Starts the supervisor, which takes calls from now on. In a session of its own, what a terminal
/// sends to this run is not meant for the others; and what this run inherited (a lock, a pipe) ends
/// with it.
fn start(listener: UnixListener) -> std::io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("supervise").current_dir("/").stdin(Stdio::from(OwnedFd::from(listener)));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: system calls on plain data.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            inherited::close_at_exec();
            Ok(())
        });
    }
    // It outlives us, so that nobody need wait for it.
    command.spawn().map(drop)
}
