//! A whole set of members, in order, found from their headers: files given in another order are as
//! good.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use foresee_manager::Stripe;

use super::buffer::Buffer;
use super::header::{HEADER_BYTES, Header};
use super::reader::read_at;

/// A member, open.
pub(super) struct Member {
    pub path: PathBuf,
    pub file: File,
    /// Read past the page cache, which holds the striped file itself and need not hold everything
    /// twice.
    pub direct: bool,
}

/// All members of one file.
pub struct Set {
    pub(super) members: Vec<Member>,
    pub(super) stripe: Stripe,
    pub(super) size: u64,
    metadata: Vec<Metadata>,
}

impl Set {
    /// Opens and checks them; the message names the file that is wrong, and how.
    pub fn open(paths: &[PathBuf]) -> Result<Self, String> {
        let mut found: Vec<(Header, Member, Metadata)> = Vec::new();
        for path in paths {
            let (header, member, metadata) = open(path).map_err(|what| format!("{}: {what}", path.display()))?;
            if let Some((first, other, _)) = found.first() {
                let same = Header { member: first.member, ..header } == *first;
                if !same {
                    let other = other.path.display();
                    return Err(format!("{}: is of another set than {other}", path.display()));
                }
            }
            if let Some((_, twin, _)) = found.iter().find(|(it, ..)| it.member == header.member) {
                let (twin, number) = (twin.path.display(), header.member + 1);
                return Err(format!("{}: is member {number}, and so is {twin}", path.display()));
            }
            found.push((header, member, metadata));
        }
        found.sort_by_key(|(header, ..)| header.member);
        let Some(&(Header { members, unit_bytes, size, .. }, ..)) = found.first() else {
            return Err("no members are given".into());
        };
        if let Some(missing) = (0..members).find(|&it| found.get(usize::from(it)).is_none_or(|(h, ..)| h.member != it))
        {
            let number = missing + 1;
            return Err(format!("{}: its set has {members} members; number {number} is not given", paths[0].display()));
        }
        let stripe = Stripe { disks: members, unit_blocks: unit_bytes };
        for (header, member, metadata) in &found {
            let (has, must) = (metadata.len(), HEADER_BYTES + stripe.share(header.member, size));
            if has != must {
                let path = member.path.display();
                return Err(format!(
                    "{path}: has {has} bytes where member {} of its set has {must}",
                    header.member + 1
                ));
            }
        }
        let (members, metadata) = found.into_iter().map(|(_, member, metadata)| (member, metadata)).unzip();
        Ok(Set { members, stripe, size, metadata })
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How it is dealt out, in bytes.
    pub fn stripe(&self) -> Stripe {
        self.stripe
    }

    /// What the file systems say of the members, in order.
    pub fn metadata(&self) -> &[Metadata] {
        &self.metadata
    }
}

fn open(path: &Path) -> Result<(Header, Member, Metadata), String> {
    let complain = |error: io::Error| error.to_string();
    // Not to wait for whoever opens the other end of a pipe.
    let open = |flags| File::options().read(true).custom_flags(flags | libc::O_NONBLOCK).open(path);
    let (file, direct) = match open(libc::O_DIRECT) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => (open(0).map_err(complain)?, false),
        file => (file.map_err(complain)?, true),
    };
    let metadata = file.metadata().map_err(complain)?;
    if !metadata.is_file() {
        return Err("is no regular file".into());
    }
    let mut member = Member { path: path.to_owned(), file, direct };
    let buffer = Buffer::new(HEADER_BYTES as usize);
    let pieces = [(0, HEADER_BYTES as usize)];
    let mut read = read_at(&member, 0, &buffer, &pieces);
    if direct && read.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL)) {
        // A file system that only pretends, or one with other alignments than ours.
        member = Member { path: path.to_owned(), file: open(0).map_err(complain)?, direct: false };
        read = read_at(&member, 0, &buffer, &pieces);
    }
    match read {
        // SAFETY: all of it was read, and nobody writes to it any more.
        Ok(()) => Ok((Header::parse(unsafe { buffer.part(0, HEADER_BYTES as usize) })?, member, metadata)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Header::parse(&[]).unwrap_err().into()),
        Err(error) => Err(complain(error)),
    }
}
