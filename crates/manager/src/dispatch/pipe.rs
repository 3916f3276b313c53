//! How much a device delivers at best, and so how many blocks on their way keep it busy: what it
//! delivers in the time of one request, and one more. What is sent beyond that waits at the device.
//!
//! ```text
//! a request ends:   delivered while it was out / the longer of two times        (as Cardwell et al. measure a path: BBR, 2016):
//!                   from the end of the last request before it was sent to its own end;
//!                   from when that one was sent to when it was sent
//! B:                the most of these; less, by what was delivered in the time that it was out itself,
//!                   if it was out beside enough others to keep a device of that B busy, or was late
//! late:             the last of four in a row, none of them alone, that took twice what they would take there
//! L:                what lone requests take that are as long as those beside others are of late (positioning.rs); of an arm,
//!                   what they take
//! the pipe is full: L B + 1 blocks are fetched ahead, and as many requests for them, with B in requests, as that makes
//! ```
//!
//! Both, because a device may be busy with the bytes or with the requests, and those before may
//! have been for more blocks each than those that come, or for fewer. So no request is late that
//! would take as long by one of the two.
//!
//! The first time alone would show too much where ends come together: of two requests that end at
//! once, the second may have been sent when the one before them ended, just now, and finds both
//! delivered in no time. It was the device's time from one sending to the next that they took. The
//! longer of both may be time in which nothing was asked for, and lowers nothing.
//!
//! One answer that came from some cache may make B so large that what there is of memory does not
//! fill the pipe. Then only that requests are late tells that it is wrong.
//!
//! What readers wait for is not counted: it goes out in any case, block by block, and where many
//! wait it would keep out what is fetched ahead for them, many blocks in a request.
//!
//! Worked example: 64 servers of 5 ms and 128 requests of a block each, sent at once to a device
//! that was idle. The first 64 end after 5 ms, and the last of them finds 64 delivered in 5 ms; so
//! do the others after 10 ms, with 128. The pipe holds 65.

use super::batch::Beside;
use crate::ids::Time;

/// What a sample that is less weighs, if the pipe was full: a device that has become slower is
/// known for it after some dozen requests.
const WEIGHT: f64 = 1.0 / 32.0;

/// What took so many times as long as on a device of that speed may say that this one is not so
/// fast. (With 1.5 or 4 times, what is told takes as long in the mean, to a part in 400.)
const LATE_TIMES: f64 = 2.0;
/// So many in a row do. Where one in ten takes so long by chance, that happens once in 10,000.
const LATE_IN_A_ROW: u32 = 4;

/// Of blocks, or of requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flow {
    /// So many so far.
    delivered: u64,
    /// At the device, and those of them that nobody waited for when they were sent.
    out: u64,
    ahead: u64,
    /// In a nanosecond.
    best: Option<f64>,
}

/// What was known of a flow when a request was sent.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    delivered: u64,
    out: u64,
}

impl Flow {
    fn sent(&mut self, some: u64, is_ahead: bool) -> Before {
        self.out += some;
        self.ahead += if is_ahead { some } else { 0 };
        Before { delivered: self.delivered, out: self.out }
    }

    fn finished(&mut self, some: u64, is_ahead: bool) {
        self.out = self.out.saturating_sub(some);
        self.ahead = self.ahead.saturating_sub(if is_ahead { some } else { 0 });
    }

    /// Whether so much was out as keeps it busy, where lone requests take so long.
    fn was_full(&self, before: Before, alone_ns: f64) -> bool {
        self.best.is_some_and(|best| before.out as f64 >= alone_ns * best + 1.0)
    }

    /// What it takes to deliver all that was out.
    fn takes_ns(&self, before: Before) -> f64 {
        self.best.map_or(f64::INFINITY, |best| before.out as f64 / best)
    }

    /// So many are delivered, in so many nanoseconds at most; in those since they were asked for at
    /// least, if that may lower what is known.
    fn delivered(&mut self, some: u64, before: Before, in_ns: u64, lowers_ns: Option<u64>) {
        self.delivered += some;
        let since = (self.delivered - before.delivered) as f64;
        let sample = since / in_ns as f64;
        let best = self.best.get_or_insert(sample);
        let less = lowers_ns.map_or(f64::INFINITY, |ns| since / ns as f64);
        if sample > *best {
            *best = sample;
        } else if less < *best {
            *best += (less - *best) * WEIGHT;
        }
    }

    /// Those at the device that are fetched ahead.
    pub fn ahead(&self) -> u64 {
        self.ahead
    }

    /// So many in a nanosecond, at best.
    pub fn best(&self) -> Option<f64> {
        self.best
    }
}

/// What was known when a request was sent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sent {
    since: Time,
    is_ahead: bool,
    last: Delivery,
    blocks: Before,
    requests: Before,
}

