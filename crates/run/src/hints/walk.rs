//! Walking directories ahead of a program that will walk them: many are listed at once, and their
//! files come out in the order in which a depth-first walk meets them.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use foldhash::HashMap;

use crate::host::Listed;

/// Directories listed at once: a few at first, one more with each that was listed, up to what is
/// enough for a device that answers many requests at a time.
const LISTINGS_FIRST: usize = 4;
const LISTINGS_MAX: usize = 48;
/// Files that were listed and did not come out yet. With so many, only the directory is listed in
/// which the walk stands: to list 48 directories of a thousand files takes 40 ms of a processor,
/// and the program may not come to them.
const WAITING_MAX: usize = 4096;
/// Entries one walk remembers: some 100 MB of paths. Beyond it the walk ends, and the program goes
/// on without.
const ENTRIES_MAX: usize = 1 << 20;

enum Children {
    /// Not asked for yet.
    Unlisted,
    Asked,
    /// Asked for, and passed over since.
    AskedInVain,
    Known(VecDeque<Child>),
    /// It is a file after all.
    NoDirectory,
}

enum Child {
    File(PathBuf),
    Directory(usize),
}

struct Node {
    path: PathBuf,
    children: Children,
    /// It came out itself; what is in it follows.
    told: bool,
}

/// What a walk has found next.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// A directory, before what is in it.
    Directory(PathBuf),
    /// A file.
    File(PathBuf),
}

/// A walk in progress.
pub struct Walk {
    nodes: Vec<Node>,
    /// A path may be walked more than once.
    by_path: HashMap<PathBuf, Vec<usize>>,
    /// The directories on the way from a root to where the walk stands; not yet begun roots wait in
    /// `roots`.
    stack: Vec<usize>,
    roots: VecDeque<Child>,
    /// Directories to list, nearest in the walk first within each listing.
    unlisted: VecDeque<usize>,
    asked: usize,
    at_once: usize,
    entries: usize,
    waiting: usize,
    skip_hidden: bool,
    /// All up to this file is passed over.
    sought: Option<PathBuf>,
}

impl Walk {
    /// A walk of these paths. If `into` directories, each is tried as one; else each is a file.
    pub fn new(roots: Vec<PathBuf>, into: bool, skip_hidden: bool) -> Self {
        let mut walk = Walk {
            nodes: Vec::new(),
            by_path: HashMap::default(),
            stack: Vec::new(),
            roots: VecDeque::new(),
            unlisted: VecDeque::new(),
            asked: 0,
            at_once: LISTINGS_FIRST,
            entries: 0,
            waiting: 0,
            skip_hidden,
            sought: None,
        };
        for path in roots {
            let child = if into { walk.add_directory(path) } else { Child::File(path) };
            walk.roots.push_back(child);
        }
        walk
    }

    fn add_directory(&mut self, path: PathBuf) -> Child {
        let node = self.nodes.len();
        self.by_path.entry(path.clone()).or_default().push(node);
        self.nodes.push(Node { path, children: Children::Unlisted, told: false });
        self.unlisted.push_back(node);
        Child::Directory(node)
    }

    /// The next directory to list, if more may be listed at once.
    pub fn next_listing(&mut self) -> Option<&Path> {
        if self.asked >= self.at_once {
            return None;
        }
        let is_unlisted = |node: &usize| matches!(self.nodes[*node].children, Children::Unlisted);
        let node = if self.waiting >= WAITING_MAX {
            self.stack.last().copied().filter(is_unlisted)?
        } else {
            loop {
                let node = self.unlisted.pop_front()?;
                if is_unlisted(&node) {
                    break node;
                }
            }
        };
        self.asked += 1;
        self.nodes[node].children = Children::Asked;
        Some(&self.nodes[node].path)
    }

