//! Advice, handed to the policy, and what is said to the advisers.

use super::*;
use crate::advice::Answer;

impl Manager {
    /// A reader advises, or asks what it advised; whether it was taken.
    pub(super) fn advised(&mut self, event: Event, out: &mut Vec<Action>) -> bool {
        let Some((reader, advice)) = Advice::of(event) else { return false };
        let answer = match self.policy.advice() {
            Some(advised) => advised.advised(reader, advice, &context!(self)),
            None => Err(Refusal::Policy),
        };
        match (answer, advice) {
            (Err(why), _) => {
                out.push(Action::Reply(Reply::Refused { reader, why }));
                return false;
            }
            (Ok(Answer::Priority(priority)), Advice::GetPriority { file }) => {
                out.push(Action::Reply(Reply::Priority { reader, file, priority }));
            }
            (Ok(Answer::Order(order)), Advice::GetPolicy { priority }) => {
                out.push(Action::Reply(Reply::LevelPolicy { reader, priority, order }));
            }
            (Ok(_), _) => {}
        }
        true
    }
}
