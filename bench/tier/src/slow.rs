//! The store: bytes made up as they are read, a while later; it counts them.

use std::io::IoSliceMut;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use foresee::store::{Error, Listed, Object, Store, Version};

/// What one request takes.
pub const LATENCY: Duration = Duration::from_millis(2);

/// The store, which has one object of so many bytes whatever is asked for.
#[derive(Clone)]
pub struct Slow {
    size: u64,
    version: Version,
    given: Arc<AtomicU64>,
}

impl Slow {
    pub fn new(size: u64) -> Self {
        Slow { size, version: Version::Tag("1".into()), given: Arc::default() }
    }

    /// Bytes that were read.
    pub fn given(&self) -> u64 {
        self.given.load(Relaxed)
    }

    /// Reads what lies at a place.
    pub fn fill(&self, offset: u64, buffer: &mut [u8]) {
        thread::sleep(LATENCY);
        self.given.fetch_add(buffer.len() as u64, Relaxed);
        make_up(offset, buffer);
    }
}

fn make_up(offset: u64, buffer: &mut [u8]) {
    for (word, at) in buffer.chunks_mut(8).zip((offset / 8)..) {
        let mixed = at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        word.copy_from_slice(&mixed[..word.len()]);
    }
}

/// Whether the bytes are those that lie at a place.
pub fn is_right(offset: u64, bytes: &[u8]) -> bool {
    let mut expected = vec![0; bytes.len()];
    make_up(offset, &mut expected);
    expected == bytes
}

impl Store for Slow {
    fn open(&self, _: &str) -> Result<Arc<dyn Object>, Error> {
        Ok(Arc::new(self.clone()))
    }

    fn list(&self, _: &str) -> Result<Vec<Listed>, Error> {
        Ok(Vec::new())
    }
}

impl Object for Slow {
    fn size(&self) -> u64 {
        self.size
    }

    fn version(&self) -> &Version {
        &self.version
    }

    fn read(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error> {
        thread::sleep(LATENCY);
        let mut came = 0;
        for piece in pieces {
            make_up(offset + came as u64, piece);
            came += piece.len();
        }
        self.given.fetch_add(came as u64, Relaxed);
        Ok((came, self.version.clone()))
    }
}
