//! The event log: all that enters a driver's manager, and all that leaves it.

use foresee_manager::{Config, Header, write_entry};

use crate::driver::Tap;

/// Takes the text of a log, some lines at a time.
pub type LogSink<'a> = Box<dyn FnMut(&str) + 'a>;

/// A tap that writes the log of a manager of this configuration, which `foresee replay` makes again.
pub fn log_to<'a>(mut sink: LogSink<'a>, config: &Config) -> Box<Tap<'a>> {
    sink(&format!("{}\n", Header(config.clone())));
    let mut text = String::new();
    Box::new(move |now, event, actions, _| {
        text.clear();
        // Writing to a string does not fail.
        let _ = write_entry(&mut text, now, event, actions);
        sink(&text);
    })
}
