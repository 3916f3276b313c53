//! The account of a run, for people and for programs.

use std::time::Duration;

use foresee_manager::{Outcomes, Source};
use foresee_run::account::{Account, Ending, ProgramAccount, Unseen, UnseenProgram};
use foresee_run::host::MountAccount;
use foresee_run::unseen::words;
use serde_json::{Value, json};

use crate::output::Output;
use crate::text::{bytes, count, many, time};

/// What was read unseen is told if it is so much, and such a part of what came from storage.
const UNSEEN_BYTES_MIN: u64 = 1 << 20;
const UNSEEN_PART: u64 = 10;

/// Programs by their names, and why they do not tell of themselves.
pub fn named<'a>(programs: impl Iterator<Item = &'a UnseenProgram>) -> String {
    programs.map(|it| format!("{} ({})", it.name, words(it.why))).collect::<Vec<_>>().join(", ")
}

/// The account in a few lines; `is_kept`: the next run knows what this one read.
pub fn lines(account: &Account, is_kept: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |text: String| lines.push(text);
    if account.without {
        line(format!("ran in {}, unforeseen", time(account.elapsed)));
        return lines;
    }
    if account.programs == 0 {
        let why = account.unseen.first().map_or("static binary, or run as another user", |it| words(it.why));
        line(format!("ran in {}, unforeseen: the program could not be watched ({why})", time(account.elapsed)));
        return lines;
    }
    let Account { reads, bytes: read, stall, .. } = account;
    let (elapsed, stall) = (time(account.elapsed), time(*stall));
    line(format!("{elapsed}; {} of {}, of which {stall} stalled", many(*reads, "read"), bytes(*read)));
    for (name, told) in [("told", true), ("guessed", false)] {
        let Outcomes { fetched, timely, late, wasted, cancelled } = account.statistics.ahead_of(told);
        if fetched > 0 {
            line(format!(
                "{name}: {} blocks ahead: {} timely, {} late, {} wasted, {} cancelled",
                count(fetched),
                count(timely),
                count(late),
                count(wasted),
                count(cancelled)
            ));
        }
    }
    if account.statistics.gone_unread > 0 {
        line(format!(
            "{} blocks were brought ahead and gone again before they were read",
            count(account.statistics.gone_unread)
        ));
    }
    if account.statistics.runs_given_up > 0 {
        line("reading runs ahead was given up where the programs were as fast without".to_owned());
    }
    if account.suspended > Duration::ZERO {
        let suspended = time(account.suspended);
        line(format!(
            "reading ahead was suspended for {suspended}: processors were busy, and the programs got as much done without"
        ));
    }
    for MountAccount { point, file_system, found, remembered, .. } in &account.mounts {
        let when = if *remembered { ", as an earlier run found" } else { "" };
        line(format!("{point} ({file_system}): {found}{when}"));
    }
    if let Some(why) = why_nothing(account, is_kept) {
        line(why);
    }
    for (seen, is_from_outside) in [("seen from outside, without its waits", true), ("not seen", false)] {
        let those = account.unseen.iter().filter(|it| it.is_from_outside == is_from_outside);
        let named = named(those);
        if !named.is_empty() {
            line(format!("{seen}: {named}"));
        }
    }
    if account.unseen.iter().any(|it| it.why == Unseen::Privileged && !it.is_from_outside) {
        line(
            "what runs with rights of its own is seen where foresee has them too: 'sudo foresee run -- CMD'".to_owned(),
        );
    }
    if let Some((unseen, all)) = much_unseen(account) {
        let (unseen, all) = (bytes(unseen), bytes(all));
        line(format!("{unseen} of {all} from storage were read in ways that foresee does not see"));
    }
    if !account.going_on.is_empty() {
        let names = account.going_on.join(", ");
        line(format!(
            "still there, and foreseen no more: {names}; a server is foreseen as long as it stays in the foreground"
        ));
    }
    if account.records_lost > 0 {
        line(format!(
            "{} records were lost: the programs read faster than foresee follows",
            count(account.records_lost)
        ));
    }
    lines
}

/// The bytes that were read unseen, if that is worth a word, and those that came from storage.
fn much_unseen(account: &Account) -> Option<(u64, u64)> {
    let (unseen, transfers) = account.bytes_unseen().zip(account.transfers)?;
    let all = transfers.from_devices;
    (unseen >= UNSEEN_BYTES_MIN && unseen >= all / UNSEEN_PART).then_some((unseen, all))
}