/// When a request was sent, and when it came to its end.
#[derive(Debug, Clone, Copy, Default)]
struct Delivery {
    sent: Time,
    over: Time,
}

/// A device's, as far as it was measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pipe {
    pub blocks: Flow,
    pub requests: Flow,
    /// The latest that ended; where nothing was out, the next request is measured from when it was
    /// sent.
    last: Delivery,
    /// Requests that were late, of the last ones without a break.
    late: u32,
}

impl Pipe {
    /// A request for so many blocks is sent.
    pub fn sent(&mut self, now: Time, blocks: u64, is_ahead: bool) -> Sent {
        if self.requests.out == 0 {
            self.last = Delivery { sent: now, over: now };
        }
        let (blocks, requests) = (self.blocks.sent(blocks, is_ahead), self.requests.sent(1, is_ahead));
        Sent { since: now, is_ahead, last: self.last, blocks, requests }
    }

    /// It came to its end; what a cache answered says nothing of the device.
    pub fn finished(&mut self, now: Time, sent: Sent, blocks: u64, alone_ns: Option<f64>, cached: bool) {
        self.blocks.finished(blocks, sent.is_ahead);
        self.requests.finished(1, sent.is_ahead);
        let took_ns = now.0.saturating_sub(sent.since.0);
        if cached || took_ns == 0 {
            return;
        }
        let since_last = now.0.saturating_sub(sent.last.over.0);
        let in_ns = since_last.max(sent.since.0.saturating_sub(sent.last.sent.0));
        // What was sent long ago and ends now is not the latest that was sent.
        self.last = Delivery { sent: self.last.sent.max(sent.since), over: now };
        let is_late = self.is_late(&sent, took_ns, alone_ns);
        let lowers = |flow: &Flow, before| {
            (is_late || alone_ns.is_some_and(|alone| flow.was_full(before, alone))).then_some(took_ns)
        };
        let (of_blocks, of_requests) = (lowers(&self.blocks, sent.blocks), lowers(&self.requests, sent.requests));
        self.blocks.delivered(blocks, sent.blocks, in_ns, of_blocks);
        self.requests.delivered(1, sent.requests, in_ns, of_requests);
    }

    /// What a request that ends now shows of how the device serves several, if it was not alone.
    pub fn beside(&self, now: Time, sent: Sent, alone_ns: f64) -> Option<Beside> {
        let serves = alone_ns * self.requests.best.unwrap_or(f64::INFINITY) + 1.0;
        (sent.requests.out > 1).then(|| Beside {
            took_ns: now.0.saturating_sub(sent.since.0),
            should_ns: alone_ns + self.blocks.takes_ns(sent.blocks),
            times: sent.requests.out as f64 / serves,
        })
    }

    /// Requests that ended since this one was sent, and their blocks.
    pub fn delivered_since(&self, sent: Sent) -> (u64, u64) {
        let since = |flow: &Flow, before: Before| flow.delivered - before.delivered;
        (since(&self.requests, sent.requests), since(&self.blocks, sent.blocks))
    }

