//! Asks for the ring where its path may not be followed: in a process of another user, or in a user
//! namespace of its own.
//!
//! The supervisor has an abstract datagram socket that is called as the path is, and gives the
//! descriptor to who knows what the path's link says. It is asked as a program begins, and before a
//! process becomes another program: what is answered then will be again.

use core::ffi::{CStr, c_int};
use core::mem::{MaybeUninit, size_of};

use crate::sys;

/// Whoever answers does nothing else, and does so within 0.1 ms unless it is stopped or the machine
/// is very busy.
const PATIENCE: libc::timeval = libc::timeval { tv_sec: 0, tv_usec: 20_000 };

/// The descriptor of the ring that has this path, if we are given it.
pub(crate) fn ask(path: &CStr, word: &[u8]) -> Option<c_int> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: takes numbers.
    let socket = unsafe { sys::call(libc::SYS_socket, [libc::AF_UNIX as usize, kind as usize, 0, 0, 0, 0]) };
    let socket = c_int::try_from(socket).ok().filter(|&socket| socket >= 0)?;
    let given = if send(socket, path.to_bytes(), word) { receive(socket) } else { None };
    sys::close(socket);
    given
}

/// Sends the word. Nobody but whom it is sent to can answer then.
fn send(socket: c_int, path: &[u8], word: &[u8]) -> bool {
    // SAFETY: zero is valid for all of it.
    let mut address: libc::sockaddr_un = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // The NUL before it makes it abstract.
    address.sun_path.iter_mut().skip(1).zip(path).for_each(|(place, &byte)| *place = byte as _);
    let length = size_of::<libc::sa_family_t>() + 1 + path.len();
    // Has the kernel say who answers; and name us, so that we can be answered.
    set(socket, libc::SO_PASSCRED, &1i32)
        && set(socket, libc::SO_RCVTIMEO, &PATIENCE)
        // SAFETY: the address lives through the call.
        && unsafe { sys::call(libc::SYS_connect, [socket as usize, &raw const address as usize, length, 0, 0, 0]) } == 0
        // SAFETY: as above, the word.
        && unsafe {
            let flags = (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as usize;
            sys::call(libc::SYS_sendto, [socket as usize, word.as_ptr() as usize, word.len(), flags, 0, 0])
        } == word.len() as isize
}

fn set<T>(socket: c_int, option: c_int, value: &T) -> bool {
    let (level, option) = (libc::SOL_SOCKET as usize, option as usize);
    let arguments = [socket as usize, level, option, core::ptr::from_ref(value) as usize, size_of::<T>(), 0];
    // SAFETY: the kernel reads so many bytes.
    unsafe { sys::call(libc::SYS_setsockopt, arguments) == 0 }
}

/// Takes the descriptor from the answer, if it is of somebody who may give us one.
fn receive(socket: c_int) -> Option<c_int> {
    let mut byte = 0u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // Room for who answers, and for one descriptor: what does not fit is not given.
    let mut control = [0u64; 8];
    // SAFETY: pure arithmetic.
    let room = unsafe { libc::CMSG_SPACE(size_of::<libc::ucred>() as u32) + libc::CMSG_LEN(size_of::<c_int>() as u32) };
    // SAFETY: zero is valid for all of it. What is pointed to lives through the call, and has room for
    // what is claimed; the kernel writes whole control messages.
    unsafe {
        let mut message: libc::msghdr = MaybeUninit::zeroed().assume_init();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = room as _;
        let flags = libc::MSG_CMSG_CLOEXEC as usize;
        if sys::call(libc::SYS_recvmsg, [socket as usize, &raw mut message as usize, flags, 0, 0, 0]) < 0 {
            return None;
        }
        let (mut given, mut giver) = (None, None);
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            let data = libc::CMSG_DATA(header);
            match ((*header).cmsg_level, (*header).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_RIGHTS) => given = Some(data.cast::<c_int>().read_unaligned()),
                (libc::SOL_SOCKET, libc::SCM_CREDENTIALS) => giver = Some(data.cast::<libc::ucred>().read_unaligned()),
                _ => {}
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
        given.filter(|&fd| {
            let is_trusted = giver.is_some_and(|giver| may_give(&giver));
            if !is_trusted {
                sys::close(fd);
            }
            is_trusted
        })
    }
}

/// Root may see what we do, and our own user. Who has no number here is in another PID namespace,
/// and would not know us by ours.
fn may_give(giver: &libc::ucred) -> bool {
    giver.pid != 0 && (giver.uid == 0 || giver.uid == sys::effective_user())
}
