//! Runs on a real device. Skipped, with a message, where the machine does not allow one.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Why there can be no device here, if so.
fn missing() -> Option<String> {
    // SAFETY: takes no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Some("not root".into());
    }
    for path in ["/dev/fuse", "/dev/loop-control"] {
        if let Err(error) = File::options().read(true).write(true).open(path) {
            return Some(format!("{path}: {error}"));
        }
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    (!std::env::split_paths(&path).any(|dir| dir.join("mkfs.ext4").exists())).then(|| "no mkfs.ext4".into())
}

/// A temporary directory of the test's own, in which nothing may be left.
struct Place {
    dir: PathBuf,
}

impl Place {
    fn new() -> Option<Place> {
        if let Some(why) = missing() {
            eprintln!("skipped: {why}");
            return None;
        }
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("slowdisk-test-{}-{number}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        Some(Place { dir })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slowdisk"));
        command.env("TMPDIR", &self.dir).args(args);
        // Who started the tests may have it ignored: shells do in their background.
        // SAFETY: between fork and exec nothing is called but signal().
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            });
        }
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Starts a run whose command waits, and returns when the command runs.
    fn start(&self, script: &str) -> Child {
        let script = format!("echo ready; {script}");
        let mut child = self
            .command(&["run", "-q", "--size", "64M", "--", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut word = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
        child
    }

    fn work_dir(&self) -> PathBuf {
        fs::read_dir(&self.dir).unwrap().next().unwrap().unwrap().path()
    }

    fn leftovers(&self) -> Vec<String> {
        let below = |path: &str| Path::new(path).starts_with(&self.dir);
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let mut left: Vec<String> =
            mounts.lines().filter(|line| line.split(' ').nth(1).is_some_and(below)).map(String::from).collect();
        for device in fs::read_dir("/sys/block").unwrap().flatten() {
            let backing = fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
            if below(&backing) {
                left.push(format!("{}: {}", device.path().display(), backing.trim()));
            }
        }
        left.extend(fs::read_dir(&self.dir).unwrap().flatten().map(|entry| entry.path().display().to_string()));
        left
    }

    fn assert_clean(&self) {
        assert_eq!(self.leftovers(), [""; 0]);
    }

    /// For what another process cleans up.
    fn assert_clean_soon(&self) {
        let start = Instant::now();
        while !self.leftovers().is_empty() && start.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(50));
        }
        self.assert_clean();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Fails when something is left, which the test has told by then.
        let _ = fs::remove_dir(&self.dir);
    }
}

fn kill(pid: u32, signal: i32) {
    // SAFETY: takes no pointers.
    assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0);
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn statistic(report: &str, key: &str) -> f64 {
    let line = report.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {key} in {report}")).parse().unwrap()
}

#[test]
fn data_read_back_is_what_was_written() {
    let Some(place) = Place::new() else { return };
    let sums = place.dir.join("sums");
    let setup = format!(
        "cd $SLOWDISK_MOUNT && for i in 1 2 3 4 5 6 7 8; do head -c {}000 /dev/urandom > f$i; done; sha256sum f* > {}",
        "3111",
        sums.display()
    );
    let check = format!("cd $SLOWDISK_MOUNT && sha256sum -c --quiet {}", sums.display());
    for model in ["network", "disk", "off"] {
        let out = place.run(&[
            "run",
            "--size",
            "128M",
            "--model",
            model,
            "--latency",
            "1ms",
            "--setup",
            &setup,
            "--",
            "sh",
            "-c",
            &check,
        ]);
        assert!(out.status.success(), "{model}: {}{}", text(&out.stdout), text(&out.stderr));
        fs::remove_file(&sums).unwrap();
        place.assert_clean();
    }
}

