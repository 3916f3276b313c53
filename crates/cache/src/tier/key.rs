//! Which block it is, by a name that means the same in the next process.

use foresee_store::Version;

/// An object in one version: the hash of where it is, what it is called and which version it is of.
/// Nobody can find two that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectKey(pub [u8; 16]);

/// A block of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Of which object.
    pub object: ObjectKey,
    /// Which block.
    pub block: u64,
}

impl ObjectKey {
    /// The object of this name in the store of this scheme, so many bytes long: a store may be
    /// wrong about that, and what was cut to one length is not another's.
    pub fn new(scheme: &str, name: &str, version: &Version, size: u64) -> Self {
        let mut hasher = blake3::Hasher::new();
        let version = match version {
            Version::Stamp(_) => format!("stamp {version}"),
            Version::Tag(_) => format!("tag {version}"),
        };
        for part in [scheme, name, &version] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.update(&size.to_le_bytes());
        ObjectKey(first_bytes(&hasher))
    }
}

impl Key {
    /// What it is found by. Others may have the same.
    pub fn short(self) -> u64 {
        let begin = u128::from_le_bytes(self.object.0) as u64;
        // Two odd factors far apart: neighbours are to lie far apart too.
        (begin ^ self.block.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93)
    }

    /// What these bytes are told by as this block's: those of another block, and any that were
    /// changed, have another.
    pub fn checksum(self, bytes: &[u8]) -> u64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.object.0).update(&self.block.to_le_bytes()).update(bytes);
        u64::from_le_bytes(first_bytes(&hasher))
    }
}

/// The beginning of a hash.
fn first_bytes<const N: usize>(hasher: &blake3::Hasher) -> [u8; N] {
    let mut bytes = [0; N];
    hasher.finalize_xof().fill(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_in_anything_is_another() {
        let tag = |it: &str| Version::Tag(it.into());
        let stamp = Version::Stamp([1, 2, 3, 4, 5]);
        let of = [
            ("s3", "a", tag("1"), 7),
            ("s3", "a", tag("1"), 8),
            ("gs", "a", tag("1"), 7),
            ("s3", "b", tag("1"), 7),
            ("s3", "a", tag("2"), 7),
            ("s3", "a1", tag(""), 7),
            ("s3a", "", tag("1"), 7),
            ("s3", "a", tag("1:2:3:4:5"), 7),
            ("s3", "a", stamp, 7),
        ];
        let keys: Vec<_> =
            of.iter().map(|(scheme, name, version, size)| ObjectKey::new(scheme, name, version, *size)).collect();
        for (at, key) in keys.iter().enumerate() {
            assert_eq!(keys.iter().position(|it| it == key), Some(at));
        }
        let block = |block| Key { object: keys[0], block };
        assert_ne!(block(1).checksum(b"x"), block(2).checksum(b"x"));
        assert_ne!(block(1).checksum(b"x"), block(1).checksum(b"y"));
    }
}
