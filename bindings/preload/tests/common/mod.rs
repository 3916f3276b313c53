//! A supervisor for tests: makes a ring, runs programs with the library loaded, and collects what
//! they say.
#![allow(dead_code, reason = "each test file uses a part")]

use std::ffi::{CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use foresee_ring::{Consumer, Next, PATH_BYTES_MAX, Record, Region, Stamp};

/// One record, kept.
#[derive(Clone, Debug)]
pub struct Said {
    pub stamp: Stamp,
    pub record: Record,
    pub path: PathBuf,
}

pub struct Ring {
    pub region: &'static Region,
    consumer: Consumer<'static>,
    fd: i32,
}

impl Ring {
    pub fn new() -> Self {
        let name = CString::new("foresee-test").unwrap();
        let bytes = Region::layout_size();
        // SAFETY: a new file, and a new mapping of it that is never undone.
        let (fd, memory) = unsafe {
            let fd = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
            assert!(fd >= 0 && libc::ftruncate(fd, bytes as i64) == 0);
            assert_eq!(libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW), 0);
            let prot = libc::PROT_READ | libc::PROT_WRITE;
            (fd, libc::mmap(std::ptr::null_mut(), bytes, prot, libc::MAP_SHARED, fd, 0))
        };
        assert_ne!(memory, libc::MAP_FAILED);
        // SAFETY: of this size, aligned to a page, and zero.
        let region = unsafe { Region::initialise(memory.cast()) };
        region.want_sites();
        Ring { region, consumer: Consumer::new(region), fd }
    }

    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}:foresee-test", std::process::id(), self.fd)
    }

    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("LD_PRELOAD", library()).env("FORESEE_RING", self.path());
        command
    }

    /// What was said since the last time.
    pub fn said(&mut self) -> Vec<Said> {
        let mut said = Vec::new();
        let mut buffer = [0; PATH_BYTES_MAX];
        while let Next::Record(entry) = self.consumer.next(&mut buffer) {
            let path = PathBuf::from(OsStr::from_bytes(entry.path));
            said.push(Said { stamp: entry.stamp, record: entry.record, path });
        }
        assert_eq!(self.consumer.corrupt(), 0);
        said
    }

    /// The same where programs have been killed: what they began and did not finish is skipped.
    pub fn said_past_holes(&mut self) -> Vec<Said> {
        let mut said = self.said();
        while let Next::Stalled { .. } = self.consumer.next(&mut [0; PATH_BYTES_MAX]) {
            self.consumer.skip_hole();
            said.extend(self.said());
        }
        said
    }

    /// Runs a program to its end, with the library. It must succeed.
    pub fn run(&mut self, command: &mut Command) -> (Output, Vec<Said>) {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
        (output, self.said())
    }
}

/// The library that ships, if these tests are to be of that (`make test` runs them twice).
pub fn shipped() -> Option<PathBuf> {
    std::env::var_os("FORESEE_TEST_LIBRARY").map(PathBuf::from)
}

/// The library: the one that ships, or that of the profile that this test is built in. Cargo does
/// not build it for us: tests cannot link to it.
pub fn library() -> PathBuf {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        if let Some(library) = shipped() {
            assert!(library.is_file(), "FORESEE_TEST_LIBRARY={} is not there", library.display());
            return library;
        }
        // <target>/<profile>/deps/<test>
        let test = std::env::current_exe().unwrap();
        let profile = test.ancestors().nth(2).unwrap();
        let name = if profile.ends_with("debug") { "dev".as_ref() } else { profile.file_name().unwrap() };
        let cargo = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "foresee-preload", "--profile"])
            .arg(name)
            .arg("--target-dir")
            .arg(profile.parent().unwrap())
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(cargo.unwrap().success());
        profile.join("libforesee_preload.so")
    };
    LIBRARY.get_or_init(build).clone()
}

/// A new directory for one test.
pub fn directory() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("preload-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&directory).unwrap();
    directory.canonicalize().unwrap()
}

/// Compiles one of `tests/programs`.
pub fn compile(name: &str, into: &Path, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name).with_extension("c");
    let program = into.join(name);
    let gcc = Command::new("gcc")
        .args(["-O1", "-g", "-pthread", "-D_GNU_SOURCE", "-o"])
        .args([&program, &source])
        .args(options)
        .output()
        .unwrap();
    assert!(gcc.status.success(), "{}", String::from_utf8_lossy(&gcc.stderr));
    program
}

/// What gives a program a note of this name, as Go's linker leaves it.
pub fn note(directory: &Path, name: &str) -> PathBuf {
    let note = directory.join("note.S");
    let text = format!(
        ".section .note.GNU-stack,\"\",%progbits\n.section .note.test,\"a\",%note\n.balign 4\n\
         .long 1f - 0f, 3f - 2f, 4\n0: .ascii \"{name}\\0\\0\"\n1: .balign 4\n2: .asciz \"build\"\n3: .balign 4\n"
    );
    fs::write(&note, text).unwrap();
    note
}

/// Runs a program without the library, with it, and with it but unpatched: exit status, output and
/// errno (which the programs print) must be the same. Returns what it said when patched, and when
/// not.
pub fn alike(program: &Path, arguments: &[&str], directory: &Path) -> (Vec<Said>, Vec<Said>) {
    let mut ring = Ring::new();
    let mut run = |preload: bool, patch: &str| {
        let mut command = if preload { ring.command(program) } else { Command::new(program) };
        command.args(arguments).current_dir(directory).env("FORESEE_PATCH", patch);
        let running = std::thread::spawn(move || command.output().unwrap());
        let mut said = Vec::new();
        while !running.is_finished() {
            said.extend(ring.said());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        said.extend(ring.said());
        (running.join().unwrap(), said)
    };
    let (plain, _) = run(false, "1");
    assert!(plain.status.success(), "{plain:?}");
    let (patched, said_patched) = run(true, "1");
    let (unpatched, said_unpatched) = run(true, "0");
    for other in [patched, unpatched] {
        assert_eq!(String::from_utf8_lossy(&plain.stdout), String::from_utf8_lossy(&other.stdout));
        assert_eq!((&plain.stderr, plain.status), (&other.stderr, other.status));
    }
    (said_patched, said_unpatched)
}

/// The reads of the file that was opened with a path ending so: offset (or -1), asked, got.
pub fn reads_of(said: &[Said], end: &str) -> Vec<(i64, u32, i32)> {
    let mut uses = std::collections::HashSet::new();
    let mut reads = Vec::new();
    for said in said {
        match said.record {
            Record::Opened { fd, generation, .. } if said.path.to_string_lossy().ends_with(end) => {
                uses.insert((fd, generation));
            }
            Record::Duplicated { from, to, generation } if uses.iter().any(|(fd, _)| *fd == from) => {
                uses.insert((to, generation));
            }
            Record::Read { fd, generation, offset, asked, got, .. } if uses.contains(&(fd, generation)) => {
                reads.push((offset as i64, asked, got));
            }
            _ => {}
        }
    }
    reads
}
