//! A hard drive: one arm over spinning platters.
//!
//! - The arm takes `seek_min + (seek_max - seek_min) * sqrt(d)` to cross the fraction `d` of the
//!   span, and nothing within a track.
//! - The platter's angle is a function of time alone. Tracks follow one another without a gap in
//!   angle (an ideal skew), so streaming from track to track loses no rotation.
//! - After a request the head reads on into the drive's buffer until something else is wanted or
//!   the buffer is full; what it passed since is served without waiting for a rotation. There is
//!   one such buffer, not the several segments of a real drive, and a seek empties it.
//! - Waiting requests are served in SCAN order: the arm goes on in its direction until nothing
//!   waits there, then turns. On the way down a run of contiguous requests is served from its
//!   start, as any elevator that merges requests would, and those of one track in the order in
//!   which they pass under the head, as any drive with a queue would: the other way round each
//!   would cost a whole rotation.

use super::{Done, Model, Nanos, Request};
use std::collections::BTreeMap;

/// What the disk model can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskParams {
    /// Time to the next track.
    pub seek_min: Nanos,
    /// Time across the whole span.
    pub seek_max: Nanos,
    /// Rotations per minute.
    pub rpm: u64,
    /// Bytes per second under the head.
    pub bandwidth: u64,
    /// Bytes the drive reads ahead into its buffer.
    pub buffer: u64,
    /// Bytes the arm's full stroke covers; 0 for the size of the device.
    pub span: u64,
}

impl Default for DiskParams {
    fn default() -> Self {
        DiskParams {
            seek_min: 1_000_000,
            seek_max: 16_000_000,
            rpm: 7_200,
            bandwidth: 150_000_000,
            buffer: 8 << 20,
            span: 0,
        }
    }
}

/// The head reading on, since the byte `from` passed under it at `at`.
struct Stream {
    from: u64,
    at: Nanos,
    /// The oldest byte still in the buffer.
    low: u64,
    /// Where a full buffer stops the reading.
    limit: u64,
}

#[derive(Clone, Copy)]
struct Waiting {
    len: u64,
    arrived: Nanos,
}

/// See [`DiskParams`].
pub struct Disk {
    params: DiskParams,
    /// Duration of one rotation.
    period: Nanos,
    /// Bytes of one track.
    track: u64,
    tracks: u64,
    /// Ordered by place, then by age.
    queue: BTreeMap<(u64, u64), Waiting>,
    current: Option<Done>,
    free_at: Nanos,
    /// The end of the last request served, which the sweep goes on from.
    head: u64,
    upward: bool,
    /// The end of a run being served upward in the course of a downward sweep.
    run_end: u64,
    stream: Option<Stream>,
}

impl Disk {
    /// `params` as checked by [`super::Settings`]: neither rate is zero.
    pub fn new(params: DiskParams, device_size: u64) -> Self {
        let span = if params.span == 0 { device_size } else { params.span };
        let track = (params.bandwidth * 60 / params.rpm).max(1);
        Disk {
            period: 60_000_000_000 / params.rpm,
            track,
            tracks: span.div_ceil(track).max(1),
            params,
            queue: BTreeMap::new(),
            current: None,
            free_at: 0,
            head: 0,
            upward: true,
            run_end: 0,
            stream: None,
        }
    }

    /// Takes the next request of the sweep out of the queue.
    fn pick(&mut self) -> Option<((u64, u64), Waiting)> {
        let above = self.queue.range((self.head, 0)..).next().map(|(&key, _)| key);
        let key = if above.is_some_and(|(offset, _)| offset < self.run_end) {
            above?
        } else {
            self.run_end = 0;
            let below = self.queue.range(..(self.head, 0)).next_back().map(|(&key, _)| key);
            if if self.upward { above.is_none() } else { below.is_none() } {
                self.upward = !self.upward;
            }
            if self.upward { above? } else { self.start_of_run(below?) }
        };
        self.queue.remove(&key).map(|waiting| (key, waiting))
    }

    /// The first request of the track that `key` is on, or of the contiguous ones that lead up to
    /// it; remembers where they end.
    fn start_of_run(&mut self, key: (u64, u64)) -> (u64, u64) {
        self.run_end = key.0 + self.queue[&key].len;
        let track = key.0 / self.track * self.track;
        let mut first = self.queue.range((track, 0)..).next().map_or(key, |(&first, _)| first);
        for (&before, waiting) in self.queue.range(..first).rev() {
            if before.0 + waiting.len != first.0 {
                break;
            }
            first = before;
        }
        first
    }

    fn start_next(&mut self) {
        let Some(((offset, id), waiting)) = self.pick() else { return };
        let start = self.free_at.max(waiting.arrived);
        let due = self.serve(start, offset, waiting.len);
        self.head = offset + waiting.len;
        self.free_at = due;
        self.current = Some(Done { id, due });
    }

