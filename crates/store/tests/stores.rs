//! Files of this machine, and a store that misbehaves.

use std::fs::{self, File};
use std::io::{ErrorKind, IoSliceMut, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use foresee_store::{Error, Faults, Faulty, Folder, Listed, Local, Memory, Object, Store, Upload, Version, begins_at};

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("stores-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn who_stands_between_says_where_an_object_begins() {
    struct Placed;
    impl Object for Placed {
        fn size(&self) -> u64 {
            0
        }
        fn version(&self) -> &Version {
            &Version::Stamp([0; 5])
        }
        fn begins_at(&self) -> u64 {
            81_920
        }
        fn read(&self, _: u64, _: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error> {
            Ok((0, self.version().clone()))
        }
    }
    struct Place;
    impl Store for Place {
        fn open(&self, _: &str) -> Result<Arc<dyn Object>, Error> {
            Ok(Arc::new(Placed))
        }
        fn list(&self, _: &str) -> Result<Vec<Listed>, Error> {
            Ok(Vec::new())
        }
    }
    assert_eq!(Faulty::new(Place, 1, Faults::default()).open("a").unwrap().begins_at(), 81_920);
    let memory = Memory::default();
    memory.put("a", *b"bytes");
    assert_eq!(memory.open("a").unwrap().begins_at(), 0, "nobody says");
}

#[test]
fn a_file_says_where_it_begins_if_a_device_of_this_machine_holds_it() {
    let path = folder("begins").join("a");
    fs::write(&path, "bytes").unwrap();
    let file = File::open(&path).unwrap();
    // What was just written may have no place yet.
    file.sync_all().unwrap();
    let is_on_device = libc::major(file.metadata().unwrap().dev()) > 0;
    let expected = if is_on_device { begins_at(&file) } else { 0 };
    assert_eq!(Local::new().open(path.to_str().unwrap()).unwrap().begins_at(), expected);
}

#[test]
fn a_file_is_read_into_pieces_with_its_version() {
    let path = folder("pieces").join("a");
    let bytes: Vec<u8> = (0..20_000u32).map(|at| (at / 7) as u8).collect();
    fs::write(&path, &bytes).unwrap();
    for store in [Local::new(), Local::direct()] {
        let object = store.open(path.to_str().unwrap()).unwrap();
        assert_eq!(object.size(), 20_000);
        for offset in [0, 1, 4096, 19_999, 20_000, 30_000] {
            let (mut one, mut two) = (vec![0; 4096], vec![0; 8192]);
            let mut pieces = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
            let (came, version) = object.read(offset, &mut pieces).unwrap();
            let expected = &bytes[20_000.min(offset as usize)..20_000.min(offset as usize + 12_288)];
            assert_eq!((came, &version), (expected.len(), object.version()));
            assert_eq!(&[one, two].concat()[..came], expected);
        }
    }
}

#[test]
fn a_file_that_is_written_to_all_the_time_can_be_opened() {
    let path = folder("busy").join("a");
    fs::write(&path, [0; 10]).unwrap();
    let opened = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            while !opened.load(Relaxed) {
                file.write_all(&[1]).unwrap();
                thread::sleep(Duration::from_millis(1));
            }
        });
        let object = Local::new().open(path.to_str().unwrap());
        opened.store(true, Relaxed);
        assert!(object.unwrap().size() >= 10);
    });
}

#[test]
fn what_has_bytes_and_says_it_is_empty_is_refused() {
    let error = Local::new().open("/proc/self/status").map(drop).unwrap_err();
    assert_eq!(error.to_string(), "it does not say how long it is");
}

#[test]
fn what_says_it_is_a_page_and_has_fewer_bytes_is_refused() {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    if !fs::metadata(path).is_ok_and(|it| it.len() > 0) {
        return println!("skipped: no {path} here");
    }
    for store in [Local::new(), Local::direct()] {
        let error = store.open(path).map(drop).unwrap_err();
        assert_eq!(error.to_string(), "it does not say how long it is");
    }
    // That takes no room either, and is as long as it says.
    let hole = folder("hole").join("a");
    fs::File::create(&hole).unwrap().set_len(4096).unwrap();
    assert_eq!(Local::new().open(hole.to_str().unwrap()).unwrap().size(), 4096);
}

