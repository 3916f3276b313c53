//! Application control: which of a program's own pages goes, as it advised (002 section 3; the
//! paper's ACM).
//!
//! ```text
//! new_block(b):         to the newest end of its level: that of its file's long-term priority
//! block_accessed(b):    a temporary priority ends; to the newest end of its level
//! replace_block(c):     of c's program: the lowest level that has a page; LRU: its oldest page, MRU: its newest
//! set_priority, set_temporary_priority:   pages that move go to the end of their new level where they are replaced later
//! ```
//!
//! A page belongs to the program that loaded it (one that nobody waited for: to the first that
//! references it), whether that program manages its pages or not (a *manager* here is the paper's:
//! a program that does). What it loaded before it became one joins level 0.

use crate::advice::{Advice, Answer, FILE_RECORDS_MAX, LEVELS_MAX, MANAGERS_MAX};
use crate::event::{LevelOrder, Refusal};
use crate::ids::{Block, FileId, Page, ReaderId};
use crate::policy::list::{Chain, Links};
use crate::policy::{Partition, by_page};
use crate::table::{FastMap, Table};

/// Overrulings after which both counts are halved: what a program does now weighs more than what it
/// did long ago.
const OVERRULINGS_REMEMBERED_MAX: u64 = 4096;
/// The number of the level of priority 0, which every manager has.
const LEVEL_ZERO: u8 = 0;

/// When a manager loses control.
#[derive(Debug, Clone, Copy)]
pub(in crate::policy) struct Revocation {
    /// If more than this share of its overrulings were mistakes; 1: never.
    pub share: f64,
    /// Of so many at least.
    pub after: u64,
}

impl Revocation {
    /// Nobody does.
    pub const NEVER: Revocation = Revocation { share: 1.0, after: 0 };

    fn is_due(self, Judged { overrulings, mistakes }: Judged) -> bool {
        self.share < 1.0 && overrulings >= self.after && mistakes as f64 > self.share * overrulings as f64
    }
}

/// How a program's decisions proved.
#[derive(Debug, Clone, Copy, Default)]
struct Judged {
    overrulings: u64,
    mistakes: u64,
}

impl Judged {
    fn after_mistake(self) -> Self {
        Judged { mistakes: self.mistakes + 1, ..self }
    }
}

/// How a program's control ended.
#[derive(Debug, Clone, Copy)]
enum Past {
    /// It gave it up, with this record.
    GaveUp(Judged),
    Lost,
}

/// Pages of one priority, in LRU order.
struct Level {
    priority: i32,
    order: LevelOrder,
    chain: Chain,
}

impl Level {
    fn new(priority: i32) -> Self {
        Level { priority, order: LevelOrder::Lru, chain: Chain::default() }
    }
}

/// A program that controls its own caching.
struct Manager {
    reader: ReaderId,
    /// By number, which stays; the first is that of priority 0.
    levels: Vec<Level>,
    /// Their numbers, lowest priority first.
    lowest_first: Vec<u8>,
    /// Long-term priorities that are not 0, as levels.
    files: FastMap<u32, u8>,
    judged: Judged,
}

impl Manager {
    fn new(reader: ReaderId, judged: Judged) -> Self {
        Manager {
            reader,
            levels: vec![Level::new(0)],
            lowest_first: vec![LEVEL_ZERO],
            files: FastMap::default(),
            judged,
        }
    }

    fn level_of(&self, file: FileId) -> u8 {
        if self.files.is_empty() { LEVEL_ZERO } else { self.files.get(&file.0).copied().unwrap_or(LEVEL_ZERO) }
    }

    fn level(&self, priority: i32) -> Option<u8> {
        self.lowest_first.iter().copied().find(|&level| self.levels[level as usize].priority == priority)
    }

