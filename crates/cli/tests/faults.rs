//! Devices that are slow, out of order, or broken: every byte and every error is the program's own.

mod support;

use std::fs;

use support::{Device, Ended, Place, Under, end, have, lines_of, process, wait_until};

/// A device with files of a few hundred KiB each, `f0` to `f5`.
fn device() -> Option<Device> {
    let files = |place: &Place| (0..6).for_each(|file| _ = place.write(format!("f{file}"), lines_of(file, 10_000)));
    Device::new(files, "for i in 0 1 2 3 4 5; do cp f$i $SLOWDISK_MOUNT; done")
}

const NAMES: [&str; 6] = ["f0", "f1", "f2", "f3", "f4", "f5"];

#[test]
fn a_broken_place_is_the_same_to_all() {
    let Some(device) = device() else { return };
    device.tell("network latency=500us jitter=0% servers=0");
    // Knowing nothing, from words, and from a profile that was made while all was well.
    let words = device.words(&["cat"], &NAMES);
    let whole = device.plain(&words).with(0);
    assert_eq!(device.foreseen(&[], &words).0, whole);
    // At multiples of 128 KiB: the page cache's units are never larger and never cross them. Elsewhere
    // the kernel fails a whole unit, and how large it made that one differs from run to run.
    for (name, page, sectors) in [("f2", 32, 1), ("f0", 0, 8), ("f5", 64, 24), ("f3", 32, 300)] {
        let sector = device.sector(name, page);
        device.tell(&format!("bad first={sector} count={sectors} times=0"));
        let plain = device.plain(&words).with(1);
        assert!(plain.err().contains("Input/output error"), "{plain:?}");
        assert!(plain.stdout.len() < whole.stdout.len());
        for options in [&[][..], &["--no-words"], &["--no-learn"], &["--no-learn", "--no-words"]] {
            let (ended, account) = device.foreseen(options, &words);
            assert_eq!(ended, plain, "{name} page {page} {options:?}: {account:#}");
        }
        for program in [&["md5sum"][..], &["grep", "-c", "word3"], &["wc", "-l"]] {
            let words = device.words(program, &NAMES);
            let plain = device.plain(&words);
            for _ in 0..2 {
                assert_eq!(device.foreseen(&[], &words).0, plain, "{words:?}");
            }
        }
        device.tell("bad clear");
    }
    assert!(device.says("failed") > 0);
    assert_eq!(device.foreseen(&[], &words).0, whole);
}

/// A program that reads a file when it is told to, and not before. What foresee knows, it has read
/// ahead by then.
fn read_when_told(device: &Device, io: &str, meanwhile: impl Fn()) -> Ended {
    let script = "echo ready; until [ -e go ]; do sleep 0.02; done; exec cat \"$1\"";
    let words = device.words(&["sh", "-c", script, "sh"], &["f4"]);
    let _ = fs::remove_file(device.place.path("go"));
    device.make_cold();
    let mut command = device.place.run(&[], &words);
    command.env("FORESEE_IO", io);
    let under = Under::way(command);
    meanwhile();
    device.place.write("go", "");
    let (said, how) = under.finish();
    Ended { stdout: said.strip_prefix("ready\n").unwrap().into(), stderr: Vec::new(), how }
}

#[test]
fn an_error_that_a_read_ahead_met_is_forgotten() {
    let Some(device) = device() else { return };
    let sector = device.sector("f4", 20);
    for io in ["", "threads"] {
        // Only the read ahead fails; all is well when the program reads for itself.
        let ended = read_when_told(&device, io, || {
            wait_until("it was read ahead", || device.says("reads") > 0);
            device.tell("reset");
        });
        assert!(ended.with(0).out() == lines_of(4, 10_000));
        device.tell("reset");
        device.tell(&format!("bad first={sector} count=8 times=0"));
        let ended = read_when_told(&device, io, || {
            wait_until("the read ahead has failed", || device.says("failed") > 0);
            device.tell("bad clear");
        });
        assert!(ended.with(0).out() == lines_of(4, 10_000), "with FORESEE_IO={io}");
        // Fails once: whoever reads first meets it.
        device.tell("reset");
        device.tell(&format!("bad first={sector} count=8 times=1"));
        let ended = read_when_told(&device, io, || {
            wait_until("the error was met", || device.says("failed") == 1);
        });
        assert!(ended.with(0).out() == lines_of(4, 10_000), "with FORESEE_IO={io}");
        device.tell("reset");
    }
}

#[test]
fn errors_that_come_and_go_under_mapped_and_direct_reads() {
    if !have("python3") {
        return;
    }
    let Some(device) = device() else { return };
    let program = "
import mmap, sys
for name in sys.argv[1:]:
    with open(name, 'rb') as f:
        m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
        print(sum(m[0:100000]), flush=True)
        print(sum(m[:]), flush=True)
";
    let mapped = device.words(&["python3", "-c", program], &["f1", "f2"]);
    let direct: Vec<String> = vec![
        "dd".into(),
        format!("if={}", device.mount.join("f2").display()),
        "bs=4096".into(),
        "iflag=direct".into(),
        "conv=noerror".into(),
        "status=none".into(),
    ];
    for words in [&mapped, &direct] {
        assert_eq!(device.foreseen(&[], words).0, device.plain(words).with(0));
    }
    device.tell(&format!("bad first={} count=8", device.sector("f2", 50)));
    let plain = device.plain(&mapped);
    assert_eq!(plain.how, format!("signal {}", libc::SIGBUS));
    assert_eq!(device.foreseen(&[], &mapped).0, plain);
    let whole = lines_of(2, 10_000).len();
    let plain = device.plain(&direct).with(0);
    assert_eq!((plain.stdout.len(), &device.foreseen(&[], &direct).0), (whole - 4096, &plain));
}

#[test]
fn late_and_out_of_order_is_still_right() {
    let Some(device) = device() else { return };
    let words = device.words(&["cat"], &NAMES);
    let whole = device.plain(&words).with(0);
    for line in
        ["network latency=5ms jitter=90% servers=0", "network latency=8ms jitter=90% servers=3 bandwidth=20M", "disk"]
    {
        device.tell(line);
        for options in [&[][..], &["--no-words"], &["--memory", "256KiB"], &["--memory", "4KiB"]] {
            let (ended, account) = device.foreseen(options, &words);
            assert!(ended == whole, "{line} {options:?}: {account:#}");
        }
        let mut command = device.place.run(&[], &words);
        command.env("FORESEE_IO", "threads");
        device.make_cold();
        assert!(end(command, b"") == whole, "{line} with threads");
    }
}

#[test]
fn foresee_ends_with_its_program_whatever_is_still_under_way() {
    let Some(device) = device() else { return };
    let words = device.words(&["sh", "-c", "cat \"$@\" | head -n 1", "sh"], &NAMES);
    let first = device.plain(&words).with(0);
    assert_eq!(device.foreseen(&[], &words).0, first);
    // Reads ahead that take long are cut off, or waited for, but nothing stays behind.
    for io in ["", "threads"] {
        device.tell("network latency=300ms jitter=50% servers=1 bandwidth=0");
        device.make_cold();
        let mut command = device.place.run(&[], &words);
        command.env("FORESEE_IO", io);
        assert_eq!(end(command, b""), first);
        device.make_cold();
        let mut command = device.place.run(&[], &words);
        command.env("FORESEE_IO", io);
        let under = Under::way(command);
        process::kill(under.pid(), libc::SIGKILL);
        under.wait();
        device.tell("off");
        device.place.wait_for_all();
    }
}
