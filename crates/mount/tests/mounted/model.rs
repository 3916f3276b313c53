//! Whatever is done to files, and by whomever, in the order of a seed, comes to what the same does
//! to a map in memory: never a wrong byte, never half an object, never an original that is gone.
//!
//! `FORESEE_SEEDS=200` tries more; `FORESEE_SEED=17` one again.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::bytes::bytes;
use crate::place::{Mounted, Place, can_mount};
use crate::random::Random;
use foresee_object_server::{Faults, Server, Versions};

const NAMES: [&str; 6] = ["d/a", "d/b", "d/c", "e/a", "e/b", "top"];
const STEPS: u64 = 120;
/// What is longer goes to the store in parts.
const LONG: u64 = 8 << 20;
/// Readers that keep what they opened, whatever becomes of it.
const READERS_MAX: usize = 6;

type Bytes = Arc<Vec<u8>>;

fn seeds(default: u64) -> Vec<u64> {
    let number = |name: &str| env::var(name).ok().map(|it| it.parse::<u64>().unwrap());
    number("FORESEE_SEED").map_or_else(|| (0..number("FORESEE_SEEDS").unwrap_or(default)).collect(), |seed| vec![seed])
}

/// What others than those who work on the mount do.
enum Behind {
    Server(Server),
    Directory,
}

struct Model {
    seed: u64,
    random: Random,
    mounted: Mounted,
    behind: Behind,
    /// What should be there.
    files: BTreeMap<&'static str, Bytes>,
    /// What they opened, and where they may hear that it is another by now.
    readers: Vec<(File, &'static str, Bytes)>,
    generation: u64,
}

impl Model {
    fn new(seed: u64, mounted: Mounted, behind: Behind) -> Self {
        let (files, readers) = (BTreeMap::new(), Vec::new());
        let mut model = Model { seed, random: Random(seed), mounted, behind, files, readers, generation: 0 };
        NAMES.iter().for_each(|name| model.others_write(name));
        model
    }

    fn path(&self, name: &str) -> PathBuf {
        self.mounted.path(name)
    }

    fn name(&mut self) -> &'static str {
        NAMES[self.random.below(NAMES.len() as u64) as usize]
    }

    /// Bytes that nobody has seen before.
    fn new_bytes(&mut self, name: &str) -> Bytes {
        self.generation += 1;
        let size = match self.random.below(10) {
            0 => 0,
            1..=4 => self.random.below(5000),
            5..=8 => self.random.below(300_000),
            _ => self.random.below(2 << 20),
        };
        Arc::new(bytes(name, self.generation, size))
    }

    /// What is behind the mount has of this name.
    fn original(&self, name: &str) -> Option<Vec<u8>> {
        match &self.behind {
            Behind::Server(server) => server.get(&format!("/b/{name}")).map(|it| it.to_vec()),
            Behind::Directory => fs::read(self.mounted.place.path("from").join(name)).ok(),
        }
    }

    fn others_write(&mut self, name: &'static str) {
        let bytes = self.new_bytes(name);
        match &self.behind {
            Behind::Server(server) => server.put(&format!("/b/{name}"), &bytes[..]),
            Behind::Directory => {
                let new = self.mounted.place.write("new", &*bytes);
                let path = self.mounted.place.path("from").join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::rename(new, path).unwrap();
            }
        }
        self.files.insert(name, bytes);
    }

    fn others_remove(&mut self, name: &'static str) {
        match &self.behind {
            Behind::Server(server) => server.remove(&format!("/b/{name}")),
            Behind::Directory => drop(fs::remove_file(self.mounted.place.path("from").join(name))),
        }
        self.files.remove(name);
    }

    /// All of a file, by reads and by a mapping.
    fn read(&mut self, name: &'static str) {
        let (found, expected) = (fs::read(self.path(name)), self.files.get(name).cloned());
        match (found, expected) {
            (Ok(found), Some(expected)) => {
                assert!(found == *expected, "{} is wrong: {} bytes", name, found.len());
                assert_eq!(fs::metadata(self.path(name)).unwrap().len(), expected.len() as u64);
                self.map(name, &expected);
            }
            (Err(error), None) => assert_eq!(error.kind(), io::ErrorKind::NotFound, "{name}"),
            (found, expected) => panic!("{name}: {:?}, {:?}", found.map(|it| it.len()), expected.map(|it| it.len())),
        }
    }

