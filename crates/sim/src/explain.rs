//! Why a block was fetched, kept, given up: from what the manager was told and what it did.
//!
//! A [`Witness`] is shown every event of a run, of a trace or of a log, and tells what happened to
//! one block or one file, or all that happened at one moment, in sentences. What the future brought
//! stands there too: whether what was given up was read again.
//!
//! Worked example: block 3 under LRU, two pages, blocks 3 4 5 3 read:
//!
//! ```text
//! reference 1   read by reader 0: not here
//! reference 3   given up under lru for block 5 of file 0: read last 2 references ago, 1 other block since
//! reference 4   read by reader 0: not here, 1 reference after it was given up
//! ```

use std::collections::{HashMap, HashSet};

use foresee_manager::policy::{Judged, Promise, Weighed};
use foresee_manager::{
    Action, Block, Class, Demand, Event, FileId, Manager, Order, ReaderId, Reply, Site, Standing, State, Time, Want,
};

/// What is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// All that happened to a block.
    Block(Block),
    /// All that happened to a file.
    File(FileId),
    /// What happened at this time, or next after it.
    Time(Time),
    /// What happened at the reference of this number, counted from 1.
    Reference(u64),
}

/// A sentence, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// When.
    pub now: Time,
    /// After how many references, counting those of the event itself.
    pub references: u64,
    /// What happened.
    pub text: String,
}

/// What happened to the block that is asked about, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// Reads that found it.
    pub found: u64,
    /// Reads that met it on its way.
    pub late: u64,
    /// Reads that did not.
    pub missed: u64,
    /// Times it was given up.
    pub given_up: u64,
    /// Times it was read after that.
    pub regretted: u64,
}

/// Looks at a run.
pub struct Witness<'a> {
    question: Question,
    policy: &'a str,
    names: Vec<String>,
    sites: HashMap<Site, String>,
    processes: &'a [i32],
    references: u64,
    /// At which reference each block was read last; before the event that is looked at.
    read_last: HashMap<Block, u64>,
    /// The moment asked about, once it has come.
    moment: Option<Time>,
    /// Of the block asked about: blocks read, and blocks given up, since it was read; when it was
    /// given up.
    since: HashSet<Block>,
    others_given_up: u64,
    given_up_at: Option<u64>,
    was: Option<(State, bool)>,
    /// That it is worth less than any page is said once, until it is worth more.
    declined_told: bool,
    /// How the first block of the file asked about stood before the event, and whether anything of
    /// it was fetched.
    stood: Standing,
    is_fetched: bool,
    /// What was found out.
    pub lines: Vec<Line>,
    /// In numbers.
    pub sum: Sum,
}

impl<'a> Witness<'a> {
    /// A witness of a run under this policy; `names` are the files' names and `processes` the
    /// readers' process numbers, by their numbers, as far as they are known.
    pub fn new(question: Question, policy: &'a str, names: Vec<String>, processes: &'a [i32]) -> Self {
        Witness {
            question,
            policy,
            names,
            sites: HashMap::new(),
            processes,
            references: 0,
            read_last: HashMap::new(),
            moment: None,
            since: HashSet::new(),
            others_given_up: 0,
            given_up_at: None,
            was: None,
            declined_told: false,
            stood: Standing::Undisclosed,
            is_fetched: false,
            lines: Vec::new(),
            sum: Sum::default(),
        }
    }

    /// This lies at these call sites.
    pub fn name_sites(&mut self, sites: &HashMap<Site, String>) {
        self.sites.clone_from(sites);
    }

    /// What is asked about.
    pub fn question(&self) -> Question {
        self.question
    }

    /// Asks about something else, of which nothing has happened yet.
    pub fn ask(&mut self, question: Question) {
        self.question = question;
    }

    /// This file is called so.
    pub fn name_file(&mut self, file: FileId, name: &str) {
        let at = file.0 as usize;
        if at >= self.names.len() {
            self.names.resize(at + 1, String::new());
        }
        name.clone_into(&mut self.names[at]);
    }

