//! Policies: which page goes when one must, and how many pages may hold what has not been read yet.
//!
//! One file a policy, and one line in `policies!` below. A file gives its `SPEC`: name, source, parameters, how to
//! build it. Command help, sweeps and the conformance suite follow from the registry.

use std::fmt;

use crate::advice::{Advice, Answer};
use crate::event::{Demand, Refusal};
use crate::ids::{Block, DeviceId, Page, ReaderId, Site, Time};
use crate::table::{State, Table};

mod context;
pub mod list;
mod partitioned;
mod sequential;
mod two_level;

pub use context::Context;

/// Declares the policies: one line each.
macro_rules! policies {
    ($($module:ident)*) => {
        $(mod $module;)*
        /// Every policy there is.
        pub static REGISTRY: &[&Spec] = &[$(&$module::SPEC),*];
    };
}

policies! {
    null
    lru
    opt
    arc
    fifo
    mru
    clock
    sieve
    lfu
    slru
    two_q
    lru_k
    lirs
    s3fifo
    w_tinylfu
    tip1
    tip2
    tip2_sarc
    tip2_amp
    lru_sp
    lru_s
    alloc_lru
    sarc
    sarc_amp
    readahead
    lru_top
    lru_bottom
    pcc
    ubm
}

/// One reference, as a policy sees it.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// When.
    pub now: Time,
    /// Who.
    pub reader: ReaderId,
    /// From where in the program.
    pub site: Site,
    /// Served or observed.
    pub demand: Demand,
    /// The sequence in which this read was disclosed, if it was.
    pub hinted: Option<u16>,
    /// The block was brought ahead of this, its first read. What counts uses counted one when it came.
    pub first: bool,
    /// The reference of this number is the next one to the same block; None if there is none, or the future is not known.
    pub next: Option<u64>,
}

/// What a policy does with a disclosed block that is here already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disclosed {
    /// It counts as hinted and unread from now on.
    Counted,
    /// It stays what it was.
    Ignored,
}

/// The memory, as a policy may weigh it before it lets another page be fetched ahead.
#[derive(Debug, Clone, Copy)]
pub struct Ledger {
    /// Pages there may be.
    pub capacity: u64,
    /// Pages that hold a block or wait for one.
    pub used: u64,
    /// Pages hinted or guessed, and not yet read.
    pub unread: u64,
}

impl Ledger {
    pub(crate) fn of(capacity: u64, table: &Table) -> Self {
        let unread = table.count(State::Hinted) + table.count(State::Guessed);
        Ledger { capacity, used: table.used(), unread }
    }
}

/// A block that could be fetched ahead.
#[derive(Debug, Clone, Copy)]
pub struct Ahead {
    /// The sequence that disclosed it.
    pub sequence: u16,
    /// Disclosures are numbered over all sequences.
    pub order: u64,
    /// Where it lies; of an array, the first.
    pub device: DeviceId,
    /// References of its reader until it is read, of which the next one is number 1.
    pub references: u64,
    /// It would go along with a neighbour that is fetched in any case (000 section 5.4).
    pub joins: bool,
}

/// What fetching a block ahead is worth.
#[derive(Debug, Clone, Copy)]
pub struct Worth {
    /// Of several blocks, the one of the highest rank is fetched first.
    pub rank: f64,
    /// A page of less value than this may go for it.
    pub value: f64,
}

/// What a page is to be given up for.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// The block that would take its place; None where there are only to be fewer pages.
    pub missing: Option<Block>,
    /// Who misses it; None where nobody waits.
    pub reader: Option<ReaderId>,
    /// What that is worth.
    pub value: f64,
}

impl Need {
    /// Fewer pages, whatever they are worth.
    pub const LESS: Need = Need { missing: None, reader: None, value: f64::INFINITY };

    /// A page for this block, whatever it costs.
    pub fn of(missing: Block) -> Self {
        Need { missing: Some(missing), ..Need::LESS }
    }

