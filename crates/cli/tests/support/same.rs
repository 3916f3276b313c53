//! The same command with and without foresee: nobody must be able to tell.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::{Ended, Place, end};

/// A command to be run plain, foreseen for the first time, with what that run taught, and without
/// io_uring.
pub struct Same<'a> {
    place: &'a Place,
    words: Vec<OsString>,
    stdin: Vec<u8>,
    sorted: bool,
    before: Box<dyn Fn() + 'a>,
    adapt: Box<dyn Fn(&mut Command) + 'a>,
}

/// Runs these words in all ways; returns how they ended in all of them.
#[track_caller]
pub fn same(place: &Place, words: &[impl AsRef<OsStr>]) -> Ended {
    Same::new(place, words).check()
}

impl<'a> Same<'a> {
    pub fn new(place: &'a Place, words: &[impl AsRef<OsStr>]) -> Self {
        Same {
            place,
            words: words.iter().map(|word| word.as_ref().to_owned()).collect(),
            stdin: Vec::new(),
            sorted: false,
            before: Box::new(|| {}),
            adapt: Box::new(|_| {}),
        }
    }

    /// A shell script.
    pub fn script(place: &'a Place, script: &str) -> Self {
        Same::new(place, &["sh", "-c", script])
    }

    /// A python program.
    pub fn python(place: &'a Place, program: &str) -> Self {
        Same::new(place, &["python3", "-c", program])
    }

    pub fn stdin(mut self, stdin: impl Into<Vec<u8>>) -> Self {
        self.stdin = stdin.into();
        self
    }

    /// What it says comes in no order.
    pub fn sorted(mut self) -> Self {
        self.sorted = true;
        self
    }

    /// What is done before each run.
    pub fn before(mut self, before: impl Fn() + 'a) -> Self {
        self.before = Box::new(before);
        self
    }

    /// What is done to each command, plain or not.
    pub fn adapt(mut self, adapt: impl Fn(&mut Command) + 'a) -> Self {
        self.adapt = Box::new(adapt);
        self
    }

    fn end(&self, mut command: Command) -> Ended {
        (self.before)();
        self.place.make_cold();
        (self.adapt)(&mut command);
        let mut ended = end(command, &self.stdin);
        if self.sorted {
            ended.stdout = sorted(&ended.stdout);
            ended.stderr = sorted(&ended.stderr);
        }
        ended
    }

    /// Runs it in all ways; returns how it ended in all of them.
    #[track_caller]
    pub fn check(self) -> Ended {
        let plain = self.end(self.place.plain(&self.words));
        let account = self.place.aside("account.json");
        for way in ["for the first time", "for the second time", "without io_uring"] {
            let _ = fs::remove_file(&account);
            let mut command = self.place.run(&["--json", account.to_str().unwrap()], &self.words);
            if way == "without io_uring" {
                command.env("FORESEE_IO", "threads");
            }
            let foreseen = self.end(command);
            assert!(foreseen == plain, "{:?} {way}: {foreseen:?}\nplain: {plain:?}", self.words);
            let text = fs::read(&account).unwrap_or_else(|error| panic!("{:?}: no account: {error}", self.words));
            let account: Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(account["watched"], true, "{:?} {way}: {account:#}", self.words);
            let method = account["prefetched"]["method"].as_str().unwrap();
            assert!(way != "without io_uring" || method == "threads", "{way}, but with {method}");
        }
        self.place.wait_for_all();
        plain
    }
}

fn sorted(text: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    lines.sort_unstable();
    lines.concat()
}