    /// An event, what the manager did for it, and the manager afterwards.
    pub fn see(&mut self, now: Time, event: Event, actions: &[Action], manager: &Manager) {
        if let Event::Reference { count, .. } = event {
            self.references += count;
        }
        match self.question {
            Question::Block(block) => self.see_block(block, now, event, actions, manager),
            Question::File(file) => self.see_file(file, now, event, actions, manager),
            Question::Time(time) => {
                if now >= time && self.moment.is_none_or(|moment| moment == now) {
                    self.moment = Some(now);
                    self.see_moment(now, event, actions, manager);
                }
            }
            Question::Reference(number) => {
                if self.moment.is_none() && self.references >= number {
                    self.moment = Some(now);
                    self.see_moment(now, event, actions, manager);
                }
            }
        }
        for block in read(&event) {
            self.read_last.insert(block, self.references);
        }
    }

    fn say(&mut self, now: Time, text: String) {
        self.lines.push(Line { now, references: self.references, text });
    }

    fn see_block(&mut self, block: Block, now: Time, event: Event, actions: &[Action], manager: &Manager) {
        let was = self.was.take();
        let is = manager.state_of(block).map(|state| (state, manager.is_present(block)));
        let reads = read(&event).any(|it| it == block);
        self.disclosed(block, now, event);
        if reads {
            self.read(block, now, event, was, manager);
        } else {
            self.since.extend(read(&event).filter(|_| self.read_last.contains_key(&block)));
        }
        // What its own read pushed out before it came to it is told with the read.
        let was_pushed_out = reads && matches!(was, Some((_, true))) && manager.missed().contains(&block);
        let (mut is_passed_over, mut passed_over, mut drops) = (false, 0, 0);
        for &action in actions {
            match action {
                Action::Order(Order::PassOver { file, first, count }) => {
                    is_passed_over |= holds((file, first, count), block);
                    passed_over += count;
                }
                Action::Order(Order::Fetch { file, first, count, class, .. }) => {
                    let brings = count - std::mem::take(&mut passed_over);
                    if !std::mem::take(&mut is_passed_over) && holds((file, first, count), block) {
                        let why = self.why_fetched(class, event);
                        self.say(now, format!("fetched with {brings} {}: {why}", plural(brings, "block")));
                    }
                }
                Action::Order(Order::Drop { file, first, count }) => {
                    let is_ours = holds((file, first, count), block);
                    drops += u64::from(is_ours);
                    self.others_given_up += count - u64::from(is_ours);
                }
                _ => {}
            }
        }
        self.taken_or_declined(block, now, manager);
        match (was, is) {
            (_, Some((_, true))) if !reads && was.is_none_or(|(_, here)| !here) => {
                self.say(now, "it is here".to_owned())
            }
            (_, None) if reads && drops > u64::from(was_pushed_out) => {
                self.gone();
                let why = self.why_gone(block, "it", manager);
                self.say(now, format!("given up under {} as soon as it was read{why}", self.policy));
            }
            (Some(_), None) if !reads => self.given_up(block, now, event, manager),
            (_, None) if reads => self.say(now, format!("not kept: {} has no page for it", self.policy)),
            _ => {}
        }
        self.was = is;
    }

    fn see_file(&mut self, file: FileId, now: Time, event: Event, actions: &[Action], manager: &Manager) {
        match event {
            Event::Hint { reader, source, file: of, want } if of == file => {
                let reader = self.reader(reader);
                self.say(now, format!("disclosed by {reader}, {}: {}", source.word(), wanted(want)));
            }
            Event::FileKnown { file: of, blocks, .. } if of == file => {
                self.say(now, format!("its name is resolved: {blocks} {}", plural(blocks, "block")));
            }
            Event::FileMissing { file: of } if of == file => self.say(now, "there is no such file".to_owned()),
            Event::FileChanged { file: of, .. } if of == file => self.say(now, "it is another one now".to_owned()),
            Event::FileForgotten { file: of } if of == file => {
                self.say(now, "its number is another's from now on".to_owned());
            }
            Event::Gone { file: of, first, count } if of == file => {
                self.say(now, format!("{}: the system gave them up by itself", span(first, count)));
            }
            Event::Reference { reader, file: of, first, count, demand, .. } if of == file => {
                let waits = matches!(demand, Demand::Timed { waited: true, .. } | Demand::Served(_));
                let met = match (demand, self.is_fetched, waits) {
                    // Nobody saw whether it waited, and without a clock nobody does.
                    (Demand::Observed, ..) => match manager.missed().len() as u64 {
                        0 => "here".to_owned(),
                        missed if missed == count => "not here".to_owned(),
                        missed => format!("{missed} of them not here"),
                    },
                    (_, true, false) => "after some of it was fetched".to_owned(),
                    (_, true, true) => "after some of it was fetched, and waited".to_owned(),
                    (_, false, true) => format!("and waited; nothing of it was fetched: {}", self.stood),
                    (_, false, false) => "at once, as it was in memory without us".to_owned(),
                };
                let reader = self.reader(reader);
                self.say(now, format!("{}: read by {reader}, {met}", span(first, count)));
            }
            _ => {}
        }
        for &action in actions {
            match action {
                Action::Order(Order::Lookup { file: of }) if of == file => {
                    self.say(now, "its name is looked up".to_owned());
                }
                Action::Order(Order::Fetch { file: of, first, count, class, .. }) if of == file => {
                    self.is_fetched = true;
                    self.say(now, format!("{}: fetched: {}", span(first, count), self.why_fetched(class, event)));
                }
                Action::Order(Order::Drop { file: of, first, count }) if of == file => {
                    self.say(now, format!("{}: given up under {}", span(first, count), self.policy));
                }
                _ => {}
            }
        }
        self.stood = manager.standing(Block { file, index: 0 });
    }

