//! What a run may read that never was: what those most like it read, with its own words and
//! directory in their place.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;

use super::moves::{Moves, parts};
use super::union::Union;
use super::{Findings, Profile, RUNS_MAX, STEPS_MAX};

/// How much alike two runs are by their words, from 0 to 1; the same directory, and the very same
/// program, count for a word each.
pub(super) fn likeness(profile: &Profile, command: &[OsString], directory: &Path, program: &Path) -> f64 {
    let (was, is) = (parts(&profile.command), parts(command));
    let words: HashSet<_> = was.iter().collect();
    let shared = is.iter().filter(|word| words.contains(word)).count();
    let same = usize::from(profile.directory == directory) + usize::from(profile.program == program);
    2.0 * (shared + same) as f64 / (was.len() + is.len() + 4) as f64
}

/// Two runs that share so much of their words are taken for nearly the same: all but one of ten, or
/// of a script's dozens.
const ALIKE: f64 = 0.9;

/// Whether a run of this profile was nearly what one of this command in this directory is: one has
/// all the other's words, and perhaps more between them, or most of both are the same.
pub fn is_alike(profile: &Profile, command: &[OsString], directory: &Path, program: &Path) -> bool {
    let has_all = |more: &[OsString], fewer: &[OsString]| {
        let mut more = more.iter();
        fewer.len() > 1 && fewer.iter().all(|word| more.any(|it| it == word))
    };
    has_all(&profile.command, command)
        || has_all(command, &profile.command)
        || likeness(profile, command, directory, program) >= ALIKE
}

/// One profile of these runs, the likest first, as one of this command in this directory would be.
#[must_use]
pub fn related(likest_first: &[Profile], command: &[OsString], directory: &Path) -> Option<Profile> {
    let united = united(likest_first, |profile| {
        let moves = Moves::new(profile, command, directory);
        move |path: &Path, add: &mut dyn FnMut(&Path)| moves.places(path).iter().for_each(|place| add(place))
    })?;
    Some(Profile { command: command.to_vec(), directory: directory.to_owned(), ..united })
}

/// One profile of what all of these runs read, under the first one's command.
#[must_use]
pub fn together(profiles: &[Profile]) -> Option<Profile> {
    united(profiles, |_| |path: &Path, add: &mut dyn FnMut(&Path)| add(path))
}

fn united<N: Fn(&Path, &mut dyn FnMut(&Path))>(profiles: &[Profile], names: impl Fn(&Profile) -> N) -> Option<Profile> {
    let first = profiles.first()?;
    let mut union = Union::default();
    for (profile, run) in profiles.iter().zip(0..RUNS_MAX) {
        union.add(profile, |_| 1 << run, names(profile));
    }
    let (files, mut steps, is_another_order) = union.into_steps();
    let is_unordered = is_another_order.unwrap_or(first.is_unordered);
    let truncated = steps.len() > STEPS_MAX;
    steps.truncate(STEPS_MAX);
    let runs = profiles.len().min(RUNS_MAX as usize) as u32;
    let Profile { command, directory, program, learned, .. } = first.clone();
    let findings = Findings::default();
    Some(Profile { command, directory, program, learned, runs, files, steps, truncated, is_unordered, findings })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Step;
    use foresee_manager::Want;

    fn profile(words: &str, files: &[&str]) -> Profile {
        let step = |file| Step { file, process: 1, want: Want::Range { first: 0, count: 2 }, mapped: false, runs: 1 };
        Profile {
            command: words.split(' ').map(OsString::from).collect(),
            directory: "/d".into(),
            runs: 1,
            files: files.iter().collect(),
            steps: (0..files.len() as u32).map(step).collect(),
            ..Profile::default()
        }
    }

    #[test]
    fn the_likest_comes_first_and_what_several_read_is_known() {
        let command: Vec<OsString> = ["python3", "c.py"].map(OsString::from).to_vec();
        let runs = [
            profile("python3 a.py", &["/lib/os.py", "/d/a.py"]),
            profile("python3 b.py", &["/lib/os.py", "/lib/re.py"]),
        ];
        let related = related(&runs, &command, Path::new("/d")).unwrap();
        let told: Vec<_> =
            related.steps.iter().map(|step| (related.files[step.file].to_str().unwrap(), step.runs)).collect();
        assert_eq!(told, [("/lib/os.py", 3), ("/d/c.py", 1), ("/lib/re.py", 2)]);
        assert_eq!(related.steps.iter().map(|step| related.is_common(step)).collect::<Vec<_>>(), [true, false, false]);
    }

    #[test]
    fn what_has_no_order_has_none_elsewhere() {
        let unordered = Profile { is_unordered: true, ..profile("python3 a.py", &["/d/a.py"]) };
        assert!(related(&[unordered], &["python3".into()], Path::new("/d")).unwrap().is_unordered);
    }

    #[test]
    fn a_word_more_is_nearly_the_same_and_another_is_not() {
        let command: Vec<OsString> = ["python3", "app.py", "x"].map(OsString::from).to_vec();
        let is_alike = |words: &str| is_alike(&profile(words, &[]), &command, Path::new("/e"), Path::new(""));
        assert!(is_alike("python3 app.py x") && is_alike("python3 app.py") && is_alike("python3 -B app.py x y"));
        assert!(!is_alike("python3 app.py y") && !is_alike("python3 x app.py") && !is_alike("python3"));
    }

    #[test]
    fn shared_words_make_alike() {
        let command: Vec<OsString> = ["python3", "app.py", "x"].map(OsString::from).to_vec();
        let of = |words: &str, directory: &str| {
            likeness(&profile(words, &[]), &command, Path::new(directory), Path::new(""))
        };
        assert_eq!(of("python3 app.py x", "/d"), 1.0);
        assert!(of("python3 app.py y", "/d") > of("python3 other.py y", "/d"));
        assert!(of("python3 app.py x --verbose", "/d") > of("python3 app.py y", "/d"));
        assert!(of("python3 app.py x", "/d") > of("python3 app.py x", "/e"));
    }
}
