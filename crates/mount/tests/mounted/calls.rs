//! What each system call comes to on objects, and where nobody may write: the error's number that
//! programs expect, or none.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::place::{Mounted, Place, can_mount, server};
use foresee_object_server::Server;
use libc::{
    EACCES, EBUSY, EEXIST, EINVAL, EISDIR, ENAMETOOLONG, ENODEV, ENOENT, ENOTDIR, ENOTEMPTY, EOPNOTSUPP, EPERM, EROFS,
    O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR, O_TMPFILE, O_TRUNC, O_WRONLY,
};

/// What is there before each call.
const FILES: [(&str, &[u8]); 4] = [("old", b"old bytes"), ("other", b"other"), ("d/x", b"x"), ("empty", b"")];
/// No error.
const DONE: i32 = 0;

/// Paths of the mount, as the system takes them.
struct At(PathBuf);

impl At {
    fn name(&self, name: &str) -> CString {
        CString::new(self.0.as_os_str().as_bytes().iter().copied().chain(*b"/").chain(name.bytes()).collect::<Vec<_>>())
            .unwrap()
    }

    fn open(&self, name: &str, flags: i32) -> Result<i32, i32> {
        // SAFETY: as below.
        number(unsafe { libc::open(self.name(name).as_ptr(), flags | libc::O_CLOEXEC, 0o644) })
    }

    fn opened(&self, name: &str, flags: i32) -> i32 {
        self.open(name, flags).map_or_else(|errno| errno, closed)
    }

    /// What a call with a descriptor comes to, or its close.
    fn with(&self, name: &str, flags: i32, call: impl FnOnce(i32) -> i32) -> i32 {
        let fd = match self.open(name, flags) {
            Ok(fd) => fd,
            Err(errno) => return errno,
        };
        let called = number(call(fd)).map_or_else(|errno| errno, |_| DONE);
        let closed = closed(fd);
        if called == DONE { closed } else { called }
    }
}

fn number(returned: i32) -> Result<i32, i32> {
    if returned < 0 { Err(io::Error::last_os_error().raw_os_error().unwrap()) } else { Ok(returned) }
}

fn closed(fd: i32) -> i32 {
    // SAFETY: it is ours, and is not used any more.
    errno(unsafe { libc::close(fd) })
}

fn errno(returned: i32) -> i32 {
    number(returned).map_or_else(|errno| errno, |_| DONE)
}

/// What an unsafe call with names comes to. All of them are given names that end with a zero and
/// outlive the call, and nothing else to write to.
macro_rules! call {
    ($at:ident, $function:ident($($name:literal),+ $(; $($more:expr),+)?)) => {
        // SAFETY: see above.
        errno(unsafe { libc::$function($($at.name($name).as_ptr(),)+ $($($more),+)?) } as i32)
    };
}

/// The same with a descriptor.
macro_rules! of {
    ($function:ident($($more:expr),*)) => {
        // SAFETY: it is given numbers alone.
        |fd| unsafe { libc::$function(fd $(, $more)*) }
    };
}

