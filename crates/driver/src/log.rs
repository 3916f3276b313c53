//! The event log: all that enters a driver's manager, and all that leaves it.

use std::sync::{Arc, Mutex, PoisonError};

use foresee_manager::{Config, FileId, Header, write_entry, write_name};

use crate::driver::Tap;

/// Takes the text of a log, some lines at a time.
pub type LogSink<'a> = Box<dyn FnMut(&str) + Send + 'a>;

/// The log of one manager, which `foresee replay` makes again.
#[derive(Clone)]
pub struct Log<'a>(Arc<Mutex<LogSink<'a>>>);

impl<'a> Log<'a> {
    /// Begins the log of a manager of this configuration.
    pub fn begin(mut sink: LogSink<'a>, config: &Config) -> Self {
        sink(&format!("{}\n", Header(config.clone())));
        Log(Arc::new(Mutex::new(sink)))
    }

    /// What writes events and actions to it.
    pub fn tap(&self) -> Box<Tap<'a>> {
        let (log, mut text) = (self.clone(), String::new());
        Box::new(move |now, event, actions, _| {
            text.clear();
            // Writing to a string does not fail.
            let _ = write_entry(&mut text, now, event, actions);
            log.write(&text);
        })
    }

    /// Says what a file is called.
    pub fn name(&self, file: FileId, name: &str) {
        let mut text = String::new();
        let _ = write_name(&mut text, file, name);
        self.write(&text);
    }

    fn write(&self, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)(text);
    }
}
