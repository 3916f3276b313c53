//! Where profiles are kept: `$XDG_CACHE_HOME/foresee/profiles`, one file a command and directory,
//! bounded in number and size; the least recently used goes.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::related::{is_alike, likeness};
use super::{Findings, Profile, format};
use crate::kept::{self, Directory, Unreadable};

/// Profiles of one program that are looked through for those most like a run that never was, the
/// last used first; and how many are taken of those.
const CANDIDATES_MAX: usize = 24;
const RELATED_MAX: usize = 4;
/// Bytes of files they take together: to look 25,000 steps through takes 14 ms, three times what
/// else a short run takes, and who starts an interpreter for a moment shall not wait for what an
/// hour's run read. Of one that is nearly the same all is taken.
const RELATED_BYTES_MAX: u64 = 64 << 10;
/// Profiles kept at most.
const PROFILES_MAX: usize = 256;
/// Bytes all profiles take at most.
const STORE_BYTES_MAX: u64 = 128 << 20;
/// Bytes one profile takes at most: the longest that [`super::STEPS_MAX`] steps make, compressed.
const PROFILE_BYTES_MAX: u64 = 32 << 20;
const EXTENSION: &str = "profile";

/// A profile's file.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Its name without the extension: what `profile show` takes.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Bytes it takes.
    pub bytes: u64,
    /// When it was last used.
    pub used: SystemTime,
}

/// The directory of profiles.
pub struct Store {
    directory: PathBuf,
}

