//! Where requests at equal distances lie, in blocks: what is read of each row of a matrix, or of each
//! record, lies as many bytes apart, and these need be no multiple of a block's.
//!
//! ```text
//! request k begins in block   x(k) = floor(f + k a)
//! so that of any two of them  (x(j) - x(i) - 1) / (j - i)  <  a  <  (x(j) - x(i) + 1) / (j - i)
//! ```
//!
//! So each request more makes it better known how far apart they lie. If it may be a whole number of
//! blocks, it is taken to be.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

/// Requests of which the places are known; once there are more, every other one is forgotten.
const PLACES_MAX: usize = 16;

/// Requests at equal distances.
pub struct Line {
    /// Of some of the requests, the last one among them: their numbers, and the blocks with which they
    /// begin.
    places: VecDeque<(i64, i64)>,
    /// How many requests there are.
    len: i64,
    /// Between these is how far one lies from the one before.
    least: f64,
    most: f64,
}

impl Line {
    /// The line on which requests lie that begin with these blocks, if there is one.
    pub fn through(places: [i64; 4]) -> Option<Line> {
        let mut line =
            Line { places: VecDeque::from([(0, places[0])]), len: 4, least: f64::NEG_INFINITY, most: f64::INFINITY };
        (1..).zip(&places[1..]).all(|(number, &place)| line.add(number, place)).then_some(line)
    }

    /// How many requests there are, those that were passed over counted.
    pub fn len(&self) -> i64 {
        self.len
    }

    /// How far one request lies from the one before.
    pub fn step(&self) -> f64 {
        let middle = (self.least + self.most) / 2.0;
        let whole = middle.round();
        if self.least < whole && whole < self.most { whole } else { middle }
    }

    /// Whether that is a whole number of blocks, as far as is known.
    pub fn is_whole(&self) -> bool {
        self.step().fract() == 0.0
    }

    fn last(&self) -> (i64, i64) {
        *self.places.back().expect("a line has four places")
    }

    /// Whether a request that is to come, of this number, goes on with the line as it begins with this
    /// block. A block beside it does, but leaves the line as it is if no line leads through that as well.
    pub fn goes_on(&mut self, number: i64, place: i64) -> bool {
        let places = self.places(number);
        let goes_on = number >= self.len && (places.start() - 1..=places.end() + 1).contains(&place);
        if goes_on {
            self.add(number, place);
            self.len = number + 1;
        }
        goes_on
    }

    fn add(&mut self, number: i64, place: i64) -> bool {
        let (mut least, mut most) = (self.least, self.most);
        for (earlier, from) in &self.places {
            let (distance, steps) = ((place - from) as f64, (number - earlier) as f64);
            (least, most) = (least.max((distance - 1.0) / steps), most.min((distance + 1.0) / steps));
        }
        if least >= most {
            return false;
        }
        (self.least, self.most) = (least, most);
        if self.places.len() == PLACES_MAX {
            // Those that are left lie as far apart as all did.
            self.places = self.places.drain(..).step_by(2).collect();
        }
        self.places.push_back((number, place));
        true
    }

    /// The blocks of which one is the first that is read by the request of this number.
    pub fn places(&self, number: i64) -> RangeInclusive<i64> {
        let (last, place) = self.last();
        let (step, steps) = (self.step(), (number - last) as f64);
        if step.fract() == 0.0 {
            let place = place + (steps * step) as i64;
            return place..=place;
        }
        // Where in that block each of them says that the last one begins.
        let offsets = self.places.iter().map(|&(number, at)| (at - place) as f64 + (last - number) as f64 * step);
        let (least, most) =
            offsets.fold((0.0, 1.0), |(least, most): (f64, f64), it| (least.max(it), most.min(it + 1.0)));
        let (middle, unknown) = ((least + most) / 2.0, (most - least).max(0.0) / 2.0);
        let unknown = (unknown + steps.abs() * (self.most - self.least) / 2.0).min(0.5);
        let at = middle + steps * step;
        place + (at - unknown).floor() as i64..=place + (at + unknown).floor() as i64
    }

    /// The number of the request nearest to a block.
    pub fn nearest(&self, index: i64) -> i64 {
        let (number, place) = self.last();
        number + ((index - place) as f64 / self.step()).round() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks in which what lies so many bytes apart begins.
    fn places(first: i64, step: i64, count: i64) -> Vec<i64> {
        (0..count).map(|number| (first + number * step).div_euclid(4096)).collect()
    }

    #[test]
    fn a_whole_number_of_blocks_is_known_at_once() {
        for step in [1, 7, -1, -40] {
            let mut line = Line::through([0, 1, 2, 3].map(|number| 1_000 + number * step)).unwrap();
            assert!(line.is_whole() && line.step() == step as f64);
            assert_eq!(line.places(20), 1_000 + 20 * step..=1_000 + 20 * step);
            assert!(line.goes_on(4, 1_000 + 4 * step) && line.len() == 5);
            assert!(line.goes_on(6, 1_000 + 6 * step) && line.len() == 7, "one was passed over");
            assert!(!line.goes_on(7, 1_003 + 7 * step) && !line.goes_on(6, 1_000 + 6 * step));
            assert_eq!(line.nearest(1_000 + 40 * step), 40);
        }
    }

    #[test]
    fn what_lies_at_no_whole_number_of_blocks_is_known_ever_better() {
        for (first, step) in [(0, 50_000), (700, 8_000), (90_000_000, -6_000), (12_345, 1_000_001), (5, 9_999)] {
            let read = places(first, step, 200);
            let mut line = Line::through([read[0], read[1], read[2], read[3]]).unwrap();
            let (mut asked, mut more, mut missing) = (0, 0, 0);
            for (number, &place) in read.iter().enumerate().skip(4) {
                // As many more as are known by then.
                for (ahead, expected) in (number..read.len().min(2 * number)).zip(&read[number..]) {
                    let places = line.places(ahead as i64);
                    (asked, more) = (asked + 1, more + places.end() - places.start());
                    missing += u32::from(!places.contains(expected));
                    assert!((places.start() - 1..=places.end() + 1).contains(expected), "{first} {step}: {expected}");
                }
                assert!(line.goes_on(number as i64, place), "{first} {step}: {place}, number {number}");
            }
            assert!((line.step() - step as f64 / 4096.0).abs() < 0.01);
            assert!(2 * more < asked, "{first} {step}: {more} blocks more than {asked}");
            assert!(50 * missing < asked as u32, "{first} {step}: {missing} of {asked} lie elsewhere");
        }
    }

    #[test]
    fn what_is_on_no_line_has_none() {
        assert!(Line::through([0, 10, 20, 35]).is_none());
        assert!(Line::through([0, 10, 25, 30]).is_none());
        assert!(Line::through([0, 10, 21, 31]).is_some());
    }
}