/// A run that waits for less of its time than this has little to gain, and one of fewer seconds is
/// over too soon to speak of.
const STALL_SHARE: f64 = 0.05;
const LONG: Duration = Duration::from_secs(1);

/// Why a run gained nothing, in a line; None if it gained something, or nothing is to be said of
/// it.
fn why_nothing(account: &Account, is_kept: bool) -> Option<String> {
    let ahead = [account.statistics.ahead_of(true), account.statistics.ahead_of(false)];
    let of = |what: fn(&Outcomes) -> u64| ahead.iter().map(what).sum::<u64>();
    let (came_true, wasted) = (of(|it| it.timely + it.late), of(|it| it.wasted));
    if came_true > 0 {
        return None;
    }
    if account.elapsed < LONG {
        return (account.statistics.hints == 0).then(|| "nothing to go by this time".to_owned());
    }
    if account.stall.as_secs_f64() < STALL_SHARE * account.elapsed.as_secs_f64() {
        // Of what was not seen it is not known whether it was waited for.
        let is_all_seen = account.unseen.is_empty() && much_unseen(account).is_none();
        let (stall, elapsed) = (time(account.stall), time(account.elapsed));
        return is_all_seen.then(|| format!("little to gain: of {elapsed} it waited {stall} for what it read"));
    }
    let why = match (wasted, is_kept) {
        (0, true) => "nothing was known of what it would read; what it read is known to the next run",
        (0, false) => "nothing was known of what it would read, and what it read is not kept",
        _ => "what was known of what it would read did not come true this time",
    };
    Some(why.to_owned())
}

fn outcomes(outcomes: Outcomes) -> Value {
    let Outcomes { fetched, timely, late, wasted, cancelled } = outcomes;
    json!({ "fetched": fetched, "timely": timely, "late": late, "wasted": wasted, "cancelled": cancelled })
}

fn program(ProgramAccount { name, executions, reads, bytes, stall, missed }: &ProgramAccount) -> Value {
    json!({
        "name": name,
        "executions": executions,
        "reads": reads,
        "bytes": bytes,
        "stall_s": stall.as_secs_f64(),
        "missed_blocks": missed,
    })
}

fn unseen(UnseenProgram { name, why, executions, is_from_outside, .. }: &UnseenProgram) -> Value {
    json!({ "name": name, "why": words(*why), "executions": executions, "from_outside": is_from_outside })
}

/// The account as JSON; the keys are documented in docs/json.md and stay.
pub fn json(account: &Account) -> Value {
    let (status, signal) = match account.ending {
        Ending::Status(status) => (Some(status), None),
        Ending::Signal(signal) => (None, Some(signal)),
    };
    let by_source: serde_json::Map<String, Value> = Source::ALL
        .iter()
        .map(|source| (source.word().to_owned(), outcomes(account.statistics.ahead[*source as usize])))
        .collect();
    let counters: serde_json::Map<String, Value> =
        account.statistics.counters().into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    json!({
        "elapsed_s": account.elapsed.as_secs_f64(),
        "status": status,
        "signal": signal,
        "watched": account.programs > 0,
        "programs": account.programs,
        "reads": account.reads,
        "bytes": account.bytes,
        "stall_s": account.stall.as_secs_f64(),
        "unseen": account.unseen.iter().map(unseen).collect::<Vec<_>>(),
        "by_program": account.by_program.iter().map(program).collect::<Vec<_>>(),
        "prefetched": {
            "told": outcomes(account.statistics.ahead_of(true)),
            "guessed": outcomes(account.statistics.ahead_of(false)),
            "by_source": by_source,
            "bytes": account.bytes_ahead,
            "method": account.method,
        },
        "profile_of": account.profile_of,
        "profile_steps": account.profile_steps,
        "manager": counters,
        "kernel": account.transfers.map(|it| json!({ "given_bytes": it.given, "from_storage_bytes": it.from_devices })),
        "unseen_bytes": account.bytes_unseen(),
        "records_lost": account.records_lost,
        "suspended_s": account.suspended.as_secs_f64(),
        "own_cpu_s": account.own_cpu.as_secs_f64(),
        "own_memory_bytes": account.own_memory,
        "start_up_s": account.start_up.as_secs_f64(),
        "warnings": account.warnings,
        "going_on": account.going_on,
        "mounts": account.mounts.iter().map(mount).collect::<Vec<_>>(),
    })
}

