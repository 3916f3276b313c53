//! Runs of requests at equal distances: a column of a matrix, a field of each record, a file read from
//! its end.
//!
//! ```text
//! a request:     reads something for the first time, on no run of blocks one after the other
//! a run begins:  four requests for as many blocks, but for one, lie on a line (`super::line`), in the
//!                order in which they came; no two of them overlap, and what lies behind none of them
//!                was read before the next
//! it goes on:    with a request on that line, the next, or after others whose blocks are here and
//!                were read
//! it ends:       if none of 128 requests goes on with it
//! ```
//!
//! What lies ahead of one that goes on is read ahead, as far as of any stream (`super::amp`), but of
//! what lies at no whole number of blocks no more requests than it had, so that it is known where they
//! are; nor more than may be out at once, unless nothing lies between them. Where more than an eighth
//! of what is brought is in vain (a step of AMP), as where many runs are short, no more than it had in
//! any case, and in proportion. A run that misses has shown that what lies ahead is not here; of the
//! others the next stretch is asked for as soon as less is left than its stream needs.
//!
//! Of reads at random some lie on a line by chance, the more the fewer blocks they are of, and of what
//! is read in order with gaps many do; but hardly any of those lines comes to eight requests. So nothing
//! is read ahead of fewer if they lie at no whole number of blocks. Four are as many as make a run of
//! blocks one after the other by default (003's threshold).

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::amp::{Amp, Carried};
use super::line::Line;
use crate::dispatch::GROWN_OUTSTANDING_MAX;
use crate::ids::{Block, FileId};
use crate::policy::{Context, Stretch};

/// Requests that are remembered: those of many readers.
const REQUESTS_MAX: usize = 128;
/// Of one file so many of them are looked at: those of five runs by turns, and more are not found.
const OF_FILE_MAX: usize = 16;
/// Runs followed at once.
const RUNS_MAX: usize = 32;
/// Blocks brought count half after so many more; at first so many are taken to have been read, and one
/// not.
const HALF_LIFE: f32 = 1024.0;
const READ_PRIOR: f32 = 64.0;
/// Where of so many that were brought one was not read, as many requests are read ahead as there were.
const IN_VAIN_PART: f32 = 8.0;
/// Requests that are a run though they lie at no whole number of blocks.
const SURE: u64 = 8;
/// So many requests may be passed over, whose blocks are here and were read.
const PASSED_MAX: i64 = 16;

/// A request that read something for the first time.
#[derive(Debug, Clone, Copy)]
struct Request {
    first: Block,
    blocks: u64,
    /// Something of it was neither here nor on its way.
    missed: bool,
    /// It goes on a run of blocks one after the other.
    on_run: bool,
    /// Its number.
    number: u64,
    /// That of the request that read the block behind it, since then.
    went_on: Option<u64>,
}

impl Request {
    fn place(&self) -> i64 {
        self.first.index as i64
    }

    /// Whether another is of the same file, and about as long.
    fn is_like(&self, file: FileId, blocks: u64) -> bool {
        self.first.file == file && self.blocks.abs_diff(blocks) <= 1
    }
}

struct Run {
    file: FileId,
    /// Of its longest request.
    blocks: u64,
    line: Line,
    /// What is known of how far it is to be read ahead, if it is.
    stream: Option<Carried>,
    /// Requests that it had, or that were read ahead of it.
    asked: i64,
    /// How many it had itself.
    requests: u64,
    /// Blocks that were brought for it and not read yet.
    unread: u64,
    /// The number of the request that went on with it last.
    latest: u64,
}

impl Run {
    /// Whether a request goes on with it.
    fn goes_on(&mut self, request: &Request, context: &Context<'_>) -> bool {
        if !request.is_like(self.file, self.blocks) {
            return false;
        }
        let (next, number) = (self.line.len(), self.line.nearest(request.place()));
        let is_here = |index: i64| {
            let page = index.try_into().ok().and_then(|index| context.table.find(Block { file: self.file, index }));
            page.is_some_and(|page| !context.table.state(page).is_unread())
        };
        let is_next = number - next <= PASSED_MAX && (next..number).all(|it| self.line.places(it).any(is_here));
        is_next && self.line.goes_on(number, request.place())
    }

    /// Whether nothing lies between one request and the next.
    fn leaves_no_gap(&self) -> bool {
        self.line.step().abs() <= self.blocks as f64
    }

