//! What the program finds in its environment that we were not given.
//!
//! systemd says by a process number whom it means, as others may inherit the variables: that of
//! what it started, which is the launcher. It means the program, which goes by its own number.

use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Numbers of who is meant: by the sockets that were handed over, by the watchdog, and who was started.
const MEANT: [&CStr; 3] = [c"LISTEN_PID", c"WATCHDOG_PID", c"SYSTEMD_EXEC_PID"];
/// `LISTEN_PID`'s process by another number, the launcher's as well. Who finds none goes by the first.
const LISTEN_HANDLE: &CStr = c"LISTEN_PIDFDID";

/// Gives the program these variables, and its own number wherever ours is.
///
/// There must be no other thread: after fork it makes memory. `Command` takes its variables before,
/// when nobody knows the number.
///
/// # Errors
/// If a value cannot be one, as there is a NUL in it. To start the program fails where there is no
/// memory for them.
pub(super) fn give(program: &mut Command, variables: Vec<(&'static CStr, OsString)>) -> io::Result<()> {
    let with_nul = |(name, value): (_, OsString)| Ok::<_, io::Error>((name, CString::new(value.into_vec())?));
    let variables = variables.into_iter().map(with_nul).collect::<io::Result<Vec<_>>>()?;
    let us = std::process::id();
    // SAFETY: there is no other thread, so that after fork all may be done that could be before.
    unsafe {
        program.pre_exec(move || {
            variables.iter().try_for_each(|(name, value)| set(name, value))?;
            put_number(us, std::process::id())
        });
    }
    Ok(())
}

fn put_number(ours: u32, its: u32) -> io::Result<()> {
    let [ours, its] = [ours, its].map(|number| CString::new(number.to_string()).unwrap_or_default());
    for name in MEANT.into_iter().filter(|name| is(name, &ours)) {
        set(name, &its)?;
        if name == MEANT[0] {
            // SAFETY: a string; no other thread looks at the environment.
            unsafe { libc::unsetenv(LISTEN_HANDLE.as_ptr()) };
        }
    }
    Ok(())
}

fn is(name: &CStr, value: &CStr) -> bool {
    // SAFETY: a string; what is found is another, if not null, and nobody changes it meanwhile.
    unsafe {
        let found = libc::getenv(name.as_ptr());
        !found.is_null() && CStr::from_ptr(found) == value
    }
}

/// Not by std, which holds its lock of the environment while it forks, and would wait for itself.
fn set(name: &CStr, value: &CStr) -> io::Result<()> {
    // SAFETY: strings; no other thread looks at the environment.
    match unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