/// FNV-1a: names of files, stable between versions of the compiler; a clash is found by the
/// profile's own words.
fn fingerprint(command: &[OsString], directory: &Path) -> u64 {
    let words = command.iter().map(OsString::as_os_str).chain([directory.as_os_str()]);
    let bytes = words.flat_map(|word| word.as_bytes().iter().copied().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// How many digits it has.
const FINGERPRINT_DIGITS: usize = 16;

/// What the files of all profiles of this program are called, before the fingerprint.
fn prefix(command: &[OsString], program: &Path) -> String {
    let words = || command.first().and_then(|word| Path::new(word).file_name());
    let name = program.file_name().or_else(words).unwrap_or_default();
    format!("{}-", name.to_string_lossy().chars().take(40).collect::<String>())
}

impl Store {
    /// The user's store: `FORESEE_PROFILES`, or below `XDG_CACHE_HOME`, which counts if it is an
    /// absolute path, as its specification has it, else `~/.cache`. None if none of them is set.
    pub fn of_user() -> Option<Self> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(directory) = set("FORESEE_PROFILES") {
            return Some(Store::at(directory));
        }
        let cache =
            set("XDG_CACHE_HOME").filter(|it| it.is_absolute()).or_else(|| Some(set("HOME")?.join(".cache")))?;
        Some(Store::at(cache.join("foresee/profiles")))
    }

    /// The store in this directory, which need not be there yet.
    pub fn at(directory: PathBuf) -> Self {
        Store { directory }
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn path(&self, command: &[OsString], directory: &Path, program: &Path) -> PathBuf {
        let fingerprint = fingerprint(command, directory);
        self.directory.join(format!("{}{fingerprint:016x}.{EXTENSION}", prefix(command, program)))
    }

    /// The profile of this command in this place, which executes this program, if there is one. An
    /// error names the file.
    pub fn load(&self, command: &[OsString], directory: &Path, program: &Path) -> Result<Option<Profile>, String> {
        let path = self.path(command, directory, program);
        match read(&path) {
            Ok((profile, file)) if profile.command == command && profile.directory == directory => {
                // Used now: what is used least recently goes first.
                let _ = file.set_modified(SystemTime::now());
                Ok(Some(profile))
            }
            Ok(_) => Ok(None),
            Err(Unreadable::Missing) => Ok(None),
            Err(Unreadable::Damaged(why)) => Err(format!("{}: {why}", path.display())),
        }
    }

    /// The profiles of this program whose runs were most like one of this command in this place,
    /// the likest first; alone if that was nearly the same. What cannot be read is passed over.
    pub fn related(&self, command: &[OsString], directory: &Path, program: &Path) -> Vec<Profile> {
        let prefix = prefix(command, program);
        let mut stored = self.list().unwrap_or_default();
        stored.retain(|it| it.name.strip_prefix(&prefix).is_some_and(|rest| rest.len() == FINGERPRINT_DIGITS));
        stored.sort_by_key(|it| std::cmp::Reverse(it.used));
        stored.truncate(CANDIDATES_MAX);
        let heads = stored.iter().filter_map(|it| Some((it, read_by(&it.path, format::decode_head).ok()?.0)));
        let mut alike: Vec<_> = heads
            .map(|(it, head)| {
                let likeness = likeness(&head, command, directory, program);
                (it, head, likeness)
            })
            .collect();
        alike.sort_by(|a, b| b.2.total_cmp(&a.2));
        if let Some((nearest, head, _)) = alike.first()
            && is_alike(head, command, directory, program)
        {
            return nearest.read().into_iter().collect();
        }
        let mut bytes = 0;
        alike.retain(|(it, ..)| {
            let fits = bytes + it.bytes <= RELATED_BYTES_MAX;
            bytes += if fits { it.bytes } else { 0 };
            fits
        });
        alike.into_iter().take(RELATED_MAX).filter_map(|(it, ..)| it.read().ok()).collect()
    }

    /// Keeps a profile, whole or not at all, and makes room.
    pub fn save(&self, profile: &Profile) -> Result<(), String> {
        let path = self.path(&profile.command, &profile.directory, &profile.program);
        let bytes = format::encode(profile).map_err(|error| format!("{}: {error}", path.display()))?;
        if bytes.len() as u64 > PROFILE_BYTES_MAX {
            return Err(format!("{}: {} bytes are more than a profile may have", path.display(), bytes.len()));
        }
        self.put(&path, &bytes)?;
        self.make_room();
        Ok(())
    }

    /// Notes with the profile of this command in this place, if there is one, what its runs found of
    /// themselves: others may have kept more of what they read since it was loaded.
    pub fn note(&self, run: &Profile, findings: Findings) -> Result<(), String> {
        let path = self.path(&run.command, &run.directory, &run.program);
        let Ok((bytes, _)) = kept::read(&path, PROFILE_BYTES_MAX) else { return Ok(()) };
        let is_it = |it: &Profile| it.command == run.command && it.directory == run.directory;
        match format::with_findings(&bytes, findings, is_it) {
            Some(changed) if changed.len() as u64 <= PROFILE_BYTES_MAX => self.put(&path, &changed),
            _ => Ok(()),
        }
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> Result<(), String> {
        let place = |error: io::Error| format!("{}: {error}", self.directory.display());
        let directory = Directory::own(&self.directory).map_err(place)?;
        let put = directory.put(path.file_name().unwrap_or_default(), bytes);
        put.map_err(|error| format!("{}: {error}", path.display()))
    }

    fn make_room(&self) {
        Directory::sweep(&self.directory);
        let mut stored = self.list().unwrap_or_default();
        stored.sort_by_key(|it| std::cmp::Reverse(it.used));
        let mut bytes = 0;
        for (kept, it) in stored.iter().enumerate() {
            bytes += it.bytes;
            if kept >= PROFILES_MAX || (kept > 0 && bytes > STORE_BYTES_MAX) {
                let _ = fs::remove_file(&it.path);
            }
        }
    }

    /// All profiles' files. A store that is not there is empty.
    pub fn list(&self) -> io::Result<Vec<Stored>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut stored = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let (Some(name), Ok(metadata)) = (path.file_stem(), path.symlink_metadata()) else { continue };
            if path.extension().is_some_and(|it| it == EXTENSION) {
                let name = name.to_string_lossy().into_owned();
                let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                stored.push(Stored { name, bytes: metadata.len(), used, path });
            }
        }
        stored.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(stored)
    }
}

impl Stored {
    /// Removes it, also where it is an empty directory in a profile's place. An error names it.
    pub fn remove(&self) -> Result<(), String> {
        let is_directory = self.path.symlink_metadata().is_ok_and(|it| it.is_dir());
        let removed = if is_directory { fs::remove_dir(&self.path) } else { fs::remove_file(&self.path) };
        let path = self.path.display();
        removed.map_err(|error| match error.kind() {
            io::ErrorKind::DirectoryNotEmpty => {
                format!("{path}: is a directory with something in it, and no profile: move it elsewhere")
            }
            _ => format!("{path}: {error}"),
        })
    }

    /// Reads it.
    pub fn read(&self) -> Result<Profile, String> {
        read(&self.path).map(|(profile, _)| profile).map_err(|why| match why {
            Unreadable::Missing => format!("{}: it is gone", self.path.display()),
            Unreadable::Damaged(why) => format!("{}: {why}", self.path.display()),
        })
    }
}

fn read(path: &Path) -> Result<(Profile, fs::File), Unreadable> {
    read_by(path, format::decode)
}

fn read_by(path: &Path, decode: impl Fn(&[u8]) -> Result<Profile, String>) -> Result<(Profile, fs::File), Unreadable> {
    let (bytes, file) = kept::read(path, PROFILE_BYTES_MAX)?;
    decode(&bytes).map(|profile| (profile, file)).map_err(Unreadable::Damaged)
}

/// The profile in a file that was exported: anybody's, of any machine. An error names the file.
pub fn import(path: &Path) -> Result<Profile, String> {
    let name = |why: String| format!("{}: {why}", path.display());
    let file = fs::File::open(path).map_err(|error| name(error.to_string()))?;
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, PROFILE_BYTES_MAX + 1), &mut bytes)
        .map_err(|error| name(error.to_string()))?;
    if bytes.len() as u64 > PROFILE_BYTES_MAX {
        return Err(name(format!("more than the {PROFILE_BYTES_MAX} bytes that a profile may have")));
    }
    let profile = format::decode(&bytes).map_err(|why| name(format!("is no profile: {why}")))?;
    Ok(Profile { findings: Findings::default(), ..profile })
}

