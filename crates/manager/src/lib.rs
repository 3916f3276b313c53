//! Every decision foresee makes about memory: what to fetch ahead, what to keep, whose page goes,
//! what a device is asked next.
//!
//! The manager does no I/O, has no clock, no threads and no randomness: [`Event`]s go in,
//! [`Action`]s come out, and time is an argument. An action is an [`Order`] to the host or a
//! [`Reply`] to a reader. A host carries the orders out: the page cache for real programs, a
//! machine on a virtual clock in simulations (`crates/driver` stands between). What is simulated is
//! therefore what runs, and a log of a real run, replayed, gives the same actions byte for byte.
//!
//! # One example
//! ```
//! use foresee_manager::*;
//!
//! let mut manager = Manager::new(&Config::new(3, "tip1:unread_share=1".parse().unwrap()));
//! let (reader, file) = (ReaderId(1), FileId(0));
//! let mut actions = Vec::new();
//!
//! // The reader discloses that it will read the whole file. Its name is looked up, then its blocks are fetched.
//! manager.handle(Time(0), Event::Hint { reader, source: Source::Library, file, want: Want::All }, &mut actions);
//! assert_eq!(actions, [Action::Order(Order::Lookup { file })]);
//! actions.clear();
//! manager.handle(Time(1), Event::FileKnown { file, device: DeviceId(0), blocks: 2, place: 0 }, &mut actions);
//! assert_eq!(actions[0].to_string(), "fetch fetch=1 device=0 file=0 first=0 count=2 class=hinted");
//!
//! // They arrive before they are read: two timely hits.
//! manager.handle(Time(2), Event::FetchDone { fetch: FetchId(1) }, &mut actions);
//! let demand = Demand::Observed;
//! manager.handle(Time(3), Event::Reference { reader, site: Site(0), file, first: 0, count: 2, demand }, &mut actions);
//! assert_eq!(manager.statistics().ahead_of(true).timely, 2);
//! ```
//!
//! # What is always true
//! The numbers are cited by the asserts and the tests.
//!
//! - **I1** Every page frame is exactly one of: free, demand, hinted, guessed, cached, pinned. The
//!   ledger's sum is the capacity.
//! - **I2** Resident and in-flight pages never exceed the capacity. (When the capacity itself
//!   shrinks, what is in flight or pinned goes as soon as it can, and nothing new comes before.)
//! - **I3** A block is fetched by at most one in-flight fetch. A second reader waits on the first:
//!   a late hit, not a miss.
//! - **I4** A demand fetch never waits behind a fetch ahead of ours on the same device, nor for a
//!   frame that fetches ahead hold: one more frame than they and the views hold is always left to
//!   it.
//! - **I5** Progress: with every limit at its smallest, one demand fetch can still be made.
//! - **I6** Bytes handed to a reader are bytes the device returned for that file version, whole.
//!   The manager's part: what was in flight when its file changed is never kept or counted as
//!   present.
//! - **I7** An I/O error reaches exactly the readers of that block: of a failed fetch of several
//!   blocks, each that is waited for is fetched again alone. A failed fetch ahead is forgotten; a
//!   reader that already waits for it gets a demand fetch of its own.
//! - **I8** Same events, same actions.
//! - **I9** Every block fetched ahead ends in exactly one of: timely, late, wasted, cancelled.
//! - **I10** Who gives wrong hints or bad advice cannot make another reader miss more than it would
//!   under plain LRU, beyond a bound. Beside bad advice the bound is nought, for the same
//!   references in the same order, while the capacity stays and no file changes.
//! - **I11** Under a policy that takes advice each page of a program that advises is on exactly one
//!   of its levels, and a placeholder names a page that is here, for a block that is not.
//!
//! # Words
//! A *reference* is one block read by one *reader*. A *hint* is a *disclosure*: file, range, order,
//! never an order to the cache. *Advice* says which of its own pages a reader can spare. *Demand*
//! is what a reader waits for. A *late hit* found its block on its way. *Told* blocks were
//! disclosed by the program; *guessed* ones by whoever watched it.

#![forbid(unsafe_code)]

mod advice;
mod dispatch;
mod estimate;
mod event;
mod files;
mod future;
mod hint;
mod ids;
mod index;
mod layout;
mod log;
mod manager;
pub mod policy;
mod statistics;
mod table;

pub use advice::{Advice, AdviceFile, Answer, FILE_RECORDS_MAX, LEVELS_MAX, MANAGERS_MAX};
pub use dispatch::DeviceLimits;
pub use event::{
    Action, Class, Demand, Event, LevelOrder, Malformed, Order, Outcome, REFERENCE_BLOCKS_MAX, Refusal, Reply, Source,
    Want,
};
pub use files::Lookup;
pub use future::Future;
pub use hint::{
    HINT_ENTRIES_MAX, JUMP_BLOCKS_MAX, JUMP_ENTRIES_MAX, PULLED_AT_ONCE, SEQUENCES_MAX, Standing, Trust, WINDOW_GROWTH,
    WINDOW_GROWTH_BEYOND, WINDOW_GROWTH_FLAWLESS, Withdrawn,
};
pub use ids::{Block, DeviceId, FetchId, FileId, Page, ReaderId, Site, Time, ViewId, WaiterId};
pub use layout::{Piece, Stripe};
pub use log::{Header, LogLine, named_file, write_entry, write_name};
pub use manager::{Config, Manager, PAGES_MAX};
pub use statistics::{Counted, Outcomes, Statistics};
pub use table::{State, Table};
