//! Whether there is nobody who signs what is written. On a machine of no cloud that takes seconds to
//! find out, and each object that is begun would wait for it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So long nobody is looked for again.
const LASTS: Duration = Duration::from_secs(60);

/// When there was nobody last, and why.
#[derive(Default)]
pub(crate) struct Unsigned(Mutex<Option<(Instant, String)>>);

impl Unsigned {
    /// Looks for somebody, one caller at a time, unless there was nobody lately: then the answer is
    /// the same.
    pub fn or(&self, look: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((when, why)) = &*last
            && when.elapsed() < LASTS
        {
            return Err(why.clone());
        }
        let found = look();
        *last = found.clone().err().map(|why| (Instant::now(), why));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_nobody_the_next_who_asks_does_not_wait() {
        let unsigned = Unsigned::default();
        let nobody = || Err("nobody answered".to_owned());
        assert_eq!(unsigned.or(|| Ok(())), Ok(()));
        assert_eq!(unsigned.or(nobody), nobody(), "that there was somebody is not remembered");
        assert_eq!(unsigned.or(|| panic!("looked for once more")), nobody());
        *unsigned.0.lock().unwrap() = Instant::now().checked_sub(LASTS).map(|when| (when, String::new()));
        assert_eq!(unsigned.or(|| Ok(())), Ok(()));
    }
}
