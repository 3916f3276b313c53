//! Files read through io_uring, also while the process forks; and where the kernel has no io_uring, or
//! a sandbox forbids it, by threads: the same bytes, ahead of their reader. In a process of its own, as
//! its descriptors are looked at.

#[path = "common/rings.rs"]
mod rings;

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;

use foresee::Cache;

const PAGES: u64 = 300;
const PAGE: usize = 4096;

/// From now on, this thread and those it starts are refused this call with this error.
fn forbid(call: libc::c_long, error: i32) {
    let statement = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, call as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | error as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program is ours while it is read.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    assert!(set, "{}", io::Error::last_os_error());
}

/// Whether the kernel gives this process a ring, and reads this file past the page cache: a
/// container's filter may forbid the one, and not every file system does the other.
fn may_have_one(path: &str) -> bool {
    let past_the_cache = fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path);
    // As large as the kernel's `struct io_uring_params`: all of it 0 asks for nothing special.
    let mut params = [0u32; 30];
    // SAFETY: what it writes to is that large; the descriptor is ours.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr()) };
    if ring >= 0 {
        // SAFETY: as above, and nobody else has it.
        unsafe { libc::close(ring as libc::c_int) };
    }
    ring >= 0 && past_the_cache.is_ok()
}

/// Forks a child that ends at once.
fn fork() {
    // SAFETY: the child calls nothing but what a signal handler may, and the parent waits for it.
    unsafe {
        match libc::fork() {
            0 => libc::_exit(0),
            child => assert!(child > 0 && libc::waitpid(child, std::ptr::null_mut(), 0) == child),
        }
    }
}

/// Caches that are gone while much is read ahead for them.
fn leave(path: &str) {
    for _ in 0..20 {
        let cache = Cache::builder().memory(64 * 5000).block_bytes(PAGE).open().unwrap();
        let file = cache.open(path).unwrap();
        let mut plan = cache.plan();
        (0..PAGES).for_each(|at| {
            _ = plan.range(&file, at * 7 % PAGES * PAGE as u64..at * 7 % PAGES * PAGE as u64 + 1).unwrap()
        });
        file.read_at(&mut [0], 0).unwrap();
    }
}

/// Reads a file as it was planned, and does something from time to time. Returns how many rings there
/// were meanwhile.
fn read(path: &str, sometimes: impl Fn()) -> usize {
    read_after(&[], path, sometimes)
}

/// The same, of a cache that opened others before.
fn read_after(others: &[&str], path: &str, sometimes: impl Fn()) -> usize {
    let cache = Cache::builder().memory(64 * 5000).block_bytes(PAGE).open().unwrap();
    others.iter().for_each(|other| drop(cache.open(other).unwrap()));
    let file = cache.open(path).unwrap();
    let order: Vec<u64> = (0..PAGES).map(|at| at * 7 % PAGES * PAGE as u64).collect();
    let mut plan = cache.plan();
    order.iter().for_each(|&at| _ = plan.range(&file, at..at + PAGE as u64).unwrap());
    for at in order {
        if at % (16 * PAGE as u64) == 0 {
            sometimes();
        }
        let mut found = [0; PAGE];
        assert_eq!(file.read_at(&mut found, at).unwrap(), PAGE);
        assert!(found[..] == [(at / PAGE as u64 % 251) as u8; PAGE], "other bytes at {at}");
    }
    assert!(cache.statistics().ahead_requests > 0, "nothing was read ahead: {:?}", cache.statistics());
    rings::rings()
}

#[test]
fn the_same_is_read_with_a_ring_and_without() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ring");
    let bytes: Vec<u8> = (0..PAGES).flat_map(|page| [(page % 251) as u8; PAGE]).collect();
    fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap();
    let expected = usize::from(may_have_one(path));
    if expected == 0 {
        eprintln!("no io_uring, or no O_DIRECT here: only threads are tested");
    }
    let rings = read(path, || ());
    assert_eq!(rings, expected);
    read(path, fork);
    rings::end();
    // Nor does it matter that the first file there is an empty one.
    let empty = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ring-empty");
    fs::write(&empty, "").unwrap();
    assert_eq!(read_after(&[empty.to_str().unwrap()], path, || ()), rings, "after an empty file");
    fs::remove_file(empty).unwrap();
    leave(path);
    rings::end();
    let setup = libc::SYS_io_uring_setup;
    for (call, error) in [(setup, libc::ENOSYS), (setup, libc::EPERM), (libc::SYS_io_uring_enter, libc::EPERM)] {
        let with_none = thread::scope(|scope| {
            let reader = scope.spawn(|| {
                forbid(call, error);
                read(path, || ())
            });
            reader.join().unwrap()
        });
        assert_eq!(with_none, 0, "there is a ring all the same");
    }
    fs::remove_file(path).unwrap();
}
