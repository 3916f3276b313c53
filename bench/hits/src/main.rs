//! Hits: 4 KiB at random out of data that are in memory, by foresee, by `pread` from the page
//! cache, and by other caches.
//!
//! `cargo run --release -- DIRECTORY [MIB [ROUNDS [NAME...]]]`: a file of so many MiB (256 unless
//! said) is made in the directory. Each cache, or each that is named, has the same blocks and is
//! asked for the same ones, in turn, so many rounds (5 unless said); a line says the best. Then each
//! that gives blocks up has room for half of them. All rounds' times go to
//! `bench/results/hits.json`, with more than 256 MiB to `hits-MIB.json`, unless caches are named.

mod contenders;
mod draws;
mod raw;
mod references;

use std::env;
use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::Instant;

use contenders::{Contender, EVICTING, NAMES};
use raw::Raw;
use references::References;

/// Of a block, as all of them have it.
const BLOCK: usize = 4096;
/// References of each thread in one round.
const REFERENCES: usize = 1 << 18;
/// References of each thread to each block, on average, in one round of what gives blocks up: none
/// tells by its end what it began with.
const TIMES: usize = 4;
/// Threads, and whether they read by Zipf's law.
const CASES: [(u64, bool); 4] = [(1, false), (1, true), (2, false), (2, true)];

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

/// With room for half of the blocks, what is missed being in the page cache: nanoseconds a
/// reference, and the part of them that was here, once the cache is full.
fn evictions(path: &Path, blocks: usize, rounds: usize, names: &[&str], raw: &mut Raw) {
    let file = File::open(path).expect("the file");
    println!("| room for half, ns a reference and hits | 1 thread, uniform | 1, Zipf | 2, uniform | 2, Zipf |");
    println!("| --- | --- | --- | --- | --- |");
    for name in EVICTING.into_iter().filter(|name| names.contains(name)) {
        let measure = |(threads, zipf): (u64, bool)| {
            let contender = Contender::with_room(name, path, blocks / 2);
            let count = blocks * TIMES;
            // Other references each round: those of the last one are here.
            let round = |number: u64| {
                let draw = |thread| References::new(number * threads + thread, blocks, count, zipf);
                let case: Vec<_> = (0..threads).map(draw).collect();
                let (begun, before) = (Instant::now(), contender.brought());
                let missed: u64 = thread::scope(|scope| {
                    let read = |of: &References| contender.read_through(&file, &of.0);
                    let threads: Vec<_> = case.iter().map(|of| scope.spawn(move || read(of))).collect();
                    threads.into_iter().map(|thread| thread.join().expect("a reader")).sum()
                });
                let missed = missed + contender.brought() - before;
                let count = (case.len() * count) as f64;
                (begun.elapsed().as_nanos() as f64 / count, missed as f64 / count)
            };
            // The first fills it.
            round(0);
            let all: Vec<(f64, f64)> = (1..=rounds as u64).map(round).collect();
            let missed = all.iter().map(|it| it.1).sum::<f64>() / rounds as f64;
            raw.add(&format!("{name}, room for half"), (threads, zipf), all.iter().map(|it| it.0));
            raw.add(&format!("{name}, room for half, misses"), (threads, zipf), all.iter().map(|it| it.1));
            format!("{:.0}, {:.1} %", best(all.iter().map(|it| it.0)), 100.0 * (1.0 - missed))
        };
        println!("| {name} | {} |", CASES.map(measure).join(" | "));
    }
}

fn main() {
    let mut arguments = env::args().skip(1);
    let folder = arguments.next().expect("a directory for the file");
    let mut number = |unless| arguments.next().map_or(unless, |it| it.parse().expect("a number"));
    let (mib, rounds) = (number(256), number(5));
    let named: Vec<String> = arguments.collect();
    let names: Vec<&str> =
        NAMES.into_iter().filter(|&name| named.is_empty() || named.iter().any(|it| it == name)).collect();
    let blocks = (mib << 20) / BLOCK;
    let path = Path::new(&folder).join("foresee-hits");
    let bytes: Vec<u8> = (0..blocks * BLOCK).map(|at| (at % 251) as u8 + 1).collect();
    fs::write(&path, &bytes).expect("the file is written");
    drop(bytes);
    let mut raw = Raw::default();
    println!("| {mib} MiB, ns a hit | 1 thread, uniform | 1, Zipf | 2, uniform | 2, Zipf |");
    println!("| --- | --- | --- | --- | --- |");
    let cases = CASES.map(|(threads, zipf)| {
        (0..threads).map(|it| References::new(it, blocks, REFERENCES, zipf)).collect::<Vec<_>>()
    });
    for &name in &names {
        let contender = Contender::new(name, &path, blocks);
        for copies in [true, false] {
            if !copies && !contender.has_views() {
                continue;
            }
            let row = format!("{name}, {}", if copies { "copied" } else { "viewed" });
            let mut time = |(at, case): (usize, &Vec<References>)| {
                let times: Vec<f64> = (0..rounds).map(|_| round(&contender, case, copies)).collect();
                raw.add(&row, CASES[at], times.iter().copied());
                format!("{:.0}", best(times.into_iter()))
            };
            let times: Vec<String> = cases.iter().enumerate().map(&mut time).collect();
            println!("| {row} | {} |", times.join(" | "));
        }
    }
    evictions(&path, blocks, rounds, &names, &mut raw);
    if named.is_empty() {
        raw.write(mib);
    }
    fs::remove_file(&path).expect("the file is removed");
}
