//! `mount -t foresee`: what mount(8) calls us with, as the words that people give.
//!
//! mount(8) looks for `mount.foresee`, which is a link to this program, and says `SOURCE DIR -o
//! ro,memory=2GiB`.

use std::ffi::OsStr;
use std::path::Path;

/// What mount(8) says of every file system and keeps to itself, or what means nothing here.
const PASSED_OVER: [&str; 29] = [
    "rw",
    "defaults",
    "auto",
    "noauto",
    "user",
    "users",
    "nouser",
    "owner",
    "group",
    "nofail",
    "_netdev",
    "exec",
    "suid",
    "nosuid",
    "dev",
    "nodev",
    "async",
    "atime",
    "noatime",
    "relatime",
    "diratime",
    "nodiratime",
    "norelatime",
    "strictatime",
    "nostrictatime",
    "lazytime",
    "nolazytime",
    "silent",
    "loud",
];
/// Settings of ours.
const SETTINGS: [&str; 9] =
    ["memory", "disk", "policy", "metadata-ttl", "deadline", "file-mode", "metrics", "log-level", "log"];

/// Whether that is how we were called.
pub fn is_helper(program: &OsStr) -> bool {
    Path::new(program).file_name().is_some_and(|name| name == "mount.foresee")
}

/// What people would have said.
#[derive(Default)]
pub struct Said {
    /// Variables of the environment, and their values.
    pub environment: Vec<(String, String)>,
    /// The words after the program's name.
    pub words: Vec<String>,
}

/// What mount(8) says, as people would.
///
/// # Errors
/// What was not understood.
pub fn understood(given: &[String]) -> Result<Said, String> {
    let (mut places, mut options, mut given) = (Vec::new(), Vec::new(), given.iter());
    while let Some(word) = given.next() {
        match word.as_str() {
            "-o" => options.extend(given.next().into_iter().flat_map(|it| it.split(','))),
            // Verbose, or to take unknown options; what is the matter is said anyway.
            "-v" | "-s" | "-n" => {}
            option if option.starts_with('-') => return Err(format!("mount.foresee: what is {option}?")),
            place => places.push(place.to_owned()),
        }
    }
    let Said { mut environment, mut words } = Said::default();
    words.extend(["mount".to_owned(), "--detach".to_owned()]);
    for option in options.into_iter().filter(|it| !it.is_empty()) {
        match option.split_once('=') {
            None if option == "ro" => words.push("--read-only".into()),
            None if option == "noexec" => words.push("--noexec".into()),
            None if option == "remount" => {
                return Err("mount.foresee: remount: unmount it, and mount it with the other options".to_owned());
            }
            None if PASSED_OVER.contains(&option) => {}
            Some((name, value)) if SETTINGS.contains(&name) => words.push(format!("--{name}={value}")),
            Some(("environment", path)) => environment.extend(variables(path)?),
            _ if option.starts_with("x-") || option.starts_with("comment=") => {}
            _ => return Err(format!("mount.foresee: there is no option {option}")),
        }
    }
    words.extend(places);
    Ok(Said { environment, words })
}

/// Lines of `NAME=VALUE`, which a service that mounts has no other way to say; a shell's way to say
/// them is understood, as is systemd's.
fn variables(path: &str) -> Result<Vec<(String, String)>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| variable(line).ok_or_else(|| format!("{path}: '{line}' is not NAME=VALUE"))).collect()
}

fn variable(line: &str) -> Option<(String, String)> {
    let line = line.strip_prefix("export").filter(|it| it.starts_with(char::is_whitespace)).unwrap_or(line);
    let (name, value) = line.split_once('=').map(|(name, value)| (name.trim_start(), value))?;
    let is_name = !name.is_empty() && name.bytes().all(|it| it == b'_' || it.is_ascii_alphanumeric());
    let bare =
        ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(value);
    is_name.then(|| (name.to_owned(), bare.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(given: &[&str]) -> Result<String, String> {
        let given: Vec<String> = given.iter().map(|&it| it.to_owned()).collect();
        understood(&given).map(|said| said.words.join(" "))
    }

    #[test]
    fn what_mount_says_is_what_people_would() {
        assert!(is_helper(OsStr::new("/sbin/mount.foresee")) && !is_helper(OsStr::new("foresee-mount")));
        let options = "rw,noauto,x-systemd.automount,_netdev,memory=2GiB,metadata-ttl=5";
        let words = "mount --detach --memory=2GiB --metadata-ttl=5 s3://b/p /mnt/b";
        assert_eq!(said(&["s3://b/p", "/mnt/b", "-o", options]).as_deref(), Ok(words));
        assert_eq!(said(&["/a", "/b", "-n", "-o", "ro"]).as_deref(), Ok("mount --detach --read-only /a /b"));
        let users = said(&["/a", "/b", "-o", "users,noexec,nosuid,nodev,strictatime"]);
        assert_eq!(users.as_deref(), Ok("mount --detach --noexec /a /b"));
        assert!(said(&["/a", "/b", "-o", "remount,ro"]).unwrap_err().contains("unmount it"));
        assert!(said(&["/a", "/b", "-o", "memroy=1G"]).unwrap_err().contains("memroy=1G"));
        assert!(said(&["/a", "/b", "-o", "environment=/no/file"]).unwrap_err().contains("/no/file"));
    }

    #[test]
    fn variables_are_said_as_shells_say_them() {
        let said = |line| variable(line).map(|(name, value)| format!("{name} {value}"));
        for line in ["A=b c", "A=\"b c\"", "A='b c'", "export A='b c'", "export\t A=b c"] {
            assert_eq!(said(line).as_deref(), Some("A b c"), "{line}");
        }
        assert_eq!(said("A=").as_deref(), Some("A "));
        assert_eq!(said("A=it's \"b\"").as_deref(), Some("A it's \"b\""));
        assert_eq!(said("A='b").as_deref(), Some("A 'b"));
        for line in ["export", "A", "A b=c", "=c", "set A=b", "export export A=b"] {
            assert_eq!(said(line), None, "{line}");
        }
    }
}