    /// A page for the block that this reader misses.
    pub fn by(missing: Block, access: &Access) -> Self {
        Need { reader: Some(access.reader), ..Need::of(missing) }
    }
}

/// References by their pattern, as a policy that classifies them saw them (004 Figure 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Patterns {
    /// Of blocks that are read once.
    pub sequential: u64,
    /// Of blocks that are read again and again.
    pub looping: u64,
    /// Of no pattern.
    pub other: u64,
}

/// What was learned of a call site: its row of the PC table (004 sections 4.1, 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lesson {
    /// The call site.
    pub site: Site,
    /// Blocks it read that were not read again.
    pub sequential: u64,
    /// Blocks that were.
    pub looping: u64,
    /// References from one read of a block to the next; 0 where none was read again.
    pub period: u64,
    /// How far from the period these lie in the mean.
    pub spread: u64,
}

/// What a policy wants read ahead because of how its readers read, though nobody disclosed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Where it begins.
    pub first: Block,
    /// Its blocks, those that are here counted; none beyond the file's end.
    pub count: u64,
    /// Reads that had to wait although the run they go on was known (003 section II-A): 0 if it is read ahead in time.
    pub misses: u64,
}

impl Stretch {
    /// Its blocks, the nearest first.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + use<> {
        let Stretch { first, count, .. } = *self;
        (first.index..first.index + count).map(move |index| Block { index, ..first })
    }
}

/// What a policy that tells sequential reads from random ones knows of both. For reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Classes {
    /// Pages that are here for sequential reads.
    pub sequential_pages: u64,
    /// Pages that are here for random ones.
    pub random_pages: u64,
    /// How many pages at the end of either list count as its bottom (003's delta L).
    pub bottom_pages: f64,
    /// Hits in the bottom of the random pages so far.
    pub bottom_hits: u64,
    /// Pages the policy would have sequential reads hold, if it has an opinion.
    pub desired_pages: Option<f64>,
}

/// A part of the memory that a policy tells from others. A page is in one at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// What its paper calls it.
    pub name: String,
    /// How many pages it has.
    pub pages: u64,
}

impl Partition {
    pub(crate) fn new(name: impl Into<String>, pages: u64) -> Self {
        Partition { name: name.into(), pages }
    }
}