    /// Moves the mechanics; returns when the last byte of the request has been read.
    fn serve(&mut self, start: Nanos, offset: u64, len: u64) -> Nanos {
        let end = offset + len;
        let mut arm = self.head;
        if let Some(mut stream) = self.stream.take() {
            let passed = stream.from + self.bytes_in(start.saturating_sub(stream.at));
            arm = passed.min(stream.limit);
            // Passed already, or about to be: requests in flight together may overtake one another,
            // and what the head passes on the way to the later one is in the buffer for the earlier.
            let soon = if passed <= stream.limit { stream.limit.min(passed + self.track) } else { arm };
            if (stream.low..=soon).contains(&offset) {
                let mut due = start;
                if passed <= stream.limit {
                    // Still reading: at worst the wanted bytes are yet to come under the head.
                    due = due.max(stream.at + self.time_of(end.saturating_sub(stream.from)));
                    stream.limit = end + self.params.buffer;
                } else if end > stream.limit {
                    // The buffer was full and the platter turned on: the rest must come round again.
                    stream.from = stream.limit;
                    stream.at = start + self.rotation(start, stream.limit);
                    due = stream.at + self.time_of(end - stream.from);
                    stream.limit = end + self.params.buffer;
                }
                stream.low = stream.low.max(end.saturating_sub(self.params.buffer));
                self.stream = Some(stream);
                return due;
            }
        }
        let there = start + self.seek(arm, offset);
        let at = there + self.rotation(there, offset);
        self.stream = Some(Stream {
            from: offset,
            at,
            low: end.saturating_sub(self.params.buffer).max(offset),
            limit: end + self.params.buffer,
        });
        at + self.time_of(len)
    }

    fn seek(&self, from: u64, to: u64) -> Nanos {
        let distance = (from / self.track).abs_diff(to / self.track);
        if distance == 0 {
            return 0;
        }
        let fraction = (distance as f64 / self.tracks as f64).min(1.0);
        let range = self.params.seek_max.saturating_sub(self.params.seek_min) as f64;
        self.params.seek_min + (range * fraction.sqrt()) as Nanos
    }

    /// How long after `now` the byte at `offset` comes under the head.
    fn rotation(&self, now: Nanos, offset: u64) -> Nanos {
        let wanted = (u128::from(offset % self.track) * u128::from(self.period) / u128::from(self.track)) as Nanos;
        (wanted + self.period - now % self.period) % self.period
    }

    fn time_of(&self, bytes: u64) -> Nanos {
        (u128::from(bytes) * u128::from(self.period) / u128::from(self.track)) as Nanos
    }

    fn bytes_in(&self, time: Nanos) -> u64 {
        // Rounded up, so that a head at the end of its transfer has passed that end.
        (u128::from(time) * u128::from(self.track)).div_ceil(u128::from(self.period)) as u64
    }
}

