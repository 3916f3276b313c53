//! Hits: 4 KiB at random out of data that are in memory, by foresee, by `pread` from the page cache, and by other caches.
//!
//! `cargo run --release -- DIRECTORY [MIB [ROUNDS]]`: a file of so many MiB (256 unless said) is made in the directory. Each cache has the
//! same blocks and is asked for the same ones, in turn, so many rounds (5 unless said); a line says the best.

mod contenders;
mod draws;
mod references;

use std::env;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use contenders::{Contender, NAMES};
use references::References;

/// Of a block, as all of them have it.
const BLOCK: usize = 4096;
/// References of each thread in one round.
const REFERENCES: usize = 1 << 18;

/// Nanoseconds a reference, of all threads together: each reads `references` of its own.
fn round(contender: &Contender, references: &[References], copies: bool) -> f64 {
    let begun = Instant::now();
    let sum: u64 = thread::scope(|scope| {
        let read = |of: &References| contender.read(&of.0, copies);
        let threads: Vec<_> = references.iter().map(|of| scope.spawn(move || read(of))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a reader")).sum()
    });
    let elapsed = begun.elapsed().as_nanos() as f64;
    assert!(sum > 0, "nothing was read");
    elapsed / (references.len() * REFERENCES) as f64
}

/// Whatever else the machine did meanwhile made it slower.
fn best(times: impl Iterator<Item = f64>) -> f64 {
    times.fold(f64::INFINITY, f64::min)
}

fn main() {
    let mut arguments = env::args().skip(1);
    let folder = arguments.next().expect("a directory for the file");
    let mut number = |unless| arguments.next().map_or(unless, |it| it.parse().expect("a number"));
    let (mib, rounds) = (number(256), number(5));
    let blocks = (mib << 20) / BLOCK;
    let path = Path::new(&folder).join("foresee-hits");
    let bytes: Vec<u8> = (0..blocks * BLOCK).map(|at| (at % 251) as u8 + 1).collect();
    fs::write(&path, &bytes).expect("the file is written");
    drop(bytes);
    println!("| {mib} MiB, ns a hit | 1 thread, uniform | 1, Zipf | 2, uniform | 2, Zipf |");
    println!("| --- | --- | --- | --- | --- |");
    let cases: Vec<Vec<References>> = [(1, false), (1, true), (2, false), (2, true)]
        .map(|(threads, zipf)| (0..threads).map(|it| References::new(it, blocks, REFERENCES, zipf)).collect())
        .into();
    for name in NAMES {
        let contender = Contender::new(name, &path, blocks);
        for copies in [true, false] {
            if !copies && !contender.has_views() {
                continue;
            }
            let time = |case: &Vec<References>| best((0..rounds).map(|_| round(&contender, case, copies)));
            let times: Vec<String> = cases.iter().map(|case| format!("{:.0}", time(case))).collect();
            println!("| {name}, {} | {} |", if copies { "copied" } else { "viewed" }, times.join(" | "));
        }
    }
    fs::remove_file(&path).expect("the file is removed");
}
