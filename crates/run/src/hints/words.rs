//! The command's own words: arguments that may be files, and directories for programs known to walk
//! them.
//!
//! Nothing is looked up here: on slow storage a thousand arguments would take seconds, one after
//! the other. Every argument that is no option is taken for a path; what proves not to be one costs
//! one look-up among many.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use foresee_manager::Want;

use crate::names::absolute;

/// What a command line discloses.
#[derive(Debug, PartialEq, Eq)]
pub struct Words {
    /// Absolute paths, in the order of the arguments.
    pub paths: Vec<PathBuf>,
    /// The program is known to read the files it is given.
    pub known: bool,
    /// The program walks those that are directories.
    pub walks: bool,
    /// What of each file; None: not even its name, only the directories.
    pub reads: Option<Want>,
    /// Names that begin with a dot are passed by.
    pub skip_hidden: bool,
}

impl Default for Words {
    fn default() -> Self {
        Words { paths: Vec::new(), known: false, walks: false, reads: Some(Want::All), skip_hidden: false }
    }
}

/// The beginning of a file: what the kernel reads ahead at once. From there on it shows how far the
/// program reads.
const START: Want = Want::Range { first: 0, count: 32 };

struct Program<'a> {
    name: &'a str,
    when: &'a str,
    before: usize,
    reads: &'a str,
    hidden: &'a str,
    without: &'a str,
}

/// The known programs: data, one a line.
fn known_programs() -> impl Iterator<Item = Program<'static>> {
    let lines = include_str!("known_programs.txt").lines();
    lines.filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        Some(Program {
            name: words.next()?,
            when: words.next()?,
            before: words.next()?.parse().ok()?,
            reads: words.next()?,
            hidden: words.next()?,
            without: words.next()?,
        })
    })
}

/// Whether a program walks with these arguments, as a line has it: `always`, `never`, or with one of
/// some options; and with none of those that are marked so.
fn walks(when: &str, arguments: &[OsString]) -> bool {
    let given = |option: &str| arguments.iter().any(|argument| is_option(argument.as_bytes(), option));
    let (mut walks, mut barred) = (false, false);
    for option in when.split(',') {
        match option.strip_prefix('^') {
            Some(option) => barred |= given(option),
            None => walks |= option == "always" || (option != "never" && given(option)),
        }
    }
    walks && !barred
}

/// Whether an argument is this option, alone or in a cluster of short ones.
fn is_option(argument: &[u8], option: &str) -> bool {
    match (argument, option.as_bytes()) {
        (argument, option) if argument == option => true,
        ([b'-', letters @ ..], [b'-', letter]) => {
            letters.first() != Some(&b'-') && letters.iter().all(u8::is_ascii_alphanumeric) && letters.contains(letter)
        }
        _ => false,
    }
}

/// Reads a command line.
pub fn read_words(command: &[OsString], directory: &Path) -> Words {
    let Some((program, arguments)) = command.split_first() else { return Words::default() };
    let name = Path::new(program).file_name().unwrap_or(program);
    let operands = arguments.iter().map(|argument| argument.as_bytes()).filter(|it| !it.starts_with(b"-"));
    let paths = operands.filter(|it| !it.is_empty()).map(|argument| absolute(directory, argument));
    let lines = || known_programs().filter(|known| OsStr::new(known.name) == name);
    let walker = lines().find(|known| walks(known.when, arguments));
    let walks = walker.is_some();
    let Some(known) = walker.or_else(|| lines().next()) else {
        return Words { paths: paths.collect(), ..Words::default() };
    };
    let mut paths: Vec<PathBuf> = paths.skip(known.before).collect();
    if walks && paths.is_empty() && known.without == "." {
        paths.push(directory.to_owned());
    }
    let reads = match known.reads {
        "directories" => None,
        "names" => Some(Want::Name),
        "start" => Some(START),
        _ => Some(Want::All),
    };
    Words { paths, known: true, walks, reads, skip_hidden: known.hidden == "skip" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Words {
        let command: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        read_words(&command, Path::new("/w"))
    }

    fn paths(line: &str) -> Vec<String> {
        words(line).paths.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn every_line_of_the_data_is_a_program() {
        let lines = include_str!("known_programs.txt").lines();
        let entries = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).count();
        assert_eq!(known_programs().count(), entries);
        for program in known_programs() {
            let reads = ["contents", "start", "names", "directories"];
            assert!(reads.contains(&program.reads), "{}: {}", program.name, program.reads);
            assert!(["keep", "skip"].contains(&program.hidden), "{}: {}", program.name, program.hidden);
            assert!([".", "nothing"].contains(&program.without), "{}: {}", program.name, program.without);
        }
    }

    #[test]
    fn arguments_are_taken_in_order_and_directories_walked_by_walkers_only() {
        assert_eq!(paths("cat b /a -n d"), ["/w/b", "/a", "/w/d"]);
        assert!(!words("cat d").walks);
        assert!(words("grep -rn x d").walks);
        assert!(!words("grep -n x d").walks && words("grep -n x d").known);
        assert!(words("cat d").known && !words("sh d").known);
        assert_eq!(paths("grep -rn x d e"), ["/w/d", "/w/e"]);
        assert_eq!(paths("/usr/bin/grep -r x"), ["/w"]);
        assert_eq!(paths("tar cf out.tar d"), ["/w/cf", "/w/out.tar", "/w/d"]);
        assert!(words("rg x").skip_hidden);
        assert_eq!(words("du d").reads, Some(Want::Name));
        assert_eq!(words("head -c 1000000 f").reads, Some(START));
        assert_eq!(words("cat f").reads, Some(Want::All));
    }

    #[test]
    fn what_find_asks_of_files_says_what_it_reads_of_them() {
        let of = |line: &str| Some(words(line)).filter(|it| it.walks).map(|it| it.reads);
        assert_eq!(of("find d -name x"), Some(None));
        assert_eq!(of("find d -size +1M"), Some(Some(Want::Name)));
        assert_eq!(of("find -newer f -exec cat {} +"), Some(Some(Want::All)));
        assert_eq!(of("find d -maxdepth 1 -size +1M"), None, "it does not walk all of it");
        assert_eq!(of("find d -name .git -prune -o -print"), None);
        assert!(words("find d -maxdepth 1").known);
    }

    #[test]
    fn options_are_found_in_clusters_but_not_in_words() {
        assert!(is_option(b"-rn", "-r"));
        assert!(is_option(b"--recursive", "--recursive"));
        assert!(!is_option(b"--for", "-r"));
        assert!(!is_option(b"-n", "-r"));
        assert!(is_option(b"-exec", "-exec"));
    }
}
