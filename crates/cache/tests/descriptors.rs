//! More files than there may be descriptors: one after the other, and at once. In a process of its own, as it has
//! few.

use std::fs;
use std::path::Path;

use foresee::{Cache, Error, store};

const DESCRIPTORS: u64 = 256;
const FILES: usize = 1000;
/// A third is kept open without a reader, and what is opened ahead, read and about to be closed is up to
/// as much again: a program has a quarter at least.
const OPEN_MAX: usize = DESCRIPTORS as usize / 4 * 3;

#[test]
fn what_is_kept_open_gives_its_descriptors_back() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("descriptors");
    fs::create_dir_all(&folder).unwrap();
    let paths: Vec<_> = (0..FILES).map(|at| folder.join(at.to_string())).collect();
    paths.iter().for_each(|path| fs::write(path, path.as_os_str().as_encoded_bytes()).unwrap());
    let limit = libc::rlimit { rlim_cur: DESCRIPTORS, rlim_max: DESCRIPTORS };
    // SAFETY: the limit is ours while it is read.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, 0);
    let cache = Cache::builder().memory(4 << 20).open().unwrap();
    // What is planned is opened ahead, and stays open.
    let mut plan = cache.plan();
    paths.iter().for_each(|path| _ = plan.address(path.to_str().unwrap()).unwrap());
    for path in &paths {
        let path = path.to_str().unwrap();
        let file = cache.open(path).unwrap();
        let mut found = vec![0; path.len()];
        assert_eq!(file.read_at(&mut found, 0).unwrap(), path.len());
        assert_eq!(found, path.as_bytes());
        let open = fs::read_dir("/proc/self/fd").unwrap().count();
        assert!(open < OPEN_MAX, "{open} are open");
    }
    drop(plan);
    let mut all = paths.iter().map(|path| cache.open(path.to_str().unwrap()));
    let open: Vec<_> = all.by_ref().map_while(Result::ok).collect();
    assert!((DESCRIPTORS as usize / 2..DESCRIPTORS as usize).contains(&open.len()), "{}", open.len());
    let error = all.next().unwrap().map(drop).unwrap_err();
    let text = error.to_string();
    assert!(text.ends_with("(os error 24): close some, or raise the limit (`ulimit -n`)"), "{text}");
    let Error::Store { error: store::Error::Io(error), .. } = error else { panic!("{error:?}") };
    assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
    drop((open, cache));
    fs::remove_dir_all(folder).unwrap();
}