    /// A directory was listed, or proved to be none or closed to us.
    pub fn listed(&mut self, path: &Path, entries: io::Result<Vec<Listed>>) {
        let mut of_path = self.by_path.get(path).into_iter().flatten();
        let is_asked = |node: usize| matches!(self.nodes[node].children, Children::Asked | Children::AskedInVain);
        let Some(&node) = of_path.find(|&&node| is_asked(node)) else { return };
        self.asked -= 1;
        self.at_once = (self.at_once + 1).min(LISTINGS_MAX);
        if matches!(self.nodes[node].children, Children::AskedInVain) {
            self.nodes[node].children = Children::Known(VecDeque::new());
            return;
        }
        let entries = match entries {
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                self.nodes[node].children = Children::NoDirectory;
                return;
            }
            entries => entries.unwrap_or_default(),
        };
        let mut children = VecDeque::new();
        for entry in entries {
            let hidden = entry.path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            if (hidden && self.skip_hidden) || self.entries >= ENTRIES_MAX {
                continue;
            }
            self.entries += 1;
            if entry.is_directory {
                children.push_back(self.add_directory(entry.path));
            } else if entry.is_file {
                self.waiting += 1;
                children.push_back(Child::File(entry.path));
            }
        }
        self.nodes[node].children = Children::Known(children);
    }

    /// From now on only what comes after this file is found, or is in this directory. Returns
    /// whether that is to come at all, as far as is known.
    pub fn skip_past(&mut self, file: &Path) -> bool {
        let is_to_come = |child: &Child| match child {
            Child::File(path) => path == file,
            Child::Directory(node) => file.starts_with(&self.nodes[*node].path),
        };
        let is_in = |node: &usize| file.starts_with(&self.nodes[*node].path);
        let is_ahead = self.stack.iter().any(is_in) || self.roots.iter().any(is_to_come);
        if is_ahead {
            self.sought = Some(file.to_owned());
        }
        is_ahead
    }

    /// Of what is in this directory and did not come out yet, nothing will. Nor need it be listed.
    fn pass_over(&mut self, node: usize) {
        let mut over = vec![node];
        while let Some(node) = over.pop() {
            let children = &mut self.nodes[node].children;
            *children = match std::mem::replace(children, Children::NoDirectory) {
                Children::Asked | Children::AskedInVain => Children::AskedInVain,
                Children::NoDirectory => Children::NoDirectory,
                Children::Unlisted => Children::Known(VecDeque::new()),
                Children::Known(left) => {
                    for child in left {
                        match child {
                            Child::File(_) => self.waiting -= 1,
                            Child::Directory(node) => over.push(node),
                        }
                    }
                    Children::Known(VecDeque::new())
                }
            };
        }
    }

    /// Whether this comes before what is sought.
    fn passes_over(&mut self, child: &Child) -> bool {
        let Some(sought) = &self.sought else { return false };
        match child {
            Child::File(path) => {
                if path == sought {
                    self.sought = None;
                }
                true
            }
            Child::Directory(node) => {
                let path = &self.nodes[*node].path;
                if path == sought {
                    self.sought = None;
                    return false;
                }
                let is_before = !sought.starts_with(path);
                if is_before {
                    self.pass_over(*node);
                }
                is_before
            }
        }
    }

    /// The directory that the walk stands in has nothing more of what is sought.
    fn leave(&mut self) {
        let left = self.stack.pop();
        left.into_iter().for_each(|node| self.pass_over(node));
        let left = left.map(|node| &self.nodes[node].path);
        // It is gone, or the program skips it: then this is as near as we get.
        if left.is_some_and(|left| self.sought.as_ref().is_some_and(|sought| sought.parent() == Some(left))) {
            self.sought = None;
        }
    }

    /// The next thing in walking order; None while its directory is not listed, or at the end.
    pub fn next_found(&mut self) -> Option<Found> {
        loop {
            let child = match self.stack.last().map(|&node| &mut self.nodes[node]) {
                None => self.roots.pop_front()?,
                Some(node) if self.sought.as_ref().is_some_and(|sought| !sought.starts_with(&node.path)) => {
                    self.leave();
                    continue;
                }
                Some(node) => match &mut node.children {
                    Children::Unlisted | Children::Asked | Children::AskedInVain => return None,
                    Children::NoDirectory => {
                        let path = node.path.clone();
                        self.stack.pop();
                        if self.sought.take().is_some() {
                            continue;
                        }
                        return Some(Found::File(path));
                    }
                    Children::Known(_) if !node.told => {
                        node.told = true;
                        if self.sought.is_some() {
                            continue;
                        }
                        return Some(Found::Directory(node.path.clone()));
                    }
                    Children::Known(children) => match children.pop_front() {
                        Some(child) => {
                            self.waiting -= usize::from(matches!(child, Child::File(_)));
                            child
                        }
                        None => {
                            self.leave();
                            continue;
                        }
                    },
                },
            };
            if self.passes_over(&child) {
                continue;
            }
            match child {
                Child::File(path) => return Some(Found::File(path)),
                Child::Directory(node) => self.stack.push(node),
            }
        }
    }

    /// Whether everything was found.
    #[cfg(test)]
    fn is_over(&self) -> bool {
        self.stack.is_empty() && self.roots.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, is_directory: bool) -> Listed {
        Listed { path: path.into(), is_directory, is_file: !is_directory, inode: 0 }
    }

    fn all(walk: &mut Walk) -> Vec<String> {
        std::iter::from_fn(|| walk.next_found())
            .map(|found| match found {
                Found::Directory(path) => format!("{}/", path.display()),
                Found::File(path) => path.display().to_string(),
            })
            .collect()
    }

    fn walk(roots: &[&str], skip_hidden: bool) -> Walk {
        Walk::new(roots.iter().map(PathBuf::from).collect(), true, skip_hidden)
    }

    #[test]
    fn files_come_in_depth_first_order_whatever_order_listings_arrive_in() {
        let mut walk = walk(&["/r", "/z"], false);
        assert_eq!(walk.next_listing(), Some(Path::new("/r")));
        assert_eq!(walk.next_listing(), Some(Path::new("/z")));
        walk.listed(Path::new("/r"), Ok(vec![entry("/r/a", true), entry("/r/f", false), entry("/r/b", true)]));
        walk.listed(Path::new("/z"), Err(io::ErrorKind::NotADirectory.into()));
        assert_eq!(walk.next_listing(), Some(Path::new("/r/a")));
        assert_eq!(walk.next_listing(), Some(Path::new("/r/b")));
        walk.listed(Path::new("/r/b"), Ok(vec![entry("/r/b/2", false)]));
        assert_eq!(all(&mut walk), ["/r/"]);
        assert!(!walk.is_over());
        walk.listed(Path::new("/r/a"), Ok(vec![entry("/r/a/1", false)]));
        assert_eq!(all(&mut walk), ["/r/a/", "/r/a/1", "/r/f", "/r/b/", "/r/b/2", "/z"]);
        assert!(walk.is_over());
    }

    #[test]
    fn hidden_names_are_skipped_where_the_program_skips_them_and_errors_are_empty_directories() {
        let mut walk = walk(&["/r"], true);
        walk.next_listing();
        walk.listed(Path::new("/r"), Ok(vec![entry("/r/.git", true), entry("/r/x", true), entry("/r/.f", false)]));
        assert_eq!(walk.next_listing(), Some(Path::new("/r/x")));
        walk.listed(Path::new("/r/x"), Err(io::ErrorKind::PermissionDenied.into()));
        assert_eq!(all(&mut walk), ["/r/", "/r/x/"]);
        assert!(walk.is_over());
    }

    #[test]
    fn a_walk_goes_on_past_the_file_that_is_read_and_lists_nothing_before_it() {
        let mut walk = walk(&["/q", "/r"], false);
        assert_eq!(walk.next_listing(), Some(Path::new("/q")));
        assert_eq!(walk.next_listing(), Some(Path::new("/r")));
        assert!(!walk.skip_past(Path::new("/elsewhere/f")));
        walk.listed(Path::new("/q"), Ok(vec![entry("/q/f", false)]));
        assert_eq!(all(&mut walk), ["/q/", "/q/f"]);
        walk.listed(Path::new("/r"), Ok(["a", "b", "c"].map(|name| entry(&format!("/r/{name}"), true)).into()));
        assert!(walk.skip_past(Path::new("/r/b/2")));
        assert!(all(&mut walk).is_empty());
        assert_eq!(walk.next_listing(), Some(Path::new("/r/b")));
        assert_eq!(walk.next_listing(), Some(Path::new("/r/c")));
        walk.listed(Path::new("/r/b"), Ok(["1", "2", "3"].map(|name| entry(&format!("/r/b/{name}"), false)).into()));
        walk.listed(Path::new("/r/c"), Ok(vec![entry("/r/c/1", false)]));
        assert_eq!(all(&mut walk), ["/r/b/3", "/r/c/", "/r/c/1"]);
        assert!(!walk.skip_past(Path::new("/r/b/2")), "that lies behind");
    }

    #[test]
    fn a_walk_goes_on_where_the_file_that_is_read_should_have_been() {
        let mut walk = walk(&["/r"], false);
        walk.next_listing();
        walk.listed(Path::new("/r"), Ok(vec![entry("/r/a", true), entry("/r/f", false)]));
        assert!(walk.skip_past(Path::new("/r/a/made just now")));
        assert_eq!(walk.next_listing(), Some(Path::new("/r/a")));
        walk.listed(Path::new("/r/a"), Ok(vec![entry("/r/a/1", false)]));
        assert_eq!(all(&mut walk), ["/r/f"]);
    }

    #[test]
    fn a_walk_goes_on_in_the_directory_that_is_named() {
        let mut walk = walk(&["/r"], false);
        walk.next_listing();
        walk.listed(Path::new("/r"), Ok(["a", "b", "c"].map(|name| entry(&format!("/r/{name}"), true)).into()));
        assert!(walk.skip_past(Path::new("/r/b")));
        assert!(all(&mut walk).is_empty());
        assert_eq!(walk.next_listing(), Some(Path::new("/r/b")));
        walk.listed(Path::new("/r/b"), Ok(vec![entry("/r/b/1", false)]));
        walk.next_listing();
        walk.listed(Path::new("/r/c"), Ok(vec![]));
        assert_eq!(all(&mut walk), ["/r/b/", "/r/b/1", "/r/c/"]);
    }

    #[test]
    fn no_more_is_listed_than_the_program_may_come_to_soon() {
        let mut walk = walk(&["/r"], false);
        walk.next_listing();
        let directories: Vec<String> = (0..100).map(|number| format!("/r/{number}")).collect();
        walk.listed(Path::new("/r"), Ok(directories.iter().map(|path| entry(path, true)).collect()));
        let asked: Vec<PathBuf> = std::iter::from_fn(|| walk.next_listing().map(Path::to_owned)).collect();
        assert_eq!(asked.len(), LISTINGS_FIRST + 1);
        let files = |path: &Path| {
            (0..WAITING_MAX).map(|number| entry(&format!("{}/{number}", path.display()), false)).collect()
        };
        for path in &asked {
            walk.listed(path, Ok(files(path)));
        }
        assert_eq!(walk.next_listing(), None);
        assert_eq!(all(&mut walk).len(), 1 + asked.len() * (WAITING_MAX + 1));
        assert!(walk.next_listing().is_some());
    }

    #[test]
    fn what_is_passed_over_waits_no_more() {
        let mut walk = walk(&["/r"], false);
        walk.next_listing();
        let directories: Vec<String> = ('a'..='z').map(|name| format!("/r/{name}")).collect();
        walk.listed(Path::new("/r"), Ok(directories.iter().map(|path| entry(path, true)).collect()));
        let asked: Vec<PathBuf> = std::iter::from_fn(|| walk.next_listing().map(Path::to_owned)).collect();
        // The walk stands in the first; the second and what is below it are known, the last is being listed.
        let files = |path: &str| (0..WAITING_MAX).map(|number| entry(&format!("{path}/{number}"), false)).collect();
        walk.listed(&asked[0], Ok(files("/r/a")));
        assert_eq!(walk.next_found(), Some(Found::Directory("/r".into())));
        assert_eq!(walk.next_found(), Some(Found::Directory("/r/a".into())));
        walk.listed(&asked[1], Ok(vec![entry("/r/b/b", true)]));
        assert!(walk.skip_past(Path::new("/r/x/7")));
        assert_eq!(walk.next_found(), None);
        assert_eq!(walk.waiting, 0);
        assert_eq!(walk.next_listing(), Some(Path::new("/r/x")));
        walk.listed(asked.last().unwrap(), Ok(files(asked.last().unwrap().to_str().unwrap())));
        assert_eq!(walk.waiting, 0);
        assert_eq!(walk.next_listing(), Some(Path::new("/r/y")));
        assert_eq!(walk.next_listing(), Some(Path::new("/r/z")));
        assert_eq!(walk.next_listing(), None);
        walk.listed(Path::new("/r/x"), Ok(files("/r/x")));
        assert_eq!(all(&mut walk).len(), WAITING_MAX - 8);
        assert_eq!(walk.waiting, 0);
    }

    #[test]
    fn where_the_walk_stands_is_listed_however_much_waits_elsewhere() {
        let mut walk = walk(&["/r"], false);
        walk.next_listing();
        walk.listed(Path::new("/r"), Ok(["/r/a", "/r/b"].map(|path| entry(path, true)).into()));
        walk.next_listing();
        walk.next_listing();
        let files = (0..WAITING_MAX).map(|number| entry(&format!("/r/b/{number}"), false));
        walk.listed(Path::new("/r/b"), Ok(files.collect()));
        walk.listed(Path::new("/r/a"), Ok(["/r/a/c", "/r/a/d"].map(|path| entry(path, true)).into()));
        assert_eq!(walk.next_listing(), None);
        assert_eq!(all(&mut walk), ["/r/", "/r/a/"]);
        assert_eq!(walk.next_listing(), Some(Path::new("/r/a/c")));
        assert_eq!(walk.next_listing(), None);
    }

    #[test]
    fn a_directory_may_be_named_twice() {
        let mut walk = walk(&["/r", "/r"], false);
        walk.next_listing();
        walk.next_listing();
        walk.listed(Path::new("/r"), Ok(vec![entry("/r/f", false)]));
        walk.listed(Path::new("/r"), Ok(vec![entry("/r/f", false)]));
        assert_eq!(all(&mut walk), ["/r/", "/r/f", "/r/", "/r/f"]);
    }

    #[test]
    fn arguments_of_other_programs_are_files() {
        let mut walk = Walk::new(vec!["/a".into(), "/b".into()], false, false);
        assert_eq!(walk.next_listing(), None);
        assert_eq!(all(&mut walk), ["/a", "/b"]);
    }
}