    /// The level of this priority, made if need be: in place of one that says nothing where there
    /// are as many as may be.
    fn make_level(&mut self, priority: i32) -> Result<u8, Refusal> {
        if let Some(level) = self.level(priority) {
            return Ok(level);
        }
        let level = if self.levels.len() < LEVELS_MAX {
            self.levels.push(Level::new(priority));
            (self.levels.len() - 1) as u8
        } else {
            let idle = self.idle_level().ok_or(Refusal::Levels)?;
            self.levels[idle as usize] = Level::new(priority);
            self.lowest_first.retain(|&level| level != idle);
            idle
        };
        let levels = &self.levels;
        let at = self.lowest_first.partition_point(|&level| levels[level as usize].priority < priority);
        self.lowest_first.insert(at, level);
        Ok(level)
    }

    /// A level without pages, files and a policy of its own.
    fn idle_level(&self) -> Option<u8> {
        let mut used = [false; LEVELS_MAX];
        used[LEVEL_ZERO as usize] = true;
        self.files.values().for_each(|&level| used[level as usize] = true);
        let is_idle = |level: &u8| {
            let Level { order, chain, .. } = &self.levels[*level as usize];
            chain.is_empty() && *order == LevelOrder::Lru && !used[*level as usize]
        };
        self.lowest_first.iter().copied().find(is_idle)
    }

    fn set_policy(&mut self, priority: i32, order: LevelOrder) -> Result<(), Refusal> {
        let level = self.make_level(priority)?;
        self.levels[level as usize].order = order;
        Ok(())
    }

    /// Gives a file a long-term priority. Returns its level.
    fn set_priority(&mut self, file: FileId, priority: i32) -> Result<u8, Refusal> {
        if priority == 0 {
            self.files.remove(&file.0);
            return Ok(LEVEL_ZERO);
        }
        if self.files.len() >= FILE_RECORDS_MAX && !self.files.contains_key(&file.0) {
            return Err(Refusal::Files);
        }
        let level = self.make_level(priority)?;
        self.files.insert(file.0, level);
        Ok(level)
    }
}

/// What is known of a page.
#[derive(Clone, Copy)]
struct Record {
    /// References counted when it was referenced last.
    referenced: u64,
    /// Whose it is; None: nobody's, or no page.
    owner: Option<ReaderId>,
    /// Its owner's number among the managers; NONE: it is not on a level.
    manager: u8,
    level: u8,
    /// Its level is not that of its file.
    temporary: bool,
}

const NONE: u8 = u8::MAX;
const NOBODYS: Record = Record { referenced: 0, owner: None, manager: NONE, level: LEVEL_ZERO, temporary: false };
const _: () = assert!(MANAGERS_MAX < NONE as usize);
const _: () = assert!(LEVELS_MAX < NONE as usize);

pub(super) struct Control {
    revocation: Revocation,
    /// By number, which stays.
    managers: Vec<Option<Manager>>,
    numbers: FastMap<u32, u8>,
    records: Vec<Record>,
    links: Links,
    references: u64,
    /// Who gave control up, or lost it, and is not gone yet: nobody begins anew by saying so.
    before: FastMap<u32, Past>,
    /// Who just did.
    revoked: Option<ReaderId>,
}

impl Control {
    pub fn new(revocation: Revocation) -> Self {
        Control {
            revocation,
            managers: Vec::new(),
            numbers: FastMap::default(),
            records: Vec::new(),
            links: Links::default(),
            references: 0,
            before: FastMap::default(),
            revoked: None,
        }
    }

    fn number_of(&self, reader: ReaderId) -> u8 {
        if self.numbers.is_empty() { NONE } else { self.numbers.get(&reader.0).copied().unwrap_or(NONE) }
    }

    fn manager(&self, number: u8) -> Option<&Manager> {
        self.managers.get(number as usize)?.as_ref()
    }

    /// How many programs manage their pages.
    pub fn managers(&self) -> usize {
        self.numbers.len()
    }

    /// Whether the page is one of theirs.
    pub fn holds(&self, page: Page) -> bool {
        self.records.get(page as usize).is_some_and(|record| record.manager != NONE)
    }

    // ---- the five calls of the allocation