#[test]
fn reads_are_delayed_and_counted_and_writes_are_not_delayed() {
    let Some(place) = Place::new() else { return };
    let script = "dd if=$SLOWDISK_DEVICE of=/dev/null bs=4096 count=4 skip=100 iflag=direct 2>/dev/null
        cat $SLOWDISK_CONTROL
        echo reset > $SLOWDISK_CONTROL
        dd if=/dev/zero of=$SLOWDISK_MOUNT/new bs=64k count=4 conv=fsync 2>/dev/null
        cat $SLOWDISK_CONTROL";
    let start = Instant::now();
    let out = place.run(&["run", "-q", "--size", "64M", "--latency", "200ms", "--", "sh", "-c", script]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    // Four reads, one after another.
    assert!(start.elapsed() >= Duration::from_millis(800));
    let report = text(&out.stdout);
    let (before, after) = report.split_at(report.rfind("model ").unwrap());
    assert!(before.starts_with("model network latency=200ms "));
    assert!(statistic(before, "reads") >= 4.0 && statistic(before, "read_mean_us") >= 200_000.0);
    assert!(statistic(after, "write_bytes") >= 4.0 * 65536.0);
    place.assert_clean();
}

#[test]
fn the_model_changes_at_run_time() {
    let Some(place) = Place::new() else { return };
    let script = "echo disk rpm=5400 > $SLOWDISK_CONTROL && head -1 $SLOWDISK_CONTROL
        echo network latency=3ms > $SLOWDISK_CONTROL && head -1 $SLOWDISK_CONTROL
        echo off > $SLOWDISK_CONTROL && head -1 $SLOWDISK_CONTROL
        echo floppy > $SLOWDISK_CONTROL || echo refused";
    let out = place.run(&["run", "-q", "--size", "64M", "--jitter", "7%", "--", "sh", "-c", script]);
    let stdout = text(&out.stdout);
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{stdout}");
    assert!(lines[0].starts_with("model disk ") && lines[0].contains(" rpm=5400 "));
    assert!(lines[1].starts_with("model network latency=3ms jitter=7% "));
    assert_eq!(lines[2..], ["model off", "refused"]);
    assert!(text(&out.stderr).contains("floppy"));
    place.assert_clean();
}

#[test]
fn bad_sectors_fail_as_often_as_they_should() {
    let Some(place) = Place::new() else { return };
    // Sectors 8000 to 8007, read by page, directly from the device: nothing is merged or tried again.
    let script =
        "page() { dd if=$SLOWDISK_DEVICE of=/dev/null bs=4096 count=1 skip=$1 iflag=direct 2>/dev/null; echo $1 $?; }
        echo 'bad first=8003 count=2 times=2' > $SLOWDISK_CONTROL
        page 999; page 1000; page 1000; page 1000; page 1001
        printf 'bad first=8007 count=1\nreset\n' > $SLOWDISK_CONTROL
        page 1000; page 1000; page 1000
        cat $SLOWDISK_CONTROL
        echo bad clear > $SLOWDISK_CONTROL
        page 1000
        echo bad first=1 > $SLOWDISK_CONTROL || echo refused
        grep -c bad $SLOWDISK_CONTROL";
    for latency in ["0", "2ms"] {
        let out = place.run(&["run", "-q", "--size", "64M", "--latency", latency, "--", "sh", "-c", script]);
        let stdout = text(&out.stdout);
        let (pages, rest): (Vec<&str>, Vec<&str>) =
            stdout.lines().partition(|line| line.starts_with("999 ") || line.starts_with("100"));
        assert_eq!(
            pages,
            ["999 0", "1000 1", "1000 1", "1000 0", "1001 0", "1000 1", "1000 1", "1000 1", "1000 0"],
            "{}",
            text(&out.stderr)
        );
        assert!(rest.contains(&"bad first=8007 count=1 times=0") && rest.contains(&"failed 3"), "{rest:?}");
        assert_eq!(rest[rest.len() - 2..], ["refused", "0"]);
        assert!(text(&out.stderr).contains("bad first=1: bad needs"), "{}", text(&out.stderr));
        place.assert_clean();
    }
}

#[test]
fn the_command_decides_the_status() {
    let Some(place) = Place::new() else { return };
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137)] {
        let out = place.run(&["run", "-q", "--size", "64M", "--", "sh", "-c", script]);
        assert_eq!(out.status.code(), Some(code), "{}", text(&out.stderr));
        place.assert_clean();
    }
    let out = place.run(&["run", "-q", "--size", "64M", "--", "/no/such/command"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("/no/such/command"));
    place.assert_clean();
    let out = place.run(&["run", "-q", "--size", "64M", "--setup", "exit 3", "--", "true"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("--setup"));
    place.assert_clean();
}

#[test]
fn a_kept_image_is_used_again() {
    let Some(place) = Place::new() else { return };
    let image = place.dir.join("image");
    let mount = place.dir.join("mnt");
    let places = ["run", "-q", "--size", "64M", "--image", image.to_str().unwrap(), "--mount", mount.to_str().unwrap()];
    let with = |script| place.run(&[&places[..], &["--", "sh", "-c", script]].concat());
    assert!(with("echo kept > $SLOWDISK_MOUNT/f").status.success());
    assert_eq!(text(&with("cat $SLOWDISK_MOUNT/f").stdout), "kept\n");
    assert!(!mount.exists());
    fs::write(&image, "no filesystem").unwrap();
    let out = with("true");
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("no ext4 filesystem"));
    fs::remove_file(&image).unwrap();
    place.assert_clean();
}

