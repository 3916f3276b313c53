//! Recording processes that run already, and everybody: with root, on a kernel and file systems
//! that tell what is read.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foresee_sim::trace::{Reader, Request, Span, open};
use support::process::{how, kill};
use support::{Place, binary, end, have, is_root, library::root, lines_of, wait_until};

/// A recorder under way; killed if the test fails.
struct Live {
    child: Child,
    errors: BufReader<ChildStderr>,
    /// What it said before it began.
    said: String,
}

impl Live {
    /// Starts `foresee record WORDS` and waits until it records.
    fn start(place: &Place, words: &[&str]) -> Self {
        let live = Live::try_start(place, words);
        live.unwrap_or_else(|said| panic!("{said}"))
    }

    /// The same; what it said if it does not.
    fn try_start(place: &Place, words: &[&str]) -> Result<Self, String> {
        let mut command = place.foresee(&[&["record"], words].concat());
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        let mut live = Live { child, errors, said: String::new() };
        live.read_line();
        if live.said.contains("recording") { Ok(live) } else { Err(live.finish().1) }
    }

    fn read_line(&mut self) {
        self.errors.read_line(&mut self.said).unwrap();
    }

    fn signal(&self, signal: i32) {
        kill(self.child.id() as i32, signal);
    }

    /// How it ended, and what it said.
    fn finish(mut self) -> (String, String) {
        self.errors.read_to_string(&mut self.said).unwrap();
        (how(self.child.wait().unwrap()), std::mem::take(&mut self.said))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// Recorders are seen by each other: a file that is opened under one is told to all that come
/// later. So one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place with a file `data` of 300 blocks and 100 bytes, and `reader`, which is static. None,
/// saying why, where that cannot be built, or reading it cannot be recorded.
fn place() -> Option<Place> {
    let place = Place::new();
    if !is_root() || !have("gcc") {
        return None;
    }
    write_data(&place);
    let source = root().join("crates/cli/tests/programs/reader.c");
    let mut gcc = place.plain(&["gcc", "-static", "-O1", "-Wall", "-Wextra", "-Werror", "-o", "reader"]);
    gcc.arg(source);
    let built = end(gcc, b"");
    if built.how != "status 0" {
        eprintln!("skipped: static programs cannot be built: {built:?}");
        return None;
    }
    match Live::try_start(&place, &["--system", ".", "-o", "t"]) {
        Ok(live) => {
            live.signal(libc::SIGINT);
            live.finish();
            fs::remove_file(place.path("t")).unwrap();
            Some(place)
        }
        Err(said) => {
            assert!(cannot_record(&said), "{said}");
            eprintln!("skipped: {said}");
            None
        }
    }
}

/// Whether it says that the kernel or a file system does not tell us what is read.
fn cannot_record(said: &str) -> bool {
    said.contains("does not tell") || said.contains("CAP_SYS_ADMIN")
}

fn write_data(place: &Place) {
    place.write_blocks("data", 300);
    let mut data = fs::File::options().append(true).open(place.path("data")).unwrap();
    data.write_all(&[b'x'; 100]).unwrap();
}

/// The reader with these words.
fn reader(place: &Place, words: &[&str]) -> Command {
    let mut command = place.command(place.path("reader"));
    command.args(words);
    command
}

/// What a trace says of the file of this name: whether a process's number is that of the first row,
/// write, offset, length.
fn rows(place: &Place, trace: &str, name: &str) -> Vec<(bool, bool, u64, u64)> {
    let mut reader = open(&place.path(trace), None, 4096).unwrap();
    let mut found: Vec<Request> = Vec::new();
    while let Some(request) = reader.next().unwrap() {
        if Path::new(&reader.names()[request.file as usize]) == place.path(name) {
            found.push(request);
        }
    }
    assert!(found.is_sorted_by_key(|row| row.time_ns));
    assert!(found.iter().all(|row| row.process > 0 && row.thread == row.process && row.site == 0 && row.took_ns == 0));
    let first = found.first().map_or(0, |row| row.process);
    let row = |row: &Request| match row.span {
        Span::Range { offset, length } => (row.process == first, row.write, offset, length),
        Span::Object { .. } => panic!("{row:?}"),
    };
    found.iter().map(row).collect()
}

fn unfinished(place: &Place) -> usize {
    let names = fs::read_dir(place.work()).unwrap().flatten().map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().contains("unfinished")).count()
}

const SIZE: u64 = 300 * 4096 + 100;

#[test]
fn everybodys_reads_writes_and_mappings_are_recorded_until_ctrl_c() {
    let _alone = alone();
    let Some(place) = place() else { return };
    let live = Live::start(&place, &["--system", ".", "-o", "t"]);
    // Twice the same: what is in memory is asked about as well. A read finds the end, one begins beyond
    // it.
    let words = ["./data", "p5000:100", "p5000:100", "p4000:8192", "m8192:12288", "r10", "r4096"];
    let more = ["p1228700:4096", "p1228900:4096", "p4096000:1", "w20480:100", "f", "p40960:1"];
    let recorded = end(reader(&place, &[&words[..], &more].concat()), b"").with(0);
    // An append is where the file ends, though its descriptor is at the beginning.
    end(reader(&place, &["+data", "a10"]), b"").with(0);
    live.signal(libc::SIGINT);
    let (how, said) = live.finish();
    assert_eq!((how.as_str(), unfinished(&place)), ("status 0", 0), "{said}");
    // Whatever else writes to this file system meanwhile is counted too.
    let writes = said
        .split(" writes")
        .next()
        .and_then(|before| before.rsplit(' ').next())
        .and_then(|it| it.replace(',', "").parse().ok());
    assert!(writes >= Some(2) && !said.contains("lost") && said.ends_with("in t\n"), "{said}");
    let (page, last) = (4096, SIZE / 4096 * 4096);
    let expected = [
        (true, false, page, page),
        (true, false, page, page),
        (true, false, 0, 3 * page),
        (true, false, 2 * page, 3 * page),
        (true, false, 0, page),
        (true, false, 0, 2 * page),
        (true, false, last - page, page + 100),
        (true, true, 5 * page, page),
        (false, false, 10 * page, page),
        (false, true, last, page),
    ];
    assert_eq!(rows(&place, "t", "data"), expected);
    // The program itself is read and mapped to be run, by two processes.
    assert!(rows(&place, "t", "reader").len() > 4);
    // Nobody is stopped by now, and what it read was right.
    write_data(&place);
    assert_eq!(end(reader(&place, &[&words[..], &more].concat()), b"").with(0), recorded);
    // The simulator takes it as any other.
    end(place.foresee(&["sim", "t", "--policy", "lru", "--cache", "10"]), b"").with(0);
}

#[test]
fn processes_are_followed_with_their_children_until_all_have_ended() {
    let _alone = alone();
    let Some(place) = place() else { return };
    place.write_lines(1, 10);
    // It has data open already, and waits; then it opens it again. Its child outlives it.
    let script = "exec 5< data; read go; cat <&5 > /dev/null; ./reader ./data p0:100; \
                  (read go < fifo; ./reader ./data p4096:100; cat d/f0 > /dev/null) & exit 3";
    let mut shell = place.plain(&["sh", "-c", &format!("mkfifo fifo; {script}")]);
    let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the shell waits", || place.path("fifo").exists());
    wait_until("the shell has its file open", || fs::read_link(format!("/proc/{}/fd/5", shell.id())).is_ok());
    let mut live = Live::start(&place, &["--pid", &shell.id().to_string(), "-o", "t"]);
    live.read_line();
    assert!(live.said.contains("had open before") && live.said.contains("/data"), "{}", live.said);
    // Somebody else's reads are not theirs.
    end(reader(&place, &["./data", "p8192:100"]), b"").with(0);
    shell.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert_eq!(how(shell.wait().unwrap()), "status 3");
    assert!(live.child.try_wait().unwrap().is_none(), "it ended before the child did");
    fs::write(place.path("fifo"), "go\n").unwrap();
    let (how, said) = live.finish();
    assert_eq!((how.as_str(), unfinished(&place)), ("status 0", 0), "{said}");
    assert_eq!(rows(&place, "t", "data"), [(true, false, 0, 4096), (false, false, 4096, 4096)], "{said}");
    assert_eq!(rows(&place, "t", "d/f0"), [(true, false, 0, lines_of(0, 10).len() as u64)]);
}

/// No call sites, no durations, mappings as one read: what is simulated says so, and nothing else
/// is made of it.
#[test]
fn what_is_not_known_of_a_live_trace_is_said() {
    let _alone = alone();
    let Some(place) = place() else { return };
    let script = "read go; for i in 1 2 3; do ./reader ./data m0:1228800 p4096:100 p819200:8192; done; ./reader ./data w20480:100";
    let mut shell = place.plain(&["sh", "-c", script]);
    let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let live = Live::start(&place, &["--pid", &shell.id().to_string(), "-o", "t"]);
    shell.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert_eq!(how(shell.wait().unwrap()), "status 0");
    let (how, said) = live.finish();
    assert!(how == "status 0" && said.contains(" reads and 1 write of "), "{how}: {said}");
    let foresee = |words: &[&str]| end(place.foresee(words), b"").with(0).out();
    let says = |text: &str, all: &[&str]| {
        all.iter().for_each(|words| assert!(text.contains(words), "no '{words}' in\n{text}"));
    };
    says(&foresee(&["trace", "info", "t"]), &["call sites        unknown\n", "requests took     unknown\n"]);
    says(&foresee(&["sim", "t", "-p", "lru,ubm,pcc"]), &["knows no call sites: to pcc, all its reads come from one."]);
    says(&foresee(&["advise", "t"]), &["no call sites", "no durations", "\nforesee would "]);
    let told = foresee(&["explain", "t", "--block", "/data:1", "-c", "1000"]);
    // Three mappings and three reads, of as many processes.
    says(&told, &["read by process ", "read 6 times: 5 found, 0 on its way, 1 missed"]);
    assert!(!told.contains("call site") && !told.contains("reader 0"), "{told}");
    foresee(&["plot", "t", "-o", "t.html"]);
    let page = fs::read_to_string(place.path("t.html")).unwrap();
    says(&page, &["References by process", "as ubm sees them", "/data"]);
    assert!(!page.contains(">call site"), "call sites in a page of a trace without");
}

#[test]
fn a_reader_outlives_a_recorder_that_is_killed() {
    let _alone = alone();
    let Some(place) = place() else { return };
    let words = ["./data", "l20000", "p0:1000000"];
    let alone = end(reader(&place, &words), b"").with(0);
    let live = Live::start(&place, &["--system", ".", "-o", "t"]);
    let mut command = reader(&place, &words);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    wait_until("it reads", || fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap().contains("syscr: 1"));
    live.signal(libc::SIGKILL);
    let mut said = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut said).unwrap();
    assert_eq!((how(child.wait().unwrap()).as_str(), said), ("status 0", alone.stdout));
    assert_eq!(live.finish().0, "signal 9");
    assert!(!place.path("t").exists(), "half a trace");
}

