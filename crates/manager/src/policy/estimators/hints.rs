//! The estimator of what is disclosed: a page is worth what fetching it again would cost, and when
//! (000 sections 4.2 to 4.6).
//!
//! ```text
//! value of a page disclosed in y reads = T_driver / (y - P)             y beyond the horizon P = T_disk / T_hit
//!                                        T_driver + T_disk - y T_hit    within it                       (equation 9)
//! value of fetching ahead              = (T_disk - x T_hit) / x         read in x reads                 (equations 6, 8)
//!     with a neighbour                   as a disclosed page that is here                               (section 5.4)
//! ```
//!
//! each times the share of the references that the sequence has, and how far it is believed.
//!
//! # Where this differs from the paper
//! - Each stream of hints has an order for each device, because only blocks of one T_disk are in
//!   one order (4.9).
//! - A stream's values are scaled by its confidence: the paper's hints are accurate (section 7).
//! - A page is owned for one stream of hints at most, the one to which it is worth most; the others
//!   are asked when it is picked, as all are in section 5.1.
//! - The horizon may follow the reader's measured pace instead of T_hit (`burst_margin`,
//!   estimate/pace).

use super::Estimator;
use super::desk::{Desk, HINTED};
use crate::estimate::agenda::Agenda;
use crate::estimate::cost::Times;
use crate::estimate::pace::Pace;
use crate::event::Demand;
use crate::hint::Use;
use crate::ids::{DeviceId, Page};
use crate::policy::{Access, Ahead, Candidate, Context, Domain, Need, Parameter, Values, Worth, by_page};

/// What bounds the horizon.
pub const BURST_MARGIN: Parameter = Parameter {
    name: "burst_margin",
    help: "0: the horizon is T_disk / T_hit, as printed; else it is what the reader consumes in T_disk at its measured pace, \
           times this margin for bursts",
    domain: Domain::Number { default: 0.0, min: 0.0, max: 1e6 },
};

const NO_STREAM: u32 = u32::MAX;

/// For which read a page is owned: each disclosed hit looks at it.
#[derive(Clone, Copy)]
struct Owned {
    /// When it is read next.
    when: u64,
    /// The stream that discloses it, by its number in `streams`.
    stream: u32,
}

impl Owned {
    const NOT: Owned = Owned { when: 0, stream: NO_STREAM };

    /// Whether this stream's entry for the page is true.
    fn is_at(self, stream: usize, when: u64) -> bool {
        self.stream == stream as u32 && self.when == when
    }
}

/// What one sequence disclosed on one device.
struct Stream {
    sequence: u16,
    device: DeviceId,
    pages: Agenda,
}

/// All streams.
pub struct Hints {
    burst_margin: f64,
    /// How fast what each sequence disclosed is read.
    paces: Vec<Pace>,
    owned: Vec<Owned>,
    streams: Vec<Stream>,
}

impl Hints {
    /// As the user chose it.
    pub fn new(values: &Values) -> Self {
        let burst_margin = values.get(BURST_MARGIN.name);
        Hints { burst_margin, paces: Vec::new(), owned: Vec::new(), streams: Vec::new() }
    }

