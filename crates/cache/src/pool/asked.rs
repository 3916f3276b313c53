//! What a reader asks of the manager while another speaks with it: that one answers for both.
//!
//! What the manager knows lies in some twenty lines of memory for each question, which come from the
//! processor that wrote them last: 200 ns each, where a question takes as much in all. So a reader
//! who would have to wait leaves what it asks, and looks for the answer for a moment before it waits
//! for the lock.

use std::hint::spin_loop;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foresee_manager::{Block, Class};

use super::Pool;
use super::fetch::{Done, Fetch, Task};
use super::read::Who;
use super::session::{Left, Session};
use super::wait::Wait;
use super::workers::Workers;

/// How often it is looked for an answer, and how long in between: some microseconds in all, as a
/// question or two take.
const LOOKS: usize = 16;
const SPINS: usize = 8;

/// What is asked.
pub enum Asked {
    /// For blocks that are not here, or not all.
    Blocks {
        /// Who reads them.
        who: Who,
        /// The first.
        first: Block,
        /// How many.
        count: u64,
        /// What they are handed over to.
        wait: Arc<Wait>,
    },
    /// Nothing: a task is done.
    Done(Done),
}

/// What a reader is to do itself.
pub type Own = Option<(Arc<Workers>, Fetch)>;

/// What became of a question, and what is a program's code to take and to let go: that is for who
/// asked, when nobody waits for it.
struct Answer {
    own: Own,
    left: Left,
}

#[derive(Default)]
enum Inside {
    #[default]
    Nothing,
    Asked(Asked),
    Answered(Answer),
}

/// Nothing was asked, or the answer was taken.
const FREE: u32 = 0;
const ASKED: u32 = 1;
/// The same, and its thread waits for the lock.
const WAITING: u32 = 2;
const ANSWERED: u32 = 3;

/// Where one thread leaves what it asks. On lines of its own: whoever speaks with the manager looks at
/// each.
#[repr(align(128))]
#[derive(Default)]
pub struct Slot {
    stands: AtomicU32,
    inside: Mutex<Inside>,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a question. By its thread, which has no other.
    fn ask(&self, asked: Asked) {
        *self.lock() = Inside::Asked(asked);
        self.stands.store(ASKED, Release);
    }

    /// Its thread is about to wait for the lock. Returns whether it must.
    fn wait(&self) -> bool {
        self.stands.compare_exchange(ASKED, WAITING, Relaxed, Relaxed).is_ok()
    }

    fn is_answered(&self) -> bool {
        self.stands.load(Acquire) == ANSWERED
    }

    /// Takes the answer or else the question back. By its thread, where it is answered or nobody else
    /// speaks with the manager.
    fn take(&self) -> Inside {
        self.stands.store(FREE, Relaxed);
        std::mem::take(&mut *self.lock())
    }

    /// Whether something is asked. By who speaks with the manager.
    pub fn is_asked(&self) -> bool {
        matches!(self.stands.load(Acquire), ASKED | WAITING)
    }

    /// Answers it. Threads do what its own can not begin at once.
    pub fn answer(&self, session: &mut Session<'_>) {
        let mut inside = self.lock();
        match std::mem::take(&mut *inside) {
            Inside::Asked(asked) => {
                let mut answer = Answer { own: session.answer(asked), left: session.take_left() };
                if self.stands.swap(ANSWERED, AcqRel) == WAITING
                    && let Some((workers, fetch)) = answer.own.take()
                {
                    workers.add(Task::Fetch(fetch), Class::Demand);
                }
                *inside = Inside::Answered(answer);
            }
            other => *inside = other,
        }
    }
}

fn answered_in(mut session: Session<'_>, asked: Asked) -> (Own, Option<Session<'_>>) {
    (session.answer(asked), Some(session))
}

impl Pool {
    /// Asks the manager, or has it asked by who speaks with it. Returns what the reader is to do, and
    /// the session if it was asked in one of its own.
    pub(super) fn question(&self, asked: Asked) -> (Own, Option<Session<'_>>) {
        if let Some(session) = self.session_at_once() {
            return answered_in(session, asked);
        }
        let Some(slot) = self.posts.slot() else { return answered_in(self.session(), asked) };
        slot.ask(asked);
        let mut session = None;
        for _ in 0..LOOKS {
            (0..SPINS).for_each(|_| spin_loop());
            if slot.is_answered() {
                break;
            }
            session = self.session_at_once();
            if session.is_some() {
                break;
            }
        }
        if session.is_none() && slot.wait() {
            session = self.session_unless(|| slot.is_answered());
        }
        match (slot.take(), session) {
            (Inside::Answered(Answer { own, left }), session) => {
                drop(session);
                self.tell_due();
                self.take_left(left);
                (own, None)
            }
            (Inside::Asked(asked), Some(session)) => answered_in(session, asked),
            // A question is there until it is answered.
            _ => unreachable!("who was to answer has panicked"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use foresee_manager::{Config, ReaderId};
    use foresee_store::{Memory as Bytes, Store};

    use super::super::{Memory, Opened, StoreId};
    use super::*;

    #[test]
    fn who_speaks_with_the_manager_answers_those_who_ask() {
        const READERS: u32 = 5;
        let (memory, config, bytes) =
            (Memory::new(64, 4096).unwrap(), Config::new(64, "lru".parse().unwrap()), Bytes::default());
        bytes.put("a", (0..64).flat_map(|index| [index; 4096]).collect::<Vec<u8>>());
        let store: Arc<dyn Store> = Arc::new(bytes);
        let pool = Pool::new(memory, &config, vec![("test".to_owned(), store)], None, None).unwrap();
        let opened = Opened::open(pool.store(StoreId(0)), "a").unwrap();
        let file = pool.opened(StoreId(0), "a", &opened).unwrap();
        let read = |reader, index: u64| {
            let (who, mut buffer) = (Who { reader: ReaderId(reader), disclosed: true }, [0; 4096]);
            pool.read(who, file, index * 4096, &mut buffer).unwrap();
            assert_eq!(buffer, [index as u8; 4096]);
        };
        read(0, 0);
        let mut session = pool.session();
        let before = session.manager().statistics().clone();
        thread::scope(|scope| {
            for reader in 1..=READERS {
                // It is here: that is told before what is asked, by whichever thread it was read.
                scope.spawn(move || read(reader, 0)).join().unwrap();
                scope.spawn(move || read(reader, u64::from(reader)));
            }
            while pool.posts.asked().count() < READERS as usize {
                thread::yield_now();
            }
            session.answer_others();
            let now = session.manager().statistics().clone();
            assert_eq!((now.hits - before.hits, now.misses - before.misses), (u64::from(READERS), u64::from(READERS)));
            drop(session);
        });
        (0..=READERS).for_each(|reader| read(reader, u64::from(reader)));
        assert_eq!(pool.session().manager().statistics().misses, before.misses + u64::from(READERS));
    }

    #[test]
    fn a_question_may_be_taken_back() {
        let slot = Slot::default();
        assert!(!slot.is_asked() && matches!(slot.take(), Inside::Nothing));
        slot.ask(Asked::Done(Done::Pull(ReaderId(3))));
        assert!(slot.is_asked() && !slot.is_answered());
        assert!(matches!(slot.take(), Inside::Asked(Asked::Done(Done::Pull(ReaderId(3))))));
        assert!(!slot.is_asked() && matches!(slot.take(), Inside::Nothing));
    }
}