#[test]
fn a_full_disk_ends_the_recording_and_no_reader() {
    let _alone = alone();
    let Some(place) = place() else { return };
    let small = place.aside("small");
    fs::create_dir(&small).unwrap();
    let small_word = small.to_str().unwrap();
    if !is_root()
        || end(place.plain(&["mount", "-t", "tmpfs", "-o", "size=64k", "small", small_word]), b"").how != "status 0"
    {
        eprintln!("skipped: no small file system can be mounted");
        return;
    }
    let trace = format!("{small_word}/t");
    let live = Live::start(&place, &["--system", ".", "-o", &trace]);
    // More rows than are kept in memory.
    let words = ["./data", "l70000"];
    let recorded = end(reader(&place, &words), b"").with(0);
    let (how, said) = live.finish();
    assert_eq!(how, "status 2", "{said}");
    assert!(said.contains(&trace) && said.contains("No space left"), "{said}");
    assert_eq!(fs::read_dir(&small).unwrap().count(), 0, "half a trace is left");
    assert_eq!(end(reader(&place, &words), b""), recorded);
    end(place.plain(&["umount", small_word]), b"").with(0);
}

#[test]
fn what_cannot_be_recorded_is_said_with_its_remedy() {
    let place = Place::new();
    let record = |words: &[&str]| end(place.foresee(&[&["record", "-o", "t"], words].concat()), b"");
    for words in [&["--pid", "1", "--", "ls"][..], &["--system", "--pid", "1"], &["--pid", "1", "--policy", "lru"], &[]]
    {
        record(words).with(2);
    }
    if !is_root() {
        let said = record(&["--system", "."]).with(2).err();
        assert!(said.contains("root") && said.contains("foresee record -o TRACE -- CMD"), "{said}");
        return;
    }
    let gone = record(&["--pid", "4194304"]).with(2).err();
    let kernel_tells = !cannot_record(&gone);
    assert!(!kernel_tells || gone.contains("--pid 4194304: there is no such process"), "{gone}");
    let proc = record(&["--system", "/proc"]).with(2).err();
    assert!(!kernel_tells || (proc.contains("--system /proc") && proc.contains("ext4")), "{proc}");
    // A few descriptors would do for a while; then the kernel would refuse what others read.
    let few = format!("ulimit -n 100; exec {} record --system . -o t", binary().display());
    let few = end(place.plain(&["sh", "-c", &few]), b"").with(2).err();
    assert!(few.contains("100 descriptors") && few.contains("ulimit -Hn 1024"), "{few}");
    assert_eq!((place.path("t").exists(), unfinished(&place)), (false, 0));
}
