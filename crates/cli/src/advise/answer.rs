//! What to do: whether foresee helps, by which command, by how much, and what that costs.

use std::fmt::Write;
use std::time::Duration;

use foresee_sim::load::Trace;
use serde_json::{Value, json};

use super::results::{Results, Row};
use super::settings::Hints;
use crate::text::{bytes, count, time};

/// What is saved must be this part of the time as it is: less is within what the simulation leaves
/// out.
const WORTH_IT: f64 = 0.05;
/// Of two ways, the one with less to be known is taken if it saves this part of what the other
/// does.
const AS_GOOD: f64 = 0.95;
/// Another policy is named if it takes no more than this part of what foresee's own takes.
const CLEARLY_LESS: f64 = 0.8;
/// What a run takes longer that gains nothing, and each of its processes (`make bench`).
const START_NS: u64 = 4_000_000;
const PROCESS_NS: u64 = 300_000;
/// foresee's own memory beside a run (`own_memory_bytes` of runs in `make bench`).
const OWN_BYTES: u64 = 12 << 20;

/// A storage on which foresee helps.
struct Helped {
    storage: usize,
    /// As it is, and under foresee, which takes time to start.
    from_ns: u64,
    to_ns: u64,
}

/// The answer, of which there may be none.
pub struct Answer<'a> {
    results: &'a Results,
    start_ns: u64,
    /// What is known beforehand when it helps.
    hints: Hints,
    helped: Vec<Helped>,
    /// Another policy that does clearly better on the first storage.
    better: Option<&'a Row>,
}

impl<'a> Answer<'a> {
    /// Finds it.
    pub fn new(results: &'a Results, trace: &Trace) -> Self {
        let start_ns = START_NS + PROCESS_NS * trace.processes().len() as u64;
        let mut answer = Answer { results, start_ns, hints: Hints::None, helped: Vec::new(), better: None };
        let [none, recorded, told] = Hints::ALL.map(|hints| answer.helped_by(hints));
        let share = |helped: &[Helped]| helped.iter().map(|it| 1.0 - it.to_ns as f64 / it.from_ns as f64).sum::<f64>();
        (answer.hints, answer.helped) = if none.is_empty() && recorded.is_empty() {
            (Hints::Told, told)
        } else if share(&none) >= AS_GOOD * share(&recorded) {
            (Hints::None, none)
        } else {
            (Hints::Recorded, recorded)
        };
        answer.better = answer.better_policy();
        answer
    }

    fn helped_by(&self, hints: Hints) -> Vec<Helped> {
        let helped = (0..self.results.storages.len()).filter_map(|storage| {
            let from_ns = self.results.as_it_is(storage).report.elapsed_ns;
            let to_ns = self.with_start(self.results.own(storage, hints));
            let helps = to_ns as f64 <= (1.0 - WORTH_IT) * from_ns as f64 && from_ns > 0;
            helps.then_some(Helped { storage, from_ns, to_ns })
        });
        helped.collect()
    }

    /// What a user waits for.
    fn with_start(&self, row: &Row) -> u64 {
        row.report.elapsed_ns + if row.setting.is_as_it_is() { 0 } else { self.start_ns }
    }