    /// A page came; the reader waited for it, if one did.
    pub fn new_block(&mut self, page: Page, file: FileId, reader: Option<ReaderId>) {
        by_page::reach(&mut self.records, page, NOBODYS);
        self.references += 1;
        self.records[page as usize] = Record { referenced: self.references, owner: reader, ..NOBODYS };
        self.join(page, file);
    }

    /// A page goes.
    pub fn block_gone(&mut self, page: Page) {
        self.unlink(page);
        self.records[page as usize] = NOBODYS;
    }

    /// A page is referenced.
    pub fn block_accessed(&mut self, page: Page, file: FileId, reader: ReaderId) {
        self.references += 1;
        let record = &mut self.records[page as usize];
        record.referenced = self.references;
        if record.owner.is_none() {
            record.owner = Some(reader);
            self.join(page, file);
        } else if let Some(manager) = self.managers.get(record.manager as usize).and_then(Option::as_ref) {
            let (number, level) = (record.manager, manager.level_of(file));
            self.unlink(page);
            self.link(page, number, level, End::Newest);
        }
    }

    /// The page to give up, where the allocation would give up this one; `mistaken` if that is for
    /// a block whose placeholder names it.
    pub fn replace_block(&self, candidate: Page, mistaken: bool, can_go: impl Fn(Page) -> bool) -> Page {
        let Some(manager) = self.manager(self.records[candidate as usize].manager) else { return candidate };
        if mistaken && self.revocation.is_due(manager.judged.after_mistake()) {
            return candidate;
        }
        for &level in &manager.lowest_first {
            let Level { order, chain, .. } = &manager.levels[level as usize];
            let found = match order {
                LevelOrder::Lru => self.links.oldest_first(chain).find(|&page| can_go(page)),
                LevelOrder::Mru => self.links.newest_first(chain).find(|&page| can_go(page)),
            };
            if let Some(page) = found {
                return page;
            }
        }
        candidate
    }

    /// The candidate's manager gave up another page in its place.
    pub fn overruled(&mut self, candidate: Page) {
        let number = self.records[candidate as usize].manager;
        let Some(manager) = self.managers.get_mut(number as usize).and_then(Option::as_mut) else { return };
        let judged = &mut manager.judged;
        if judged.overrulings >= OVERRULINGS_REMEMBERED_MAX {
            *judged = Judged { overrulings: judged.overrulings / 2, mistakes: judged.mistakes / 2 };
        }
        judged.overrulings += 1;
    }

    /// A decision of the page's manager was wrong: a block that it gave up instead of another is
    /// missed.
    pub fn placeholder_used(&mut self, page: Page) {
        let number = self.records[page as usize].manager;
        let Some(manager) = self.managers.get_mut(number as usize).and_then(Option::as_mut) else { return };
        manager.judged = manager.judged.after_mistake();
        if self.revocation.is_due(manager.judged) {
            let reader = manager.reader;
            self.give_up(reader);
            self.before.insert(reader.0, Past::Lost);
            self.revoked = Some(reader);
        }
    }

    // ---- the programs' calls

    /// Who lost control since this was last asked.
    pub fn revoked(&mut self) -> Option<ReaderId> {
        self.revoked.take()
    }

    pub fn reader_exited(&mut self, reader: ReaderId) {
        self.give_up(reader);
        self.before.remove(&reader.0);
    }