#[test]
fn what_takes_no_room_and_cannot_be_read_says_why_when_it_is_read() {
    let path = "/sys/class/net/lo/speed";
    let Err(why) = fs::read(path) else { return println!("skipped: no {path} that cannot be read here") };
    let Ok(object) = Local::new().open(path) else { return assert_eq!(why.kind(), ErrorKind::NotFound) };
    let error = object.read(0, &mut [IoSliceMut::new(&mut [0; 4096])]).unwrap_err();
    assert!(matches!(&error, Error::Io(error) if error.raw_os_error() == why.raw_os_error()), "{error}, {why}");
}

#[test]
fn each_write_makes_another_version() {
    let path = folder("versions").join("a");
    let mut versions = Vec::new();
    for round in 0..5 {
        fs::write(&path, [round; 10]).unwrap();
        let object = Local::new().open(path.to_str().unwrap()).unwrap();
        versions.push(object.version().clone());
        fs::write(&path, [round + 100; 10]).unwrap();
        let (_, version) = object.read(0, &mut [IoSliceMut::new(&mut [0; 10])]).unwrap();
        versions.push(version);
    }
    for (at, version) in versions.iter().enumerate() {
        assert!(!versions[..at].contains(version), "{version} twice");
    }
}

#[test]
fn what_is_no_file_is_not_opened() {
    let folder = folder("none");
    let name = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    assert!(matches!(Local::new().open(&name("a")), Err(Error::NotFound)));
    assert!(matches!(Local::new().open(&name("")), Err(Error::Io(_))));
    assert!(matches!(Local::new().open("a\0b"), Err(Error::Io(_))));
    assert!(matches!(Local::new().list(&name("there/is/none")), Err(Error::NotFound)));
    fs::write(name("b2"), "12").unwrap();
    fs::write(name("b1"), "1").unwrap();
    fs::create_dir(name("b3")).unwrap();
    let listed: Vec<_> = Local::new().list(&name("b")).unwrap().into_iter().map(|it| (it.name, it.size)).collect();
    assert_eq!(listed, [(name("b1"), 1), (name("b2"), 2)]);
}

#[test]
fn a_directory_is_listed_as_a_store_of_objects_is() {
    let (folder, objects) = (folder("listed"), Memory::default());
    let name = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    for file in ["a", "d-1", "d/1", "d/2", "d/e/3", "e/4"] {
        fs::create_dir_all(Path::new(&name(file)).parent().unwrap()).unwrap();
        fs::write(name(file), file).unwrap();
        objects.put(&name(file), file.as_bytes());
    }
    let of_dots = |prefix| Local::new().list(&name(prefix)).unwrap().into_iter().map(|it| it.name).collect::<Vec<_>>();
    assert_eq!(of_dots("d/."), ["d/./1", "d/./2", "d/./e/3"].map(name));
    assert_eq!(of_dots("d/e/.."), ["d/e/../1", "d/e/../2", "d/e/../e/3"].map(name));
    std::os::unix::fs::symlink("d", name("l")).unwrap();
    let below_link: Vec<_> = Local::new().list(&name("l")).unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(below_link, ["l/1", "l/2", "l/e/3"].map(name));
    fs::remove_file(name("l")).unwrap();
    // It leads back to where it is.
    std::os::unix::fs::symlink("..", name("d/e/above")).unwrap();
    for prefix in ["", "d", "d/", "d/e/", "d/e/3", "f"] {
        let names = |store: &dyn Store| {
            let listed = store.list(&name(prefix)).unwrap();
            listed.into_iter().map(|it| (it.name, it.size)).collect::<Vec<_>>()
        };
        assert_eq!(names(&Local::new()), names(&objects), "{prefix}");
        let folders = |store: &dyn Store| store.folder(&name(prefix), None).unwrap();
        let (here, there) = (folders(&Local::new()), folders(&objects));
        assert_eq!(here.objects.len(), there.objects.len());
        let is_link = |path: &String| path.ends_with("above");
        assert_eq!(here.folders.into_iter().filter(|it| !is_link(it)).collect::<Vec<_>>(), there.folders, "{prefix}");
    }
}