    /// The best policy that needs no more to be known, if it is worth it and takes clearly less
    /// than foresee's own.
    fn better_policy(&self) -> Option<&'a Row> {
        let known = self.hints.max(Hints::Recorded);
        let rows = self.results.on(0).filter(|row| row.setting.hints <= known && !row.setting.is_as_it_is());
        let (own, others): (Vec<&Row>, Vec<&Row>) = rows.partition(|row| row.setting.is_own());
        let least = |rows: Vec<&'a Row>| rows.into_iter().min_by_key(|row| row.report.elapsed_ns);
        let (own, best) = (self.with_start(least(own)?) as f64, least(others)?);
        let (from_ns, to_ns) = (self.results.as_it_is(0).report.elapsed_ns as f64, self.with_start(best) as f64);
        (to_ns <= CLEARLY_LESS * own && to_ns <= (1.0 - WORTH_IT) * from_ns).then_some(best)
    }

    /// The first storage on which it helps from the first run on, and later ones, which go by what
    /// that one read, take clearly longer than it.
    fn learned_is_worse(&self) -> Option<&Helped> {
        let later = |it: &Helped| self.with_start(self.results.own(it.storage, Hints::Recorded)) as f64;
        let is_worse = |it: &&Helped| self.hints == Hints::None && later(it) >= (1.0 + WORTH_IT) * it.to_ns as f64;
        self.helped.iter().find(is_worse)
    }

    /// The words to type; None if nothing helps.
    fn command(&self) -> Option<String> {
        match (self.helped.is_empty(), self.better) {
            (false, _) if self.learned_is_worse().is_some() => Some("foresee run --no-learn -- CMD".to_owned()),
            (false, _) => Some("foresee run -- CMD".to_owned()),
            (true, Some(row)) => Some(command_of(row)),
            (true, None) => None,
        }
    }

    fn headline(&self) -> String {
        let results = self.results;
        if self.helped.is_empty() {
            return match self.better {
                Some(row) => format!(
                    "foresee's own policy would not help this program; another would, on {}: {} in place of {}.",
                    results.storages[0].name,
                    show(self.with_start(row)),
                    show(results.as_it_is(0).report.elapsed_ns),
                ),
                None => format!("foresee would not help this program. {}", self.why_not()),
            };
        }
        let times = |it: &Helped| {
            let ratio = it.from_ns as f64 / it.to_ns as f64;
            let digits = usize::from(ratio < 9.95);
            format!("{ratio:.digits$} times faster on {}", results.storages[it.storage].name)
        };
        let helped: Vec<String> = self.helped.iter().map(times).collect();
        let others = (0..results.storages.len()).filter(|at| self.helped.iter().all(|it| it.storage != *at));
        let other = |storage| {
            let (as_it_is, own) = (results.as_it_is(storage), results.own(storage, self.hints));
            let is_slower = self.with_start(own) as f64 >= (1.0 + WORTH_IT) * as_it_is.report.elapsed_ns as f64;
            format!("; {} on {}", if is_slower { "slower" } else { "the same" }, results.storages[storage].name)
        };
        let others: String = others.map(other).collect();
        let when = match (self.hints, self.learned_is_worse()) {
            (Hints::None, Some(it)) => {
                let later = show(self.with_start(results.own(it.storage, Hints::Recorded)));
                let (first, name) = (show(it.to_ns), &results.storages[it.storage].name);
                format!(
                    "if no run goes by what one before it read (on {name} later runs would take {later}, not {first})"
                )
            }
            (Hints::None, None) => "from its first run on".to_owned(),
            (Hints::Recorded, _) => "from its second run on, which goes by what the first one read".to_owned(),
            (Hints::Told, _) => "once it discloses what it will read (docs/hints.md)".to_owned(),
        };
        format!("foresee would help this program, {when}:\n{}{others}.", helped.join(", "))
    }

    /// Why nothing helps, and what would tell more.
    fn why_not(&self) -> String {
        let slowest = self.results.as_it_is(0);
        let (name, requests) = (&self.results.storages[0].name, slowest.requests());
        let (elapsed, stall) = (slowest.report.elapsed_ns, slowest.report.stall_ns());
        if requests <= 1 {
            return "All it reads comes by one request, and nothing can be read ahead of that. A trace of more of its reads would tell \
                    more."
                .to_owned();
        }
        let waits = format!("On {name} it waits for {} of {}", show(stall), show(elapsed));
        if (stall as f64) < WORTH_IT * elapsed as f64 {
            return format!("{waits}: too little to gain. Slower storage (--device) would tell whether it ever does.");
        }
        let least = Hints::ALL.map(|hints| self.results.own(0, hints).report.elapsed_ns).into_iter().min().unwrap_or(0);
        if (least as f64) < (1.0 - WORTH_IT) * elapsed as f64 {
            let start = show(self.start_ns);
            return format!("{waits}, and foresee takes {start} to start. A longer run would tell more.");
        }
        format!(
            "{waits}, and no knowledge of what it will read makes that less: its readahead, or its storage, is busy already."
        )
    }

    /// A line for each storage.
    fn times(&self) -> String {
        let storages = &self.results.storages;
        let width = storages.iter().map(|it| it.label.len()).max().unwrap_or(0);
        let heads = ["as it is", "first run", "later runs", "disclosed"];
        let mut text = format!("{:<width$}", "");
        // Writing to a string does not fail.
        heads.iter().for_each(|head| _ = write!(text, "  {head:>10}"));
        for (storage, kind) in storages.iter().enumerate() {
            let _ = write!(text, "\n{:<width$}", kind.label);
            let own = Hints::ALL.map(|hints| self.results.own(storage, hints));
            for row in [self.results.as_it_is(storage)].into_iter().chain(own) {
                let _ = write!(text, "  {:>10}", show(self.with_start(row)));
            }
        }
        text + "\n"
    }

    fn costs(&self) -> String {
        let storage = self.helped.first().map_or(0, |it| it.storage);
        let (from, to) = (self.results.as_it_is(storage), self.results.own(storage, self.hints));
        format!(
            "Costs: {} of memory, {} to start (counted above); on {} {} requests for {}, in place of {} for {}.\n",
            bytes(OWN_BYTES),
            show(self.start_ns),
            self.results.storages[storage].name,
            count(to.requests()),
            bytes(to.bytes()),
            count(from.requests()),
            bytes(from.bytes()),
        )
    }

    /// As a user reads it.
    pub fn text(&self) -> String {
        let mut text = self.headline() + "\n\n";
        if let Some(command) = self.command() {
            text += &format!("    {command}\n\n");
        }
        text += &self.times();
        text.push('\n');
        if !self.helped.is_empty() {
            text += &self.costs();
            if let Some(row) = self.better {
                let (name, took) = (&self.results.storages[0].name, show(self.with_start(row)));
                text += &format!("Faster still on {name}, in {took}: '{}'.\n", command_of(row));
            }
        }
        text
    }

    /// The same facts.
    pub fn json(&self) -> Value {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let storages = self.results.storages.iter().enumerate().map(|(storage, kind)| {
            let [first, later, disclosed] =
                Hints::ALL.map(|hints| seconds(self.with_start(self.results.own(storage, hints))));
            json!({
                "storage": kind.name,
                "device": kind.device.to_string(),
                "helped": self.helped.iter().any(|it| it.storage == storage),
                "as_it_is_s": seconds(self.results.as_it_is(storage).report.elapsed_ns),
                "first_run_s": first,
                "later_runs_s": later,
                "disclosed_s": disclosed,
            })
        });
        json!({
            "helps": self.command().is_some(),
            "hints": if self.helped.is_empty() { Value::Null } else { self.hints.word().into() },
            "command": self.command(),
            "why_not": self.command().is_none().then(|| self.why_not()),
            "better_command": self.better.map(command_of),
            "storages": storages.collect::<Vec<_>>(),
            "costs": { "memory_bytes": OWN_BYTES, "start_s": seconds(self.start_ns) },
        })
    }
}