    pub fn advised(&mut self, reader: ReaderId, advice: Advice, table: &Table) -> Result<Answer, Refusal> {
        match advice {
            Advice::GetPriority { file } => {
                let priority = |manager: &Manager| manager.levels[manager.level_of(file) as usize].priority;
                return Ok(Answer::Priority(self.manager(self.number_of(reader)).map_or(0, priority)));
            }
            Advice::GetPolicy { priority } => {
                let manager = self.manager(self.number_of(reader));
                let order = manager.and_then(|it| Some(it.levels[it.level(priority)? as usize].order));
                return Ok(Answer::Order(order.unwrap_or(LevelOrder::Lru)));
            }
            Advice::GiveUp => {
                self.give_up(reader);
                return Ok(Answer::Taken);
            }
            _ => {}
        }
        let number = self.manage(reader)?;
        let Some(manager) = self.managers[number as usize].as_mut() else { return Ok(Answer::Taken) };
        match advice {
            Advice::SetPolicy { priority, order } => manager.set_policy(priority, order)?,
            Advice::SetPriority { file, priority } => {
                let level = manager.set_priority(file, priority)?;
                let its = table.pages_of(file).into_iter().filter(|&page| self.is_on(number, page));
                let (temporary, pages) = its.partition(|&page| self.records[page as usize].temporary);
                self.keep_temporary(level, temporary);
                self.move_to(level, false, pages);
            }
            Advice::SetTemporaryPriority { file, first, count, priority } => {
                let level = manager.make_level(priority)?;
                let temporary = level != manager.level_of(file);
                let mut pages = pages_within(table, file, first, count);
                pages.retain(|&page| self.is_on(number, page));
                self.move_to(level, temporary, pages);
            }
            Advice::Manage | Advice::GiveUp | Advice::GetPriority { .. } | Advice::GetPolicy { .. } => {}
        }
        Ok(Answer::Taken)
    }

    /// The reader's number among the managers; it becomes one if need be, and what it loaded joins
    /// level 0. A first call goes through whenever this does, as a new manager is at none of
    /// its own limits.
    fn manage(&mut self, reader: ReaderId) -> Result<u8, Refusal> {
        let number = self.number_of(reader);
        if number != NONE {
            return Ok(number);
        }
        let judged = match self.before.get(&reader.0) {
            Some(Past::Lost) => return Err(Refusal::Revoked),
            Some(&Past::GaveUp(judged)) => judged,
            None => Judged::default(),
        };
        let number = match self.managers.iter().position(Option::is_none) {
            Some(free) => free,
            None if self.managers.len() < MANAGERS_MAX => {
                self.managers.push(None);
                self.managers.len() - 1
            }
            None => return Err(Refusal::Managers),
        };
        self.managers[number] = Some(Manager::new(reader, judged));
        self.numbers.insert(reader.0, number as u8);
        let is_its = |&page: &Page| self.records[page as usize].owner == Some(reader);
        let mut pages: Vec<Page> = (0..self.records.len() as Page).filter(is_its).collect();
        self.sort(&mut pages);
        pages.into_iter().for_each(|page| self.link(page, number as u8, LEVEL_ZERO, End::Newest));
        Ok(number as u8)
    }

    /// The reader controls nothing any more.
    fn give_up(&mut self, reader: ReaderId) {
        let Some(number) = self.numbers.remove(&reader.0) else { return };
        let Some(manager) = self.managers[number as usize].take() else { return };
        self.before.insert(reader.0, Past::GaveUp(manager.judged));
        for level in &manager.levels {
            for page in self.links.oldest_first(&level.chain) {
                let record = &mut self.records[page as usize];
                *record = Record { referenced: record.referenced, owner: record.owner, ..NOBODYS };
            }
        }
    }

    /// The pages of each program that manages its own.
    pub fn managed(&self) -> Vec<Partition> {
        let pages = |manager: &Manager| manager.levels.iter().map(|level| level.chain.len()).sum();
        let part = |manager: &Manager| Partition::new(format!("reader {}", manager.reader), pages(manager));
        self.managers.iter().flatten().map(part).collect()
    }

    // ---- levels

    fn is_on(&self, number: u8, page: Page) -> bool {
        self.records.get(page as usize).is_some_and(|record| record.manager == number)
    }

    /// Moves a manager's pages to a level, to the end where they are replaced later, in LRU order
    /// among themselves. Those that are there already stay where they are.
    fn move_to(&mut self, level: u8, temporary: bool, mut pages: Vec<Page>) {
        self.sort(&mut pages);
        let number = pages.first().map_or(NONE, |&page| self.records[page as usize].manager);
        let order = self.manager(number).map_or(LevelOrder::Lru, |manager| manager.levels[level as usize].order);
        let end = match order {
            LevelOrder::Lru => End::Newest,
            LevelOrder::Mru => End::Oldest,
        };
        if end == End::Oldest {
            pages.reverse();
        }
        for page in pages {
            if self.records[page as usize].level != level {
                self.unlink(page);
                self.link(page, number, level, end);
            }
            self.records[page as usize].temporary = temporary;
        }
    }

