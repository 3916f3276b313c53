//! Adding a policy takes one file and one line: a copy of this crate gets both, and passes the
//! conformance suite.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// A directory that goes when the test does.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let path = env::temp_dir().join(format!("foresee-registry-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a scratch directory");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("the crate's files") {
        let entry = entry.expect("a file");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("its type").is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// A manifest that needs no workspace, with the tests' dependencies as they are here.
fn manifest() -> String {
    let own = read(&Path::new(HERE).join("Cargo.toml"));
    let section = |line: &&str| !line.starts_with('[');
    let after = own.lines().skip_while(|line| *line != "[dev-dependencies]").skip(1);
    let dependencies: Vec<&str> = after.take_while(section).collect();
    let package = "[package]\nname = \"foresee-manager\"\nversion = \"0.0.0\"\nedition = \"2024\"\n";
    format!("{package}\n[dev-dependencies]\n{}\n[workspace]\n", dependencies.join("\n"))
}

#[test]
fn a_policy_is_one_file_and_one_line() {
    let scratch = Scratch::new();
    let copy = &scratch.0;
    copy_tree(&Path::new(HERE).join("src"), &copy.join("src"));
    copy_tree(&Path::new(HERE).join("tests"), &copy.join("tests"));
    fs::write(copy.join("Cargo.toml"), manifest()).expect("a manifest");
    // The versions that are known to be at hand.
    let _ = fs::copy(Path::new(HERE).join("../../Cargo.lock"), copy.join("Cargo.lock"));

    // The file.
    let policies = copy.join("src/policy");
    let lru = read(&policies.join("lru.rs"));
    let file = lru.replace("name: \"lru\"", "name: \"newcomer\"");
    assert_ne!(lru, file);
    fs::write(policies.join("newcomer.rs"), file).expect("the policy's file");
    // The line.
    let list = read(&policies.join("mod.rs"));
    let longer = list.replace("policies! {\n    null\n", "policies! {\n    null\n    newcomer\n");
    assert_ne!(list, longer);
    fs::write(policies.join("mod.rs"), longer).expect("the policies' list");
    // The suite runs over it, and nothing else does.
    let met = "#[test]\nfn met() { assert!(\"newcomer\".parse::<foresee_manager::policy::Choice>().is_ok()); }\n";
    fs::write(copy.join("tests/met.rs"), met).expect("a test");
    fs::write(copy.join("tests/all.rs"), "mod conformance;\nmod met;\nmod support;\n").expect("the tests' list");

    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["test", "--offline", "--test", "all"])
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", copy.join("target"))
        .env("FORESEE_POLICY", "newcomer")
        .env_remove("CARGO_MANIFEST_DIR")
        .output()
        .expect("cargo runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "more is needed than one file and one line:\n{out}\n{err}");
    assert!(out.contains("test met::met ... ok"), "{out}");
}
