//! Profiles: kept, found again, shown and forgotten; and no harm where they cannot be, or are not
//! what they should be.

mod support;

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;
use support::{Place, end, is_root, lines_of};

/// A command that reads three files, and what it says.
const CAT: [&str; 4] = ["cat", "d/f0", "d/f1", "d/f2"];

fn said() -> String {
    (0..3).map(|it| lines_of(it, 2000)).collect()
}

fn place() -> Place {
    let place = Place::new();
    place.write_lines(3, 2000);
    place
}

/// The one profile there is.
fn the_profile(place: &Place) -> PathBuf {
    let stored = place.stored();
    assert_eq!(stored.len(), 1, "{stored:?}");
    stored.into_iter().next().unwrap()
}

#[test]
fn the_second_run_knows_what_the_first_read() {
    let place = place();
    let (ended, account) = place.account(&["--no-words"], &CAT);
    assert_eq!((ended.out() == said(), &account["profile_steps"]), (true, &Value::Null));
    place.make_cold();
    let (ended, account) = place.account(&["--no-words"], &CAT);
    assert!(ended.out() == said() && account["profile_steps"].as_u64().unwrap() >= 3, "{account:#}");
    assert!(account["manager"].is_object());
    // Another directory, another argument: another command.
    assert_eq!(place.account(&[], &["cat", "d/f0"]).1["profile_steps"], Value::Null);
    let mut command = place.run(&[], &["cat", "f0"]);
    command.current_dir(place.path("d"));
    end(command, b"").with(0);
    assert_eq!(place.stored().len(), 3);
}

/// What a policy learned of call sites is told the next run's manager before all else (004 section
/// 4.3), and outlives a run under a policy that learns nothing. `informed` learns by what it keeps
/// by.
#[test]
fn the_second_run_starts_with_what_was_learned() {
    ["pcc:sample=1", "informed:keep=pcc,keep.sample=1"].into_iter().for_each(starts_with_what_was_learned);
}

fn starts_with_what_was_learned(learns: &str) {
    let place = place();
    let sites = |policy: &str| {
        let log = place.path("../log");
        place.account(&["--no-words", "--policy", policy, "--log", log.to_str().unwrap()], &CAT);
        let log = fs::read_to_string(log).unwrap();
        let of = |word: &str, field: &str| -> Vec<String> {
            let lines = log.lines().filter(|line| line.split(' ').nth(1) == Some(word));
            lines.flat_map(|line| line.split(' ').filter_map(|it| it.strip_prefix(field)).map(str::to_owned)).collect()
        };
        (of("site-learned", "site="), of("reference", "site="))
    };
    let (learned, read) = sites(learns);
    assert!(learned.is_empty() && !read.is_empty() && read.iter().all(|site| site != "0"), "{read:?}");
    for policy in ["tip1", learns] {
        place.forget_findings();
        let (learned, again) = sites(policy);
        assert!(!learned.is_empty() && learned.iter().all(|site| read.contains(site)), "{learned:?} {read:?}");
        // Who learns nothing by them is not told of any.
        let told = |site: &String| if policy == "tip1" { site == "0" } else { learned.contains(site) };
        assert!(again.iter().any(told), "{learned:?} {again:?}");
    }
}

/// So is how soon blocks were used again, by the default, where not all that was read fits.
#[test]
fn the_second_run_knows_how_soon_blocks_are_used_again() {
    let place = place();
    let learned = |options: &[&str]| {
        let log = place.path("../log");
        let common = ["--no-words", "--policy", "informed", "--log", log.to_str().unwrap()];
        place.account(&[&common, options].concat(), &CAT);
        let log = fs::read_to_string(log).unwrap();
        log.lines().filter(|line| line.split(' ').nth(1) == Some("reuse-learned")).count()
    };
    assert_eq!(learned(&[]), 0);
    place.forget_findings();
    assert_eq!(learned(&["--memory", "16KiB"]), 0, "all had room");
    assert!(learned(&[]) > 0);
    assert!(learned(&[]) > 0, "what is not learned anew is kept");
}

#[test]
fn nothing_is_learned_unasked() {
    let place = place();
    end(place.run(&["--no-learn"], &CAT), b"").with(0);
    assert_eq!(fs::read_dir(place.cache()).unwrap().count(), 0);
    end(place.run(&[], &CAT), b"").with(0);
    let before = fs::read(the_profile(&place)).unwrap();
    let (_, account) = place.account(&["--no-learn"], &CAT);
    assert_eq!(account["profile_steps"], Value::Null);
    assert_eq!(fs::read(the_profile(&place)).unwrap(), before);
    end(place.foresee(&["record", "-o", "../trace", "--", "cat", "d/f0"]), b"").with(0);
    assert_eq!(place.stored().len(), 1);
}

