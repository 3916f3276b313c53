//! Files that are read through mappings: what is touched is seen, and read ahead as what is read by
//! calls.

mod support;

use serde_json::Value;
use support::{Device, have, in_time};

const PAGES: usize = 8192;
const TOUCHES: usize = 1000;

/// Touches a file's pages in order, or some of them in an order that looks like none, and says how
/// often it waited for one.
const TOUCHER: &str = r"
import mmap, random, resource, sys
with open(sys.argv[2], 'rb') as file:
    view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
pages = range(len(view) // 4096)
if sys.argv[1] != 'all':
    view.madvise(mmap.MADV_RANDOM)
    pages = random.Random(5).sample(pages, int(sys.argv[1]))
total = 0
for page in pages:
    total = (total * 31 + view[page * 4096]) % 1000003
print(total)
print(resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before, file=sys.stderr)
";

fn device() -> Option<Device> {
    if !have("python3") {
        return None;
    }
    let device = Device::new(
        |place| {
            let contents: Vec<u8> = (0..PAGES * 4096).map(|byte| (byte / 4096 % 251) as u8).collect();
            place.write("big", contents);
        },
        "cp big $SLOWDISK_MOUNT",
    )?;
    device.tell("network latency=5ms jitter=0% servers=0");
    Some(device)
}

/// What it printed, how often it waited, and the account.
fn touch(device: &Device, which: &str, is_foreseen: bool) -> (String, usize, Value) {
    let words = device.words(&["python3", "-S", "-c", TOUCHER, which], &["big"]);
    let (ended, account) = match is_foreseen {
        true => device.foreseen(&[], &words),
        false => (device.plain(&words), Value::Null),
    };
    let ended = ended.with(0);
    let waits = ended.err().trim().lines().last().unwrap().parse().unwrap();
    (ended.out(), waits, account)
}

#[test]
fn a_mapping_read_in_order_is_read_ahead_in_its_first_run() {
    in_time(|| {
        let Some(device) = device() else { return };
        let (printed, waits_plain, _) = touch(&device, "all", false);
        let (printed_foreseen, waits, account) = touch(&device, "all", true);
        assert_eq!(printed, printed_foreseen);
        assert!(waits < waits_plain / 2, "waited {waits} times, plainly {waits_plain}; {account:#}");
    });
}

#[test]
fn places_of_a_mapping_are_known_in_the_next_run() {
    in_time(|| {
        let Some(device) = device() else { return };
        let which = TOUCHES.to_string();
        let (printed, waits_first, first) = touch(&device, &which, true);
        let (printed_second, waits, account) = touch(&device, &which, true);
        assert_eq!(printed, printed_second);
        let seconds = |key: &str| first[key].as_f64().unwrap();
        assert!(seconds("stall_s") > seconds("elapsed_s") / 4.0, "waiting for a page is waiting: {first:#}");
        assert!(waits_first > TOUCHES / 2, "nothing could be known in the first run, which waited {waits_first} times");
        assert!(waits < waits_first / 4, "waited {waits} times, in the run before {waits_first}; {account:#}");
    });
}
