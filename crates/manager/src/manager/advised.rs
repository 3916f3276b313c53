//! Advice, handed to the policy, and what is said to the advisers.

use super::*;
use crate::advice::Answer;

impl Manager {
    /// A reader advises, or asks what it advised.
    pub(super) fn advised(&mut self, event: Event, out: &mut Vec<Action>) {
        let Some((reader, advice)) = Advice::of(event) else { return };
        match (self.policy.advised(reader, advice, &context!(self)), advice) {
            (Err(why), _) => {
                self.statistics.refused += 1;
                out.push(Action::Refused { reader, why });
            }
            (Ok(Answer::Priority(priority)), Advice::GetPriority { file }) => {
                out.push(Action::Priority { reader, file, priority });
            }
            (Ok(Answer::Order(order)), Advice::GetPolicy { priority }) => {
                out.push(Action::LevelPolicy { reader, priority, order });
            }
            (Ok(_), _) => {}
        }
    }
}
