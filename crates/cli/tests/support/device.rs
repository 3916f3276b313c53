//! A slow device, for tests that may have one: root's, where FUSE and loop devices are.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};

use serde_json::Value;

use super::{Ended, Place, binary, cool, end, have, is_root};

/// A slow device, with a file system on it that is mounted; gone with this.
pub struct Device {
    pub place: Place,
    pub mount: PathBuf,
    control: PathBuf,
    server: Child,
    /// Its end ends the server.
    lifeline: Option<ChildStdin>,
}

impl Device {
    /// A device with what `setup`, a script, copies to `$SLOWDISK_MOUNT`, where such a device can
    /// be had.
    pub fn new(prepare: impl FnOnce(&Place), setup: &str) -> Option<Self> {
        let can_open = |path: &str| {
            let opened = File::options().read(true).write(true).open(path);
            opened.inspect_err(|error| eprintln!("skipped: {path}: {error}")).is_ok()
        };
        if !is_root() || !can_open("/dev/fuse") || !can_open("/dev/loop-control") || !have("mkfs.ext4") {
            return None;
        }
        let slowdisk = binary().with_file_name("slowdisk");
        assert!(slowdisk.is_file(), "{} is missing: run `cargo build -p foresee-slowdisk` first", slowdisk.display());
        let place = Place::new();
        prepare(&place);
        place.write("setup", setup);
        let mut command = place.command(slowdisk);
        command.args(["run", "-q", "--size", "64M", "--model", "off", "--setup", "sh ./setup", "--"]);
        // It is no process of a test's.
        command.env_remove("XDG_CACHE_HOME");
        command.args(["sh", "-c", "echo $SLOWDISK_MOUNT; echo $SLOWDISK_CONTROL; cat"]);
        let mut server = command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let mut path = || PathBuf::from(lines.next().expect("slowdisk says where its device is").unwrap());
        let (mount, control) = (path(), path());
        let lifeline = server.stdin.take();
        Some(Device { place, mount, control, server, lifeline })
    }

    pub fn tell(&self, line: &str) {
        fs::write(&self.control, line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }

    /// A line of the control file.
    pub fn says(&self, key: &str) -> u64 {
        let text = fs::read_to_string(&self.control).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {key} in {text}")).parse().unwrap()
    }

    /// The device's sector where a page of a file lies.
    pub fn sector(&self, name: &str, page: u64) -> u64 {
        /// `FIBMAP` of linux/fs.h: a block of the file in, the device's block out.
        const FIBMAP: libc::Ioctl = 1;
        let words = ["stat", "-f", "-c", "%S", self.mount.to_str().unwrap()];
        let block_bytes: u64 = end(self.place.plain(&words), b"").with(0).out().trim().parse().unwrap();
        let file = File::open(self.mount.join(name)).unwrap();
        let mut block = (page * 4096 / block_bytes) as libc::c_int;
        // SAFETY: the call reads and writes the integer it is given.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), FIBMAP, &raw mut block) };
        assert!(result == 0 && block > 0, "FIBMAP: {}", std::io::Error::last_os_error());
        block as u64 * block_bytes / 512
    }

    pub fn make_cold(&self) {
        cool(&self.mount);
    }

    /// Paths on the device.
    pub fn words(&self, program: &[&str], names: &[&str]) -> Vec<String> {
        let paths = names.iter().map(|name| self.mount.join(name).display().to_string());
        program.iter().map(|word| (*word).to_owned()).chain(paths).collect()
    }

    pub fn plain(&self, words: &[String]) -> Ended {
        self.make_cold();
        end(self.place.plain(words), b"")
    }

    pub fn foreseen(&self, options: &[&str], words: &[String]) -> (Ended, Value) {
        self.make_cold();
        self.place.account(options, words)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.lifeline.take();
        let ended = self.server.wait();
        if !std::thread::panicking() {
            assert!(ended.unwrap().success(), "slowdisk leaves as it should");
        }
    }
}
