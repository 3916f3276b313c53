//! The drive's buffer: a few segments, each holding neighbouring sectors, the least recently used
//! reused first.
//!
//! Having read what it was asked for, a drive reads on into the same segment until it has read so
//! far ahead, or the next request needs the arm.
//!
//! Worked example: a segment of 8 sectors, 4 read ahead. After a read of 10..12 the segment holds
//! 10..12 and grows to 10..16 while nothing else is asked. A read of 12..14 that comes when it has
//! grown to 13 is a hit: 12 is there, 13 is under the head next, and the drive now reads on to 18,
//! by when 10 and 11 have been overwritten.

/// Neighbouring sectors that are here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub first: u64,
    pub end: u64,
}

/// All segments, the last used first.
pub(super) struct Buffer {
    segments: Vec<Segment>,
    segments_max: usize,
    sectors_max: u64,
}

impl Buffer {
    pub fn new(segments_max: usize, sectors_max: u64) -> Self {
        Buffer { segments: Vec::new(), segments_max, sectors_max }
    }

    /// The segment used last.
    pub fn current(&self) -> Option<Segment> {
        self.segments.first().copied()
    }

    /// Makes the segment that holds this sector the current one. Where the current one is being
    /// read on into (`is_growing`), the sector that comes next counts as held.
    pub fn find(&mut self, sector: u64, is_growing: bool) -> Option<Segment> {
        let found = self.segments.iter().enumerate().position(|(at, segment)| {
            let end = segment.end + u64::from(at == 0 && is_growing);
            (segment.first..end).contains(&sector)
        })?;
        self.segments[..=found].rotate_right(1);
        self.current()
    }

    /// Begins a segment, empty so far.
    pub fn begin(&mut self, first: u64) {
        self.segments.truncate(self.segments_max.saturating_sub(1));
        self.segments.insert(0, Segment { first, end: first });
        self.segments.truncate(self.segments_max);
    }

    /// The current segment has grown to this end; what it has no room for is overwritten.
    pub fn grow(&mut self, end: u64) {
        if let Some(segment) = self.segments.first_mut() {
            segment.end = segment.end.max(end);
            segment.first = segment.first.max(segment.end.saturating_sub(self.sectors_max));
        }
    }

    /// These sectors are written: what is here of them is true no longer.
    pub fn forget(&mut self, first: u64, end: u64) {
        self.segments.retain(|segment| segment.end <= first || end <= segment.first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_keeps_its_last_sectors() {
        let mut buffer = Buffer::new(2, 8);
        buffer.begin(10);
        buffer.grow(13);
        assert_eq!(buffer.find(13, true), Some(Segment { first: 10, end: 13 }));
        buffer.grow(20);
        assert_eq!((buffer.current(), buffer.find(11, true)), (Some(Segment { first: 12, end: 20 }), None));
    }

    #[test]
    fn the_least_recently_used_goes_and_what_is_written() {
        let mut buffer = Buffer::new(2, 8);
        for first in [0, 100, 200] {
            buffer.begin(first);
            buffer.grow(first + 4);
        }
        assert_eq!(buffer.find(0, true), None);
        assert_eq!((buffer.find(104, true), buffer.find(204, true)), (None, Some(Segment { first: 200, end: 204 })));
        assert_eq!(buffer.find(103, true), Some(Segment { first: 100, end: 104 }));
        buffer.forget(203, 300);
        assert_eq!((buffer.find(200, true), buffer.find(100, true).is_some()), (None, true));
    }

    #[test]
    fn a_drive_without_a_buffer_keeps_nothing() {
        let mut buffer = Buffer::new(0, 0);
        buffer.begin(1);
        buffer.grow(5);
        assert_eq!((buffer.current(), buffer.find(1, true)), (None, None));
    }
}
