//! What the process group was sent, as the companion sees it: the launcher asks, for what it got
//! itself.

/// Signals have numbers below this.
const SIGNALS: usize = 65;
/// The signals that stop, unless caught or ignored, or the group is orphaned. `SIGSTOP` is not among
/// them: nobody takes it.
pub(super) const STOPS: [i32; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// The signals that the group was sent, and that the launcher has not asked for yet.
pub(super) struct Group {
    came: [u32; SIGNALS],
    /// Came, and then came what voids it where it was not taken yet: the launcher may still ask for
    /// it, or never will.
    voided: [bool; SIGNALS],
}

impl Group {
    pub(super) fn new() -> Self {
        Group { came: [0; SIGNALS], voided: [false; SIGNALS] }
    }

    /// It was sent this signal.
    pub(super) fn was_sent(&mut self, signal: i32) {
        self.came[place(signal)] += 1;
        for other in voided_by(signal) {
            self.voided[place(*other)] |= std::mem::take(&mut self.came[place(*other)]) > 0;
        }
    }

    /// Whether it was sent this signal, which the launcher has taken; `more`: the launcher has
    /// another one of that kind waiting.
    pub(super) fn has(&mut self, signal: i32, more: bool) -> bool {
        // Had the launcher taken these at all, it would have asked for them before.
        for other in voided_by(signal) {
            self.voided[place(*other)] = false;
        }
        let came = &mut self.came[place(signal)];
        if *came == 0 {
            return std::mem::take(&mut self.voided[place(signal)]);
        }
        // What the launcher got only once, as signals of one kind do not queue, is not to be taken for the
        // next one.
        *came = if more { *came - 1 } else { 0 };
        true
    }

    /// The launcher stopped and goes on, which voids the signals that stop, whoever has not taken
    /// them yet.
    pub(super) fn launcher_goes_on(&mut self) {
        for signal in STOPS {
            self.came[place(signal)] = 0;
            self.voided[place(signal)] = false;
        }
    }
}

fn place(signal: i32) -> usize {
    signal as usize % SIGNALS
}

/// What the kernel takes back, where it waits to be taken, when this one is sent.
fn voided_by(signal: i32) -> &'static [i32] {
    match signal {
        libc::SIGCONT => &STOPS,
        signal if STOPS.contains(&signal) => &[libc::SIGCONT],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use libc::{SIGCONT, SIGINT, SIGTSTP};

    use super::*;

    #[test]
    fn each_is_answered_for_as_often_as_it_came() {
        let mut group = Group::new();
        assert!(!group.has(SIGINT, false));
        group.was_sent(SIGINT);
        group.was_sent(SIGINT);
        assert!(group.has(SIGINT, true) && group.has(SIGINT, false) && !group.has(SIGINT, false));
        // The second one came while the first one waited at the launcher, which therefore has but one.
        group.was_sent(SIGINT);
        group.was_sent(SIGINT);
        assert!(group.has(SIGINT, false) && !group.has(SIGINT, false));
    }

    #[test]
    fn what_was_taken_back_from_the_launcher_is_not_taken_for_the_next_one() {
        let mut group = Group::new();
        group.was_sent(SIGCONT);
        group.was_sent(SIGTSTP);
        // The launcher never saw the first one, and the next one is for it alone.
        assert!(group.has(SIGTSTP, false) && !group.has(SIGCONT, false));
        group.was_sent(SIGTSTP);
        group.was_sent(SIGCONT);
        assert!(group.has(SIGCONT, false) && !group.has(SIGTSTP, false));
    }

    #[test]
    fn what_the_launcher_took_before_it_could_be_taken_back_is_answered_for() {
        let mut group = Group::new();
        group.was_sent(SIGCONT);
        group.was_sent(SIGTSTP);
        assert!(group.has(SIGCONT, false) && group.has(SIGTSTP, false));
    }
}
