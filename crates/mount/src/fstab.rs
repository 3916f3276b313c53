//! `mount -t foresee`: what mount(8) calls us with, as the words that people give.
//!
//! mount(8) looks for `mount.foresee`, which is a link to this program, and says `SOURCE DIR [-sfnv]
//! [-o ro,memory=2GiB] [-t TYPE]`.

use std::ffi::OsStr;
use std::path::Path;

/// What mount(8) knows (libmount's tables) and does itself, or what means nothing here: there are no
/// times of access, devices, users' bits and mandatory locks, files are written when they are closed, and the
/// kernel looks at permissions anyway.
const PASSED_OVER: [&str; 48] = [
    "rw",
    "defaults",
    "auto",
    "noauto",
    "user",
    "nouser",
    "users",
    "nousers",
    "owner",
    "noowner",
    "group",
    "nogroup",
    "nofail",
    "_netdev",
    "exec",
    "suid",
    "nosuid",
    "dev",
    "nodev",
    "sync",
    "async",
    "dirsync",
    "symfollow",
    "atime",
    "noatime",
    "relatime",
    "norelatime",
    "diratime",
    "nodiratime",
    "strictatime",
    "nostrictatime",
    "lazytime",
    "nolazytime",
    "iversion",
    "noiversion",
    "mand",
    "nomand",
    "silent",
    "loud",
    "private",
    "rprivate",
    "shared",
    "rshared",
    "slave",
    "rslave",
    "unbindable",
    "runbindable",
    "default_permissions",
];
/// As everybody sees what root mounts, and nobody else what others do.
const FOR_ALL: &str = "allow_other";
/// The same, with a value.
const PASSED_OVER_WITH: [&str; 5] = ["comment", "user", "helper", "uhelper", "max_read"];
/// Settings of ours.
const SETTINGS: [&str; 12] = [
    "memory",
    "disk",
    "policy",
    "metadata-ttl",
    "deadline",
    "uid",
    "gid",
    "file-mode",
    "dir-mode",
    "metrics",
    "log-level",
    "log",
];

/// What mount(8) looks for: by the type that people give, and by the one that the system's list of mounts has.
const NAMES: [&str; 2] = ["mount.foresee", "mount.fuse.foresee"];
/// How we are called.
pub const USAGE: &str = "usage: mount.foresee SOURCE DIR [-fnrsvw] [-t TYPE] [-o NAME[=VALUE],...]; \
                         'foresee mount --help' tells of the options";

/// Whether that is how we were called.
pub fn is_helper(program: &OsStr) -> bool {
    Path::new(program).file_name().is_some_and(|name| NAMES.iter().any(|it| name == *it))
}

/// Whether somebody asks how we are called.
pub fn asks_for_help(given: &[String]) -> bool {
    given.iter().any(|word| word == "--help" || word == "-h")
}

/// What people would have said.
#[derive(Default)]
pub struct Said {
    /// Nothing is to be mounted.
    pub is_fake: bool,
    /// Variables of the environment, and their values.
    pub environment: Vec<(String, String)>,
    /// The words after the program's name.
    pub words: Vec<String>,
}

/// What mount(8) says, as people would, to root or not.
///
/// # Errors
/// What was not understood, or is root's alone.
pub fn understood(given: &[String], is_root: bool) -> Result<Said, String> {
    let (mut places, mut options, mut given) = (Vec::new(), Vec::new(), given.iter());
    let (mut said, mut is_sloppy) = (Said::default(), false);
    while let Some(word) = given.next() {
        let Some(letters) = word.strip_prefix('-') else {
            places.push(word.clone());
            continue;
        };
        let mut value = || given.next().ok_or_else(|| format!("mount.foresee: {word} what?"));
        match letters {
            "o" => options.extend(value()?.split(',')),
            // All that a mount asks of a machine, names, certificates and helpers, would be taken from there.
            "N" => return Err("mount.foresee: -N: call mount within that namespace, by nsenter(1)".to_owned()),
            "t" => drop(value()?),
            _ => {
                for letter in letters.chars() {
                    match letter {
                        'f' => said.is_fake = true,
                        's' => is_sloppy = true,
                        'r' => options.push("ro"),
                        // Who reads and writes, leaves mtab alone, or wants to be told more: so it is anyway.
                        'w' | 'n' | 'v' => {}
                        _ => return Err(format!("mount.foresee: what is {word}? {USAGE}")),
                    }
                }
            }
        }
    }
    said.words.extend(["mount".to_owned(), "--detach".to_owned()]);
    for option in options.into_iter().filter(|it| !it.is_empty()) {
        match option.split_once('=') {
            None if option == "ro" => said.words.push("--read-only".into()),
            None if option == "noexec" => said.words.push("--noexec".into()),
            None if option == "remount" => {
                return Err("mount.foresee: remount: unmount it, and mount it with the other options".to_owned());
            }
            None if option == "nosymfollow" => {
                return Err("mount.foresee: nosymfollow: links of what is shown are followed; leave it out".to_owned());
            }
            None if option == FOR_ALL && !is_root => {
                return Err(format!("mount.foresee: {FOR_ALL}: others see what root mounts alone; leave it out"));
            }
            None if PASSED_OVER.contains(&option) || option == FOR_ALL => {}
            Some((name, value)) if SETTINGS.contains(&name) => said.words.push(format!("--{name}={value}")),
            Some(("environment", path)) => said.environment.extend(variables(path)?),
            Some((name, _)) if PASSED_OVER_WITH.contains(&name) => {}
            _ if is_sloppy || option.starts_with("x-") || option.starts_with("X-") => {}
            _ => return Err(format!("mount.foresee: there is no option {option}")),
        }
    }
    said.words.extend(places);
    Ok(said)
}

