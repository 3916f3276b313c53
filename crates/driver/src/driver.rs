//! The manager with its host: events in; orders, replies and what the events came to out.

use foresee_manager::{Action, Config, Counted, Event, Manager, Reply, Time, Withdrawn};

use crate::host::Host;

/// Is told of every event, with the actions it led to, when the manager has taken it in and before
/// they are carried out.
pub type Tap<'a> = dyn FnMut(Time, Event, &[Action], &Manager) + Send + 'a;

/// Owns the manager and the host.
pub struct Driver<'a, H> {
    manager: Manager,
    /// What carries the orders out.
    pub host: H,
    tap: Option<Box<Tap<'a>>>,
    /// Those of the event at hand; kept for their memory.
    actions: Vec<Action>,
}

impl<'a, H: Host> Driver<'a, H> {
    /// A manager that has heard nothing yet.
    pub fn new(config: &Config, host: H, tap: Option<Box<Tap<'a>>>) -> Self {
        Driver { manager: Manager::new(config), host, tap, actions: Vec::new() }
    }

    /// What the manager knows, to look at.
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// What was withdrawn by what was told last, to be dropped where nobody waits for that.
    pub fn withdrawn(&mut self) -> Withdrawn {
        self.manager.withdrawn()
    }

    /// Tells the manager what happened, after what the host has to tell of devices. Orders go to
    /// the host; each reply goes, in the order of the actions, to `hear`, with the host at its
    /// side. Returns what the event came to.
    pub fn tell(&mut self, event: Event, mut hear: impl FnMut(&mut H, Reply)) -> Counted {
        while let Some(news) = self.host.news() {
            self.tell_alone(news, &mut hear);
        }
        self.tell_alone(event, &mut hear)
    }

    fn tell_alone(&mut self, event: Event, hear: &mut impl FnMut(&mut H, Reply)) -> Counted {
        let now = self.host.now();
        let counted = self.manager.handle(now, event, &mut self.actions);
        if let Some(tap) = &mut self.tap {
            tap(now, event, &self.actions, &self.manager);
        }
        for action in self.actions.drain(..) {
            match action {
                Action::Order(order) => self.host.carry_out(order),
                Action::Reply(reply) => hear(&mut self.host, reply),
            }
        }
        counted
    }
}
