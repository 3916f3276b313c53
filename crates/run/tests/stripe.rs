//! Striped files: every byte comes back, whatever the sizes; what is wrong with a set is said;
//! nothing is left of what failed.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;

use foresee_run::stripe::{ALIGN_BYTES, HEADER_BYTES, MEMBERS_MAX, Reader, Set, join, split};
use proptest::prelude::*;

/// A directory of one test's own.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("foresee-stripe-{}-{number}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        Place(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file of this size, and its bytes.
    fn file(&self, name: &str, size: usize) -> (PathBuf, Vec<u8>) {
        let data: Vec<u8> = (0..size as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8).collect();
        fs::write(self.path(name), &data).unwrap();
        (self.path(name), data)
    }

    fn members(&self, prefix: &str, count: usize) -> Vec<PathBuf> {
        (0..count).map(|member| self.path(&format!("{prefix}{member}"))).collect()
    }

    /// A file of this size, dealt out.
    fn striped(&self, name: &str, size: usize, unit: u64, count: usize) -> (Vec<PathBuf>, Vec<u8>) {
        let (file, data) = self.file(name, size);
        let members = self.members(&format!("{name}."), count);
        split(&file, &members, unit, &|| false).unwrap();
        (members, data)
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn joined(members: &[PathBuf]) -> Result<Vec<u8>, String> {
    let mut data = Vec::new();
    join(Set::open(members)?, &mut data)?;
    Ok(data)
}

#[track_caller]
fn refused(members: &[PathBuf], file: &Path, what: &str) {
    let error = Set::open(members).err().expect("this is no set");
    assert!(error.starts_with(&file.display().to_string()) && error.contains(what), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The sizes are drawn around rows and units, where they go wrong.
    #[test]
    fn every_byte_comes_back(
        units in 1u64..5, count in 1usize..6, rows in 0u64..4, left in 0u64..4, off in -3i64..4,
        ranges in prop::collection::vec((any::<prop::sample::Index>(), 0usize..90_000), 1..12),
    ) {
        let place = Place::new();
        let unit = units * ALIGN_BYTES;
        let size = ((rows * count as u64 + left) * unit).saturating_add_signed(off * 700) as usize;
        let (mut members, data) = place.striped("f", size, unit, count);
        let held: u64 = members.iter().map(|member| fs::metadata(member).unwrap().len() - HEADER_BYTES).sum();
        prop_assert_eq!(held, size as u64);
        members.reverse();
        prop_assert!(joined(&members).unwrap() == data);
        let reader = Reader::new(Set::open(&members).unwrap()).unwrap();
        let (sender, receiver) = channel();
        let ranges = ranges.iter().map(|(at, bytes)| (at.index(size + 5000), *bytes)).chain([(size, 1), (0, 0)]);
        let mut asked = 0;
        for (at, bytes) in ranges {
            let sender = sender.clone();
            reader.read(at as u64, bytes, move |got| sender.send((at, bytes, got.unwrap().to_vec())).unwrap());
            asked += 1;
        }
        for (at, bytes, got) in receiver.iter().take(asked) {
            let from = at.min(size);
            prop_assert!(got == data[from..size.min(from + bytes)], "{} bytes from {}", bytes, at);
        }
    }
}

#[test]
fn many_threads_at_once_get_their_own_bytes() {
    let place = Place::new();
    let (members, data) = place.striped("f", 3_000_001, 8192, 3);
    let reader = Reader::new(Set::open(&members).unwrap()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (reader, data) = (&reader, &data);
            scope.spawn(move || {
                let mut random = 88_172_645_463_325_252 + thread;
                for _ in 0..300 {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let (at, bytes) = ((random % data.len() as u64) as usize, (random >> 40) as usize % 70_000);
                    let (sender, receiver) = channel();
                    reader.read(at as u64, bytes, move |got| sender.send(got.unwrap().to_vec()).unwrap());
                    assert!(receiver.recv().unwrap() == data[at..data.len().min(at + bytes)], "{bytes} from {at}");
                }
            });
        }
    });
}

#[test]
fn a_set_that_is_not_whole_is_refused_by_name() {
    let place = Place::new();
    let (a, data) = place.striped("a", 300_000, 65_536, 3);
    let (b, _) = place.striped("b", 300_000, 65_536, 3);
    let pick = |members: [&PathBuf; 3]| members.map(Clone::clone);
    refused(&pick([&a[0], &b[1], &a[2]]), &b[1], "another set");
    refused(&pick([&a[0], &a[1], &a[1]]), &a[1], "is member 2, and so is");
    refused(&a[..2], &a[0], "number 3 is not given");
    refused(std::slice::from_ref(&a[2]), &a[2], "number 1 is not given");
    refused(&pick([&a[0], &a[1], &place.path("none")]), &place.path("none"), "No such file");
    refused(&pick([&a[0], &place.path("a"), &a[2]]), &place.path("a"), "no member");
    refused(&pick([&place.0, &a[1], &a[2]]), &place.0, "no regular file");
    let (empty, _) = place.file("empty", 0);
    refused(std::slice::from_ref(&empty), &empty, "no member");
    assert!(Set::open(&[]).is_err());
    // Too short, by a unit or a byte; too long; and as it was.
    let member = File::options().write(true).open(&a[1]).unwrap();
    let size = member.metadata().unwrap().len();
    for wrong in [HEADER_BYTES, size - 1, size + 1] {
        member.set_len(wrong).unwrap();
        refused(&a, &a[1], &format!("has {wrong} bytes where member 2 of its set has {size}"));
    }
    let mut a = place.members("a.", 3);
    fs::remove_file(&a[1]).unwrap();
    refused(&a, &a[1], "No such file");
    // Names and order do not matter.
    let (c, _) = place.striped("c", 300_000, 65_536, 3);
    a = place.members("d", 3);
    for (from, to) in [(0, 1), (1, 2), (2, 0)] {
        fs::rename(&c[from], &a[to]).unwrap();
    }
    assert!(joined(&a).unwrap() == data);
    // A header that somebody wrote into.
    File::options().write(true).open(&a[0]).unwrap().write_all_at(b"9", 58).unwrap();
    assert!(Set::open(&a).is_err());
}

