//! Where the files of one run are in another: its words name other files, or it runs elsewhere.
//!
//! Two runs' words are compared in order. Where they differ, both are taken for the names of what
//! each run is about, and paths under the one become paths under the other, from as far up as the
//! two differ: `/old/app/main.py` and `/new/app/main.py` say that what was under `/old` is under
//! `/new`. What was under the one's working directory may be under the other's, or where it was.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::Profile;
use crate::names::absolute;

/// Words that are compared; what comes after them is as it was.
const WORDS_MAX: usize = 1024;
/// Shorter words are parts of too many names.
const WORD_BYTES_MIN: usize = 2;

/// The parts of a command's words: a shell's script is words as well, and so is what an option is
/// set to.
pub(super) fn parts(command: &[OsString]) -> Vec<&OsStr> {
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'=';
    let parts = command.iter().flat_map(|word| word.as_bytes().split(is_between));
    parts.filter(|part| !part.is_empty()).take(WORDS_MAX).map(OsStr::from_bytes).collect()
}

/// From where to where files moved between two runs.
#[derive(Debug, Default)]
pub(super) struct Moves {
    /// Paths, the longest first: what is under the one is under the other.
    trees: Vec<(PathBuf, PathBuf)>,
    /// Parts of paths that are called so.
    words: Vec<(OsString, OsString)>,
    /// The working directories, if they are two.
    directories: Option<(PathBuf, PathBuf)>,
}

impl Moves {
    /// Those from this run to one of this command in this directory.
    pub fn new(from: &Profile, command: &[OsString], directory: &Path) -> Self {
        let mut moves = Moves::default();
        for (was, is) in differing(&parts(&from.command), &parts(command)) {
            if !was.as_bytes().starts_with(b"-") {
                let paths = (absolute(&from.directory, was.as_bytes()), absolute(directory, is.as_bytes()));
                moves.trees.push(differ_above(&without_turns(&paths.0), &without_turns(&paths.1)));
            }
            let names = (last_part(was), last_part(is));
            if names.0 != names.1 && names.0.len() >= WORD_BYTES_MIN {
                moves.words.push((names.0.to_owned(), names.1.to_owned()));
            }
        }
        moves.trees.sort_by_key(|(was, _)| std::cmp::Reverse(was.components().count()));
        if from.directory != directory {
            moves.directories = Some(differ_above(&from.directory, directory));
        }
        moves
    }

    /// Where the file of this path may be, the likeliest first: under a changed path, which leaves
    /// no doubt; else where the changed words and directory would have it, or where it was.
    pub fn places(&self, path: &Path) -> Vec<PathBuf> {
        if let Some(moved) = self.trees.iter().find_map(|tree| moved(tree, path)) {
            return vec![moved];
        }
        let mut places = Vec::new();
        for path in self.renamed(path).into_iter().chain([path.to_owned()]) {
            places.extend(self.directories.as_ref().and_then(|tree| moved(tree, &path)));
            places.push(path);
        }
        places
    }

    /// This path with the other run's words in place of the one's, if it holds any: alone, or
    /// before a dot.
    fn renamed(&self, path: &Path) -> Option<PathBuf> {
        let mut any = false;
        let mut renamed = |part: &OsStr| {
            let new = self.words.iter().find_map(|(was, is)| {
                let rest = part.as_bytes().strip_prefix(was.as_bytes())?;
                let is_name = rest.is_empty() || rest[0] == b'.';
                is_name.then(|| OsString::from_vec([is.as_bytes(), rest].concat()))
            });
            any |= new.is_some();
            new.unwrap_or_else(|| part.to_owned())
        };
        let path = path.components().map(|part| match part {
            Component::Normal(part) => renamed(part),
            other => other.as_os_str().to_owned(),
        });
        let path: PathBuf = path.collect();
        any.then_some(path)
    }
}

/// A path below the one tree, below the other.
fn moved((was, is): &(PathBuf, PathBuf), path: &Path) -> Option<PathBuf> {
    let rest = path.strip_prefix(was).ok()?;
    Some(if rest.as_os_str().is_empty() { is.clone() } else { is.join(rest) })
}

/// The words of two runs that stand in one another's place: behind what begins alike, and before
/// what ends alike.
fn differing<'a, 'b>(was: &[&'a OsStr], is: &[&'b OsStr]) -> Vec<(&'a OsStr, &'b OsStr)> {
    if was.len() == is.len() {
        return was.iter().zip(is).filter(|(was, is)| was != is).map(|(&was, &is)| (was, is)).collect();
    }
    let alike = |(was, is): &(&&OsStr, &&OsStr)| was == is;
    let begin = was.iter().zip(is).take_while(alike).count();
    let (was, is) = (&was[begin..], &is[begin..]);
    let end = was.iter().rev().zip(is.iter().rev()).take_while(alike).count();
    let (was, is) = (&was[..was.len() - end], &is[..is.len() - end]);
    // More or fewer words: which of them stands for which is not known.
    if was.len() == is.len() { was.iter().copied().zip(is.iter().copied()).collect() } else { Vec::new() }
}

