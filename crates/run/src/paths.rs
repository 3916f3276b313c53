//! Many paths: all in one piece of memory, for a run names tens of thousands, and to make and free
//! each by itself takes longer than what is done with it.

use std::ffi::OsStr;
use std::hash::BuildHasher;
use std::ops::Index;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// A list of paths, numbered from 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paths {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Paths {
    /// Appends one.
    pub fn push(&mut self, path: &Path) {
        self.bytes.extend_from_slice(path.as_os_str().as_bytes());
        self.ends.push(self.bytes.len());
    }

    /// Appends one that begins as the last does, for so many bytes; what this writes is the rest of
    /// it. None, and nothing is appended, if the last has not so many, or there is no rest.
    pub(crate) fn push_sharing(
        &mut self,
        shared: usize,
        write_rest: impl FnOnce(&mut Vec<u8>) -> Option<()>,
    ) -> Option<()> {
        let (begin, end) = (self.begin(self.len().saturating_sub(1)), self.bytes.len());
        if shared > end - begin {
            return None;
        }
        self.bytes.extend_from_within(begin..begin + shared);
        let written = write_rest(&mut self.bytes);
        match written {
            Some(()) => self.ends.push(self.bytes.len()),
            None => self.bytes.truncate(end),
        }
        written
    }

    /// Each with the number of bytes with which it begins as the one before does.
    pub(crate) fn sharing(&self) -> impl Iterator<Item = (usize, &Path)> {
        let before = std::iter::once(Path::new("")).chain(self.iter());
        before.zip(self.iter()).map(|(before, path)| {
            let bytes = before.as_os_str().as_bytes().iter().zip(path.as_os_str().as_bytes());
            (bytes.take_while(|(one, other)| one == other).count(), path)
        })
    }

    /// Where the one at this place begins.
    fn begin(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all of them together.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The one of this number, if there are so many.
    pub fn get(&self, number: u32) -> Option<&Path> {
        let at = number as usize;
        let end = *self.ends.get(at)?;
        Some(Path::new(OsStr::from_bytes(&self.bytes[self.begin(at)..end])))
    }

    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        (0..self.len() as u32).map(|number| &self[number])
    }
}

impl Index<u32> for Paths {
    type Output = Path;

    fn index(&self, number: u32) -> &Path {
        self.get(number).expect("it has been numbered")
    }
}

impl<P: AsRef<Path>> FromIterator<P> for Paths {
    fn from_iter<I: IntoIterator<Item = P>>(all: I) -> Self {
        let mut paths = Paths::default();
        all.into_iter().for_each(|path| paths.push(path.as_ref()));
        paths
    }
}

/// Paths, each once, and found by what they are.
///
/// They are compared by their bytes: all are tidied ([`crate::names::absolute`]), and to take a path
/// apart costs more than to compare it.
#[derive(Default)]
pub(crate) struct PathTable {
    paths: Paths,
    numbers: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
}

impl PathTable {
    /// The number of this path, if it has one.
    pub fn find(&self, path: &Path) -> Option<u32> {
        let hash = self.hasher.hash_one(path.as_os_str());
        self.numbers.find(hash, |&number| self.paths[number].as_os_str() == path.as_os_str()).copied()
    }

    /// The number of this path: the next, if it has none.
    pub fn number(&mut self, path: &Path) -> u32 {
        let PathTable { paths, numbers, hasher } = self;
        let hash = |path: &Path| hasher.hash_one(path.as_os_str());
        let is_it = |&number: &u32| paths[number].as_os_str() == path.as_os_str();
        match numbers.entry(hash(path), is_it, |&number| hash(&paths[number])) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let number = paths.len() as u32;
                place.insert(number);
                paths.push(path);
                number
            }
        }
    }

    /// All of them.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The same, of a table that is not needed any more.
    pub fn into_paths(self) -> Paths {
        self.paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn what_begins_as_the_last_one_reads_back(names in proptest::collection::vec("[ab/]{0,5}", 0..20)) {
            let (paths, mut again) = (names.iter().collect::<Paths>(), Paths::default());
            for (shared, path) in paths.sharing() {
                let bytes = path.as_os_str().as_bytes();
                let whole = again.clone();
                proptest::prop_assert_eq!(again.push_sharing(shared, |_| None), None);
                let last = whole.iter().last().map_or(0, |last| last.as_os_str().len());
                proptest::prop_assert_eq!(again.push_sharing(last + 1, |_| Some(())), None);
                proptest::prop_assert_eq!(&again, &whole);
                let written = again.push_sharing(shared, |rest| {
                    rest.extend_from_slice(&bytes[shared..]);
                    Some(())
                });
                proptest::prop_assert_eq!(written, Some(()));
            }
            proptest::prop_assert_eq!(again, paths);
        }

        #[test]
        fn each_path_has_one_number_and_is_found_by_it(names in proptest::collection::vec("[ab/]{0,3}", 0..60)) {
            let mut table = PathTable::default();
            let mut known: Vec<&str> = Vec::new();
            for name in &names {
                let before = known.iter().position(|it| it == name);
                proptest::prop_assert_eq!(table.find(Path::new(name)), before.map(|at| at as u32));
                let at = before.unwrap_or(known.len());
                proptest::prop_assert_eq!(table.number(Path::new(name)), at as u32);
                if before.is_none() {
                    known.push(name);
                }
            }
            let of = |path: &Path| path.to_str().unwrap().to_owned();
            proptest::prop_assert_eq!(table.paths().iter().map(of).collect::<Vec<_>>(), known.clone());
            proptest::prop_assert_eq!(table.paths().bytes(), known.iter().map(|it| it.len()).sum::<usize>());
            proptest::prop_assert_eq!(table.paths().get(known.len() as u32), None);
            proptest::prop_assert_eq!(table.into_paths(), known.iter().collect::<Paths>());
        }
    }
}
