//! What is said while a file system is there: how much of it, and where it is looked for.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};

use foresee_run::say::say;
use log::{Level, LevelFilter, Metadata, Record};

/// The crate that speaks with the kernel tells of each request, and warns of what is usual; the one that
/// looks at certificates says what is said with the error.
const OF_REQUESTS: [&str; 2] = ["fuser", "rustls_platform_verifier"];
/// Room for a time in numbers.
const TIME_BYTES: usize = 32;

/// Where it is said.
#[derive(Debug, Default)]
pub enum To {
    /// Beside what programs say.
    #[default]
    StandardError,
    /// At the end of a file, with the time.
    File(File),
    /// In the system's log (syslog, journal).
    System,
}

/// How much is said, and where.
#[derive(Debug)]
pub struct Log {
    /// This and what weighs more.
    pub level: LevelFilter,
    /// Where.
    pub to: To,
}

impl Default for Log {
    fn default() -> Self {
        Log { level: LevelFilter::Info, to: To::default() }
    }
}

impl Log {
    /// All that is said from now on goes there. A process does so once.
    pub(crate) fn begin(self) {
        let level = self.level;
        if log::set_logger(Box::leak(Box::new(self))).is_ok() {
            log::set_max_level(level);
        }
    }
}

impl log::Log for Log {
    fn enabled(&self, of: &Metadata<'_>) -> bool {
        let is_of_requests = OF_REQUESTS.iter().any(|it| of.target().starts_with(it));
        of.level() <= self.level && (!is_of_requests || self.level >= Level::Debug)
    }

    fn log(&self, said: &Record<'_>) {
        if !self.enabled(said.metadata()) {
            return;
        }
        match &self.to {
            To::StandardError => say(said.args()),
            To::File(file) => {
                // In one piece, for several write there. That nobody can take it is no reason to fail.
                let line = format!("{} {} {}\n", now(), said.level().as_str().to_lowercase(), said.args());
                let _ = (&mut &*file).write_all(line.as_bytes());
            }
            To::System => system(said.level(), said.args().to_string()),
        }
    }

    fn flush(&self) {}
}

/// The time, as the system's clock and zone have it.
fn now() -> String {
    let mut text = [0_u8; TIME_BYTES];
    // SAFETY: both are given where to write to and how much, and a format that ends with a zero.
    let length = unsafe {
        let seconds = libc::time(std::ptr::null_mut());
        let mut parts = std::mem::zeroed();
        libc::localtime_r(&seconds, &mut parts);
        libc::strftime(text.as_mut_ptr().cast(), TIME_BYTES, c"%Y-%m-%dT%H:%M:%S%z".as_ptr(), &parts)
    };
    String::from_utf8_lossy(&text[..length]).into_owned()
}

fn system(level: Level, text: String) {
    let priority = match level {
        Level::Error => libc::LOG_ERR,
        Level::Warn => libc::LOG_WARNING,
        Level::Info => libc::LOG_INFO,
        Level::Debug | Level::Trace => libc::LOG_DEBUG,
    };
    let Ok(text) = CString::new(text) else { return };
    // SAFETY: the format has one string, which ends with a zero and outlives the call.
    unsafe { libc::syslog(libc::LOG_DAEMON | priority, c"%s".as_ptr(), text.as_ptr()) };
}

/// A file that lines are added to.
///
/// # Errors
/// What the system says.
pub fn log_file(path: &std::path::Path) -> io::Result<To> {
    Ok(To::File(File::options().append(true).create(true).open(path)?))
}

#[cfg(test)]
mod tests {
    use log::Log as _;

    use super::*;

    #[test]
    fn lines_have_a_time_and_a_level_and_those_of_less_weight_are_left_out() {
        let path = std::env::temp_dir().join(format!("foresee-log-{}", std::process::id()));
        for (level, expected) in [(LevelFilter::Warn, 1), (LevelFilter::Info, 2), (LevelFilter::Debug, 5)] {
            let log = Log { level, to: log_file(&path).unwrap() };
            for (level, target) in [
                (Level::Warn, "foresee"),
                (Level::Info, "foresee"),
                (Level::Debug, "foresee"),
                (Level::Error, "fuser::reply"),
                (Level::Error, "rustls_platform_verifier::verification"),
            ] {
                log.log(&Record::builder().level(level).target(target).args(format_args!("it is so")).build());
            }
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            assert_eq!(text.lines().count(), expected, "{text}");
            let (time, said) = text.lines().next().unwrap().split_once(' ').unwrap();
            assert!(said == "warn it is so" && time.len() == 24 && time.as_bytes()[10] == b'T', "{text}");
        }
    }
}