    /// Whether so many requests took longer than they should that the device is not so fast as it
    /// seemed.
    fn is_late(&mut self, sent: &Sent, took_ns: u64, alone_ns: Option<f64>) -> bool {
        let is_beside = sent.requests.out > 1;
        let should =
            alone_ns.map(|alone| alone + self.blocks.takes_ns(sent.blocks).max(self.requests.takes_ns(sent.requests)));
        let is_late = is_beside && should.is_some_and(|ns| took_ns as f64 > LATE_TIMES * ns);
        self.late = if is_late { self.late + 1 } else { 0 };
        self.late >= LATE_IN_A_ROW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATENCY: u64 = 5_000_000;

    /// So many requests of a block each, all sent at once, to a device that serves so many of them
    /// side by side.
    fn burst(pipe: &mut Pipe, begin: u64, requests: u64, servers: u64) {
        let sent: Vec<Sent> = (0..requests).map(|_| pipe.sent(Time(begin), 1, true)).collect();
        for (number, sent) in sent.into_iter().enumerate() {
            let end = begin + LATENCY * (1 + number as u64 / servers);
            pipe.finished(Time(end), sent, 1, Some(LATENCY as f64), false);
        }
    }

    fn holds(pipe: &Pipe) -> f64 {
        pipe.blocks.best().unwrap() * LATENCY as f64 + 1.0
    }

    #[test]
    fn as_many_as_are_served_side_by_side_and_one() {
        for servers in [1, 4, 64] {
            let mut pipe = Pipe::default();
            burst(&mut pipe, 0, 128, servers);
            assert!((holds(&pipe) - (servers + 1) as f64).abs() < 0.01, "{servers}: {}", holds(&pipe));
            assert_eq!((pipe.blocks.ahead(), pipe.requests.ahead()), (0, 0));
        }
    }

    #[test]
    fn a_device_that_is_not_kept_busy_shows_nothing_new() {
        let mut pipe = Pipe::default();
        burst(&mut pipe, 0, 64, 64);
        (1..100).for_each(|turn| burst(&mut pipe, turn * 10 * LATENCY, 8, 64));
        assert!((holds(&pipe) - 65.0).abs() < 0.01, "{}", holds(&pipe));
    }

    #[test]
    fn a_device_that_became_slower_is_known_for_it() {
        let mut pipe = Pipe::default();
        burst(&mut pipe, 0, 128, 64);
        burst(&mut pipe, 10 * LATENCY, 128, 8);
        burst(&mut pipe, 100 * LATENCY, 128, 8);
        assert!(holds(&pipe) < 20.0, "{}", holds(&pipe));
    }

    /// One ends; another is sent, and ends at once beside one that was sent long before.
    #[test]
    fn ends_that_come_together_are_no_sign_of_speed() {
        let mut pipe = Pipe::default();
        let one = pipe.sent(Time(0), 1, true);
        let long_ago = pipe.sent(Time(0), 1, true);
        pipe.finished(Time(LATENCY), one, 1, Some(LATENCY as f64), false);
        let just_now = pipe.sent(Time(LATENCY), 1, true);
        for sent in [long_ago, just_now] {
            pipe.finished(Time(LATENCY + 1000), sent, 1, Some(LATENCY as f64), false);
        }
        assert!(holds(&pipe) < 3.01, "{}", holds(&pipe));
    }

    /// A cache answers once, a thousand times as fast as the device; then requests are sent one
    /// beside another, far fewer than would keep such a device busy. Of eight, the fifth takes five
    /// times as long as one; on a device of five times the speed it would be 1 + 5 / 5.
    #[test]
    fn a_speed_that_was_a_caches_is_forgotten() {
        let mut pipe = Pipe::default();
        let once = pipe.sent(Time(0), 1, true);
        pipe.finished(Time(LATENCY / 1000), once, 1, Some(LATENCY as f64), false);
        assert!(holds(&pipe) > 1000.0);
        (1..100).for_each(|turn| burst(&mut pipe, turn * 10 * LATENCY, 8, 1));
        assert!(holds(&pipe) < 6.0, "{}", holds(&pipe));
    }

    /// An arm delivers a thousand blocks of one place in the time of a request, and as many requests
    /// for one block each one after the other.
    #[test]
    fn requests_for_little_say_nothing_of_the_blocks() {
        let mut pipe = Pipe::default();
        for turn in 0..20 {
            let long = pipe.sent(Time(2 * turn * LATENCY), 1000, true);
            pipe.finished(Time((2 * turn + 1) * LATENCY), long, 1000, Some(LATENCY as f64), false);
        }
        let before = holds(&pipe);
        (100..200).for_each(|turn| burst(&mut pipe, turn * 10 * LATENCY, 8, 1));
        assert_eq!(holds(&pipe), before);
    }

    /// Bursts with pauses between them, and one request that takes a hundred times as long.
    #[test]
    fn a_pause_beside_a_straggler_says_nothing() {
        let mut pipe = Pipe::default();
        burst(&mut pipe, 0, 128, 64);
        let before = holds(&pipe);
        let straggler = pipe.sent(Time(10 * LATENCY), 1, true);
        burst(&mut pipe, 10 * LATENCY, 64, 64);
        burst(&mut pipe, 100 * LATENCY, 128, 64);
        pipe.finished(Time(110 * LATENCY), straggler, 1, Some(LATENCY as f64), false);
        burst(&mut pipe, 111 * LATENCY, 128, 64);
        assert!(holds(&pipe) > 0.95 * before, "{} of {before}", holds(&pipe));
    }

    /// Every twentieth request of a reader that asks for two at a time takes ten times as long.
    #[test]
    fn requests_that_take_long_by_chance_say_nothing() {
        let mut pipe = Pipe::default();
        burst(&mut pipe, 0, 128, 64);
        let before = holds(&pipe);
        let mut now = 10 * LATENCY;
        for number in 0..1000 {
            let (one, other) = (pipe.sent(Time(now), 1, true), pipe.sent(Time(now), 1, true));
            now += LATENCY;
            pipe.finished(Time(now), one, 1, Some(LATENCY as f64), false);
            now += if number % 10 == 0 { 9 * LATENCY } else { 0 };
            pipe.finished(Time(now), other, 1, Some(LATENCY as f64), false);
        }
        assert_eq!(holds(&pipe), before);
    }
}
