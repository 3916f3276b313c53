//! Call-site signatures: the same in every run, different for different ways through the program,
//! and harmless on any stack.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use common::{Ring, Said, compile, directory};
use foresee_ring::Record;

/// `narrow` is a scan where processors have no wide vectors.
const MODES: [&str; 3] = ["scan", "narrow", "exact"];

fn set<'a>(command: &'a mut Command, mode: &str) -> &'a mut Command {
    match mode {
        "narrow" => command.env("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX2"),
        mode => command.env("FORESEE_SITES", mode),
    }
}

/// The signatures of reads and writes, by how many bytes they were to be.
fn sites(said: &[Said]) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut sites = BTreeMap::<u32, BTreeSet<u32>>::new();
    for said in said {
        match said.record {
            Record::Read { asked, site, .. } => sites.entry(asked).or_default().insert(site),
            Record::Wrote { len, site, .. } => sites.entry(len as u32).or_default().insert(site),
            _ => continue,
        };
    }
    sites
}

fn with_data() -> std::path::PathBuf {
    let directory = directory();
    std::fs::write(directory.join("data"), vec![7; 5000]).unwrap();
    directory
}

fn run(program: &Path, arguments: &[&str], mode: &str, directory: &Path) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut ring = Ring::new();
    let mut command = ring.command(program);
    let (_, said) = ring.run(set(command.args(arguments), mode).current_dir(directory));
    sites(&said)
}

/// Five ways through one wrapper, and two to write, in two orders, at other addresses each time;
/// with frame pointers, without, and without a build id.
#[test]
fn signatures_tell_ways_apart_and_outlive_the_run() {
    let directory = with_data();
    for options in
        [&["-O2"][..], &["-O1", "-fno-omit-frame-pointer"], &["-O2", "-Wl,--build-id=none"], &["-O2", "-no-pie"]]
    {
        let program = compile("sites", &directory, options);
        for mode in MODES {
            let once = run(&program, &["1"], mode, &directory);
            let again = run(&program, &["2"], mode, &directory);
            assert_eq!(once.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7], "{mode}");
            for (way, sites) in &once {
                assert!(!sites.contains(&0), "{options:?} {mode}: unknown");
                for (other, theirs) in once.iter().filter(|(other, _)| *other != way) {
                    assert!(sites.is_disjoint(theirs), "{options:?} {mode}: ways {way} and {other} are one");
                }
                // A scan takes what earlier calls left for callers, so that a way may have several.
                let (sites, again) = (sites.len(), sites.intersection(&again[way]).count());
                let (most, least) = if mode == "exact" { (1, 1) } else { (4, 1) };
                assert!(sites <= most && again >= least, "{options:?} {mode}, way {way}: {sites}, again {again}");
            }
        }
    }
}

/// Of each site what lies there is told, about once: the place in the program, not in libc, through
/// which some of it reads.
#[test]
fn what_lies_at_a_site_is_told_where_somebody_wants_it() {
    let directory = with_data();
    let program = compile("sites", &directory, &["-O2"]);
    for mode in MODES {
        let mut ring = Ring::new();
        let mut run = |places: bool| {
            if places {
                ring.region.want_places();
            }
            let mut command = ring.command(&program);
            let (_, said) = ring.run(set(&mut command, mode).current_dir(&directory));
            let met = said.iter().filter_map(|said| match said.record {
                Record::SiteMet { site, offset } => Some((site, (said.path.clone(), offset))),
                _ => None,
            });
            (sites(&said), met.collect::<Vec<_>>())
        };
        assert_eq!(run(false).1, []);
        let (sites, met) = run(true);
        let different = sites.values().flatten().collect::<BTreeSet<_>>().len();
        assert!((different..2 * different).contains(&met.len()), "{mode}: {different} sites, told {met:?}");
        assert!(met.iter().all(|(_, (object, _))| *object == program), "{mode}: {met:?}");
        let places: BTreeMap<u32, u64> = met.into_iter().map(|(site, (_, offset))| (site, offset)).collect();
        // Ways 1 to 5 read in one function, way 6 writes in another. Way 7 is libc's: what earlier calls
        // left may be taken for its caller.
        let of =
            |ways: &[u32]| ways.iter().flat_map(|way| &sites[way]).map(|site| places[site]).collect::<BTreeSet<_>>();
        let (reads, writes) = (of(&[1, 2, 3, 4, 5]), of(&[6]));
        assert!(reads.len() == 1 && writes.len() == 1 && reads != writes, "{mode}: {reads:?} {writes:?}");
        assert!(!of(&[7]).is_empty());
    }
}

/// Two builds are two programs.
#[test]
fn another_build_is_another_program() {
    let directory = with_data();
    let of = |options: &[&str]| run(&compile("sites", &directory, options), &[], "scan", &directory);
    let id = "-Wl,--build-id";
    assert_ne!(of(&["-O2", id])[&1], of(&["-O2", id, "-DOTHER"])[&1]);
    assert_eq!(of(&["-O2", id])[&1], of(&["-O2", id])[&1]);
}

