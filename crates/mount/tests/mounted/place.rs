//! A directory of one test's own, and what is mounted in it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use crate::process::{Ended, end, have, heed_signals, kill};
use foresee_object_server::{Faults, Server, Versions};

/// Whether anything can be mounted here; says so if not.
pub fn can_mount() -> bool {
    let fuse = File::options().read(true).write(true).open("/dev/fuse");
    fuse.inspect_err(|error| eprintln!("skipped: /dev/fuse: {error}")).is_ok()
}

/// The directory: `from` is for what is shown, `at` for where.
pub struct Place(PathBuf);

impl Place {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, SeqCst);
        let above = std::env::temp_dir().canonicalize().unwrap();
        let place = Place(above.join(format!("foresee-mount-{}-{number}", std::process::id())));
        for name in ["from", "at"] {
            fs::create_dir_all(place.path(name)).unwrap();
        }
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file below `from`.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path("from").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// `foresee mount` with these words.
    pub fn mount(&self, words: &[&str]) -> Command {
        self.command("mount", words)
    }

    /// `foresee unmount`.
    pub fn unmount(&self) -> Command {
        self.unmount_at("at")
    }

    pub fn unmount_at(&self, at: &str) -> Command {
        self.command("unmount", &[at])
    }

    fn command(&self, verb: &str, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foresee-mount"));
        command.current_dir(&self.0).arg(verb).args(words).env("LC_ALL", "C");
        // What a machine of a test has for itself is not the test's.
        command.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "mine").env("AWS_REGION", "here");
        command.env("AWS_CONFIG_FILE", "/dev/null").env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
        command.env_remove("AWS_ENDPOINT_URL").env_remove("AWS_PROFILE");
        heed_signals(&mut command);
        command
    }

    /// What a shell's command in `at` comes to, with `from` mounted there.
    pub fn shown(&self, script: &str) -> Ended {
        end(self.mount(&["--metadata-ttl", "0", "from", "at", "--", "sh", "-c", script]), b"")
    }

    /// What a script comes to in namespaces of mounts and processes of its own, which end with it.
    /// It has the path of `foresee-mount` as `$PROGRAM`. None where that cannot be; says so
    /// then.
    pub fn unshared(&self, script: &str) -> Option<Ended> {
        // SAFETY: takes no arguments and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            eprintln!("skipped: not root");
            return None;
        }
        if !["unshare", "mount", "umount"].iter().all(|it| have(it)) {
            return None;
        }
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-ec", script]);
        command.current_dir(&self.0).env("PROGRAM", env!("CARGO_BIN_EXE_foresee-mount")).env("LC_ALL", "C");
        Some(end(command, b""))
    }

    pub fn is_mounted(&self) -> bool {
        let at = self.path("at");
        fs::read_to_string("/proc/self/mounts").unwrap().contains(at.to_str().unwrap())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.is_mounted() {
            let _ = self.unmount().status();
        }
        // Not through a mount that is left, which a failed test is for.
        if !self.is_mounted() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// A mount that is there until this is dropped.
pub struct Mounted {
    pub at: PathBuf,
    pub place: Place,
    pub daemon: Child,
}

impl Mounted {
    /// Mounts as this command says.
    pub fn by(place: Place, mut command: Command) -> Self {
        let mut daemon = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(daemon.stderr.take().unwrap());
        said.read_line(&mut line).unwrap();
        assert!(line.ends_with(", until Ctrl-C\n"), "{line}");
        // What else it says is for whoever looks at a test that failed.
        std::thread::spawn(move || said.lines().map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        Mounted { at: place.path("at"), place, daemon }
    }

    /// Mounts `from`.
    pub fn directory(place: Place, options: &[&str]) -> Self {
        let command = place.mount(&[options, &["from", "at"]].concat());
        Self::by(place, command)
    }

    /// Mounts the bucket `b` of this server.
    pub fn bucket(server: &Server, options: &[&str]) -> Self {
        let place = Place::new();
        let mut command = place.mount(&[options, &["s3://b", "at"]].concat());
        command.env("AWS_ENDPOINT_URL", server.url());
        Self::by(place, command)
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.at.join(name)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        kill(self.daemon.id() as i32, libc::SIGTERM);
        // One that a failed test has stopped would never end.
        kill(self.daemon.id() as i32, libc::SIGCONT);
        let _ = self.daemon.wait();
    }
}

/// A server that does as it should, with pages as long as S3's.
pub fn server() -> Server {
    let server = Server::new(Versions::Tags, Faults::default());
    server.list_by(1000);
    server
}
