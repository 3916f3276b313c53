//! In the background it speaks to the system's log: here a socket of the test's, in the place of
//! the machine's own.

use std::fs;
use std::os::unix::net::UnixDatagram;

use crate::place::{Place, can_mount};
use crate::process::{HANGS_AFTER, have};

/// What is killed with the namespace has said nothing: so it is waited for.
const SCRIPT: &str = "
touch dev/fuse dev/null
for device in fuse null; do mount --bind /dev/$device dev/$device; done
mount --rbind dev /dev
$PROGRAM mount --detach from at
cat at/a
umount at
while pgrep foresee-mount > /dev/null; do sleep 0.01; done
";

#[test]
fn it_is_said_to_the_system_with_its_weight() {
    if !can_mount() || !have("pgrep") {
        return;
    }
    let place = Place::new();
    place.write("a", "text");
    fs::create_dir(place.path("dev")).unwrap();
    let log = UnixDatagram::bind(place.path("dev/log")).unwrap();
    log.set_read_timeout(Some(HANGS_AFTER)).unwrap();
    let Some(ended) = place.unshared(SCRIPT) else { return };
    assert_eq!(ended.with(0).out(), "text");
    let mut bytes = [0; 4096];
    let length = log.recv(&mut bytes).unwrap();
    let said = String::from_utf8_lossy(&bytes[..length]);
    let begin = format!("<{}>", libc::LOG_DAEMON | libc::LOG_INFO);
    assert!(said.starts_with(&begin) && said.contains(" foresee-mount: at: from, until foresee unmount"), "{said}");
}