/// A replacement policy. It hears of pages that are here from `arrived` to `left`; those on their way are the manager's, but it may
/// hear of them too, from `taken` to `arrived` or `lost`.
pub trait Policy {
    /// The page was taken for a block that is on its way from now on: to be read ahead, or because of this reference.
    fn taken(&mut self, _page: Page, _context: &Context<'_>, _access: Option<&Access>) {}

    /// A reference found the page on its way.
    fn awaited(&mut self, _page: Page, _context: &Context<'_>, _access: &Access) {}

    /// The page's block will not come after all.
    fn lost(&mut self, _page: Page, _context: &Context<'_>) {}

    /// What is to be read ahead because of the references it heard of. It is asked again and again until there is nothing; then
    /// all that it wanted is on its way, as far as there was room.
    fn reads_ahead(&mut self) -> Option<Stretch> {
        None
    }

    /// What it knows of sequential and of random reads, if it tells them apart.
    fn classes(&self, _context: &Context<'_>) -> Option<Classes> {
        None
    }

    /// The page's block came; `access` is the reference that brought it, None if it was fetched ahead.
    fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>);

    /// A reference found the page here.
    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access);

    /// A hint speaks of the page, which is here.
    fn disclosed(&mut self, _page: Page, _context: &Context<'_>) -> Disclosed {
        Disclosed::Ignored
    }

    /// The page is given up, for this policy's choice or for any other reason.
    fn left(&mut self, page: Page, context: &Context<'_>);

    /// The page to give up next, among those that can go and are worth less than what is needed. The manager gives it up, and
    /// calls `left`.
    fn victim(&mut self, context: &Context<'_>, need: Need) -> Option<Page>;

    /// Whether what was read is kept at all.
    fn keeps(&self) -> bool {
        true
    }

    /// Whether anything may be fetched ahead of its read now.
    fn may_fetch_ahead(&self, _context: &Context<'_>) -> bool {
        false
    }

    /// What it is worth to fetch this block ahead; None if it is too early for it.
    fn worth(&self, _ahead: &Ahead, _context: &Context<'_>) -> Option<Worth> {
        None
    }

    /// Whether a disclosed block that was given up before it was read is fetched again when its time comes.
    fn refetches(&self) -> bool {
        false
    }

    /// Whether it takes advice, so that it matters which program's a page is.
    fn takes_advice(&self) -> bool {
        false
    }

    /// A reader advises which of its own pages go first, or asks what it advised. An error changes nothing.
    fn advised(&mut self, _reader: ReaderId, _advice: Advice, _context: &Context<'_>) -> Result<Answer, Refusal> {
        Err(Refusal::Policy)
    }

    /// Whether it decides by what is still to come. Such a policy is of use where a whole trace is at hand
    /// ([`Manager::foreseeing`](crate::Manager::foreseeing)), and to no host of real programs.
    fn is_offline(&self) -> bool {
        false
    }

    /// Whether it can decide about a part of the memory, as another policy's parameter: it needs to hear of nothing but the pages it
    /// is given, and fetches nothing ahead.
    fn holds_a_part(&self) -> bool {
        !self.is_offline()
    }

    /// Who lost control by the victim that was just chosen.
    fn revoked(&mut self) -> Option<ReaderId> {
        None
    }

    /// A reader is gone, and its advice with it. Its pages stay.
    fn reader_exited(&mut self, _reader: ReaderId) {}

    /// The partitions it divides its pages into, for reports; none where it does not divide them.
    fn partitions(&self) -> Vec<Partition> {
        Vec::new()
    }

    /// Which of its partitions a page that is here is in, if they go by the pattern of its last reference.
    fn partition_of(&self, _page: Page) -> Option<usize> {
        None
    }

    /// How it classified references so far, if it does.
    fn patterns(&self) -> Option<Patterns> {
        None
    }

    /// Why a part of all blocks in as much of the memory would not miss as all do, if it would not.
    fn unlike_a_part(&self) -> Option<&'static str> {
        None
    }

    /// Whether it matters to it from where in a program a read comes.
    fn uses_sites(&self) -> bool {
        false
    }

    /// What is worth remembering for the next run of the same programs.
    fn lessons(&self) -> Vec<Lesson> {
        Vec::new()
    }

    /// What an earlier run remembered; said before the first reference.
    fn taught(&mut self, _lesson: Lesson) {}

    /// Checks what must hold between events, by looking at everything. For tests.
    fn check(&self, _context: &Context<'_>) {}

    /// This sequence is no more; the next one of its number is another.
    fn sequence_ended(&mut self, _sequence: u16) {}
}

/// A parameter of a policy.
#[derive(Debug)]
pub struct Parameter {
    /// Its name, as in `tip1:unread_share=0.33`.
    pub name: &'static str,
    /// What it means, and why the default is what it is.
    pub help: &'static str,
    /// What it may be.
    pub domain: Domain,
}

/// What a parameter may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Domain {
    /// A number.
    Number {
        /// The value if none is given.
        default: f64,
        /// The least value that makes sense.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// The name of another policy that can hold a part: it is built with its own defaults, and decides about a part of the memory.
    Policy {
        /// The policy if none is given.
        default: &'static str,
    },
}

impl Domain {
    fn default(self) -> Value {
        match self {
            Domain::Number { default, .. } => Value::Number(default),
            Domain::Policy { default } => Value::Policy(default),
        }
    }

    /// The value of this text; an error says what would have been one.
    fn parse(self, text: &str) -> Result<Value, String> {
        match self {
            Domain::Number { min, max, .. } => {
                let number = text.parse().ok().filter(|number| (min..=max).contains(number));
                number.map(Value::Number).ok_or_else(|| format!("a number from {min} to {max}"))
            }
            Domain::Policy { .. } => match text.parse::<Choice>()?.build().holds_a_part() {
                true => find(text).map(|spec| Value::Policy(spec.name)),
                false => Err("a policy that neither fetches ahead by itself nor knows the future".to_owned()),
            },
        }
    }
}

impl fmt::Display for Domain {
    /// As in help texts: the default, and what else there is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Domain::Number { default, min, max } => write!(f, "{default:.3} ({min} to {max})"),
            Domain::Policy { default } => write!(f, "{default} (any policy of its own pages)"),
        }
    }
}

/// What a parameter is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Number(f64),
    Policy(&'static str),
}

/// The policy of this name; an error lists those that there are.
fn find(name: &str) -> Result<&'static Spec, String> {
    REGISTRY.iter().find(|spec| spec.name == name).copied().ok_or_else(|| {
        let names: Vec<_> = REGISTRY.iter().map(|spec| spec.name).collect();
        format!("there is no policy '{name}'; there are: {}", names.join(", "))
    })
}