#[test]
fn a_member_that_fails_fails_what_lies_on_it_only() {
    let place = Place::new();
    let (members, data) = place.striped("f", 16 * 4096, 4096, 2);
    let reader = Reader::new(Set::open(&members).unwrap()).unwrap();
    // Its last four units go while it is open.
    File::options().write(true).open(&members[1]).unwrap().set_len(HEADER_BYTES + 4 * 4096).unwrap();
    let (sender, receiver) = channel();
    for unit in 0..16u64 {
        let sender = sender.clone();
        reader.read(unit * 4096, 4096, move |got| sender.send((unit, got.map(<[u8]>::to_vec))).unwrap());
    }
    for (unit, got) in receiver.iter().take(16) {
        match got {
            Ok(got) => {
                assert!(got == data[unit as usize * 4096..][..4096] && (unit % 2 == 0 || unit < 8), "unit {unit}")
            }
            Err(failure) => {
                assert!(unit % 2 == 1 && unit > 8, "unit {unit}: {failure}");
                assert!(failure.to_string().starts_with(&members[1].display().to_string()), "{failure}");
            }
        }
    }
}

#[test]
fn what_cannot_be_split_leaves_nothing() {
    let place = Place::new();
    let (file, _) = place.file("f", 5_000_000);
    let members = place.members("m", 3);
    let fails = |file: &Path, members: &[PathBuf], unit: u64, named: &str| {
        let before = place.names();
        let error = split(file, members, unit, &|| false).unwrap_err();
        assert!(error.contains(named), "{error}");
        assert_eq!(place.names(), before);
    };
    fails(&place.path("none"), &members, 65_536, "none: No such file");
    fails(&place.0, &members, 65_536, "no regular file");
    fails(&file, &[], 65_536, "0 members");
    fails(&file, &place.members("m", MEMBERS_MAX + 1), 65_536, "65 members");
    fails(&file, &members, 5000, "multiple of 4096");
    fails(&file, &members, 0, "multiple of 4096");
    fails(&file, &[members[0].clone(), members[0].clone()], 65_536, "m0: is named twice");
    fs::create_dir(place.path("d")).unwrap();
    fails(
        &file,
        &[members[0].clone(), place.path("d/../m0")],
        65_536,
        ".unfinished: exists already; a member is named twice",
    );
    fails(&file, &[members[0].clone(), file.clone()], 65_536, "f: exists already");
    fails(&file, &[members[0].clone(), place.path("no/m")], 65_536, "no/m: No such file");
    fs::write(&members[2], "mine").unwrap();
    fails(&file, &members, 65_536, "m2: exists already");
    assert_eq!(fs::read(&members[2]).unwrap(), b"mine");
    fs::remove_file(&members[2]).unwrap();
    // SAFETY: takes no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        eprintln!("skipped: root may write where nobody may");
    } else {
        let sealed = place.path("sealed");
        fs::create_dir(&sealed).unwrap();
        fs::set_permissions(&sealed, Permissions::from_mode(0o500)).unwrap();
        fails(&file, &[members[0].clone(), sealed.join("m")], 65_536, "sealed/m: Permission denied");
    }
    // Told to stop on the way.
    let before = place.names();
    assert!(split(&file, &members, 65_536, &|| true).unwrap_err().contains("stopped"));
    assert_eq!(place.names(), before);
    // Cut short on the way.
    let cut = || File::options().write(true).open(&file).unwrap().set_len(0).is_err();
    assert!(split(&file, &members, 65_536, &cut).unwrap_err().contains("f: was changed while it was read"));
    assert_eq!(place.names(), before);
}

#[test]
fn who_may_not_read_the_file_may_not_read_its_members() {
    let place = Place::new();
    let (file, _) = place.file("f", 100_000);
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    // Only root may give it to a group that new files do not have by themselves.
    let _ = chown(&file, None, Some(fs::metadata(&file).unwrap().gid() + 1));
    let members = place.members("m", 2);
    split(&file, &members, 65_536, &|| false).unwrap();
    for member in &members {
        let member = fs::metadata(member).unwrap();
        assert_eq!(member.mode() & 0o027, 0);
        assert!(
            member.gid() == fs::metadata(&file).unwrap().gid() || member.mode() & 0o077 == 0,
            "{:o}",
            member.mode()
        );
    }
}