/// Each call, and what it comes to where objects are written, and where nothing is.
type Row = (&'static str, fn(&At) -> i32, i32, i32);

const OPENS: &[Row] = &[
    ("read", |at| at.opened("old", O_RDONLY), DONE, DONE),
    ("read what is not there", |at| at.opened("none", O_RDONLY), ENOENT, ENOENT),
    ("read below a file", |at| at.opened("old/x", O_RDONLY), ENOTDIR, ENOTDIR),
    ("read a file with a slash", |at| at.opened("old/", O_RDONLY), ENOTDIR, ENOTDIR),
    ("read a file as a directory", |at| at.opened("old", O_RDONLY | O_DIRECTORY), ENOTDIR, ENOTDIR),
    ("read a directory", |at| at.opened("d", O_RDONLY | O_DIRECTORY), DONE, DONE),
    ("read, links not followed", |at| at.opened("old", O_RDONLY | O_NOFOLLOW), DONE, DONE),
    ("write a directory", |at| at.opened("d", O_WRONLY), EISDIR, EISDIR),
    ("make a directory's name", |at| at.opened("d", O_WRONLY | O_CREAT), EISDIR, EISDIR),
    ("write in the middle", |at| at.opened("old", O_WRONLY), DONE, EROFS),
    ("read and write", |at| at.opened("old", O_RDWR), DONE, EROFS),
    ("append", |at| at.opened("old", O_WRONLY | O_APPEND), DONE, EROFS),
    ("append, or make", |at| at.opened("old", O_WRONLY | O_APPEND | O_CREAT), DONE, EROFS),
    ("append to nothing", |at| at.opened("empty", O_WRONLY | O_APPEND), DONE, EROFS),
    ("write anew", |at| at.opened("old", O_WRONLY | O_TRUNC), DONE, EROFS),
    ("read and write anew", |at| at.opened("old", O_RDWR | O_TRUNC | O_CREAT), DONE, EROFS),
    ("make", |at| at.opened("new", O_WRONLY | O_CREAT), DONE, EROFS),
    ("make alone", |at| at.opened("new", O_RDWR | O_CREAT | O_EXCL), DONE, EROFS),
    ("make alone what is there", |at| at.opened("old", O_WRONLY | O_CREAT | O_EXCL), EEXIST, EEXIST),
    ("make below what is not there", |at| at.opened("none/new", O_WRONLY | O_CREAT), ENOENT, ENOENT),
    ("make below a file", |at| at.opened("old/new", O_WRONLY | O_CREAT), ENOTDIR, ENOTDIR),
    ("make with a slash", |at| at.opened("new/", O_WRONLY | O_CREAT), EISDIR, EISDIR),
    ("make without a name", |at| at.opened("d", O_RDWR | O_TMPFILE), EOPNOTSUPP, EROFS),
    ("make a name that no key can be", |at| at.opened("a\nb", O_WRONLY | O_CREAT), EINVAL, EROFS),
    ("make a long name", |at| at.opened(&"n".repeat(1025), O_WRONLY | O_CREAT), ENAMETOOLONG, ENAMETOOLONG),
];

const NAMES: &[Row] = &[
    ("rename", |at| call!(at, rename("old", "new")), DONE, EROFS),
    ("rename in the place of another", |at| call!(at, rename("old", "other")), DONE, EROFS),
    ("rename to another directory", |at| call!(at, rename("old", "d/old")), DONE, EROFS),
    ("rename to itself", |at| call!(at, rename("old", "old")), DONE, EROFS),
    ("rename to what no key can be", |at| call!(at, rename("old", "a\x7f")), EINVAL, EROFS),
    ("rename what is not there", |at| call!(at, rename("none", "new")), ENOENT, EROFS),
    ("rename a file to a directory", |at| call!(at, rename("old", "d")), EISDIR, EROFS),
    ("rename a directory to a file", |at| call!(at, rename("d", "old")), ENOTDIR, EROFS),
    ("rename a directory", |at| call!(at, rename("d", "e")), DONE, EROFS),
    ("rename a directory into itself", |at| call!(at, rename("d", "d/e")), EINVAL, EROFS),
    ("rename to a name with a slash", |at| call!(at, rename("old", "new/")), ENOTDIR, EROFS),
    ("rename below a file", |at| call!(at, rename("old", "other/new")), ENOTDIR, ENOTDIR),
    ("rename below what is not there", |at| call!(at, rename("old", "none/new")), ENOENT, ENOENT),
    ("mkdir", |at| call!(at, mkdir("new"; 0o755)), DONE, EROFS),
    ("mkdir with a slash", |at| call!(at, mkdir("new/"; 0o755)), DONE, EROFS),
    ("mkdir of what no key can be", |at| call!(at, mkdir("a\tb"; 0o755)), EINVAL, EROFS),
    ("mkdir of what is there", |at| call!(at, mkdir("d"; 0o755)), EEXIST, EEXIST),
    ("mkdir of a file's name", |at| call!(at, mkdir("old"; 0o755)), EEXIST, EEXIST),
    ("mkdir below what is not there", |at| call!(at, mkdir("none/new"; 0o755)), ENOENT, ENOENT),
    ("mkdir below a file", |at| call!(at, mkdir("old/new"; 0o755)), ENOTDIR, ENOTDIR),
    ("rmdir of what is not empty", |at| call!(at, rmdir("d")), ENOTEMPTY, EROFS),
    ("rmdir of a file", |at| call!(at, rmdir("old")), ENOTDIR, EROFS),
    ("rmdir of what is not there", |at| call!(at, rmdir("none")), ENOENT, EROFS),
    ("rmdir of the directory itself", |at| call!(at, rmdir("d/.")), EINVAL, EINVAL),
    ("rmdir of what is mounted", |at| call!(at, rmdir("")), EBUSY, EBUSY),
    ("unlink", |at| call!(at, unlink("old")), DONE, EROFS),
    ("unlink of what is not there", |at| call!(at, unlink("none")), ENOENT, EROFS),
    ("unlink of a directory", |at| call!(at, unlink("d")), EISDIR, EROFS),
    ("unlink of a file with a slash", |at| call!(at, unlink("old/")), ENOTDIR, EROFS),
    ("link", |at| call!(at, link("old", "new")), EPERM, EROFS),
    ("link to what is there", |at| call!(at, link("old", "other")), EEXIST, EEXIST),
    ("symlink", |at| call!(at, symlink("old", "new")), EPERM, EROFS),
    ("symlink to what is there", |at| call!(at, symlink("old", "other")), EEXIST, EEXIST),
    ("mkfifo", |at| call!(at, mkfifo("new"; 0o644)), EPERM, EROFS),
    ("mkfifo of what is there", |at| call!(at, mkfifo("old"; 0o644)), EEXIST, EEXIST),
    ("mknod of a file", |at| call!(at, mknod("new"; libc::S_IFREG | 0o644, 0)), EPERM, EROFS),
];

const OTHERS: &[Row] = &[
    ("access", |at| call!(at, access("old"; libc::R_OK)), DONE, DONE),
    ("access to write", |at| call!(at, access("old"; libc::W_OK)), DONE, EROFS),
    ("access to run", |at| call!(at, access("old"; libc::X_OK)), EACCES, EACCES),
    ("access of what is not there", |at| call!(at, access("none"; libc::F_OK)), ENOENT, ENOENT),
    ("chmod", |at| call!(at, chmod("old"; 0o600)), DONE, EROFS),
    ("chown", |at| call!(at, chown("old"; 0, 0)), DONE, EROFS),
    ("utimes", |at| call!(at, utimes("old"; std::ptr::null())), DONE, EROFS),
    ("truncate to what it is", |at| call!(at, truncate("old"; 9)), DONE, EROFS),
    ("truncate", |at| call!(at, truncate("old"; 3)), DONE, EROFS),
    ("truncate far", |at| call!(at, truncate("old"; 2 << 30)), EOPNOTSUPP, EROFS),
    ("truncate a directory", |at| call!(at, truncate("d"; 0)), EISDIR, EISDIR),
    ("readlink of a file", |at| call!(at, readlink("old"; [0; 8].as_mut_ptr(), 8)), EINVAL, EINVAL),
    ("getxattr", |at| call!(at, getxattr("old"; c"user.x".as_ptr(), std::ptr::null_mut(), 0)), EOPNOTSUPP, EOPNOTSUPP),
    ("setxattr", |at| call!(at, setxattr("old"; c"user.x".as_ptr(), [0_u8].as_ptr().cast(), 1, 0)), EOPNOTSUPP, EROFS),
    ("fsync of what is read", |at| at.with("old", O_RDONLY, of!(fsync())), DONE, DONE),
    ("fsync of a directory", |at| at.with("d", O_RDONLY, of!(fsync())), DONE, DONE),
    ("fsync of what is written", |at| at.with("new", O_RDWR | O_CREAT, of!(fsync())), DONE, EROFS),
    ("ftruncate", |at| at.with("new", O_RDWR | O_CREAT, of!(ftruncate(100))), DONE, EROFS),
    ("ftruncate far", |at| at.with("new", O_RDWR | O_CREAT, of!(ftruncate(2 << 30))), EOPNOTSUPP, EROFS),
    ("fallocate", |at| at.with("new", O_RDWR | O_CREAT, of!(fallocate(0, 0, 100))), EOPNOTSUPP, EROFS),
    ("flock", |at| at.with("old", O_RDONLY, of!(flock(libc::LOCK_EX))), DONE, DONE),
    ("mmap to write", |at| at.with("new", O_RDWR | O_CREAT, map_shared), ENODEV, EROFS),
];

fn map_shared(fd: i32) -> i32 {
    // SAFETY: a mapping that nobody uses.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), 10, libc::PROT_WRITE, libc::MAP_SHARED, fd, 0) };
    if at == libc::MAP_FAILED { -1 } else { 0 }
}

/// The mount has what it should have before each call.
fn put_all(server: &Server) {
    for (name, bytes) in FILES {
        server.put(&format!("/b/{name}"), bytes);
    }
    for name in ["new", "d/old"] {
        server.remove(&format!("/b/{name}"));
    }
}

#[test]
fn each_call_comes_to_what_programs_expect() {
    if !can_mount() {
        return;
    }
    let server = server();
    let options = ["--metadata-ttl", "0"];
    put_all(&server);
    let place = Place::new();
    FILES.iter().for_each(|(name, bytes)| drop(place.write(name, bytes)));
    let written = Mounted::bucket(&server, &options);
    let read = Mounted::bucket(&server, &["--metadata-ttl", "0", "--read-only"]);
    let directory = Mounted::directory(place, &options);
    let mut wrong = Vec::new();
    for (what, call, expected, where_read_only) in [OPENS, NAMES, OTHERS].concat() {
        for (mount, at, expected) in [
            ("read only", &read.at, where_read_only),
            ("directory", &directory.at, where_read_only),
            ("written", &written.at, expected),
        ] {
            let found = call(&At(at.clone()));
            if found != expected {
                let error = |errno: i32| io::Error::from_raw_os_error(errno);
                wrong.push(format!("{what}, {mount}: {}, not {}", error(found), error(expected)));
            }
        }
        // What was closed without a byte is there when the system lets go of it: who reads it waits for
        // that.
        ["new", "old", "empty"].iter().for_each(|name| drop(std::fs::read(written.path(name))));
        // A directory that was made is the mount's alone.
        let _ = std::fs::remove_dir(written.path("new"));
        put_all(&server);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
