//! The names of a directory, in the two orders in which programs go through them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// An order of a directory's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As the file system lists them.
    Listed,
    /// By the bytes of their names.
    Sorted,
}

impl Order {
    pub const ALL: [Order; 2] = [Order::Listed, Order::Sorted];
}

/// What tells the files of one directory apart that a program reads (`*.c`) from those that it
/// passes over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    hidden: bool,
    extension: Option<OsString>,
}

impl Kind {
    pub fn of(name: &OsStr) -> Self {
        Kind { hidden: is_hidden(name), extension: extension(name).map(OsStr::to_owned) }
    }

    pub fn has(&self, name: &OsStr) -> bool {
        self.hidden == is_hidden(name) && self.extension.as_deref() == extension(name)
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".")
}

fn extension(name: &OsStr) -> Option<&OsStr> {
    Path::new(name).extension()
}

/// A listing: 24 bytes a file beside its name.
pub struct Names {
    sorted: Vec<Box<OsStr>>,
    /// The listing's order, as places in `sorted`.
    listed: Vec<u32>,
    /// Where in `listed` each of `sorted` is.
    place: Vec<u32>,
}

impl Names {
    /// Of a directory that lists these names.
    pub fn new(names: Vec<Box<OsStr>>) -> Self {
        let mut by_name: Vec<(Box<OsStr>, u32)> = names.into_iter().zip(0..).collect();
        by_name.sort_unstable();
        let (sorted, place): (Vec<_>, Vec<u32>) = by_name.into_iter().unzip();
        let mut listed = vec![0; place.len()];
        for (&at, name) in place.iter().zip(0..) {
            listed[at as usize] = name;
        }
        Names { sorted, listed, place }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Where a name is in this order.
    pub fn find(&self, order: Order, name: &OsStr) -> Option<usize> {
        let at = self.sorted.binary_search_by(|it| (**it).cmp(name)).ok()?;
        Some(match order {
            Order::Listed => self.place[at] as usize,
            Order::Sorted => at,
        })
    }

    /// The first name at `from` or after it, of this kind if one is given, and where it is.
    pub fn next(&self, order: Order, from: usize, kind: Option<&Kind>) -> Option<(usize, &OsStr)> {
        let all = (from..self.sorted.len()).filter_map(|at| Some((at, self.get(order, at)?)));
        all.into_iter().find(|(_, name)| kind.is_none_or(|kind| kind.has(name)))
    }

    /// The name at this place.
    pub fn get(&self, order: Order, at: usize) -> Option<&OsStr> {
        let at = match order {
            Order::Listed => *self.listed.get(at)? as usize,
            Order::Sorted => at,
        };
        Some(self.sorted.get(at)?)
    }

    /// Whether these follow one another, with nothing of the kind between them.
    pub fn are_neighbours<'a>(
        &self,
        order: Order,
        kind: Option<&Kind>,
        mut names: impl Iterator<Item = &'a OsStr>,
    ) -> bool {
        let Some(mut at) = names.next().and_then(|first| self.find(order, first)) else { return false };
        names.all(|name| match self.next(order, at + 1, kind) {
            Some((next, found)) if found == name => {
                at = next;
                true
            }
            _ => false,
        })
    }

    /// Whether each of these comes after the one before it, with no more than so many between them.
    pub fn are_near<'a>(&self, order: Order, between_max: usize, mut names: impl Iterator<Item = &'a OsStr>) -> bool {
        let Some(mut at) = names.next().and_then(|first| self.find(order, first)) else { return false };
        names.all(|name| {
            let next = self.find(order, name).filter(|&next| at < next && next - at - 1 <= between_max);
            next.inspect(|&next| at = next).is_some()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(list: &[&str]) -> Names {
        Names::new(list.iter().map(|name| OsStr::new(name).into()).collect())
    }

    fn all(names: &Names, order: Order, kind: Option<&Kind>) -> Vec<String> {
        let mut from = 0;
        let next = || {
            let (at, name) = names.next(order, from, kind)?;
            from = at + 1;
            Some(name.to_string_lossy().into_owned())
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn both_orders_and_one_kind_alone() {
        let names = names(&["m.h", "b.c", ".a.c", "c", "a.c"]);
        assert_eq!(all(&names, Order::Listed, None), ["m.h", "b.c", ".a.c", "c", "a.c"]);
        assert_eq!(all(&names, Order::Sorted, None), [".a.c", "a.c", "b.c", "c", "m.h"]);
        let c = Kind::of(OsStr::new("x.c"));
        assert_eq!(all(&names, Order::Listed, Some(&c)), ["b.c", "a.c"]);
        assert_eq!(all(&names, Order::Sorted, Some(&Kind::of(OsStr::new("n")))), ["c"]);
        assert_eq!(
            (names.find(Order::Listed, OsStr::new("a.c")), names.find(Order::Sorted, OsStr::new("z"))),
            (Some(4), None)
        );
        let are = |order, kind, list: &[&str]| names.are_neighbours(order, kind, list.iter().map(OsStr::new));
        assert!(are(Order::Listed, None, &["b.c", ".a.c", "c"]) && !are(Order::Sorted, None, &["b.c", ".a.c", "c"]));
        assert!(!are(Order::Listed, None, &["b.c", "a.c"]) && are(Order::Listed, Some(&c), &["b.c", "a.c"]));
    }

    proptest! {
        #[test]
        fn the_orders_are_the_directory_s(list in prop::collection::hash_set("[a-c.]{1,4}", 0..40)) {
            let list: Vec<String> = list.into_iter().collect();
            let mut by_name = list.clone();
            by_name.sort();
            let names = names(&list.iter().map(String::as_str).collect::<Vec<_>>());
            for (order, expected) in [(Order::Listed, list), (Order::Sorted, by_name)] {
                for (at, name) in expected.iter().enumerate() {
                    prop_assert_eq!(names.find(order, OsStr::new(name)), Some(at));
                }
                prop_assert_eq!(all(&names, order, None), expected);
            }
        }
    }
}