fn mount(MountAccount { point, file_system, word, remembered, .. }: &MountAccount) -> Value {
    json!({ "point": point, "file_system": file_system, "found": word, "remembered": remembered })
}

/// Writes a value.
pub fn write_json(output: &Output, value: &Value) -> Result<(), String> {
    output.write(format!("{value:#}\n").as_bytes())
}

/// Writes objects of the same keys: their keys, then a line each.
pub fn write_csv(output: &Output, rows: &[Value]) -> Result<(), String> {
    let mut text = String::new();
    let objects: Vec<_> = rows.iter().filter_map(Value::as_object).collect();
    let mut line = |cells: Vec<String>| {
        text.push_str(&cells.join(","));
        text.push('\n');
    };
    if let Some(first) = objects.first() {
        line(first.keys().cloned().collect());
    }
    for object in objects {
        line(object.values().map(csv_cell).collect());
    }
    output.write(text.as_bytes())
}

/// A value between commas. A policy's parameters hold commas themselves.
fn csv_cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains([',', '"', '\n']) => format!("\"{}\"", text.replace('"', "\"\"")),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use foresee_run::account::Transfers;
    use foresee_run::supervisor::Tally;

    use super::*;

    #[test]
    fn a_run_of_which_nothing_is_kept_is_not_said_to_be_known() {
        let waited =
            ProgramAccount { name: "cat".to_owned(), executions: 1, reads: 1, bytes: 4096, stall: LONG, missed: 1 };
        let tally = Tally { programs: 1, by_program: vec![waited], ..Tally::default() };
        let account = Account::new(tally, 2 * LONG, Ending::Status(0), Duration::ZERO);
        let says = |is_kept, what: &str| lines(&account, is_kept).iter().any(|line| line.contains(what));
        assert!(says(true, "is known to the next run") && !says(true, "not kept"));
        assert!(says(false, "not kept") && !says(false, "next run"));
    }

    fn says(account: &Account, what: &str) -> bool {
        lines(account, true).iter().any(|line| line.contains(what))
    }

    #[test]
    fn a_short_run_that_gained_is_not_said_to_have_had_nothing_to_go_by() {
        let tally = Tally { programs: 1, ..Tally::default() };
        let mut account = Account::new(tally, LONG / 2, Ending::Status(0), Duration::ZERO);
        assert!(says(&account, "nothing to go by"));
        account.statistics.ahead[Source::Profile as usize].timely = 100;
        assert!(!says(&account, "nothing to go by"));
    }

    #[test]
    fn where_reads_were_not_seen_it_is_not_said_that_there_is_little_to_gain() {
        let tally = Tally { programs: 1, ..Tally::default() };
        let mut account = Account::new(tally, 4 * LONG, Ending::Status(0), Duration::ZERO);
        assert!(says(&account, "little to gain"));
        let transfers = |given| Some(Transfers { given, from_devices: 100 << 20 });
        account.transfers = transfers(1 << 10);
        assert!(says(&account, "little to gain"));
        account.transfers = transfers(100 << 20);
        assert!(!says(&account, "little to gain") && says(&account, "in ways that foresee does not see"));
        account.transfers = None;
        let (name, why) = ("server".to_owned(), Unseen::Static);
        account.unseen.push(UnseenProgram { run: 0, name, why, executions: 1, is_from_outside: true });
        assert!(!says(&account, "little to gain"));
    }

    #[test]
    fn where_foresee_was_not_there_nothing_is_said_of_the_program() {
        let mut account = Account::new(Tally::default(), LONG, Ending::Status(0), Duration::ZERO);
        assert!(says(&account, "the program could not be watched"));
        account.without = true;
        assert_eq!(lines(&account, false), ["ran in 1.00 s, unforeseen"]);
    }

    #[test]
    fn behind_which_foresee_must_be_to_see_is_said() {
        let tally = Tally { programs: 1, ..Tally::default() };
        let mut account = Account::new(tally, LONG, Ending::Status(0), Duration::ZERO);
        for (why, is_said) in [(Unseen::Static, false), (Unseen::Privileged, true)] {
            let name = "sudo".to_owned();
            account.unseen = vec![UnseenProgram { run: 0, name, why, executions: 1, is_from_outside: false }];
            assert_eq!(says(&account, "sudo foresee run"), is_said);
        }
    }
}
