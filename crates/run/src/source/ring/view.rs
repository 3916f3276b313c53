//! Whether a process sees the same files under the same names as we do.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

/// What a process's absolute paths go by: its mount namespace and its root directory.
#[derive(Debug, PartialEq, Eq)]
struct View {
    namespace: PathBuf,
    root: PathBuf,
}

impl View {
    /// None where the kernel does not tell us.
    fn of(process: &str) -> Option<Self> {
        let link = |name: &str| fs::read_link(format!("/proc/{process}/{name}")).ok();
        Some(View { namespace: link("ns/mnt")?, root: link("root")? })
    }
}

/// Whether a name leads this process elsewhere than us; None if that cannot be told.
pub fn is_elsewhere(pid: u32) -> Option<bool> {
    static OWN: OnceLock<Option<View>> = OnceLock::new();
    let own = OWN.get_or_init(|| View::of("self")).as_ref()?;
    Some(View::of(&pid.to_string())? != *own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_here() {
        assert_eq!(is_elsewhere(std::process::id()), Some(false));
        assert_eq!(is_elsewhere(u32::MAX), None);
    }
}