#[test]
fn termination_and_interruption_leave_nothing() {
    let Some(place) = Place::new() else { return };
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let mut child = place.start("cd $SLOWDISK_MOUNT; exec sleep 1000");
        kill(child.id(), signal);
        assert_eq!(child.wait().unwrap().code(), Some(128 + signal));
        place.assert_clean();
    }
}

#[test]
fn processes_left_in_the_mount_are_ended() {
    let Some(place) = Place::new() else { return };
    let script = "cd $SLOWDISK_MOUNT; exec 3> open; setsid sleep 1000 > /dev/null 2>&1 & exit 0";
    let out = place.run(&["run", "-q", "--size", "64M", "--", "sh", "-c", script]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    place.assert_clean();
}

#[test]
fn killing_the_supervisor_leaves_nothing() {
    let Some(place) = Place::new() else { return };
    let busy = "while :; do dd if=$SLOWDISK_DEVICE of=/dev/null bs=4096 count=100 iflag=direct 2>/dev/null; done";
    let inside = "cd $SLOWDISK_MOUNT; setsid sleep 1000 & sleep 1000";
    for script in ["exec sleep 1000", busy, inside] {
        let mut child = place.start(script);
        kill(child.id(), libc::SIGKILL);
        child.wait().unwrap();
        place.assert_clean_soon();
    }
}

#[test]
fn killing_the_server_leaves_nothing() {
    let Some(place) = Place::new() else { return };
    let mut child = place.start("cd $SLOWDISK_MOUNT; exec sleep 1000");
    kill(server_of(&place.work_dir()), libc::SIGKILL);
    assert_eq!(child.wait().unwrap().code(), Some(2));
    place.assert_clean();
}

#[test]
fn undo_removes_what_a_run_killed_as_a_whole_left() {
    let Some(place) = Place::new() else { return };
    let mut child = place.start("cd $SLOWDISK_MOUNT; exec sleep 1000");
    let work_dir = place.work_dir();
    let all = [child.id(), server_of(&work_dir)];
    // Stopped first, so that neither sees the other die.
    all.iter().for_each(|&pid| kill(pid, libc::SIGSTOP));
    all.iter().for_each(|&pid| kill(pid, libc::SIGKILL));
    child.wait().unwrap();
    assert!(!place.leftovers().is_empty());
    let out = place.run(&["undo", work_dir.to_str().unwrap()]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    place.assert_clean();
}

/// The run notes it at the end of its plan.
fn server_of(work_dir: &Path) -> u32 {
    let plan = fs::read(work_dir.join("plan")).unwrap();
    text(plan.rsplit(|&byte| byte == 0).next().unwrap()).parse().unwrap()
}

#[test]
fn usage_errors_name_the_value_and_exit_with_2() {
    let run = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_slowdisk")).args(args).output().unwrap();
    for args in [
        &["run", "--latency", "5", "--", "true"][..],
        &["run", "--model", "disk", "--rpm", "0", "--", "true"],
        &["run", "--jitter", "200%", "--", "true"],
        &["run"],
        &["undo", "/nonexistent"],
    ] {
        let out = run(args);
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(!out.stderr.is_empty(), "{args:?}");
    }
}
