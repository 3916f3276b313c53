//! The loop device on the slow file, and the filesystem on it.

use crate::plan::{Plan, c_path};
use crate::signals;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

// From linux/loop.h and linux/fs.h, which the libc crate does not carry.
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4c82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4c0a;
const LOOP_CLR_FD: libc::c_ulong = 0x4c01;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;
const BLKFLSBUF: libc::c_ulong = 0x1261;

#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo64,
    reserved: [u64; 8],
}

#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// An attached loop device. It detaches itself when this is dropped and nothing else uses it,
/// whatever way the process ends.
pub struct Device {
    file: File,
    pub path: PathBuf,
}

impl Device {
    /// Attaches a free loop device to the plan's slow file, past the page cache.
    pub fn attach(plan: &Plan) -> Result<Device, String> {
        let disk = plan.disk();
        let backing =
            File::options().read(true).write(true).open(&disk).map_err(|e| format!("{}: {e}", disk.display()))?;
        let control = File::open("/dev/loop-control").map_err(|e| format!("/dev/loop-control: {e}"))?;
        // Someone else may take the free device between the two calls.
        for _ in 0..100 {
            // SAFETY: the request takes no argument.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
            if number < 0 {
                return Err(format!("no free loop device: {}", io::Error::last_os_error()));
            }
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let file =
                File::options().read(true).write(true).custom_flags(libc::O_CLOEXEC).open(&path).map_err(|e| {
                    format!("{}: {e}; in a container, make the node or give it the host's /dev", path.display())
                })?;
            match configure(&file, &backing) {
                Ok(()) => {
                    let device = Device { file, path };
                    if device.attribute("loop/dio") != "1" {
                        return Err(format!(
                            "{}: direct I/O was refused; this needs Linux 5.10",
                            device.path.display()
                        ));
                    }
                    return Ok(device);
                }
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => continue,
                Err(error) => return Err(format!("{}: {error}", path.display())),
            }
        }
        Err("no loop device stayed free long enough to be taken; try again".into())
    }

    /// The value of a file below this device's directory in sysfs.
    pub fn attribute(&self, name: &str) -> String {
        fs::read_to_string(self.sysfs(name)).unwrap_or_default().trim().to_string()
    }

    /// The I/O scheduler in force, which sysfs gives in brackets among those there are.
    pub fn scheduler(&self) -> String {
        let all = self.attribute("queue/scheduler");
        let chosen = all.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name.to_string());
        chosen.unwrap_or(all)
    }

    /// Makes the model's order the one that counts, and sets the kernel's read-ahead.
    pub fn tune(&self, read_ahead_kb: u64) -> Result<(), String> {
        for (name, value) in [("queue/scheduler", "none"), ("queue/read_ahead_kb", &read_ahead_kb.to_string())] {
            let path = self.sysfs(name);
            fs::write(&path, value).map_err(|e| format!("{}: writing {value}: {e}", path.display()))?;
        }
        Ok(())
    }

    /// Makes an ext4 filesystem with nothing left to be initialised in the background later.
    pub fn format(&self) -> Result<(), String> {
        let mut mkfs = Command::new("mkfs.ext4");
        // The seed of the directories' hashes decides the order in which files are listed, and so how far
        // an arm travels.
        let options = "lazy_itable_init=0,lazy_journal_init=0,hash_seed=666f7265-7365-6520-736c-6f776469736b";
        mkfs.args(["-q", "-F", "-m", "0", "-E", options]).arg(&self.path);
        signals::die_with_parent(&mut mkfs);
        let output = mkfs.output().map_err(|e| format!("mkfs.ext4: {e}; install e2fsprogs"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("mkfs.ext4 {}: {}", self.path.display(), why.trim()));
        }
        Ok(())
    }

    pub fn mount(&self, at: &Path) -> Result<(), String> {
        // Without noatime reading would write; without the other option a kernel thread would read
        // all block bitmaps just after mounting, and be measured.
        let (source, target) = (c_path(&self.path), c_path(at));
        // SAFETY: all strings are NUL-terminated and outlive the call.
        let result = unsafe {
            libc::mount(
                source.as_ptr(),
                target.as_ptr(),
                c"ext4".as_ptr(),
                libc::MS_NOATIME | libc::MS_NODIRATIME,
                c"no_prefetch_block_bitmaps".as_ptr().cast(),
            )
        };
        match result {
            0 => Ok(()),
            _ => Err(format!("{} on {}: {}", self.path.display(), at.display(), io::Error::last_os_error())),
        }
    }

    /// Forgets all that the page cache holds of this filesystem, and of nothing else on the
    /// machine.
    pub fn remount_cold(&self, at: &Path) -> Result<(), String> {
        let target = c_path(at);
        // SAFETY: the string is NUL-terminated and outlives the call.
        if unsafe { libc::umount2(target.as_ptr(), 0) } != 0 {
            let error = io::Error::last_os_error();
            return Err(format!("{}: {error}; the setup left something using it", at.display()));
        }
        // SAFETY: the request takes no argument.
        if unsafe { libc::ioctl(self.file.as_raw_fd(), BLKFLSBUF, 0) } != 0 {
            return Err(format!("{}: flushing: {}", self.path.display(), io::Error::last_os_error()));
        }
        self.mount(at)
    }

    fn sysfs(&self, name: &str) -> PathBuf {
        let device = self.path.file_name().unwrap_or_default();
        Path::new("/sys/block").join(device).join(name)
    }
}

fn configure(device: &File, backing: &File) -> io::Result<()> {
    // SAFETY: all of its fields are integers or arrays of them, for which zero is valid.
    let mut config: LoopConfig = unsafe { std::mem::zeroed() };
    config.fd = backing.as_raw_fd() as u32;
    config.info.flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
    // SAFETY: the structure is the one this request reads, and outlives the call.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &config) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The loop devices attached to this file.
pub fn attached_to(disk: &Path) -> Vec<PathBuf> {
    let Ok(devices) = fs::read_dir("/sys/block") else { return Vec::new() };
    devices
        .flatten()
        .filter(|device| {
            let backing = fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
            Path::new(backing.trim_end_matches('\n').trim_end_matches(" (deleted)")) == disk
        })
        .map(|device| Path::new("/dev").join(device.file_name()))
        .collect()
}

/// Detaches a device from this file by force, or as soon as whoever has it open closes it.
pub fn detach(device: &Path, disk: &Path) -> io::Result<()> {
    let file = File::open(device)?;
    // While it is open here it cannot change hands; before, it might have.
    if !attached_to(disk).iter().any(|ours| ours == device) {
        return Ok(());
    }
    // SAFETY: the request takes no argument.
    match unsafe { libc::ioctl(file.as_raw_fd(), LOOP_CLR_FD, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