/// A profile as the contents of a file, to be imported elsewhere: what does not pay here may there.
pub fn export(profile: &Profile) -> io::Result<Vec<u8>> {
    format::encode(&Profile { findings: Findings::default(), ..profile.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(name: &str) -> Store {
        let directory = std::env::temp_dir().join(format!("foresee-store-{}-{name}", std::process::id()));
        Store { directory }
    }

    fn profile(word: &str) -> Profile {
        Profile { command: vec![word.into()], directory: "/d".into(), runs: 1, ..Profile::default() }
    }

    #[test]
    fn a_profile_is_found_by_its_command_and_directory_only() {
        let store = store("found");
        store.save(&profile("a")).unwrap();
        assert_eq!(store.load(&["a".into()], Path::new("/d"), Path::new("")).unwrap(), Some(profile("a")));
        assert_eq!(store.load(&["a".into()], Path::new("/e"), Path::new("")).unwrap(), None);
        assert_eq!(store.load(&["b".into()], Path::new("/d"), Path::new("")).unwrap(), None);
        fs::remove_dir_all(store.directory()).unwrap();
    }

    #[test]
    fn what_runs_found_is_noted_with_what_there_is() {
        let findings = Findings { in_vain: Some(1), in_memory: None };
        let store = store("noted");
        store.note(&profile("a"), findings).unwrap();
        let load = |word: &str| store.load(&[word.into()], Path::new("/d"), Path::new("")).unwrap();
        assert_eq!(load("a"), None, "there is nothing to note it with");
        let more = Profile { runs: 5, ..profile("a") };
        store.save(&more).unwrap();
        store.note(&profile("a"), findings).unwrap();
        assert_eq!(load("a"), Some(Profile { findings, ..more.clone() }));
        fs::remove_dir_all(store.directory()).unwrap();
    }

    #[test]
    fn what_is_exported_says_nothing_of_this_machine() {
        let findings = Findings::default().after(Some(true), Some(true));
        let found = Profile { findings, ..profile("a") };
        assert!(findings.is_in_vain() && findings.is_in_memory());
        assert_eq!(format::decode(&export(&found).unwrap()).unwrap(), profile("a"));
    }

    #[test]
    fn the_store_is_bounded_and_damage_is_told() {
        let store = store("bounded");
        for number in 0..PROFILES_MAX + 5 {
            store.save(&profile(&number.to_string())).unwrap();
        }
        let stored = store.list().unwrap();
        assert_eq!(stored.len(), PROFILES_MAX);
        let newest = profile(&(PROFILES_MAX + 4).to_string());
        let path = store.path(&newest.command, &newest.directory, &newest.program);
        fs::write(&path, "nonsense").unwrap();
        let error = store.load(&newest.command, &newest.directory, &newest.program).unwrap_err();
        assert!(error.contains(&path.display().to_string()), "{error}");
        fs::remove_dir_all(store.directory()).unwrap();
    }
}
