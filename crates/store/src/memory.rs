//! Objects in memory: small data beside others, and what tests replace while it is read.

use std::collections::BTreeMap;
use std::io::IoSliceMut;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Error, Listed, Object, Store, Version};

/// The bytes of an object, and which they are.
type Generation = (Version, Arc<[u8]>);

/// Objects by name. A clone shares them.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Generation>,
    generations: u64,
}

impl Memory {
    /// Puts an object of these bytes in the place of what had its name.
    pub fn put(&self, name: &str, bytes: impl Into<Arc<[u8]>>) {
        self.with(|state| {
            state.generations += 1;
            let version = Version::Tag(state.generations.to_string().into());
            state.objects.insert(name.to_owned(), (version, bytes.into()));
        });
    }

    /// Removes an object.
    pub fn remove(&self, name: &str) {
        self.with(|state| state.objects.remove(name));
    }

    fn get(&self, name: &str) -> Result<Generation, Error> {
        self.with(|state| state.objects.get(name).cloned()).ok_or(Error::NotFound)
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Store for Memory {
    fn open(&self, name: &str) -> Result<Arc<dyn Object>, Error> {
        let (version, bytes) = self.get(name)?;
        Ok(Arc::new(Open { store: self.clone(), name: name.to_owned(), version, size: bytes.len() as u64 }))
    }

    /// They are counted anew.
    fn versions_last(&self) -> bool {
        false
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error> {
        let listed = |(name, (version, bytes)): (&String, &Generation)| Listed {
            name: name.clone(),
            size: bytes.len() as u64,
            version: Some(version.clone()),
            modified: None,
        };
        let of_prefix = |(name, _): &(&String, &Generation)| name.starts_with(prefix);
        Ok(self.with(|state| state.objects.range(prefix.to_owned()..).take_while(of_prefix).map(listed).collect()))
    }
}

/// As an object store has it, whose requests name no version: what is read is of the object as it
/// is by then.
struct Open {
    store: Memory,
    name: String,
    version: Version,
    size: u64,
}

impl Object for Open {
    fn size(&self) -> u64 {
        self.size
    }

    fn version(&self) -> &Version {
        &self.version
    }

    fn read(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error> {
        let (version, bytes) = self.store.get(&self.name)?;
        let mut rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or(&[]);
        let before = rest.len();
        for piece in pieces {
            let (now, later) = rest.split_at(piece.len().min(rest.len()));
            piece[..now.len()].copy_from_slice(now);
            rest = later;
        }
        Ok((before - rest.len(), version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_says_which_version_it_is_of() {
        let store = Memory::default();
        store.put("a/1", *b"abcdef");
        let object = store.open("a/1").unwrap();
        let (mut one, mut two) = ([0; 2], [0; 3]);
        let mut pieces = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
        assert_eq!(object.read(2, &mut pieces).unwrap(), (4, object.version().clone()));
        assert_eq!((&one, &two), (b"cd", b"ef\0"));
        store.put("a/1", *b"other");
        let (bytes, version) = object.read(9, &mut []).unwrap();
        assert!(bytes == 0 && version != *object.version() && object.size() == 6);
        store.remove("a/1");
        assert!(matches!(object.read(0, &mut []), Err(Error::NotFound)));
    }

    #[test]
    fn what_has_the_prefix_is_listed() {
        let store = Memory::default();
        for name in ["a", "b/1", "b/2", "c"] {
            store.put(name, name.as_bytes());
        }
        let listed: Vec<_> = store.list("b/").unwrap().into_iter().map(|it| (it.name, it.size)).collect();
        assert_eq!(listed, [("b/1".to_owned(), 3), ("b/2".to_owned(), 3)]);
        assert_eq!(store.list("d").unwrap(), []);
    }
}