    /// Temporary priorities outlast a new long-term one, unless they are the same.
    fn keep_temporary(&mut self, long_term: u8, pages: Vec<Page>) {
        for page in pages {
            let record = &mut self.records[page as usize];
            record.temporary = record.level != long_term;
        }
    }

    /// The longest unreferenced first.
    fn sort(&self, pages: &mut [Page]) {
        pages.sort_unstable_by_key(|&page| self.records[page as usize].referenced);
    }

    /// Puts a page on its owner's level for its file, if the owner is a manager.
    fn join(&mut self, page: Page, file: FileId) {
        let Some(owner) = self.records[page as usize].owner else { return };
        let number = self.number_of(owner);
        if let Some(manager) = self.manager(number) {
            self.link(page, number, manager.level_of(file), End::Newest);
        }
    }

    /// Puts a page that is on no level on this one.
    fn link(&mut self, page: Page, number: u8, level: u8, end: End) {
        let Some(manager) = self.managers[number as usize].as_mut() else { return };
        let chain = &mut manager.levels[level as usize].chain;
        match end {
            End::Newest => self.links.push_newest(chain, page),
            End::Oldest => self.links.push_oldest(chain, page),
        }
        let Record { referenced, owner, .. } = self.records[page as usize];
        self.records[page as usize] = Record { referenced, owner, manager: number, level, temporary: false };
    }

    /// Takes a page off its level, if it is on one.
    fn unlink(&mut self, page: Page) {
        let Record { manager, level, .. } = self.records[page as usize];
        if let Some(manager) = self.managers.get_mut(manager as usize).and_then(Option::as_mut) {
            self.links.remove(&mut manager.levels[level as usize].chain, page);
        }
        self.records[page as usize].manager = NONE;
    }

    /// Checks that each page of a manager is on one level, that of its file unless its priority is
    /// temporary.
    pub fn check(&self, pages: &[Page], table: &Table) {
        let mut on_levels = 0;
        for (manager, number) in self.managers.iter().zip(0..) {
            let Some(manager) = manager else { continue };
            assert_eq!(self.number_of(manager.reader), number, "I11: a manager is not found by its reader");
            let priorities = manager.lowest_first.iter().map(|&level| manager.levels[level as usize].priority);
            assert!(priorities.is_sorted_by(|one, other| one < other), "I11: levels are not in order");
            assert_eq!(manager.levels.len(), manager.lowest_first.len(), "I11: a level is in no order");
            for (level, at) in manager.levels.iter().zip(0..) {
                let on: Vec<Page> = self.links.oldest_first(&level.chain).collect();
                assert_eq!(on.len() as u64, level.chain.len(), "I11: a level and its length disagree");
                on_levels += on.len();
                for page in on {
                    let Record { owner, manager: on, level, temporary, .. } = self.records[page as usize];
                    assert_eq!((owner, on, level), (Some(manager.reader), number, at), "I11: whose is page {page}?");
                    let long_term = manager.level_of(table.block(page).file);
                    assert_eq!(temporary, level != long_term, "I11: page {page} is on a level that is not its own");
                }
            }
        }
        let managed = |&&page: &&Page| self.records[page as usize].owner.is_some_and(|it| self.number_of(it) != NONE);
        assert_eq!(on_levels, pages.iter().filter(managed).count(), "I11: a manager's page is on no level");
    }
}

/// The ends of a level.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Newest,
    Oldest,
}

/// The pages of these blocks, by looking at each or at all the file's, whichever are fewer.
fn pages_within(table: &Table, file: FileId, first: u64, count: u64) -> Vec<Page> {
    let within = first..first + count;
    if count <= table.used() {
        return within.filter_map(|index| table.find(Block { file, index })).collect();
    }
    let mut pages = table.pages_of(file);
    pages.retain(|&page| within.contains(&table.block(page).index));
    pages
}
