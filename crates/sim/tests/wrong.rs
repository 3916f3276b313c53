//! What is disclosed and partly wrong costs little more than what is not disclosed at all: a loop,
//! and a recording of it of which a fifth are other blocks.

use foresee_manager::Config;
use foresee_sim::host;
use foresee_sim::load::Trace;
use foresee_sim::timed::{self, Disclosure, Options, Think};

const BLOCKS: u64 = 1000;
const PASSES: u64 = 8;

/// How long it takes in so many pages, in nanoseconds.
fn elapsed_ns(device: &str, pages: u64, disclose: Option<Disclosure>) -> u64 {
    let trace = Trace::of_blocks((0..BLOCKS * PASSES).map(|at| at % BLOCKS), 4096);
    let how =
        Options { think: Think::Fixed(50_000), disclose, device: device.parse().unwrap(), disks: 1, lookup_ns: 0 };
    let config = Config::new(pages, "informed".parse().unwrap());
    host::run(&timed::setup(&trace, &how, config)).unwrap().elapsed_ns
}

fn wrong_and_nothing(device: &str, pages: u64) -> (u64, u64) {
    (elapsed_ns(device, pages, Some(Disclosure::recorded(20, 64))), elapsed_ns(device, pages, None))
}

/// It takes two rounds of requests to find out that there is one arm; from then on what is not
/// proven is left to the runs, and no page is held for it: each hole that such a page leaves in a
/// run is a turn of the disk.
#[test]
fn an_arm_is_left_to_the_runs() {
    for pages in [200, 500, 900] {
        let (wrong, nothing) = wrong_and_nothing("disk10k", pages);
        assert!(wrong <= nothing + 400_000_000, "{pages} pages: {wrong} of {nothing}");
    }
}

/// A page that is about to be read by a run does not go because a use of it is disclosed for later;
/// it still costs something.
#[test]
fn runs_go_on_over_what_is_disclosed() {
    for pages in [200, 900] {
        let (wrong, nothing) = wrong_and_nothing("servers=64,latency_us=5000,mb_per_s=1000", pages);
        assert!(wrong <= 3 * nothing, "{pages} pages: {wrong} of {nothing}");
    }
}

/// What is left out of one pass of a loop is disclosed for the next one. It costs its readers one
/// wait, and is not left out of all passes for that.
#[test]
fn a_hole_makes_no_other() {
    const WRONG: u64 = 1;
    for pages in [200, 500, 900] {
        let on_link = |percent| {
            let disclose = Some(Disclosure::recorded(percent, 64));
            elapsed_ns("servers=64,latency_us=5000,mb_per_s=1000", pages, disclose)
        };
        let (wrong, right) = (on_link(WRONG as _), on_link(0));
        let waits = BLOCKS * PASSES * WRONG / 100 * 5_000_000;
        assert!(wrong <= right + waits, "{pages} pages: {wrong}, {right} without");
    }
}

/// Of a fifth that is wrong, what lies far beyond the next holes is not brought in place of what
/// the loop's next pass finds here.
#[test]
fn what_is_waited_for_in_any_case_is_not_brought_long_before() {
    for pages in [500, 900] {
        let (wrong, nothing) = wrong_and_nothing("servers=64,latency_us=5000,mb_per_s=1000", pages);
        assert!(wrong <= nothing + nothing / 4, "{pages} pages: {wrong} of {nothing}");
    }
}