    /// Whether the block got a page by what it is worth, where that was compared with another's.
    fn taken_or_declined(&mut self, block: Block, now: Time, manager: &Manager) {
        let ours = |it: &&Weighed| it.missing == Some(block) && it.needed.is_finite() && it.worth.is_finite();
        let Some(weighed) = manager.weighed().iter().rfind(ours) else { return };
        let (other, is, its) = (self.name(weighed.block), worth(weighed.needed), worth(weighed.worth));
        if weighed.goes {
            self.declined_told = false;
            self.say(now, format!("given the page of {other}: it is worth {is}, that was worth {its}"));
        } else if !std::mem::replace(&mut self.declined_told, true) {
            self.say(now, format!("given no page yet: it is worth {is}, and the least of all pages, {other}, {its}"));
        }
    }

    fn disclosed(&mut self, block: Block, now: Time, event: Event) {
        let Event::Hint { reader, source, file, want } = event else { return };
        let covers = match want {
            Want::Name => false,
            Want::All => file == block.file,
            Want::Range { first, count } => holds((file, first, count), block),
        };
        if covers {
            self.say(now, format!("disclosed by {}, {}", self.reader(reader), source.word()));
        }
    }

    /// The block was read. How it stood before the event does not tell what the read met: its other
    /// blocks may have pushed this one out before.
    fn read(&mut self, block: Block, now: Time, event: Event, was: Option<(State, bool)>, manager: &Manager) {
        let Event::Reference { reader, site, .. } = event else { return };
        let site = match self.sites.get(&site) {
            Some(place) => format!(" at {place}"),
            None if site == Site(0) => String::new(),
            None => format!(" at call site {:x}", site.0),
        };
        let met = match was {
            _ if manager.missed().contains(&block) => {
                self.sum.missed += 1;
                self.missed(was)
            }
            Some((_, false)) => {
                self.sum.late += 1;
                "on its way".to_owned()
            }
            _ => {
                self.sum.found += 1;
                match self.others_given_up {
                    0 => "here".to_owned(),
                    others => format!("here; kept while {others} other {} given up", plural(others, "block was")),
                }
            }
        };
        self.say(now, format!("read by {}{site}: {met}", self.reader(reader)));
        self.since.clear();
        self.others_given_up = 0;
    }

    fn missed(&mut self, was: Option<(State, bool)>) -> String {
        match (was, self.given_up_at.take()) {
            (Some((_, true)), _) => {
                self.sum.given_up += 1;
                self.sum.regretted += 1;
                format!("not here any more: given up under {} for blocks of the same read", self.policy)
            }
            (Some((_, false)), _) => "not here: it was to be fetched, and no device was asked yet".to_owned(),
            (None, Some(at)) => {
                self.sum.regretted += 1;
                let after = self.references - at;
                format!("not here, {after} {} after it was given up", plural(after, "reference"))
            }
            (None, None) => "not here".to_owned(),
        }
    }

