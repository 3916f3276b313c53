//! The text form of events and actions: what is written reads back the same, and what is no message
//! says why.

use foresee_manager::*;
use proptest::prelude::*;

fn want() -> impl Strategy<Value = Want> {
    let range = (any::<u64>(), any::<u64>()).prop_map(|(first, count)| Want::Range { first, count });
    prop_oneof![Just(Want::Name), Just(Want::All), range]
}

fn demand() -> impl Strategy<Value = Demand> {
    prop_oneof![
        Just(Demand::Observed),
        any::<(u64, bool)>().prop_map(|(over, waited)| Demand::Timed { over: Time(over), waited }),
        any::<u64>().prop_map(|waiter| Demand::Served(WaiterId(waiter)))
    ]
}

fn advice() -> impl Strategy<Value = Advice> {
    let file = || any::<u32>().prop_map(FileId);
    let order = proptest::sample::select(LevelOrder::ALL);
    prop_oneof![
        Just(Advice::Manage),
        Just(Advice::GiveUp),
        (file(), any::<i32>()).prop_map(|(file, priority)| Advice::SetPriority { file, priority }),
        file().prop_map(|file| Advice::GetPriority { file }),
        (any::<i32>(), order).prop_map(|(priority, order)| Advice::SetPolicy { priority, order }),
        any::<i32>().prop_map(|priority| Advice::GetPolicy { priority }),
        (file(), any::<u64>(), any::<u64>(), any::<i32>()).prop_map(|(file, first, count, priority)| {
            Advice::SetTemporaryPriority { file, first, count, priority }
        }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let file = || any::<u32>().prop_map(FileId);
    let reader = || any::<u32>().prop_map(ReaderId);
    let fetch = || any::<u64>().prop_map(FetchId);
    let view = || any::<u64>().prop_map(ViewId);
    let device = || any::<u16>().prop_map(DeviceId);
    let source = || proptest::sample::select(Source::ALL);
    prop_oneof![
        (reader(), source(), any::<u64>(), any::<u64>()).prop_map(|(reader, source, entries, passes)| Event::Repeat {
            reader,
            source,
            entries,
            passes
        }),
        (file(), any::<u64>(), any::<u64>()).prop_map(|(file, first, count)| Event::ReadAhead { file, first, count }),
        (device(), any::<u64>()).prop_map(|(device, blocks)| Event::Caution { device, blocks }),
        any::<bool>().prop_map(|suspended| Event::Suspend { suspended }),
        (device(), any::<u64>()).prop_map(|(device, blocks)| Event::ReadaheadWindow { device, blocks }),
        (device(), any::<u32>(), any::<u64>(), any::<bool>())
            .prop_map(|(device, requests, blocks, shaped)| Event::DeviceLimits { device, requests, blocks, shaped }),
        (reader(), source()).prop_map(|(reader, source)| Event::More { reader, source }),
        (reader(), source()).prop_map(|(reader, source)| Event::NoMore { reader, source }),
        (reader(), source(), any::<u64>()).prop_map(|(reader, source, percent)| Event::Confidence {
            reader,
            source,
            percent
        }),
        (file(), device(), any::<u64>(), any::<u64>()).prop_map(|(file, device, blocks, place)| Event::FileKnown {
            file,
            device,
            blocks,
            place
        }),
        file().prop_map(|file| Event::FileMissing { file }),
        (file(), any::<u64>()).prop_map(|(file, blocks)| Event::FileChanged { file, blocks }),
        file().prop_map(|file| Event::FileForgotten { file }),
        (file(), any::<u64>(), any::<u64>()).prop_map(|(file, first, count)| Event::Gone { file, first, count }),
        (reader(), source(), file(), want()).prop_map(|(reader, source, file, want)| Event::Hint {
            reader,
            source,
            file,
            want
        }),
        (reader(), source()).prop_map(|(reader, source)| Event::Cancel { reader, source }),
        reader().prop_map(|reader| Event::ReaderExited { reader }),
        (reader(), file()).prop_map(|(reader, file)| Event::Named { reader, file }),
        (reader(), any::<u64>().prop_map(Site), file(), any::<u64>(), any::<u64>(), demand()).prop_map(
            |(reader, site, file, first, count, demand)| Event::Reference { reader, site, file, first, count, demand }
        ),
        fetch().prop_map(|fetch| Event::FetchDone { fetch }),
        fetch().prop_map(|fetch| Event::FetchFailed { fetch }),
        any::<u64>().prop_map(|waiter| Event::Abandoned { waiter: WaiterId(waiter) }),
        (view(), file(), any::<u64>()).prop_map(|(view, file, index)| Event::Pinned { view, file, index }),
        (view(), file(), any::<u64>()).prop_map(|(view, file, index)| Event::Released { view, file, index }),
        any::<u64>().prop_map(|pages| Event::Capacity { pages }),
        any::<[u64; 5]>().prop_map(|[site, sequential, looping, period, spread]| Event::SiteLearned {
            site: Site(site),
            sequential,
            looping,
            period,
            spread
        }),
        any::<[u64; 4]>().prop_map(|[interval, age, used, open]| Event::ReuseLearned { interval, age, used, open }),
        (reader(), advice()).prop_map(|(reader, advice)| advice.event(reader)),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let file = || any::<u32>().prop_map(FileId);
    let class = || proptest::sample::select(Class::ALL);
    let fetch = (any::<u64>(), any::<u16>(), file(), any::<u64>(), any::<u64>(), class());
    prop_oneof![
        file().prop_map(|file| Action::Order(Order::Lookup { file })),
        fetch.prop_map(|(fetch, device, file, first, count, class)| {
            let (fetch, device) = (FetchId(fetch), DeviceId(device));
            Action::Order(Order::Fetch { fetch, device, file, first, count, class })
        }),
        (any::<u32>().prop_map(ReaderId), proptest::sample::select(Source::ALL))
            .prop_map(|(reader, source)| Action::Reply(Reply::Pull { reader, source })),
        (file(), any::<u64>(), any::<u64>()).prop_map(|(file, first, count)| Action::Order(Order::PassOver {
            file,
            first,
            count
        })),
        (file(), any::<u64>(), any::<u64>()).prop_map(|(file, first, count)| Action::Order(Order::Drop {
            file,
            first,
            count
        })),
        (any::<u64>(), proptest::sample::select(Outcome::ALL))
            .prop_map(|(waiter, outcome)| Action::Reply(Reply::Wake { waiter: WaiterId(waiter), outcome })),
        (any::<u32>().prop_map(ReaderId), proptest::sample::select(Refusal::ALL))
            .prop_map(|(reader, why)| Action::Reply(Reply::Refused { reader, why })),
        any::<u32>().prop_map(|reader| Action::Reply(Reply::Revoked { reader: ReaderId(reader) })),
        (any::<u32>().prop_map(ReaderId), file(), any::<i32>())
            .prop_map(|(reader, file, priority)| Action::Reply(Reply::Priority { reader, file, priority })),
        (any::<u32>().prop_map(ReaderId), any::<i32>(), proptest::sample::select(LevelOrder::ALL))
            .prop_map(|(reader, priority, order)| Action::Reply(Reply::LevelPolicy { reader, priority, order })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn events_read_back_the_same(event in event()) {
        let line = event.to_string();
        prop_assert_eq!(line.parse(), Ok(event));
        prop_assert_eq!(format!(" {} ", line.replace(' ', "\t")).parse(), Ok(event));
    }

    #[test]
    fn actions_read_back_the_same(action in action()) {
        prop_assert_eq!(action.to_string().parse(), Ok(action));
    }

    /// A line cut short or made longer is no message, and reading never panics.
    #[test]
    fn damaged_lines_are_refused(event in event(), at in any::<proptest::sample::Index>(), garbage in ".{0,20}") {
        let line = event.to_string();
        let cut = &line[..line.rfind(' ').expect("every event has a field")];
        prop_assert!(cut.parse::<Event>().is_err());
        let longer = format!("{line} x=1");
        prop_assert!(longer.parse::<Event>().is_err());
        let _ = garbage.parse::<Event>();
        let _ = format!("{}{garbage}", &line[..at.index(line.len())]).parse::<Event>();
    }
}

#[test]
fn malformed_lines_say_why() {
    let why = |line: &str| line.parse::<Event>().expect_err(line).to_string();
    assert!(why("").starts_with("'' is no event (one of: file-known, "), "{}", why(""));
    assert!(why("jump file=1").starts_with("'jump' is no event"));
    assert_eq!(why("file-missing"), "the field 'file' is missing");
    assert_eq!(why("file-missing 1"), "'1' is not a value of the field 'file'");
    assert_eq!(why("file-missing reader=1"), "'reader=1' is not a value of the field 'file'");
    assert_eq!(why("file-missing file=-1"), "'file=-1' is not a value of the field 'file'");
    assert_eq!(
        why("capacity pages=18446744073709551616"),
        "'pages=18446744073709551616' is not a value of the field 'pages'"
    );
    assert_eq!(why("capacity pages=1 please"), "'please' is one word too many");
    assert_eq!(
        why("hint reader=1 source=rumour file=1 want=all"),
        "'source=rumour' is not a value of the field 'source'"
    );
    for want in ["", "1", "+", "1+", "+1", "1+2+3", "-1+2", "ALL"] {
        let line = format!("hint reader=1 source=command file=1 want={want}");
        assert_eq!(why(&line), format!("'want={want}' is not a value of the field 'want'"));
    }
    assert!("fetch-done fetch=1".parse::<Action>().is_err(), "an event is no action");
    let error = "rumour".parse::<Source>().expect_err("no source");
    assert_eq!(
        error.to_string(),
        "'rumour' is none of: command, arguments, profile, related, listing, unordered, advice, library, readahead"
    );
}