    /// The number of the request that this block is of, if it was read ahead of this run.
    fn number_of(&self, block: Block) -> Option<i64> {
        if block.file != self.file {
            return None;
        }
        let index = block.index as i64;
        let nearest = self.line.nearest(index);
        let is_of = |places: RangeInclusive<i64>| (*places.start()..places.end() + self.blocks as i64).contains(&index);
        let mut ahead = (nearest - 1..=nearest + 1).filter(|number| (self.line.len()..self.asked).contains(number));
        ahead.find(|&number| is_of(self.line.places(number)))
    }
}

/// Requests at equal distances.
#[derive(Default)]
pub struct Strided {
    /// The latest last.
    requests: VecDeque<Request>,
    runs: Vec<Run>,
    /// The one that is being served.
    open: Option<Request>,
    /// How many there were.
    count: u64,
    /// Of the blocks brought lately, how many were read, and how many given up unread.
    read: f32,
    unread: f32,
    /// To be read ahead.
    wanted: VecDeque<Stretch>,
}

impl Strided {
    /// A block is read for the first time since it came, or missed, by the request that begins with
    /// `begin`; `goes_on`: which has read such a block before; `on_run`: it goes on a run of blocks one after
    /// the other.
    pub fn read(&mut self, block: Block, begin: Block, goes_on: bool, missed: bool, on_run: bool) {
        if goes_on {
            self.open.iter_mut().for_each(|open| open.missed |= missed);
            return;
        }
        let first = if begin.file == block.file && begin.index < block.index { begin } else { block };
        // What goes on such a run comes between others without a number of its own.
        self.count += u64::from(!on_run);
        let number = self.count;
        self.open = Some(Request { first, blocks: 1, missed, on_run, number, went_on: None });
        let ends_before = |it: &&mut Request| it.first.file == first.file && it.first.index + it.blocks == first.index;
        if let Some(before) = self.requests.iter_mut().rev().take(OF_FILE_MAX).find(ends_before) {
            before.went_on.get_or_insert(number);
        }
    }

    /// Others see to what comes after the request that is being served.
    pub fn leave(&mut self) {
        self.open = None;
    }

    /// The request is over, with this block.
    pub fn request_ended(&mut self, last: Block, amp: &Amp, context: &Context<'_>) {
        let Some(mut request) = self.open.take().filter(|request| !request.on_run) else { return };
        if last.file == request.first.file {
            request.blocks = (last.index + 1).saturating_sub(request.first.index).max(1);
        }
        let count = self.count;
        while let Some(at) = self.runs.iter().position(|run| count - run.latest > REQUESTS_MAX as u64) {
            self.end(at);
        }
        if let Some(at) = self.runs.iter_mut().position(|run| run.goes_on(&request, context)) {
            let run = &mut self.runs[at];
            (run.latest, run.blocks, run.requests) = (count, run.blocks.max(request.blocks), run.requests + 1);
            self.read_ahead(at, request.missed, amp, context);
        } else if let Some(line) = self.line_of(&request) {
            if self.runs.len() == RUNS_MAX {
                self.end((0..RUNS_MAX).min_by_key(|&at| self.runs[at].latest).expect("there are some"));
            }
            let (file, blocks, asked) = (request.first.file, request.blocks, line.len());
            let (stream, requests) = (None, line.len() as u64);
            self.runs.push(Run { file, blocks, line, stream, asked, requests, unread: 0, latest: count });
            self.read_ahead(self.runs.len() - 1, request.missed, amp, context);
        }
        if self.requests.len() == REQUESTS_MAX {
            self.requests.pop_front();
        }
        self.requests.push_back(request);
    }

    fn end(&mut self, at: usize) {
        let run = self.runs.swap_remove(at);
        // They may be read yet, but for nothing that is known.
        self.count_brought(0.0, run.unread as f32);
    }

    /// The line on which a request lies with three before it.
    fn line_of(&self, request: &Request) -> Option<Line> {
        let is_like = |it: &&Request| it.is_like(request.first.file, request.blocks);
        // The latest first.
        let like: Vec<&Request> = self.requests.iter().rev().filter(is_like).take(OF_FILE_MAX).collect();
        let line_with = |at: usize| {
            let step = request.place() - like[at].place();
            let mut earlier = like[at + 1..].iter();
            // Its begin may lie anywhere in its block, where it is further than to the next one.
            let unknown = i64::from(step.abs() > 1);
            let mut is_at = |place: i64| earlier.find(|it| (it.place() - place).abs() <= unknown);
            let one = like[at];
            let two = is_at(one.place() - step)?;
            let three = is_at(2 * two.place() - one.place())?;
            let went_on = |it: &Request, next: u64| it.went_on.is_some_and(|number| number < next);
            let goes_on = went_on(one, u64::MAX) || went_on(two, one.number) || went_on(three, two.number);
            let line = Line::through([three.place(), two.place(), one.place(), request.place()])?;
            // A request may begin in the block in which the one that is read next ends.
            let (step, blocks) = (line.step(), request.blocks as f64);
            let lie_apart = step.abs() > blocks && !goes_on || step < 0.0 && -step >= (blocks - 1.0).max(1.0);
            lie_apart.then_some(line)
        };
        (0..like.len()).find_map(line_with)
    }

