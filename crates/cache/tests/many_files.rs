//! Files are remembered as long as something is left of them: who opens a million in turn takes no
//! more memory for that, and a number that is another file's by now leads to that one's bytes. In a
//! process of its own, which nothing else takes memory of.

use std::fs;
use std::io::IoSliceMut;
use std::ops::Range;
use std::sync::Arc;
use std::thread;

use foresee::store::{Error, Listed, Object, Store, Version};
use foresee::{Cache, File};

const OPENED_FIRST: u64 = 40_000;
const OPENED_THEN: u64 = 120_000;
/// To remember all that are opened then took a third of a kibibyte for each.
const MORE_MAX: u64 = OPENED_THEN * 100;

/// There is an object of every number, which holds it.
struct Numbers;

struct Number(u64, Version);

impl Store for Numbers {
    fn open(&self, name: &str) -> Result<Arc<dyn Object>, Error> {
        Ok(Arc::new(Number(name.parse().map_err(|_| Error::NotFound)?, Version::Tag("".into()))))
    }

    fn list(&self, _: &str) -> Result<Vec<Listed>, Error> {
        Ok(Vec::new())
    }
}

impl Object for Number {
    fn size(&self) -> u64 {
        8
    }

    fn version(&self) -> &Version {
        &self.1
    }

    fn read(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error> {
        let bytes = &self.0.to_le_bytes()[offset as usize..];
        let came = pieces[0].len().min(bytes.len());
        pieces[0][..came].copy_from_slice(&bytes[..came]);
        Ok((came, self.1.clone()))
    }
}

/// Bytes that this process has in memory.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

fn check(file: &File, number: u64) {
    let mut buffer = [0; 8];
    assert_eq!(file.read_at(&mut buffer, 0).unwrap(), 8);
    assert_eq!(u64::from_le_bytes(buffer), number);
}

/// Two threads open files, one in order, which has some open for a while, one behind it.
fn open_all(cache: &Cache, numbers: Range<u64>) {
    let open = |number: u64| {
        let file = cache.open(&format!("numbers://{number}")).unwrap();
        check(&file, number);
        file
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut files = Vec::new();
            for number in numbers.clone() {
                if number % 16 == 0 {
                    cache.plan().address(&format!("numbers://{}", number + 8)).unwrap();
                }
                files.push((number, open(number)));
                if files.len() == 20 {
                    files.drain(..).for_each(|(number, file)| check(&file, number));
                }
            }
        });
        scope.spawn(|| numbers.clone().step_by(7).for_each(|number| drop(open(number / 2))));
    });
}

#[test]
fn what_nothing_is_left_of_is_forgotten() {
    let cache = Cache::builder().memory(4 << 20).block_bytes(4096).store("numbers", Arc::new(Numbers));
    let cache = cache.open().unwrap();
    open_all(&cache, 0..OPENED_FIRST);
    let before = resident();
    open_all(&cache, OPENED_FIRST..OPENED_FIRST + OPENED_THEN);
    let more = resident().saturating_sub(before);
    assert!(more < MORE_MAX, "{more} bytes for {OPENED_THEN} files");
}
