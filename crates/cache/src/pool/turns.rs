//! What waits for its turn: the most urgent first, and what is as urgent as it came.

use std::array;
use std::collections::VecDeque;

use foresee_manager::Class;

/// How urgent it can be, the most urgent first.
const CLASSES: [Class; 3] = [Class::Demand, Class::Hinted, Class::Guessed];

/// All that waits.
pub struct Turns<T>([VecDeque<T>; CLASSES.len()]);

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Turns(array::from_fn(|_| VecDeque::new()))
    }
}

impl<T> Turns<T> {
    /// One more, behind all that are as urgent.
    pub fn push(&mut self, one: T, class: Class) {
        self.0[class as usize].push_back(one);
    }

    /// Whose turn it is, and how urgent that is.
    pub fn pop(&mut self) -> Option<(T, Class)> {
        CLASSES.into_iter().zip(&mut self.0).find_map(|(class, waiting)| Some((waiting.pop_front()?, class)))
    }

    /// A reader came for these: their turn is after what readers came for before.
    pub fn hurry(&mut self, is_waited_for: impl Fn(&T) -> bool) {
        let [demanded, ahead @ ..] = &mut self.0;
        for ahead in ahead {
            while let Some(one) = ahead.iter().position(&is_waited_for).and_then(|at| ahead.remove(at)) {
                demanded.push_back(one);
            }
        }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.0.iter().map(VecDeque::len).sum()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(VecDeque::is_empty)
    }
}

#[cfg(test)]
pub mod tests {
    use std::io::IoSliceMut;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex};

    use foresee_manager::{Block, Config, DeviceId, Event, FileId, ReaderId, Source, Want};
    use foresee_store::{Error, Listed, Object, Store, Version};

    use super::super::fetch::Task;
    use super::super::frame::Pin;
    use super::super::wait::Wait;
    use super::super::workers::Workers;
    use super::super::{Memory, Opened, Pool, StoreId, Who};
    use super::*;

    const BLOCK: usize = 4096;

    /// A store that opens nothing until it is let.
    struct Gate(Mutex<Receiver<()>>);

    impl Store for Gate {
        fn open(&self, _: &str) -> Result<Arc<dyn Object>, Error> {
            let _ = self.0.lock().unwrap().recv();
            Err(Error::NotFound)
        }

        fn list(&self, _: &str) -> Result<Vec<Listed>, Error> {
            Ok(Vec::new())
        }
    }

    /// Keeps so many threads busy, each until it is let go on; all of them once this is dropped.
    pub fn keep_busy(workers: &Arc<Workers>, threads: usize) -> Sender<()> {
        let (sender, receiver) = channel();
        let gate: Arc<dyn Store> = Arc::new(Gate(Mutex::new(receiver)));
        for _ in 0..threads {
            workers.add(Task::Open(FileId(1), Arc::clone(&gate), "gate".into()), Class::Demand);
        }
        sender
    }

    /// A reader discloses a block.
    pub fn disclose(pool: &Pool, block: Block) {
        let want = Want::Range { first: block.index, count: 1 };
        pool.session().tell(Event::Hint { reader: ReaderId(0), source: Source::Library, file: block.file, want });
    }

    /// A reader waits for a block.
    pub fn wait_for(pool: &Pool, reader: u32, block: Block) -> Arc<Wait> {
        let (who, wait) = (Who { reader: ReaderId(reader), disclosed: false }, Arc::new(Wait::new(Pin::Copy, None)));
        pool.session().wait_for(who, block, 1, &wait);
        wait
    }

    /// Of one request at a time; which blocks it was asked for.
    #[derive(Clone, Default)]
    struct Slow(Arc<Mutex<Vec<u64>>>);

    impl Store for Slow {
        fn open(&self, _: &str) -> Result<Arc<dyn Object>, Error> {
            Ok(Arc::new(self.clone()))
        }

        fn list(&self, _: &str) -> Result<Vec<Listed>, Error> {
            Ok(Vec::new())
        }

        fn depth(&self) -> usize {
            1
        }
    }

    impl Object for Slow {
        fn size(&self) -> u64 {
            100 * BLOCK as u64
        }

        fn version(&self) -> &Version {
            const { &Version::Stamp([0; 5]) }
        }

        fn read(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error> {
            self.0.lock().unwrap().push(offset / BLOCK as u64);
            Ok((pieces.iter().map(|piece| piece.len()).sum(), Object::version(self).clone()))
        }
    }

    #[test]
    fn what_was_fetched_ahead_and_is_waited_for_has_its_turn_among_what_is_waited_for() {
        let store = Slow::default();
        let stores: Vec<(String, Arc<dyn Store>)> = vec![("test".to_owned(), Arc::new(store.clone()))];
        let config = Config::new(64, "informed".parse().unwrap());
        let pool = Pool::new(Memory::new(64, BLOCK).unwrap(), &config, stores, None, None).unwrap();
        let opened = Opened::open(pool.store(StoreId(0)), "a").unwrap();
        let file = pool.opened(StoreId(0), "a", &opened).unwrap();
        let workers = Arc::clone(pool.session().host().objects.devices.workers(DeviceId(0)));
        let busy = keep_busy(&workers, 1);
        disclose(&pool, Block { file, index: 70 });
        disclose(&pool, Block { file, index: 90 });
        let wait = |reader, index| wait_for(&pool, reader, Block { file, index });
        let mut waits = vec![wait(1, 0), wait(0, 70)];
        waits.extend((1..20).map(|reader| wait(reader + 1, u64::from(reader) * 3)));
        drop(busy);
        for wait in waits {
            let mut arrived = Vec::new();
            assert!(wait.next(&mut arrived).is_none_or(|it| it.is_ok()));
        }
        let asked = store.0.lock().unwrap().clone();
        let others = asked[2..].iter().take_while(|&&block| block != 90).count();
        assert_eq!((&asked[..2], others), (&[0, 70][..], 19), "{asked:?}");
    }

    #[test]
    fn who_is_hurried_comes_after_who_was_urgent_before() {
        let mut turns = Turns::default();
        for (one, class) in [(0, Class::Guessed), (1, Class::Hinted), (2, Class::Hinted), (3, Class::Demand)] {
            turns.push(one, class);
        }
        turns.hurry(|one| one % 2 == 0);
        turns.push(4, Class::Demand);
        assert_eq!(turns.len(), 5);
        let all: Vec<_> = std::iter::from_fn(|| turns.pop()).collect();
        let mut expected: Vec<_> = [3, 2, 0, 4].into_iter().map(|one| (one, Class::Demand)).collect();
        expected.push((1, Class::Hinted));
        assert_eq!((all, turns.is_empty()), (expected, true));
    }
}