impl Model for Disk {
    fn submit(&mut self, now: Nanos, request: Request) {
        self.queue.insert((request.offset, request.id), Waiting { len: request.len, arrived: now });
        if self.current.is_none() {
            self.start_next();
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        self.current.map(|done| done.due)
    }

    fn complete(&mut self, now: Nanos, done: &mut Vec<Done>) {
        // The next request starts when this one ended, not when the caller noticed it.
        while let Some(current) = self.current
            && current.due <= now
        {
            done.push(current);
            self.current = None;
            self.start_next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;
    const SIZE: u64 = 4_000_000_000;
    const TRACK: u64 = 1_250_000;

    fn disk(change: impl FnOnce(&mut DiskParams)) -> Disk {
        let mut params = DiskParams::default();
        change(&mut params);
        Disk::new(params, SIZE)
    }

    fn one(model: &mut Disk, now: Nanos, offset: u64, len: u64) -> Nanos {
        model.submit(now, Request { id: 0, offset, len });
        let due = model.next_event().unwrap();
        model.complete(due, &mut Vec::new());
        due
    }

    fn order(model: &mut Disk) -> Vec<u64> {
        let mut done = Vec::new();
        while let Some(next) = model.next_event() {
            model.complete(next, &mut done);
        }
        done.iter().map(|d| d.id).collect()
    }

    #[test]
    fn first_read_waits_for_its_sector() {
        let mut model = disk(|_| ());
        // Same track, angle zero at time zero: only the transfer.
        assert_eq!(one(&mut model, 0, 0, TRACK / 10), 833_333);
        // Half a rotation away.
        let mut model = disk(|_| ());
        assert_eq!(one(&mut model, 0, TRACK / 2, TRACK / 10), 4_166_666 + 833_333);
    }

    #[test]
    fn seek_grows_with_the_square_root_of_distance() {
        let model = disk(|_| ());
        assert_eq!(model.seek(5, TRACK - 1), 0);
        assert!((MS..MS + 300_000).contains(&model.seek(0, TRACK)));
        assert_eq!(model.seek(0, SIZE / 4), 8_500_000);
        assert_eq!(model.seek(SIZE, 0), 16 * MS);
        // A longer stroke makes the same distance cheaper.
        assert!(disk(|p| p.span = 100 * SIZE).seek(0, SIZE) < 3 * MS);
    }

    #[test]
    fn sequential_reads_stream_at_the_full_rate() {
        for buffer in [0, 8 << 20] {
            let mut model = disk(|p| p.buffer = buffer);
            let mut now = 0;
            for i in 0..1000 {
                now = one(&mut model, now, i * 131_072, 131_072);
            }
            let rate = 1000.0 * 131_072.0 / (now as f64 / 1e9);
            assert!((149e6..=150.1e6).contains(&rate), "{rate} at buffer {buffer}");
        }
    }

    #[test]
    fn a_pause_between_sequential_reads_costs_no_rotation() {
        let mut model = disk(|_| ());
        let first = one(&mut model, 0, 0, 100_000);
        // In the buffer already.
        assert_eq!(one(&mut model, first + 2 * MS, 100_000, 100_000), first + 2 * MS);
        // The head is on its way there.
        let soon = one(&mut model, first + 2 * MS, 200_000, 400_000);
        assert_eq!(soon, model.time_of(600_000));
    }

    #[test]
    fn overtaken_requests_of_a_stream_cost_nothing() {
        let mut model = disk(|_| ());
        let first = one(&mut model, 0, 0, 4096);
        let second = one(&mut model, first, 100_000, 100_000);
        assert_eq!(second, model.time_of(200_000));
        assert_eq!(one(&mut model, second, 4096, 95_904), second);
    }

    #[test]
    fn a_full_buffer_serves_what_it_holds_and_then_waits() {
        let mut model = disk(|p| p.buffer = 1 << 20);
        let first = one(&mut model, 0, 0, 4096);
        let later = first + 100 * MS;
        assert_eq!(one(&mut model, later, 4096, 1 << 20), later);
        let next = one(&mut model, later, 4096 + (1 << 20), 4096);
        assert!(next > later && next < later + 9 * MS);
    }

    #[test]
    fn a_jump_back_costs_a_rotation() {
        let mut model = disk(|p| p.buffer = 0);
        let first = one(&mut model, 0, 0, 4096);
        assert_eq!(one(&mut model, first, 0, 4096), 8_333_333 + first);
    }

    #[test]
    fn the_arm_sweeps_up_and_then_down() {
        let mut model = disk(|_| ());
        let places = [50, 10, 90, 30, 70];
        for (id, place) in places.iter().enumerate() {
            model.submit(0, Request { id: id as u64, offset: place * TRACK, len: 4096 });
        }
        // The first was taken at once, upward.
        assert_eq!(order(&mut model), [0, 4, 2, 3, 1]);
    }

    #[test]
    fn a_run_is_served_from_its_start_even_downward() {
        let mut model = disk(|_| ());
        model.submit(0, Request { id: 0, offset: 90 * TRACK, len: 4096 });
        for id in 1..=4 {
            model.submit(0, Request { id, offset: 10 * TRACK + id * 4096, len: 4096 });
        }
        model.submit(0, Request { id: 5, offset: 5 * TRACK, len: 4096 });
        assert_eq!(order(&mut model), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn requests_of_a_track_are_served_as_they_pass_under_the_head() {
        let mut model = disk(|_| ());
        model.submit(0, Request { id: 0, offset: 90 * TRACK, len: 4096 });
        for (id, place) in [(1, 700_000), (2, 100_000), (3, 400_000)] {
            model.submit(0, Request { id, offset: 10 * TRACK + place, len: 4096 });
        }
        model.submit(0, Request { id: 4, offset: 11 * TRACK, len: 4096 });
        assert_eq!(order(&mut model), [0, 4, 2, 3, 1]);
    }

    #[test]
    fn a_deep_queue_is_served_faster_than_a_shallow_one() {
        let places: Vec<u64> =
            (0..256u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % SIZE / 4096 * 4096).collect();
        let mut shallow = disk(|_| ());
        let mut alone = 0;
        for &place in &places {
            alone = one(&mut shallow, alone, place, 4096);
        }
        let mut deep = disk(|_| ());
        for (id, &place) in places.iter().enumerate() {
            deep.submit(0, Request { id: id as u64, offset: place, len: 4096 });
        }
        let mut done = Vec::new();
        while let Some(next) = deep.next_event() {
            deep.complete(next, &mut done);
        }
        assert_eq!(done.len(), places.len());
        assert!(done.last().unwrap().due * 2 < alone);
    }
}