    /// Has what lies ahead of a run read, if it is time for that.
    fn read_ahead(&mut self, at: usize, missed: bool, amp: &Amp, context: &Context<'_>) {
        let ahead_for_each = self.ahead_for_each();
        let run = &mut self.runs[at];
        let may_begin = run.requests >= SURE || run.line.is_whole();
        let (first, left) = (run.line.len(), (run.asked - run.line.len()).max(0) as u64 * run.blocks);
        let file_blocks = context.blocks_of(run.file);
        let (stream, blocks) = match run.stream {
            _ if file_blocks == 0 || !context.reads_runs(run.file) => return,
            // What was given up of it is known of it already.
            stream if missed && may_begin => amp.missed(stream.unwrap_or_default().before(0), context.capacity),
            Some(stream) if !missed && left <= stream.distance() => amp.goes_on(stream.before(left), context.capacity),
            _ => return,
        };
        // One, if there is room for that.
        let blocks = blocks.max(run.blocks.min(amp.fair_degree(context.capacity).into()));
        let known = match ahead_for_each {
            for_each if for_each < 1.0 => (run.requests as f32 * for_each) as u64,
            _ if run.line.is_whole() => u64::MAX,
            _ => run.requests,
        };
        let at_once = if run.leaves_no_gap() { u64::MAX } else { GROWN_OUTSTANDING_MAX.into() };
        let requests = (blocks / run.blocks).min(known).min(at_once) as i64;
        // A few at a time would each be a request of its own.
        if !missed && requests < 2 * (run.asked - first) {
            return;
        }
        (run.stream, run.asked) = (Some(stream), first + requests);
        for number in first..run.asked {
            let places = run.line.places(number);
            let end = (places.end() + run.blocks as i64).min(file_blocks as i64);
            let first = (*places.start()).max(0);
            if first >= end {
                break;
            }
            let first = Block { file: run.file, index: first as u64 };
            self.wanted.push_back(Stretch { first, count: end as u64 - first.index, misses: 0 });
        }
    }

    /// Hands out what is to be read ahead, request by request.
    pub fn next_stretch(&mut self) -> Option<Stretch> {
        self.wanted.pop_front()
    }

    /// A reader waits for a block that was read ahead and is on its way.
    pub fn late(&mut self, block: Block) {
        self.ahead_of(block).into_iter().for_each(|run| run.stream = run.stream.map(Carried::late));
    }

    /// A block is read ahead.
    pub fn brought(&mut self, block: Block) {
        self.ahead_of(block).into_iter().for_each(|run| run.unread += 1);
    }

    /// A block that was read ahead is read.
    pub fn of_use(&mut self, block: Block) {
        self.ahead_of(block).into_iter().for_each(|run| run.unread = run.unread.saturating_sub(1));
        self.count_brought(1.0, 0.0);
    }

    /// So many blocks were read that had been read ahead, or were given up unread.
    fn count_brought(&mut self, read: f32, unread: f32) {
        let fades = 1.0 - std::f32::consts::LN_2 / HALF_LIFE;
        (self.read, self.unread) = (self.read * fades + read, self.unread * fades + unread);
    }

    /// How many requests are read ahead for each that there was, at most.
    fn ahead_for_each(&self) -> f32 {
        (self.read + READ_PRIOR) / (self.unread + 1.0) / IN_VAIN_PART
    }

    /// A block that was read ahead was given up unread.
    pub fn in_vain(&mut self, block: Block) {
        // What was left of a run that is over is counted already.
        if let Some(run) = self.ahead_of(block) {
            (run.stream, run.unread) = (run.stream.map(Carried::in_vain), run.unread.saturating_sub(1));
            self.count_brought(0.0, 1.0);
        }
    }

    fn ahead_of(&mut self, block: Block) -> Option<&mut Run> {
        self.runs.iter_mut().find(|run| run.number_of(block).is_some())
    }
}
