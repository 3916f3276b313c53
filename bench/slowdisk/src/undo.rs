//! Takes away all that a run made. It goes by what it finds, not by what was done, so it is right
//! at any stage, may be repeated, and may be done by another process than the one that made it.

use crate::device;
use crate::mounts;
use crate::plan::{NOTE, Plan, c_path};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The name of the serving process, as `ps` and `killall` know it.
pub const SERVER_NAME: &std::ffi::CStr = c"slowdisk-server";

/// How long a step may be repeated before harder means are taken.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long everything may take while the server answers. Writing back what a kept image was
/// given may take long; nobody misses the content of a temporary one.
const KEPT_LIMIT: Duration = Duration::from_secs(600);
const TEMPORARY_LIMIT: Duration = Duration::from_secs(30);

/// Removes everything; says what could not be.
pub fn undo(plan: &Plan, server: i32) -> Vec<String> {
    let mut problems = Vec::new();
    let (finished, watch) = mpsc::channel::<()>();
    let limit = if plan.image_is_temporary { TEMPORARY_LIMIT } else { KEPT_LIMIT };
    let connection = mounts::device_of(&plan.fuse_dir);
    let watchdog = thread::spawn(move || {
        // Whatever waits for the server gets an error once the connection is gone, and we go on.
        if watch.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
            abort(connection, server);
        }
    });

    if mounts::is_mounted(&plan.fuse_dir) {
        // Unmounting reads a little; no need to wait for that. A server that is gone cannot be told.
        let _ = fs::write(plan.control(), "off\n");
    }
    let mut hard = false;
    if !unmount(&plan.mount_dir) {
        let strangers = kill_ours(plan);
        if !unmount(&plan.mount_dir) {
            hard = true;
            let place = plan.mount_dir.display();
            problems.extend(strangers.iter().map(|who| format!("{place}: in use by {who}, which now gets I/O errors")));
            detach_mount(&plan.mount_dir, &mut problems);
        }
    }
    // The last close detaches it; something else may still have it open.
    if !until(|| device::attached_to(&plan.disk()).is_empty()) {
        let strangers = kill_ours(plan);
        for device in device::attached_to(&plan.disk()) {
            let _ = device::detach(&device, &plan.disk());
        }
        if !until(|| device::attached_to(&plan.disk()).is_empty()) {
            hard = true;
            for device in device::attached_to(&plan.disk()) {
                // After a lazy unmount the users cannot be told by their paths any more.
                let who =
                    if strangers.is_empty() { "as told above".into() } else { format!("by {}", strangers.join(", ")) };
                problems.push(format!("{}: in use {who}; it detaches on the last close", device.display()));
            }
        }
    }
    if hard {
        abort(connection, server);
    }
    if !unmount(&plan.fuse_dir) {
        abort(connection, server);
        detach_mount(&plan.fuse_dir, &mut problems);
    }
    drop(finished);
    // It only ends the wait of a thread that has nothing more to do.
    let _ = watchdog.join();
    remove_files(plan, &mut problems);
    problems
}

/// Unmounts whatever is mounted here, unless it stays in use.
fn unmount(at: &Path) -> bool {
    let target = c_path(at);
    until(|| {
        if !mounts::is_mounted(at) {
            return true;
        }
        // SAFETY: the string is NUL-terminated and outlives the call.
        unsafe { libc::umount2(target.as_ptr(), libc::UMOUNT_NOFOLLOW) };
        !mounts::is_mounted(at)
    })
}

fn detach_mount(at: &Path, problems: &mut Vec<String>) {
    let target = c_path(at);
    while mounts::is_mounted(at) {
        // SAFETY: the string is NUL-terminated and outlives the call.
        if unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) } != 0 {
            problems.push(format!("{}: {}", at.display(), io::Error::last_os_error()));
            return;
        }
    }
}

/// Ends the FUSE connection, so that nothing waits for it for ever.
fn abort(connection: Option<(u32, u32)>, server: i32) {
    if let Some((_, minor)) = connection {
        // This file is only there where fusectl is mounted; the next means does not need it.
        let _ = fs::write(format!("/sys/fs/fuse/connections/{minor}/abort"), "1");
    }
    // The number may since belong to another process: the name tells.
    let name = fs::read_to_string(format!("/proc/{server}/comm")).unwrap_or_default();
    if name.trim().as_bytes() == SERVER_NAME.to_bytes() {
        // SAFETY: takes no pointers.
        unsafe { libc::kill(server, libc::SIGKILL) };
    }
}

/// Kills the processes that use the mount or its device and were started by the run's own
/// command, known by the control file named in their environment: their run is over. Names the
/// others.
fn kill_ours(plan: &Plan) -> Vec<String> {
    let mark = [b"SLOWDISK_CONTROL=".as_slice(), plan.control().as_os_str().as_bytes()].concat();
    let loops = device::attached_to(&plan.disk());
    let ours = |path: &Path| path.starts_with(&plan.mount_dir) || loops.iter().any(|device| device == path);
    let mut strangers = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let dir = process.path();
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if pid == std::process::id() as i32 || !uses(&dir, ours) {
            continue;
        }
        let environment = fs::read(dir.join("environ")).unwrap_or_default();
        if environment.split(|&byte| byte == 0).any(|variable| variable == mark) {
            // SAFETY: takes no pointers.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        } else {
            let name = fs::read_to_string(dir.join("comm")).unwrap_or_default();
            strangers.push(format!("process {pid} ({})", name.trim()));
        }
    }
    strangers
}

/// Whether the process of this directory in `/proc` has such a file open, mapped or as its place.
fn uses(process: &Path, such: impl Fn(&Path) -> bool) -> bool {
    let links = ["cwd", "root", "exe"].map(|name| process.join(name)).into_iter();
    let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten().map(|fd| fd.path());
    if links.chain(open).any(|link| fs::read_link(link).is_ok_and(|path| such(&path))) {
        return true;
    }
    let maps = fs::read_to_string(process.join("maps")).unwrap_or_default();
    maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).any(|path| such(Path::new(path)))
}

fn remove_files(plan: &Plan, problems: &mut Vec<String>) {
    let mut note = |path: &Path, result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => problems.push(format!("{}: {error}", path.display())),
        _ => (),
    };
    if plan.image_is_temporary {
        note(&plan.image, fs::remove_file(&plan.image));
    }
    if plan.mount_dir_is_ours {
        note(&plan.mount_dir, fs::remove_dir(&plan.mount_dir));
    }
    note(&plan.fuse_dir, fs::remove_dir(&plan.fuse_dir));
    let file = plan.work_dir.join(NOTE);
    note(&file, fs::remove_file(&file));
    note(&plan.work_dir, fs::remove_dir(&plan.work_dir));
}

fn until(mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if done() {
            return true;
        }
        if start.elapsed() > PATIENCE {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
}