fn show(ns: u64) -> String {
    time(Duration::from_nanos(ns))
}

/// 'foresee run' under a row's policy, which shall go by no more than the row did.
fn command_of(row: &Row) -> String {
    let no_learn = if row.setting.hints == Hints::None { "--no-learn " } else { "" };
    format!("foresee run {no_learn}--policy {} -- CMD", row.setting.policy.as_str())
}

#[cfg(test)]
mod tests {
    use foresee_sim::device::DeviceReport;
    use foresee_sim::host::{ReaderReport, Report};

    use super::super::settings::settings;
    use super::super::storage::kinds;
    use super::*;

    const MS: u64 = 1_000_000;

    /// Times in ms: on each storage as it is, in a first run, in later ones, disclosed; and of
    /// policy `arc` on the first.
    fn results(times: [[u64; 4]; 3], arc: u64) -> Results {
        let storages = kinds().unwrap();
        let report = |ms: u64| Report {
            elapsed_ns: ms * MS,
            readers: vec![ReaderReport { stall_ns: ms * MS, ..ReaderReport::default() }],
            processor: None,
            devices: vec![DeviceReport { requests: ms, bytes: ms, ..DeviceReport::default() }],
            statistics: Default::default(),
        };
        let settings = settings(storages.len(), &["arc".parse().unwrap()]).unwrap();
        let rows = settings.into_iter().map(|setting| {
            let of_storage = times[setting.storage];
            let ms = match setting.hints {
                Hints::None if setting.is_as_it_is() => of_storage[0],
                _ if setting.is_own() => of_storage[1 + setting.hints as usize],
                Hints::None => arc,
                _ => of_storage[0],
            };
            Row { setting, report: report(ms) }
        });
        Results { rows: rows.collect(), storages }
    }