    fn why_fetched(&self, class: Class, event: Event) -> &'static str {
        match (class, event) {
            (Class::Demand, _) => "its reader waits",
            (_, Event::ReadAhead { .. }) => "the file system reads ahead",
            (Class::Hinted, _) => "it was disclosed, and its time has come",
            (Class::Guessed, _) => "an earlier run, or a pattern, says that it will be read",
        }
    }

    fn given_up(&mut self, block: Block, now: Time, event: Event, manager: &Manager) {
        let policy = self.policy;
        let why = match event {
            Event::Gone { .. } => "the system gave it up by itself".to_owned(),
            Event::FileChanged { .. } => "its file changed".to_owned(),
            Event::Capacity { pages } => format!("given up under {policy}: memory shrank to {pages} pages"),
            Event::Reference { file, first, count, .. } => match count {
                1 => format!("given up under {policy} for {}", self.name(Block { file, index: first })),
                _ => format!(
                    "given up under {policy} for {} and {} more",
                    self.name(Block { file, index: first }),
                    count - 1
                ),
            },
            Event::FetchFailed { .. } => "it could not be read".to_owned(),
            _ => format!("given up under {policy} for what is fetched ahead"),
        };
        let facts = match self.read_last.get(&block) {
            Some(at) => {
                let (ago, others) = (self.references - at, self.since.len() as u64);
                format!(
                    "read last {ago} {} ago, {others} other {} since",
                    plural(ago, "reference"),
                    plural(others, "block")
                )
            }
            None => "never read".to_owned(),
        };
        self.gone();
        let judged = self.why_gone(block, "it", manager);
        self.say(now, format!("{why}: {facts}{judged}"));
    }

    /// By what the page of a block that was just given up went: by price, where that was compared with
    /// another, and by what was thought of it among other pages; where nobody can tell that, by price.
    fn why_gone(&self, block: Block, it: &str, manager: &Manager) -> String {
        let Some(weighed) = manager.weighed().iter().rfind(|it| it.goes && it.block == block) else {
            return String::new();
        };
        let price = match weighed.missing {
            Some(block) if weighed.needed.is_finite() && weighed.worth.is_finite() => {
                format!("; {it} was worth {}, {} {}", worth(weighed.worth), self.name(block), worth(weighed.needed))
            }
            _ if weighed.judged.is_none() => format!("; {it} was worth {}", worth(weighed.worth)),
            _ => String::new(),
        };
        let judged = weighed.judged.map_or_else(String::new, |judged| format!("; {}", self.judged(judged, it)));
        price + &judged
    }

    /// By what a page was named to go among all that its policy compares.
    fn judged(&self, judged: Judged, it: &str) -> String {
        let (promise, other, but) = match judged {
            Judged::Unread => return format!("nobody read {it} since it was brought ahead, or disclosed"),
            Judged::Oldest => {
                return format!(
                    "{it} was used longest ago, which decides until misses are made up for that LRU would not have had"
                );
            }
            Judged::Least { promise, next } => (promise, next.map(|next| ("the least of the others", next)), ""),
            Judged::Beside { promise, least } => {
                (promise, Some(("the least of all", least)), ", but lies apart from what went before")
            }
        };
        let Promise { chance, within, cost, worth } = promise;
        let miss = if cost < 1.0 { format!("{} of a wait", part(cost)) } else { "a wait".to_owned() };
        let (percent, within, kept) = (part(100.0 * chance), references(within as f64), references(1.0 / worth));
        let saves = format!(
            "of pages like {it} {percent} % are used within {within}, and a miss costs {miss}: to keep it saves one in {kept}"
        );
        let Some((which, (block, other))) = other else { return saves };
        let its = if other.worth == worth {
            "as much".to_owned()
        } else {
            format!("one in {}", references(1.0 / other.worth))
        };
        format!("{saves}; {which}, {}, {its}{but}", self.name(block))
    }

    fn gone(&mut self) {
        self.sum.given_up += 1;
        self.given_up_at = Some(self.references);
    }

    fn see_moment(&mut self, now: Time, event: Event, actions: &[Action], manager: &Manager) {
        self.say(now, self.event(&event));
        let mut passed_over = 0;
        for &action in actions {
            match action {
                Action::Order(Order::PassOver { count, .. }) => passed_over += count,
                Action::Order(Order::Fetch { file, first, count, class, .. }) => {
                    let what = self.name(Block { file, index: first });
                    let more = match (count - passed_over, std::mem::take(&mut passed_over)) {
                        (1, _) => String::new(),
                        (brings, 0) => format!(" and {} more", brings - 1),
                        (brings, over) => format!(" and {} more, going over {over} between", brings - 1),
                    };
                    self.say(now, format!("fetched {what}{more}: {}", self.why_fetched(class, event)));
                }
                Action::Order(Order::Drop { file, first, count }) => {
                    let blocks: Vec<Block> = (first..first + count).map(|index| Block { file, index }).collect();
                    let runs = blocks.chunk_by(|one, next| self.read_last.get(one) == self.read_last.get(next));
                    let told: Vec<String> = runs.map(|run| self.gave_up(run, manager)).collect();
                    told.into_iter().for_each(|text| self.say(now, text));
                }
                Action::Reply(Reply::Wake { .. }) => self.say(now, "a reader goes on".to_owned()),
                other => self.say(now, other.to_string()),
            }
        }
        if let Some(weighed) = manager.weighed().iter().rfind(|it| !it.goes)
            && let Some(missing) = weighed.missing
        {
            let (missing, is) = (self.name(missing), worth(weighed.needed));
            let (least, its) = (self.name(weighed.block), worth(weighed.worth));
            self.say(now, format!("no page for {missing}, worth {is}: the least of all, {least}, is worth {its}"));
        }
        let ledger = manager.ledger();
        let partitions: Vec<String> =
            manager.partitions().into_iter().map(|part| format!("{} {}", part.pages, part.name)).collect();
        let partitions = if partitions.is_empty() { String::new() } else { format!(": {}", partitions.join(", ")) };
        let (used, capacity, unread) = (ledger.used, ledger.capacity, ledger.unread);
        self.say(now, format!("memory: {used} of {capacity} pages{partitions}; {unread} brought and not read yet"));
    }

    /// Neighbours that were read last at the same time.
    fn gave_up(&self, run: &[Block], manager: &Manager) -> String {
        let facts = match self.read_last.get(&run[0]) {
            Some(at) => {
                let ago = self.references - at;
                format!("read last {ago} {} ago", plural(ago, "reference"))
            }
            None => "never read".to_owned(),
        };
        let more = if run.len() > 1 { format!(" and {} more", run.len() - 1) } else { String::new() };
        let why = self.why_gone(run[0], if run.len() > 1 { "the first" } else { "it" }, manager);
        format!("gave up {}{more} under {}: {facts}{why}", self.name(run[0]), self.policy)
    }

    /// An event as a sentence; the rarer ones as in a log.
    fn event(&self, event: &Event) -> String {
        match *event {
            Event::Reference { reader, file, first, count, demand, .. } => {
                let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
                let waits = if matches!(demand, Demand::Served(_)) { ", and waits for it" } else { "" };
                let who = self.reader(reader);
                format!("{who} reads {}{more}{waits}", self.name(Block { file, index: first }))
            }
            Event::FetchDone { fetch } => format!("fetch {fetch} is done"),
            other => other.to_string(),
        }
    }

    fn reader(&self, reader: ReaderId) -> String {
        match self.processes.get(reader.0 as usize).filter(|&&process| process != 0) {
            Some(process) => format!("process {process}"),
            None => format!("reader {reader}"),
        }
    }

    fn name(&self, block: Block) -> String {
        match self.names.get(block.file.0 as usize).filter(|name| !name.is_empty()) {
            Some(name) => format!("block {} of {name}", block.index),
            None => format!("block {} of file {}", block.index, block.file),
        }
    }
}

