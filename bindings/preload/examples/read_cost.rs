//! What the library costs a read: nanoseconds per warm `pread`, plain and preloaded; medians. What
//! of it is finding the call site is the difference to runs without (`FORESEE_SITES=0`).
//!
//! `cargo build --release -p foresee-preload && cargo run --release -p foresee-preload --example
//! read_cost`
//!
//! The same program runs as the reader (`read_cost reader BYTES THREADS FILE`), with the library;
//! its parent is the supervisor that consumes the records. The reader alternates between libc's own
//! `pread64` and the one in front of it every few hundred reads, so that whatever else the machine
//! does falls on both alike.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use foresee_ring::{Attention, Consumer, Next, PATH_BYTES_MAX, Record, Region};

const FILE_BYTES: usize = 4 << 20;
const TURN_READS: usize = 256;
const TURNS: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Posted,
    Sampled,
    Quiet,
    Closing,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, bytes, threads, file] = &arguments[..]
        && role == "reader"
    {
        return reader(bytes.parse().unwrap(), threads.parse().unwrap(), Path::new(file));
    }
    let file = std::env::temp_dir().join(format!("foresee-read-cost-{}", std::process::id()));
    fs::write(&file, vec![1; FILE_BYTES]).unwrap();
    println!("ns per pread: plain, preloaded, what it is more, and how much of that is finding the call site");
    for (bytes, threads) in [(64 << 10, 1), (4 << 10, 1), (64, 1), (4 << 10, 2)] {
        for mode in [Mode::Posted, Mode::Sampled, Mode::Quiet, Mode::Closing] {
            let (plain, ours) = measure(mode, "scan", bytes, threads, &file);
            let (more, percent) = (ours - plain, (ours / plain - 1.0) * 100.0);
            let (unsited_plain, unsited) = measure(mode, "0", bytes, threads, &file);
            let site = more - (unsited - unsited_plain);
            println!(
                "{bytes:>6} B, {threads} thread(s), {mode:<8?} {plain:8.1} {ours:8.1} {more:+7.1} {percent:+6.1} % {site:+7.1}"
            );
        }
    }
    fs::remove_file(&file).unwrap();
    let (region, ring) = ring();
    let mut consumer = Consumer::new(region);
    let mut starts = [Vec::new(), Vec::new()];
    for _ in 0..500 {
        for (preload, found) in starts.iter_mut().enumerate() {
            found.push(start(preload == 1, ring));
            instruct(Mode::Posted, region, &mut consumer, &file);
        }
    }
    let [plain, preloaded] = starts.map(median);
    println!("start and end of a program, us: plain {plain:.0}, preloaded {preloaded:.0}");
}

fn median(mut found: Vec<f64>) -> f64 {
    found.sort_by(f64::total_cmp);
    found[found.len() / 2]
}

fn start(preload: bool, ring: i32) -> f64 {
    let mut command = Command::new("true");
    if preload {
        load(&mut command, ring);
    }
    let began = Instant::now();
    assert!(command.status().unwrap().success());
    began.elapsed().as_secs_f64() * 1e6
}

fn load(command: &mut Command, ring: i32) {
    command
        .env("LD_PRELOAD", library())
        .env("FORESEE_RING", format!("/proc/{}/fd/{ring}:read-cost", std::process::id()));
}

type Pread = unsafe extern "C" fn(i32, *mut libc::c_void, usize, i64) -> isize;

