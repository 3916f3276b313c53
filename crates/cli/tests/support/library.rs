//! The hint library, built for a test from its one file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Place, end, have};

/// The project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Runs gcc on these sources of ours, with the hint library's header at hand.
pub fn gcc(place: &Place, output: &Path, words: &[&str]) {
    fs::create_dir_all(output.parent().unwrap()).unwrap();
    let mut command = place.plain(&["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-D_DEFAULT_SOURCE"]);
    command.arg("-I").arg(root().join("bindings/c")).arg("-o").arg(output);
    for word in words {
        match word.starts_with('-') {
            true => command.arg(word),
            false => command.arg(root().join(word)),
        };
    }
    end(command, b"").with(0);
}

/// Compiles one of our programs, with the hint library in it, into `work/NAME`. None where there is
/// no compiler.
pub fn compiled(name: &str, source: &str) -> Option<Place> {
    let place = Place::new();
    have("gcc").then(|| {
        gcc(&place, &place.path(name), &[source, "bindings/c/foresee.c", "-ldl"]);
        place
    })
}

/// A command that finds the hint library as Python does, in a folder beside the work; None where it
/// cannot be built.
pub fn python(place: &Place, mut command: Command, program: &str) -> Option<Command> {
    let folder = place.aside("library");
    if !have("gcc") || !have("python3") {
        return None;
    }
    gcc(place, &folder.join("libforesee.so"), &["-shared", "-fPIC", "bindings/c/foresee.c", "-ldl"]);
    command.args(["python3", "-c", program]);
    command.env("PYTHONPATH", root().join("bindings/python")).env("LD_LIBRARY_PATH", folder);
    Some(command)
}
