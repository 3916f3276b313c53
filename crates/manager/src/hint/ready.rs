//! Entries whose names are known, and that wait to be fetched from their devices: in the order in which they were
//! disclosed; or, of what is in no order, as they lie there, if that is known, one sweep after the other. What is read next
//! of it nobody knows, and an arm turns least so; nor need it be known whether a device has one, which shows late or not at
//! all where programs read beside us.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::ids::{Block, DeviceId};
use crate::layout::Home;
use crate::table::FastMap;

/// Where an entry begins: the place of its file and the block there; nought for all that come in order, as for those of
/// which it is not known.
type Place = (u64, u64);

const NO_PLACE: Place = (0, 0);

/// What waits for one device.
#[derive(Default)]
struct Queue {
    /// With the position of each.
    waiting: BTreeSet<(Place, u64)>,
    /// Where the sweep has come to.
    head: (Place, u64),
}

impl Queue {
    fn turns(&self) -> impl Iterator<Item = u64> + '_ {
        let Queue { waiting, head } = self;
        waiting.range(head..).chain(waiting.range(..head)).map(|&(_, position)| position)
    }
}

pub(super) struct Ready {
    is_ordered: bool,
    queues: BTreeMap<DeviceId, Queue>,
    /// By position.
    places: FastMap<u64, (DeviceId, Place)>,
}

impl Ready {
    pub fn new(is_ordered: bool) -> Self {
        Ready { is_ordered, queues: BTreeMap::new(), places: FastMap::default() }
    }

    /// The entry at this position waits, if it did not yet; this is its first block.
    pub fn insert(&mut self, position: u64, home: Home, first: Block) {
        let has_place = !self.is_ordered && home.place != 0;
        let place = if has_place { (home.place, first.index) } else { NO_PLACE };
        if self.places.get(&position) != Some(&(home.device, place)) {
            self.remove(position);
            self.places.insert(position, (home.device, place));
            self.queues.entry(home.device).or_default().waiting.insert((place, position));
        }
    }

    /// It waits no longer.
    pub fn remove(&mut self, position: u64) {
        let Some((device, place)) = self.places.remove(&position) else { return };
        if let Some(queue) = self.queues.get_mut(&device) {
            queue.waiting.remove(&(place, position));
        }
    }

    /// Some of it is fetched.
    pub fn taken(&mut self, position: u64) {
        if let Some(&(device, place)) = self.places.get(&position)
            && place != NO_PLACE
            && let Some(queue) = self.queues.get_mut(&device)
        {
            queue.head = (place, position);
        }
    }

    /// The next device for which any waits, behind this one.
    pub fn next_device(&self, after: Option<DeviceId>) -> Option<DeviceId> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let waits = |(_, queue): &(&DeviceId, &Queue)| !queue.waiting.is_empty();
        self.queues.range((from, Bound::Unbounded)).find(waits).map(|(&device, _)| device)
    }

    /// The position of the one that is fetched next from a device.
    pub fn next(&self, device: DeviceId) -> Option<u64> {
        self.of(device).next()
    }

    /// The positions of those that wait for a device, as their turns come.
    pub fn of(&self, device: DeviceId) -> impl Iterator<Item = u64> + '_ {
        self.queues.get(&device).into_iter().flat_map(Queue::turns)
    }

    /// The earliest position.
    pub fn earliest(&self) -> Option<u64> {
        self.places.keys().min().copied()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FileId;

    const FIRST: Block = Block { file: FileId(0), index: 0 };
    const DEVICES: [DeviceId; 2] = [DeviceId(0), DeviceId(1)];

    /// What waits, at these positions and places, half of it for each device.
    fn of(is_ordered: bool, places: &[(u64, u64)]) -> Ready {
        let mut ready = Ready::new(is_ordered);
        for (at, &(place, index)) in places.iter().enumerate() {
            let home = Home { device: DEVICES[at % 2], place };
            ready.insert(at as u64, home, Block { index, ..FIRST });
        }
        ready
    }

    /// The positions in the order in which they are fetched from a device.
    fn fetched(ready: &mut Ready, device: DeviceId) -> Vec<u64> {
        let mut fetch = || {
            let position = ready.next(device)?;
            ready.taken(position);
            ready.remove(position);
            Some(position)
        };
        std::iter::from_fn(&mut fetch).collect()
    }

    const PLACES: [(u64, u64); 6] = [(900, 0), (10, 0), (100, 7), (50, 3), (100, 2), (10, 1)];

    #[test]
    fn what_comes_in_order_is_fetched_in_order() {
        let mut ready = of(true, &PLACES);
        assert_eq!(DEVICES.map(|device| fetched(&mut ready, device)), [vec![0, 2, 4], vec![1, 3, 5]]);
        assert_eq!((ready.len(), ready.next_device(None)), (0, None));
    }

    #[test]
    fn what_comes_in_none_is_fetched_in_sweeps() {
        let mut ready = of(false, &PLACES);
        assert_eq!(
            (ready.next_device(None), ready.next_device(Some(DEVICES[0]))),
            (Some(DEVICES[0]), Some(DEVICES[1]))
        );
        assert_eq!(DEVICES.map(|device| fetched(&mut ready, device)), [vec![4, 2, 0], vec![1, 5, 3]]);
        let mut ready = of(false, &PLACES);
        ready.taken(2);
        ready.remove(2);
        let home = |place| Home { device: DEVICES[0], place };
        [(6, 60), (7, 200)].into_iter().for_each(|(position, place)| ready.insert(position, home(place), FIRST));
        assert_eq!(
            fetched(&mut ready, DEVICES[0]),
            [7, 0, 6, 4],
            "what comes in behind the sweep waits for the next one"
        );
    }

    #[test]
    fn what_waits_twice_waits_once_where_it_is_now() {
        let mut ready = of(false, &PLACES);
        ready.insert(0, Home { device: DEVICES[1], place: 5 }, FIRST);
        assert_eq!((ready.len(), ready.earliest()), (6, Some(0)));
        assert_eq!(DEVICES.map(|device| fetched(&mut ready, device)), [vec![4, 2], vec![0, 1, 5, 3]]);
        assert_eq!((ready.len(), ready.earliest()), (0, None));
    }

    #[test]
    fn what_has_no_place_is_fetched_in_order() {
        let mut ready = of(false, &[(0, 9), (0, 1), (0, 3), (0, 2), (0, 3), (0, 0)]);
        assert_eq!(DEVICES.map(|device| fetched(&mut ready, device)), [vec![0, 2, 4], vec![1, 3, 5]]);
    }
}
