//! The region that a run's programs post to: memory with a name that only this process's
//! descriptors have.

use std::ffi::CString;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::path::PathBuf;

use foresee_ring::Region;

use crate::handover::Handover;

/// A region that lives as long as this.
pub struct SharedRegion {
    file: File,
    memory: *mut u8,
    name: String,
    /// None where there is no such socket to be had.
    handover: Option<Handover>,
}

impl SharedRegion {
    /// Makes one.
    pub fn new() -> io::Result<Self> {
        // Numbers that the standard library chooses by chance.
        let name = format!("foresee-{:016x}", RandomState::new().build_hasher().finish());
        let c_name = CString::new(name.as_str())?;
        // SAFETY: the name is a C string; the result is checked.
        let fd = unsafe { libc::memfd_create(c_name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and ours.
        let file = unsafe { File::from_raw_fd(fd) };
        let bytes = Region::layout_size();
        // A limit on the size of files is one on this memory too, and would kill us.
        // SAFETY: no handler is installed, and what was there is put back.
        let before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        let sized = file.set_len(bytes as u64);
        // SAFETY: as above.
        unsafe { libc::signal(libc::SIGXFSZ, before) };
        sized?;
        // No program may make us fault by cutting it short.
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: no pointers.
        if unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, seals) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, fd, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = memory.cast();
        // SAFETY: the mapping is page-aligned, zero, and of the region's size; it lives as long as `self`.
        unsafe { Region::initialise(memory) };
        let (path, link) = (path_of(&file), format!("/memfd:{name} (deleted)"));
        let handover = Handover::new(&path, &link, fd).ok();
        Ok(SharedRegion { file, memory, name, handover })
    }

    /// The region.
    pub fn region(&self) -> &Region {
        // SAFETY: initialised in `new`, and mapped as long as `self` lives; it consists of atomics only.
        unsafe { &*self.memory.cast::<Region>() }
    }

    /// Where programs find it, which is gone with this process, and what they know it by: in
    /// another PID namespace the same path leads to a stranger's file.
    pub fn path(&self) -> PathBuf {
        format!("{}:{}", path_of(&self.file), self.name).into()
    }

    /// Where programs ask for it that may not follow its path: what to poll, or -1.
    pub fn fd(&self) -> RawFd {
        self.handover.as_ref().map_or(-1, Handover::fd)
    }

    /// Answers who has asked there. Waits for nothing.
    pub fn answer(&self) {
        if let Some(handover) = &self.handover {
            handover.answer();
        }
    }
}

fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

impl Drop for SharedRegion {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length; `region` borrows from self, so nobody uses it any more.
        unsafe { libc::munmap(self.memory.cast(), Region::layout_size()) };
    }
}
