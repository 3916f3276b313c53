//! The house is kept: no file too long, no path of somebody's machine, no crate without its header,
//! no document behind the code.

use std::fs;
use std::path::{Path, PathBuf};

use foresee_manager::policy::{Choice, Registry};
use foresee_manager::{Source, Statistics};
use foresee_sim::device::disk;
use foresee_sim::trace;

const FILE_LINES_MAX: usize = 800;
const LINE_CHARACTERS_MAX: usize = 140;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries.map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        if entry.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "results" {
                sources(&entry, found);
            }
        } else if entry.extension().is_some_and(|it| ["rs", "py", "c", "h", "md", "toml"].iter().any(|ext| it == *ext))
        {
            found.push(entry);
        }
    }
}

#[test]
fn files_are_short_and_speak_of_no_machine() {
    let mut files = Vec::new();
    sources(&root(), &mut files);
    assert!(files.len() > 50, "the sources were not found");
    let home = ["/ro", "ot/"].concat();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().count();
        assert!(lines <= FILE_LINES_MAX, "{}: {lines} lines", file.display());
        assert!(!text.contains(&home), "{}: speaks of {home}", file.display());
        for (number, line) in text.lines().enumerate() {
            let long = line.chars().count() > LINE_CHARACTERS_MAX && !line.trim_start().starts_with('|');
            assert!(!long, "{}:{}: too long", file.display(), number + 1);
        }
    }
}

#[test]
fn every_rust_file_says_what_it_is() {
    let mut files = Vec::new();
    sources(&root(), &mut files);
    for file in files.iter().filter(|file| file.extension().is_some_and(|it| it == "rs")) {
        let text = fs::read_to_string(file).unwrap();
        assert!(text.starts_with("//!"), "{}: begins without a header", file.display());
    }
}

/// What is in no list is in no program, and would never be run; nor would what a filter names that is
/// in none.
#[test]
fn every_test_file_is_in_its_crates_list() {
    let mut files = Vec::new();
    sources(&root(), &mut files);
    let merged = files.iter().filter(|file| {
        file.ends_with("Cargo.toml") && fs::read_to_string(file).unwrap().contains("\nautotests = false\n")
    });
    let mut lists = Vec::new();
    for manifest in merged {
        let folder = manifest.with_file_name("tests");
        let list = fs::read_to_string(folder.join("all.rs")).unwrap();
        let own = files.iter().filter(|file| file.parent() == Some(&folder) && !file.ends_with("all.rs"));
        for file in own.filter(|file| file.extension().is_some_and(|it| it == "rs")) {
            let name = file.file_stem().unwrap().to_string_lossy();
            assert!(list.lines().any(|line| line == format!("mod {name};")), "{}: not in all.rs", file.display());
        }
        lists.push(list);
    }
    assert!(!lists.is_empty());
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let filters: Vec<_> = makefile.split_whitespace().filter_map(|word| word.strip_suffix("::")).collect();
    assert!(filters.len() > 3);
    for filter in filters {
        assert!(lists.iter().any(|list| list.contains(&format!("mod {filter};"))), "Makefile: {filter}:: is no test");
    }
}

#[test]
fn the_documents_name_all_there_is() {
    let counters: Vec<_> = Statistics::default().counters().iter().map(|(name, _)| *name).collect();
    let sources: Vec<_> = Source::ALL.iter().map(|source| source.word()).collect();
    let disks: Vec<_> = disk::REGISTRY.iter().map(|disk| disk.name).collect();
    let formats: Vec<_> = trace::REGISTRY.iter().map(|format| format.name).collect();
    let divides = |name: &&str| name.parse::<Choice>().unwrap().build().reports().is_some();
    let policies: Vec<_> = Registry::default().specs().iter().map(|policy| policy.name).filter(divides).collect();
    for (document, names) in [
        ("docs/json.md", counters),
        ("docs/json.md", sources),
        ("docs/sim.md", disks),
        ("docs/traces.md", formats),
        ("docs/plot.md", policies),
    ] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let is_part = |character: char| character.is_alphanumeric() || ['_', '-'].contains(&character);
        let words: Vec<_> = text.split(|character| !is_part(character)).collect();
        assert!(names.len() > 3, "{document}: {names:?}");
        for name in names {
            assert!(words.contains(&name), "{document} does not name {name}");
        }
    }
}