    fn map(&self, name: &str, expected: &[u8]) {
        if expected.is_empty() {
            return;
        }
        let (file, size) = (File::open(self.path(name)).unwrap(), expected.len());
        // A process of its own touches it: in this one, where the server runs as well, what waits for a page
        // may keep the server from the memory that it needs to send it.
        //
        // SAFETY: the mapping is of this size, nobody changes what it maps, and it ends with the process,
        // which calls nothing else.
        let status = unsafe {
            let child = libc::fork();
            assert!(child >= 0);
            if child == 0 {
                let at = libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
                let is_right = at != libc::MAP_FAILED && std::slice::from_raw_parts(at.cast::<u8>(), size) == expected;
                libc::_exit(i32::from(!is_right));
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            status
        };
        assert_eq!(status, 0, "{name}, mapped");
    }

    fn open_reader(&mut self, name: &'static str) {
        let Some(expected) = self.files.get(name).cloned() else { return };
        let file = File::open(self.path(name)).unwrap();
        self.readers.push((file, name, expected));
        if self.readers.len() > READERS_MAX {
            let at = self.random.below(READERS_MAX as u64) as usize;
            self.readers.swap_remove(at);
        }
    }

    /// Some bytes of a file that was opened before.
    fn read_reader(&mut self) {
        let Some(at) = self.readers.len().checked_sub(1).map(|last| self.random.below(last as u64 + 1)) else { return };
        let (offset, len) = (self.random.below(1 << 21), self.random.below(200_000) as usize);
        let (file, name, expected) = &self.readers[at as usize];
        let offset = offset % (expected.len() as u64 + 1);
        let wanted = &expected[offset as usize..(offset as usize + len).min(expected.len())];
        let is_there = self.files.get(name).is_some_and(|it| Arc::ptr_eq(it, expected));
        let mut found = vec![0; wanted.len()];
        match file.read_exact_at(&mut found, offset) {
            Ok(()) => assert!(found == wanted, "{name}: {len} bytes from {offset} on are of another version"),
            Err(error) => {
                let known = (error.raw_os_error(), is_there);
                assert_eq!(known, (Some(libc::ESTALE), false), "{name}, {len} bytes from {offset} on: {error}");
            }
        }
        assert_eq!(file.metadata().unwrap().len(), expected.len() as u64, "{name}");
    }

    /// A file is written in one of several ways, and what was there is there until then.
    fn write(&mut self, name: &'static str) {
        let new = self.new_bytes(name);
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(self.path(name)).unwrap();
        let mut pieces: Vec<_> = (0..new.len()).step_by(40_000).map(|at| at..(at + 40_000).min(new.len())).collect();
        if self.random.below(3) == 0 {
            (1..pieces.len()).for_each(|at| pieces.swap(at, self.random.below(at as u64 + 1) as usize));
        }
        if self.random.below(4) == 0 {
            // What is cut off is not there, and what was never written is zeros.
            file.write_all_at(b"nobody will see this", self.random.below(100_000)).unwrap();
            file.set_len(0).unwrap();
        }
        for piece in pieces {
            file.write_all_at(&new[piece.clone()], piece.start as u64).unwrap();
            let mut found = vec![0; piece.len()];
            file.read_exact_at(&mut found, piece.start as u64).unwrap();
            assert!(found == new[piece], "{name}, while it is written");
        }
        assert_eq!(file.metadata().unwrap().len(), new.len() as u64);
        assert!(self.original(name) == self.files.get(name).map(|it| it.to_vec()), "{name} before it is closed");
        match self.random.below(5) {
            0 => {
                fs::remove_file(self.path(name)).unwrap();
                drop(file);
                self.files.remove(name);
            }
            1 => {
                let to = self.name();
                fs::create_dir_all(self.path(to).parent().unwrap()).unwrap();
                fs::rename(self.path(name), self.path(to)).unwrap();
                if to != name {
                    self.files.remove(name);
                }
                file.write_all_at(b"more", new.len() as u64).unwrap();
                drop(file);
                let mut new = new.to_vec();
                new.extend(b"more");
                self.files.insert(to, Arc::new(new));
            }
            2 => {
                file.sync_all().unwrap();
                assert!(self.original(name).unwrap() == *new, "{name} after fsync");
                drop(file);
                self.files.insert(name, new);
            }
            _ => {
                drop(file);
                self.files.insert(name, new);
            }
        }
        // What has no bytes is put when the system lets go of it: who reads it waits for that, and others
        // do not.
        drop(fs::read(self.path(name)));
    }

    /// A part of what is there is changed, by one who has it open or by two.
    fn change(&mut self, name: &'static str) {
        let Some(before) = self.files.get(name).filter(|it| it.len() < LONG as usize / 2).cloned() else { return };
        let (offset, kind) = (self.random.below(before.len() as u64 + 1), self.random.below(5));
        let new = self.new_bytes(name);
        let open = |options: &mut OpenOptions| options.open(self.path(name)).unwrap();
        let (mut file, mut expected) = (open(OpenOptions::new().read(true).write(true)), before.to_vec());
        match kind {
            0 => {
                let mut other = open(OpenOptions::new().append(true));
                other.write_all(&new).unwrap();
                expected.extend_from_slice(&new);
                drop(other);
            }
            1 => {
                file.set_len(offset).unwrap();
                expected.truncate(offset as usize);
            }
            2 => {
                // SAFETY: a number is set.
                assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_APPEND) }, 0);
                file.write_all(&new).unwrap();
                expected.extend_from_slice(&new);
            }
            3 => {}
            _ => {
                file.write_all_at(&new, offset).unwrap();
                expected.resize(expected.len().max(offset as usize + new.len()), 0);
                expected[offset as usize..][..new.len()].copy_from_slice(&new);
            }
        }
        assert!(fs::read(self.path(name)).unwrap() == expected, "{name}, while it is changed");
        if self.random.below(3) == 0 {
            file.sync_all().unwrap();
            assert!(self.original(name).unwrap() == expected, "{name} after fsync");
        }
        drop(file);
        let expected = if expected == *before { before } else { Arc::new(expected) };
        self.files.insert(name, expected);
        // What has no bytes is put when the system lets go of it.
        drop(fs::read(self.path(name)));
    }

    /// What is long goes to the store in parts. Where that comes to an error, all of it is there or
    /// none: a store that was asked once more to put the parts together, because its answer was
    /// lost, says that there are none.
    fn write_long(&mut self, name: &'static str) {
        self.generation += 1;
        let new = Arc::new(bytes(name, self.generation, LONG + self.random.below(LONG)));
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        let mut file = File::create(self.path(name)).unwrap();
        let written = file.write_all(&new).and_then(|()| close(file));
        let is_there = self.original(name).is_some_and(|it| it == *new);
        match written {
            Ok(()) => assert!(is_there, "{name} after it was closed"),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EIO), "{name}"),
        }
        if is_there {
            self.files.insert(name, new);
        }
    }

    fn rename(&mut self, from: &'static str, to: &'static str) {
        fs::create_dir_all(self.path(to).parent().unwrap()).unwrap();
        match (fs::rename(self.path(from), self.path(to)), self.files.get(from).cloned()) {
            (Ok(()), Some(bytes)) => {
                self.files.remove(from);
                self.files.insert(to, bytes);
            }
            (Err(error), None) => assert_eq!(error.kind(), io::ErrorKind::NotFound, "{from}"),
            (renamed, bytes) => panic!("{from} to {to}: {renamed:?}, {:?}", bytes.map(|it| it.len())),
        }
    }

    fn remove(&mut self, name: &'static str) {
        match (fs::remove_file(self.path(name)), self.files.remove(name)) {
            (Ok(()), Some(_)) => {}
            (Err(error), None) => assert_eq!(error.kind(), io::ErrorKind::NotFound, "{name}"),
            (removed, bytes) => panic!("{name}: {removed:?}, {:?}", bytes.map(|it| it.len())),
        }
    }

    fn list(&self) {
        for directory in ["d", "e"] {
            let listed = fs::read_dir(self.path(directory)).map(|it| it.map(|it| it.unwrap().file_name()).collect());
            let listed: BTreeSet<_> = listed.unwrap_or_default();
            let names = self.files.keys().filter_map(|name| name.strip_prefix(directory)?.strip_prefix('/'));
            assert_eq!(listed, names.map(Into::into).collect(), "{directory}");
        }
    }

    fn step(&mut self) {
        let (name, other) = (self.name(), self.name());
        let is_writable = matches!(self.behind, Behind::Server(_));
        match self.random.below(14) {
            0..=2 => self.read(name),
            3 => self.open_reader(name),
            4 | 5 => self.read_reader(),
            6 => self.list(),
            7 => self.others_write(name),
            8 if is_writable => self.rename(name, other),
            9 if is_writable => self.remove(name),
            10 if is_writable && self.random.below(8) == 0 => self.write_long(name),
            10 | 11 if is_writable => self.write(name),
            12 | 13 if is_writable => self.change(name),
            _ if self.random.below(3) == 0 => self.others_remove(name),
            _ => self.read(other),
        }
    }

    /// All steps, and what they came to.
    fn run(mut self) -> Mounted {
        for step in 0..STEPS {
            eprintln!("FORESEE_SEED={}, step {step}", self.seed);
            self.step();
        }
        for name in NAMES {
            assert!(self.original(name) == self.files.get(name).map(|it| it.to_vec()), "{name} in the end");
            self.read(name);
        }
        self.mounted
    }
}

/// Closes it, and says what came of that.
pub fn close(file: File) -> io::Result<()> {
    // SAFETY: it is ours, and is not used any more.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[test]
fn what_is_done_on_a_bucket_comes_to_what_it_should() {
    if !can_mount() {
        return;
    }
    for seed in seeds(4) {
        let faults = match seed % 2 {
            0 => Faults::default(),
            _ => Faults { seed, busy: 50, cut: 50, late_us_max: 1000, ..Faults::default() },
        };
        let server = Server::new(Versions::Tags, faults);
        server.list_by(3);
        let mounted = Mounted::bucket(&server, &["--metadata-ttl", "0", "--memory", "4M"]);
        drop(Model::new(seed, mounted, Behind::Server(server.clone())).run());
        // Of an upload whose beginning was not answered nobody knows the name.
        assert!(server.unfinished() == 0 || seed % 2 == 1);
    }
}

#[test]
fn what_is_done_to_a_directory_behind_its_mount_shows() {
    if !can_mount() {
        return;
    }
    for seed in seeds(6) {
        let mounted = Mounted::directory(Place::new(), &["--metadata-ttl", "0", "--memory", "4M"]);
        Model::new(seed, mounted, Behind::Directory).run();
    }
}
