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

/// It brings 200 blocks in the time of a request, and serves so many requests at once; 60 are sent.
#[test]
fn where_requests_wait_for_one_another_some_must_come_before_more_are_sent() {
    let full_after = |servers: u64| {
        let mut dispatch = Dispatch::new(DeviceLimits::default(), Stripe::default());
        for (turn, blocks) in (0..).zip([0..200, 200..201, 300..301, 400..401]) {
            let alone = sent(&mut dispatch, Time(2 * turn * LATENCY), Source::Library, blocks);
            dispatch.finished(Time((2 * turn + 1) * LATENCY), alone[0]);
        }
        let mut out = VecDeque::new();
        for turn in 0..4 {
            let begin = (10 * turn + 10) * LATENCY;
            out = sent(&mut dispatch, Time(begin), Source::Library, (1..61).map(|it| 1000 * (60 * turn + it))).into();
            let is_over = |number: u64| Time(begin + LATENCY * (1 + number / servers));
            if turn < 3 {
                out.drain(..).zip(0..).for_each(|(fetch, number)| drop(dispatch.finished(is_over(number), fetch)));
            }
        }
        let mut is_full = vec![dispatch.is_pipe_full(DeviceId(0))];
        for fetch in out.into_iter().take(5) {
            dispatch.finished(Time(41 * LATENCY), fetch);
            is_full.push(dispatch.is_pipe_full(DeviceId(0)));
        }
        is_full
    };
    assert_eq!(full_after(40), [true, true, true, false, false, false], "a sixteenth of 60");
    assert_eq!(full_after(60), [false; 6], "each has a server");
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

/// To devices that serve so many requests at once.
#[test]
fn more_go_out_only_where_as_many_as_may_be_are_served_side_by_side() {
    let bursts = |limits: DeviceLimits, servers: u64| {
        let mut dispatch = Dispatch::new(limits, Stripe::default());
        let mut now = Time(0);
        // The first shows what one takes by itself.
        [1, 1000, 1000, 1000, 1000].map(|count| {
            let begin = now;
            let out = sent(&mut dispatch, now, Source::Library, (0..count).map(|at| begin.0 / 1000 + 10 * at));
            for (at, &fetch) in out.iter().enumerate() {
                now = Time(begin.0 + LATENCY * (1 + at as u64 / servers));
                dispatch.finished(now, fetch);
            }
            dispatch.waiting.clear();
            dispatch.devices[0].waiting = Default::default();
            out.len()
        })
    };
    let of = |outstanding_max| DeviceLimits { outstanding_max, ..DeviceLimits::default() };
    assert_eq!(bursts(of(128), 1000), [1, 128, 256, 512, 512]);
    for servers in [100, 200] {
        let out = bursts(of(128), servers);
        let most = 2 * (servers as usize + 1);
        assert!(out[2] > 128 && out.iter().all(|&it| it <= most), "{servers}: {out:?}");
    }
    assert_eq!(bursts(of(128), 8), [1, 128, 128, 128, 128]);
    assert_eq!(bursts(of(700), 1000), [1, 700, 700, 700, 700], "more than it grows to");
    assert_eq!(bursts(of(100), 1000), [1, 100, 100, 100, 100], "a host that gives fewer means it");
}

/// Where the host limits a device by itself, that holds.
#[test]
fn what_a_host_gives_a_device_does_not_grow() {
    let mut dispatch = Dispatch::new(DeviceLimits::default(), Stripe::default());
    dispatch.limit(DeviceId(0), 200, 1, false);
    for burst in 0..4 {
        let out = sent(&mut dispatch, Time(burst * LATENCY), Source::Library, (0..1000).map(|at| 10 * at));
        assert!(out.len() <= 200, "{}", out.len());
        out.into_iter().for_each(|fetch| drop(dispatch.finished(Time((burst + 1) * LATENCY), fetch)));
    }
}

/// An arm of which lone answers came out of some buffer: nothing was served side by side.
#[test]
fn a_lone_quick_answer_lets_no_more_out() {
    let mut dispatch = Dispatch::new(DeviceLimits::default(), Stripe::default());
    let mut now = Time(0);
    for (at, took) in [LATENCY, LATENCY, LATENCY, 35_000].into_iter().enumerate() {
        let out = sent(&mut dispatch, now, Source::Library, [1000 * at as u64]);
        now = Time(now.0 + took);
        dispatch.finished(now, out[0]);
    }
    assert_eq!(sent(&mut dispatch, now, Source::Library, (0..1000).map(|at| 10_000 + 10 * at)).len(), 128);
}

/// The first of two arms, on which every second 512 blocks of a file lie, is asked for them in turn,
/// four requests of 256 at a time: what follows on it lies apart in the file, and costs its bytes.
#[test]
fn what_follows_on_a_disk_of_an_array_does_not_lie_apart() {
    let mut dispatch = Dispatch::new(DeviceLimits::default(), Stripe { disks: 2, unit_blocks: 512 });
    let send = |dispatch: &mut Dispatch, now, index, count| {
        let fetch = FetchId(dispatch.next_fetch);
        let first = Block { file: FileId(0), index };
        dispatch.send(now, Flight::new(DeviceId(0), 0, first, count, Class::Hinted, 0), &mut Vec::new());
        fetch
    };
    let alone = send(&mut dispatch, Time(0), 10_000_384, 1);
    dispatch.finished(Time(LATENCY), alone);
    let mut out = VecDeque::new();
    for at in 0..100 {
        let now = Time((1 + at) * LATENCY);
        if out.len() == 4 {
            dispatch.finished(now, out.pop_front().unwrap());
        }
        out.push_back(send(&mut dispatch, now, at / 2 * 1024 + at % 2 * 256, 256));
    }
    assert!(!dispatch.devices[0].positioning.is_near_everywhere());
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