#[test]
fn links_lead_somewhere_and_the_index_to_each_page() {
    let mut files = Vec::new();
    sources(&root(), &mut files);
    files.retain(|file| file.extension().is_some_and(|it| it == "md"));
    let linked = |file: &Path| -> Vec<PathBuf> {
        let text = fs::read_to_string(file).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        let ours = links.filter(|link| !link.is_empty() && !link.contains("://"));
        ours.map(|link| file.with_file_name("").join(link)).collect()
    };
    for file in &files {
        for leads in linked(file) {
            assert!(leads.exists(), "{}: nothing is at {}", file.display(), leads.display());
        }
    }
    let (folder, index) = (root().join("docs"), linked(&root().join("docs/README.md")));
    let pages: Vec<_> = files.iter().filter(|file| file.parent() == Some(&folder)).collect();
    assert!(pages.len() > 10, "{pages:?}");
    for page in pages {
        assert!(
            page.ends_with("README.md") || index.contains(page),
            "docs/README.md does not lead to {}",
            page.display()
        );
    }
}

#[test]
fn the_makefile_has_what_the_documents_name() {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    for document in ["README.md", "HACKING.md"] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let named = ["`make ", "\nmake "].into_iter().flat_map(|begin| text.split(begin).skip(1));
        let targets: Vec<_> = named.map(|rest| rest.split([' ', '`', '\n']).next().unwrap()).collect();
        assert!(targets.len() > 3, "{document}: {targets:?}");
        for target in targets {
            assert!(makefile.contains(&format!("\n{target}:")), "{document}: the Makefile has no {target}");
        }
    }
}

fn members(workspace: &str) -> impl Iterator<Item = &str> {
    workspace.split("members = [").nth(1).unwrap().split(']').next().unwrap().split('"').skip(1).step_by(2)
}

#[test]
fn what_is_packaged_has_the_texts_of_the_licences() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let published = |member: &&str| {
        !fs::read_to_string(root().join(member).join("Cargo.toml")).unwrap().contains("\npublish = false")
    };
    let packaged: Vec<_> = members(&workspace).filter(published).chain(["bindings/python"]).collect();
    assert!(packaged.len() > 10, "{packaged:?}");
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let text = fs::read(root().join(name)).unwrap();
        for member in &packaged {
            assert!(
                fs::read(root().join(member).join(name)).is_ok_and(|it| it == text),
                "{member}/{name} is not {name}"
            );
        }
    }
}

/// The packages that a manifest of the workspace depends on, but for the workspace's own.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut depends = false;
    for line in manifest.lines() {
        match line.strip_prefix('[') {
            Some(table) => depends = table.ends_with("dependencies]") && !table.starts_with("workspace"),
            None if depends => {
                found.extend(line.split(['=', '.', ' ']).next().filter(|it| !it.is_empty() && *it != "#"))
            }
            None => {}
        }
    }
    found.retain(|name| *name != "foresee" && !name.starts_with("foresee-"));
    found
}

#[test]
fn each_dependency_says_why_it_is_there() {
    let text = fs::read_to_string(root().join("HACKING.md")).unwrap();
    let rows = text.split("\n| crate |").nth(1).unwrap().lines().skip(2).take_while(|line| line.starts_with('|'));
    let crates = rows.map(|row| row.split('|').nth(1).unwrap().split('(').next().unwrap());
    let documented: Vec<_> = crates.flat_map(|names| names.split(',')).map(str::trim).collect();
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let mut used = Vec::new();
    for member in members(&workspace) {
        let manifest = fs::read_to_string(root().join(member).join("Cargo.toml")).unwrap();
        used.extend(dependencies(&manifest).into_iter().map(str::to_owned));
    }
    assert!(used.len() > 20, "{used:?}");
    for name in &used {
        assert!(documented.contains(&name.as_str()), "HACKING.md does not say why {name} is there");
    }
    for name in documented {
        assert!(used.iter().any(|it| it == name), "HACKING.md names {name}, on which nothing depends");
    }
}
