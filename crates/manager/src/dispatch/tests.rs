//! Of devices whose answers' times are made up.

use std::collections::VecDeque;

use super::*;

const LATENCY: u64 = 5_000_000;

/// These blocks of a file wait, and are sent as far as they may be; returns their requests.
fn sent(dispatch: &mut Dispatch, now: Time, source: Source, blocks: impl IntoIterator<Item = u64>) -> Vec<FetchId> {
    for index in blocks {
        dispatch.enqueue(Home::default(), Block { file: FileId(0), index }, source);
    }
    let mut out = Vec::new();
    for disk in dispatch.devices().collect::<Vec<_>>() {
        while let Some(flight) = dispatch.next_run(now, disk, 0) {
            dispatch.send(now, flight, &mut out);
        }
    }
    let fetch = |action| match action {
        Action::Order(Order::Fetch { fetch, .. }) => Some(fetch),
        _ => None,
    };
    out.into_iter().filter_map(fetch).collect()
}

/// Two disks that serve one request at a time: while one of them has nothing to do, more is
/// fetched.
#[test]
fn an_arrays_pipe_is_full_when_each_of_its_disks_is() {
    let mut dispatch = Dispatch::new(DeviceLimits::default(), Stripe { disks: 2, unit_blocks: 1 });
    for disk in [0, 1] {
        let first = sent(&mut dispatch, Time(disk * LATENCY), Source::Library, [disk]);
        dispatch.finished(Time((disk + 1) * LATENCY), first[0]);
    }
    assert!(!dispatch.is_pipe_full(DeviceId(0)), "nothing is on its way");
    sent(&mut dispatch, Time(2 * LATENCY), Source::Library, (0..8).step_by(2));
    assert!(!dispatch.is_pipe_full(DeviceId(0)), "one disk has nothing to do");
    sent(&mut dispatch, Time(2 * LATENCY), Source::Library, (1..8).step_by(2));
    assert!(dispatch.is_pipe_full(DeviceId(0)));
}

/// A link of one request that takes its time for four blocks, so that twice its pipe is ten.
#[test]
fn what_runs_want_waits_here_where_it_would_only_wait_on_the_link() {
    let on_link = |source| {
        let mut dispatch = Dispatch::new(DeviceLimits::default(), Stripe::default());
        dispatch.limit(DeviceId(0), 64, 4, true);
        let alone = sent(&mut dispatch, Time(0), source, 0..4);
        dispatch.finished(Time(LATENCY), alone[0]);
        sent(&mut dispatch, Time(LATENCY), source, 4..104).len()
    };
    assert_eq!(on_link(Source::Readahead), 3);
    assert_eq!(on_link(Source::Library), 25);
}

/// Three are out at all times, so that each takes as long as three: what is quick does not show.
#[test]
fn an_arm_under_constant_load_is_known_for_one() {
    let mut dispatch = Dispatch::new(DeviceLimits::default(), Stripe::default());
    let alone = sent(&mut dispatch, Time(0), Source::Library, [0]);
    dispatch.finished(Time(LATENCY), alone[0]);
    let mut out = VecDeque::from(sent(&mut dispatch, Time(LATENCY), Source::Library, [1000, 2000, 3000]));
    for turn in 2..100 {
        let now = Time(turn * LATENCY);
        dispatch.finished(now, out.pop_front().unwrap());
        out.extend(sent(&mut dispatch, now, Source::Library, [1000 * (turn + 2)]));
    }
    assert!(dispatch.any_one_by_one());
    assert!(dispatch.is_pipe_full(DeviceId(0)));
}

/// Bursts to a device that serves so many requests of a block each side by side.
#[test]
fn as_many_go_out_as_were_served_side_by_side_and_twice_as_many() {
    let bursts = |servers: u64| {
        let mut dispatch = Dispatch::new(DeviceLimits::default(), Stripe::default());
        let mut now = Time(0);
        [0, 1, 2, 3, 4].map(|burst| {
            // The first shows what one takes by itself.
            let count = if burst == 0 { 1 } else { 1000 };
            let begin = now;
            let out = sent(&mut dispatch, now, Source::Library, (0..count).map(|at| 10_000 * burst + 10 * at));
            for (at, &fetch) in out.iter().enumerate() {
                now = Time(begin.0 + LATENCY * (1 + at as u64 / servers));
                dispatch.finished(now, fetch);
            }
            dispatch.waiting.clear();
            dispatch.devices[0].waiting = Default::default();
            out.len()
        })
    };
    assert_eq!(bursts(1000), [1, 128, 258, 512, 512]);
    assert!(bursts(64).iter().all(|&out| out <= 130), "twice one that each serves and one that waits");
    assert_eq!(bursts(8), [1, 128, 128, 128, 128]);
}

/// Eight requests of 256 blocks, always, on a link that is full of their bytes: each takes as long
/// as all before it, and yet it is no arm.
#[test]
fn a_link_that_is_full_of_bytes_is_no_arm() {
    let mut dispatch = Dispatch::new(DeviceLimits::default(), Stripe::default());
    let block_ns = LATENCY / 10;
    let request = |at: u64| (10_000 * at..).take(if at == 0 { 1 } else { 256 });
    let alone = sent(&mut dispatch, Time(0), Source::Library, request(0));
    dispatch.finished(Time(LATENCY), alone[0]);
    let mut out: VecDeque<FetchId> =
        (1..9).flat_map(|at| sent(&mut dispatch, Time(LATENCY), Source::Library, request(at))).collect();
    for turn in 0..50 {
        let now = Time(2 * LATENCY + (turn + 1) * 256 * block_ns);
        dispatch.finished(now, out.pop_front().unwrap());
        out.extend(sent(&mut dispatch, now, Source::Library, request(turn + 9)));
    }
    assert_eq!(dispatch.devices[0].sweep.is_one_by_one(), Some(true), "by what they take, it is");
    assert!(!dispatch.any_one_by_one());
}

/// Of a device that has served 17 requests one by one, or all but the first side by side.
#[test]
fn an_arm_is_sent_what_keeps_it_busy() {
    let sent_to = |one_by_one: bool| {
        let mut dispatch = Dispatch::new(DeviceLimits::default(), Stripe::default());
        let mut now = Time(0);
        for requests in [1, 16] {
            let out = sent(&mut dispatch, now, Source::Library, (0..requests).map(|at| 1000 * at));
            for (at, fetch) in out.into_iter().enumerate() {
                now = Time(now.0 + if one_by_one || at == 0 { LATENCY } else { 0 });
                dispatch.finished(now, fetch);
            }
        }
        sent(&mut dispatch, now, Source::Library, (0..100).map(|at| 1000 * at)).len()
    };
    assert_eq!(sent_to(true), 4, "twice one that it serves and one that waits");
    assert_eq!(sent_to(false), 100);
}