/// What a policy's file declares.
pub struct Spec {
    /// The name users write.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// The paper and section, or the idea's origin.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Makes one.
    pub build: fn(&Values) -> Box<dyn Policy>,
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spec").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The parameters' values of one policy.
#[derive(Debug, Clone)]
pub struct Values {
    spec: &'static Spec,
    values: Vec<Value>,
}

impl Values {
    /// The value of a numeric parameter.
    ///
    /// # Panics
    /// If the policy's own spec does not declare `name` as a number: a slip in its file, which the conformance suite meets.
    pub fn get(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Number(number)) => number,
            _ => panic!("policy {} declares no number {name}", self.spec.name),
        }
    }

    /// Makes the policy that a parameter names.
    ///
    /// # Panics
    /// If the policy's own spec does not declare `name` as a policy that there is.
    pub fn policy(&self, name: &str) -> Box<dyn Policy> {
        match self.value(name) {
            Some(Value::Policy(policy)) => match policy.parse::<Choice>() {
                Ok(choice) => choice.build(),
                Err(error) => panic!("policy {}: {error}", self.spec.name),
            },
            _ => panic!("policy {} declares no policy {name}", self.spec.name),
        }
    }

    fn value(&self, name: &str) -> Option<Value> {
        Some(self.values[self.spec.parameters.iter().position(|parameter| parameter.name == name)?])
    }
}

/// A policy with its parameters, as a user chose it: `lru`, `tip1:unread_share=0.25,count_present=0`.
#[derive(Debug, Clone)]
pub struct Choice {
    text: String,
    values: Values,
}

impl Choice {
    /// The registry entry.
    pub fn spec(&self) -> &'static Spec {
        self.values.spec
    }

    /// The choice as the user wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it needs to know the future: see [`Policy::is_offline`].
    pub fn is_offline(&self) -> bool {
        self.build().is_offline()
    }

    /// Makes the policy.
    pub fn build(&self) -> Box<dyn Policy> {
        (self.values.spec.build)(&self.values)
    }
}

impl std::str::FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let spec = find(name)?;
        let mut values: Vec<Value> = spec.parameters.iter().map(|parameter| parameter.domain.default()).collect();
        for setting in settings.split(',').filter(|setting| !setting.is_empty()) {
            let (key, value) =
                setting.split_once('=').ok_or_else(|| format!("'{setting}' is not of the form parameter=value"))?;
            let at = spec.parameters.iter().position(|parameter| parameter.name == key).ok_or_else(|| {
                let names: Vec<_> = spec.parameters.iter().map(|parameter| parameter.name).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                format!("policy {name} has no parameter '{key}'; it has: {names}")
            })?;
            values[at] = spec.parameters[at]
                .domain
                .parse(value)
                .map_err(|wanted| format!("'{value}' is no value of {name}'s {key}: {wanted}"))?;
        }
        Ok(Choice { text: text.to_owned(), values: Values { spec, values } })
    }
}
