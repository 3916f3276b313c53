//! The `slowdisk` command.

fn main() {
    foresee_slowdisk::main();
}
