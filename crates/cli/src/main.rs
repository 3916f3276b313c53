//! The `foresee` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    foresee_cli::main()
}
