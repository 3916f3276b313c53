//! Whatever happens, the program runs as it would without the library.

mod common;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use common::{Ring, alike, compile, directory, library, reads_of, shipped};
use foresee_ring::{Consumer, Next, PATH_BYTES_MAX, Record, Region, SLOTS};

fn with_data() -> PathBuf {
    let directory = directory();
    let data: Vec<u8> = (0..100_000u32).map(|at| (at * 31 % 251) as u8).collect();
    fs::write(directory.join("data"), data).unwrap();
    directory
}

#[test]
fn cancelled_threads_end_and_clean_up() {
    let directory = with_data();
    let program = compile("cancel", &directory, &[]);
    for _ in 0..3 {
        alike(&program, &[], &directory);
    }
}

#[test]
fn signals_interrupt_and_may_read() {
    let directory = with_data();
    let program = compile("signals", &directory, &[]);
    alike(&program, &[], &directory);
}

#[test]
fn a_sandboxed_program_makes_no_call_but_its_own() {
    let directory = with_data();
    let program = compile("sandbox", &directory, &[]);
    let (said, _) = alike(&program, &[], &directory);
    assert_eq!(reads_of(&said, "data"), [(-1, 5, 5)]);
}

/// What we have open would be in the way of a lease, and an open of ours would break it.
#[test]
fn who_sets_a_lease_waits_for_an_answer() {
    let directory = with_data();
    let program = compile("lease", &directory, &[]);
    let plain = Command::new(&program).current_dir(&directory).output().unwrap();
    let ring = Ring::new();
    let mut command = ring.command(program);
    command.current_dir(&directory);
    let running = std::thread::spawn(move || command.output().unwrap());
    let (mut consumer, mut buffer, mut slot, mut asked) = (Consumer::new(ring.region), [0; PATH_BYTES_MAX], None, 0);
    while !running.is_finished() {
        let Next::Record(entry) = consumer.next(&mut buffer) else { continue };
        match entry.record {
            Record::ProcessStarted { slot: of, .. } => slot = ring.region.process(of),
            Record::Quiesces { ticket } => {
                // It has none yet.
                fs::read(directory.join("data")).unwrap();
                asked += 1;
                slot.unwrap().answer(ticket, Ok(0));
            }
            _ => {}
        }
    }
    assert_eq!((running.join().unwrap(), asked), (plain, 1));
}

#[test]
fn programs_that_close_everything_are_followed() {
    let directory = with_data();
    let program = compile("close_all", &directory, &[]);
    let (patched, unpatched) = alike(&program, &[], &directory);
    for said in [patched, unpatched] {
        assert_eq!(reads_of(&said, "data"), [(-1, 21, 21), (-1, 22, 22)]);
    }
}

#[test]
fn libraries_find_what_they_load() {
    let directory = directory();
    let inner = directory.join("inner");
    fs::create_dir(&inner).unwrap();
    let shared = ["-shared", "-fPIC", "-DINNER"];
    fs::rename(compile("plugin", &inner, &shared), inner.join("libinner.so")).unwrap();
    let runpath = format!("-Wl,--enable-new-dtags,-rpath,{}", inner.display());
    let plugin = compile("plugin", &directory, &["-shared", "-fPIC", &runpath]);
    let program = compile("loader", &directory, &[]);
    let (said, _) = alike(&program, &[plugin.to_str().unwrap()], &directory);
    let of = |is: fn(&Record) -> bool| -> Vec<PathBuf> {
        said.iter().filter(|said| is(&said.record)).map(|said| said.path.clone()).collect()
    };
    let loading = of(|record| matches!(record, Record::Loading {}));
    assert_eq!(loading, [plugin.clone(), "libinner.so".into(), "libabsent.so".into()]);
    let loaded = of(|record| matches!(record, Record::Loaded { .. }));
    assert!(loaded.ends_with(&[plugin, inner.join("libinner.so")]), "{loaded:?}");
}

#[test]
fn other_preloaded_libraries_work_and_nothing_is_told_twice() {
    let directory = with_data();
    let other = compile("other", &directory, &["-shared", "-fPIC"]);
    let program = compile("close_all", &directory, &[]);
    let mut ring = Ring::new();
    for patch in ["1", "0"] {
        for order in [[&library(), &other], [&other, &library()]] {
            let preload = format!("{}:{}", order[0].display(), order[1].display());
            let mut command = ring.command(&program);
            command.current_dir(&directory).env("LD_PRELOAD", &preload).env("FORESEE_PATCH", patch);
            let (output, said) = ring.run(&mut command);
            assert!(String::from_utf8_lossy(&output.stdout).ends_with("other saw 2\n"), "{output:?}");
            assert_eq!(reads_of(&said, "data"), [(-1, 21, 21), (-1, 22, 22)], "{preload}, patch {patch}");
        }
    }
}