/// To two places.
fn part(part: f64) -> String {
    if part > 0.0 && part < 0.01 { "less than 0.01".to_owned() } else { format!("{part:.2}") }
}

/// What a page or a block is worth, as a policy compares it.
fn worth(worth: f64) -> String {
    if worth < 0.0 {
        format!("a use in {}", references(-worth))
    } else {
        if worth == 0.0 {
            return "nothing".to_owned();
        }
        let (number, unit) = match worth {
            _ if worth >= 1e6 => (worth / 1e6, "ms"),
            _ if worth >= 1e3 => (worth / 1e3, "us"),
            _ => (worth, "ns"),
        };
        format!("{number:.3} {unit} a reference")
    }
}

fn references(number: f64) -> String {
    let number = number as u64;
    format!("{number} {}", plural(number, "reference"))
}

/// The blocks an event reads.
fn read(event: &Event) -> impl Iterator<Item = Block> + use<> {
    let (file, blocks) = match *event {
        Event::Reference { file, first, count, .. } => (file, first..first + count),
        _ => (FileId(0), 0..0),
    };
    blocks.map(move |index| Block { file, index })
}

fn span(first: u64, count: u64) -> String {
    if count == 1 { format!("block {first}") } else { format!("blocks {first} to {}", first + count - 1) }
}

