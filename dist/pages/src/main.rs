//! Man pages and completions of foresee's programs, made of the words they take: `pages DIRECTORY`
//! lays them out as they lie under a prefix's `share`.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use clap::Command;
use clap_complete::Shell;

/// Where the shells look for completions, under `share`.
const SHELLS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions"),
    (Shell::Fish, "fish/vendor_completions.d"),
    (Shell::Zsh, "zsh/site-functions"),
];

/// A command by its name.
type Named = (&'static str, Command);

/// `foresee` with the words of the program that `foresee mount` starts, and `slowdisk`.
fn commands() -> [Named; 2] {
    let mounting = foresee_mount::command();
    let mut place = 0;
    let foresee = foresee_cli::command().mut_subcommands(|verb| {
        place += 1;
        let same = mounting.find_subcommand(verb.get_name());
        same.cloned().unwrap_or(verb).display_order(place)
    });
    [("foresee", foresee), ("slowdisk", foresee_slowdisk::command())]
}

/// The command without `help VERB`, of which there would be a page for each page.
fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

fn write(share: &Path) -> Result<(), Box<dyn Error>> {
    let man = share.join("man/man1");
    fs::create_dir_all(&man)?;
    for (name, mut command) in commands() {
        clap_mangen::generate_to(without_help(command.clone()), &man)?;
        for (shell, below) in SHELLS {
            let directory = share.join(below);
            fs::create_dir_all(&directory)?;
            clap_complete::generate_to(shell, &mut command, name, &directory)?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let share = env::args_os().nth(1).ok_or("pages DIRECTORY: writes man pages and completions there")?;
    write(Path::new(&share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_its_page_and_its_words() {
        let share = env::temp_dir().join(format!("foresee-pages-{}", std::process::id()));
        write(&share).unwrap();
        for (name, command) in commands() {
            let completions = share.join(format!("bash-completion/completions/{name}.bash"));
            let completions = fs::read_to_string(completions).unwrap();
            for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
                let page = share.join(format!("man/man1/{name}-{}.1", verb.get_name()));
                let page = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
                for word in verb.get_arguments().filter(|word| !word.is_hide_set()).filter_map(clap::Arg::get_long) {
                    assert!(page.contains(&word.replace('-', "\\-")), "{name} {}: --{word}", verb.get_name());
                    assert!(completions.contains(&format!("--{word}")), "{name} {}: --{word}", verb.get_name());
                }
            }
        }
        let mount = fs::read_to_string(share.join("man/man1/foresee-mount.1")).unwrap();
        assert!(mount.contains("AWS_ENDPOINT_URL"), "{mount}");
        assert!(
            !share.join("man/man1/foresee-help.1").exists() && !share.join("man/man1/foresee-trace-help.1").exists()
        );
        fs::remove_dir_all(share).unwrap();
    }
}