#[test]
fn eight_threads_lose_and_tear_nothing() {
    let directory = with_data();
    let program = compile("threads", &directory, &[]);
    let mut ring = Ring::new();
    let mut child =
        ring.command(&program).current_dir(&directory).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = Vec::new();
    while child.try_wait().unwrap().is_none() {
        said.extend(ring.said());
    }
    said.extend(ring.said());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "bad = 0, errno 4242\n");
    let whole = said.iter().filter(|s| matches!(s.record, Record::Read { asked: 512, got: 512, .. })).count() as u64;
    let part = said.iter().filter(|s| matches!(s.record, Record::Read { asked: 77, got: 77, .. })).count() as u64;
    assert!(whole <= 160_000 && part <= 1_600);
    let others =
        said.iter().filter(|s| matches!(s.record, Record::Opened { .. } | Record::Closed { .. })).count() as u64;
    assert!(whole + part + others + ring.region.lost() >= 160_000 + 1_600 + 3_200);
    let slot =
        said.iter().find_map(|s| if let Record::ProcessStarted { slot, .. } = s.record { Some(slot) } else { None });
    let counters = ring.region.process(slot.unwrap()).unwrap().counters();
    assert_eq!((counters.reads, counters.bytes), (161_600, 160_000 * 512 + 1_600 * 77));
}

#[test]
fn a_full_ring_stops_nobody() {
    let directory = with_data();
    let program = compile("threads", &directory, &[]);
    let mut ring = Ring::new();
    let output = ring.command(&program).current_dir(&directory).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "bad = 0, errno 4242\n");
    assert!(ring.region.lost() > 0);
    assert!(ring.said().len() <= SLOTS);
}

#[test]
fn a_killed_program_leaves_a_ring_that_works() {
    let directory = with_data();
    let program = compile("threads", &directory, &[]);
    let mut ring = Ring::new();
    for round in 0..20 {
        let mut child = ring.command(&program).current_dir(&directory).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(3 + round));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        ring.said_past_holes();
    }
    let mut command = ring.command("true");
    let (_, said) = ring.run(&mut command);
    assert!(said.iter().any(|said| said.record == Record::Exited {}));
}

#[test]
fn without_a_ring_it_is_not_there() {
    let directory = with_data();
    let rubbish = directory.join("rubbish");
    fs::write(&rubbish, vec![7; Region::layout_size()]).unwrap();
    let short = directory.join("short");
    fs::write(&short, [7; 100]).unwrap();
    let bogus = ["", "/nowhere", "/dev/null", "/", rubbish.to_str().unwrap(), short.to_str().unwrap()];
    for ring in bogus.map(Some).into_iter().chain([None]) {
        let mut command = Command::new("sort");
        command.arg("data").current_dir(&directory).env("LD_PRELOAD", library()).env_remove("FORESEE_RING");
        if let Some(ring) = ring {
            command.env("FORESEE_RING", ring);
        }
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{ring:?}: {output:?}");
        assert_eq!(output.stdout, Command::new("sort").arg("data").current_dir(&directory).output().unwrap().stdout);
    }
}

#[test]
fn a_closing_ring_is_left_alone() {
    let mut ring = Ring::new();
    ring.region.close();
    let mut command = ring.command("true");
    let (_, said) = ring.run(&mut command);
    assert!(said.is_empty());
}

#[test]
fn a_static_program_runs_unseen() {
    let directory = with_data();
    fs::create_dir(directory.join("dir")).unwrap();
    fs::write(directory.join("dir/sub"), "sub").unwrap();
    let program = compile("reads", &directory, &["-static"]);
    let (patched, unpatched) = alike(&program, &[], &directory);
    assert!(patched.is_empty() && unpatched.is_empty());
}

#[test]
fn it_starts_with_few_calls() {
    let calls = |of: &Command| {
        let mut command = Command::new("strace");
        command.args(["-f", "true"]).envs(of.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stderr).lines().count())
    };
    let ring = Ring::new();
    let (Some(plain), Some(watched)) = (calls(&Command::new("true")), calls(&ring.command("true"))) else {
        return eprintln!("skipped: strace is not installed, or may not trace");
    };
    // A third of them are the dynamic linker's, which loads one library more.
    assert!(watched < plain + 60, "{watched} system calls, {plain} without");
}

/// The optimiser proves it: in the library that ships there is no call of ours to the panic
/// machinery, which would say where in our sources it was. (The unwinder of exact signatures can
/// panic; it is there to be asked for.)
#[test]
fn nothing_of_ours_can_panic() {
    let Some(library) = shipped() else {
        return eprintln!("skipped: of the library that ships, which FORESEE_TEST_LIBRARY names");
    };
    let library = fs::read(library).unwrap();
    let names = |source: &str| library.windows(source.len()).any(|bytes| bytes == source.as_bytes());
    // Names of others' sources are in it, so ours would be.
    assert!(names("unwinder.rs") && !names("preload/src/") && !names("ring/src/"));
}
