//! What the end-to-end tests share: a place of their own, and programs run in it to their end, with
//! and without foresee.
#![allow(dead_code, unused_imports, reason = "each test file uses a part")]

pub mod device;
pub mod library;
pub mod process;
pub mod processes;
pub mod same;
pub mod under;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use foresee_run::profile::{Findings, Profile, Store};

pub use device::Device;
pub use process::{Ended, end, have, kill, wait_until};
pub use same::{Same, same};
pub use under::Under;

/// The command under test. Without the library beside it nothing would be tested.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("FORESEE_TEST_LIBRARY") {
        Some(library) => beside(Path::new(&library)),
        None => built(),
    })
}

/// The command with this library beside it, as `make test` has it with the one that ships. The
/// other programs are there as well.
fn beside(library: &Path) -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_foresee"));
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shipped");
    fs::create_dir_all(&directory).unwrap();
    for from in [built, library, &built.with_file_name("slowdisk")] {
        let to = directory.join(from.file_name().unwrap());
        let _ = fs::remove_file(&to);
        fs::hard_link(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
    directory.join("foresee")
}

fn built() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_foresee"));
    let library = binary.with_file_name("libforesee_preload.so");
    let profile = if cfg!(debug_assertions) { "" } else { " --release" };
    let make = format!("cargo build{profile} -p foresee-preload");
    assert!(library.is_file(), "{} is missing: run `{make}` first", library.display());
    binary.to_owned()
}

/// Tries this up to four times. For what comes true if foresee gets a processor in time, which a
/// busy machine does not promise; what is broken fails however often it is tried.
pub fn in_time(attempt: impl Fn()) {
    let succeeds = || catch_unwind(AssertUnwindSafe(&attempt)).inspect_err(|_| eprintln!("tried again")).is_ok();
    if !(0..3).any(|_| succeeds()) {
        attempt();
    }
}

/// Whether the tests run as root; says so if not.
pub fn is_root() -> bool {
    // SAFETY: takes no arguments and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        eprintln!("skipped: not root");
    }
    is_root
}

/// A directory of one test's own. With it goes all that the test left running.
pub struct Place {
    directory: PathBuf,
}

