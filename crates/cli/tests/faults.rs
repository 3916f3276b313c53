//! Devices that are slow, out of order, or broken: every byte and every error is the program's own.

mod support;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};

use serde_json::Value;
use support::{Ended, Place, Under, binary, cool, end, have, is_root, lines_of, process, wait_until};

/// A slow device, with a file system on it that is mounted; gone with this.
struct Device {
    place: Place,
    mount: PathBuf,
    control: PathBuf,
    server: Child,
    /// Its end ends the server.
    lifeline: Option<ChildStdin>,
}

impl Device {
    /// A device with files of a few hundred KiB each, `f0` to `f5`, where such a device can be had.
    fn new() -> Option<Self> {
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
        place.write("setup", "for i in 0 1 2 3 4 5; do cp f$i $SLOWDISK_MOUNT; done");
        for file in 0..6 {
            place.write(format!("f{file}"), lines_of(file, 10_000));
        }
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

    fn tell(&self, line: &str) {
        fs::write(&self.control, line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }

    /// A line of the control file.
    fn says(&self, key: &str) -> u64 {
        let text = fs::read_to_string(&self.control).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {key} in {text}")).parse().unwrap()
    }

    /// The device's sector where a page of a file lies.
    fn sector(&self, name: &str, page: u64) -> u64 {
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

    fn make_cold(&self) {
        cool(&self.mount);
    }

    /// Paths on the device.
    fn words(&self, program: &[&str], names: &[&str]) -> Vec<String> {
        let paths = names.iter().map(|name| self.mount.join(name).display().to_string());
        program.iter().map(|word| (*word).to_owned()).chain(paths).collect()
    }

    fn plain(&self, words: &[String]) -> Ended {
        self.make_cold();
        end(self.place.plain(words), b"")
    }

    fn foreseen(&self, options: &[&str], words: &[String]) -> (Ended, Value) {
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

const NAMES: [&str; 6] = ["f0", "f1", "f2", "f3", "f4", "f5"];

#[test]
fn a_broken_place_is_the_same_to_all() {
    let Some(device) = Device::new() else { return };
    device.tell("network latency=500us jitter=0% servers=0");
    // Knowing nothing, from words, and from a profile that was made while all was well.
    let words = device.words(&["cat"], &NAMES);
    let whole = device.plain(&words).with(0);
    assert_eq!(device.foreseen(&[], &words).0, whole);
    // At multiples of 128 KiB: the page cache's units are never larger and never cross them. Elsewhere the kernel fails
    // a whole unit, and how large it made that one differs from run to run.
    for (name, page, sectors) in [("f2", 32, 1), ("f0", 0, 8), ("f5", 64, 24), ("f3", 32, 300)] {
        let sector = device.sector(name, page);
        device.tell(&format!("bad first={sector} count={sectors} times=0"));
        let plain = device.plain(&words).with(1);
        assert!(plain.err().contains("Input/output error"), "{plain:?}");
        assert!(plain.stdout.len() < whole.stdout.len());
        for options in [&[][..], &["--no-words"], &["--no-learn"], &["--no-learn", "--no-words"]] {
            let (ended, account) = device.foreseen(options, &words);
            assert_eq!(ended, plain, "{name} page {page} {options:?}: {account:#}");
        }
        for program in [&["md5sum"][..], &["grep", "-c", "word3"], &["wc", "-l"]] {
            let words = device.words(program, &NAMES);
            let plain = device.plain(&words);
            for _ in 0..2 {
                assert_eq!(device.foreseen(&[], &words).0, plain, "{words:?}");
            }
        }
        device.tell("bad clear");
    }
    assert!(device.says("failed") > 0);
    assert_eq!(device.foreseen(&[], &words).0, whole);
}

/// A program that reads a file when it is told to, and not before. What foresee knows, it has read ahead by then.
fn read_when_told(device: &Device, io: &str, meanwhile: impl Fn()) -> Ended {
    let script = "echo ready; until [ -e go ]; do sleep 0.02; done; exec cat \"$1\"";
    let words = device.words(&["sh", "-c", script, "sh"], &["f4"]);
    let _ = fs::remove_file(device.place.path("go"));
    device.make_cold();
    let mut command = device.place.run(&[], &words);
    command.env("FORESEE_IO", io);
    let under = Under::way(command);
    meanwhile();
    device.place.write("go", "");
    let (said, how) = under.finish();
    Ended { stdout: said.strip_prefix("ready\n").unwrap().into(), stderr: Vec::new(), how }
}

#[test]
fn an_error_that_a_read_ahead_met_is_forgotten() {
    let Some(device) = Device::new() else { return };
    let sector = device.sector("f4", 20);
    for io in ["", "threads"] {
        // Only the read ahead fails; all is well when the program reads for itself.
        let ended = read_when_told(&device, io, || {
            wait_until("it was read ahead", || device.says("reads") > 0);
            device.tell("reset");
        });
        assert!(ended.with(0).out() == lines_of(4, 10_000));
        device.tell("reset");
        device.tell(&format!("bad first={sector} count=8 times=0"));
        let ended = read_when_told(&device, io, || {
            wait_until("the read ahead has failed", || device.says("failed") > 0);
            device.tell("bad clear");
        });
        assert!(ended.with(0).out() == lines_of(4, 10_000), "with FORESEE_IO={io}");
        // Fails once: whoever reads first meets it.
        device.tell("reset");
        device.tell(&format!("bad first={sector} count=8 times=1"));
        let ended = read_when_told(&device, io, || {
            wait_until("the error was met", || device.says("failed") == 1);
        });
        assert!(ended.with(0).out() == lines_of(4, 10_000), "with FORESEE_IO={io}");
        device.tell("reset");
    }
}

#[test]
fn errors_that_come_and_go_under_mapped_and_direct_reads() {
    if !have("python3") {
        return;
    }
    let Some(device) = Device::new() else { return };
    let program = "
import mmap, sys
for name in sys.argv[1:]:
    with open(name, 'rb') as f:
        m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
        print(sum(m[0:100000]), flush=True)
        print(sum(m[:]), flush=True)
";
    let mapped = device.words(&["python3", "-c", program], &["f1", "f2"]);
    let direct: Vec<String> = vec![
        "dd".into(),
        format!("if={}", device.mount.join("f2").display()),
        "bs=4096".into(),
        "iflag=direct".into(),
        "conv=noerror".into(),
        "status=none".into(),
    ];
    for words in [&mapped, &direct] {
        assert_eq!(device.foreseen(&[], words).0, device.plain(words).with(0));
    }
    device.tell(&format!("bad first={} count=8", device.sector("f2", 50)));
    let plain = device.plain(&mapped);
    assert_eq!(plain.how, format!("signal {}", libc::SIGBUS));
    assert_eq!(device.foreseen(&[], &mapped).0, plain);
    let whole = lines_of(2, 10_000).len();
    let plain = device.plain(&direct).with(0);
    assert_eq!((plain.stdout.len(), &device.foreseen(&[], &direct).0), (whole - 4096, &plain));
}

#[test]
fn late_and_out_of_order_is_still_right() {
    let Some(device) = Device::new() else { return };
    let words = device.words(&["cat"], &NAMES);
    let whole = device.plain(&words).with(0);
    for line in
        ["network latency=5ms jitter=90% servers=0", "network latency=8ms jitter=90% servers=3 bandwidth=20M", "disk"]
    {
        device.tell(line);
        for options in [&[][..], &["--no-words"], &["--memory", "256KiB"], &["--memory", "4KiB"]] {
            let (ended, account) = device.foreseen(options, &words);
            assert!(ended == whole, "{line} {options:?}: {account:#}");
        }
        let mut command = device.place.run(&[], &words);
        command.env("FORESEE_IO", "threads");
        device.make_cold();
        assert!(end(command, b"") == whole, "{line} with threads");
    }
}

#[test]
fn foresee_ends_with_its_program_whatever_is_still_under_way() {
    let Some(device) = Device::new() else { return };
    let words = device.words(&["sh", "-c", "cat \"$@\" | head -n 1", "sh"], &NAMES);
    let first = device.plain(&words).with(0);
    assert_eq!(device.foreseen(&[], &words).0, first);
    // Reads ahead that take long are cut off, or waited for, but nothing stays behind.
    for io in ["", "threads"] {
        device.tell("network latency=300ms jitter=50% servers=1 bandwidth=0");
        device.make_cold();
        let mut command = device.place.run(&[], &words);
        command.env("FORESEE_IO", io);
        assert_eq!(end(command, b""), first);
        device.make_cold();
        let mut command = device.place.run(&[], &words);
        command.env("FORESEE_IO", io);
        let under = Under::way(command);
        process::kill(under.pid(), libc::SIGKILL);
        under.wait();
        device.tell("off");
        device.place.wait_for_all();
    }
}
