//! `foresee profile`.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::Subcommand;
use foresee_manager::Want;
use foresee_run::profile::{Profile, Store, Stored, export, import, together};
use serde_json::json;

use crate::say::{print, say};
use crate::text::{bytes, count};

/// What to do with the profiles.
#[derive(Subcommand)]
pub enum Action {
    /// List the recorded commands
    List {
        /// Print a list of objects
        #[arg(long)]
        json: bool,
    },
    /// Show what one command read, step by step
    Show {
        /// A name from 'foresee profile list'
        name: String,
    },
    /// Write what commands read to standard output, for 'foresee profile import' or 'foresee run
    /// --profile' elsewhere; of several, what each of them read, as of the first one's command
    Export {
        /// Names from 'foresee profile list'
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Keep what was exported elsewhere, as this user's own
    Import {
        /// Files that 'foresee profile export' wrote
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Write what several exported profiles say to standard output, as one of the first one's
    /// command
    Merge {
        /// Files that 'foresee profile export' wrote
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Remove recorded commands, and what the list says is passed over: files that are damaged, or were left
    /// there by another user, as by root
    Forget {
        /// Names from 'foresee profile list'
        #[arg(required_unless_present = "all")]
        names: Vec<String>,
        /// Remove them all
        #[arg(long, conflicts_with = "names")]
        all: bool,
    },
}

/// Does it; returns the exit status.
pub fn main(action: Action) -> Result<u8, String> {
    let store = Store::of_user()
        .ok_or("neither XDG_CACHE_HOME, as an absolute path, nor HOME is set: there is no place for profiles")?;
    let stored = store.list().map_err(|error| format!("{}: {error}", store.directory().display()))?;
    match action {
        Action::List { json } => print(|out| list(&stored, json, out))?,
        Action::Show { name } => {
            let profile = find(&stored, &name)?.read()?;
            print(|out| show(&profile, out))?;
        }
        Action::Export { names } => {
            let profiles = names.iter().map(|name| find(&stored, name)?.read()).collect::<Result<Vec<_>, _>>()?;
            write_packed(&profiles)?;
        }
        Action::Import { files } => {
            let profiles = files.iter().map(|file| import(file)).collect::<Result<Vec<_>, _>>()?;
            for profile in profiles {
                store.save(&profile)?;
            }
        }
        Action::Merge { files } => {
            let profiles = files.iter().map(|file| import(file)).collect::<Result<Vec<_>, _>>()?;
            write_packed(&profiles)?;
        }
        Action::Forget { names, all } => {
            let doomed = match all {
                true => stored.iter().collect(),
                false => names.iter().map(|name| find(&stored, name)).collect::<Result<Vec<_>, _>>()?,
            };
            // One that cannot be removed keeps none of the others.
            let kept: Vec<_> = doomed.into_iter().filter_map(|it| it.remove().err()).collect();
            kept.iter().for_each(say);
            return Ok(if kept.is_empty() { 0 } else { 2 });
        }
    }
    Ok(0)
}

/// A profile that `--profile` names.
#[derive(Debug, Clone)]
pub struct Given {
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub profile: Profile,
}

/// Reads the file that `--profile` names.
pub fn read(path: &str) -> Result<Given, String> {
    let path = PathBuf::from(path);
    import(&path).map(|profile| Given { path, profile })
}

/// Writes these to standard output, together as one of the first one's command.
fn write_packed(profiles: &[Profile]) -> Result<(), String> {
    if io::stdout().is_terminal() {
        return Err("a profile is no text for a terminal: '> FILE' puts it into a file".to_owned());
    }
    let profile = match profiles {
        [one] => Some(one.clone()),
        several => together(several),
    };
    let packed = profile.map_or(Ok(Vec::new()), |profile| export(&profile)).map_err(|error| error.to_string())?;
    print(|out| out.write_all(&packed))
}

fn find<'a>(stored: &'a [Stored], name: &str) -> Result<&'a Stored, String> {
    stored
        .iter()
        .find(|it| it.name == name)
        .ok_or_else(|| format!("there is no profile '{name}'; 'foresee profile list' shows their names"))
}

fn words(profile: &Profile) -> String {
    let words: Vec<_> = profile.command.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

fn list(stored: &[Stored], json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        let rows: Vec<_> = stored
            .iter()
            .map(|it| match it.read() {
                Ok(profile) => json!({
                    "name": it.name,
                    "command": words(&profile),
                    "directory": profile.directory.to_string_lossy(),
                    "steps": profile.steps.len(),
                    "bytes_read": profile.bytes(),
                    "file_bytes": it.bytes,
                }),
                Err(error) => json!({ "name": it.name, "error": error }),
            })
            .collect();
        return writeln!(out, "{:#}", json!(rows));
    }
    for it in stored {
        match it.read() {
            Ok(profile) => {
                let (steps, read) = (count(profile.steps.len() as u64), bytes(profile.bytes()));
                writeln!(
                    out,
                    "{}  {steps} steps, {read}  {}  in {}",
                    it.name,
                    words(&profile),
                    profile.directory.display()
                )?;
            }
            Err(error) => writeln!(out, "{}  passed over: {error}", it.name)?,
        }
    }
    Ok(())
}

fn show(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "command    {}", words(profile))?;
    writeln!(out, "directory  {}", profile.directory.display())?;
    if !profile.program.as_os_str().is_empty() {
        writeln!(out, "program    {}", profile.program.display())?;
    }
    writeln!(out, "runs       {}", profile.runs)?;
    if profile.findings.is_in_vain() {
        writeln!(out, "in vain    reading ahead did not pay: for a day, runs begin without, until they wait")?;
    }
    if profile.findings.is_in_memory() {
        writeln!(
            out,
            "in memory  all was there: for a day, runs begin without telling what they read, until they wait"
        )?;
    }
    if profile.is_unordered {
        writeln!(out, "order      another in each run")?;
    }
    for step in &profile.steps {
        let file = profile.files[step.file].display();
        let what = match step.want {
            Want::Range { first, count } if step.mapped => format!("maps  {count} blocks from {first}"),
            Want::Range { first, count } => format!("reads {count} blocks from {first}"),
            _ => "looks up".to_owned(),
        };
        let seldom = if profile.is_common(step) { "" } else { "  (not by most runs)" };
        writeln!(out, "process {}  {what}  {file}{seldom}", step.process)?;
    }
    if profile.truncated {
        writeln!(out, "(more was read than a profile holds)")?;
    }
    Ok(())
}