impl Place {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        binary();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let above = std::env::temp_dir().canonicalize().unwrap();
        let directory = above.join(format!("foresee-e2e-{}-{number}", std::process::id()));
        for name in ["work", "cache", "home", "tmp"] {
            fs::create_dir_all(directory.join(name)).unwrap();
        }
        Place { directory }
    }

    /// Where commands run.
    pub fn work(&self) -> PathBuf {
        self.directory.join("work")
    }

    /// Their `XDG_CACHE_HOME`.
    pub fn cache(&self) -> PathBuf {
        self.directory.join("cache")
    }

    /// Where the profiles are.
    pub fn profiles(&self) -> PathBuf {
        self.cache().join("foresee/profiles")
    }

    /// Their `TMPDIR`.
    pub fn tmp(&self) -> PathBuf {
        self.directory.join("tmp")
    }

    /// A path where commands run.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.work().join(name)
    }

    /// A path that is not where commands run.
    pub fn aside(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Writes a file where commands run.
    pub fn write(&self, name: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, contents).unwrap();
        path
    }

    /// Some files of lines, `d/f0` and so on.
    pub fn write_lines(&self, files: usize, lines: usize) {
        for file in 0..files {
            self.write(format!("d/f{file}"), lines_of(file, lines));
        }
    }

    /// A file of so many blocks, no two of which are alike.
    pub fn write_blocks(&self, name: &str, blocks: usize) {
        let words = (0..blocks as u64 * 512).flat_map(|word| word.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes());
        self.write(name, words.collect::<Vec<u8>>());
    }

    /// A command to run here.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.work());
        for name in ["LD_PRELOAD", "FORESEE_RING", "FORESEE_IO", "FORESEE_PATCH", "MAKEFLAGS", "CARGO_MAKEFLAGS"] {
            command.env_remove(name);
        }
        command.env("XDG_CACHE_HOME", self.cache()).env("HOME", self.directory.join("home"));
        command.env("TMPDIR", self.tmp()).env("LC_ALL", "C").env("TZ", "UTC").env("PYTHONDONTWRITEBYTECODE", "1");
        process::heed_signals(&mut command);
        command
    }

    /// These words as a command.
    pub fn plain(&self, words: &[impl AsRef<OsStr>]) -> Command {
        let mut command = self.command(words[0].as_ref());
        command.args(&words[1..]);
        command
    }

    /// `foresee` with these words.
    pub fn foresee(&self, words: &[impl AsRef<OsStr>]) -> Command {
        let mut command = self.command(binary());
        command.args(words);
        command
    }

    /// `foresee run OPTIONS -- WORDS`.
    pub fn run(&self, options: &[&str], words: &[impl AsRef<OsStr>]) -> Command {
        let mut command = self.foresee(&["run"]);
        command.args(options).arg("--").args(words);
        command
    }

    /// `foresee run --json` of these words: how it ended, and its account.
    pub fn account(&self, options: &[&str], words: &[impl AsRef<OsStr>]) -> (Ended, serde_json::Value) {
        let file = self.aside("account.json");
        let file_word = file.display().to_string();
        let ended = end(self.run(&[options, &["--json", &file_word]].concat(), words), b"");
        let text = fs::read(&file).unwrap_or_else(|error| panic!("no account ({error}) of {ended:?}"));
        (ended, serde_json::from_slice(&text).unwrap())
    }

    /// The shell's command that runs the words after it foreseen.
    pub fn foresee_word(&self) -> String {
        format!("{} run --", binary().display())
    }

    /// Drops what the commands would read from memory.
    pub fn make_cold(&self) {
        cool(&self.work());
    }

    /// The profiles there are.
    pub fn stored(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.profiles()).map(|it| it.flatten().collect()).unwrap_or_else(|_| Vec::new());
        let mut stored: Vec<PathBuf> = entries.iter().map(|entry| entry.path()).collect();
        stored.sort();
        stored
    }

    /// The one profile there is.
    pub fn only_profile(&self) -> Profile {
        let stored = Store::at(self.profiles()).list().unwrap();
        assert_eq!(stored.len(), 1);
        stored[0].read().unwrap()
    }

    /// What runs found of themselves is forgotten: the next one tells all that it reads.
    pub fn forget_findings(&self) {
        Store::at(self.profiles()).note(&self.only_profile(), Findings::default()).unwrap();
    }

    /// The processes that were started here and still run, or have not been waited for.
    pub fn processes(&self) -> Vec<i32> {
        processes::with_variable("XDG_CACHE_HOME", self.cache().as_os_str())
    }

    /// Waits until nothing runs here any more.
    pub fn wait_for_all(&self) {
        wait_until("all processes have ended", || self.processes().is_empty());
    }

    /// What foresee may have left where it should leave nothing.
    pub fn assert_nothing_left(&self) {
        self.wait_for_all();
        let names = |directory: &Path| -> Vec<OsString> {
            fs::read_dir(directory).map(|it| it.flatten().map(|entry| entry.file_name()).collect()).unwrap_or_default()
        };
        assert_eq!(names(&self.tmp()), [""; 0], "left in TMPDIR");
        let shared = names(Path::new("/dev/shm"));
        let ours: Vec<_> = shared.iter().filter(|name| name.to_string_lossy().contains("foresee")).collect();
        assert_eq!(ours, [""; 0], "left in /dev/shm");
        let hidden: Vec<_> =
            self.stored().into_iter().filter(|it| it.extension() != Some("profile".as_ref())).collect();
        assert!(hidden.is_empty(), "left beside the profiles: {hidden:?}");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for pid in self.processes() {
            process::kill(pid, libc::SIGKILL);
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Lines that tell files apart.
pub fn lines_of(file: usize, lines: usize) -> String {
    (0..lines).map(|line| format!("file {file} line {line} word{} {:08x}\n", line % 97, line * 2654435761)).collect()
}

/// Drops a directory's files from memory.
pub fn cool(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            cool(&entry.path());
        } else if kind.is_file()
            && let Ok(file) = fs::File::open(entry.path())
        {
            let _ = file.sync_data();
            foresee_run::host::drop_pages(&file, 0, 0);
        }
    }
}
