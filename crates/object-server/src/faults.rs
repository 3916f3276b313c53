//! What goes wrong, by a seed: what a request meets depends on the seed, its line, its range and
//! how often it came.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use crate::request::Request;

/// How often what goes wrong: each in 1,000 requests.
#[derive(Default)]
pub struct Faults {
    /// By which it is drawn what goes wrong.
    pub seed: u64,
    /// Answered with 503.
    pub busy: u64,
    /// Connections that end within an answer; of what changes something before it, and whether that
    /// is done by then is drawn as well.
    pub cut: u64,
    /// Answers that are shorter than was asked for, and say so in their length alone.
    pub short: u64,
    /// Answers that take longer, up to this.
    pub late_us_max: u64,
    /// How often each came, by its line and range.
    pub asked: Mutex<HashMap<(String, Option<String>), u64>>,
}

/// What goes wrong with an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is none but 503.
    Busy,
    /// So much of 1,000 comes.
    Cut(usize),
    /// So much of 1,000 is said to be all.
    Short(usize),
    /// It comes so many microseconds later.
    Late(u64),
}

impl Faults {
    /// What goes wrong with the answer to this, which came just now.
    pub fn of(&self, request: &Request) -> Option<Fault> {
        let mut asked = self.asked.lock().unwrap();
        let times = asked.entry((request.line.clone(), request.range.clone())).or_default();
        *times += 1;
        let throw = |what: &str| {
            let mut hasher = DefaultHasher::new();
            (self.seed, &request.line, &request.range, *times, what).hash(&mut hasher);
            hasher.finish()
        };
        let hits = |what: &str, of_thousand: u64| throw(what) % 1000 < of_thousand;
        if hits("busy", self.busy) {
            return Some(Fault::Busy);
        }
        let (is_cut, is_short) = (hits("cut", self.cut), hits("short", self.short));
        let part = (throw("part") % 1000) as usize;
        match () {
            () if is_cut => Some(Fault::Cut(part)),
            () if is_short => Some(Fault::Short(part)),
            () if self.late_us_max > 0 => Some(Fault::Late(throw("late") % self.late_us_max)),
            () => None,
        }
    }
}