/// What differs far up the stack only is told apart, as often as it comes back.
#[test]
fn a_distant_caller_is_seen() {
    let directory = with_data();
    let program = compile("chains", &directory, &["-O2"]);
    for mode in MODES {
        let sites = run(&program, &[], mode, &directory);
        assert!(sites[&1].is_disjoint(&sites[&2]), "{mode}: {sites:?}");
        // The first time round other things are left on the stack than later.
        assert!(sites.values().all(|sites| sites.len() <= 2), "{mode}: {sites:?}");
    }
}

/// What was found of an object is not taken for the one that comes to lie in its place.
#[test]
fn an_object_in_anothers_place_is_another() {
    let directory = with_data();
    let library = |name: &str, options: &[&str]| {
        let path = directory.join(name);
        std::fs::rename(compile("through", &directory, &[&["-shared", "-fPIC"], options].concat()), &path).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (one, other) = (library("one.so", &["-DCODE"]), library("other.so", &[]));
    let program = compile("reload", &directory, &["-O1"]);
    for mode in ["scan", "narrow"] {
        let mut ring = Ring::new();
        let mut command = ring.command(&program);
        let (output, said) = ring.run(set(command.args([&one, &other]), mode).current_dir(&directory));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "moved 0\n");
        let sites = sites(&said);
        assert!(sites[&1].is_disjoint(&sites[&2]), "{mode}: {sites:?}");
        assert!(sites.values().all(|sites| sites.len() <= 4), "{mode}: {sites:?}");
    }
}

#[test]
fn reads_on_any_stack_are_harmless() {
    let directory = with_data();
    let program = compile("stacks", &directory, &["-O1"]);
    for mode in MODES {
        let mut ring = Ring::new();
        let mut command = ring.command(&program);
        let (output, said) = ring.run(set(&mut command, mode).current_dir(&directory));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "whole\n");
        assert!(said.iter().filter(|said| matches!(said.record, Record::Read { site: 1.., .. })).count() > 1000);
    }
}

#[test]
fn they_can_be_left_out() {
    let directory = with_data();
    let sites = run(&compile("sites", &directory, &[]), &[], "0", &directory);
    assert!(sites.values().flatten().all(|&site| site == 0));
}

/// Pythons whose functions are told apart; those that are not here are left out, saying so.
fn pythons() -> Vec<(String, std::path::PathBuf)> {
    let at_home = std::env::var("HOME").map(|home| Path::new(&home).join(".pyenv/versions")).unwrap_or_default();
    let mut found = Vec::new();
    for version in ["3.11", "3.12", "3.13"] {
        let own = std::fs::read_dir(&at_home).ok().into_iter().flatten().flatten();
        let own = own.filter(|it| it.file_name().to_string_lossy().starts_with(version)).map(|it| it.path());
        let own = own.map(|it| it.join("bin/python3"));
        let all: Vec<_> = own.chain([Path::new("/usr/bin").join(format!("python{version}"))]).collect();
        let all: Vec<_> = all.into_iter().filter(|it| it.exists()).collect();
        if all.is_empty() {
            println!("skipped: there is no Python {version}");
        }
        found.extend(all.into_iter().map(|it| (version.to_owned(), it)));
    }
    found
}

/// Functions of Python's are told apart although the interpreter is in the same place.
#[test]
fn pythons_functions_join_the_signature() {
    const PROGRAM: &str = "
import os, sys, threading
fd = os.open('data', os.O_RDONLY)
def get(count):
    return os.pread(fd, count, 0)
def index(): get(1)
def table(): get(2)
def deeper():
    (lambda: get(3))()
def generator():
    yield get(4)
for _ in range(3): index(); table(); deeper(); list(generator())
thread = threading.Thread(target=lambda: get(6)); thread.start(); thread.join()
if len(sys.argv) > 1: import json, sqlite3, ctypes
index()
";
    let directory = with_data();
    for (version, python) in pythons() {
        for mode in MODES {
            let arguments = ["-S", "-c", PROGRAM];
            let once = run(&python, &arguments, mode, &directory);
            let again = run(&python, &arguments, mode, &directory);
            for way in [1, 2, 3, 4, 6] {
                assert!(once.contains_key(&way), "{version}: {once:?}");
                for other in [1, 2, 3, 4, 6].iter().filter(|&&other| other != way) {
                    assert!(once[&way].is_disjoint(&once[other]), "{version} {mode}: {way} and {other} are one");
                }
                assert!(
                    once[&way].intersection(&again[&way]).count() > 0,
                    "{version} {mode} {way}: {once:?} {again:?}"
                );
            }
            // Objects loaded on the way are not in the way.
            run(&python, &["-c", PROGRAM, "load"], mode, &directory);
        }
    }
    assert!(
        Command::new("python3").arg("--version").output().is_err()
            || !pythons().is_empty()
            || cfg!(not(target_os = "linux"))
    );
}
