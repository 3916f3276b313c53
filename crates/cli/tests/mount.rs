//! `foresee mount` is the work of a program of its own, which may be missing.

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use support::{Place, binary, end};

#[test]
fn it_becomes_the_program_beside_it_or_says_how_to_have_it() {
    let place = Place::new();
    let alone = place.path("foresee");
    fs::copy(binary(), &alone).unwrap();
    let words = ["--help", "-x", "a b", "--", "--y"];
    let ended = |verb: &str| {
        let mut command = place.command(&alone);
        command.arg(verb).args(words).env("PATH", place.work());
        end(command, b"")
    };
    for verb in ["mount", "unmount"] {
        let missing = ended(verb).with(2);
        assert!(missing.err().contains("foresee-mount is not installed") && missing.err().contains("make mount"));
    }
    let program = place.write("foresee-mount", "#!/bin/sh\nprintf '%s|' \"$@\"\nexit 3\n");
    fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(ended("mount").with(3).out(), "mount|--help|-x|a b|--|--y|");
    assert_eq!(ended("unmount").with(3).out(), "unmount|--help|-x|a b|--|--y|");
}