    fn answer(times: [[u64; 4]; 3], arc: u64) -> (Value, String) {
        let results = results(times, arc);
        let trace = Trace::of_blocks(0..10, 4096);
        let answer = Answer::new(&results, &trace);
        (answer.json(), answer.text())
    }

    const THE_SAME: [u64; 4] = [1000; 4];

    #[test]
    fn the_least_that_must_be_known_is_asked_for() {
        for (times, hints, said) in [
            ([1000, 500, 490, 400], "none", "from its first run on:\n2.0 times faster on network storage; the same on"),
            (
                [1000, 990, 96, 90],
                "recorded",
                "from its second run on, which goes by what the first one read:\n10 times",
            ),
            ([1000, 1000, 980, 400], "told", "once it discloses what it will read (docs/hints.md):\n2.5 times"),
        ] {
            let (json, text) = answer([times, THE_SAME, THE_SAME], 1000);
            assert_eq!((&json["hints"], &json["helps"]), (&hints.into(), &true.into()), "{text}");
            assert!(text.contains(said) && text.contains("\n    foresee run -- CMD\n"), "{text}");
            assert!(text.contains("Costs: 12.0 MiB of memory, 4.3 ms to start"), "{text}");
        }
    }

    #[test]
    fn where_it_is_slower_it_says_so() {
        let (json, text) = answer([[1000, 1000, 100, 100], [1000, 1000, 1100, 1100], [100, 100, 50, 50]], 1000);
        assert!(text.contains("; slower on a hard disk."), "{text}");
        let helped: Vec<bool> = (0..3).map(|at| json["storages"][at]["helped"].as_bool().unwrap()).collect();
        assert_eq!(helped, [true, false, true]);
    }

    #[test]
    fn what_later_runs_lose_is_said() {
        let (json, text) = answer([[1000, 100, 900, 90], THE_SAME, THE_SAME], 1000);
        assert_eq!(
            (&json["command"], &json["hints"]),
            (&"foresee run --no-learn -- CMD".into(), &"none".into()),
            "{text}"
        );
        let said = "if no run goes by what one before it read (on network storage later runs would take 904.3 ms, not";
        assert!(text.contains(said) && text.contains(" not 104.3 ms):\n9.6 times faster on network storage"), "{text}");
        assert!(text.contains("\n    foresee run --no-learn -- CMD\n"), "{text}");
        // A little slower is within what the simulation leaves out.
        let (json, text) = answer([[1000, 100, 104, 90], THE_SAME, THE_SAME], 1000);
        assert_eq!(json["command"], "foresee run -- CMD", "{text}");
        assert!(text.contains("from its first run on:"), "{text}");
    }

    #[test]
    fn what_it_takes_to_start_counts() {
        let short = [12, 12, 8, 8];
        let (json, text) = answer([short, short, short], 12);
        assert_eq!((&json["helps"], &json["command"]), (&false.into(), &Value::Null), "{text}");
        assert!(text.contains("it waits for 12.0 ms of 12.0 ms, and foresee takes 4.3 ms to start"), "{text}");
        assert!(!text.contains("foresee run") && !text.contains("Costs"), "{text}");
    }

    #[test]
    fn another_policy_is_named_if_it_is_clearly_better() {
        let own = [[1000, 600, 500, 500], THE_SAME, THE_SAME];
        assert_eq!(answer(own, 450).0["better_command"], Value::Null);
        let (json, text) = answer(own, 300);
        let command = "foresee run --no-learn --policy arc -- CMD";
        assert_eq!((&json["command"], &json["better_command"]), (&"foresee run -- CMD".into(), &command.into()));
        assert!(text.contains(&format!("Faster still on network storage, in 304.3 ms: '{command}'.")), "{text}");
        let (json, text) = answer([THE_SAME; 3], 300);
        assert_eq!((&json["helps"], &json["command"]), (&true.into(), &command.into()), "{text}");
        assert!(text.contains("another would, on network storage: 304.3 ms in place of 1.00 s"), "{text}");
    }
}