/// Whatever its profile, a command does what it does; returns what foresee has to say about it.
#[track_caller]
fn runs_anyway(place: &Place) -> String {
    runs_anyway_with(place, &[])
}

#[track_caller]
fn runs_anyway_with(place: &Place, options: &[&str]) -> String {
    let (ended, account) = place.account(options, &CAT);
    let ended = ended.with(0);
    assert!(ended.out() == said());
    assert_eq!(account["warnings"].as_array().unwrap().len(), ended.err().lines().count(), "{ended:?}");
    ended.err()
}

#[test]
fn damaged_profiles_are_told_of_and_passed_over() {
    let place = place();
    assert_eq!(runs_anyway(&place), "");
    let profile = the_profile(&place);
    let good = fs::read(&profile).unwrap();
    let noise: Vec<u8> = (0..5000u32).map(|it| (it.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for damaged in [&b""[..], b"\n", &noise, &good[..good.len() / 2], &good[..good.len() - 1], &flipped] {
        fs::write(&profile, damaged).unwrap();
        let warning = runs_anyway(&place);
        assert!(warning.contains(&profile.display().to_string()) && warning.lines().count() == 1, "{warning}");
        // The run has written a good one in its place.
        assert_eq!(runs_anyway(&place), "");
        fs::write(&profile, damaged).unwrap();
        let name = profile.file_stem().unwrap().to_str().unwrap();
        assert!(end(place.foresee(&["profile", "list"]), b"").with(0).out().contains("  passed over: "));
        let rows: Value =
            serde_json::from_slice(&end(place.foresee(&["profile", "list", "--json"]), b"").with(0).stdout).unwrap();
        assert!(rows[0]["error"].is_string(), "{rows}");
        end(place.foresee(&["profile", "show", name]), b"").with(2);
    }
    // Not a file at all.
    fs::remove_file(&profile).unwrap();
    fs::create_dir(&profile).unwrap();
    assert!(!runs_anyway(&place).is_empty());
}

#[test]
fn profiles_that_name_what_is_no_more() {
    let place = place();
    let words = ["sh", "-c", "cat kept big; cat vanishing becomes shrinks link 2>/dev/null; echo $?"];
    place.write("kept", "kept");
    place.write("big", lines_of(1, 50_000));
    let names = ["vanishing", "becomes", "shrinks", "link"];
    for name in names {
        place.write(name, lines_of(2, 5000));
    }
    end(place.run(&[], &words), b"").with(0);
    let path = |name: &str| place.path(name);
    names.iter().for_each(|name| fs::remove_file(path(name)).unwrap());
    fs::create_dir(path("becomes")).unwrap();
    place.write("shrinks", "short");
    std::os::unix::fs::symlink("/dev/zero/x", path("link")).unwrap();
    place.write("big", "not any more");
    for round in 0..2 {
        let plain = end(place.plain(&words), b"");
        let (ended, account) = place.account(&[], &words);
        assert_eq!((&ended, ended.err().as_str()), (&plain, ""));
        assert!(account["profile_steps"].is_u64(), "{round}");
    }
}

#[test]
fn a_fifo_where_a_file_was_is_not_opened() {
    let place = place();
    // Its writer would take foresee for the reader it waits for.
    let words = ["sh", "-c", "if [ -p it ]; then timeout 0.5 sh -c 'echo x > it'; echo $?; else cat it; fi"];
    place.write("it", "a file\n");
    assert_eq!(end(place.run(&[], &words), b"").with(0).out(), "a file\n");
    fs::remove_file(place.path("it")).unwrap();
    end(place.plain(&["mkfifo", "it"]), b"").with(0);
    for _ in 0..2 {
        let (ended, account) = place.account(&[], &words);
        assert_eq!(ended.with(0).out(), "124\n");
        assert!(account["profile_steps"].is_u64());
    }
}

#[test]
fn hostile_profiles_do_no_harm() {
    let place = place();
    runs_anyway(&place);
    let profile = the_profile(&place);
    let raw = end(place.plain(&["zstd", "-dcq", profile.to_str().unwrap()]), b"");
    if raw.how != "status 0" {
        eprintln!("skipped: no zstd");
        return;
    }
    let text = raw.out();
    let head: Vec<&str> =
        text.lines().filter(|it| ["fore", "arg ", "dire"].iter().any(|word| it.starts_with(word))).collect();
    let f0 = place.path("d/f0").display().to_string();
    let zeros = "/dev/zero\nfile /proc/kmsg\nfile /dev/stdin\nfile /\nfile relative\nfile\nfile %00\nfile %FF%FE";
    for steps in [
        format!("file {f0}\nread 0 1 0+18446744073709551615\nread 0 1 18446744073709551615+1\nread 0 1 0+0"),
        format!("file {f0}\nread 0 1 4503599627370496+4503599627370496\nmap 0 1 0+99999999999"),
        format!("file {zeros}\nread 0 1 0+1000000\nread 1 1 0+1\nread 2 1 0+1\nread 3 1 0+1\nread 4 1 0+1\nname 5 1"),
        format!("file {f0}\n{}", "read 0 1 0+1000\n".repeat(200_000)),
        format!("file {f0}\n{}", "name 0 4294967295\n".repeat(100_000)),
        "read 0 1 0+1".to_owned(),
        "read x".to_owned(),
    ] {
        let packed = end(place.plain(&["zstd", "-cq"]), format!("{}\n{steps}\n", head.join("\n")).as_bytes()).with(0);
        fs::write(&profile, packed.stdout).unwrap();
        runs_anyway(&place);
    }
    // Another command's profile under the name of this one's.
    end(place.run(&[], &["cat", "d/f1"]), b"").with(0);
    let other = place.stored().into_iter().find(|it| *it != profile).unwrap();
    fs::copy(other, &profile).unwrap();
    let (_, account) = place.account(&["--no-words"], &CAT);
    assert_ne!(account["profile_of"], "own", "a profile of another command was used as its own");
}

#[test]
fn two_runs_of_one_command_at_a_time() {
    let place = place();
    let script = "for i in 1 2 3 4 5 6; do RUN sh -c 'cat d/f0 d/f1 d/f2 | md5sum' & done; wait";
    let script = script.replace("RUN", &place.foresee_word());
    for _ in 0..3 {
        let ended = end(place.plain(&["sh", "-c", &script]), b"").with(0);
        let mut lines: Vec<String> = ended.out().lines().map(str::to_owned).collect();
        lines.dedup();
        assert_eq!((lines.len(), ended.out().lines().count(), ended.err().as_str()), (1, 6, ""), "{ended:?}");
        the_profile(&place);
    }
    let listed = end(place.foresee(&["profile", "list"]), b"").with(0);
    assert!(!listed.out().contains("passed over"), "{listed:?}");
    place.assert_nothing_left();
}

#[test]
fn no_place_for_profiles() {
    let place = place();
    // Without XDG_CACHE_HOME it is below HOME; without either there are no profiles.
    let mut command = place.run(&[], &CAT);
    command.env_remove("XDG_CACHE_HOME");
    assert!(end(command, b"").with(0).out() == said());
    assert!(place.aside("home/.cache/foresee/profiles").is_dir());
    let mut command = place.run(&[], &CAT);
    command.env_remove("XDG_CACHE_HOME").env_remove("HOME");
    let ended = end(command, b"").with(0);
    assert!(ended.out() == said() && ended.err().is_empty(), "{ended:?}");
    // What HOME names and is not there stays so.
    let mut command = place.run(&[], &CAT);
    command.env_remove("XDG_CACHE_HOME").env("HOME", place.path("absent"));
    assert!(end(command, b"").with(0).out() == said() && !place.path("absent").exists());
    let mut command = place.foresee(&["profile", "list"]);
    command.env("XDG_CACHE_HOME", "").env_remove("HOME");
    assert!(end(command, b"").with(2).err().contains("HOME"));
    let mut command = place.foresee(&["profile", "list"]);
    command.env("XDG_CACHE_HOME", "cache").env_remove("HOME");
    assert!(end(command, b"").with(2).err().contains("HOME"), "a path that is not absolute is none");
    // Where a directory should be there is a file, or a device. That is told with the account, in one
    // line.
    for cache in [place.path("d/f0"), PathBuf::from("/dev/null"), PathBuf::from("/proc/self")] {
        for (option, lines) in [("-q", 0), ("--no-words", 0), ("--report", 1)] {
            let mut command = place.run(&[option], &CAT);
            command.env("XDG_CACHE_HOME", &cache);
            let ended = end(command, b"").with(0);
            let told = ended.err().matches("the profile was not kept: ").count();
            assert!(ended.out() == said() && told == lines, "{option}: {ended:?}");
            assert!(lines > 0 || ended.err().is_empty(), "{option}: {ended:?}");
        }
    }
}

#[test]
fn what_is_no_profile_of_our_own_is_passed_over() {
    let place = place();
    assert_eq!(runs_anyway(&place), "");
    let profile = the_profile(&place);
    let good = place.aside("good");
    fs::rename(&profile, &good).unwrap();
    let link = |target: &str| {
        let (target, profile) = (target.to_owned(), profile.clone());
        Box::new(move || std::os::unix::fs::symlink(&target, &profile).unwrap()) as Box<dyn Fn()>
    };
    let fifo = || _ = end(place.plain(&["mkfifo", profile.to_str().unwrap()]), b"").with(0);
    let long = || fs::File::create(&profile).unwrap().set_len(1 << 40).unwrap();
    let ways = [link("/dev/zero"), link(good.to_str().unwrap()), link("/no/such/file"), Box::new(fifo), Box::new(long)];
    for (way, put) in ways.iter().enumerate() {
        let _ = fs::remove_file(&profile);
        put();
        let warning = runs_anyway(&place);
        assert!(warning.contains("is passed over") && warning.lines().count() == 1, "{way}: {warning}");
        let _ = fs::remove_file(&profile);
        put();
        let ended = end(place.run(&["-q"], &CAT), b"").with(0);
        assert!(ended.out() == said() && ended.err().is_empty(), "{way}: {ended:?}");
        // The run has put a good one in its place, and nothing that was linked to is touched.
        assert!(fs::symlink_metadata(&profile).unwrap().is_file());
        assert_eq!(runs_anyway(&place), "");
    }
    if is_root() {
        fs::copy(&good, &profile).unwrap();
        let give_away = || std::os::unix::fs::chown(&profile, Some(54321), None).unwrap();
        give_away();
        let warning = runs_anyway(&place);
        assert!(warning.contains("belongs to another user; 'foresee profile forget' removes it"), "{warning}");
        // That run has put its own in its place.
        give_away();
        let name = profile.file_stem().unwrap().to_str().unwrap();
        let why = format!("{}: belongs to another user", profile.display());
        let listed = end(place.foresee(&["profile", "list"]), b"").with(0);
        assert_eq!(listed.out(), format!("{name}  passed over: {why}\n"));
        let listed = end(place.foresee(&["profile", "list", "--json"]), b"").with(0);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert_eq!(listed, serde_json::json!([{ "name": name, "error": why }]));
        end(place.foresee(&["profile", "forget", name]), b"").with(0);
        assert!(place.stored().is_empty());
    }
}

#[test]
fn who_can_write_to_the_directory_cannot_have_other_files_written() {
    let place = place();
    runs_anyway(&place);
    let victim = place.write("victim", "precious");
    // Whatever name a file might be written by first, for the shell's process becomes foresee's.
    let foresee = place.foresee_word();
    let profiles = place.profiles();
    let script = format!(
        "for n in 0 1 2 3 4 5 6 7 8 9; do ln -s {} {}/.$(($$ + n)).tmp; done; exec {foresee} cat d/f0",
        victim.display(),
        profiles.display()
    );
    end(place.plain(&["sh", "-c", &script]), b"").with(0);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    // Where others may write at any time, nothing is written at all.
    fs::remove_dir_all(&profiles).unwrap();
    fs::create_dir(&profiles).unwrap();
    fs::set_permissions(&profiles, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(runs_anyway(&place).contains("others may write to it; 'chmod 700' it"));
    if is_root() {
        fs::set_permissions(&profiles, fs::Permissions::from_mode(0o700)).unwrap();
        std::os::unix::fs::chown(&profiles, Some(54321), None).unwrap();
        assert!(runs_anyway(&place).contains("belongs to another user"));
    }
    assert_eq!(fs::read_dir(&profiles).unwrap().count(), 0);
}

/// A small file system mounted over the cache directory; gone with this.
struct Mount(CString);

impl Mount {
    fn over(place: &Place, options: &str, flags: libc::c_ulong) -> Option<Self> {
        let at = CString::new(place.cache().as_os_str().as_bytes()).unwrap();
        let options = CString::new(options).unwrap();
        // SAFETY: all are strings that outlive the call.
        let result =
            unsafe { libc::mount(c"none".as_ptr(), at.as_ptr(), c"tmpfs".as_ptr(), flags, options.as_ptr().cast()) };
        if result != 0 {
            eprintln!("skipped: mount: {}", std::io::Error::last_os_error());
        }
        (result == 0).then_some(Mount(at))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // SAFETY: a string that outlives the call.
        unsafe { libc::umount2(self.0.as_ptr(), libc::MNT_DETACH) };
    }
}

#[test]
fn a_read_only_cache_and_a_full_one() {
    if !is_root() {
        return;
    }
    let place = place();
    {
        let Some(_mount) = Mount::over(&place, "size=64k", libc::MS_RDONLY) else { return };
        let warning = runs_anyway(&place);
        assert!(warning.contains("the profile was not kept") && warning.contains("Read-only"), "{warning}");
    }
    let Some(_mount) = Mount::over(&place, "size=64k", 0) else { return };
    assert_eq!(runs_anyway(&place), "");
    place.forget_findings();
    let good = fs::read(the_profile(&place)).unwrap();
    let filler = place.cache().join("filler");
    while fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(&filler)
        .and_then(|mut file| std::io::Write::write_all(&mut file, &[1; 4096]))
        .is_ok()
    {}
    // Who learns of call sites has something to keep.
    let learns = ["--policy", "pcc:sample=1"];
    let warning = runs_anyway_with(&place, &learns);
    assert!(warning.contains("the profile was not kept"), "{warning}");
    // What was there is still whole, and nothing half written lies about.
    assert_eq!(fs::read(the_profile(&place)).unwrap(), good);
    assert!(runs_anyway_with(&place, &learns).contains("No space"));
}

#[test]
fn a_directory_in_a_profiles_place_is_forgotten_if_it_is_empty() {
    let place = place();
    let forget = |name: &str| end(place.foresee(&["profile", "forget", name]), b"");
    for name in ["empty", "full", "other", "fuller"] {
        fs::create_dir_all(place.profiles().join(format!("{name}.profile"))).unwrap();
    }
    for name in ["full", "fuller"] {
        fs::write(place.profiles().join(format!("{name}.profile/x")), "").unwrap();
    }
    forget("empty").with(0);
    let error = forget("--all").with(2).err();
    for name in ["full", "fuller"] {
        let is_named = |line: &str| line.contains(&format!("/{name}.profile: is a directory with something in it"));
        assert!(error.lines().any(|line| line.starts_with("foresee: ") && is_named(line)), "{error}");
        assert!(place.profiles().join(format!("{name}.profile/x")).exists());
    }
    assert!(!place.profiles().join("empty.profile").exists() && !place.profiles().join("other.profile").exists());
}

#[test]
fn list_show_and_forget() {
    let place = place();
    let profile = |words: &[&str]| end(place.foresee(&[&["profile"], words].concat()), b"");
    assert_eq!(profile(&["list"]).with(0).out(), "");
    assert_eq!(profile(&["list", "--json"]).with(0).out().trim(), "[]");
    end(place.run(&[], &CAT), b"").with(0);
    end(place.run(&[], &["grep", "-c", "word 7", "d/f1"]), b"").with(1);
    let rows: Value = serde_json::from_slice(&profile(&["list", "--json"]).with(0).stdout).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert!(
            row["steps"].as_u64().unwrap() > 0 && row["bytes_read"].is_u64() && row["file_bytes"].is_u64(),
            "{row}"
        );
        assert_eq!(row["directory"], place.work().to_str().unwrap());
    }
    assert_eq!(
        (&rows[0]["command"], &rows[1]["command"]),
        (&"cat d/f0 d/f1 d/f2".into(), &"grep -c word 7 d/f1".into())
    );
    assert_eq!(profile(&["list"]).with(0).out().lines().count(), 2);
    let (cat, grep) = (rows[0]["name"].as_str().unwrap(), rows[1]["name"].as_str().unwrap());
    let shown = profile(&["show", cat]).with(0).out();
    assert!(shown.contains("command    cat d/f0 d/f1 d/f2\n") && shown.contains("d/f2\n"), "{shown}");
    for words in [&["show", "nothing"][..], &["forget", "nothing"], &["forget", cat, "../../x"]] {
        assert!(profile(words).with(2).err().contains("there is no profile '"));
    }
    assert_eq!((profile(&["forget"]).how, profile(&["show"]).how), ("status 2".to_owned(), "status 2".to_owned()));
    assert_eq!(place.stored().len(), 2, "with an error in any name none is forgotten");
    profile(&["forget", grep]).with(0);
    assert_eq!(place.stored().len(), 1);
    profile(&["forget", "--all"]).with(0);
    assert_eq!(place.stored().len(), 0);
    profile(&["forget", "--all"]).with(0);
}