fn wanted(want: Want) -> String {
    match want {
        Want::Name => "its name".to_owned(),
        Want::All => "all of it".to_owned(),
        Want::Range { first, count } => span(first, count),
    }
}

fn holds((file, first, count): (FileId, u64, u64), block: Block) -> bool {
    file == block.file && (first..first + count).contains(&block.index)
}

/// One block, two blocks; one block was, two blocks were.
fn plural(number: u64, what: &str) -> String {
    match (number, what.strip_suffix(" was")) {
        (1, _) => what.to_owned(),
        (_, Some(noun)) => format!("{noun}s were"),
        (_, None) => format!("{what}s"),
    }
}

#[cfg(test)]
mod tests {
    use foresee_manager::Config;

    use super::*;
    use crate::host;
    use crate::load::Trace;
    use crate::timed::{Disclosure, Options, Think, setup};
    use crate::untimed::{Cell, run_watched};

    fn witness(numbers: &[u64], question: Question) -> (Vec<(u64, String)>, Sum) {
        witness_of(&Trace::of_blocks(numbers.iter().copied(), 4096), 2, question)
    }

    fn witness_of(trace: &Trace, cache_blocks: u64, question: Question) -> (Vec<(u64, String)>, Sum) {
        let cell = Cell::new("lru".parse().unwrap(), cache_blocks);
        let mut witness = Witness::new(question, "lru", Vec::new(), &[]);
        run_watched(trace, &cell, &|_| {}, |at, actions, manager| {
            let (now, event) = trace.observed(at);
            witness.see(now, event, actions, manager);
        });
        (witness.lines.into_iter().map(|line| (line.references, line.text)).collect(), witness.sum)
    }

    fn block(index: u64) -> Question {
        Question::Block(Block { file: FileId(0), index })
    }

    #[test]
    fn the_story_of_a_block() {
        let (lines, sum) = witness(&[3, 4, 3, 5, 3, 6, 7, 3], block(3));
        let told: Vec<(u64, &str)> = lines.iter().map(|(at, text)| (*at, text.as_str())).collect();
        assert_eq!(
            told,
            [
                (1, "read by reader 0: not here"),
                (3, "read by reader 0: here"),
                (5, "read by reader 0: here; kept while 1 other block was given up"),
                (7, "given up under lru for block 7 of file 0: read last 2 references ago, 2 other blocks since"),
                (8, "read by reader 0: not here, 1 reference after it was given up"),
            ]
        );
        assert_eq!(sum, Sum { found: 2, late: 0, missed: 2, given_up: 1, regretted: 1 });
        assert_eq!(witness(&[1, 2], block(9)), (vec![], Sum::default()));
    }

    /// What a read of several blocks pushes out before it comes to it was not here.
    #[test]
    fn a_read_may_push_out_what_it_comes_to() {
        let trace = Trace::of_runs([(1, 1), (0, 2)], 4096);
        let (lines, sum) = witness_of(&trace, 1, block(1));
        assert_eq!(sum, Sum { found: 0, late: 0, missed: 2, given_up: 1, regretted: 1 });
        assert_eq!(lines[1].1, "read by reader 0: not here any more: given up under lru for blocks of the same read");
        let (lines, _) = witness_of(&trace, 1, block(0));
        assert_eq!(lines[1].1, "given up under lru as soon as it was read");
        let file = Question::File(FileId(0));
        let met = |trace: &Trace, at: usize| witness_of(trace, 3, file).0[at].1.clone();
        assert_eq!(met(&trace, 0), "block 1: read by reader 0, not here");
        assert_eq!(met(&trace, 1), "blocks 0 to 1: read by reader 0, 1 of them not here");
        assert_eq!(met(&Trace::of_runs([(1, 1), (1, 1)], 4096), 1), "block 1: read by reader 0, here");
    }

