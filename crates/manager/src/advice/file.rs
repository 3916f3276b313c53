//! A file of advice for a program that does not give any itself: priorities of its files by name,
//! and policies of priorities.
//!
//! ```text
//! # What of this job's files goes first. Lowest priority first; 0 where nothing is said.
//! level 0 mru
//! level 1 mru
//! file *.idx 1
//! file */tmp/* -1
//! once */merge/*
//! ```
//!
//! What is read of a file under `once` is done with (002 section 3): those pages go before all
//! others until they are read again.
//!
//! `*` stands for any text, `?` for any character. A pattern without a slash is of a file's last
//! name, others are of its whole path. The last line that matches a file counts.

use super::Advice;
use crate::event::{LevelOrder, Malformed};
use crate::ids::FileId;

/// What a file of advice says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdviceFile {
    files: Vec<(String, i32)>,
    once: Vec<String>,
    /// Policies of priorities, in the order of the file.
    pub levels: Vec<(i32, LevelOrder)>,
}

impl AdviceFile {
    /// From its text.
    ///
    /// # Errors
    /// If a line is no advice, naming it.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let mut advice = AdviceFile::default();
        for (line, number) in text.lines().zip(1..) {
            let bad = |what: &str| Malformed(format!("line {number}: '{}' {what}", line.escape_debug()));
            let priority =
                |word: &str| word.parse().map_err(|_| bad(&format!("has no priority: '{word}' is no whole number")));
            let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
            match words[..] {
                [] => {}
                ["file", pattern, word] => advice.files.push((pattern.to_owned(), priority(word)?)),
                ["once", pattern] => advice.once.push(pattern.to_owned()),
                ["level", word, order] => {
                    let order = order.parse().map_err(|error| bad(&format!("has no policy: {error}")))?;
                    advice.levels.push((priority(word)?, order));
                }
                _ => return Err(bad("is none of 'file PATTERN PRIORITY', 'once PATTERN', 'level PRIORITY lru|mru'")),
            }
        }
        Ok(advice)
    }

    /// The priority of a file of this name, if the advice says one.
    pub fn priority(&self, path: &str) -> Option<i32> {
        self.files.iter().rev().find(|(pattern, _)| is_of(pattern, path)).map(|(_, priority)| *priority)
    }

    /// Whether what is read of a file of this name is done with.
    pub fn is_read_once(&self, path: &str) -> bool {
        self.once.iter().any(|pattern| is_of(pattern, path))
    }

    /// What says that these blocks are done with.
    pub fn done_with(file: FileId, first: u64, count: u64) -> Advice {
        Advice::SetTemporaryPriority { file, first, count, priority: i32::MIN }
    }
}

/// Whether a pattern is of the file of this path.
fn is_of(pattern: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches(pattern, if pattern.contains('/') { path } else { name })
}

/// Whether a pattern is of this text. Goes back to the last star only, which suffices: no step is
/// made twice for a star before.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut next) = (0, 0);
    let mut star = None;
    while next < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, next));
                at += 1;
            }
            Some(&is) if is == '?' || is == text[next] => (at, next) = (at + 1, next + 1),
            _ => {
                let Some((back, from)) = star else { return false };
                star = Some((back, from + 1));
                (at, next) = (back + 1, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|&is| is == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("*.idx", "a.idx", true),
            ("*.idx", "a.idx.old", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*ab", "aab", true),
            ("", "", true),
            ("", "a", false),
            ("**", "", true),
            ("*é", "café", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn the_last_line_that_matches_counts() {
        let text =
            "# all\nfile * 3\n file *.idx 1 # the index\nfile */tmp/* -1\n\nlevel -1 mru\nlevel 0 lru\nonce *.tmp\n";
        let advice = AdviceFile::parse(text).unwrap();
        assert_eq!(advice.levels, [(-1, LevelOrder::Mru), (0, LevelOrder::Lru)]);
        let priority = |path| advice.priority(path);
        assert_eq!([priority("/d/a"), priority("/d/a.idx"), priority("/tmp/a.idx")], [Some(3), Some(1), Some(-1)]);
        assert_eq!(["/d/a", "/d/a.tmp"].map(|path| advice.is_read_once(path)), [false, true]);
        assert_eq!(AdviceFile::parse("file a 1").unwrap().priority("b"), None);
    }

    #[test]
    fn what_is_no_advice_says_why() {
        let why = |text: &str| AdviceFile::parse(text).unwrap_err().to_string();
        assert_eq!(
            why("\nfile a"),
            "line 2: 'file a' is none of 'file PATTERN PRIORITY', 'once PATTERN', 'level PRIORITY lru|mru'"
        );
        assert_eq!(why("file a high"), "line 1: 'file a high' has no priority: 'high' is no whole number");
        assert_eq!(why("level 1 fifo"), "line 1: 'level 1 fifo' has no policy: 'fifo' is none of: lru, mru");
    }
}