    /// The pages it owns.
    pub fn owned(&self) -> impl Iterator<Item = Page> + '_ {
        self.owned.iter().zip(0..).filter(|(owned, _)| owned.stream != NO_STREAM).map(|(_, page)| page)
    }

    /// The times of a reader that consumes what this sequence disclosed.
    fn times_of(&self, desk: &Desk, context: &Context<'_>, device: DeviceId, sequence: u16) -> Times {
        let times = desk.times(context, device);
        if self.burst_margin == 0.0 {
            return times;
        }
        let pace = self.paces.get(usize::from(sequence)).and_then(Pace::between_ns);
        Times { hit: times.hit.max(pace.map_or(0.0, |ns| ns / self.burst_margin)), ..times }
    }

    fn pace(&mut self, sequence: u16) -> &mut Pace {
        let at = usize::from(sequence);
        if at >= self.paces.len() {
            self.paces.resize(at + 1, Pace::default());
        }
        &mut self.paces[at]
    }

    /// A disclosed read found its block here.
    pub fn hit(&mut self, sequence: u16, access: &Access) {
        match access.demand {
            Demand::Timed { over, waited } => self.pace(sequence).hit(over, waited),
            _ => self.pace(sequence).hit(access.now, false),
        }
    }

    /// A disclosed read had to wait.
    pub fn stalled(&mut self, sequence: u16, access: &Access) {
        self.pace(sequence).stalled(access.now);
    }

    /// The share of references that a stream's values speak for, times how far it is to be
    /// believed.
    fn weight(&self, sequence: u16, desk: &Desk, context: &Context<'_>) -> f64 {
        desk.rates.share(HINTED + usize::from(sequence)) * context.confidence(sequence)
    }

    /// The value of a page for the reader that disclosed it.
    fn value(&self, next: Use, device: DeviceId, desk: &Desk, context: &Context<'_>) -> f64 {
        match context.references_until(next) {
            Some(references) => {
                self.weight(next.sequence, desk, context)
                    * self.times_of(desk, context, device, next.sequence).flush_a_reference(references)
            }
            None => 0.0,
        }
    }

    /// The least valuable page of a stream, and its value.
    fn least_of(&self, at: usize, desk: &Desk, context: &Context<'_>) -> Option<Candidate> {
        let holds = |when: u64, page: Page| self.owned[page as usize].is_at(at, when);
        let Stream { sequence, device, ref pages } = self.streams[at];
        let (soonest, passed_over) = pages.soonest(holds)?;
        if context.references_until(Use { sequence, when: soonest }).is_none() {
            return Some(Candidate::priced(passed_over, 0.0));
        }
        let (when, page) = pages.latest(holds)?;
        Some(Candidate::priced(page, self.value(Use { sequence, when }, device, desk, context)))
    }

    /// The disclosed read that makes the page most valuable.
    pub fn best_use(&self, page: Page, desk: &Desk, context: &Context<'_>) -> Option<(Use, f64)> {
        let mut uses = context.uses(page).peekable();
        uses.peek()?;
        let device = context.device_of(page);
        let valued = uses.map(|next| (next, self.value(next, device, desk, context)));
        valued.reduce(|best, other| if other.1 > best.1 { other } else { best })
    }

    /// The same without its value, which needs not be known where there is but one.
    pub fn main_use(&self, page: Page, desk: &Desk, context: &Context<'_>) -> Option<Use> {
        let mut uses = context.uses(page);
        let only = uses.next()?;
        match uses.next() {
            None => Some(only),
            Some(_) => self.best_use(page, desk, context).map(|(next, _)| next),
        }
    }

    /// Owns a page for this read.
    pub fn own_for(&mut self, page: Page, next: Use, context: &Context<'_>) {
        self.forget(page);
        by_page::reach(&mut self.owned, page, Owned::NOT);
        let device = context.device_of(page);
        let found = self.streams.iter().position(|it| it.sequence == next.sequence && it.device == device);
        let at = found.unwrap_or_else(|| {
            self.streams.push(Stream { sequence: next.sequence, device, pages: Agenda::default() });
            self.streams.len() - 1
        });
        self.owned[page as usize] = Owned { stream: at as u32, when: next.when };
        let holds = |when: u64, page: Page| self.owned[page as usize].is_at(at, when);
        self.streams[at].pages.push(next.when, page, holds);
    }

    /// Owns a page no longer; its entry stays until it surfaces.
    pub fn forget(&mut self, page: Page) {
        let Some(owned) = self.owned.get_mut(page as usize) else { return };
        let stream = std::mem::replace(&mut owned.stream, NO_STREAM);
        if stream != NO_STREAM {
            self.streams[stream as usize].pages.forget();
        }
    }

    /// A sequence is no more. Returns the pages it disclosed, which nobody else need own.
    pub fn sequence_ended(&mut self, sequence: u16) -> Vec<Page> {
        *self.pace(sequence) = Pace::default();
        let mut left = Vec::new();
        for at in 0..self.streams.len() {
            if self.streams[at].sequence != sequence {
                continue;
            }
            let holds = |when: u64, page: Page| self.owned[page as usize].is_at(at, when);
            for page in self.streams[at].pages.drain(holds) {
                self.owned[page as usize].stream = NO_STREAM;
                left.push(page);
            }
        }
        left
    }
}

impl Estimator<Desk> for Hints {
    fn refresh(&mut self, _: &mut Desk, _: &Context<'_>) {
        for at in 0..self.streams.len() {
            let holds = |when: u64, page: Page| self.owned[page as usize].is_at(at, when);
            self.streams[at].pages.clear_ends(holds);
        }
    }

    fn least(&self, desk: &Desk, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let streams = (0..self.streams.len()).filter(|&at| !self.streams[at].pages.is_empty());
        let declared = streams.filter_map(|at| self.least_of(at, desk, context));
        declared.reduce(|least, other| if other.worth < least.worth { other } else { least })
    }

    fn knows_each(&self) -> bool {
        true
    }

    fn worth(&self, page: Page, desk: &Desk, context: &Context<'_>) -> Option<f64> {
        self.best_use(page, desk, context).map(|(_, worth)| worth)
    }

    fn owns(&self, page: Page) -> bool {
        self.owned.get(page as usize).is_some_and(|owned| owned.stream != NO_STREAM)
    }

    fn own(&mut self, page: Page, desk: &mut Desk, context: &Context<'_>) {
        if let Some((next, _)) = self.best_use(page, desk, context) {
            self.own_for(page, next, context);
        }
    }

    fn disown(&mut self, page: Page, _: &mut Desk, _: &Context<'_>) {
        let Some(&Owned { stream, .. }) = self.owned.get(page as usize).filter(|it| it.stream != NO_STREAM) else {
            return;
        };
        self.forget(page);
        let holds = |when: u64, page: Page| self.owned[page as usize].is_at(stream as usize, when);
        self.streams[stream as usize].pages.clear_ends(holds);
    }

    fn ahead(&self, ahead: &Ahead, desk: &Desk, context: &Context<'_>) -> Option<Worth> {
        let times = self.times_of(desk, context, ahead.device, ahead.sequence);
        let weight = self.weight(ahead.sequence, desk, context);
        if ahead.joins {
            return Some(Worth { rank: f64::INFINITY, value: weight * times.flush_a_reference(ahead.references) });
        }
        let value = weight * times.benefit_a_reference(ahead.references);
        (times.benefit(ahead.references) > 0.0).then_some(Worth { rank: value, value })
    }
}
