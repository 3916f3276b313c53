//! Holds each read's answer until the model says it is due. One thread keeps the time; whoever
//! takes requests off the kernel never sleeps.

use crate::bad::Bad;
use crate::model::{Done, Model, Nanos, Request, Settings};
use crate::stats::Stats;
use fuser::{Errno, ReplyData};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Shared by the threads that take requests and the one that answers them.
pub struct Engine {
    origin: Instant,
    device_size: u64,
    state: Mutex<State>,
    wake: Condvar,
}

struct State {
    settings: Settings,
    model: Option<Box<dyn Model>>,
    bad: Bad,
    waiting: HashMap<u64, Waiting>,
    next_id: u64,
    /// When the time keeper will look again by itself.
    wake_at: Nanos,
    stats: Stats,
}

struct Waiting {
    request: Request,
    /// None: it touches a bad range.
    data: Option<Vec<u8>>,
    reply: ReplyData,
}

impl Waiting {
    fn answer(self) {
        match self.data {
            Some(data) => self.reply.data(&data),
            None => self.reply.error(Errno::EIO),
        }
    }

    fn count_in(&self, stats: &mut Stats, now: Nanos) {
        match &self.data {
            Some(data) => stats.answered(now, data.len() as u64),
            None => stats.failed(now),
        }
    }
}

impl Engine {
    /// Starts the time keeper.
    pub fn start(settings: Settings, device_size: u64) -> std::io::Result<Arc<Engine>> {
        let engine = Arc::new(Engine {
            origin: Instant::now(),
            device_size,
            state: Mutex::new(State {
                model: settings.build(device_size),
                settings,
                bad: Bad::default(),
                waiting: HashMap::new(),
                next_id: 0,
                wake_at: Nanos::MAX,
                stats: Stats::default(),
            }),
            wake: Condvar::new(),
        });
        let keeper = Arc::clone(&engine);
        std::thread::Builder::new().name("slowdisk-time".into()).spawn(move || keeper.keep_time())?;
        Ok(engine)
    }

    /// A read came in: counts it and says when that was.
    pub fn arrived(&self) -> Nanos {
        let mut state = self.lock();
        let now = self.now();
        state.stats.arrived(now);
        now
    }

    /// Answers a read that came in at `arrived`, with this data, when it is due.
    pub fn answer(&self, arrived: Nanos, offset: u64, data: Vec<u8>, reply: ReplyData) {
        let mut state = self.lock();
        let request = Request { id: state.next_id, offset, len: data.len() as u64 };
        state.next_id += 1;
        let data = (!state.bad.fails(&request)).then_some(data);
        let waiting = Waiting { request, data, reply };
        let State { model, wake_at, .. } = &mut *state;
        let Some(model) = model else {
            waiting.count_in(&mut state.stats, self.now());
            drop(state);
            waiting.answer();
            return;
        };
        model.submit(arrived, request);
        let sooner = model.next_event().is_some_and(|next| next < *wake_at);
        state.waiting.insert(request.id, waiting);
        drop(state);
        if sooner {
            self.wake.notify_one();
        }
    }

    /// A read came to nothing.
    pub fn failed(&self) {
        let mut state = self.lock();
        let now = self.now();
        state.stats.failed(now);
    }

    /// A write was done.
    pub fn wrote(&self, bytes: u64) {
        self.lock().stats.wrote(bytes);
    }

    /// Takes lines as written to the control file.
    pub fn control(&self, text: &str) -> Result<(), String> {
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return Err("nothing was written: write network, disk, off, bad or reset".into());
        }
        let mut state = self.lock();
        let (mut settings, mut bad) = (state.settings.clone(), state.bad.clone());
        let mut switched = false;
        for line in &lines {
            match line.split_once(char::is_whitespace).unwrap_or((line, "")) {
                ("reset", "") => {}
                ("bad", words) => bad.apply(words.trim()).map_err(|why| format!("{line}: {why}"))?,
                _ => {
                    settings.apply(line)?;
                    switched = true;
                }
            }
        }
        let now = self.now();
        if lines.contains(&"reset") {
            state.stats.reset(now);
        }
        state.bad = bad;
        if switched {
            let released = state.switch(now, settings, self.device_size);
            drop(state);
            self.wake.notify_one();
            released.into_iter().for_each(Waiting::answer);
        }
        Ok(())
    }

    /// The text of the control file.
    pub fn report(&self) -> String {
        let mut state = self.lock();
        let now = self.now();
        format!("model {}\n{}{}", state.settings.line(), state.bad.lines(), state.stats.text(now))
    }

    fn keep_time(&self) {
        // The kernel may round a sleep up by this much; its default of 50 µs is a visible error.
        // SAFETY: takes no pointers and concerns this thread alone.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1usize) };
        let mut due = Vec::new();
        let mut state = self.lock();
        loop {
            let now = self.now();
            let ready = state.take_due(now, &mut due);
            if ready.is_empty() {
                let next = state.model.as_ref().and_then(|model| model.next_event());
                state.wake_at = next.unwrap_or(Nanos::MAX);
                state = match next {
                    None => self.wake.wait(state).unwrap_or_else(|e| e.into_inner()),
                    Some(at) => {
                        let pause = Duration::from_nanos(at.saturating_sub(now));
                        self.wake.wait_timeout(state, pause).unwrap_or_else(|e| e.into_inner()).0
                    }
                };
                state.wake_at = 0;
            } else {
                // Handing data to the kernel copies it; requests may be taken meanwhile.
                drop(state);
                ready.into_iter().for_each(Waiting::answer);
                state = self.lock();
            }
        }
    }

    fn now(&self) -> Nanos {
        self.origin.elapsed().as_nanos() as Nanos
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl State {
    fn take_due(&mut self, now: Nanos, due: &mut Vec<Done>) -> Vec<Waiting> {
        let Some(model) = &mut self.model else { return Vec::new() };
        model.complete(now, due);
        let mut ready = Vec::with_capacity(due.len());
        for done in due.drain(..) {
            if let Some(waiting) = self.waiting.remove(&done.id) {
                self.stats.late(now - done.due);
                waiting.count_in(&mut self.stats, now);
                ready.push(waiting);
            }
        }
        ready
    }

    /// Puts new settings in force. Reads that wait begin anew under them; returns those that
    /// need not wait any more.
    fn switch(&mut self, now: Nanos, settings: Settings, device_size: u64) -> Vec<Waiting> {
        self.model = settings.build(device_size);
        self.settings = settings;
        if let Some(model) = &mut self.model {
            let mut requests: Vec<Request> = self.waiting.values().map(|waiting| waiting.request).collect();
            requests.sort_by_key(|request| request.id);
            requests.into_iter().for_each(|request| model.submit(now, request));
            return Vec::new();
        }
        let released: Vec<Waiting> = self.waiting.drain().map(|(_, waiting)| waiting).collect();
        released.iter().for_each(|waiting| waiting.count_in(&mut self.stats, now));
        released
    }
}
