//! What will be created and where: decided before anything is, and written down in the work
//! directory, so that another process can undo it.

use crate::mounts;
use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Everything a run makes outside its own memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// A temporary directory of this run's own.
    pub work_dir: PathBuf,
    pub fuse_dir: PathBuf,
    pub mount_dir: PathBuf,
    /// Whether `mount_dir` is made and removed by this run.
    pub mount_dir_is_ours: bool,
    pub image: PathBuf,
    pub image_is_temporary: bool,
    /// Whether a filesystem must be made: not when the image was there before.
    pub format: bool,
    pub size: u64,
}

impl Plan {
    pub fn new(image: Option<&Path>, mount: Option<&Path>, size: u64) -> Result<Plan, String> {
        let temp = absolute(&std::env::temp_dir())?;
        let work_dir = temp.join(format!("slowdisk-{}", std::process::id()));
        let image_path = match image {
            Some(path) => resolve(path, "--image")?,
            None => work_dir.join("image"),
        };
        let mount_dir = match mount {
            Some(path) => resolve(path, "--mount")?,
            None => work_dir.join("mnt"),
        };
        if image_path.starts_with(&mount_dir) {
            return Err(format!(
                "--image {}: lies under the mount point {}, which would hide it; choose another place",
                image_path.display(),
                mount_dir.display()
            ));
        }
        if mounts::is_mounted(&mount_dir) {
            return Err(format!(
                "--mount {}: something is mounted there; choose an empty directory",
                mount_dir.display()
            ));
        }
        let mut plan = Plan {
            fuse_dir: work_dir.join("fuse"),
            mount_dir_is_ours: !mount_dir.exists(),
            mount_dir,
            image_is_temporary: image.is_none(),
            format: !image_path.exists(),
            image: image_path,
            size,
            work_dir,
        };
        if plan.format {
            if size < MIN_SIZE {
                return Err(format!("--size {size}: too small for a filesystem; at least 16M"));
            }
            plan.size = size / 4096 * 4096;
        } else {
            plan.size = existing_image(&plan.image)?;
        }
        Ok(plan)
    }

    pub fn disk(&self) -> PathBuf {
        self.fuse_dir.join("disk")
    }

    pub fn control(&self) -> PathBuf {
        self.fuse_dir.join("control")
    }

    /// Makes what the FUSE server needs: the directories, the note of this plan and the image.
    pub fn create(&self) -> Result<(), String> {
        let complain = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
        fs::create_dir(&self.work_dir).map_err(|e| complain(&self.work_dir, e))?;
        let note = self.work_dir.join(NOTE);
        fs::write(&note, self.note()).map_err(|e| complain(&note, e))?;
        fs::create_dir(&self.fuse_dir).map_err(|e| complain(&self.fuse_dir, e))?;
        if self.mount_dir_is_ours {
            fs::create_dir(&self.mount_dir).map_err(|e| complain(&self.mount_dir, e))?;
        }
        if self.format {
            let image = File::options().write(true).create_new(true).open(&self.image);
            image.and_then(|image| image.set_len(self.size)).map_err(|e| complain(&self.image, e))?;
        }
        Ok(())
    }

    fn note(&self) -> Vec<u8> {
        // Only what undoing needs; NUL-separated, because paths may hold anything else.
        let flag = |set: bool| if set { b"1".as_slice() } else { b"0" };
        [
            self.mount_dir.as_os_str().as_bytes(),
            flag(self.mount_dir_is_ours),
            self.image.as_os_str().as_bytes(),
            flag(self.image_is_temporary),
            std::process::id().to_string().as_bytes(),
        ]
        .join(&0)
    }

    /// The plan noted in a work directory, and the process that served it.
    pub fn read_note(work_dir: &Path) -> Result<(Plan, i32), String> {
        let work_dir = absolute(work_dir)?;
        let path = work_dir.join(NOTE);
        let note = fs::read(&path).map_err(|e| format!("{}: {e}; give the directory of a run", path.display()))?;
        let fields: Vec<&[u8]> = note.split(|&byte| byte == 0).collect();
        let [mount_dir, mount_dir_is_ours, image, image_is_temporary, server] = fields[..] else {
            return Err(format!("{}: is not the note of a run", path.display()));
        };
        let server = str::from_utf8(server).ok().and_then(|text| text.parse().ok());
        let plan = Plan {
            fuse_dir: work_dir.join("fuse"),
            mount_dir: OsStr::from_bytes(mount_dir).into(),
            mount_dir_is_ours: mount_dir_is_ours == b"1",
            image: OsStr::from_bytes(image).into(),
            image_is_temporary: image_is_temporary == b"1",
            format: false,
            size: 0,
            work_dir,
        };
        Ok((plan, server.ok_or_else(|| format!("{}: is not the note of a run", path.display()))?))
    }
}

/// The plan's name in its work directory.
pub const NOTE: &str = "plan";

const MIN_SIZE: u64 = 16 << 20;

/// The size of an image that was there before, if it holds what this program puts there.
fn existing_image(path: &Path) -> Result<u64, String> {
    let complain = |why: String| format!("--image {}: {why}", path.display());
    let file = File::open(path).map_err(|e| complain(e.to_string()))?;
    let metadata = file.metadata().map_err(|e| complain(e.to_string()))?;
    let mut magic = [0; 2];
    if !metadata.is_file() || file.read_exact_at(&mut magic, 1024 + 56).is_err() || magic != [0x53, 0xef] {
        return Err(complain("exists and holds no ext4 filesystem; remove it or name another".into()));
    }
    Ok(metadata.len())
}

/// An absolute path without links for something that may not exist yet.
fn resolve(path: &Path, option: &str) -> Result<PathBuf, String> {
    if path.exists() {
        return absolute(path);
    }
    let name = path.file_name().ok_or_else(|| format!("{option} {}: names no file", path.display()))?;
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(absolute(parent).map_err(|e| format!("{option} {e}"))?.join(name))
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize().map_err(|e| format!("{}: {e}", path.display()))
}

/// Says what this machine lacks, before anything is touched.
pub fn check_environment() -> Result<(), String> {
    // SAFETY: takes no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Err("needs root, to attach a loop device and mount it; run it with sudo".into());
    }
    for (path, remedy) in [
        ("/dev/fuse", "load the fuse module (modprobe fuse), or give the container that device"),
        ("/dev/loop-control", "load the loop module (modprobe loop), or give the container that device"),
    ] {
        File::options().read(true).write(true).open(path).map_err(|e| format!("{path}: {e}; {remedy}"))?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|dir| dir.join("mkfs.ext4").exists()) {
        return Err("mkfs.ext4: not in PATH; install e2fsprogs".into());
    }
    Ok(())
}

/// For system calls; a path with a NUL byte cannot have come from the system.
pub fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}