/// Prints the medians of plain and preloaded turns.
fn reader(bytes: usize, threads: usize, file: &Path) {
    let file = fs::File::open(file).unwrap();
    // SAFETY: libc is loaded, has this function, and it is of this type.
    let plain: Pread = unsafe {
        let libc = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        std::mem::transmute(libc::dlsym(libc, c"pread64".as_ptr()))
    };
    // Says that the file is open, and waits until the supervisor has said what it wants to hear of it.
    println!("open");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let read = || {
        let mut buffer = vec![0u8; bytes];
        let mut turn = |pread: Pread| {
            let began = Instant::now();
            for at in 0..TURN_READS {
                let at = (at * bytes % (FILE_BYTES - bytes)) as i64;
                // SAFETY: the buffer has so many bytes.
                let got = unsafe { pread(file.as_raw_fd(), buffer.as_mut_ptr().cast(), bytes, at) };
                assert_eq!(got, bytes as isize);
            }
            began.elapsed().as_nanos() as f64 / TURN_READS as f64
        };
        let turns: Vec<_> = (0..TURNS).map(|_| (turn(plain), turn(libc::pread64))).collect();
        turns.into_iter().unzip()
    };
    let (plain, ours): (Vec<_>, Vec<_>) = std::thread::scope(|scope| {
        // The first thread is this one, so that a program of one thread is one to libc too.
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(read)).collect();
        let mut all: (Vec<_>, Vec<_>) = read();
        for other in others {
            let other: (Vec<_>, Vec<_>) = other.join().unwrap();
            all.0.extend(other.0);
            all.1.extend(other.1);
        }
        all
    });
    println!("{} {}", median(plain), median(ours));
}

fn library() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("libforesee_preload.so")
}

fn measure(mode: Mode, sites: &str, bytes: usize, threads: usize, file: &Path) -> (f64, f64) {
    let (region, ring) = ring();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["reader", &bytes.to_string(), &threads.to_string()]).arg(file);
    load(&mut command, ring);
    command.env("FORESEE_SITES", sites);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        line
    };
    line();
    let mut consumer = Consumer::new(region);
    instruct(mode, region, &mut consumer, file);
    let done = AtomicBool::new(false);
    let figure = std::thread::scope(|scope| {
        scope.spawn(|| consume(&mut consumer, &done));
        drop(child.stdin.take());
        let figure = line();
        done.store(true, Relaxed);
        figure
    });
    assert!(child.wait().unwrap().success());
    // SAFETY: mapped and opened by `ring`, and used no more.
    unsafe {
        libc::munmap(std::ptr::from_ref(region).cast_mut().cast(), Region::layout_size());
        libc::close(ring);
    }
    let (plain, ours) = figure.trim().split_once(' ').unwrap();
    (plain.parse().unwrap(), ours.parse().unwrap())
}

fn instruct(mode: Mode, region: &Region, consumer: &mut Consumer, file: &Path) {
    let mut slot = 0;
    let mut path = [0; PATH_BYTES_MAX];
    while let Next::Record(entry) = consumer.next(&mut path) {
        match entry.record {
            Record::ProcessStarted { slot: of, .. } => slot = of,
            Record::Opened { fd, generation, .. } if entry.path == file.as_os_str().as_encoded_bytes() => {
                let attention = match mode {
                    Mode::Sampled => Attention::Sampled,
                    Mode::Quiet => Attention::None,
                    _ => Attention::Every,
                };
                region.process(slot).unwrap().set_attention(fd, generation, attention);
            }
            _ => {}
        }
    }
    if mode == Mode::Closing {
        region.close();
    }
}

/// Like a supervisor: reads all there is, then sleeps for a millisecond.
fn consume(consumer: &mut Consumer, done: &AtomicBool) {
    let mut path = [0; PATH_BYTES_MAX];
    while !done.load(Relaxed) {
        while let Next::Record(entry) = consumer.next(&mut path) {
            std::hint::black_box(entry);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn ring() -> (&'static Region, i32) {
    let bytes = Region::layout_size();
    // SAFETY: a new file, and a new mapping of it, aligned to a page and zero.
    unsafe {
        let fd = libc::memfd_create(c"read-cost".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        assert!(fd >= 0 && libc::ftruncate(fd, bytes as i64) == 0);
        assert_eq!(libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW), 0);
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let memory = libc::mmap(std::ptr::null_mut(), bytes, prot, libc::MAP_SHARED, fd, 0);
        assert_ne!(memory, libc::MAP_FAILED);
        let region = Region::initialise(memory.cast());
        region.want_sites();
        (region, fd)
    }
}