/// Lines of `NAME=VALUE`, which a service that mounts has no other way to say; a shell's way to say
/// them is understood, as is systemd's.
fn variables(path: &str) -> Result<Vec<(String, String)>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, it)| !it.is_empty() && !it.starts_with('#'));
    // What stands there may be a secret.
    let of_line = |(at, line)| variable(line).ok_or_else(|| format!("{path}:{}: this is not NAME=VALUE", at + 1));
    lines.map(of_line).collect()
}

fn variable(line: &str) -> Option<(String, String)> {
    let line = line.strip_prefix("export").filter(|it| it.starts_with(char::is_whitespace)).unwrap_or(line);
    let (name, value) = line.split_once('=').map(|(name, value)| (name.trim(), value.trim()))?;
    let is_name = !name.is_empty() && !name.contains(|it: char| it.is_whitespace() || it.is_control());
    let bare =
        ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(value);
    is_name.then(|| (name.to_owned(), bare.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(given: &[&str]) -> Result<String, String> {
        let given: Vec<String> = given.iter().map(|&it| it.to_owned()).collect();
        understood(&given, true).map(|said| said.words.join(" "))
    }

    #[test]
    fn everybody_sees_what_root_mounts_and_it_may_be_somebodys() {
        let options = "allow_other,default_permissions,max_read=131072,uid=1000,gid=1001,file-mode=640,dir-mode=750";
        let words = "mount --detach --uid=1000 --gid=1001 --file-mode=640 --dir-mode=750 /a /b";
        assert_eq!(said(&["/a", "/b", "-o", options]).as_deref(), Ok(words));
        let by_others = understood(&["/a", "/b", "-o", "allow_other"].map(str::to_owned), false);
        assert!(by_others.err().unwrap().contains("allow_other: others see what root mounts alone"));
    }

    #[test]
    fn what_mount_says_is_what_people_would() {
        assert!(is_helper(OsStr::new("/sbin/mount.fuse.foresee")));
        assert!(is_helper(OsStr::new("/sbin/mount.foresee")) && !is_helper(OsStr::new("foresee-mount")));
        let options = "rw,noauto,x-systemd.automount,_netdev,memory=2GiB,metadata-ttl=5";
        let words = "mount --detach --memory=2GiB --metadata-ttl=5 s3://b/p /mnt/b";
        assert_eq!(said(&["s3://b/p", "/mnt/b", "-o", options]).as_deref(), Ok(words));
        assert_eq!(said(&["/a", "/b", "-n", "-o", "ro"]).as_deref(), Ok("mount --detach --read-only /a /b"));
        let users = said(&["/a", "/b", "-o", "users,noexec,nosuid,nodev,strictatime"]);
        assert_eq!(users.as_deref(), Ok("mount --detach --noexec /a /b"));
        let all = PASSED_OVER.join(",") + ",user=me,comment=a,X-mount.mkdir,x-gvfs-hide";
        assert_eq!(said(&["/a", "/b", "-o", &all]).as_deref(), Ok("mount --detach /a /b"));
        assert!(said(&["/a", "/b", "-o", "nosymfollow"]).unwrap_err().contains("nosymfollow"));
        assert!(said(&["/a", "/b", "-o", "remount,ro"]).unwrap_err().contains("unmount it"));
        assert!(said(&["/a", "/b", "-o", "memroy=1G"]).unwrap_err().contains("memroy=1G"));
        assert!(said(&["/a", "/b", "-o", "environment=/no/file"]).unwrap_err().contains("/no/file"));
    }

    #[test]
    fn mounts_own_letters_are_understood() {
        let given = ["/a", "/b", "-sfn", "-v", "-o", "no=1,memory=2GiB", "-t", "foresee", "-r"];
        let said = understood(&given.map(str::to_owned), true).unwrap();
        assert_eq!(said.words.join(" "), "mount --detach --memory=2GiB --read-only /a /b");
        assert!(said.is_fake);
        for (given, part) in
            [("-z", "-z? usage: mount.foresee SOURCE DIR"), ("--x", "--x"), ("-o", "-o"), ("-N", "nsenter")]
        {
            assert!(understood(&["/a", "/b", given].map(str::to_owned), true).err().unwrap().contains(part));
        }
    }

    #[test]
    fn variables_are_said_as_shells_say_them() {
        let said = |line| variable(line).map(|(name, value)| format!("{name} {value}"));
        for line in ["A=b c", "A = \"b c\"", "A='b c'", "export A='b c'", "export\t A=b c"] {
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