/// Without `..`: a run that was told `../app/main.py` names what lies beside that as it finds it,
/// by its working directory. Where `..` leads elsewhere, behind a link, the files so named are not
/// there, and are not fetched.
fn without_turns(path: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            straight.pop();
        } else {
            straight.push(part);
        }
    }
    straight
}

/// Both paths without what they end with alike, as long as each is more than the root.
fn differ_above(was: &Path, is: &Path) -> (PathBuf, PathBuf) {
    let (mut was, mut is) = (was, is);
    while was.file_name().is_some() && was.file_name() == is.file_name() {
        let (Some(above_was), Some(above_is)) = (was.parent(), is.parent()) else { break };
        if above_was.file_name().is_none() || above_is.file_name().is_none() {
            break;
        }
        (was, is) = (above_was, above_is);
    }
    (was.to_owned(), is.to_owned())
}

/// A word without the path before its name and the extension behind it.
fn last_part(word: &OsStr) -> &OsStr {
    Path::new(word).file_stem().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(was: (&[&str], &str), is: (&[&str], &str)) -> Moves {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let from = Profile { command: words(was.0), directory: was.1.into(), ..Profile::default() };
        Moves::new(&from, &words(is.0), Path::new(is.1))
    }

    fn places(moves: &Moves, path: &str) -> Vec<String> {
        moves.places(Path::new(path)).iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn one_word_more_moves_nothing() {
        let moves = moves((&["python3", "app.py", "x"], "/d"), (&["python3", "app.py", "--more", "x"], "/d"));
        assert_eq!(places(&moves, "/d/x"), ["/d/x"]);
        assert_eq!(places(&moves, "/usr/lib/python3/os.py"), ["/usr/lib/python3/os.py"]);
    }

    #[test]
    fn a_tree_that_moved_is_known_by_its_place() {
        let moves = moves((&["python3", "/old/app/main.py"], "/"), (&["python3", "/new/place/app/main.py"], "/"));
        assert_eq!(places(&moves, "/old/app/lib/a.py"), ["/new/place/app/lib/a.py"]);
        assert_eq!(places(&moves, "/older"), ["/older"]);
    }

    #[test]
    fn a_word_that_goes_up_and_down_again_names_the_tree_it_ends_in() {
        let moves =
            moves((&["python3", "main.py", "data"], "/old/app"), (&["python3", "../app/main.py", "data"], "/new/app"));
        assert_eq!(places(&moves, "/old/app/data/a"), ["/new/app/data/a"]);
    }

    #[test]
    fn the_root_is_no_tree_that_moves() {
        let moves = moves((&["run", "/app/main.py"], "/"), (&["run", "/mnt/x/app/main.py"], "/"));
        assert_eq!(places(&moves, "/app/lib/a.py"), ["/mnt/x/app/lib/a.py"]);
        assert_eq!(places(&moves, "/usr/lib/libc.so"), ["/usr/lib/libc.so"]);
    }

    #[test]
    fn what_was_below_the_directory_may_be_below_the_other_or_where_it_was() {
        let moves = moves((&["make"], "/home/u/one"), (&["make"], "/home/u/two"));
        assert_eq!(places(&moves, "/home/u/one/a.c"), ["/home/u/two/a.c", "/home/u/one/a.c"]);
        assert_eq!(places(&moves, "/usr/bin/cc"), ["/usr/bin/cc"]);
    }

    #[test]
    fn a_changed_word_changes_the_paths_that_hold_it() {
        let moves = moves((&["report", "march"], "/d"), (&["report", "april"], "/d"));
        assert_eq!(places(&moves, "/data/march/sales.csv"), ["/data/april/sales.csv", "/data/march/sales.csv"]);
        assert_eq!(places(&moves, "/data/march.csv")[0], "/data/april.csv");
        assert_eq!(places(&moves, "/data/marching"), ["/data/marching"]);
        let moves = self::moves((&["sum", "in/one.csv"], "/d"), (&["sum", "in/two.csv"], "/d"));
        assert_eq!(places(&moves, "/d/in/one.csv"), ["/d/in/two.csv"]);
        assert_eq!(places(&moves, "/d/index/one.idx")[0], "/d/index/two.idx");
    }

    #[test]
    fn a_shells_script_is_words() {
        let moves =
            moves((&["sh", "-c", "cat one/x; sort one/y"], "/d"), (&["sh", "-c", "cat two/x; sort two/y"], "/d"));
        assert_eq!(places(&moves, "/d/one/z"), ["/d/two/z"]);
    }

    proptest::proptest! {
        #[test]
        fn every_file_has_a_place(
            was in proptest::collection::vec("[a-b/.= ]{0,8}", 0..5),
            is in proptest::collection::vec("[a-b/.= ]{0,8}", 0..5),
            path in "/[a-b/.]{0,12}",
        ) {
            let words = |words: &[String]| words.iter().map(OsString::from).collect::<Vec<_>>();
            let from = Profile { command: words(&was), directory: "/a".into(), ..Profile::default() };
            let places = Moves::new(&from, &words(&is), Path::new("/b")).places(Path::new(&path));
            proptest::prop_assert!(!places.is_empty() && places.iter().all(|path| path.is_absolute()));
        }
    }
}
