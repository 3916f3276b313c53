//! On which files somebody holds a lease: to open one would break the lease, and the default action
//! of its signal ends the holder.
//!
//! The kernel tells of all of them at once, in `/proc/locks`, and keeps everybody on the machine
//! from locking while it does: for 6 to 16 ms, if nobody has asked for some time. So what it told
//! is believed for a while, and one thread at a time asks it anew, while the others go by what it
//! told before. Programs that are watched wait for us when they set a lease; then it is
//! [`forget`]-ed.

use std::collections::HashSet;
use std::fs;
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

use crate::names::Identity;
use crate::pool::lock;

/// What the kernel told is believed for so long. Others than the watched programs may set a lease
/// meanwhile; opening the file ends it then, as the watched program's own opening will a moment
/// later.
const BELIEVED: Duration = Duration::from_millis(200);

static TOLD: Mutex<Option<Told>> = Mutex::new(None);

struct Told {
    at: Instant,
    leased: HashSet<Identity>,
}

/// Whether somebody holds a lease on the file. Where the kernel does not say, nobody is taken to.
pub fn is_leased(identity: Identity) -> bool {
    let mut told = lock(&TOLD);
    match &mut *told {
        Some(told) if told.at.elapsed() < BELIEVED => return told.leased.contains(&identity),
        // Others need not ask while this thread does.
        Some(told) => told.at = Instant::now(),
        None => {
            let now = ask();
            let is_leased = now.leased.contains(&identity);
            *told = Some(now);
            return is_leased;
        }
    }
    drop(told);
    let now = ask();
    let is_leased = now.leased.contains(&identity);
    // Unless it was forgotten meanwhile, or asked again since.
    if let Some(told) = &mut *lock(&TOLD)
        && told.at <= now.at
    {
        *told = now;
    }
    is_leased
}

/// Whether others wait for a thread that asks the kernel: that is short, and no device's doing.
pub fn is_asking() -> bool {
    matches!(TOLD.try_lock(), Err(TryLockError::WouldBlock))
}

/// A watched program sets a lease.
pub fn forget() {
    *lock(&TOLD) = None;
}

fn ask() -> Told {
    let at = Instant::now();
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    Told { at, leased: locks.lines().filter_map(leased_by).collect() }
}

/// The file on which a line of `/proc/locks` says that there is a lease.
fn leased_by(line: &str) -> Option<Identity> {
    // 1: LEASE  ACTIVE    WRITE 12345 fe:00:67890 0 EOF
    let mut words = line.split_ascii_whitespace().skip(1);
    if !matches!(words.next()?, "LEASE" | "DELEG") {
        return None;
    }
    let mut place = words.nth(3)?.split(':');
    let hexadecimal = |word: &str| u32::from_str_radix(word, 16).ok();
    let (major, minor) = (hexadecimal(place.next()?)?, hexadecimal(place.next()?)?);
    Some((libc::makedev(major, minor), place.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_whether_it_is_of_a_lease_and_of_which_file() {
        assert_eq!(leased_by("1: LEASE  ACTIVE    WRITE 12 fe:01:67890 0 EOF"), Some((libc::makedev(0xfe, 1), 67890)));
        assert_eq!(leased_by("2: POSIX  ADVISORY  READ 12 fe:01:67890 128 128"), None);
        assert_eq!(leased_by(""), None);
    }
}