#[test]
fn a_seed_has_the_same_faults_each_time() {
    let objects = Memory::default();
    objects.put("a", vec![1; 1000]);
    let faults = Faults { unopened: 0, failed: 300, short: 300, ended: 100, changed: 100, late_us_max: 0 };
    let met = |seed| {
        let object = Faulty::new(objects.clone(), seed, faults).open("a").unwrap();
        let mut bytes = [0; 100];
        let mut read = |offset| match object.read(offset, &mut [IoSliceMut::new(&mut bytes)]) {
            Ok((came, version)) => format!("{came} of {}", version == *object.version()),
            Err(error) => error.to_string(),
        };
        (0..200).map(|at| read(at % 20 * 10)).collect::<Vec<_>>()
    };
    assert_eq!(met(1), met(1));
    assert_ne!(met(1), met(2));
    for what in ["a fault of the test store", "0 of true", "100 of false", "100 of true"] {
        assert!(met(1).iter().any(|it| it == what), "nothing was '{what}'");
    }
}

/// A store that answers each call in a way of its own.
struct Odd;

impl Odd {
    fn says<T>(what: &str) -> Result<T, Error> {
        Err(std::io::Error::other(what.to_owned()).into())
    }
}

impl Store for Odd {
    fn open(&self, _: &str) -> Result<Arc<dyn Object>, Error> {
        Odd::says("open")
    }

    fn open_listed(&self, _: &Listed) -> Result<Arc<dyn Object>, Error> {
        Odd::says("open_listed")
    }

    fn list(&self, _: &str) -> Result<Vec<Listed>, Error> {
        Odd::says("list")
    }

    fn folder(&self, _: &str, _: Option<&str>) -> Result<Folder, Error> {
        Odd::says("folder")
    }

    fn version(&self, _: &str) -> Result<Version, Error> {
        Odd::says("version")
    }

    fn create(&self, _: &str) -> Result<Box<dyn Upload>, Error> {
        Odd::says("create")
    }

    fn remove(&self, _: &str) -> Result<(), Error> {
        Odd::says("remove")
    }

    fn rename(&self, _: &str, _: &str) -> Result<(), Error> {
        Odd::says("rename")
    }

    fn is_persistent(&self) -> bool {
        true
    }

    fn depth(&self) -> usize {
        3
    }

    fn versions_last(&self) -> bool {
        false
    }
}

#[test]
fn a_store_that_misbehaves_passes_all_else_on() {
    let store = Faulty::new(Odd, 1, Faults::default());
    let listed = Listed { name: "a".into(), size: 0, version: None, modified: None };
    let said = [
        ("open", store.open("a").err()),
        ("open_listed", store.open_listed(&listed).err()),
        ("list", store.list("a").err()),
        ("folder", store.folder("a", None).err()),
        ("version", store.version("a").err()),
        ("create", store.create("a").err()),
        ("remove", store.remove("a").err()),
        ("rename", store.rename("a", "b").err()),
    ];
    for (what, error) in said {
        assert_eq!(error.unwrap().to_string(), what);
    }
    assert!((store.is_persistent(), store.depth(), store.versions_last()) == (true, 3, false));
}

/// Whole pages of memory, as a cache has them.
#[repr(align(4096))]
struct Pages([u8; 8192]);

#[test]
fn a_file_takes_one_descriptor() {
    let path = folder("descriptors").join("a");
    fs::write(&path, vec![7; 20_000]).unwrap();
    let object = Local::direct().open(path.to_str().unwrap()).unwrap();
    let leads = |it: &fs::DirEntry| fs::read_link(it.path()).is_ok_and(|it| it == path);
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().flatten().filter(leads).count();
    let mut pages = Box::new(Pages([0; 8192]));
    for (offset, length) in [(0, 8192), (4096, 4096), (16_384, 8192), (5, 8192), (0, 8192), (0, 100)] {
        pages.0.fill(0);
        let (came, _) = object.read(offset, &mut [IoSliceMut::new(&mut pages.0[..length])]).unwrap();
        assert_eq!((came as u64, descriptors()), ((20_000 - offset).min(length as u64), 1));
        assert!(pages.0[..came].iter().all(|&byte| byte == 7));
    }
}
