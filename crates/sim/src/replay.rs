//! The twin test: a log's events, fed to a manager made from its header, must lead to the actions
//! the log holds, byte for byte (I8). A log may be packed with gzip or zstd.

use std::fmt::{self, Write};
use std::path::Path;

use foresee_manager::{Action, Config, Event, FileId, Header, LogLine, Manager, Statistics, Time, named_file};

use crate::error::{At, Error};
use crate::trace::Input;

/// A line is an event of some ten numbers; a policy with all its parameters fits as well.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// The first place where the manager does something else than the log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The line of the log.
    pub line: u64,
    /// The event it belongs to.
    pub event: String,
    /// What the log holds there; "" if it holds no further action of this event.
    pub expected: String,
    /// What the manager asked for; "" if it asked for nothing more.
    pub got: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |action: &str| if action.is_empty() { "nothing more".to_owned() } else { format!("'{action}'") };
        let (expected, got) = (shown(&self.expected), shown(&self.got));
        write!(f, "line {}: after '{}' the log has {expected}, the manager {got}", self.line, self.event)
    }
}

/// What came of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Events fed.
    pub events: u64,
    /// Actions that were the same.
    pub actions: u64,
    /// Where the two part, if they do. What follows it is not looked at.
    pub divergence: Option<Divergence>,
    /// What the manager counted until then.
    pub statistics: Statistics,
}

/// Replays a log.
///
/// # Errors
/// If it cannot be read, or a line of it is none of a log's.
pub fn replay(path: &Path) -> Result<Replay, Error> {
    let input = Input::open(path)?;
    let path = &input.path().to_owned();
    let mut lines = Lines::of(input, Box::new(|_, _| {}));
    let broken = |line: u64, what: String| Error::new(path, At::Line(line), what);
    let config = lines.header()?;
    let mut twin = Twin::new(Manager::new(&config));
    loop {
        let Some((at, line)) = lines.next()? else {
            twin.no_more(lines.line + 1);
            break;
        };
        match line.parse().map_err(|error| broken(at, format!("{error}")))? {
            LogLine::Event(now, event) => {
                twin.no_more(at);
                if twin.replay.divergence.is_none() {
                    twin.event(now, event, line);
                }
            }
            LogLine::Action(action) if twin.event.is_empty() => {
                return Err(broken(at, format!("'{action}' is an action before the first event; the log is damaged")));
            }
            LogLine::Action(_) => twin.action(at, line),
        }
        if twin.replay.divergence.is_some() {
            break;
        }
    }
    twin.replay.statistics = twin.manager.statistics().clone();
    Ok(twin.replay)
}

/// Makes a log's run again, and lets `watch` look at every event, what the manager did for it, and
/// the manager; `name` hears what files are called, each before any event of it. What the log says
/// was done is not looked at.
///
/// # Errors
/// As [`replay`].
pub fn retrace<'a>(
    input: Input,
    name: impl FnMut(FileId, &str) + 'a,
    mut watch: impl FnMut(Time, Event, &[Action], &Manager),
) -> Result<(), Error> {
    let path = &input.path().to_owned();
    let mut lines = Lines::of(input, Box::new(name));
    let broken = |line: u64, what: String| Error::new(path, At::Line(line), what);
    let config = Config { explains: true, ..lines.header()? };
    let (mut manager, mut actions) = (Manager::new(&config), Vec::new());
    loop {
        let Some((at, line)) = lines.next()? else { return Ok(()) };
        if let LogLine::Event(now, event) = line.parse().map_err(|error| broken(at, format!("{error}")))? {
            actions.clear();
            manager.handle(now, event, &mut actions);
            watch(now, event, &actions, &manager);
        }
    }
}

/// The manager that does all again.
struct Twin {
    manager: Manager,
    event: String,
    actions: Vec<Action>,
    /// Actions of this event already compared.
    compared: usize,
    got: String,
    replay: Replay,
}

impl Twin {
    fn new(manager: Manager) -> Self {
        let replay = Replay { events: 0, actions: 0, divergence: None, statistics: Statistics::default() };
        Twin { manager, event: String::new(), actions: Vec::new(), compared: 0, got: String::new(), replay }
    }

    fn event(&mut self, now: foresee_manager::Time, event: foresee_manager::Event, line: &str) {
        self.actions.clear();
        self.compared = 0;
        line.clone_into(&mut self.event);
        self.manager.handle(now, event, &mut self.actions);
        self.replay.events += 1;
    }

    /// The log holds this action next.
    fn action(&mut self, at: u64, expected: &str) {
        self.got.clear();
        if let Some(&action) = self.actions.get(self.compared) {
            // Writing to a string does not fail.
            let _ = write!(self.got, "{}", LogLine::Action(action));
        }
        self.compared += 1;
        if self.got == expected {
            self.replay.actions += 1;
        } else {
            self.diverge(at, expected.trim_start().to_owned());
        }
    }

    /// The log holds no further action of this event.
    fn no_more(&mut self, at: u64) {
        if let Some(action) = self.actions.get(self.compared) {
            self.got = action.to_string();
            self.diverge(at, String::new());
        }
    }

    fn diverge(&mut self, line: u64, expected: String) {
        let got = self.got.trim_start().to_owned();
        self.replay.divergence = Some(Divergence { line, event: self.event.clone(), expected, got });
    }
}

/// Hears what files are called.
type Namer<'a> = Box<dyn FnMut(FileId, &str) + 'a>;

struct Lines<'a> {
    input: Input,
    /// Lines read.
    line: u64,
    text: Vec<u8>,
    name: Namer<'a>,
}

impl<'a> Lines<'a> {
    fn of(input: Input, name: Namer<'a>) -> Self {
        Lines { input, line: 0, text: Vec::new(), name }
    }

    /// How the run was set up: the first line.
    fn header(&mut self) -> Result<Config, Error> {
        let path = &self.input.path().to_owned();
        let first = self.next()?;
        let (at, line) =
            first.ok_or_else(|| Error::whole(path, "is empty; a log begins with a line 'foresee-log 4 ...'"))?;
        let Header(config) = line.parse().map_err(|error| Error::new(path, At::Line(at), format!("{error}")))?;
        Ok(config)
    }

    /// The next line that is no remark, without its end, and its number.
    fn next(&mut self) -> Result<Option<(u64, &str)>, Error> {
        loop {
            let at = At::Line(self.line + 1);
            if self.input.line(&mut self.text, LINE_BYTES_MAX, at)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            if !self.text.starts_with(b"#") {
                break;
            }
            if let Some((file, name)) = named_file(String::from_utf8_lossy(&self.text).trim_end_matches('\n')) {
                (self.name)(file, name);
            }
        }
        let text = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
        std::str::from_utf8(text).map(|text| Some((self.line, text))).map_err(|error| {
            let what = format!("is no text: {error}; is this a log?");
            Error::new(self.input.path(), At::Line(self.line), what)
        })
    }
}
