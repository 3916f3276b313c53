//! What programs say through the hint library arrives whole and in order, or the program is told
//! that it did not.

mod common;

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use common::{Ring, compile, directory, library, note};
use foresee_ring::{Consumer, Next, PATH_BYTES_MAX, Record, SLOTS, Unseen, segments};

fn compiled(name: &str, directory: &Path) -> PathBuf {
    compiled_with(name, directory, &[])
}

fn compiled_with(name: &str, directory: &Path, options: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../c");
    let (include, source) = (format!("-I{}", folder.display()), folder.join("foresee.c"));
    compile(name, directory, &[&["-Wall", "-Werror", &include, source.to_str().unwrap(), "-ldl"], options].concat())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Waits for this child's end. Returns how often it waited for something.
fn waits(child: Child) -> i64 {
    // SAFETY: a structure of numbers, which the call fills in.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a child of ours that nobody has waited for; its status is not asked for.
    let waited = unsafe { libc::wait4(child.id() as i32, std::ptr::null_mut(), 0, &raw mut usage) };
    assert_eq!(waited, child.id() as i32);
    usage.ru_nvcsw
}

/// The lists as they arrive: of each thread, how many segments of each list.
#[derive(Default)]
struct Lists {
    by_thread: HashMap<u64, Vec<u64>>,
    now: u64,
    ended: Vec<Record>,
}

impl Lists {
    fn take(&mut self, record: Record, bytes: &[u8]) {
        match record {
            Record::Hinted { whole } => {
                assert!(!whole);
                let (thread, list) = std::str::from_utf8(bytes).unwrap().split_once('/').unwrap();
                self.now = thread.parse().unwrap();
                let lists = self.by_thread.entry(self.now).or_default();
                assert_eq!(lists.len(), list.parse::<usize>().unwrap(), "lists are in order");
                lists.push(0);
            }
            Record::HintedSegments {} => {
                let list = self.by_thread.get_mut(&self.now).unwrap().last_mut().unwrap();
                for segment in segments(bytes) {
                    assert_eq!(segment, (*list, self.now), "segments are in order, and no other list is among them");
                    *list += 1;
                }
            }
            Record::HintsRepeated { .. } | Record::HintsCancelled {} => self.ended.push(record),
            _ => {}
        }
    }
}

/// Runs the program and takes what it says in as a supervisor does that has other things to do too.
fn taken(threads: u64, lists: usize, count: u64, pause: Duration) -> (Lists, Output) {
    let directory = directory();
    let program = compiled("hints", &directory);
    let ring = Ring::new();
    let arguments = [threads.to_string(), lists.to_string(), count.to_string()];
    let mut command = ring.command(program);
    command.args(&arguments).current_dir(&directory);
    let running = std::thread::spawn(move || command.output().unwrap());
    let (mut consumer, mut buffer, mut taken) = (Consumer::new(ring.region), [0; PATH_BYTES_MAX], Lists::default());
    loop {
        let is_over = running.is_finished();
        while let Next::Record(entry) = consumer.next(&mut buffer) {
            taken.take(entry.record, entry.path);
        }
        if is_over {
            break;
        }
        std::thread::sleep(pause);
    }
    assert_eq!((consumer.corrupt(), consumer.skipped(), ring.region.lost()), (0, 0, 0));
    (taken, running.join().unwrap())
}

#[test]
fn a_million_segments_arrive_whole_and_in_order() {
    let (taken, output) = taken(1, 50, 20_000, Duration::from_millis(2));
    assert_eq!(text(&output), "active 1\nfailed 0, errno 0, slow 0\n");
    assert_eq!(taken.by_thread, HashMap::from([(0, vec![20_000; 50])]));
    assert_eq!(taken.ended, [Record::HintsRepeated { hints: 50, passes: 3 }, Record::HintsCancelled {}]);
}

/// Of what it reads nothing is told (tests/elsewhere.rs).
#[test]
fn a_program_past_libc_is_heard() {
    let directory = directory();
    let note = note(&directory, "Go");
    let program = compiled_with("hints", &directory, &[note.to_str().unwrap()]);
    let mut ring = Ring::new();
    ring.region.look_from_outside();
    let mut command = ring.command(program);
    let (output, said) = ring.run(command.args(["1", "2", "3"]).current_dir(&directory));
    assert_eq!(text(&output), "active 1\nfailed 0, errno 0, slow 0\n");
    assert!(
        said.iter().any(|said| matches!(said.record, Record::ExecutesUnseen { why: Unseen::OwnCalls })),
        "{said:#?}"
    );
    assert_eq!(said.iter().filter(|said| matches!(said.record, Record::Hinted { .. })).count(), 2, "{said:#?}");
}

#[test]
fn lists_of_threads_do_not_mix() {
    let (taken, output) = taken(8, 300, 1_000, Duration::from_micros(500));
    assert_eq!(text(&output), "active 1\nfailed 0, errno 0, slow 0\n");
    assert_eq!(taken.by_thread, (0..8).map(|thread| (thread, vec![1_000; 300])).collect());
}

#[test]
fn who_is_not_heard_is_told_so_and_waits_once() {
    let directory = directory();
    let program = compiled("hints", &directory);
    let ring = Ring::new();
    let mut command = ring.command(&program);
    let mut child = command.args(["2", "40", "20000"]).current_dir(&directory).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    let waits = waits(child);
    // Each of the two threads waits in vain once, by 10,000 waits; for each of its lists it would be
    // 800,000.
    assert!((10_000..30_000).contains(&waits), "{waits} waits");
    let failed = said.strip_prefix("active 1\nfailed ").and_then(|rest| rest.strip_suffix(", errno 11, slow 0\n"));
    // Of the 80 lists of 79 records each, five find room.
    assert!(failed.is_some_and(|failed| (74..80).contains(&failed.parse::<u32>().unwrap())), "{said}");
    // Half of the ring, less the slots of one record, is left to who cannot wait.
    let stamp = foresee_ring::Stamp { pid: 1, tid: 1, ticks: 0 };
    let room = (0..SLOTS).take_while(|_| ring.region.post(stamp, &Record::Exited {}, &[])).count();
    assert!((SLOTS / 2 - 73..=SLOTS / 2).contains(&room), "{room}");
}

#[test]
fn nobody_listens_is_no_error() {
    let directory = directory();
    let program = compiled("hints", &directory);
    let closed = Ring::new();
    closed.region.close();
    let mut plain = Command::new(&program);
    let mut without = Command::new(&program);
    without.env("LD_PRELOAD", library()).env_remove("FORESEE_RING");
    for command in [&mut plain, &mut without, &mut closed.command(&program)] {
        let output = command.args(["2", "40", "20000"]).current_dir(&directory).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        // Who has `foresee mount` running beside the tests speaks to that.
        let is_mounted = fs::read_to_string("/proc/self/mountinfo").unwrap().contains(" - fuse.foresee ");
        let active = if is_mounted { "active 1" } else { "active 0" };
        assert_eq!(text(&output), format!("{active}\nfailed 0, errno 0, slow 0\n"));
    }
}

#[test]
fn an_answer_to_the_program_before_exec_is_not_taken_for_ones_own() {
    let directory = directory();
    let program = compiled("asks", &directory);
    let ring = Ring::new();
    let mut command = ring.command(program);
    let running = std::thread::spawn(move || command.output().unwrap());
    let (mut consumer, mut buffer, mut slot, mut answers) = (Consumer::new(ring.region), [0; PATH_BYTES_MAX], None, 0);
    while !running.is_finished() {
        let Next::Record(entry) = consumer.next(&mut buffer) else { continue };
        match entry.record {
            Record::ProcessStarted { slot: of, .. } => slot = ring.region.process(of),
            Record::PriorityAsked { ticket } => {
                answers += 1;
                slot.unwrap().answer(ticket, Ok(answers));
            }
            _ => {}
        }
    }
    assert_eq!((text(&running.join().unwrap()).as_str(), answers), ("0, 1\n0, 2\n", 2));
}
