//! The program that `foresee mount` and `foresee unmount` start.

use std::process::ExitCode;

fn main() -> ExitCode {
    foresee_mount::main()
}