    /// Of a policy that puts prices on pages.
    #[test]
    fn what_a_page_was_worth_and_what_beat_it() {
        let trace = Trace::of_blocks((0..40).chain(0..40), 4096);
        let how = Options {
            think: Think::None,
            disclose: Some(Disclosure::TOLD),
            device: "servers=4,latency_us=5000,mb_per_s=0".parse().unwrap(),
            disks: 1,
            lookup_ns: 0,
        };
        let told = |policy: &str, question| {
            let config = Config { explains: true, ..Config::new(8, policy.parse().unwrap()) };
            let setup = setup(&trace, &how, config);
            let mut witness = Witness::new(question, policy, Vec::new(), &[]);
            host::run_watched(&setup, &mut |now, event, actions, manager| witness.see(now, event, actions, manager))
                .unwrap();
            witness.lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n")
        };
        let of_block = told("informed", block(20));
        assert!(of_block.contains("given the page of block "), "{of_block}");
        assert!(of_block.contains(" of file 0: it is worth "), "{of_block}");
        assert!(of_block.contains(" us a reference, that was worth "), "{of_block}");
        assert!(of_block.contains(" since; it was worth nothing, block 28 of file 0 "), "{of_block}");
        assert!(told("aggressive", block(20)).contains("; it was worth a use in "));
        assert!(!told("lru", block(20)).contains("worth"), "it puts no price on anything");
    }

    /// Of a policy that compares pages with each other, and told nothing.
    #[test]
    fn what_a_page_promised_and_what_went_next() {
        let told = |policy: &str, explains, question| {
            let trace = Trace::of_blocks((0..400).map(|at| if at % 2 == 0 { at / 2 % 3 } else { 10 + at * at }), 4096);
            let cell = Cell { explains, ..Cell::new(policy.parse().unwrap(), 16) };
            let mut witness = Witness::new(question, policy, Vec::new(), &[]);
            run_watched(&trace, &cell, &|_| {}, |at, actions, manager| {
                let (now, event) = trace.observed(at);
                witness.see(now, event, actions, manager);
            });
            witness.lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n")
        };
        for policy in ["informed", "reuse", "lru-sp:silent=reuse"] {
            let of_block = told(policy, true, block(10 + 151 * 151));
            for words in [
                "; of pages like it ",
                " % are used within ",
                ", and a miss costs a wait: to keep it saves one in ",
                "; the least of the others, block ",
            ] {
                assert!(of_block.contains(words), "no '{words}' under {policy} in\n{of_block}");
            }
            assert!(!of_block.contains("worth"), "nothing was compared by price: {of_block}");
        }
        let moment = told("informed", true, Question::Reference(400));
        assert!(moment.contains("gave up block ") && moment.contains("of pages like it "), "{moment}");
        assert!(!told("reuse", false, block(10 + 151 * 151)).contains("like it"), "the manager was not to explain");
    }

    /// What lies beside the page that went last may be what promises least.
    #[test]
    fn a_page_does_not_go_in_place_of_itself() {
        let trace = Trace::of_blocks((0..40).cycle().take(200), 4096);
        let cell = Cell { explains: true, ..Cell::new("reuse".parse().unwrap(), 8) };
        let mut beside = 0;
        for index in 0..40 {
            let mut witness = Witness::new(block(index), "reuse", Vec::new(), &[]);
            run_watched(&trace, &cell, &|_| {}, |at, actions, manager| {
                let (now, event) = trace.observed(at);
                witness.see(now, event, actions, manager);
            });
            let least = witness.lines.iter().filter(|line| line.text.contains("the least of all, block "));
            let itself = format!("the least of all, block {index} of");
            beside += least.inspect(|line| assert!(!line.text.contains(&itself), "{}", line.text)).count();
        }
        assert!(beside > 0);
    }

    #[test]
    fn a_moment() {
        let (lines, _) = witness(&[3, 4, 5], Question::Reference(3));
        let told: Vec<&str> = lines.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(
            told,
            [
                "reader 0 reads block 5 of file 0",
                "gave up block 3 of file 0 under lru: read last 2 references ago",
                "memory: 2 of 2 pages; 0 brought and not read yet",
            ]
        );
    }
}
